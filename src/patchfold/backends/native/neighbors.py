"""Distances, samples in cells, and the nearest of them (`neighbors.c`, `search.c`).

Differences give distances to the last digit, also among points that are close and far
from the origin. The K nearest of each row are chosen by squared distance; ties go by
index. See `loops.py`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..arrays import Array, array_namespace
from ..threads import map_blocks
from .loops import aligned, as_kind, check_places, is_plain, loops, pairs_at_once

TIE_BITS = 40
"""Squared distances that agree to this many binary digits are ties."""

_DROPPED = 53 - TIE_BITS  # of the 53 binary digits of a float

GROUP = 16
"""Samples that the search in cells compares at once."""

BEHIND = 3
"""Groups that are read behind the last one, and must be there."""


class Groups(NamedTuple):
    """Samples in cells, laid out for `search_cells`.

    Attributes
    ----------
    points : float32 array (g + BEHIND, m, GROUP)
        Samples from the centres of their cells, cell after cell, in groups of `GROUP`,
        feature by feature; what fills the last group of a cell is infinite.
    starts : int64 array (c + 1,)
        At which group each cell begins.
    middles : float64 array (c, m)
        Centres of the cells.
    centers : float32 array (ceil(c / GROUP) + BEHIND, m, GROUP)
        The same, in groups.
    samples : int64 array (g * GROUP,)
        Which sample lies in which place; -1 for none.
    """

    points: np.ndarray
    starts: np.ndarray
    middles: np.ndarray
    centers: np.ndarray
    samples: np.ndarray


def group_samples(X: np.ndarray, label: np.ndarray, middles: np.ndarray) -> Groups:
    """Lay samples out by the cells that `label` puts them in."""
    order = np.argsort(label, kind="stable")
    counts = np.bincount(label, minlength=middles.shape[0])
    n_groups = -(-counts // GROUP)
    starts = np.concatenate([[0], np.cumsum(n_groups)])
    within = np.arange(order.size) - np.repeat(np.cumsum(counts) - counts, counts)
    place = np.repeat(GROUP * starts[:-1], counts) + within
    samples = np.full(GROUP * starts[-1], -1, dtype=np.int64)
    samples[place] = order
    points = np.full((samples.size, X.shape[1]), np.inf, dtype=np.float32)
    points[place] = X[order] - middles[label[order]]
    return Groups(
        in_groups(points),
        starts.astype(np.int64),
        np.ascontiguousarray(middles, dtype=np.float64),
        in_groups(middles),
        samples,
    )


def in_groups(points: np.ndarray) -> np.ndarray:
    """Put samples in groups of `GROUP`, feature by feature; infinity fills the last."""
    n, m = points.shape
    filled = np.full(((-(-n // GROUP) + BEHIND) * GROUP, m), np.inf, dtype=np.float32)
    filled[:n] = points
    return aligned(filled.reshape(-1, GROUP, m).transpose(0, 2, 1))


class NearCells(NamedTuple):
    """Where queries lie, and which cells come into question there.

    Attributes
    ----------
    cell : int array (q,)
        The cell of each query.
    near : int32 array (c, s)
        Cells among which the queries in a cell choose; at least as many as they choose.
    """

    cell: np.ndarray
    near: np.ndarray


def search_cells(
    groups: Groups,
    queries: np.ndarray,
    n_probes: int,
    n_wanted: int,
    near_cells: NearCells | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the nearest samples of each query in the cells nearest to it.

    Parameters
    ----------
    groups : Groups
        The samples.
    queries : float64 array (q, m)
        Whose neighbours are wanted.
    n_probes : int
        How many cells are searched.
    n_wanted : int
        How many samples.
    near_cells : NearCells or None
        Spares the queries the distances to most cells; None for those to all.

    Returns
    -------
    sample : int64 array (q, n_wanted)
        In no order; -1 where the cells hold too few.
    squared : float32 array (q, n_wanted)
        Squared distances, in single precision; infinite there.
    margin : float32 array (q,)
        How much farther the last of the searched cells is than the first, in squared
        distances of centres; infinite if all cells are searched.
    """
    queries = as_kind(queries, np.float64)
    if loops() is None:
        return _search_in_arrays(groups, queries, n_probes, n_wanted, near_cells)
    shape = queries.shape[0], n_wanted
    sample, squared = np.empty(shape, np.int64), np.empty(shape, np.float32)
    margin = np.empty(shape[0], np.float32)
    none = np.empty(0, np.int32), np.empty((0, 0), np.int32)
    here, near = none if near_cells is None else (near_cells.cell, near_cells.near)
    cells = groups.points, groups.middles, groups.centers, groups.starts, groups.samples
    try:
        known = as_kind(here, np.int32), as_kind(near, np.int32)
        loops().search_cells(queries, *cells, *known, sample, squared, margin, n_probes)
    except (IndexError, ValueError) as error:  # cells may come from a file
        raise ValueError(
            "the cells of the neighbour search are damaged, or of another version "
            f"({error}); fit the model again."
        ) from error
    return sample, squared, margin


