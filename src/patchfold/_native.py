"""Inner loops in C (`_loops.c`), and arrays in their place where they are not compiled.

Each function says in NumPy or SciPy what it computes; that is what runs without a
compiler, and what the tests hold the C against, to rounding and but for the choice
among ties. All release Python's lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

try:
    _loops: Any = import_module("._loops", __package__)
except ImportError:  # installed where nothing compiles
    _loops = None

LAYOUT = 10
"""Counts the ways in which the loops were called: older ones are not called at all."""

if _loops is not None and getattr(_loops, "LAYOUT", 0) != LAYOUT:
    _loops = None

GROUP = 16
"""Samples that the search in cells compares at once."""

BEHIND = 3
"""Groups that are read behind the last one, and must be there."""

PAIRS = 4096
"""Listed pairs that loops work on in one go, at least."""

WORTH = 2**21
"""Numbers that are read in one go: with fewer a thread is done before others began."""


def pairs_at_once(numbers: int) -> int:
    """Return how many pairs are worked on in one go, if each reads so many numbers."""
    return max(PAIRS, WORTH // max(numbers, 1))


def is_compiled() -> bool:
    """Say whether the loops in C are there."""
    return _loops is not None


def loops() -> Any:
    """Return the loops in C; None where they are not compiled."""
    return _loops


def shortest_paths(graph: sp.csr_array, sources: np.ndarray) -> np.ndarray:
    """Return path lengths (s, n) from the sources; stored zeros are edges."""
    if not can_read(graph):
        if graph.nnz < 2**31:  # SciPy 1.13 takes no longer indices
            places = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
            graph = sp.csr_array((graph.data, *places), shape=graph.shape)
        return np.atleast_2d(dijkstra(graph, indices=sources))
    found = np.empty((sources.size, graph.shape[0]))
    _loops.shortest_paths(*parts_of(graph), as_kind(sources, np.int32), found)
    return found


def squared_gaps(
    left: np.ndarray, right: np.ndarray, row: np.ndarray, column: np.ndarray
) -> np.ndarray:
    """Return |left[row[e]] - right[column[e]]|² for every e."""
    if _loops is None or not (is_plain(left) and is_plain(right)):
        gaps = right[column]
        gaps -= left[row]
        return np.einsum("ij,ij->i", gaps, gaps)
    for places, rows in ((row, left), (column, right)):  # C would not notice
        if places.size and not 0 <= places.min() <= places.max() < rows.shape[0]:
            raise IndexError(f"pairs must be among {rows.shape[0]} rows")
    squared = np.empty(row.size)
    pairs = as_kind(row, np.int64), as_kind(column, np.int64)
    _loops.squared_gaps(left, right, *pairs, squared, left.shape[1])
    return squared


def invert_packed(matrices: np.ndarray) -> np.ndarray | None:
    """Return inverses of packed positive definite matrices, packed, or None.

    Both (n, m (m + 1) / 2), upper triangles row by row; of the inverses what is off the
    diagonal is doubled, as `divergences.describe_kl` wants it. None where they must be
    found otherwise: they are not plain arrays, or not all are positive definite.
    """
    if _loops is None or not is_plain(matrices):
        return None
    inverses = np.empty_like(matrices)
    m = int(np.sqrt(2 * matrices.shape[1]))
    _loops.invert_packed(matrices, inverses, m)
    return inverses if np.isfinite(inverses).all() else None


def kl_of_pairs(
    left: tuple[Any, ...],
    right: tuple[Any, ...],
    row: np.ndarray,
    column: np.ndarray,
) -> np.ndarray | None:
    """Return what `divergences.compare_kl` does of listed pairs; None if it must do it.

    Patches are (mean, Σ packed, Σ⁻¹ packed) in float64. They are read where they are:
    to copy them for every pair is what takes the time of `compare_kl`.
    """
    parts = (*left, *right)
    if _loops is None or len(parts) != 6 or not all(map(is_plain, parts)):
        return None
    values = np.empty(row.size)
    pairs = as_kind(row, np.int64), as_kind(column, np.int64)
    _loops.kl_of_pairs(*parts, *pairs, values, left[0].shape[1], left[1].shape[1])
    return values


@dataclass(frozen=True)
class Groups:
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
        _in_groups(points),
        starts.astype(np.int64),
        np.ascontiguousarray(middles, dtype=np.float64),
        _in_groups(middles),
        samples,
    )


def _in_groups(points: np.ndarray) -> np.ndarray:
    """Put samples in groups of `GROUP`, feature by feature."""
    n, m = points.shape
    filled = np.full(((-(-n // GROUP) + BEHIND) * GROUP, m), np.inf, dtype=np.float32)
    filled[:n] = points
    return aligned(filled.reshape(-1, GROUP, m).transpose(0, 2, 1))


def aligned(values: np.ndarray) -> np.ndarray:
    """Return a contiguous copy that begins where a line of cache does: 64 bytes."""
    room = np.empty(values.nbytes + 64, dtype=np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


@dataclass(frozen=True)
class Homes:
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
    homes: Homes | None = None,
) -> tuple[np.ndarray, np.ndarray]:
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
    homes : Homes or None
        Spares the queries the distances to most cells; None for those to all.

    Returns
    -------
    sample : int64 array (q, n_wanted)
        In no order; -1 where the cells hold too few.
    squared : float32 array (q, n_wanted)
        Squared distances, in single precision; infinite there.
    """
    queries = np.ascontiguousarray(queries, dtype=np.float64)
    if _loops is None:
        place, squared = _search_in_arrays(groups, queries, n_probes, n_wanted, homes)
    else:
        _check_layout(groups, queries, homes)
        shape = queries.shape[0], n_wanted
        place, squared = np.empty(shape, np.int32), np.empty(shape, np.float32)
        cells = groups.points, groups.middles, groups.centers, groups.starts
        none = np.empty((0, 0), np.int32)
        here, near = (none, none) if homes is None else (homes.cell, homes.near)
        known = as_kind(here, np.int32), as_kind(near, np.int32)
        counts = groups.starts.size - 1, near.shape[1], n_probes, n_wanted
        found = place, squared
        _loops.search_cells(queries, *cells, *known, *found, queries.shape[1], *counts)
    return np.where(place < 0, -1, groups.samples[place]), squared


