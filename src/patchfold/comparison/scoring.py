"""One method, one table -> its picture, and its score on each fold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ..estimators.methods import Method
from ..estimators.sweep import fit_sweep
from ..metrics import continuity, triplet_accuracy, trustworthiness
from ..metrics.panels import silhouette
from ..neighbors.choice import resolve_n_neighbors
from .choosing import compiles
from .folds import Split, predict, score_rows
from .hiding import find_hidden

TRUST_NEIGHBORS = 5

SWEPT = 1
"""Folds on which other numbers of neighbours are scored: all would take too long."""

WARM_UP = 60
"""Samples that a package compiles itself on, before its time is taken."""


@dataclass(frozen=True)
class Problem:
    """The input of every method.

    Attributes
    ----------
    X : array (n, m)
        All samples, encoded.
    y : array (n,) or None
        The target: classes, or numbers.
    splits : list of Split
        The folds.
    n_neighbors : int
        Neighbours of every method but those with a number of their own.
    sweep : bool
        Whether to score other neighbourhood sizes too.
    task : str
        What the target is: "classes", "numbers", or "none".
    """

    X: np.ndarray
    y: np.ndarray | None
    splits: list[Split]
    n_neighbors: int = 20
    sweep: bool = True
    task: str = "classes"

    @property
    def classes(self) -> np.ndarray | None:
        """The target, if it is classes."""
        return self.y if self.task == "classes" else None


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
    measure : str
        Which score the methods are ranked by: "held_out", or "trustworthiness".
    embedding : array (n, 2) or None
        All samples.
    n_neighbors : int or None
        Neighbours of that embedding.
    silhouette, trustworthiness, continuity, triplets : float
        Of that embedding.
    seconds, compile_seconds : float
        Of its fit, and of the compilation before it.
    held_out, held_out_error : float
        Mean score on samples the fit has not seen, and its standard error over the
        folds: accuracy of classes, R² of numbers.
    balanced, macro_f1 : float
        Balanced accuracy and macro F1 of all held-out samples.
    recalls : tuple of float
        Share of each class that is classified correctly when held out.
    mistaken : tuple of (int, int)
        For each class the one that is most often said instead, and how often.
    folds : tuple of float
        The score on every fold that methods are ranked by.
    rows : tuple of array (n_test,)
        For every fold the scores of its held-out samples, whose mean is the fold's;
        empty without a target.
    curve : Curve or None
        Held-out score, or without a target trustworthiness, against neighbours.
    remarks : tuple of str
        Warnings that were given on the way.
    hides : str
        Why the picture hides structure, if it does.
    flatters : str
        How far the picture shows more than new rows bear out, if it does.
    supervised : bool
        Whether the method has seen the target.
    failure : str
        Why there is nothing.
    """

    name: str
    title: str
    remark: str = ""
    kind: str = "patch"
    twin: str = ""
    measure: str = "held_out"
    embedding: np.ndarray | None = None
    n_neighbors: int | None = None
    silhouette: float = np.nan
    held_out: float = np.nan
    held_out_error: float = np.nan
    balanced: float = np.nan
    macro_f1: float = np.nan
    recalls: tuple[float, ...] = ()
    mistaken: tuple[tuple[int, int], ...] = ()
    folds: tuple[float, ...] = ()
    rows: tuple[np.ndarray, ...] = ()
    trustworthiness: float = np.nan
    continuity: float = np.nan
    triplets: float = np.nan
    seconds: float = np.nan
    compile_seconds: float = np.nan
    curve: Curve | None = None
    remarks: tuple[str, ...] = field(default=())
    hides: str = ""
    flatters: str = ""
    supervised: bool = False
    failure: str = ""

    @property
    def primary(self) -> float:
        """The score that methods are ranked by."""
        return float(getattr(self, self.measure))

    @property
    def error(self) -> float:
        """Standard error of the primary score, over the folds."""
        if np.isfinite(self.held_out_error):
            return self.held_out_error
        return mean_and_error(self.folds)[1] if len(self.folds) > 1 else np.nan


@dataclass(frozen=True)
class Held:
    """Scores on one part that was held out: at each size, and which is its own.

    `predicted` and `rows`, the score of each sample, are of its own size.
    """

    own: int | None
    sizes: list[int]
    scores: list[float]
    predicted: np.ndarray | None
    rows: np.ndarray | None


