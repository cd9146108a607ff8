"""One method, one table -> its picture and its scores."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from ..estimators.methods import Method
from ..estimators.sweep import fit_sweep
from ..metrics import trustworthiness
from ..metrics.panels import score_classifiers, silhouette
from ..neighbors.choice import resolve_n_neighbors

TRUST_NEIGHBORS = 5


@dataclass(frozen=True)
class Split:
    """Numbers of a training part and of the rest, encoded by the training part alone.

    Attributes
    ----------
    train, test : arrays
        Samples.
    y_train, y_test : arrays
        Their classes.
    """

    train: np.ndarray
    test: np.ndarray
    y_train: np.ndarray
    y_test: np.ndarray


@dataclass(frozen=True)
class Problem:
    """What every method is given.

    Attributes
    ----------
    X : array (n, m)
        All samples, encoded.
    y : array (n,) or None
        Classes.
    splits : list of Split
        For held-out accuracy; empty without classes.
    n_neighbors : int
        Neighbours of every method but those with a number of their own.
    sweep : bool
        Whether to score other neighbourhood sizes too.
    """

    X: np.ndarray
    y: np.ndarray | None
    splits: list[Split]
    n_neighbors: int = 20
    sweep: bool = True


@dataclass(frozen=True)
class Curve:
    """A score against the number of neighbours: means over the splits, their errors."""

    sizes: list[int]
    means: list[float]
    errors: list[float]


@dataclass(frozen=True)
class Result:
    """What was measured of a method; NaN is what cannot be.

    Attributes
    ----------
    name, title, remark, kind, twin : str
        As in `Method`; the kind is "patch", "twin", "other", "reference" or "control".
    embedding : array (n, 2) or None
        All samples.
    n_neighbors : int or None
        Neighbours of that embedding.
    silhouette, trustworthiness, seconds : float
        Of that embedding; the seconds are those of its fit.
    held_out, held_out_error : float
        Mean accuracy on samples the fit has not seen, and its standard error over the
        splits.
    curve : Curve or None
        Held-out accuracy, or without classes trustworthiness, against neighbours.
    remarks : tuple of str
        Warnings that were given on the way.
    failure : str
        Why there is nothing.
    """

    name: str
    title: str
    remark: str = ""
    kind: str = "patch"
    twin: str = ""
    embedding: np.ndarray | None = None
    n_neighbors: int | None = None
    silhouette: float = np.nan
    held_out: float = np.nan
    held_out_error: float = np.nan
    trustworthiness: float = np.nan
    seconds: float = np.nan
    curve: Curve | None = None
    remarks: tuple[str, ...] = field(default=())
    failure: str = ""


def make_splits(
    encoder: Any, features: Any, y: np.ndarray, n_splits: int
) -> list[Split]:
    """Cut the samples into stratified parts, each to be held out once.

    Parameters
    ----------
    encoder : transformer
        Cloned and fitted on each training part.
    features : pandas.DataFrame
        All samples.
    y : array (n,)
        Classes.
    n_splits : int
        How many parts, two or more.

    Returns
    -------
    list of Split
    """
    folds = StratifiedKFold(n_splits, shuffle=True, random_state=0)
    splits = []
    with warnings.catch_warnings():
        # A class with fewer samples than there are parts is missing from some of them.
        warnings.simplefilter("ignore", UserWarning)
        pairs = list(folds.split(np.zeros(len(y)), y))
    for train, test in pairs:
        coder = clone(encoder)
        inside = coder.fit_transform(features.iloc[train])
        outside = coder.transform(features.iloc[test])
        splits.append(Split(inside, outside, y[train], y[test]))
    return splits


@dataclass(frozen=True)
class Held:
    """Accuracies on one part that was held out: at each size, and which is its own."""

    own: int | None
    sizes: list[int]
    accuracies: list[float]


def tell_warnings(caught: Sequence[tuple[type[Warning], str]]) -> tuple[str, ...]:
    """Tell the first warning of each kind, and how many more there were."""
    kinds: dict[type[Warning], list[str]] = {}
    for category, message in caught:
        kinds.setdefault(category, []).append(message)
    return tuple(
        first + (f" (And {len(more)} more like this, in other fits.)" if more else "")
        for first, *more in kinds.values()
    )


def reference(problem: Problem) -> Result:
    """Score the encoded features themselves, which an embedding has to live up to."""
    result = Result(
        "features", "all features", "no embedding", "reference", trustworthiness=1.0
    )
    if problem.y is None:
        return result
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = [_accuracy(s, s.train, s.test) for s in problem.splits]
        width = silhouette(problem.X, problem.y)
    mean, error = mean_and_error(scores)
    return replace(
        result,
        silhouette=width,
        held_out=mean,
        held_out_error=error,
        remarks=tell_warnings([(w.category, str(w.message)) for w in caught]),
    )


def _estimator(method: Method, n_neighbors: int) -> Any:
    params = dict(method.compared)
    if method.sizes and isinstance(method.sizes[0], int):
        params["n_neighbors"] = n_neighbors
    return method.make(**params)


def _labels(method: Method, y: np.ndarray | None) -> np.ndarray | None:
    return y if method.supervised else None


def measure_picture(method: Method, problem: Problem, result: Result) -> Result:
    """Embed all samples, and add the picture and its scores to a result."""
    X, y = problem.X, problem.y
    model = _estimator(method, problem.n_neighbors)
    start = time.perf_counter()
    embedding = model.fit_transform(X, _labels(method, y))
    seconds = time.perf_counter() - start
    curve = None
    if y is None and problem.sweep and method.sizes:
        _, sizes = _sizes(method, model, len(X), problem.sweep)
        fits = fit_sweep(model, X, n_neighbors=sizes)
        scores = [_trust(X, fitted.embedding_) for fitted in fits]
        curve = Curve(sizes, scores, [np.nan] * len(sizes))
    return replace(
        result,
        embedding=embedding,
        n_neighbors=getattr(model, "n_neighbors_", None) if method.sizes else None,
        silhouette=np.nan if y is None else silhouette(embedding, y),
        trustworthiness=_trust(X, embedding),
        seconds=seconds,
        curve=curve,
    )


def hold_out(
    method: Method, split: Split, fewest: int, n_neighbors: int, sweep: bool
) -> Held | None:
    """Score one split at the method's own size, and along the curve.

    None if the method cannot place new samples. `fewest` is the size of the smallest
    training part: all are scored at the same neighbourhood sizes.
    """
    model = _estimator(method, n_neighbors)
    if not hasattr(model, "transform"):
        return None
    own: int | None = None
    sizes: list[int] = []
    if method.sizes:
        own, sizes = _sizes(method, model, fewest, sweep)
    return Held(own, sizes, list(_accuracies(method, model, split, sizes)))


def _accuracies(
    method: Method, model: Any, split: Split, sizes: list[int]
) -> Iterator[float]:
    """Yield the accuracy at each size, or the one of a method without sizes."""
    labels = _labels(method, split.y_train)
    if not sizes:
        fitted = clone(model)
        train = fitted.fit_transform(split.train, labels)
        yield _accuracy(split, train, fitted.transform(split.test))
        return
    for fitted in fit_sweep(model, split.train, labels, n_neighbors=sizes):
        yield _accuracy(split, fitted.embedding_, fitted.transform(split.test))


def _sizes(method: Method, model: Any, n: int, sweep: bool) -> tuple[int, list[int]]:
    """Return the size a method has by itself among n samples, and all to be tried."""
    own = min(resolve_n_neighbors(model.n_neighbors, n), n - 1)
    if not sweep:
        return own, [own]
    counts = [
        resolve_n_neighbors(size, n)
        for size in method.sizes
        if isinstance(size, float) or size <= n / 2
    ]
    return own, sorted({own, *counts})


def _accuracy(split: Split, train: np.ndarray, test: np.ndarray) -> float:
    """Classify held-out samples by their 7 nearest training samples."""
    return score_classifiers(["KNN"], train, split.y_train, test, split.y_test)["KNN"]


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean of some scores, and its standard error."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
    return float(np.mean(values)), spread / len(values) ** 0.5


def _trust(X: np.ndarray, embedding: np.ndarray) -> float:
    if len(X) <= 2 * TRUST_NEIGHBORS:
        return np.nan
    return trustworthiness(X, embedding, n_neighbors=TRUST_NEIGHBORS)
