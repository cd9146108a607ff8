"""Samples -> cells, and queries -> candidates from the nearest cells only.

Samples lie in the cells of a k-means partition, and a query looks into its `n_probes`
nearest cells. How many that must be is not guessed: the true neighbours of a few
hundred samples are found, and as many cells are probed as hold `RECALL` of them. Easy
data need a few cells, noise in many dimensions a good part of all of them; the number
that is set is the share of neighbours found, not the effort.

Where cells are many, a query does not measure its distance to all of their centres, but
to those near the centre of its own cell; and to find its own, to those of a few cells
of centres.

Samples are compared in single precision, from the centre of their cell. That only
chooses candidates: distances and ties are settled in double precision by the caller.
Everything is cut and seeded alike for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._blocks import map_blocks
from ._native import is_compiled
from ._native_search import GROUP, Groups, Homes, group_samples, search_cells
from .exact_search import search_all

RECALL = 0.98
"""Share of the true neighbours of the sampled samples that probed cells must hold."""

LEAST = 0.97
"""Share of them that a search must find, or more cells are probed. Where even all cells
do not hold it, single precision is too coarse: a far outlier sets the scale."""

INSIDE = 0.999
"""Share of the samples that lie as near to a centre as `Cells.reach`."""

OUTSIDE = 16.0
"""Queries farther out than `Cells.reach`, but not than so many times, look into every
cell: single precision is as good there. It is not for those farther still."""

N_SAMPLED = 512
"""Samples whose true neighbours decide how many cells are probed."""

SMALLEST = 128
"""Samples that a cell holds on average, at least: fewer do not pay for looking into one
more cell. Half of the square root of all, if that is more."""

SHORTLIST = 8
"""So many times the cells to be probed are measured; all, if that is half of them."""

FEW_CENTERS = 256
"""Up to this many centres are compared with every point."""

NEAR_GROUPS = 8
"""Cells of centres that are looked into for the nearest centre."""

N_ROUNDS = 4
"""Rounds of k-means; cells need not be the best ones."""

CHUNK = 1024
"""Queries that are searched for at a time: near ones, which probe the same cells."""

TOGETHER = 4
"""Centres that are near enough to each other to follow in any order."""


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
        How far from the nearest centre a query may be, squared and scaled; of those
        farther out, nobody knows how many cells they would need.
    near : int32 array (c, s) or None
        Cells among which a query that lies in a cell chooses those it looks into; None
        for all.
    """

    shift: np.ndarray
    scale: float
    groups: Groups
    n_probes: int
    reach: float
    near: np.ndarray | None = None


