"""X -> Neighborhoods: who is near whom, with the rules for selves and ties.

Conventions, stated here only:

* `n_neighbors` does not count the sample itself (as in scikit-learn).
* A training sample is told from its duplicates by position, never by distance.
* Squared distances that agree to 40 binary digits (12 decimal ones) are ties, and ties
  go to the lower index. Without the tolerance, rounding would decide between points of
  a grid or between z-scored categories, and the result would change with the machine.
* The K nearest are a prefix of the K + 1 nearest.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._blocks import map_blocks
from ._types import Neighborhoods
from .exceptions import NeighborCountWarning, warn

TIE_BITS = 40
"""Squared distances that agree to this many binary digits are ties."""


def resolve_n_neighbors(n_neighbors: int | float, n_samples: int) -> int:
    """Turn a count or a fraction of the samples into a count of other samples.

    A fraction is rounded down.

    Examples
    --------
    >>> resolve_n_neighbors(0.75, 150)
    112
    """
    if not isinstance(n_neighbors, Integral):
        count = int(round(float(n_neighbors) * n_samples, 9))
        return min(max(1, count), n_samples - 1)
    if n_neighbors > n_samples - 1:
        warn(
            f"n_neighbors={n_neighbors} exceeds the {n_samples - 1} other samples; "
            f"n_neighbors={n_samples - 1} is used. Lower n_neighbors or add samples.",
            NeighborCountWarning,
        )
    return int(min(n_neighbors, n_samples - 1))


def find_neighbors(
    X: np.ndarray,
    n_neighbors: int,
    *,
    algorithm: Any = "auto",
    n_jobs: int | None = None,
) -> Neighborhoods:
    """Find the nearest other samples of every sample.

    Parameters
    ----------
    X : array (n, m)
        Samples.
    n_neighbors : int
        How many neighbours K, at most n - 1.
    algorithm : {"auto", "exact"} or KNN transformer
        "exact" (also "auto") compares all pairs. A transformer is anything shaped
        like scikit-learn's `KNeighborsTransformer`; it is asked for `n_neighbors` at
        least, if it takes that parameter, and fitted here.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    Neighborhoods
        Indices and distances, (n, K) each.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> find_neighbors(X, 2).indices.tolist()
    [[1, 2], [0, 2], [1, 0], [2, 1]]
    """
    if not isinstance(algorithm, str):
        if algorithm.get_params().get("n_neighbors", n_neighbors) < n_neighbors:
            algorithm.set_params(n_neighbors=n_neighbors)
        graph = algorithm.fit_transform(X)
        return _nearest_stored(graph, X, X, n_neighbors, training=True)
    return _exact(X, X, n_neighbors, training=True, n_jobs=n_jobs)


def find_query_neighbors(
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    *,
    search: Any = None,
    n_jobs: int | None = None,
) -> Neighborhoods:
    """Find the nearest training samples of new samples.

    A training sample at distance zero is a neighbour like any other here.

    Parameters
    ----------
    queries : array (q, m)
        New samples.
    X : array (n, m)
        Training samples.
    n_neighbors : int
        How many neighbours K.
    search : fitted KNN transformer or None
        The transformer that was fitted on `X`, if one was used.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    Neighborhoods
        Indices into `X` and distances, (q, K) each.
    """
    if search is not None:
        return _nearest_stored(
            search.transform(queries), queries, X, n_neighbors, training=False
        )
    return _exact(queries, X, n_neighbors, training=False, n_jobs=n_jobs)


def closest_pairs(
    X: np.ndarray,
    labels: np.ndarray,
    *,
    precomputed: bool = False,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the closest two samples of every pair of groups.

    Parameters
    ----------
    X : array (n, m)
        Samples; with `precomputed`, their dissimilarities (n, n).
    labels : int array (n,)
        Group of each sample, 0, 1, ...; samples at -1 belong to none.
    precomputed : bool
        What X holds.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    row, column : int arrays (g(g-1)/2,)
        The closest pair of each two of the g groups.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> row, column = closest_pairs(X, np.array([0, 0, 1, 1]))
    >>> row.tolist(), column.tolist()
    ([1], [2])
    """
    grouped = np.argsort(labels, kind="stable")[(labels < 0).sum() :]
    group = labels[grouped]
    n, n_groups = group.size, int(group[-1]) + 1
    starts = np.searchsorted(group, np.arange(n_groups))
    table: _Products | _Entries
    if precomputed:
        table = _Entries(X[np.ix_(grouped, grouped)])
    else:
        table = _Products(X[grouped], X[grouped])

    def smallest(block: slice) -> tuple[np.ndarray, np.ndarray]:
        by_column = np.minimum.reduceat(table.squared(block), starts, axis=1)
        present, first = np.unique(group[block], return_index=True)
        return present, np.minimum.reduceat(by_column, first, axis=0)

    nearest = np.full((n_groups, n_groups), np.inf)
    for present, minima in map_blocks(smallest, n, 3 * 8 * n, n_jobs):
        nearest[present] = np.minimum(nearest[present], minima)

    def candidates(block: slice) -> tuple[np.ndarray, np.ndarray]:
        limit = nearest[group[block]][:, group] + table.slack(block)[:, None]
        near = table.squared(block) <= limit
        row, column = np.nonzero(near & (group[block, None] < group))
        return row + block.start, column

    found = map_blocks(candidates, n, 4 * 8 * n, n_jobs)
    row = np.concatenate([part[0] for part in found])
    column = np.concatenate([part[1] for part in found])
    exact = table.exact(row, column)
    two_groups = group[row] * n_groups + group[column]
    order = np.lexsort((grouped[column], grouped[row], exact, two_groups))
    _, first = np.unique(two_groups[order], return_index=True)
    return grouped[row[order[first]]], grouped[column[order[first]]]


