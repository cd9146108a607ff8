"""Queries and samples -> the nearest of all samples, by comparing with every one."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ._blocks import map_blocks
from ._distances import Products, all_squared_distances, squared_distances_to
from ._ranking import TIE_BITS, first_of_each_row, in_rows, nearest_first
from ._types import Neighborhoods

FEW = 1000
"""Up to this many samples all pairs are compared by plain matrix products."""

MANY = 8
"""With K above this part of the samples, whole rows of distances are sorted."""

QUERIES = 4096
"""So many queries are searched in one go beyond that."""

SPARE = 8
"""Candidates beyond the K wanted, so that few rows with ties have to look further."""


def search_all(
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    *,
    own: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Neighborhoods:
    """Search all samples: a few too many by scikit-learn, then exact distances.

    A row is settled if the farthest of its candidates is surely beyond its K-th
    neighbour; ties may leave some that are not, and those are compared with everybody.

    Parameters
    ----------
    queries : array (q, m)
        Whose neighbours are wanted.
    X : array (n, m)
        Samples.
    n_neighbors : int
        How many neighbours K.
    own : int array (q,) or None
        Which sample each query is itself, if it is one: never its own neighbour.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    Neighborhoods
        Indices into `X` and distances, (q, K) each.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> search_all(X[:1], X, 2).indices.tolist()
    [[0, 1]]
    >>> search_all(X[:1], X, 2, own=np.array([0])).indices.tolist()
    [[1, 2]]
    """
    n, n_wanted = X.shape[0], n_neighbors + int(own is not None) + SPARE
    if n <= max(FEW, MANY * n_wanted):
        return _among_all(queries, X, n_neighbors, own, n_jobs)
    search = NearestNeighbors(n_neighbors=n_wanted, algorithm="brute", n_jobs=n_jobs)
    search.fit(X)

    def find(block: slice) -> np.ndarray:
        return search.kneighbors(queries[block], return_distance=False)

    # scikit-learn has its own threads; the cut is for those who watch.
    column = np.concatenate(map_blocks(find, queries.shape[0], 0, step=QUERIES))
    column.sort(axis=1)
    exact = squared_distances_to(queries, X, column, n_jobs=n_jobs)
    reach = exact.max(axis=1)
    if own is not None:
        exact[column == own[:, None]] = np.inf
    indices, squared = first_of_each_row(column, exact, n_neighbors)
    slack = Products(queries, X).slack(slice(0, queries.shape[0]))
    unsettled = np.flatnonzero(~(_beyond(squared[:, -1], slack) < reach))
    if unsettled.size:
        selves = None if own is None else own[unsettled]
        rest = _among_all(queries[unsettled], X, n_neighbors, selves, n_jobs)
        indices[unsettled], squared[unsettled] = rest.indices, rest.distances**2
    return Neighborhoods(indices, np.sqrt(squared))


def _among_all(
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    own: np.ndarray | None,
    n_jobs: int | None,
) -> Neighborhoods:
    """Compare with every sample, one block of queries after another.

    `own` tells which sample each query is itself, for training samples.
    """
    q, n = queries.shape[0], X.shape[0]
    indices, squared = np.empty((q, n_neighbors), np.intp), np.empty((q, n_neighbors))
    # Of few features, most distances are found as fast feature by feature.
    few = MANY * n_neighbors <= n or (X.shape[1] > n and 2 * n_neighbors < n)
    products = Products(queries, X) if few else None

    def search(block: slice) -> None:
        ours = None if own is None else own[block]
        if products is None:
            exact = all_squared_distances(queries[block], X)
            if ours is not None:
                exact[np.arange(ours.size), ours] = np.inf
            indices[block] = nearest_first(exact, n_neighbors)
            squared[block] = np.take_along_axis(exact, indices[block], axis=1)
        else:
            indices[block], squared[block] = first_of_each_row(
                *_near(products, block, ours, n_neighbors), n_neighbors
            )

    map_blocks(search, q, 6 * 8 * n, n_jobs)
    return Neighborhoods(indices, np.sqrt(squared, out=squared))


def _near(
    products: Products, block: slice, own: np.ndarray | None, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find candidates by a matrix product, and their exact squared distances."""
    squared = products.squared(block)
    if own is not None:
        squared[np.arange(own.size), own] = np.inf
    kth = np.partition(squared, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
    limit = _beyond(np.maximum(kth, 0), products.slack(block))
    row, column = np.nonzero(squared <= limit[:, None])
    exact = products.exact(row + block.start, column)
    return in_rows(row, column, exact, squared.shape[0])


def _beyond(kth: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Return a squared distance that no tie with the K-th neighbour exceeds."""
    return kth * (1 + 4 * 2.0**-TIE_BITS) + slack
