"""Which parts of PatchPosterior earn their place: the table behind its defaults.

    PATCHFOLD_DATA=... python benchmarks/posterior_ablation.py [--splits 5] [--quick]

Every variant is fitted on half of each tuning set, as it is, with noise and with
outliers in the training half, and scored on the other half by classifiers that see two
coordinates: the mean of the papers' four (panel) and KNN 7. Runs are kept in a file and
never run twice; the table is printed from it. `--held-out` scores the default, and the
default with labels blended in, on the other sets: look there once, when all is chosen.
"""

from __future__ import annotations

import argparse
import csv
import re
import warnings
from pathlib import Path

import numpy as np
from cases import read
from joblib import Parallel, delayed
from sklearn.ensemble import RandomForestClassifier

import patchfold as pf
from patchfold.datasets import DatasetUnavailableError, catalogue, load
from patchfold.metrics.panels import FOUR, panel_mean, score_classifiers
from patchfold.studies.reproduction.corruption import corrupt
from patchfold.studies.reproduction.honest import honest_split
from patchfold.studies.reproduction.scoring import fill_and_scale

LARGEST = 1000
"""Most samples, and most features, of a set."""

SAME_SOURCE = {
    "teachingassistant": "tae",
    "prnn_fglass": "glass",
    "cars1": "cars",
    "car-evaluation": "car",
}
"""Sets that are copies of another under a name of their own."""

CONDITIONS = ("", "noise 1", "outliers 0.1")

ALL = ("patch", "pooled", "kernel", "marginal")

VARIANTS: dict[str, dict[str, object]] = {
    "default": {},
    **{
        f"without {score}": {"scores": tuple(s for s in ALL if s != score)}
        for score in ALL
    },
    "with class": {"scores": (*ALL, "class")},
    "rank view only": {"views": ("rank",)},
    "zscore view only": {"views": ("zscore",)},
    "with whitened view": {"views": ("rank", "zscore", "whitened")},
    "with relevance view": {"views": ("rank", "zscore", "relevance")},
    "first draft": {
        "views": ("zscore", "whitened", "relevance"),
        "scores": ("patch", "class"),
    },
    "5 neighbours": {"n_neighbors": 5},
    "shrinkage 0.1": {"shrinkage": 0.1},
    "labels blended, 0.5": {"label_blend": 0.5},
}
"""The rows of the table: what each changes of the default."""

REFERENCES = ("forest on all features", "all features")
FIELDS = ("dataset", "split", "condition", "variant", "panel", "knn", "posterior")


def group_of(name: str) -> str:
    """Return the name that versions of one set share."""
    name = re.sub(r"_v\d+$", "", name)
    if name.startswith("arsenic-"):
        return "arsenic"
    return SAME_SOURCE.get(name, name)


def choose_sets(*, held_out: bool) -> list[str]:
    """Return the tuning sets, or the held-out ones, one of each group of versions.

    Fixed before any result was seen: the sets at hand with at most 1,000 samples and
    1,000 features, versions of one set kept together, groups sorted by name; those at
    even positions are for tuning, the others are held out.
    """
    groups: dict[str, list[str]] = {}
    for row in catalogue():
        try:
            data = load(row.name, download=False).data
        except DatasetUnavailableError:
            continue
        if max(data.shape) <= LARGEST:
            groups.setdefault(group_of(row.name), []).append(row.name)
    return [groups[name][0] for name in sorted(groups)[int(held_out) :: 2]]


