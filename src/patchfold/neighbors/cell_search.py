"""Queries -> candidates from the nearest cells of a k-means partition only.

A query looks into its nearest cells. Where cells are many, it does not measure its
distance to all of their centres, but to those near the centre of its own cell; and to
find its own, to those of a few cells of centres.

Samples are compared in single precision, from the centre of their cell. That only
chooses candidates: `cell_neighbors.py` compares them in double precision, and decides
whether a row has to look further. Blocks do not depend on the number of threads, and
the candidates of a row do not depend on other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..backends.native.cells import Groups, NearCells, search_cells
from ..backends.native.neighbors import GROUP
from ..backends.threads import map_blocks
from .close_up import ROUNDING
from .kmeans import nearest_center

CHUNK = 1024
"""Queries in one block: near ones, which look into the same cells."""


@dataclass(frozen=True)
class Cells:
    """Samples sorted into cells.

    Attributes
    ----------
    shift : array (m,)
        Mean of the samples.
    scale : float
        Largest deviation from it; single precision has no room for every unit.
    groups : Groups
        Shifted and scaled samples in their cells.
    n_probes : int
        Number of cells that a query looks into at first.
    cover : float
        Smallest `Candidates.margin` of a row that need not look further, as a multiple
        of the distance of its K-th neighbour.
    new_probes : int
        Number of cells that a new sample looks into at first.
    new_cover : float
        `cover` for a new sample.
    recall : float
        Share of the true neighbours of sampled rows that a search found.
    near : int32 array (c, s) or None
        For each cell, those among which a query in it chooses; None for all.
    """

    stays_in_numpy: ClassVar[bool] = True

    shift: np.ndarray
    scale: float
    groups: Groups
    n_probes: int
    cover: float
    new_probes: int
    new_cover: float
    recall: float
    near: np.ndarray | None = None


@dataclass(frozen=True)
class Candidates:
    """Candidates of some queries.

    Attributes
    ----------
    rows : int array (r,)
        Numbers of the queries.
    samples : int array (r, c)
        Their candidates, ascending; -1 comes first where the cells hold too few.
    least : array (r,)
        Smallest distance of all other samples in the cells they looked into.
    rounding : array (r,)
        Largest error of a distance in single precision.
    margin : array (r,)
        Square root of the difference of the squared distances to the last and to the
        first of the cells they looked into; infinite if these are all cells.
    """

    rows: np.ndarray
    samples: np.ndarray
    least: np.ndarray
    rounding: np.ndarray
    margin: np.ndarray


def search_near(
    cells: Cells,
    queries: np.ndarray,
    n_wanted: int,
    n_probes: int,
    take: Callable[[Candidates], None],
    *,
    own: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> None:
    """Find candidates of queries, and hand them over block by block.

    Parameters
    ----------
    cells : Cells
        The samples.
    queries : array (q, m)
        Whose neighbours are wanted.
    n_wanted : int
        Number of candidates of each.
    n_probes : int
        Number of cells that each looks into.
    take : callable
        Called in threads, with queries that are near each other; never with a query too
        far away for single precision.
    own : int array (q,) or None
        Which sample each query is itself, if it is one.
    n_jobs : int or None
        Number of threads.
    """
    points, middles = queries - cells.shift, cells.groups.middles
    points /= cells.scale
    if own is None:
        label = nearest_center(points, middles, n_jobs)
        by_cell = np.argsort(label)
        by_cell = by_cell[label[by_cell] >= 0]
    else:
        label = cells_of(cells.groups, own)
        by_cell = near_each_other(cells, own)
    away = _squared_away(points, middles, label, n_jobs)
    near = cells.near if n_probes <= cells.n_probes else None

    def look(block: slice) -> None:
        rows = by_cell[block]
        near_cells = None if near is None else NearCells(label[rows], near)
        sample, squared, margin = search_cells(
            cells.groups, points[rows], n_probes, n_wanted, near_cells
        )
        least, rounding = _measure_rounding(squared, away[rows], points.shape[1])
        scaled = [
            cells.scale * part
            for part in (least, rounding, np.sqrt(margin, dtype=float))
        ]
        take(Candidates(rows, np.sort(sample, axis=1), *scaled))

    map_blocks(look, by_cell.size, 0, n_jobs, step=CHUNK)


def _squared_away(
    points: np.ndarray, middles: np.ndarray, label: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    """Return squared distances of points from the centres of their cells."""

    def measure(block: slice) -> np.ndarray:
        gaps = points[block] - middles[label[block]]
        return np.einsum("ij,ij->i", gaps, gaps)

    with np.errstate(over="ignore"):  # infinitely far is far enough
        found = map_blocks(measure, label.size, 64 * points.shape[1], n_jobs)
    return np.concatenate([np.empty(0), *found])


def _measure_rounding(
    squared: np.ndarray, away: np.ndarray, m: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return how far off others are at least, and how far distances may be wrong.

    A coordinate is rounded in proportion to how far from a centre it is. A sample
    within r of a query that is a away from its own centre is at most a + r from that
    sample's, and the query at most a + 2 r. `squared` is r², by candidates.
    """
    reach = np.sqrt(squared.max(axis=1).astype(float))
    some = np.where(np.isinf(reach), 0, reach)  # infinite: there are no others
    rounding = 4 * ROUNDING * (2 * np.sqrt(away) + 3 * some)
    least = (1 - (m + 4) * ROUNDING) * some - rounding
    return np.where(np.isinf(reach), np.inf, least), rounding


def near_each_other(search: object, samples: np.ndarray) -> np.ndarray:
    """Return an order of samples in which those of a cell follow each other.

    Parameters
    ----------
    search : Cells or something else
        Without cells the order is that given.
    samples : int array (q,)
        Samples, possibly several times.

    Returns
    -------
    int array (q,)
        Positions in `samples`.
    """
    if not isinstance(search, Cells):
        return np.arange(samples.size)
    return np.argsort(_places(search.groups)[samples], kind="stable")


def cells_of(groups: Groups, samples: np.ndarray) -> np.ndarray:
    """Return the cell that each sample lies in."""
    group = _places(groups)[samples] // GROUP
    return np.searchsorted(groups.starts, group, side="right") - 1


def _places(groups: Groups) -> np.ndarray:
    """Return where each sample lies, cell after cell."""
    taken = np.flatnonzero(groups.samples >= 0)
    places = np.empty_like(taken)
    places[groups.samples[taken]] = taken
    return places
