"""How a method is scored on a set, by name: published, honest, permuted.

* `published`: as the papers did it. All samples are embedded, with all labels if the
  method reads labels; K is the one with the best score on the test half, out of the
  paper's range; one 50/50 split with random_state=42.
* `honest`: the embedding is fitted on the training half only; K and kernel width are
  chosen by cross-validation inside it; the test half is placed by `transform`.
* `permuted published` and `permuted honest`: the same with shuffled labels. What scores
  above the majority rate there has seen labels it should not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ..metrics.panels import (
    EIGHT,
    FOUR,
    one_nn_accuracy,
    panel_max,
    panel_mean,
    score_classifiers,
    silhouette,
)
from ..metrics.topology import local_topology_violations
from .baselines import BASELINES, PAPER_NEIGHBORS
from .methods import HONEST_SIZES, OWN, cauchy_from, embeddings
from .papers import Paper, Table

PROTOCOLS = ("published", "honest", "permuted published", "permuted honest")
N_SPLITS = 10
INNER_FOLDS = 3


class LeftOutError(Exception):
    """The protocol does not apply to the method; the message says why."""


@dataclass(frozen=True)
class Score:
    """One number of one table, and the neighbourhood size behind it."""

    table: str
    metric: str
    value: float
    n_neighbors: int | None


def score(
    paper: Paper,
    tables: tuple[Table, ...],
    method: str,
    protocol: str,
    variant: str,
    X: np.ndarray,
    y: np.ndarray,
    *,
    split: int = 0,
    sizes: tuple[int | float, ...] = (),
    kernel_width: float = 1.0,
) -> list[Score]:
    """Score one method on one set.

    Parameters
    ----------
    paper, tables : Paper, tuple of Table
        Which numbers are wanted.
    method, protocol, variant : str
        What is run, and how.
    X, y : arrays
        Raw samples, missing cells NaN, and class codes. A missing cell becomes the
        mean of its column: over all samples as published, over the training half in
        the honest protocol.
    split : int
        Which of the honest protocol's splits; also seeds a permutation.
    sizes : tuple
        Neighbourhood sizes to search in the published protocol.
    kernel_width : float
        t of KLAP.

    Returns
    -------
    list of Score
    """
    kind = protocol.removeprefix("permuted ")
    if kind != protocol:
        y = np.random.default_rng(split).permutation(y)
    metrics = {metric for t in tables for metric in (*t.metrics, t.select)}
    if kind == "honest":
        values, size = _honest(method, metrics, X, y, split)
        return [
            Score(t.number, metric, values[metric], size)
            for t in tables
            for metric in t.metrics
        ]
    X = _prepare().fit_transform(X)
    if paper.name == "cauchy":
        runs = [_cauchy_published(method, X, y)]
    else:
        runs = [
            (size, _score_split(embedding, y, metrics))
            for size, embedding in embeddings(
                method,
                variant,
                X,
                y,
                n_neighbors=sizes,
                baseline_neighbors=PAPER_NEIGHBORS.get(paper.label),
                kernel_width=kernel_width,
            )
        ]
    return list(_best(tables, runs))


def _best(
    tables: tuple[Table, ...], runs: list[tuple[int | None, dict[str, float]]]
) -> Iterator[Score]:
    """Take, for each table, the size with its best score; of equals the smallest."""
    for table in tables:
        by = [values[table.select] for _, values in runs]
        size, values = runs[int(np.argmax(by))]
        for metric in table.metrics:
            yield Score(table.number, metric, values[metric], size)


def _score_split(
    embedding: np.ndarray, y: np.ndarray, metrics: set[str]
) -> dict[str, float]:
    """Score an embedding of all samples on the papers' one split."""
    train, test, y_train, y_test = train_test_split(
        embedding, y, test_size=0.5, random_state=42
    )
    values = _panel(train, y_train, test, y_test, metrics)
    values["silhouette"] = silhouette(embedding, y)
    return values