def score_case(
    name: str, split: int, condition: str, variants: list[str], panel: tuple[str, ...]
) -> list[dict[str, object]]:
    """Score variants on one half of one set, by the classifiers of a panel."""
    warnings.simplefilter("ignore")
    data = load(name, download=False)
    X, y = data.data[data.target >= 0], data.target[data.target >= 0]
    y = np.unique(y, return_inverse=True)[1]
    train, test = honest_split(y, split)
    scale = fill_and_scale().fit(X[train])
    X_train = corrupt(scale.transform(X[train]), condition, split)
    X_test, y_train, y_test = scale.transform(X[test]), y[train], y[test]
    rows = []
    for variant in variants:
        coordinates, right = X_train, np.nan
        placed = X_test
        if variant in VARIANTS:
            model = pf.PatchPosterior(**VARIANTS[variant]).fit(X_train, y_train)
            coordinates, placed = model.embedding_, model.transform(X_test)
            right = model.score(X_test, y_test)
        if variant == "forest on all features":
            forest = RandomForestClassifier(random_state=0).fit(X_train, y_train)
            mean = knn = right = forest.score(X_test, y_test)
        else:
            scores = score_classifiers(panel, coordinates, y_train, placed, y_test)
            mean, knn = panel_mean(scores, panel), scores["KNN"]
        values = (name, split, condition, variant, mean, knn, right)
        rows.append(dict(zip(FIELDS, values, strict=True)))
    return rows


def run(
    path: Path,
    names: list[str],
    variants: list[str],
    panel: tuple[str, ...],
    splits: int,
    n_jobs: int,
) -> None:
    """Run what is missing, one split after another."""
    done = {
        (r["dataset"], r["split"], r["condition"], r["variant"]) for r in read(path)
    }
    if not done:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(",".join(FIELDS) + "\n", encoding="utf-8")
    jobs = []
    for split in range(splits):
        for name in names:
            for condition in CONDITIONS:
                missing = [
                    variant
                    for variant in variants
                    if (name, str(split), condition, variant) not in done
                ]
                if missing:
                    jobs.append((name, split, condition, missing, panel))
    results = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(score_case)(*job) for job in jobs
    )
    for rows in results:
        with path.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, FIELDS).writerows(rows)


def table(rows: list[dict[str, str]], names: list[str], variants: list[str]) -> str:
    """Print mean accuracies, over the cases that every variant has been run on."""
    cases: dict[tuple[str, str, str], dict[str, tuple[float, ...]]] = {}
    for r in rows:
        if r["dataset"] in names and r["variant"] in variants:
            case = cases.setdefault((r["dataset"], r["split"], r["condition"]), {})
            scores = (r["panel"], r["knn"], r["posterior"])
            case[r["variant"]] = tuple(float(score) for score in scores)
    whole = {key: case for key, case in cases.items() if len(case) == len(variants)}
    columns = [("all", None), *((c or "clean", c) for c in CONDITIONS)]
    head = " | ".join(f"{title}: panel, KNN, posterior" for title, _ in columns)
    lines = [f"{len(whole)} cases of {len(names)} sets", f"| variant | {head} |"]
    lines.append("| --- " * (len(columns) + 1) + "|")
    for variant in variants:
        cells = []
        for _, condition in columns:
            values = [
                case[variant]
                for (_, _, at), case in whole.items()
                if condition in (None, at)
            ]
            means = np.mean(values, axis=0) if values else np.full(3, np.nan)
            cells.append(", ".join(f"{mean:.4f}" for mean in means))
        lines.append(f"| {variant} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--variants", nargs="*", help="names of rows; default: all")
    parser.add_argument("--quick", action="store_true", help="KNN only, no panel")
    parser.add_argument("--out", type=Path, help="default: build/posterior_ablation_N")
    parser.add_argument("--toy", action="store_true", help="smallest sizes")
    options = parser.parse_args()
    if options.toy:
        options.splits, options.n_jobs, options.quick = 1, 1, True
        options.variants = ["default", "all features"]
    variants = options.variants or [*VARIANTS, *REFERENCES]
    if options.held_out:
        variants = ["default", "labels blended, 0.5", *REFERENCES]
    panel = ("KNN",) if options.quick else FOUR
    kept = options.out or Path(f"build/posterior_ablation_{len(panel)}.csv")
    names = ["iris"] if options.toy else choose_sets(held_out=options.held_out)
    run(kept, names, variants, panel, options.splits, options.n_jobs)
    print(table(read(kept), names, variants))


if __name__ == "__main__":
    main()
