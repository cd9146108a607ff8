"""Samples in cells, and the nearest of them (`search.c`).

See `loops.py`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .loops import as_kind, loops
from .neighbors import GROUP, in_groups

AT_ONCE = 4096
"""Samples that are laid out while they stay in cache."""


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
    for start in range(0, order.size, AT_ONCE):
        some = order[start : start + AT_ONCE]
        points[place[start : start + AT_ONCE]] = X[some] - middles[label[some]]
    return Groups(
        in_groups(points),
        starts.astype(np.int64),
        np.ascontiguousarray(middles, dtype=np.float64),
        in_groups(middles),
        samples,
    )


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
