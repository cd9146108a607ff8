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
from sklearn.neighbors import NearestNeighbors

from ._blocks import map_blocks
from ._distances import Products, squared_distances
from ._types import Neighborhoods
from .exceptions import NeighborCountWarning, warn

TIE_BITS = 40
"""Squared distances that agree to this many binary digits are ties."""

FEW = 1000
"""Up to this many samples all pairs are compared by plain matrix products."""

SPARE = 8
"""Candidates beyond the K wanted, so that few rows with ties have to look further."""


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


def _exact(
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    *,
    training: bool,
    n_jobs: int | None,
) -> Neighborhoods:
    """Search all samples: a few too many by scikit-learn, then exact distances.

    A row is settled if the farthest of its candidates is surely beyond its K-th
    neighbour; ties may leave some that are not, and those are compared with everybody.
    """
    n, n_wanted = X.shape[0], n_neighbors + int(training) + SPARE
    if n <= max(FEW, n_wanted):
        every = np.arange(queries.shape[0])
        return _among_all(queries, X, n_neighbors, every if training else None, n_jobs)
    search = NearestNeighbors(n_neighbors=n_wanted, algorithm="brute", n_jobs=n_jobs)
    column = search.fit(X).kneighbors(queries, return_distance=False).ravel()
    row = np.repeat(np.arange(queries.shape[0]), n_wanted)
    exact = squared_distances(queries, X, row, column, n_jobs=n_jobs)
    others = np.where(row == column, np.inf, exact) if training else exact
    indices, squared = _first_of_each_row(row, column, others, n_neighbors)
    slack = Products(queries, X).slack(slice(0, queries.shape[0]))
    reach = exact.reshape(-1, n_wanted).max(axis=1)
    unsettled = np.flatnonzero(~(_beyond(squared[:, -1], slack) < reach))
    if unsettled.size:
        own = unsettled if training else None
        rest = _among_all(queries[unsettled], X, n_neighbors, own, n_jobs)
        indices[unsettled], squared[unsettled] = rest.indices, rest.distances**2
    return Neighborhoods(indices, np.sqrt(squared))


def _among_all(
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    own: np.ndarray | None,
    n_jobs: int | None,
) -> Neighborhoods:
    """Compare with every sample: candidates by matrix products, then exact distances.

    `own` tells which sample each query is itself, for training samples.
    """
    products = Products(queries, X)

    def search(block: slice) -> tuple[np.ndarray, np.ndarray]:
        squared = products.squared(block)
        if own is not None:
            squared[np.arange(block.stop - block.start), own[block]] = np.inf
        kth = np.partition(squared, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
        limit = _beyond(np.maximum(kth, 0), products.slack(block))
        row, column = np.nonzero(squared <= limit[:, None])
        exact = products.exact(row + block.start, column)
        return _first_of_each_row(row, column, exact, n_neighbors)

    found = map_blocks(search, queries.shape[0], 3 * 8 * X.shape[0], n_jobs)
    indices = np.concatenate([part[0] for part in found])
    squared = np.concatenate([part[1] for part in found])
    return Neighborhoods(indices, np.sqrt(squared))


def _beyond(kth: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Return a squared distance that no tie with the K-th neighbour exceeds."""
    return kth * (1 + 4 * 2.0**-TIE_BITS) + slack


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
    exact = squared_distances(queries, X, row, column)
    column, squared = _first_of_each_row(row, column, exact, n_neighbors)
    return Neighborhoods(column, np.sqrt(squared))
