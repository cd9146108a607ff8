"""How many neighbours: a sweep over K, scored with labels or without."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.manifold import trustworthiness as sklearn_trustworthiness
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import check_array

from ..backends.backend import NUMPY, Array
from ..backends.processes import run_pieces
from ..exceptions import PatchfoldWarning
from ..graph.labels import UNLABELLED, encode_labels
from ..neighbors.choice import resolve_n_neighbors
from ..validation import is_precomputed
from .frames import as_numbers
from .parameters import metric_of
from .sweep import fit_sweep

CANDIDATES = (4, 6, 9, 13, 19, 28, 40)
"""Sizes that are tried unless others are given: each half as much again."""

FOLDS = 5
VOTERS = 7
"""Neighbours of the classifier: the one all the papers' panels have."""

NEAR = 10
"""Size of the neighbourhoods whose trustworthiness is the label-free criterion."""

LOOKED_AT = 1000
"""Samples that criterion looks at, at most: its time grows with their square."""


@dataclass(frozen=True, repr=False)
class NeighborSelection:
    """Scores of several neighbourhood sizes; draw it with `plot_neighbors_sweep`.

    Attributes
    ----------
    n_neighbors : int array (s,)
        The sizes, ascending.
    scores : array (s, f)
        One column per fold; one in all where nothing was held out.
    scoring : str
        What the scores are.
    """

    n_neighbors: np.ndarray
    scores: np.ndarray
    scoring: str

    @property
    def mean_scores(self) -> np.ndarray:
        """Mean score (s,) of each size over the folds."""
        return self.scores.mean(axis=1)

    @property
    def best_n_neighbors(self) -> int:
        """The size with the best mean score; of equal ones, the smallest."""
        return int(self.n_neighbors[self.mean_scores.argmax()])

    def __repr__(self) -> str:
        """List the sizes with their mean scores; the best is marked."""
        folds = self.scores.shape[1]
        over = f", means of {folds} folds" if folds > 1 else ""
        lines = [f"{self.scoring} by n_neighbors{over}"]
        for size, score in zip(self.n_neighbors, self.mean_scores, strict=True):
            mark = "  best" if size == self.best_n_neighbors else ""
            lines.append(f"{size:>7}  {score:.3f}{mark}")
        return "\n".join(lines)


def select_n_neighbors(
    estimator: Any,
    X: Any,
    y: Any = None,
    candidates: Iterable[int | float] | None = None,
    *,
    scoring: str | Callable[[Any, np.ndarray, Any], float] | None = None,
    cv: Any = None,
) -> NeighborSelection:
    """Score neighbourhood sizes, with one neighbour search for each fold.

    `joblib.parallel_config` spreads the folds over processes or a cluster.

    The score of the best size is the best of several, so it is too high. Score the
    chosen model on other samples, for example by calling this on training rows only.

    Parameters
    ----------
    estimator : embedding estimator
        One that has `n_neighbors`. It is not fitted itself, but its clones are.
    X : array-like or data frame (n_samples, n_features)
        Samples. Mixed columns of a frame are encoded once, from all rows.
    y : array-like (n_samples,), default=None
        Class labels; -1 marks an unlabelled sample, which is not scored.
    candidates : iterable of int or float, default=None
        Sizes; a float is a fraction of the samples. None is 4, 6, 9, 13, 19, 28 and 40,
        as far as they are less than half of the samples.
    scoring : str, callable or None, default=None
        "trustworthiness" needs no labels. The name of one of scikit-learn's scores of
        classes, such as "accuracy", is that of 7 nearest neighbours in the embedding.
        A callable gets a fitted model, samples and their labels, and returns a number,
        higher being better. None is "accuracy" with labels, "trustworthiness" without.
    cv : int, splitter, iterable or None, default=None
        Folds, as in scikit-learn; held-out samples are placed by `transform`. None is 5
        shuffled folds with labels. Without labels all samples are fitted and scored.

    Returns
    -------
    NeighborSelection
        `best_n_neighbors`, and the `scores` of each of `n_neighbors`.

    See Also
    --------
    patchfold.plotting.plot_neighbors_sweep : The scores against K.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> import patchfold as pf
    >>> X, y = load_wine(return_X_y=True)
    >>> found = pf.select_n_neighbors(pf.isomap_kl(), scale(X), y, [10, 20], cv=3)
    >>> found.n_neighbors, found.scores.shape
    (array([10, 20]), (2, 3))
    """
    _check_estimator(estimator)
    X, y = NUMPY.bring((X, y))
    samples = check_array(
        as_numbers(X), accept_sparse="csr", dtype=np.float64, ensure_min_samples=4
    )
    n = samples.shape[0]
    labels = None if y is None else np.asarray(y)
    codes = None if y is None else encode_labels(y, n, type(estimator).__name__)
    if scoring is None:
        scoring = "trustworthiness" if y is None else "accuracy"
    if codes is None and isinstance(scoring, str) and scoring != "trustworthiness":
        raise ValueError(
            f"scoring={scoring!r} needs labels, but y is None; pass y, or set "
            "scoring='trustworthiness'."
        )
    folds = list(_folds(samples, codes, cv))
    most = min(train.size for train, _ in folds) - 1
    sizes = _default_sizes(n) if candidates is None else list(candidates)
    counts = sorted({min(resolve_n_neighbors(size, n), most) for size in sizes})

    def sweep(fold: tuple[np.ndarray, np.ndarray]) -> list[float]:
        train, test = fold
        known = None if labels is None else labels[train]
        swept = fit_sweep(estimator, samples[train], known, n_neighbors=counts)
        return [
            _score(scoring, model, samples, labels, codes, train, test)
            for model in swept
        ]

    scores = np.empty((len(counts), len(folds)))
    for f, column in run_pieces(sweep, folds):
        scores[:, f] = column
    name = scoring if isinstance(scoring, str) else "score"
    return NeighborSelection(np.array(counts), scores, name)