def _search_in_arrays(
    groups: Groups,
    queries: np.ndarray,
    n_probes: int,
    n_wanted: int,
    near_cells: NearCells | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Search cell after cell, all the queries that look into it at once."""
    shape = queries.shape[0], n_wanted
    place, squared = np.full(shape, -1), np.full(shape, np.inf, dtype=np.float32)
    to_cells = _squared_to(queries, groups.middles)
    if near_cells is not None:
        far = np.ones_like(to_cells, dtype=bool)
        np.put_along_axis(far, near_cells.near[near_cells.cell], False, axis=1)
        to_cells[far] = np.inf
    last = min(n_probes, to_cells.shape[1]) - 1
    farthest = np.partition(to_cells, last, axis=1)[:, last]
    probed = to_cells <= farthest[:, None]
    margin = np.full(shape[0], np.inf, dtype=np.float32)
    if n_probes < to_cells.shape[1]:
        with np.errstate(invalid="ignore"):  # infinitely far from all cells
            margin = np.nan_to_num(farthest - to_cells.min(axis=1))
    for cell, (start, stop) in enumerate(pairwise(groups.starts)):
        rows = np.flatnonzero(probed[:, cell])
        if not rows.size or start == stop:
            continue
        theirs = np.concatenate(groups.points[start:stop], axis=1).T
        gaps = _squared_to(queries[rows] - groups.middles[cell], theirs)
        places = np.broadcast_to(np.arange(GROUP * start, GROUP * stop), gaps.shape)
        gaps = np.concatenate([squared[rows], gaps], axis=1)
        places = np.concatenate([place[rows], places], axis=1)
        kept = np.argpartition(gaps, n_wanted - 1, axis=1)[:, :n_wanted]
        squared[rows] = np.take_along_axis(gaps, kept, axis=1)
        place[rows] = np.take_along_axis(places, kept, axis=1)
    place[np.isinf(squared)] = -1
    return np.where(place < 0, -1, groups.samples[place]), squared, margin


def _squared_to(queries: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return squared distances of all pairs in single precision."""
    squared = np.zeros((queries.shape[0], points.shape[0]), dtype=np.float32)
    for ours, theirs in zip(queries.T, points.T, strict=True):
        with np.errstate(over="ignore"):  # infinitely far is far enough
            gap = (ours[:, None] - theirs).astype(np.float32)
            squared += gap * gap
    return squared


def squared_distances(
    queries: np.ndarray,
    X: np.ndarray,
    row: np.ndarray,
    column: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Squared distances of listed pairs, from differences: exact for near points."""

    def measure(block: slice) -> np.ndarray:
        return squared_gaps(queries, X, row[block], column[block])

    if loops() is not None:  # loops copy nothing, if rows are rows in memory
        queries, X = np.ascontiguousarray(queries), np.ascontiguousarray(X)
        found = map_blocks(measure, row.size, 0, n_jobs, step=pairs_at_once(X.shape[1]))
    else:  # small blocks: differences are read again from the nearest cache
        found = map_blocks(measure, row.size, 200 * X.shape[1], n_jobs)
    return np.concatenate([np.empty(0), *found])


def squared_distances_to(
    queries: np.ndarray,
    X: np.ndarray,
    columns: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Squared distances (q, c) of each query to its own row of candidates.

    A candidate below 0 is nobody, infinitely far.
    """
    q, c = columns.shape
    row, column = np.repeat(np.arange(q), c), np.maximum(columns, 0).ravel()
    squared = squared_distances(queries, X, row, column, n_jobs=n_jobs).reshape(q, c)
    squared[columns < 0] = np.inf
    return squared


def squared_gaps(
    left: np.ndarray, right: np.ndarray, row: np.ndarray, column: np.ndarray
) -> np.ndarray:
    """Return |left[row[e]] - right[column[e]]|² for every e."""
    if loops() is None or not (is_plain(left) and is_plain(right)):
        check_places(left.shape[0], row)
        check_places(right.shape[0], column)
        gaps = right[column]
        gaps -= left[row]
        return np.einsum("ij,ij->i", gaps, gaps)
    squared = np.empty(row.size)
    pairs = as_kind(row, np.int64), as_kind(column, np.int64)
    loops().squared_gaps(left, right, *pairs, squared)
    return squared


def all_squared_gaps(queries: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return |queries[i] - X[j]|² for all pairs, (q, n), feature by feature."""
    features = np.ascontiguousarray(X.T)
    if loops() is None or features.dtype != np.float64 or not is_plain(queries):
        squared = np.zeros((queries.shape[0], X.shape[0]))
        for ours, theirs in zip(queries.T, features, strict=True):
            gap = ours[:, None] - theirs
            gap *= gap
            squared += gap
        return squared
    squared = np.empty((queries.shape[0], X.shape[0]))
    loops().all_squared_gaps(queries, features, squared)
    return squared


def first_of_each_row(
    column: np.ndarray, squared: np.ndarray, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Keep the first K candidates of each row by (distance, index).

    Parameters
    ----------
    column : int array (q, c)
        Candidates, ascending in each row.
    squared : array (q, c)
        Their squared distances; infinite for a place that holds no candidate.
    n_neighbors : int
        How many to keep, at most c.

    Returns
    -------
    column, squared : arrays (q, K)
        Nearest first.

    Examples
    --------
    >>> import numpy as np
    >>> column, squared = np.array([[3, 5, 8]]), np.array([[2.0, 1.0, 1.0 + 1e-15]])
    >>> first_of_each_row(column, squared, 2)[0].tolist()
    [[5, 8]]
    """
    order, squared = nearest_first(squared, n_neighbors)
    return np.take_along_axis(column, order, axis=1), squared


def nearest_first(
    squared: np.ndarray, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return places and values (q, K) of the K smallest of each row; ties by place.

    A key and its place fit into one integer, unless rows are long: to sort these is
    faster than to sort places, and leaves nothing to choose among equal keys.

    Examples
    --------
    >>> import numpy as np
    >>> places, squared = nearest_first(np.array([[2.0, 1.0, 2.0]]), 2)
    >>> places.tolist(), squared.tolist()
    ([[1, 0]], [[1.0, 2.0]])
    """
    n_places = squared.shape[1]
    bits = (n_places - 1).bit_length()
    if bits > _DROPPED + 1:  # a distance has no sign
        order = np.argsort(tie_keys(squared), axis=1, kind="stable")[:, :n_neighbors]
        return order, np.take_along_axis(squared, order, axis=1)
    compiled = loops() is not None and is_plain(squared)
    if compiled:
        keys = np.empty(squared.shape, np.uint64)
        loops().keys_of_rows(squared, keys, _DROPPED, bits)
    else:
        keys = tie_keys(squared).view(np.uint64)
        keys <<= np.uint64(bits)
        keys |= np.arange(n_places, dtype=np.uint64)
    keys.sort(axis=1)
    if n_neighbors > n_places:
        raise IndexError(f"{n_neighbors} of {n_places} keys in a row")
    if not compiled:
        order = (keys[:, :n_neighbors] & np.uint64((1 << bits) - 1)).view(np.int64)
        return order, np.take_along_axis(squared, order, axis=1)
    places = np.empty((squared.shape[0], n_neighbors), np.int64)
    found = np.empty(places.shape)
    loops().read_keys(keys, squared, places, found, bits)
    return places, found


def tie_keys(squared: Array) -> Array:
    """Round to `TIE_BITS` digits, half to even, as integers in the order of the floats.

    The bits of a float >= 0, read as an integer, are in the order of the floats.
    """
    if isinstance(squared, np.ndarray):
        bits = np.ascontiguousarray(squared, dtype=np.float64).view(np.int64)
    else:  # a tensor
        bits = squared.view(array_namespace(squared).int64)
    keys = bits >> _DROPPED
    keys &= 1
    keys += bits
    keys += (1 << (_DROPPED - 1)) - 1
    keys >>= _DROPPED
    return keys