def tell_warnings(caught: Sequence[tuple[type[Warning], str]]) -> tuple[str, ...]:
    """Tell the first warning of each kind, and how many more there were."""
    kinds: dict[type[Warning], list[str]] = {}
    for category, message in caught:
        kinds.setdefault(category, []).append(message)
    return tuple(
        first + (f" (And {len(more)} more like this, in other fits.)" if more else "")
        for first, *more in kinds.values()
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
    X, y, classes = problem.X, problem.y, problem.classes
    model = _estimator(method, problem.n_neighbors)
    compiling = _warm_up(method, X, y) if compiles(method) else np.nan
    start = time.perf_counter()
    made = fit_transform(model, X, _labels(method, y))
    seconds = time.perf_counter() - start
    embedding = _shown(made)
    curve = None
    if problem.task == "none" and problem.sweep and method.sizes:
        _, sizes = _sizes(method, model, len(X), problem.sweep)
        fits = fit_sweep(model, X, n_neighbors=sizes)
        scores = [trust(X, fitted.embedding_) for fitted in fits]
        curve = Curve(sizes, scores, [np.nan] * len(sizes))
    if result.kind != "control":  # which is about the labels alone
        result = _add_kept(result, X, embedding)
    return replace(
        result,
        remark=_say_more(result.remark, made.shape[1]),
        embedding=embedding,
        n_neighbors=getattr(model, "n_neighbors_", None) if method.sizes else None,
        silhouette=np.nan if classes is None else silhouette(embedding, classes),
        seconds=seconds,
        compile_seconds=compiling,
        curve=curve,
        hides=find_hidden(embedding, classes, _why_crowded(method)),
    )


def _add_kept(result: Result, X: np.ndarray, embedding: np.ndarray) -> Result:
    """Add how much of the table a picture keeps."""
    return replace(
        result,
        trustworthiness=trust(X, embedding),
        continuity=_keep(continuity, X, embedding),
        triplets=triplet_accuracy(X, embedding) if len(X) > 2 else np.nan,
    )


WHY_CROWDED = {
    "posterior": "it draws class probabilities, and is sure of most rows",
    "elap": "it draws rows that many edges join as one",
    "eigenmaps": "it draws rows that many edges join as one",
    "cauchy": "it pulls neighbours together, and nothing keeps them apart",
    "umap": "it packs near rows closely",
}
"""Why a method may put many rows on few spots."""


def _why_crowded(method: Method) -> str:
    seen = "it has seen the labels" if method.supervised else ""
    return WHY_CROWDED.get(method.name, seen)


def fit_transform(model: Any, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
    """Fit a transformer and return the places of its training samples."""
    if hasattr(model, "fit_transform"):
        made = model.fit_transform(X, y)
    else:
        made = model.fit(X, y).transform(X)
    made = np.asarray(made, dtype=float)
    if made.ndim != 2 or made.shape[0] != len(X):
        raise ValueError(
            f"{type(model).__name__} must return a row for each of the {len(X)} "
            f"samples. Got shape {made.shape} instead."
        )
    return made


def _shown(coordinates: Any) -> np.ndarray:
    """Return the first two coordinates, which are drawn and scored."""
    return np.asarray(coordinates, dtype=float)[:, :2]


def _say_more(remark: str, width: int) -> str:
    if width <= 2:
        return remark
    said = f"the first two of its {width} coordinates are drawn and scored"
    return f"{remark}; {said}" if remark else said


def _warm_up(method: Method, X: np.ndarray, y: np.ndarray | None) -> float:
    """Let a package compile itself on a few samples; return the seconds."""
    start = time.perf_counter()
    rows = np.linspace(0, len(X) - 1, min(WARM_UP, len(X))).astype(int)
    labels = _labels(method, y)
    few = None if labels is None else labels[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = method.make(**method.compared)
        fit_transform(model, X[rows], few)
        if hasattr(model, "transform"):
            model.transform(X[rows])
    return time.perf_counter() - start


def can_hold_out(method: Method, problem: Problem) -> bool:
    """Say whether a fold can be scored: a target needs a method with `transform`."""
    model = _estimator(method, problem.n_neighbors)
    return problem.task == "none" or hasattr(model, "transform")


def hold_out(
    method: Method, problem: Problem, split: Split, fewest: int
) -> Held | None:
    """Score one fold at the method's own size, and along the curve.

    None if the method cannot place new samples that have to be classified. `fewest`
    is the size of the smallest training part: all are scored at the same sizes.
    """
    if not can_hold_out(method, problem):
        return None
    model = _estimator(method, problem.n_neighbors)
    own: int | None = None
    sizes: list[int] = []
    if method.sizes:
        own, sizes = _sizes(method, model, fewest, problem.sweep)
    scores: list[float] = []
    predicted = rows = None
    for size, train, test in _placed(method, model, split, sizes, problem.task):
        if problem.task == "none":
            scores.append(trust(split.train, train))
            continue
        answer = predict(train, split.y_train, test, problem.task)
        of_rows = score_rows(split.y_test, answer, problem.task)
        scores.append(float(of_rows.mean()))
        if size == own:
            predicted, rows = answer, of_rows
    return Held(own, sizes, scores, predicted, rows)


def _placed(
    method: Method, model: Any, split: Split, sizes: list[int], task: str
) -> Iterator[tuple[int | None, np.ndarray, np.ndarray]]:
    """Yield each size, where it puts the training part, and where the held-out part."""
    labels = _labels(method, split.y_train)

    def place(fitted: Any) -> np.ndarray:
        return np.empty((0, 2)) if task == "none" else fitted.transform(split.test)

    if not sizes:
        fitted = clone(model)
        train = fit_transform(fitted, split.train, labels)
        yield None, _shown(train), _shown(place(fitted))
        return
    for size, fitted in zip(
        sizes,
        fit_sweep(model, split.train, labels, n_neighbors=sizes),
        strict=True,
    ):
        yield size, _shown(fitted.embedding_), _shown(place(fitted))


def _sizes(method: Method, model: Any, n: int, sweep: bool) -> tuple[int, list[int]]:
    """Return the size a method has by itself among n samples, and all to be tried."""
    own = min(resolve_n_neighbors(model.n_neighbors, n), n - 1)
    counts = [size for size in method.sizes if isinstance(size, int) and size <= n / 2]
    if not sweep or not counts:  # fractions of the samples take long, and say little
        return own, [own]
    return own, sorted({own, *counts})


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean of some scores, and its standard error."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
    return float(np.mean(values)), spread / len(values) ** 0.5


def trust(X: np.ndarray, embedding: np.ndarray) -> float:
    """Return the trustworthiness of 5 neighbours, NaN for too few samples."""
    return _keep(trustworthiness, X, embedding)


def _keep(measure: Any, X: np.ndarray, embedding: np.ndarray) -> float:
    if len(X) <= 2 * TRUST_NEIGHBORS:
        return np.nan
    return float(measure(X, embedding, n_neighbors=TRUST_NEIGHBORS))