def _check_layout(groups: Groups, queries: np.ndarray, homes: Homes | None) -> None:
    """Refuse cells that are not laid out as they should be: C would not notice.

    They may come from a file, so nothing about them is sure.
    """
    try:
        fits = _is_laid_out(groups, queries) and _are_in(groups, queries, homes)
    except (AttributeError, IndexError, TypeError, ValueError):
        fits = False
    if not fits:
        raise ValueError(
            "the cells of the neighbour search are damaged, or of another version; fit "
            "the model again."
        )


def _is_laid_out(groups: Groups, queries: np.ndarray) -> bool:
    starts, (n_cells, m) = groups.starts, groups.middles.shape
    wanted = (
        (groups.points, np.float32, (starts[-1] + BEHIND, m, GROUP)),
        (groups.centers, np.float32, (-(-n_cells // GROUP) + BEHIND, m, GROUP)),
        (groups.middles, np.float64, (n_cells, queries.shape[1])),
        (starts, np.int64, (n_cells + 1,)),
        (groups.samples, np.int64, (starts[-1] * GROUP,)),
    )
    return (
        all(
            part.dtype == kind and part.shape == shape and part.flags.c_contiguous
            for part, kind, shape in wanted
        )
        and starts[0] == 0
        and bool((np.diff(starts) >= 0).all())
    )


def _are_in(groups: Groups, queries: np.ndarray, homes: Homes | None) -> bool:
    """Say whether queries lie, and choose, among cells that are there."""
    if homes is None or not homes.cell.size:
        return True
    n_cells = groups.starts.size - 1
    least = min(homes.cell.min(), homes.near.min())
    most = max(homes.cell.max(), homes.near.max())
    sizes = homes.near.shape[0], homes.cell.size
    return sizes == (n_cells, queries.shape[0]) and 0 <= least <= most < n_cells


def _search_in_arrays(
    groups: Groups,
    queries: np.ndarray,
    n_probes: int,
    n_wanted: int,
    homes: Homes | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Search cell after cell, all the queries that look into it at once."""
    shape = queries.shape[0], n_wanted
    place, squared = np.full(shape, -1), np.full(shape, np.inf, dtype=np.float32)
    to_cells = _squared_to(queries, groups.middles)
    if homes is not None:
        far = np.ones_like(to_cells, dtype=bool)
        np.put_along_axis(far, homes.near[homes.cell], False, axis=1)
        to_cells[far] = np.inf
    last = min(n_probes, to_cells.shape[1]) - 1
    probed = to_cells <= np.partition(to_cells, last, axis=1)[:, last, None]
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
    return place, squared


def _squared_to(queries: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return squared distances of all pairs in single precision."""
    squared = np.zeros((queries.shape[0], points.shape[0]), dtype=np.float32)
    for ours, theirs in zip(queries.T, points.T, strict=True):
        with np.errstate(over="ignore"):  # infinitely far is far enough
            gap = (ours[:, None] - theirs).astype(np.float32)
            squared += gap * gap
    return squared


def can_read(matrix: sp.csr_array) -> bool:
    """Say whether the loops are there, and can count the entries of a matrix."""
    return _loops is not None and matrix.nnz < 2**31


def parts_of(matrix: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what a sparse matrix consists of, as the loops want it."""
    return (
        as_kind(matrix.indptr, np.int32),
        as_kind(matrix.indices, np.int32),
        as_kind(matrix.data, np.float64),
    )


def as_kind(values: np.ndarray, dtype: Any) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=dtype)


def is_plain(part: Any) -> bool:
    """Say whether the loops can read it as it is."""
    return (
        isinstance(part, np.ndarray)
        and part.dtype == np.float64
        and part.flags.c_contiguous
    )
