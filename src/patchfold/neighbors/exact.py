"""Queries and samples -> the nearest of all samples, exactly.

A loop finds a few neighbours. What it leaves open, and many neighbours, are found among
candidates, which are compared in single precision, and exactly where that matters.
Tables of many ties, and small ones, go their own ways.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ..backends.native.cells import Groups, group_samples, search_cells
from ..backends.native.loops import loops
from ..backends.native.neighbors import (
    FEATURES,
    FEW_LOOPS,
    MOST_NEIGHBORS,
    Members,
    first_of_each_row,
    lay_out,
    nearest_members,
    squared_distances_to,
    without_selves,
)
from ..backends.threads import map_blocks
from ..records import Neighborhoods
from .all_pairs import BEYOND_TIES, MANY, Finder, among_all, by_products
from .close_up import FEWEST, ROUNDING, set_apart, settle_clusters
from .distinct import DistinctRows, expand_neighbors, find_distinct

FEW = 1000
"""Up to this many samples all pairs are compared by plain matrix products; where loops
are compiled, up to `FEW_LOOPS`."""

SPARE = 8
"""Candidates beyond the K wanted, so that few rows with ties have to look further."""

WIDER = (1, 4, 16)
"""Multiples of the candidates that are kept, where fewer leave ties open."""

TRIED = 64
"""Queries that tell whether the loop for few neighbours settles most of the others."""

ASKED = 256
"""Queries that tell how many candidates the others will need."""

MOSTLY = 0.75
"""Distinct rows are searched if they are at most this part of all ..."""

TIED = 64
"""... or if this many queries are left open by ties."""

STEP = 512
"""Queries in one block, at least."""

WORTH = 4_000_000
"""Distances that are worth a thread."""

CELL = 512
"""Samples that are compared with a few queries while they stay in cache."""

EXACT_SUM = 2.0**24
"""Sums of integers below this have no rounding errors in single precision."""


class Wanted(NamedTuple):
    """What is searched for: parameters of `search_all`."""

    queries: np.ndarray
    X: np.ndarray
    n_neighbors: int
    own: np.ndarray | None
    n_jobs: int | None
    n_listed: int  # as a query may find itself, one more than the neighbours

    def of(self, rows: np.ndarray) -> Wanted:
        """Return the same of some queries."""
        own = None if self.own is None else self.own[rows]
        return self._replace(queries=self.queries[rows], own=own)


def search_all(
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    *,
    own: np.ndarray | None = None,
    n_jobs: int | None = None,
    laid_out: Members | None = None,
) -> Neighborhoods:
    """Search all samples in the fastest way; the result does not depend on it.

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
    laid_out : Members or None
        What `lay_out` makes of X, where it is searched again and again.

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
    if not queries.shape[0]:
        return Neighborhoods(*(np.empty((0, n_neighbors), t) for t in (np.intp, float)))
    n_listed = n_neighbors + (own is not None)
    wanted = Wanted(queries, X, n_neighbors, own, n_jobs, n_listed)
    if MANY * (n_listed + SPARE) >= X.shape[0]:
        return among_all(*wanted[:5])
    if n_listed <= MOST_NEIGHBORS:
        laid_out = lay_out(X) if laid_out is None else laid_out
    if n_listed > MOST_NEIGHBORS or laid_out is None:
        return _among_many(wanted)
    n_queries = queries.shape[0]
    indices = np.empty((n_queries, n_listed), np.int64)
    squared = np.empty(indices.shape)
    if n_queries >= 8 * TRIED:
        tried = queries[:: n_queries // TRIED]
        places = indices[: len(tried)], squared[: len(tried)]
        nearest_members(laid_out, tried, *places, slice(None))
        if np.median(places[0][:, 0]) < 0:  # most would be searched in vain
            return _among_many(wanted)
    search = partial(nearest_members, laid_out, queries, indices, squared)
    map_blocks(search, n_queries, 0, n_jobs, step=2 * STEP)
    left = np.flatnonzero(indices[:, 0] < 0)
    if own is not None:
        indices, squared = without_selves(indices, squared, own)
    distances = np.sqrt(squared)
    if left.size:
        rest = _among_many(wanted.of(left))
        indices[left], distances[left] = rest.indices, rest.distances
    return Neighborhoods(indices, distances)


def _among_many(wanted: Wanted) -> Neighborhoods:
    """Search for a few too many in single precision, then by exact distances.

    A row is settled if all samples that were not kept are beyond its K-th neighbour.
    Where ties leave it open, more candidates are kept; where rounding does, products in
    double precision find them. A row that is open then is compared with all samples.

    Two kinds of tables have many ties. Where most rows are repeated, the distinct ones
    are searched, and each of their neighbours stands for all rows that are equal to it.
    Small integers are compared without rounding errors, so that ties are settled in
    single precision.
    """
    queries, X, n = wanted.queries, wanted.X, wanted.X.shape[0]
    rows = find_distinct(X) if 2 * queries.shape[0] >= n else None
    if rows is not None and rows.first.size <= MOSTLY * n:
        return _among_distinct(rows, wanted)
    compiled = loops() is not None
    if compiled and are_small_integers(queries, X):
        return _among_integers(wanted)
    finders = [by_loops, by_products]
    if not compiled or X.shape[1] > FEATURES:  # products are faster, or alone there
        finders = [by_products]
    if n <= (FEW_LOOPS if len(finders) > 1 else FEW):
        return among_all(*wanted[:5])
    return _among_candidates(finders, wanted)


def _among_integers(wanted: Wanted) -> Neighborhoods:
    """Search integers in single precision: of ties the loops keep the lower index."""
    queries, X, n_neighbors, own, n_jobs, n_listed = wanted
    center = np.rint(X.mean(axis=0))
    groups = group_in_order(X - center)
    column, squared = compare_all(groups, queries - center, n_listed, n_jobs)
    order = np.argsort(column, axis=1)
    column = np.take_along_axis(column, order, axis=1)
    squared = np.take_along_axis(squared, order, axis=1).astype(float)
    if own is not None:
        squared[column == own[:, None]] = np.inf
    column, squared = first_of_each_row(column, squared, n_neighbors)
    return Neighborhoods(column, np.sqrt(squared))


def _among_distinct(rows: DistinctRows, wanted: Wanted) -> Neighborhoods:
    """Search the distinct rows once for each distinct query; then list all rows."""
    queries, X, _, own, n_jobs, n_listed = wanted
    asked = rows if queries is X else find_distinct(queries)
    if asked is not None:
        queries = queries[asked.first]
    distinct, places = X[rows.first], (rows.members, rows.starts)
    found = search_all(queries, distinct, min(n_listed, len(distinct)), n_jobs=n_jobs)
    near = found.indices
    squared = squared_distances_to(queries, distinct, near, n_jobs=n_jobs)
    parts = map_blocks(
        lambda block: expand_neighbors(*places, near[block], squared[block], n_listed),
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


def _among_rest(wanted: Wanted) -> Neighborhoods:
    """Compare with the distinct samples, if these are fewer, or with all."""
    rows = find_distinct(wanted.X) if wanted.queries.shape[0] >= TIED else None
    if rows is None or rows.first.size > MOSTLY * wanted.X.shape[0]:
        return among_all(*wanted[:5])
    return _among_distinct(rows, wanted)


def _among_candidates(
    finders: Sequence[Callable[[np.ndarray, int | None], Finder]], wanted: Wanted
) -> Neighborhoods:
    """Search for a few too many, for more where ties are many, then among all."""
    queries, X, n_neighbors, own, n_jobs, n_listed = wanted
    indices = np.empty((queries.shape[0], n_neighbors), np.intp)
    squared = np.empty(indices.shape)
    n_wanted = n_listed + SPARE

    def settle(rows: np.ndarray, times: int) -> tuple[np.ndarray, np.ndarray]:
        """Search some rows; return those left open by ties, and by rounding."""
        ours = queries[rows]
        column, least = find(ours, times * n_wanted)
        exact = squared_distances_to(ours, X, column, n_jobs=n_jobs)
        if own is not None:
            exact[column == own[rows, None]] = np.inf
        indices[rows], squared[rows] = first_of_each_row(column, exact, n_neighbors)
        left = ~(squared[rows, -1] * BEYOND_TIES < least)
        coarse = (least <= 0) & (make is not finders[-1])  # after which nothing comes
        return rows[left & ~coarse], rows[left & coarse]

    left = np.arange(queries.shape[0])
    for make in finders:
        if not left.size:
            break
        find = make(X, n_jobs)
        widths = WIDER[: bisect_right(WIDER, X.shape[0] // (MANY * n_wanted))]
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
        left = _among_clusters(left, wanted, (indices, squared))
    if left.size:
        rest = _among_rest(wanted.of(left))
        indices[left], squared[left] = rest.indices, rest.distances**2
    return Neighborhoods(indices, np.sqrt(squared))


def are_small_integers(queries: np.ndarray, X: np.ndarray) -> bool:
    """Say whether squared distances are integers that single precision can hold."""
    tables = (X,) if queries is X else (X, queries)
    for rows in (slice(8), slice(None)):  # the first rows mostly tell
        for table in tables:
            if (table[rows] != np.rint(table[rows])).any():
                return False
    center = np.rint(X.mean(axis=0))
    with np.errstate(over="ignore"):  # infinite is too large
        largest = max(np.square(t - center).sum(axis=1).max() for t in tables)
    return bool(4 * largest < EXACT_SUM)


def group_in_order(points: np.ndarray) -> Groups:
    """Cut samples into cells by their numbers."""
    label = np.arange(points.shape[0]) // CELL
    return group_samples(points, label, np.zeros((label[-1] + 1, points.shape[1])))


def compare_all(
    groups: Groups, queries: np.ndarray, n_wanted: int, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest samples of all cells, and their squared distances."""
    column = np.empty((queries.shape[0], n_wanted), np.int64)
    squared = np.empty(column.shape, np.float32)

    def search(block: slice) -> None:
        n_cells = groups.starts.size - 1
        found = search_cells(groups, queries[block], n_cells, n_wanted)
        column[block], squared[block], _ = found

    step = max(STEP, WORTH // groups.samples.size)
    map_blocks(search, queries.shape[0], 0, n_jobs, step=step)
    return column, squared


def by_loops(X: np.ndarray, n_jobs: int | None) -> Finder:
    """Return a function that finds candidates in single precision.

    It takes queries and a number of candidates, and returns candidates, ascending in
    each row (-1 where a query is too far away for single precision), and a squared
    distance that whatever is no candidate has at least. The few samples that are far
    from all others are candidates of all queries: they would set the scale.
    """
    near, far = set_apart(X)
    center = X[near].mean(axis=0)
    scale = float(np.abs(X[near] - center).max()) or 1.0
    points = (X[near] - center) / scale
    groups = group_in_order(points)
    largest = np.linalg.norm(points, axis=1).max()

    def find(queries: np.ndarray, n_wanted: int) -> tuple[np.ndarray, np.ndarray]:
        ours = (queries - center) / scale
        sample, squared = compare_all(groups, ours, n_wanted, n_jobs)
        column = np.empty((ours.shape[0], n_wanted + far.size), np.int64)
        column[:, :n_wanted] = np.where(sample < 0, -1, near[sample])
        column[:, n_wanted:] = far
        column.sort(axis=1)
        reach = squared.max(axis=1).astype(float)
        # Each coordinate is rounded, then each difference, square and sum.
        with np.errstate(over="ignore"):  # too far for single precision: not settled
            moved = 4 * ROUNDING * (np.linalg.norm(ours, axis=1) + largest)
        rounded = 1 - (X.shape[1] + 4) * ROUNDING
        least = scale * (rounded * np.sqrt(reach) - moved)
        return column, np.where(np.isfinite(reach), np.maximum(least, 0), 0) ** 2

    return find


def _among_clusters(
    left: np.ndarray, wanted: Wanted, found: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Search rows of clusters that are only resolved from inside; return the others."""
    if left.size < FEWEST:
        return left
    (indices, squared), count = found, wanted.n_neighbors
    search = partial(search_all, n_neighbors=count, n_jobs=wanted.n_jobs)
    ours = wanted.of(left)
    settled, closest = settle_clusters(search, ours.queries, ours.X, count, ours.own)
    indices[left[settled]] = closest.indices[settled]
    squared[left[settled]] = closest.distances[settled] ** 2
    return left[~settled]
