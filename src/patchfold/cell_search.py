"""Samples -> cells, and queries -> candidates from the nearest cells only.

Samples lie in the cells of a k-means partition, and a query looks into its `n_probes`
nearest cells. How many that must be is not guessed: the true neighbours of a few
hundred samples are found, and as many cells are probed as hold `RECALL` of them. Easy
data need a few cells, noise in many dimensions a good part of all of them; the number
that is set is the share of neighbours found, not the effort.

Cells are compared by matrix products in single precision, from the cell's own centre.
Products only choose candidates: distances and ties are settled in double precision by
the caller. Everything is cut and seeded alike for any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ._blocks import map_blocks
from ._ranking import in_rows
from .exact_search import search_all

RECALL = 0.98
"""Share of the true neighbours of the sampled samples that probed cells must hold."""

N_SAMPLED = 512
"""Samples whose true neighbours decide how many cells are probed."""

N_ROUNDS = 4
"""Rounds of k-means; cells need not be the best ones."""

AROUND = 64
"""Samples around a cell, for each neighbour wanted, from which a first bound comes."""

FIRST_PART = 8
"""The part of the probed cells that is searched before the others."""

CHUNK = 16384
"""Queries that are compared with one cell after another together."""


@dataclass(frozen=True)
class Cells:
    """Samples sorted into cells.

    Attributes
    ----------
    shift : array (m,)
        Mean of the samples.
    scale : float
        Largest deviation from it; single precision has no room for every unit.
    centers : array (c, m)
        Centres of the cells, of shifted and scaled samples.
    order : int array (n,)
        The samples, cell after cell.
    starts : int array (c + 1,)
        Where each cell begins in `order`.
    points : float32 array (n, m)
        In that order, where shifted and scaled samples lie from their cell's centre.
    n_probes : int
        How many cells a query looks into.
    """

    shift: np.ndarray
    scale: float
    centers: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    points: np.ndarray
    n_probes: int


def build_cells(X: np.ndarray, n_neighbors: int, *, n_jobs: int | None = None) -> Cells:
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
    Cells
        About 3√n of them.
    """
    n = X.shape[0]
    shift = X.mean(axis=0)
    scale = float(np.abs(X - shift).max()) or 1.0
    scaled = (X - shift) / scale
    points = scaled.astype(np.float32)
    shuffled = np.random.default_rng(0).permutation(n)
    n_cells = max(1, int(3 * n**0.5))
    centers = _centers(points[shuffled[: 32 * n_cells]], n_cells, n_jobs)
    label = _nearest_center(points, centers, n_jobs)
    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], np.arange(n_cells + 1))
    sampled = np.sort(shuffled[-N_SAMPLED:])  # not those the centres began at
    true = search_all(X[sampled], X, n_neighbors, own=sampled, n_jobs=n_jobs)
    gaps = _to_centers(points[sampled], centers)
    rank = np.argsort(np.argsort(gaps, axis=1), axis=1)
    needed = np.take_along_axis(rank, label[true.indices], axis=1)
    n_probes = int(np.quantile(needed, RECALL, method="higher")) + 1
    gaps = (scaled - centers[label])[order].astype(np.float32)
    return Cells(shift, scale, centers.astype(float), order, starts, gaps, n_probes)


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