def build_cells(
    X: np.ndarray, n_neighbors: int, *, n_jobs: int | None = None
) -> Cells | None:
    """Partition samples into cells, and find how many of them have to be probed.

    Parameters
    ----------
    X : array (n, m)
        Samples.
    n_neighbors : int
        How many neighbours will be asked for.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    Cells or None
        None if they cannot tell the samples apart.
    """
    n = X.shape[0]
    shift = X.mean(axis=0)
    scale = float(np.abs(X - shift).max()) or 1.0
    scaled = (X - shift) / scale
    points = scaled.astype(np.float32)
    shuffled = np.random.default_rng(0).permutation(n)
    n_cells = max(1, int(n / max(SMALLEST, n**0.5 / 2)))
    centers = _centers(points[shuffled[: 32 * n_cells]], n_cells, n_jobs)
    centers = centers[_along_halves(centers, np.arange(n_cells))]
    label, centers = _sort_into(points, centers, n_jobs)
    sampled = np.sort(shuffled[-N_SAMPLED:])  # not those the centres began at
    true = search_all(X[sampled], X, n_neighbors, own=sampled, n_jobs=n_jobs)
    gaps = _to_centers(points[sampled], centers)
    rank = np.argsort(np.argsort(gaps, axis=1), axis=1)
    needed = np.take_along_axis(rank, label[true.indices], axis=1)
    n_probes = int(np.quantile(needed, RECALL, method="higher")) + 1
    away = scaled - centers[label]
    reach = float(np.quantile(np.einsum("ij,ij->i", away, away), INSIDE))
    groups = group_samples(scaled, label, centers)
    while True:
        near = _shortlists(centers, n_probes, n_jobs)
        cells = Cells(shift, scale, groups, n_probes, reach, near)
        if _recall(cells, X[sampled], sampled, true.indices, n_jobs) >= LEAST:
            return cells
        if n_probes >= centers.shape[0]:
            return None
        n_probes += -(-n_probes // 4)


def _shortlists(
    centers: np.ndarray, n_probes: int, n_jobs: int | None
) -> np.ndarray | None:
    """Return the cells nearest to each cell, itself included; None if that is most."""
    n_cells, count = centers.shape[0], SHORTLIST * n_probes
    if 2 * count >= n_cells:
        return None

    def nearest(block: slice) -> np.ndarray:
        gaps = _to_centers(centers[block], centers)
        return np.argpartition(gaps, count - 1, axis=1)[:, :count].astype(np.int32)

    return np.concatenate(map_blocks(nearest, n_cells, 12 * n_cells, n_jobs))


def _recall(
    cells: Cells,
    queries: np.ndarray,
    own: np.ndarray,
    true: np.ndarray,
    n_jobs: int | None,
) -> float:
    """Return the share of the true neighbours of some samples that a search finds."""
    n_wanted = true.shape[1] + 1
    found = find_candidates(cells, queries, n_wanted, own=own, n_jobs=n_jobs)
    return float((true[:, :, None] == found[:, None, :]).any(axis=2).mean())


def _centers(points: np.ndarray, n_cells: int, n_jobs: int | None) -> np.ndarray:
    """Run a few rounds of k-means from the first points."""
    centers = points[:n_cells]
    for _ in range(N_ROUNDS):
        label = _nearest_center(points, centers, n_jobs)
        count = np.bincount(label, minlength=n_cells)[:, None]
        sums = [np.bincount(label, feature, n_cells) for feature in points.T]
        means = np.column_stack(sums) / np.maximum(count, 1)
        centers = np.where(count > 0, means, centers).astype(np.float32)
    return centers


def _along_halves(centers: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Order some centres so that those near each other mostly follow each other.

    The half with the smaller numbers in the widest feature comes first, and in each
    half likewise. What is near in space is then near in memory, from cell to cell.
    """
    if some.size <= TOGETHER:
        return some
    widest = np.ptp(centers[some], axis=0).argmax()
    some = some[np.argsort(centers[some, widest], kind="stable")]
    halves = np.array_split(some, 2)
    return np.concatenate([_along_halves(centers, half) for half in halves])


def _sort_into(
    points: np.ndarray, centers: np.ndarray, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cell of each point, and the centres of cells that are not empty.

    Among equal samples many centres may be equal, and all but one of their cells empty.
    """
    taken, label = np.unique(
        _nearest_center(points, centers, n_jobs), return_inverse=True
    )
    return label, centers[taken]


def _to_centers(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return squared distances to the centres, less what a row has in common."""
    gaps = points @ (-2 * centers.T)
    gaps += np.einsum("ij,ij->i", centers, centers)
    return gaps


def _nearest_center(
    points: np.ndarray, centers: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    """Return which centre is nearest to each point; -1 if they are infinitely far.

    Of many centres it is mostly the nearest: only those in near cells are compared.
    """
    n_centers, m = centers.shape
    groups = None
    if is_compiled() and n_centers <= FEW_CENTERS:
        groups = group_samples(centers, np.zeros(n_centers, np.intp), np.zeros((1, m)))
    elif is_compiled():
        middles = _centers(centers, int(n_centers**0.5), n_jobs)
        groups = group_samples(centers, *_sort_into(centers, middles, n_jobs))

    def nearest(block: slice) -> np.ndarray:
        if groups is None:
            return _to_centers(points[block], centers).argmin(axis=1)
        return search_cells(groups, points[block], NEAR_GROUPS, 1)[0][:, 0]

    return np.concatenate(map_blocks(nearest, points.shape[0], 8 * n_centers, n_jobs))


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
    >>> X = np.linspace(0, 1, 200)[:, None] ** 2
    >>> find_candidates(build_cells(X, 3), X[[150]], 3).tolist()
    [[149, 150, 151]]
    """
    found = np.full((queries.shape[0], n_wanted), -1, dtype=np.int64)
    search_near(cells, queries, n_wanted, found.__setitem__, own=own, n_jobs=n_jobs)
    return found


def search_near(
    cells: Cells,
    queries: np.ndarray,
    n_wanted: int,
    take: Callable[[np.ndarray, np.ndarray], None],
    *,
    own: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> None:
    """Hand the candidates of `find_candidates` over while they are found.

    `take` is called in threads with some queries that are near each other, and their
    candidates. It is never called with a query too far out: whoever fills an array has
    put there before what that means.
    """
    points, middles = (queries - cells.shift) / cells.scale, cells.groups.middles

    def search(by_cell: np.ndarray, n_probes: int, near: np.ndarray | None) -> None:
        def look(block: slice) -> None:
            rows = by_cell[block]
            homes = None if near is None else Homes(label[rows], near)
            sample, _ = search_cells(
                cells.groups, points[rows], n_probes, n_wanted, homes
            )
            take(rows, np.sort(sample, axis=1))

        map_blocks(look, by_cell.size, 0, n_jobs, step=CHUNK)

    if own is not None:
        label = _cells_of(cells.groups, own)
        search(near_each_other(cells, own), cells.n_probes, cells.near)
        return
    label = _nearest_center(points, middles, n_jobs)
    by_cell = np.argsort(label)
    with np.errstate(over="ignore"):
        away = ((points - middles[label]) ** 2).sum(axis=1)[by_cell]
    search(by_cell[away <= cells.reach], cells.n_probes, cells.near)
    outside = (away > cells.reach) & (away <= OUTSIDE * cells.reach)
    search(by_cell[outside], middles.shape[0], None)


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
