"""What PatchPosterior makes of shuffled labels: the table in docs/posterior.md.

    python benchmarks/posterior_permuted.py

Three permutations of scikit-learn's sets, half of each for training: the silhouette of
the training picture with τ = 0 and τ = .5, and the accuracy on the other half.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import silhouette_score

import patchfold as pf
from patchfold.studies.reproduction.honest import honest_split

SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
PERMUTATIONS = 3


def score(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[float, float, float]:
    """Return both silhouettes and the accuracy with one permutation of the labels."""
    y = np.random.default_rng(seed).permutation(y)
    train, test = honest_split(y, seed)
    honest = pf.PatchPosterior().fit(X[train], y[train])
    blended = pf.PatchPosterior(label_blend=0.5).fit(X[train], y[train])
    pictures = honest.embedding_, blended.embedding_
    return *(silhouette_score(p, y[train]) for p in pictures), honest.score(
        X[test], y[test]
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--toy", action="store_true", help="smallest sizes")
    is_toy = parser.parse_args().toy
    n_permutations = 1 if is_toy else PERMUTATIONS
    warnings.simplefilter("ignore")
    print("| | silhouette, τ = 0 | τ = .5 | test accuracy | majority |")
    print("| --- | --- | --- | --- | --- |")
    for name, loader in [*SETS.items()][: 1 if is_toy else None]:
        X, y = loader(return_X_y=True)
        found = np.array([score(X, y, seed) for seed in range(n_permutations)])
        ranges = zip(found.min(axis=0), found.max(axis=0), strict=True)
        cells = [f"{low:.2f} to {high:.2f}" for low, high in ranges]
        rate = np.bincount(y).max() / y.size
        print(f"| {name} | {' | '.join(cells)} | {rate:.2f} |")


if __name__ == "__main__":
    main()
