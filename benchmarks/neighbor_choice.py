"""Which label-free number says how many neighbours to take: the table behind "auto".

    PATCHFOLD_DATA=... python benchmarks/neighbor_choice.py [--splits 4] [--held-out]

Each method is fitted on half of each small set for several K, and KNN 7 is scored on
the other half, placed by `transform`. A criterion sees the training half without its
labels. Printed per criterion: the mean over sets and methods of its rank correlation,
across K, with held-out accuracy, and the accuracy at the K it likes best. Versions of
one set are kept together and groups sorted by name: those at even positions are for
choosing a criterion, the others (`--held-out`) for reporting it.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from cases import read, run_missing
from posterior_ablation import group_of
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr, wilcoxon
from sklearn.neighbors import KNeighborsClassifier

import patchfold as pf
from patchfold.datasets import catalogue, load
from patchfold.dissimilarity.table import compare_pairs, get_dissimilarity
from patchfold.metrics import continuity, trustworthiness
from patchfold.neighbors.choice import find_neighbors
from patchfold.patches.fitting import fit_patches, mean_variance
from patchfold.studies.reproduction.honest import honest_split
from patchfold.studies.reproduction.scoring import fill_and_scale

SIZES = (4, 6, 9, 13, 19, 28, 40)
SAMPLES, FEATURES = range(100, 321), range(2, 101)
NEAR = 10
METHODS = {
    "isomap": pf.PatchIsomap(),
    "eigenmaps": pf.PatchEigenmaps(),
    "lle": pf.PatchLLE(),
}
FIELDS = ("dataset", "split", "method", "n_neighbors", "name", "value")


def choose_sets(*, held_out: bool) -> list[str]:
    """Return the small sets for choosing or for reporting, one of each group."""
    groups: dict[str, list[str]] = {}
    for row in catalogue():
        here = row.source in ("folder", "rule", "scikit-learn")
        if here and row.n_samples in SAMPLES and row.n_features in FEATURES:
            groups.setdefault(group_of(row.name), []).append(row.name)
    return [groups[name][0] for name in sorted(groups)[int(held_out) :: 2]]


def of_patches(X: np.ndarray, sizes: list[int]) -> dict[str, list[float]]:
    """Return, for every K, the criteria that look at patches alone."""
    indices = find_neighbors(X, sizes[-1]).indices
    kl = get_dissimilarity("kl")
    settings = {"shrinkage": 0.1, "ridge": 1e-6, "variance": mean_variance(X)}
    own = np.arange(len(X))
    fitted = [fit_patches(X, X, indices[:, :k], **settings) for k in sizes]
    described = [
        kl.describe(replace(p, dense=p.covariance, factor=None)) for p in fitted
    ]
    steps = [
        float(np.median(compare_pairs(kl, a, b, own, own).label_free))
        for a, b in pairwise(described)
    ]
    turns = [
        model.graph_.data.mean()
        for model in pf.fit_sweep(
            pf.PatchEigenmaps(dissimilarity="curvature"), X, n_neighbors=sizes
        )
    ]
    return {
        "small K": [-float(k) for k in sizes],
        "large K": [float(k) for k in sizes],
        "patches change little": [-s for s in [*steps, steps[-1]]],
        "edges turn little": [-float(t) for t in turns],
    }


def of_embeddings(X: np.ndarray, maps: list[np.ndarray]) -> dict[str, list[float]]:
    """Return, for every K, the criteria that look at the embedding."""
    far = pdist(X)
    kept = [trustworthiness(X, Y, n_neighbors=NEAR) for Y in maps]
    torn = [continuity(X, Y, n_neighbors=NEAR) for Y in maps]
    ranks = [float(spearmanr(far, pdist(Y))[0]) for Y in maps]
    change = [procrustes(a, b)[2] for a, b in pairwise(maps)]
    around = np.array([[change[0], *change], [*change, change[-1]]]).mean(axis=0)
    return {
        "trustworthiness": kept,
        "continuity": torn,
        "both": [(a + b) / 2 for a, b in zip(kept, torn, strict=True)],
        "ranks of distances": ranks,
        "embedding changes little": (-around).tolist(),
    }


def of_placement(model: object, X: np.ndarray, sizes: list[int]) -> list[float]:
    """Return, for every K, how truthfully one half is placed among the other."""
    halves = np.arange(len(X)) % 2 == 0
    scores = np.zeros(len(sizes))
    for half in (halves, ~halves):
        for i, fitted in enumerate(pf.fit_sweep(model, X[half], n_neighbors=sizes)):
            placed = fitted.transform(X[~half])
            near = min(NEAR, (len(placed) - 1) // 2)
            scores[i] += trustworthiness(X[~half], placed, n_neighbors=near) / 4
            scores[i] += continuity(X[~half], placed, n_neighbors=near) / 4
    return scores.tolist()


def halves(name: str, split: int) -> tuple[np.ndarray, ...]:
    """Return X and y of the training half, scaled, then of the test half."""
    data = load(name, download=False)
    X, y = data.data[data.target >= 0], data.target[data.target >= 0]
    y = np.unique(y, return_inverse=True)[1]
    train, test = honest_split(y, split)
    scale = fill_and_scale().fit(X[train])
    return scale.transform(X[train]), y[train], scale.transform(X[test]), y[test]


def score_case(name: str, split: int) -> list[tuple[object, ...]]:
    """Return accuracies and criteria of every method and K on one half of one set."""
    X_train, y_train, X_test, y_test = halves(name, split)
    sizes = [k for k in SIZES if k < len(X_train) // 2 - 1]
    patches = of_patches(X_train, sizes)
    rows: list[tuple[object, ...]] = []
    for method, model in METHODS.items():
        maps, accuracy = [], []
        for fitted in pf.fit_sweep(model, X_train, n_neighbors=sizes):
            maps.append(fitted.embedding_)
            voters = KNeighborsClassifier(7).fit(fitted.embedding_, y_train)
            accuracy.append(voters.score(fitted.transform(X_test), y_test))
        found = {"accuracy": accuracy, **patches, **of_embeddings(X_train, maps)}
        found["placed halves"] = of_placement(model, X_train, sizes)
        for what, values in found.items():
            rows += [
                (name, split, method, k, what, value)
                for k, value in zip(sizes, values, strict=True)
            ]
    return rows


def table(rows: list[dict[str, str]], names: list[str]) -> str:
    """Print correlations and accuracies, best first."""
    cases: dict[tuple[str, str], dict[str, dict[tuple[int, int], float]]] = {}
    for row in rows:
        if row["dataset"] in names:
            case = cases.setdefault((row["dataset"], row["method"]), {})
            at = int(row["split"]), int(row["n_neighbors"])
            case.setdefault(row["name"], {})[at] = float(row["value"])
    columns: dict[str, list[tuple[float, float, float, float]]] = {}
    for (_, method), case in cases.items():
        accuracy = grid(case["accuracy"])
        middle = accuracy[:, min(3, accuracy.shape[1] - 1)].mean()
        for what, values in case.items():
            score = grid(values)
            rank = spearmanr(score.mean(axis=0), accuracy.mean(axis=0))[0]
            picked = accuracy[np.arange(len(score)), score.argmax(axis=1)].mean()
            columns.setdefault(what, []).append(
                (float(np.nan_to_num(rank)), picked, middle, accuracy.max(1).mean())
            )
            columns.setdefault(f"{what}, {method}", []).append(columns[what][-1])
    lines = [
        f"{len(cases)} cases of {len(names)} sets",
        "| criterion | rank correlation | accuracy | at K = 13 | p | at the best K |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for what, values in sorted(columns.items(), key=lambda c: -np.mean(c[1], 0)[0]):
        means = np.mean(values, axis=0)
        gain = np.array([v[1] - v[2] for v in values])
        p = wilcoxon(gain).pvalue if gain.any() else 1.0
        lines.append(
            f"| {what} | {means[0]:+.2f} | {means[1]:.3f} | {means[2]:.3f} | {p:.3f} "
            f"| {means[3]:.3f} |"
        )
    return "\n".join(lines)


def grid(values: dict[tuple[int, int], float]) -> np.ndarray:
    """Put values by (split, K) in rows and columns."""
    splits, sizes = (sorted({at[i] for at in values}) for i in (0, 1))
    return np.array([[values[s, k] for k in sizes] for s in splits])


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("build/neighbor_choice.csv"))
    parser.add_argument("--toy", action="store_true", help="smallest sizes")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.toy:
        names, options.splits = ["iris"], 1
        for method in [*METHODS][1:]:
            del METHODS[method]
    else:
        names = choose_sets(held_out=options.held_out)
    cases = [(name, split) for split in range(options.splits) for name in names]
    run_missing(options.out, FIELDS, cases, score_case)
    print(table(read(options.out), names))


if __name__ == "__main__":
    main()
