"""Queries and samples -> the nearest of all samples, by comparing with every one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ..backends.distances import Products, squared_distances_to
from ..backends.native.loops import is_compiled
from ..backends.native.pairs import all_squared_gaps
from ..backends.native.search import group_samples, search_cells
from ..backends.ranking import TIE_BITS, first_of_each_row, in_rows, nearest_first
from ..backends.threads import map_blocks
from ..records import Neighborhoods
from .distinct import DistinctRows, expand_neighbors, find_distinct, without_selves

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

WIDER = (1, 4, 16)
"""So many times the candidates are kept, where fewer leave ties open."""

ASKED = 256
"""Queries that tell how many candidates the others will need."""

FAR = 1000.0
"""Samples are far if they are so many times as far from the mean as is usual."""

FEW_FAR = 128
"""Up to so many are compared with every query."""

MOSTLY = 0.75
"""Distinct rows are searched if they are at most this part of all ..."""

TIED = 64
"""... or if so many queries are left open by ties."""

_one_at_a_time = threading.Lock()
"""scikit-learn sets BLAS to one thread and back: of two searches at once, the second
would take the one for what it was before, and leave it so."""


Finder = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]


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

    Where most rows are repeated, the distinct ones are searched, and each of their
    neighbours stands for all rows that are equal to it.

    A row is settled if whatever was not kept is surely beyond its K-th neighbour. Where
    ties leave it open, more candidates are kept; where rounding does, products in
    double precision find them. What is open then is compared with all samples.

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
    if n <= max(FEW_LOOPS if _has_loops_for(X) else FEW, MANY * n_wanted):
        return _among_all(queries, X, n_neighbors, own, n_jobs)
    rows = find_distinct(X) if 2 * queries.shape[0] >= n else None
    if rows is not None and rows.first.size <= MOSTLY * n:
        return _among_distinct(rows, queries, X, n_neighbors, own, n_jobs)
    return _among_candidates(queries, X, n_neighbors, own, n_jobs)


def _has_loops_for(X: np.ndarray) -> bool:
    """Say whether loops in single precision are there, and faster than products."""
    return is_compiled() and X.shape[1] <= FEATURES


def _among_distinct(
    rows: DistinctRows,
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    own: np.ndarray | None,
    n_jobs: int | None,
) -> Neighborhoods:
    """Search the distinct rows once for each distinct query, and list who they are."""
    asked = rows if queries is X else find_distinct(queries)
    if asked is not None:
        queries = queries[asked.first]
    n_listed = n_neighbors + int(own is not None)
    n_wanted = min(n_listed, rows.first.size)
    near = search_all(queries, X[rows.first], n_wanted, n_jobs=n_jobs)
    squared = squared_distances_to(queries, X[rows.first], near.indices, n_jobs=n_jobs)
    parts = map_blocks(
        lambda block: expand_neighbors(
            rows, near.indices[block], squared[block], n_listed
        ),
        queries.shape[0],
        64 * n_listed**2,
        n_jobs,
    )
    indices, squared = (np.concatenate(part) for part in zip(*parts, strict=True))
    if asked is not None:
        indices, squared = indices[asked.label], squared[asked.label]
    if own is not None:
        indices, squared = without_selves(indices, squared, own)
    return Neighborhoods(indices, np.sqrt(squared))


def _among_few_or_all(
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    own: np.ndarray | None,
    n_jobs: int | None,
) -> Neighborhoods:
    """Compare with the distinct samples, if that are fewer, or with all."""
    rows = find_distinct(X)
    if rows is None or rows.first.size > MOSTLY * X.shape[0]:
        return _among_all(queries, X, n_neighbors, own, n_jobs)
    return _among_distinct(rows, queries, X, n_neighbors, own, n_jobs)


def _among_candidates(
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    own: np.ndarray | None,
    n_jobs: int | None,
) -> Neighborhoods:
    """Search for a few too many, for more where ties are many, then among all."""
    n = X.shape[0]
    indices = np.empty((queries.shape[0], n_neighbors), np.intp)
    squared = np.empty(indices.shape)
    n_wanted = n_neighbors + int(own is not None) + SPARE

    def settle(rows: np.ndarray, times: int) -> tuple[np.ndarray, np.ndarray]:
        """Search some rows; return those left open by ties, and by rounding."""
        ours = queries[rows]
        column, least = find(ours, times * n_wanted)
        exact = squared_distances_to(ours, X, column, n_jobs=n_jobs)
        if own is not None:
            exact[column == own[rows, None]] = np.inf
        indices[rows], squared[rows] = first_of_each_row(column, exact, n_neighbors)
        left = ~(_beyond(squared[rows, -1]) < least)
        coarse = (least <= 0) & (make is not _by_products)  # after which nothing comes
        return rows[left & ~coarse], rows[left & coarse]

    left = np.arange(queries.shape[0])
    for make in [_by_loops, _by_products] if _has_loops_for(X) else [_by_products]:
        if not left.size:
            break
        find = make(X, n_jobs)
        widths = [times for times in WIDER if MANY * times * n_wanted <= n]
        some = left[:: max(1, left.size // ASKED)]
        while len(widths) > 1 and left.size >= 8 * ASKED:
            if 4 * settle(some, widths[0])[0].size <= some.size:
                break
            widths = widths[1:]  # most would have to be searched again
        coarse = [left[:0]]
        for times in widths:
            if not left.size:
                break
            left, rounded = settle(left, times)
            coarse.append(rounded)
        left = np.sort(np.concatenate([left, *coarse]))
    if left.size:
        selves = None if own is None else own[left]
        among = _among_all if left.size < TIED else _among_few_or_all
        rest = among(queries[left], X, n_neighbors, selves, n_jobs)
        indices[left], squared[left] = rest.indices, rest.distances**2
    return Neighborhoods(indices, np.sqrt(squared))


def _by_loops(X: np.ndarray, n_jobs: int | None) -> Finder:
    """Return what finds candidates in single precision.

    It takes queries and a number of candidates, and returns candidates, ascending in
    each row (-1 where a query is too far away for single precision), and a squared
    distance that whatever is no candidate has at least. The few samples that are far
    from all others are candidates of all queries: they would set the scale.
    """
    near, far = _set_apart(X)
    center = X[near].mean(axis=0)
    scale = float(np.abs(X[near] - center).max()) or 1.0
    points = (X[near] - center) / scale
    label = np.arange(near.size) // CELL
    groups = group_samples(points, label, np.zeros((label[-1] + 1, X.shape[1])))
    n_cells = groups.starts.size - 1
    largest = np.linalg.norm(points, axis=1).max()

    def find(queries: np.ndarray, n_wanted: int) -> tuple[np.ndarray, np.ndarray]:
        ours = (queries - center) / scale
        column = np.empty((ours.shape[0], n_wanted + far.size), np.int64)
        column[:, n_wanted:] = far
        reach = np.empty(ours.shape[0])

        def search(block: slice) -> None:
            found = search_cells(groups, ours[block], n_cells, n_wanted)
            sample, squared, _ = found
            column[block, :n_wanted] = np.where(sample < 0, -1, near[sample])
            column[block].sort(axis=1)
            reach[block] = squared.max(axis=1)

        step = max(QUERIES // 8, WORTH // X.shape[0])
        map_blocks(search, ours.shape[0], 0, n_jobs, step=step)
        # Each coordinate is rounded, then each difference, square and sum.
        with np.errstate(over="ignore"):  # too far for single precision: not settled
            moved = 4 * ROUNDING * (np.linalg.norm(ours, axis=1) + largest)
        rounded = 1 - (X.shape[1] + 4) * ROUNDING
        least = scale * (rounded * np.sqrt(reach) - moved)
        return column, np.where(np.isfinite(reach), np.maximum(least, 0), 0) ** 2

    return find


def _set_apart(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which samples are near each other, and which few are far from them."""
    near = np.arange(X.shape[0])
    while True:
        size = np.abs(X[near] - X[near].mean(axis=0)).max(axis=1)
        here = size <= FAR * np.median(size)
        n_far = X.shape[0] - np.count_nonzero(here)
        if here.all() or n_far > FEW_FAR:
            return near, np.setdiff1d(np.arange(X.shape[0]), near)
        near = near[here]


def _by_products(X: np.ndarray, n_jobs: int | None) -> Finder:
    """Return what finds candidates by scikit-learn; as `_by_loops`."""
    search = NearestNeighbors(algorithm="brute", n_jobs=n_jobs).fit(X)

    def find(queries: np.ndarray, n_wanted: int) -> tuple[np.ndarray, np.ndarray]:
        def nearest(block: slice) -> tuple[np.ndarray, np.ndarray]:
            with _one_at_a_time:
                far, column = search.kneighbors(queries[block], n_wanted)
            return column, far[:, -1]

        # scikit-learn has its own threads; the cut is for those who watch.
        found = map_blocks(nearest, queries.shape[0], 0, step=QUERIES)
        column, far = (np.concatenate(part) for part in zip(*found, strict=True))
        column.sort(axis=1)
        slack = Products(queries, X).slack(slice(0, queries.shape[0]))
        return column, far**2 - slack

    return find


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
