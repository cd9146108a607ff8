"""What gaps cost PatchPosterior, left out or filled: the table in docs/posterior.md.

    python benchmarks/posterior_gaps.py

Cells of scikit-learn's sets are taken out at random, half of the rows are for training,
and the accuracy on the other half is the mean of five splits.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline

import patchfold as pf

SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
SHARES = (0.1, 0.3, 0.5)
SPLITS = 5


def score(X: np.ndarray, y: np.ndarray, share: float, seed: int) -> list[float]:
    """Return the accuracies of one split: left out, two fillings, boosting."""
    draw = np.random.default_rng(seed)
    X = np.where(draw.random(X.shape) < share, np.nan, X)
    train = draw.permutation(y.size) % 2 == 0
    models = [
        pf.PatchPosterior(),
        make_pipeline(SimpleImputer(), pf.PatchPosterior()),
        make_pipeline(KNNImputer(), pf.PatchPosterior()),
        HistGradientBoostingClassifier(),
    ]
    return [m.fit(X[train], y[train]).score(X[~train], y[~train]) for m in models]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--toy", action="store_true", help="smallest sizes")
    is_toy = parser.parse_args().toy
    warnings.simplefilter("ignore")
    print("| | gaps | left out | means | 5 neighbours | gradient boosting |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, loader in [*SETS.items()][: 1 if is_toy else None]:
        X, y = loader(return_X_y=True)
        for share in SHARES[1:2] if is_toy else SHARES:
            seeds = range(1 if is_toy else SPLITS)
            means = np.mean([score(X, y, share, seed) for seed in seeds], axis=0)
            cells = " | ".join(f"{mean:.3f}".lstrip("0") for mean in means)
            print(f"| {name} | {share:.0%} | {cells} |".replace("%", " %"), flush=True)


if __name__ == "__main__":
    main()
