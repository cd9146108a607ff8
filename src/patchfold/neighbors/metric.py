"""Distances other than the Euclidean one: by changed rows, or by scikit-learn.

A metric prepares samples once. A table of what it prepared has a number for every pair
that grows with the distance: all of a block of rows, with a known error, or exactly for
listed pairs.

Several metrics are Euclidean distances of other rows: cosine that of rows of length 1.
These are searched as fast as Euclidean ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import DistanceMetric
from sklearn.metrics.pairwise import pairwise_distances
from sklearn.neighbors import VALID_METRICS

from ..backends.distances import Products
from .sparse_metric import SPARSE_METRICS, SparseMetric

METRICS = tuple(
    sorted({*VALID_METRICS["brute"], "haversine"} - {"nan_euclidean", "pyfunc"})
)
"""Names that `metric` may have."""

BOOLEAN = (
    "dice",
    "jaccard",
    "rogerstanimoto",
    "russellrao",
    "sokalmichener",
    "sokalsneath",
    "yule",
)
"""Metrics of sets: an entry that is not 0 is a member."""

SAME = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan"}
"""Two names of one metric."""


@dataclass(frozen=True)
class ChangedRows:
    """A function of the Euclidean distance of changed rows.

    Attributes
    ----------
    change : callable
        Samples (n, m) -> rows (n, l), each by itself.
    power : float
        Distances are the squared Euclidean ones to this power, times `factor`.
    factor : float
        1/2 for angles.
    """

    change: Callable[[np.ndarray], np.ndarray]
    power: float = 0.5
    factor: float = 1.0

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Return the changed rows."""
        return np.ascontiguousarray(self.change(X))

    def table(self, queries: np.ndarray, samples: np.ndarray) -> Products:
        """Return the squared distances of what was prepared."""
        return Products(queries, samples)

    def length(self, keys: np.ndarray) -> np.ndarray:
        """Return the distances that entries of a table stand for."""
        return self.factor * keys**self.power

    def key(self, distance: float) -> float:
        """Return the entry of a table that stands for a distance."""
        return float(distance / self.factor) ** (1 / self.power)


@dataclass(frozen=True)
class NamedMetric:
    """A metric of scikit-learn, or a callable on two samples.

    Attributes
    ----------
    name : str or callable
        As in scikit-learn.
    params : dict
        Its parameters.
    """

    name: Any
    params: dict[str, Any] = field(default_factory=dict)

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Return the samples; of sets, which members they have."""
        return X != 0 if self.name in BOOLEAN else X

    def table(self, queries: np.ndarray, samples: np.ndarray) -> DistanceTable:
        """Return the distances of what was prepared."""
        return DistanceTable(self, queries, samples)

    def length(self, keys: np.ndarray) -> np.ndarray:
        """Return the distances that entries of a table stand for: these."""
        return keys

    def key(self, distance: float) -> float:
        """Return the entry of a table that stands for a distance: this."""
        return float(distance)


@dataclass(frozen=True)
class DistanceTable:
    """Distances by a metric of scikit-learn, read as `Products` are.

    Attributes
    ----------
    metric : NamedMetric
        What measures.
    queries, samples : arrays (q, m), (n, m)
        What it prepared.
    """

    metric: NamedMetric
    queries: np.ndarray
    samples: np.ndarray

    def squared(self, block: slice, since: int = 0) -> np.ndarray:
        """Return the distances of the queries in `block` to samples from `since` on."""
        return self._all(self.queries[block], self.samples)[:, since:]

    def slack(self, block: slice) -> np.ndarray:
        """Return zeros: distances are rounded as ties are."""
        return np.zeros(block.stop - block.start)

    def exact(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Return the distances of listed pairs, those of one query at a time."""
        found, order = np.empty(row.size), np.argsort(row, kind="stable")
        measure = self._measurer()
        cuts = np.flatnonzero(np.diff(row[order])) + 1
        for places in np.split(order, cuts) if row.size else ():
            one = row[places[0]]
            others = self.samples[column[places]]
            found[places] = measure(self.queries[one : one + 1], others)
        return self._checked(found, self.queries, self.samples, row, column)

    def _all(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        name, params = self.metric.name, self.metric.params
        found = pairwise_distances(left, right, metric=name, **params)
        wrong = ~(found >= 0)
        if wrong.any():
            ends = np.nonzero(wrong)
            found[wrong] = self._checked(found[wrong], left, right, *ends)
        return found

    def _measurer(self) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """Return a function that measures one sample (1, m) and others (c, m)."""
        name, params = self.metric.name, self.metric.params
        if callable(name):
            apply = partial(name, **params)
            return lambda one, others: np.array([apply(one[0], b) for b in others])
        try:
            metric = DistanceMetric.get_metric(name, **params)
        except (TypeError, ValueError):  # SciPy takes weights that this does not
            return lambda one, others: self._all(one, others)[0]
        return lambda one, others: metric.pairwise(
            one.astype(float, copy=False), others.astype(float, copy=False)
        )[0]

    def _checked(
        self,
        found: np.ndarray,
        left: np.ndarray,
        right: np.ndarray,
        row: np.ndarray,
        column: np.ndarray,
    ) -> np.ndarray:
        """Raise an error for values that are no distances; 0 for equal samples."""
        wrong = np.flatnonzero(~(found >= 0))
        same = (left[row[wrong]] == right[column[wrong]]).all(axis=1)
        found[wrong[same]] = 0.0
        if not same.all():
            name = self.metric.name
            shown = getattr(name, "__name__", repr(name))
            raise ValueError(
                f"metric={shown} gave {found[wrong[~same]][0]} for two samples, and a "
                "distance is a number >= 0: change the samples, or take another metric."
            )
        return found


Metric = ChangedRows | NamedMetric | SparseMetric


def resolve_metric(metric: Any, p: float, params: Any, X: Any) -> Metric | None:
    """Return the metric that the parameters of an estimator name.

    Parameters
    ----------
    metric : str or callable
        As in scikit-learn.
    p : float
        Power of "minkowski".
    params : dict or None
        Further parameters.
    X : array or sparse array (n, m)
        Training samples; some metrics are in units of their columns.

    Returns
    -------
    ChangedRows, NamedMetric, SparseMetric or None
        None is the Euclidean distance of dense samples.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]])
    >>> cosine = resolve_metric("cosine", 2, None, X)
    >>> rows = cosine.prepare(X)
    >>> keys = cosine.table(rows, rows).exact(np.array([0, 0]), np.array([1, 2]))
    >>> np.round(cosine.length(keys), 6)
    array([1.      , 0.292893])
    >>> resolve_metric("minkowski", 2, None, X) is None
    True
    """
    params = dict(params or {})
    name = metric if callable(metric) else SAME.get(metric, metric)
    if name == "minkowski" and "w" not in params:
        p = params.pop("p", p)
        name = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}.get(p, name)
    if name == "minkowski":
        params.setdefault("p", p)
    if sp.issparse(X):
        return _sparse(name, params)
    if name == "euclidean" and not params:
        return None
    if name == "haversine" and X.size and X.shape[1] != 2:
        raise ValueError(
            "metric='haversine' takes latitude and longitude in radians: X must have "
            f"2 columns. It has {X.shape[1]}."
        )
    if callable(name):
        return NamedMetric(name, params)
    try:
        found = _changed_rows(name, params, X) or NamedMetric(name, params)
        if params and X.size:
            rows = found.prepare(X[:2])
            found.table(rows, rows).squared(slice(0, len(rows)))
    except (TypeError, ValueError, np.linalg.LinAlgError) as error:
        why = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(
            f"metric_params ({', '.join(map(str, params))}) do not go with "
            f"metric={metric!r}: {why}."
        ) from error
    return found


