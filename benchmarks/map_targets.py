"""What CauchyMap was to reach beside UMAP and t-SNE, and what the records say.

    python benchmarks/map_targets.py

reads docs/records/pictures.csv.gz and docs/records/honest.csv.gz and prints Markdown:
the table of "What was wanted" on docs/methods/cauchy_map.md. Sets on which a setting of
CauchyMap was chosen are left out. `--toy` prints the same: it takes a second.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections import defaultdict
from pathlib import Path
from statistics import fmean

from patchfold.studies.reproduction import design
from patchfold.studies.reproduction.words import metric_words

RECORDS = Path(__file__).resolve().parents[1] / "docs" / "records"
OURS, UMAP, TSNE = "CAUCHYMAP", "UMAP", "OPENTSNE"
PANEL, KNN, NEAREST = "mean_accuracy_4", "accuracy:KNN", "accuracy_1nn"
NOT_BELOW = -0.003
"""Least difference to t-SNE of what is not to be better."""

WANTED = {
    UMAP: {"trustworthiness": 0.008, "hits_15": 0.045, "triplets": 0.05, PANEL: 0.02},
    TSNE: {
        "hits_15": 0.015,
        "triplets": 0.01,
        **dict.fromkeys(
            (
                *("trustworthiness", "continuity", "spearman", "silhouette"),
                *(PANEL, KNN, NEAREST),
            ),
            NOT_BELOW,
        ),
    },
}
"""Peer -> metric -> least difference of the means."""

SPLITS = {"pictures": 1, "honest": 10}

Scores = dict[tuple[str, str], dict[str, float]]
"""Metric and method -> set -> mean over splits."""


def read_scores(study: str) -> Scores:
    """Read the means of a study on the sets where no setting was chosen."""
    found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    with gzip.open(RECORDS / f"{study}.csv.gz", "rt", newline="") as lines:
        for row in csv.DictReader(lines):
            wanted = row["protocol"] == study and row["method"] in (OURS, UMAP, TSNE)
            if wanted and row["value"] and row["dataset"] not in design.CAUCHY_MAP:
                key = row["metric"], row["method"], row["dataset"]
                found[key].append(float(row["value"]))
    scores: Scores = defaultdict(dict)
    for (metric, method, dataset), values in found.items():
        if len(values) == SPLITS[study]:
            scores[metric, method][dataset] = fmean(values)
    return scores


def compare(scores: Scores, metric: str, peer: str, least: float) -> str:
    """Say how far ours is ahead on the mean over sets, and whether that is enough."""
    ours, theirs = scores.get((metric, OURS), {}), scores.get((metric, peer), {})
    sets = ours.keys() & theirs.keys()
    if not sets:
        return ""
    ahead = fmean(ours[name] - theirs[name] for name in sets)
    return f"{ahead:+.3f} on {len(sets)} sets: {'yes' if ahead >= least else '**no**'}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--toy", action="store_true", help="the same")
    parser.parse_args()
    studies = [read_scores(study) for study in SPLITS]
    print("| mean difference | wanted | pictures of all samples | held-out halves |")
    print("| --- | --- | --- | --- |")
    for peer, goals in WANTED.items():
        name = "UMAP" if peer == UMAP else "t-SNE"
        for metric, least in goals.items():
            cells = [compare(scores, metric, peer, least) for scores in studies]
            what = f"{metric_words(metric)}, less {name}'s"
            print(f"| {what} | {least:+.3f} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
