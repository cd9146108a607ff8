"""The honest protocol: nothing about the test half is known until it is scored.

Columns are filled and scaled, K and kernel width chosen, and the embedding fitted on
the training half; the test half is placed by `transform` and scored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier

from ...estimators.methods import BASELINES, SIZES
from ...estimators.selection import VOTERS, make_folds
from ...estimators.sweep import fit_sweep
from ...metrics.panels import silhouette
from ...neighbors.choice import resolve_n_neighbors
from .corruption import corrupt
from .methods import OWN
from .scoring import fill_and_scale, panel_scores

INNER_FOLDS = 3


class LeftOutError(Exception):
    """The protocol does not apply to the method; the message says why."""


def honest_split(y: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Return train and test rows of one honest split, stratified where classes allow.

    A class of one sample cannot be in both halves; such a set is split without strata.
    """
    kind = ShuffleSplit if np.bincount(y).min() < 2 else StratifiedShuffleSplit
    splitter = kind(n_splits=1, test_size=0.5, random_state=split)
    return next(splitter.split(np.zeros((y.size, 1)), y))


def score_honestly(
    method: str,
    metrics: set[str],
    X: np.ndarray,
    y: np.ndarray,
    split: int,
    corruption: str = "",
) -> tuple[dict[str, float], int | None]:
    """Fit a method on one half and score it on the other.

    Parameters
    ----------
    method : str
        A name of `OWN` or `BASELINES`.
    metrics : set of str
        What is wanted; others may come along.
    X, y : arrays
        Raw samples, missing cells NaN, and class codes.
    split : int
        Which split; also seeds the corruption.
    corruption : str
        What is done to the scaled training half, as in `corruption.corrupt`.

    Returns
    -------
    values : dict
        Metric -> value. "violations" are of an embedding of all samples: NaN here.
    n_neighbors : int or None
        The neighbourhood size that was chosen.
    """
    train, test = honest_split(y, split)
    prepare = fill_and_scale().fit(X[train])
    X_train = corrupt(prepare.transform(X[train]), corruption, split)
    fitted = _choose(method, X_train, y[train]).fit(X_train, y[train])
    placed = fitted.transform(prepare.transform(X[test]))
    learned = getattr(fitted, "embedding_", None)
    if learned is None:
        learned = fitted.transform(X_train)
    values = panel_scores(learned, y[train], placed, y[test], metrics)
    values["silhouette"] = silhouette(placed, y[test])
    nearest = KNeighborsClassifier(1).fit(learned, y[train])
    values["accuracy_1nn"] = float(nearest.score(placed, y[test]))
    values["violations"] = np.nan
    chosen = fitted.get_params().get("n_neighbors")
    return values, getattr(fitted, "n_neighbors_", chosen)


def _choose(method: str, X: np.ndarray, y: np.ndarray) -> Any:
    """Choose K and kernel width by cross-validated 7-NN accuracy, on training rows."""
    if method in BASELINES:
        row = BASELINES[method]
        if not row.places_new_samples:
            raise LeftOutError(f"{method} cannot place new samples")
        if not row.tunes_neighbors:
            return row.make(2)
        candidates = [row.make(2, n_neighbors=size) for size in SIZES]
        fit: Callable[..., Fits] = _fit_each
    else:
        own = OWN[method]
        if not own.sizes:
            return clone(own.estimator)
        candidates = [
            clone(own.estimator).set_params(
                n_neighbors=size, **dict(zip(own.grid, values, strict=True))
            )
            for values in product(*own.grid.values())
            for size in own.sizes
        ]
        fit = partial(_fit_sweeps, n_sizes=len(own.sizes))
    totals = np.zeros(len(candidates))
    for train, test in make_folds(y, INNER_FOLDS):
        voter = KNeighborsClassifier(min(VOTERS, train.size))
        for which, model in fit(candidates, X[train], y[train]):
            voter.fit(model.embedding_, y[train])
            totals[which] += voter.score(model.transform(X[test]), y[test])
    return clone(candidates[int(totals.argmax())])


Fits = Iterator[tuple[list[int], Any]]
"""A fitted model at a time, with the positions of the candidates it stands for."""


def _fit_each(candidates: list[Any], X: np.ndarray, y: np.ndarray) -> Fits:
    for c, candidate in enumerate(candidates):
        yield [c], clone(candidate).fit(X, y)


def _fit_sweeps(
    candidates: list[Any], X: np.ndarray, y: np.ndarray, *, n_sizes: int
) -> Fits:
    """Fit candidates that differ in K alone together: they share a neighbour search.

    Candidates come in runs of `n_sizes` of one kernel width.
    """
    n = X.shape[0]
    for start in range(0, len(candidates), n_sizes):
        run = candidates[start : start + n_sizes]
        counts = [resolve_n_neighbors(candidate.n_neighbors, n) for candidate in run]
        for model in fit_sweep(run[0], X, y, n_neighbors=counts):
            same = [start + k for k, c in enumerate(counts) if c == model.n_neighbors_]
            yield same, model