def choose_n_neighbors(estimator: Any, X: Array, y: Any) -> int:
    """Return what `n_neighbors="auto"` stands for: the most trustworthy embedding's K.

    No label-free number that was tried tells a better K from a worse one reliably: on
    sets that took no part in the choice, the rank correlation of trustworthiness with
    held-out accuracy across K is -.03. Its favourite K still was a little better than a
    fixed one, on those sets as on the others (`benchmarks/neighbor_choice.py`). With
    labels, use `select_n_neighbors`.

    Warnings of the sizes that are tried are of no use to anyone; the size that is
    chosen gives its own when it is fitted.
    """
    _check_estimator(estimator)
    sizes = _default_sizes(X.shape[0])
    if len(sizes) == 1:
        return sizes[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PatchfoldWarning)
        swept = fit_sweep(estimator, X, y, n_neighbors=sizes)
        scores = [_trust(model, X, model.embedding_) for model in swept]
    return sizes[int(np.argmax(scores))]


def _default_sizes(n_samples: int) -> list[int]:
    sizes = [size for size in CANDIDATES if size < n_samples / 2]
    return sizes or [min(CANDIDATES[0], n_samples - 1)]


def _check_estimator(estimator: Any) -> None:
    """Raise unless neighbourhood sizes of this estimator can be compared."""
    if not hasattr(estimator, "dissimilarity"):
        raise TypeError(
            "estimator must be an embedding of patchfold with n_neighbors. Got "
            f"{type(estimator).__name__} instead: pass the embedding, not its pipeline."
        )
    if is_precomputed(estimator):
        raise ValueError(
            "a choice of n_neighbors compares embeddings with samples, and "
            "dissimilarity='precomputed' has only a matrix; set n_neighbors to a "
            "number."
        )


def _folds(
    X: np.ndarray, codes: np.ndarray | None, cv: Any
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield training and test rows; the same array twice if nothing is held out."""
    from sklearn.model_selection import check_cv

    if cv is not None:
        yield from check_cv(cv, codes, classifier=codes is not None).split(X, codes)
    elif codes is not None:
        yield from make_folds(codes, FOLDS)
    else:
        rows = np.arange(X.shape[0])
        yield rows, rows


def make_folds(
    codes: np.ndarray, n_folds: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield shuffled folds, stratified where no class is smaller than their number."""
    from sklearn.model_selection import KFold, StratifiedKFold

    counts = np.bincount(codes - min(codes.min(), 0))
    kind = KFold if counts.min() < n_folds else StratifiedKFold
    folds = kind(n_folds, shuffle=True, random_state=0)
    yield from folds.split(np.zeros((codes.size, 1)), codes)


def _score(
    scoring: str | Callable[[Any, np.ndarray, Any], float],
    model: Any,
    X: np.ndarray,
    labels: np.ndarray | None,
    codes: np.ndarray | None,
    train: np.ndarray,
    test: np.ndarray,
) -> float:
    """Score a model that was fitted on the rows `train` on the rows `test`."""
    if callable(scoring):
        return float(scoring(model, X[test], None if labels is None else labels[test]))
    placed = model.embedding_ if train is test else model.transform(X[test])
    if scoring == "trustworthiness":
        return _trust(model, X[test], placed)
    from sklearn.metrics import get_scorer

    assert codes is not None
    known, asked = codes[train] != UNLABELLED, codes[test] != UNLABELLED
    voters = KNeighborsClassifier(min(VOTERS, int(known.sum())))
    voters.fit(model.embedding_[known], codes[train][known])
    return float(get_scorer(scoring)(voters, placed[asked], codes[test][asked]))


def _trust(model: Any, X: Any, embedding: Array) -> float:
    """Return the trustworthiness of a picture, or of the same part of larger ones.

    By the metric of the model, where it is not the Euclidean one of dense samples.
    """
    from ..metrics.topology import trustworthiness

    n = X.shape[0]
    rows = np.sort(np.random.RandomState(0).permutation(n)[:LOOKED_AT])
    near = max(1, min(NEAR, (rows.size - 1) // 2))
    samples, picture = NUMPY.bring((X[rows], embedding[rows]))
    metric = metric_of(model, samples)
    if metric is None:
        return trustworthiness(samples, picture, n_neighbors=near)
    prepared: Any = metric.prepare(samples)
    table = metric.table(prepared, prepared).squared(slice(0, rows.size))
    np.fill_diagonal(table, 0)
    by_table = {"n_neighbors": near, "metric": "precomputed"}
    return float(sklearn_trustworthiness(np.maximum(table, 0), picture, **by_table))
