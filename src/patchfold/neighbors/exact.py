"""Queries and samples -> the nearest of all samples, by comparing with every one."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ..backends.distances import (
    TIE_BITS,
    Products,
    first_of_each_row,
    in_rows,
    nearest_first,
    squared_distances_to,
)
from ..backends.native.loops import is_compiled
from ..backends.native.neighbors import all_squared_gaps
from ..backends.threads import map_blocks
from ..records import Neighborhoods
from .comparing import Finder, are_small_integers, by_loops, compare_all, group_in_order
from .distinct import DistinctRows, expand_neighbors, find_distinct, without_selves

FEW = 1000
"""Up to this many samples all pairs are compared by plain matrix products ..."""

FEW_LOOPS = 300
"""... or up to this many where loops are compiled."""

MANY = 8
"""With more than one in this many samples as neighbours, all distances are sorted."""

QUERIES = 4096
"""Queries in one call of scikit-learn."""

FEATURES = 100
"""Up to this many features, loops in single precision are faster than products."""

SPARE = 8
"""Candidates beyond the K wanted, so that few rows with ties have to look further."""

WIDER = (1, 4, 16)
"""Multiples of the candidates that are kept, where fewer leave ties open."""

ASKED = 256
"""Queries that tell how many candidates the others will need."""

MOSTLY = 0.75
"""Distinct rows are searched if they are at most this part of all ..."""

TIED = 64
"""... or if this many queries are left open by ties."""

_one_at_a_time = threading.Lock()
"""scikit-learn sets BLAS to one thread and back. Two searches at once would leave it at
one thread."""


@dataclass(frozen=True)
class _Wanted:
    """The parameters of `search_all`."""

    queries: np.ndarray
    X: np.ndarray
    n_neighbors: int
    own: np.ndarray | None
    n_jobs: int | None

    @property
    def n_listed(self) -> int:
        """Return K, and one more where a query may find itself."""
        return self.n_neighbors + int(self.own is not None)

    def of(self, rows: np.ndarray) -> _Wanted:
        """Return the same for some of the queries."""
        own = None if self.own is None else self.own[rows]
        return replace(self, queries=self.queries[rows], own=own)


def _renew_lock() -> None:
    """Replace the lock after a fork."""
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

    A row is settled if all samples that were not kept are beyond its K-th neighbour.
    Where ties leave it open, more candidates are kept; where rounding does, products in
    double precision find them. A row that is open then is compared with all samples.

    Two kinds of tables have many ties. Where most rows are repeated, the distinct ones
    are searched, and each of their neighbours stands for all rows that are equal to it.
    Small integers are compared without rounding errors, so that ties are settled in
    single precision.

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
    wanted, n = _Wanted(queries, X, n_neighbors, own, n_jobs), X.shape[0]
    if not queries.shape[0]:
        return Neighborhoods(*(np.empty((0, n_neighbors), t) for t in (np.intp, float)))
    if MANY * (wanted.n_listed + SPARE) >= n:
        return _among_all(wanted)
    rows = find_distinct(X) if 2 * queries.shape[0] >= n else None
    if rows is not None and rows.first.size <= MOSTLY * n:
        return _among_distinct(rows, wanted)
    if is_compiled() and are_small_integers(queries, X):
        return _among_integers(wanted)
    if n <= (FEW_LOOPS if _has_loops_for(X) else FEW):
        return _among_all(wanted)
    return _among_candidates(wanted)


def _has_loops_for(X: np.ndarray) -> bool:
    """Say whether loops in single precision are there, and faster than products."""
    return is_compiled() and X.shape[1] <= FEATURES


def _among_integers(wanted: _Wanted) -> Neighborhoods:
    """Search integers in single precision: of ties the loops keep the lower index."""
    queries, X, n_listed = wanted.queries, wanted.X, wanted.n_listed
    center = np.rint(X.mean(axis=0))
    groups = group_in_order(X - center)
    column, squared = compare_all(groups, queries - center, n_listed, wanted.n_jobs)
    order = np.argsort(column, axis=1)
    column = np.take_along_axis(column, order, axis=1)
    squared = np.take_along_axis(squared, order, axis=1).astype(float)
    if wanted.own is not None:
        squared[column == wanted.own[:, None]] = np.inf
    column, squared = first_of_each_row(column, squared, wanted.n_neighbors)
    return Neighborhoods(column, np.sqrt(squared))


def _among_distinct(rows: DistinctRows, wanted: _Wanted) -> Neighborhoods:
    """Search the distinct rows once for each distinct query; then list all rows."""
    queries, n_listed = wanted.queries, wanted.n_listed
    asked = rows if queries is wanted.X else find_distinct(queries)
    if asked is not None:
        queries = queries[asked.first]
    n_jobs, distinct = wanted.n_jobs, wanted.X[rows.first]
    found = search_all(queries, distinct, min(n_listed, len(distinct)), n_jobs=n_jobs)
    near = found.indices
    squared = squared_distances_to(queries, distinct, near, n_jobs=n_jobs)
    parts = map_blocks(
        lambda block: expand_neighbors(rows, near[block], squared[block], n_listed),
        queries.shape[0],
        64 * n_listed**2,
        n_jobs,
    )
    indices, squared = (np.concatenate(part) for part in zip(*parts, strict=True))
    if asked is not None:
        indices, squared = indices[asked.label], squared[asked.label]
    if wanted.own is not None:
        indices, squared = without_selves(indices, squared, wanted.own)
    return Neighborhoods(indices, np.sqrt(squared))


def _among_few_or_all(wanted: _Wanted) -> Neighborhoods:
    """Compare with the distinct samples, if these are fewer, or with all."""
    rows = find_distinct(wanted.X) if wanted.queries.shape[0] >= TIED else None
    if rows is None or rows.first.size > MOSTLY * wanted.X.shape[0]:
        return _among_all(wanted)
    return _among_distinct(rows, wanted)


def _among_candidates(wanted: _Wanted) -> Neighborhoods:
    """Search for a few too many, for more where ties are many, then among all."""
    queries, X, n_jobs = wanted.queries, wanted.X, wanted.n_jobs
    indices = np.empty((queries.shape[0], wanted.n_neighbors), np.intp)
    squared = np.empty(indices.shape)
    n_wanted = wanted.n_listed + SPARE

    def settle(rows: np.ndarray, times: int) -> tuple[np.ndarray, np.ndarray]:
        """Search some rows; return those left open by ties, and by rounding."""
        ours = wanted.of(rows)
        column, least = find(ours.queries, times * n_wanted)
        exact = squared_distances_to(ours.queries, X, column, n_jobs=n_jobs)
        if ours.own is not None:
            exact[column == ours.own[:, None]] = np.inf
        indices[rows], squared[rows] = first_of_each_row(
            column, exact, wanted.n_neighbors
        )
        left = ~(beyond_ties(squared[rows, -1]) < least)
        coarse = (least <= 0) & (make is not _by_products)  # after which nothing comes
        return rows[left & ~coarse], rows[left & coarse]

    left = np.arange(queries.shape[0])
    for make in [by_loops, _by_products] if _has_loops_for(X) else [_by_products]:
        if not left.size:
            break
        find = make(X, n_jobs)
        widths = [times for times in WIDER if MANY * times * n_wanted <= X.shape[0]]
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
        rest = _among_few_or_all(wanted.of(left))
        indices[left], squared[left] = rest.indices, rest.distances**2
    return Neighborhoods(indices, np.sqrt(squared))


def _by_products(X: np.ndarray, n_jobs: int | None) -> Finder:
    """Return what finds candidates by scikit-learn; as `by_loops`."""
    search = NearestNeighbors(algorithm="brute", n_jobs=n_jobs).fit(X)

    def find(queries: np.ndarray, n_wanted: int) -> tuple[np.ndarray, np.ndarray]:
        def nearest(block: slice) -> tuple[np.ndarray, np.ndarray]:
            with _one_at_a_time:
                far, column = search.kneighbors(queries[block], n_wanted)
            return column, far[:, -1]

        # scikit-learn has its own threads; the blocks are for the progress bar.
        found = map_blocks(nearest, queries.shape[0], 0, step=QUERIES)
        column, far = (np.concatenate(part) for part in zip(*found, strict=True))
        column.sort(axis=1)
        slack = Products(queries, X).slack(slice(0, queries.shape[0]))
        return column, far**2 - slack

    return find


def _among_all(wanted: _Wanted) -> Neighborhoods:
    """Compare with every sample, one block of queries after another."""
    queries, X, n_neighbors = wanted.queries, wanted.X, wanted.n_neighbors
    q, n = queries.shape[0], X.shape[0]
    # One array for both: a large one is given in large pages, which cost less.
    squared, indices = np.empty((2, q, n_neighbors))
    indices = indices.view(np.int64)
    # Of few features, most distances are found as fast feature by feature.
    few = MANY * n_neighbors <= n or (X.shape[1] > n and 2 * n_neighbors < n)
    products = Products(queries, X) if few else None

    def search(block: slice) -> None:
        ours = None if wanted.own is None else wanted.own[block]
        if products is None:
            exact = all_squared_gaps(queries[block], X)
            if ours is not None:
                exact[np.arange(ours.size), ours] = np.inf
            indices[block], squared[block] = nearest_first(exact, n_neighbors)
        else:
            indices[block], squared[block] = first_of_each_row(
                *near_in_table(products, block, ours, n_neighbors), n_neighbors
            )

    map_blocks(search, q, 48 * 8 * n, wanted.n_jobs)
    return Neighborhoods(indices, np.sqrt(squared, out=squared))


def near_in_table(
    products: Any, block: slice, own: np.ndarray | None, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find candidates by a matrix product, and their exact squared distances.

    `products` is `Products`, or another table that is read as these are.
    """
    squared = products.squared(block)
    if own is not None:
        squared[np.arange(own.size), own] = np.inf
    kth = np.partition(squared, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
    limit = beyond_ties(np.maximum(kth, 0), products.slack(block))
    row, column = np.nonzero(squared <= limit[:, None])
    exact = products.exact(row + block.start, column)
    return in_rows(row, column, exact, squared.shape[0])


def beyond_ties(kth: np.ndarray, slack: np.ndarray | float = 0.0) -> np.ndarray:
    """Return a squared distance that no tie with the K-th neighbour exceeds."""
    return kth * (1 + 4 * 2.0**-TIE_BITS) + slack