def _panel(
    train: np.ndarray,
    y_train: np.ndarray,
    test: np.ndarray,
    y_test: np.ndarray,
    metrics: set[str],
) -> dict[str, float]:
    """Run the classifiers the metrics need."""
    eight = any("8" in metric or ":" in metric for metric in metrics)
    if not eight and "mean_accuracy_4" not in metrics:
        return {}
    scores = score_classifiers(EIGHT if eight else FOUR, train, y_train, test, y_test)
    values = {f"accuracy:{name}": value for name, value in scores.items()}
    values["mean_accuracy_4"] = panel_mean(scores, FOUR)
    if eight:
        values["mean_accuracy_8"] = panel_mean(scores, EIGHT)
        values["max_accuracy_8"] = panel_max(scores, EIGHT)
    return values


def _prepare() -> Pipeline:
    """Return what is done to the columns before any method: fill, then z-score."""
    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())


def honest_split(y: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Return train and test rows of one honest split, stratified where classes allow.

    A class of one sample cannot be in both halves; such a set is split without strata.
    """
    kind = ShuffleSplit if np.bincount(y).min() < 2 else StratifiedShuffleSplit
    splitter = kind(n_splits=1, test_size=0.5, random_state=split)
    return next(splitter.split(np.zeros((y.size, 1)), y))


def _honest(
    method: str, metrics: set[str], X: np.ndarray, y: np.ndarray, split: int
) -> tuple[dict[str, float], int | None]:
    train, test = honest_split(y, split)
    prepare = _prepare().fit(X[train])
    X_train, X_test = prepare.transform(X[train]), prepare.transform(X[test])
    fitted = _choose(method, X_train, y[train]).fit(X_train, y[train])
    placed = fitted.transform(X_test)
    learned = getattr(fitted, "embedding_", None)
    if learned is None:
        learned = fitted.transform(X_train)
    values = _panel(learned, y[train], placed, y[test], metrics)
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
        candidates = [row.make(2, n_neighbors=size) for size in HONEST_SIZES]
    else:
        own = OWN[method]
        candidates = [
            clone(own.estimator).set_params(
                n_neighbors=size, **dict(zip(own.grid, values, strict=True))
            )
            for values in product(*own.grid.values())
            for size in own.sizes
        ]
    scores = np.zeros(len(candidates))
    for train, test in _folds(y):
        for c, candidate in enumerate(candidates):
            model = clone(candidate)
            learned = model.fit_transform(X[train], y[train])
            voter = KNeighborsClassifier(min(7, train.size)).fit(learned, y[train])
            scores[c] += voter.score(model.transform(X[test]), y[test])
    return clone(candidates[int(scores.argmax())])


def _folds(y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    kind = KFold if np.bincount(y).min() < INNER_FOLDS else StratifiedKFold
    folds = kind(INNER_FOLDS, shuffle=True, random_state=0)
    return folds.split(np.zeros((y.size, 1)), y)


def _cauchy_published(
    method: str, X: np.ndarray, y: np.ndarray
) -> tuple[int | None, dict[str, float]]:
    """Tune the Laplacian by 1-NN accuracy, then run the method from there.

    The paper tunes the dimension and the kernel width of the Laplacian embedding, and
    starts the others from its result.
    """
    distances = np.linalg.norm(X[:, None, :] - X[None, :, :], axis=2)
    mean_square = distances[np.triu_indices(len(X), 1)].mean() ** 2
    best: tuple[float, int, float] = (-1.0, 1, mean_square)
    for n_components, factor in product((1, 2, 3, 5, 8), (0.1, 0.3, 1.0, 3.0)):
        if n_components < len(X) - 1:
            start = cauchy_from("LAP", n_components, factor * mean_square)
            accuracy = one_nn_accuracy(start.set_params(max_iter=0).fit_transform(X), y)
            best = max(best, (accuracy, n_components, factor * mean_square))
    model = cauchy_from(method, *best[1:])
    R = model.fit_transform(X)
    return None, {
        "accuracy_1nn": one_nn_accuracy(R, y),
        "violations": float(local_topology_violations(model.affinity_, R)),
    }


__all__ = ["N_SPLITS", "PROTOCOLS", "LeftOutError", "Score", "honest_split", "score"]