def _to_centers(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return squared distances to the centres, less what a row has in common."""
    gaps = points @ (-2 * centers.T)
    gaps += np.einsum("ij,ij->i", centers, centers)
    return gaps


def _nearest_center(
    points: np.ndarray, centers: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    def nearest(block: slice) -> np.ndarray:
        return _to_centers(points[block], centers).argmin(axis=1)

    per_point = 8 * centers.shape[0]
    return np.concatenate(map_blocks(nearest, points.shape[0], per_point, n_jobs))


def find_candidates(
    cells: Cells, queries: np.ndarray, n_wanted: int, *, n_jobs: int | None = None
) -> np.ndarray:
    """Find samples among which the nearest of each query are.

    Parameters
    ----------
    cells : Cells
        The samples.
    queries : array (q, m)
        Whose neighbours are wanted.
    n_wanted : int
        How many of the nearest, at most n / 2.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    int array (q, 2 n_wanted)
        Samples, ascending in each row; one may occur twice.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 200)[:, None] ** 2
    >>> found = find_candidates(build_cells(X, 3), X[[150]], 3)
    >>> set(found[0].tolist()) >= {149, 150, 151}
    True
    """
    points = (queries - cells.shift) / cells.scale
    label = _nearest_center(points, cells.centers, n_jobs)
    by_cell = np.argsort(label, kind="stable")
    found = np.empty((points.shape[0], 2 * n_wanted), dtype=np.int64)

    def search(block: slice) -> None:
        rows = by_cell[block]
        ours = points[rows]
        near = _near_own_cell(cells, ours, label[rows], n_wanted)
        bound = near[1].max(axis=1)
        parts = [near]
        for probed in _probed(cells, ours):
            closer = in_rows(*_closer(cells, ours, bound, probed), rows.size)
            if closer[0].shape[1] >= n_wanted:
                kth = np.partition(closer[1], n_wanted - 1, axis=1)[:, n_wanted - 1]
                bound = np.minimum(bound, kth)
            parts.append(closer)
        place, squared = (
            np.concatenate(part, axis=1) for part in zip(*parts, strict=True)
        )
        missing = max(0, found.shape[1] - place.shape[1])
        place = np.pad(place, ((0, 0), (0, missing)), mode="edge")
        squared = np.pad(squared, ((0, 0), (0, missing)), constant_values=np.inf)
        kept = np.argpartition(squared, found.shape[1] - 1, axis=1)
        kept = kept[:, : found.shape[1]]
        samples = cells.order[np.take_along_axis(place, kept, axis=1)]
        found[rows] = np.sort(samples, axis=1)

    map_blocks(search, points.shape[0], 0, n_jobs, step=CHUNK)
    return found


def _near_own_cell(
    cells: Cells, points: np.ndarray, label: np.ndarray, n_wanted: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find near samples around the cell each point lies in; labels are sorted.

    The farthest of them bounds the search of other cells.
    """
    sizes = np.diff(cells.starts)
    place = np.empty((points.shape[0], n_wanted), dtype=np.int64)
    squared = np.empty((points.shape[0], n_wanted), dtype=np.float32)
    present, first = np.unique(label, return_index=True)
    around = np.argsort(_to_centers(cells.centers[present], cells.centers), axis=1)
    for cell, near, start, stop in zip(
        present, around, first, [*first[1:], label.size], strict=True
    ):
        enough = np.searchsorted(np.cumsum(sizes[near]), AROUND * n_wanted) + 1
        some, center = near[:enough], cells.centers[cell]
        places = np.concatenate(
            [np.arange(cells.starts[c], cells.starts[c + 1]) for c in some]
        )
        apart = (cells.centers[some] - center).astype(np.float32)
        theirs = cells.points[places] + np.repeat(apart, sizes[some], axis=0)
        ours = (points[start:stop] - center).astype(np.float32)
        gaps = _to_centers(ours, theirs) + np.einsum("ij,ij->i", ours, ours)[:, None]
        nearest = np.argpartition(gaps, n_wanted - 1, axis=1)[:, :n_wanted]
        squared[start:stop] = np.take_along_axis(gaps, nearest, axis=1)
        place[start:stop] = places[nearest]
    return place, squared


def _probed(cells: Cells, points: np.ndarray) -> Iterator[np.ndarray]:
    """Tell which points probe which cells (c, q): the nearest few, then the others.

    What the nearest cells hold is a better bound for the others.
    """
    gaps = _to_centers(points, cells.centers)
    last = min(cells.n_probes, gaps.shape[1]) - 1
    few = last // FIRST_PART
    ascending = np.partition(gaps, [few, last], axis=1)
    near, far = ascending[:, few, None], ascending[:, last, None]
    yield np.ascontiguousarray((gaps <= near).T)
    yield np.ascontiguousarray(((gaps > near) & (gaps <= far)).T)


def _closer(
    cells: Cells, points: np.ndarray, bound: np.ndarray, probed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the samples of the probed cells that are closer to a point than its bound.

    Returns
    -------
    row, place, squared : arrays
        Which point, which place in `cells.order`, how far; sorted by row.
    """
    found = [
        _closer_in_cell(cells, points, bound, cell, np.flatnonzero(rows))
        for cell, rows in enumerate(probed)
    ]
    row, place, squared = (np.concatenate(part) for part in zip(*found, strict=True))
    shape = (points.shape[0], cells.points.shape[0])
    listed = sp.coo_array((squared, (row, place)), shape=shape).tocsr()
    counts = np.diff(listed.indptr)
    return np.repeat(np.arange(shape[0]), counts), listed.indices, listed.data


def _closer_in_cell(
    cells: Cells, points: np.ndarray, bound: np.ndarray, cell: int, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compare points with one cell: |p|² - 2 p·s + |s|² - bound < 0, one product."""
    inside = slice(cells.starts[cell], cells.starts[cell + 1])
    theirs = cells.points[inside]
    ours = (points[rows] - cells.centers[cell]).astype(np.float32)
    m, limit = points.shape[1], bound[rows]
    left = np.ones((ours.shape[0], m + 2), dtype=np.float32)
    right = np.ones((theirs.shape[0], m + 2), dtype=np.float32)
    left[:, :m], right[:, :m] = ours, -2 * theirs
    left[:, m] = np.einsum("ij,ij->i", ours, ours) - limit
    right[:, m + 1] = np.einsum("ij,ij->i", theirs, theirs)
    excess = left @ right.T
    flat = np.flatnonzero(excess < 0)
    i, j = np.divmod(flat, max(theirs.shape[0], 1))
    squared = np.maximum(excess.ravel()[flat] + limit[i], 0)
    return rows[i], inside.start + j, squared
