"""Samples -> cells, and how many of them each row has to look into.

How many that must be is not guessed: the true neighbours of about a thousand samples
are found, and as many cells are probed as hold enough of them, on average and for the
worst of these samples. Easy data need a few cells, noise in many dimensions a good part
of all of them; what is set is the share of neighbours found, not the effort.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..backends.native.search import group_samples
from ..backends.threads import map_blocks
from ..records import Neighborhoods
from .cell_neighbors import search_rows
from .cell_search import Cells
from .exact import search_all
from .kmeans import find_centers, order_centers, sort_into, to_centers

RECALL = 0.98
"""Share of the true neighbours of the sampled rows that probed cells must hold."""

LEAST = 0.97
"""Share of them that a search must find, or more cells are probed."""

WORST = 0.92
"""The same share for the worst 1 % of the sampled rows, at least ..."""

MISSED = 0.8
"""... or so many neighbours missed by each of them, if K is small."""

INSIDE = (0.999, 0.99, 0.98, 0.95, 0.9)
"""Shares of the samples that look into a number of cells; those that are farther from
their centre look into all. The cheapest share is chosen."""

N_SAMPLED = 1024
"""Samples whose true neighbours decide how many cells are probed."""

SMALLEST = 128
"""Samples that a cell holds on average, at least: fewer do not pay for looking into one
more cell. Half of the square root of all, if that is more."""

SHORTLIST = 8
"""So many times the cells to be probed are measured; all, if that is half of them."""

AS_NEAR = 1 + 1e-9
"""Up to so many times the distance of the K-th neighbour, a sample is as near."""


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
    centers = find_centers(points[shuffled[: 32 * n_cells]], n_cells, n_jobs)
    centers = centers[order_centers(centers, np.arange(n_cells))]
    label, centers = sort_into(points, centers, n_jobs)
    sampled = np.sort(shuffled[-N_SAMPLED:])  # not those the centres began at
    n_listed = min(2 * n_neighbors, n - 1)  # with ties beyond the K-th
    true = search_all(X[sampled], X, n_listed, own=sampled, n_jobs=n_jobs)
    needed = _cells_needed(points[sampled], centers, label, true, n_neighbors)
    away = scaled - centers[label]
    away = np.einsum("ij,ij->i", away, away)
    n_probes, reach = _choose_probes(needed, away, sampled, centers.shape[0])
    groups = group_samples(scaled, label, centers)
    last = AS_NEAR * true.distances[:, n_neighbors - 1, None]
    while True:
        near = _shortlists(centers, n_probes, n_jobs)
        cells = Cells(shift, scale, groups, n_probes, reach, 0.0, near)
        found = search_rows(
            cells, X[sampled], X, n_neighbors, own=sampled, n_jobs=n_jobs
        )
        shares = (found.distances <= last).mean(axis=1)
        if shares.mean() >= LEAST and _worst(shares) >= _wanted(n_neighbors) - 0.02:
            return replace(cells, recall=float(shares.mean()))
        if n_probes >= centers.shape[0]:
            return None
        n_probes += -(-n_probes // 4)


def _cells_needed(
    points: np.ndarray,
    centers: np.ndarray,
    label: np.ndarray,
    true: Neighborhoods,
    n_neighbors: int,
) -> np.ndarray:
    """Return after how many cells each of K neighbours is found, (s, K), ascending.

    Any samples as near as the K-th will do.
    """
    order = np.argsort(to_centers(points, centers), axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(order.shape[1])[None], axis=1)
    needed = np.take_along_axis(rank, label[true.indices], axis=1) + 1
    last = AS_NEAR * true.distances[:, n_neighbors - 1, None]
    needed[true.distances > last] = centers.shape[0] + 1
    return np.sort(needed, axis=1)[:, :n_neighbors]


def _choose_probes(
    needed: np.ndarray, away: np.ndarray, sampled: np.ndarray, n_cells: int
) -> tuple[int, float]:
    """Return how many cells are probed, and by samples up to which `Cells.reach`."""
    costs = []
    for inside in INSIDE:
        reach = float(np.quantile(away, inside))
        n_probes = _fewest(needed[away[sampled] <= reach], needed.shape[0], n_cells)
        cost = inside * n_probes + (1 - inside) * n_cells
        costs.append((cost, n_probes, reach))
    _, n_probes, reach = min(costs)
    return min(n_probes + 1, n_cells), reach  # one more: the sampled rows are few


def _fewest(needed: np.ndarray, n_sampled: int, n_cells: int) -> int:
    """Return the fewest cells that hold enough; rows not listed find everything."""
    few, many = 1, n_cells
    while few < many:
        n_probes = (few + many) // 2
        shares = np.ones(n_sampled)
        shares[: needed.shape[0]] = (needed <= n_probes).mean(axis=1)
        enough = shares.mean() >= RECALL and _worst(shares) >= _wanted(needed.shape[1])
        few, many = (few, n_probes) if enough else (n_probes + 1, many)
    return few


def _worst(shares: np.ndarray) -> float:
    """Return the mean of the worst 1 % of rows."""
    return float(np.sort(shares)[: -(-shares.size // 100)].mean())


def _wanted(n_neighbors: int) -> float:
    """Return the share that the worst 1 % of rows must find."""
    return min(WORST, 1 - MISSED / n_neighbors)


def _shortlists(
    centers: np.ndarray, n_probes: int, n_jobs: int | None
) -> np.ndarray | None:
    """Return the cells nearest to each cell, itself included; None if that is most."""
    n_cells, count = centers.shape[0], SHORTLIST * n_probes
    if 2 * count >= n_cells:
        return None

    def nearest(block: slice) -> np.ndarray:
        gaps = to_centers(centers[block], centers)
        return np.argpartition(gaps, count - 1, axis=1)[:, :count].astype(np.int32)

    return np.concatenate(map_blocks(nearest, n_cells, 12 * n_cells, n_jobs))