class _Entries:
    """Dissimilarities that are known already, read as `_Products` are."""

    def __init__(self, matrix: np.ndarray) -> None:
        self._matrix = matrix

    def squared(self, block: slice) -> np.ndarray:
        """Return the dissimilarities of the rows in `block` to all."""
        return self._matrix[block]

    def slack(self, block: slice) -> np.ndarray:
        """Return zeros: nothing was rounded."""
        return np.zeros(block.stop - block.start)

    def exact(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Return the dissimilarities of listed pairs."""
        return self._matrix[row, column]


class _Products:
    """Squared distances of blocks of rows by one matrix product, and their error."""

    def __init__(self, queries: np.ndarray, X: np.ndarray) -> None:
        self._exact = queries, X
        center = X.mean(axis=0)
        self._queries, self._X = queries - center, X - center
        self._norms = np.einsum("ij,ij->i", self._X, self._X)
        self._query_norms = np.einsum("ij,ij->i", self._queries, self._queries)
        self._rounding = 8 * (X.shape[1] + 8) * np.finfo(float).eps

    def squared(self, block: slice) -> np.ndarray:
        """Return squared distances of the queries in `block` to all of X."""
        squared = self._queries[block] @ self._X.T
        squared *= -2.0
        squared += self._norms
        squared += self._query_norms[block, None]
        return squared

    def slack(self, block: slice) -> np.ndarray:
        """Bound, per query, how far two of the products may be from the truth."""
        return self._rounding * (self._query_norms[block] + self._norms.max())

    def exact(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Return squared distances of listed pairs, from differences."""
        return _squared_distances(*self._exact, row, column)


def _exact(
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    *,
    training: bool,
    n_jobs: int | None,
) -> Neighborhoods:
    """Compare all pairs: candidates by one matrix product, then exact distances."""
    products = _Products(queries, X)

    def search(block: slice) -> tuple[np.ndarray, np.ndarray]:
        squared = products.squared(block)
        if training:
            own = np.arange(block.start, block.stop)
            squared[own - block.start, own] = np.inf
        kth = np.partition(squared, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
        limit = np.maximum(kth, 0) * (1 + 4 * 2.0**-TIE_BITS) + products.slack(block)
        row, column = np.nonzero(squared <= limit[:, None])
        exact = products.exact(row + block.start, column)
        return _first_of_each_row(row, column, exact, n_neighbors)

    found = map_blocks(search, queries.shape[0], 3 * 8 * X.shape[0], n_jobs)
    indices = np.concatenate([part[0] for part in found])
    squared = np.concatenate([part[1] for part in found])
    return Neighborhoods(indices, np.sqrt(squared))


def _squared_distances(
    queries: np.ndarray, X: np.ndarray, row: np.ndarray, column: np.ndarray
) -> np.ndarray:
    """Squared distances of listed pairs, from differences: exact for near points."""

    def measure(block: slice) -> np.ndarray:
        difference = queries[row[block]] - X[column[block]]
        return np.einsum("ij,ij->i", difference, difference)

    return np.concatenate(map_blocks(measure, row.size, 8 * 3 * X.shape[1]))


def _first_of_each_row(
    row: np.ndarray, column: np.ndarray, squared: np.ndarray, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Keep the first K candidates of each row by (distance, index).

    `row` is sorted, and every row has at least K candidates.
    """
    counts = np.bincount(row)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    mantissa, exponent = np.frexp(squared)
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, TIE_BITS)), exponent - TIE_BITS)
    order = np.lexsort((column, rounded, row))
    kept = order[starts[:, None] + np.arange(n_neighbors)]
    return column[kept], squared[kept]


def _nearest_stored(
    graph: Any,
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    *,
    training: bool,
) -> Neighborhoods:
    """Read the K nearest stored entries of each row of a sparse distance matrix.

    Which entries are stored is the transformer's choice; their distances are ours, so
    that ties and identical samples are treated as in the exact search.
    """
    stored = sp.csr_array(graph)
    stored.sort_indices()
    counts = np.diff(stored.indptr)
    row, column = np.repeat(np.arange(stored.shape[0]), counts), stored.indices
    if training:
        other = row != column
        row, column = row[other], column[other]
        counts = np.bincount(row, minlength=stored.shape[0])
    if counts.min() < n_neighbors:
        raise ValueError(
            f"neighbors_algorithm returned only {counts.min()} neighbours for sample "
            f"{int(counts.argmin())}, but n_neighbors={n_neighbors} are needed; "
            "raise its n_neighbors or lower ours."
        )
    exact = _squared_distances(queries, X, row, column)
    column, squared = _first_of_each_row(row, column, exact, n_neighbors)
    return Neighborhoods(column, np.sqrt(squared))
