"""What every option beyond the papers buys new samples, over the library's defaults.

    PATCHFOLD_DATA=... python benchmarks/options.py [--splits 3] [--every 3]
        [--groups divergences labels ...] [--cost]

Every row is fitted on half of a set (with its labels where it has a label rule), places
the other half by `transform`, without labels, and is scored by KNN 7 there. K = 15 and
the defaults of the class otherwise, nothing is tuned. The sets are those of
`neighbor_choice.py`, every third by name unless `--every` says otherwise: chosen before
anything was run. Printed: mean accuracy of the default, and for each option the mean
difference from it with its standard error over sets (splits are averaged first).
`--cost` prints instead how much processor time a fit takes, in fits of the default.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from cases import read, run_missing
from neighbor_choice import choose_sets, halves
from sklearn.neighbors import KNeighborsClassifier

import patchfold as pf
from patchfold.neighbors.choice import find_neighbors

KINDS = {
    "isomap": pf.PatchIsomap,
    "eigenmaps": pf.PatchEigenmaps,
    "lle": pf.PatchLLE,
    "projection": pf.PatchProjection,
}
K = 15
DEFAULT = "default"
CURVATURE = {"dissimilarity": "curvature"}
DIVERGENCES = (
    *("euclidean", "bhattacharyya", "hellinger", "cauchy_schwarz", "wasserstein"),
    *("fisher_rao", "kde", "curvature", "principal_angles"),
)
GROUPS: dict[str, dict[str, dict[str, Any]]] = {
    "default": {DEFAULT: {}},
    "divergences": {f'"{name}"': {"dissimilarity": name} for name in DIVERGENCES},
    "covariances": {
        "shrinkage 0, ridge 1e-3 (the papers)": {"shrinkage": 0.0, "ridge": 1e-3},
        "shrinkage .5": {"shrinkage": 0.5},
        'shrinkage "oas"': {"shrinkage": "oas"},
        'shrinkage "ledoit_wolf"': {"shrinkage": "ledoit_wolf"},
        'covariance "diagonal"': {"covariance": "diagonal"},
        'covariance "robust"': {"covariance": "robust"},
        "n_directions .9": {"n_directions": 0.9},
        "include_center False": {"include_center": False},
    },
    "sizes": {
        "adaptive_patches": {"adaptive_patches": True},
        "radius": {"n_neighbors": None, "radius": "median"},
        'n_neighbors "auto"': {"n_neighbors": "auto"},
    },
    "diffusion": {
        f"diffusion_time {steps}": {"diffusion_time": steps} for steps in (1, 4, 16)
    },
    "labels": {
        'label_rule "entropic"': {"label_rule": "entropic"},
        'label_rule "within"': {"label_rule": "within"},
        '"curvature", label_rule "klap"': {**CURVATURE, "label_rule": "klap"},
    },
    "ridge of the projection": {f"reg {reg:g}": {"reg": reg} for reg in (1e-6, 0.1)},
}
ONLY = {"diffusion": ("eigenmaps",), "ridge of the projection": ("projection",)}
BASE = {'"curvature", label_rule "klap"': '"curvature"'}
"""Options that are compared with another row than the default."""
FIELDS = ("dataset", "split", "kind", "option", "accuracy")


def make(kind: str, option: str, X: np.ndarray) -> Any:
    """Return the estimator of one option for these training samples."""
    params = next(group[option] for group in GROUPS.values() if option in group)
    if params.get("radius") == "median":  # half of the samples have K neighbours in it
        far = find_neighbors(X, min(K, len(X) - 1)).distances[:, -1]
        params = {**params, "radius": float(np.median(far))}
    return KINDS[kind](**{"n_neighbors": K, **params})


def cost(groups: list[str], kind: str = "eigenmaps") -> str:
    """Return processor time of a fit to 1,000 samples of 10 features, best of 3."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 1000)
    X = rng.normal(size=(1000, 10)) + y[:, None]
    took: dict[str, float] = {}
    for group in ["default", *groups]:
        for option in GROUPS[group] if kind in ONLY.get(group, KINDS) else ():
            spent = []
            for _ in range(3):
                start = time.process_time()
                make(kind, option, X).fit(X, y)
                spent.append(time.process_time() - start)
            took[option] = min(spent)
    lines = ["| option | times the default |", "| --- | --- |"]
    for option, seconds in took.items():
        lines.append(f"| {option} | {seconds / took[DEFAULT]:.1f} |")
    return "\n".join(lines)