def _sparse(name: Any, params: dict[str, Any]) -> SparseMetric:
    if callable(name) or name not in SPARSE_METRICS or params:
        shown = getattr(name, "__name__", repr(name))
        raise ValueError(
            f"metric={shown} does not take a sparse X: choose one of "
            f"{', '.join(SPARSE_METRICS)} without metric_params, or pass X.toarray()."
        )
    return SparseMetric(name)


def _changed_rows(
    name: str, params: dict[str, Any], X: np.ndarray
) -> ChangedRows | None:
    """Return a metric that is the Euclidean distance of other rows; else None."""
    if name == "seuclidean" and params.keys() <= {"V"}:
        variance = _numbers(params.get("V", X.var(axis=0, ddof=1)))
        scale = np.sqrt(np.where(variance > 0, variance, 1.0))
        return ChangedRows(partial(_divided, by=scale))
    if name == "mahalanobis" and params.keys() <= {"V", "VI"} and X.size:
        inverse = params.get("VI")
        if inverse is None:
            covariance = _numbers(params.get("V", np.cov(X, rowvar=False)))
            inverse = np.linalg.pinv(np.atleast_2d(covariance), hermitian=True)
        values, vectors = np.linalg.eigh(_numbers(inverse))
        root = vectors * np.sqrt(np.maximum(values, 0))
        return ChangedRows(partial(_turned, by=root))
    if params:
        return None
    return {
        "cosine": ChangedRows(unit_rows, 1.0, 0.5),
        "correlation": ChangedRows(_centred_unit_rows, 1.0, 0.5),
        "sqeuclidean": ChangedRows(np.asarray, 1.0),
    }.get(name)


def _numbers(value: Any) -> np.ndarray:
    array = np.asarray(value, dtype=float)
    if not np.isfinite(array).all():
        raise ValueError("numbers must be finite")
    return array


def unit_rows(X: np.ndarray) -> np.ndarray:
    """Return rows of length 1; one of zeros is at a right angle to all others.

    So there is one column more, in which it is 1.

    Examples
    --------
    >>> import numpy as np
    >>> unit_rows(np.array([[0.0, 2.0], [0.0, 0.0]])).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    largest = np.abs(X).max(axis=1, keepdims=True)
    is_zero = largest == 0
    X = X / np.where(is_zero, 1, largest)  # squares of tiny numbers would be 0
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    return np.column_stack([X / np.where(is_zero, 1, lengths), is_zero])


def _centred_unit_rows(X: np.ndarray) -> np.ndarray:
    return unit_rows(X - X.mean(axis=1, keepdims=True))


def _divided(X: np.ndarray, by: np.ndarray) -> np.ndarray:
    return X / by


def _turned(X: np.ndarray, by: np.ndarray) -> np.ndarray:
    return X @ by
