"""What labels in the graph buy new samples: label rules and the linear projection.

    PATCHFOLD_DATA=... python benchmarks/label_rules.py [--splits 3]

Every row is fitted on half of each small set and its labels, places the other half by
`transform`, without labels, and is scored by KNN 7 there. Printed: mean accuracy, the
gain over the same embedding without labels, its wins and losses over sets, and the
p-value of Wilcoxon's test. The sets are all of those of `neighbor_choice.py`: nothing
is chosen here.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from neighbor_choice import choose_sets, halves
from scipy.stats import wilcoxon
from sklearn.neighbors import KNeighborsClassifier

import patchfold as pf

KINDS = {
    "isomap": pf.PatchIsomap,
    "eigenmaps": pf.PatchEigenmaps,
    "lle": pf.PatchLLE,
    "projection": pf.PatchProjection,
}
ROWS = {
    **{
        f"{kind}, {rule or 'no labels'}": (kind, {"label_rule": rule})
        for kind in KINDS
        for rule in (None, "entropic", "within")
    },
    **{
        f"{kind}, curvature, {rule or 'no labels'}": (
            kind,
            {"dissimilarity": "curvature", "label_rule": rule},
        )
        for kind in KINDS
        for rule in (None, "klap")
    },
    **{
        f"projection, reg {reg:g}": ("projection", {"reg": reg})
        for reg in (1e-6, 1e-1, 1.0)
    },
}
FIELDS = ("dataset", "split", "row", "accuracy")


def score_case(name: str, split: int) -> list[tuple[object, ...]]:
    """Score every row on one half of one set."""
    X_train, y_train, X_test, y_test = halves(name, split)
    rows: list[tuple[object, ...]] = []
    for title, (kind, params) in ROWS.items():
        model = KINDS[kind](**params).fit(X_train, y_train)
        voters = KNeighborsClassifier(7).fit(model.embedding_, y_train)
        right = voters.score(model.transform(X_test), y_test)
        rows.append((name, split, title, right))
    return rows


def table(path: Path) -> str:
    """Print means, and each row against its own embedding without labels."""
    scores: dict[str, dict[str, list[float]]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            sets = scores.setdefault(row["row"], {})
            sets.setdefault(row["dataset"], []).append(float(row["accuracy"]))
    means = {
        title: np.array([np.mean(sets[name]) for name in sorted(sets)])
        for title, sets in scores.items()
    }
    lines = ["| row | accuracy | gain | wins, losses | p |", "| --- " * 5 + "|"]
    for title, values in means.items():
        base = title.rsplit(", ", 1)[0] + ", no labels"
        gain = values - means[base]
        p = wilcoxon(gain).pvalue if gain.any() else 1.0
        won, lost = int((gain > 0).sum()), int((gain < 0).sum())
        lines.append(
            f"| {title} | {values.mean():.3f} | {gain.mean():+.3f} | {won}, {lost} "
            f"| {p:.3f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run what is not in the file yet, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("build/label_rules.csv"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [*choose_sets(held_out=False), *choose_sets(held_out=True)]
    done = set()
    if options.out.exists():
        with options.out.open(newline="", encoding="utf-8") as file:
            done = {(row["dataset"], int(row["split"])) for row in csv.DictReader(file)}
    else:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(",".join(FIELDS) + "\n", encoding="utf-8")
    for split in range(options.splits):
        for name in names:
            if (name, split) not in done:
                rows = score_case(name, split)
                with options.out.open("a", newline="", encoding="utf-8") as file:
                    csv.writer(file).writerows(rows)
    print(table(options.out))


if __name__ == "__main__":
    main()