def score_case(
    name: str, split: int, kind: str, option: str, halved: tuple[np.ndarray, ...]
) -> list[tuple[object, ...]]:
    """Score one option of one class on one half of one set."""
    X_train, y_train, X_test, y_test = halved
    model = make(kind, option, X_train).fit(X_train, y_train)
    voters = KNeighborsClassifier(7).fit(model.embedding_, y_train)
    right = voters.score(model.transform(X_test), y_test)
    return [(name, split, kind, option, right)]


def means(rows: list[dict[str, str]], names: list[str], splits: int) -> dict:
    """Return (kind, option) -> set -> mean accuracy over the splits."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        if row["dataset"] in names and int(row["split"]) < splits:
            sets = found.setdefault((row["kind"], row["option"]), {})
            sets.setdefault(row["dataset"], []).append(float(row["accuracy"]))
    return {
        key: {name: float(np.mean(values)) for name, values in sets.items()}
        for key, sets in found.items()
    }


def table(scores: dict, groups: list[str]) -> str:
    """Return accuracies of the defaults, and differences of every option."""
    lines = [
        "| option | " + " | ".join(KINDS) + " |",
        "| --- " * (len(KINDS) + 1) + "|",
    ]
    for group in ["default", *groups]:
        for option in GROUPS[group]:
            cells = [_cell(scores, kind, option) for kind in KINDS]
            lines.append(f"| {option} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(scores: dict, kind: str, option: str) -> str:
    base = scores.get((kind, BASE.get(option, DEFAULT)), {})
    own = scores.get((kind, option), {})
    sets = sorted(set(base) & set(own))
    if not sets:
        return ""
    mean = np.mean([own[name] for name in sets])
    gain = np.array([own[name] - base[name] for name in sets])
    if option == DEFAULT:
        return f"{mean:.3f}"
    error = gain.std(ddof=1) / np.sqrt(len(sets)) if len(sets) > 1 else np.nan
    return f"{mean:.3f} ({gain.mean():+.3f} ± {error:.3f})"


def main() -> None:
    """Run what is not in the file yet, and print."""
    groups = [name for name in GROUPS if name != "default"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--every", type=int, default=3)
    parser.add_argument("--groups", nargs="*", default=groups, choices=groups)
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("build/options.csv"))
    parser.add_argument("--toy", action="store_true", help="smallest sizes")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.cost:
        print(cost(options.groups))
        return
    if options.toy:
        names, options.splits, options.groups = ["iris", "wine"], 1, ["sizes", "labels"]
        for kind in [*KINDS][1:]:
            del KINDS[kind]
    else:
        names = sorted([*choose_sets(held_out=False), *choose_sets(held_out=True)])
        names = names[:: options.every]
    chosen = ["default", *options.groups]
    if "labels" in chosen and "divergences" not in chosen:
        GROUPS["labels"] = {'"curvature"': CURVATURE, **GROUPS["labels"]}
    for split in range(options.splits):
        for name in names:
            halved = halves(name, split)
            run_missing(
                options.out,
                FIELDS,
                [
                    (name, split, kind, option)
                    for group in chosen
                    for kind in ONLY.get(group, KINDS)
                    for option in GROUPS[group]
                ],
                lambda *case, halved=halved: score_case(*case, halved),
            )
    print(f"{len(names)} sets, {options.splits} splits: {', '.join(names)}\n")
    print(table(means(read(options.out), names, options.splits), options.groups))


if __name__ == "__main__":
    main()
