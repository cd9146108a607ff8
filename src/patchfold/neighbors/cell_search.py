"""Queries -> candidates from the nearest cells of a k-means partition only.

A query looks into its `n_probes` nearest cells. Where cells are many, it does not
measure its distance to all of their centres, but to those near the centre of its own
cell; and to find its own, to those of a few cells of centres.

Samples are compared in single precision, from the centre of their cell. That only
chooses candidates: distances and ties are settled in double precision by
`cell_neighbors.py`, which is told how fine single precision was. Everything is cut and
seeded alike for any number of threads, and a row's candidates do not depend on others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..backends.native.search import GROUP, Groups, Homes, search_cells
from ..backends.threads import map_blocks
from .exact import ROUNDING
from .kmeans import nearest_center

OUTSIDE = 16.0
"""Rows farther out than `Cells.reach`, but not than so many times, look into every
cell: single precision is as good there. It is not for those farther still."""

LONELY = 16
"""A cell with less than one in so many of the usual number of samples is lonely: those
in it look into every cell, as their neighbours are in others."""

CHUNK = 1024
"""Queries that are searched for at a time: near ones, which probe the same cells."""


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
        How many cells a query looks into.
    reach : float
        How far from its centre, squared and scaled, a sample or a query may be to look
        into `n_probes` cells; those farther out look into all.
    recall : float
        Share of the true neighbours of some samples that a search found.
    near : int32 array (c, s) or None
        Cells among which a query that lies in a cell chooses those it looks into; None
        for all.
    """

    shift: np.ndarray
    scale: float
    groups: Groups
    n_probes: int
    reach: float
    recall: float
    near: np.ndarray | None = None


@dataclass(frozen=True)
class Candidates:
    """What cells hold for some queries.

    Attributes
    ----------
    rows : int array (r,)
        Which queries.
    samples : int array (r, c)
        Their candidates, ascending; -1 comes first where the cells hold too few.
    least : array (r,)
        Whatever else is in the cells they looked into is at least so far away.
    rounding : array (r,)
        By how much a distance may be wrong in single precision.
    """

    rows: np.ndarray
    samples: np.ndarray
    least: np.ndarray
    rounding: np.ndarray


def find_candidates(
    cells: Cells,
    queries: np.ndarray,
    n_wanted: int,
    *,
    own: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Find samples among which the nearest of each query are.

    Parameters
    ----------
    cells : Cells
        The samples.
    queries : array (q, m)
        Whose neighbours are wanted.
    n_wanted : int
        How many of the nearest.
    own : int array (q,) or None
        Which sample each query is itself, if it is one.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    int array (q, n_wanted)
        Samples, ascending in each row; -1 comes first where the cells hold too few, and
        is everything for a query too far out.

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold.neighbors.cell_building import build_cells
    >>> X = np.linspace(0, 1, 200)[:, None] ** 2
    >>> find_candidates(build_cells(X, 3), X[[150]], 3).tolist()
    [[149, 150, 151]]
    """
    found = np.full((queries.shape[0], n_wanted), -1, dtype=np.int64)

    def take(candidates: Candidates) -> None:
        found[candidates.rows] = candidates.samples

    search_near(cells, queries, n_wanted, take, own=own, n_jobs=n_jobs)
    return found


def search_near(
    cells: Cells,
    queries: np.ndarray,
    n_wanted: int,
    take: Callable[[Candidates], None],
    *,
    own: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> None:
    """Hand over candidates while they are found.

    `take` is called in threads, with queries that are near each other. It is never
    called with a query too far out. The other parameters are those of
    `find_candidates`.
    """
    points, middles = (queries - cells.shift) / cells.scale, cells.groups.middles
    if own is None:
        label = nearest_center(points, middles, n_jobs)
        by_cell = np.argsort(label)
    else:
        label = _cells_of(cells.groups, own)
        by_cell = near_each_other(cells, own)
    away = _squared_away(points, middles, label, n_jobs)

    def search(by_cell: np.ndarray, n_probes: int, near: np.ndarray | None) -> None:
        def look(block: slice) -> None:
            rows = by_cell[block]
            homes = None if near is None else Homes(label[rows], near)
            sample, squared = search_cells(
                cells.groups, points[rows], n_probes, n_wanted, homes
            )
            least, rounding = _measure_rounding(squared, away[rows], points.shape[1])
            scaled = cells.scale * least, cells.scale * rounding
            take(Candidates(rows, np.sort(sample, axis=1), *scaled))

        map_blocks(look, by_cell.size, 0, n_jobs, step=CHUNK)

    far = away[by_cell]
    inside = (far <= cells.reach) & ~_is_lonely(cells.groups)[label[by_cell]]
    search(by_cell[inside], cells.n_probes, cells.near)
    outside = ~inside & (far <= OUTSIDE * cells.reach)
    search(by_cell[outside], middles.shape[0], None)


def _is_lonely(groups: Groups) -> np.ndarray:
    """Say which cells hold hardly any samples."""
    taken = np.flatnonzero(groups.samples >= 0) // GROUP
    cell = np.searchsorted(groups.starts, taken, side="right") - 1
    counts = np.bincount(cell, minlength=groups.starts.size - 1)
    return LONELY * counts < counts.mean()


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


def _cells_of(groups: Groups, samples: np.ndarray) -> np.ndarray:
    """Return the cell that each sample lies in."""
    group = _places(groups)[samples] // GROUP
    return np.searchsorted(groups.starts, group, side="right") - 1


def _places(groups: Groups) -> np.ndarray:
    """Return where each sample lies, cell after cell."""
    taken = np.flatnonzero(groups.samples >= 0)
    places = np.empty_like(taken)
    places[groups.samples[taken]] = taken
    return places
