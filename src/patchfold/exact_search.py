"""Queries and samples -> the nearest of all samples, by comparing with every one."""

from __future__ import annotations

import os
import threading

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ._blocks import map_blocks
from ._distances import Products, squared_distances_to
from ._native import is_compiled
from ._native_pairs import all_squared_gaps
from ._native_search import group_samples, search_cells
from ._ranking import TIE_BITS, first_of_each_row, in_rows, nearest_first
from ._types import Neighborhoods

FEW = 1000
"""Up to this many samples all pairs are compared by plain matrix products ..."""

FEW_LOOPS = 300
"""... or up to this many where loops are compiled."""

MANY = 8
"""With K above this part of the samples, whole rows of distances are sorted."""

QUERIES = 4096
"""So many queries are searched in one go beyond that."""

WORTH = 4_000_000
"""Distances that are worth a thread."""

FEATURES = 100
"""Up to this many features, loops in single precision are faster than products."""

CELL = 512
"""Samples that are compared with a few queries while they stay in cache."""

ROUNDING = 2.0**-24
"""Of a number in single precision."""

SPARE = 8
"""Candidates beyond the K wanted, so that few rows with ties have to look further."""

_one_at_a_time = threading.Lock()
"""scikit-learn sets BLAS to one thread and back: of two searches at once, the second
would take the one for what it was before, and leave it so."""


def _renew_lock() -> None:
    """Let nobody hold the lock in a process that was forked while somebody did."""
    global _one_at_a_time
    _one_at_a_time = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def search_all(
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    *,
    own: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Neighborhoods:
    """Search all samples: a few too many in single precision, then exact distances.

    A row is settled if whoever was not kept is surely beyond its K-th neighbour; those
    that are not, by ties or by rounding, are searched again in double precision, and
    where that does not settle it, compared with everybody.

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
    if not queries.shape[0]:
        return Neighborhoods(*(np.empty((0, n_neighbors), t) for t in (np.intp, float)))
    by_loops = is_compiled() and X.shape[1] <= FEATURES
    if n <= max(FEW_LOOPS if by_loops else FEW, MANY * n_wanted):
        return _among_all(queries, X, n_neighbors, own, n_jobs)
    finders = [_by_loops, _by_products] if by_loops else [_by_products]
    indices = np.empty((queries.shape[0], n_neighbors), np.intp)
    squared = np.empty(indices.shape)
    left = np.arange(queries.shape[0])
    for find in finders:
        ours = queries[left]
        column, least = find(ours, X, n_wanted, n_jobs)
        exact = squared_distances_to(ours, X, column, n_jobs=n_jobs)
        if own is not None:
            exact[column == own[left, None]] = np.inf
        indices[left], squared[left] = first_of_each_row(column, exact, n_neighbors)
        left = left[~(_beyond(squared[left, -1]) < least)]
        if not left.size:
            break
    else:
        selves = None if own is None else own[left]
        rest = _among_all(queries[left], X, n_neighbors, selves, n_jobs)
        indices[left], squared[left] = rest.indices, rest.distances**2
    return Neighborhoods(indices, np.sqrt(squared))


def _by_loops(
    queries: np.ndarray, X: np.ndarray, n_wanted: int, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Find candidates in single precision, and the least that others are away.

    Returns
    -------
    column : int array (q, n_wanted)
        Candidates, ascending; -1 where a query is too far away for single precision.
    least : array (q,)
        Whoever is no candidate has at least this squared distance.
    """
    center = X.mean(axis=0)
    scale = float(np.abs(X - center).max()) or 1.0
    points, ours = (X - center) / scale, (queries - center) / scale
    label = np.arange(X.shape[0]) // CELL
    groups = group_samples(points, label, np.zeros((label[-1] + 1, X.shape[1])))
    column = np.empty((ours.shape[0], n_wanted), np.int64)
    reach = np.empty(ours.shape[0])

    def search(block: slice) -> None:
        n_cells = groups.starts.size - 1
        sample, squared = search_cells(groups, ours[block], n_cells, n_wanted)
        column[block] = np.sort(sample, axis=1)
        reach[block] = squared.max(axis=1)

    step = max(QUERIES // 8, WORTH // X.shape[0])
    map_blocks(search, ours.shape[0], 0, n_jobs, step=step)
    # Each coordinate is rounded, then each difference, square and sum.
    largest = np.linalg.norm(points, axis=1).max()
    with np.errstate(over="ignore"):  # too far for single precision: not settled
        moved = 4 * ROUNDING * (np.linalg.norm(ours, axis=1) + largest)
    rounded = 1 - (X.shape[1] + 4) * ROUNDING
    least = scale * (rounded * np.sqrt(reach) - moved)
    return column, np.where(np.isfinite(reach), np.maximum(least, 0), 0) ** 2


def _by_products(
    queries: np.ndarray, X: np.ndarray, n_wanted: int, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Find candidates by scikit-learn, and the least that others are away."""
    search = NearestNeighbors(n_neighbors=n_wanted, algorithm="brute", n_jobs=n_jobs)
    search.fit(X)

    def find(block: slice) -> tuple[np.ndarray, np.ndarray]:
        with _one_at_a_time:
            far, column = search.kneighbors(queries[block])
        return column, far[:, -1]

    # scikit-learn has its own threads; the cut is for those who watch.
    found = map_blocks(find, queries.shape[0], 0, step=QUERIES)
    column, far = (np.concatenate(part) for part in zip(*found, strict=True))
    column.sort(axis=1)
    slack = Products(queries, X).slack(slice(0, queries.shape[0]))
    return column, far**2 - slack


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
    # One array for both: a large one is given in large pages, which cost less.
    squared, indices = np.empty((2, q, n_neighbors))
    indices = indices.view(np.int64)
    # Of few features, most distances are found as fast feature by feature.
    few = MANY * n_neighbors <= n or (X.shape[1] > n and 2 * n_neighbors < n)
    products = Products(queries, X) if few else None

    def search(block: slice) -> None:
        ours = None if own is None else own[block]
        if products is None:
            exact = all_squared_gaps(queries[block], X)
            if ours is not None:
                exact[np.arange(ours.size), ours] = np.inf
            indices[block], squared[block] = nearest_first(exact, n_neighbors)
        else:
            indices[block], squared[block] = first_of_each_row(
                *_near(products, block, ours, n_neighbors), n_neighbors
            )

    map_blocks(search, q, 48 * 8 * n, n_jobs)
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


def _beyond(kth: np.ndarray, slack: np.ndarray | float = 0.0) -> np.ndarray:
    """Return a squared distance that no tie with the K-th neighbour exceeds."""
    return kth * (1 + 4 * 2.0**-TIE_BITS) + slack
