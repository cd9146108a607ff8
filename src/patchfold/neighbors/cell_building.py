"""Samples -> cells, and how many of them each row has to look into.

That number is measured: the true neighbours of two thousand samples are found, and as
many cells are probed as hold enough of them, on average and for the worst of these
samples. Easy data need a few cells, noise in many dimensions a good part of all of
them; the share of neighbours found is fixed, not the effort.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..backends.native.cells import group_samples
from ..backends.threads import map_blocks
from .cell_neighbors import MORE_CELLS, NEW_CELLS, search_rows
from .cell_search import Cells
from .exact import search_all
from .kmeans import find_centers, order_centers, sort_into, to_centers

RECALL = 0.98
"""Share of the true neighbours of the sampled rows that probed cells must hold."""

LEAST = 0.97
"""Share of them that a search must find, or more cells are probed."""

WORST = 0.9
"""Share that the worst 1 % of rows must find."""

UNCOVERED = 0.01
"""Share of the sampled rows that look into more cells; see `cell_neighbors.py`."""

NEW_UNCOVERED = 0.1
"""The same share of new samples, if they are like the sampled rows. They may not be.
As more of them look further, they look into fewer cells at first."""

N_SAMPLED = 2048
"""Samples whose true neighbours decide how many cells are probed."""

SMALLEST = 128
"""Samples that a cell holds on average, at least: fewer do not pay for looking into one
more cell. Half of the square root of all, if that is more."""

SHORTLIST = 8
"""Multiple of the probed cells that are measured; all, if that is half of them."""

AS_NEAR = 1 + 1e-9
"""A sample up to this many times as far as the K-th neighbour is as near."""

FINEST = 1e-30
"""Distances below are zero, in units of the largest deviation."""


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
    scaled = X - shift
    scale = max(float(scaled.max()), -float(scaled.min())) or 1.0
    scaled /= scale
    points = scaled.astype(np.float32)
    n_cells = max(1, int(n / max(SMALLEST, n**0.5 / 2)))
    some = np.random.default_rng(0).permutation(n)[: 32 * n_cells]
    centers = find_centers(points[some], n_cells, n_jobs)
    centers = centers[order_centers(centers, np.arange(n_cells))]
    label, centers = sort_into(points, centers, n_jobs)
    sampled = _draw(label, _away(scaled, centers, label, n_jobs))
    true = search_all(X[sampled], X, n_neighbors, own=sampled, n_jobs=n_jobs)
    radius = true.distances[:, -1:]
    gaps = to_centers(points[sampled], centers)
    needed = _cells_needed(gaps, label[true.indices])
    probing = _Probing(needed, np.sort(gaps, axis=1), radius[:, 0] / scale)
    groups, n_probes = group_samples(scaled, label, centers), probing.fewest()
    new_probes = probing.fewest(NEW_UNCOVERED, NEW_CELLS)
    while True:
        near = _shortlists(centers, n_probes, n_jobs)
        cover = probing.cover(n_probes, UNCOVERED)
        new = probing.cover(new_probes, NEW_UNCOVERED)
        limits = n_probes, cover, new_probes, new
        cells = Cells(shift, scale, groups, *limits, 0.0, near)
        found = search_rows(
            cells, X[sampled], X, n_neighbors, own=sampled, n_jobs=n_jobs
        )
        shares = (found.distances <= AS_NEAR * radius).mean(axis=1)
        if shares.mean() >= LEAST and _worst(shares).mean() >= WORST:
            return replace(cells, recall=float(shares.mean()))
        if n_probes >= centers.shape[0]:
            return None
        n_cells = centers.shape[0]
        n_probes = min(n_cells, n_probes + -(-n_probes // 4))
        new_probes = min(n_cells, new_probes + -(-new_probes // 4))


def _away(
    scaled: np.ndarray, centers: np.ndarray, label: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    """Return squared distances (n,) of samples from the centres of their cells."""

    def measure(block: slice) -> np.ndarray:
        gaps = scaled[block] - centers[label[block]]
        return np.square(gaps, out=gaps).sum(axis=1)

    found = map_blocks(measure, label.size, 16 * scaled.shape[1], n_jobs)
    return np.concatenate(found)


def _draw(label: np.ndarray, away: np.ndarray) -> np.ndarray:
    """Return samples from all cells, and from all distances to their centres.

    Samples are ordered by cell and distance, cut into `N_SAMPLED` runs of equal length,
    and one is drawn from each.
    """
    order = np.lexsort((away, label))
    ends = np.linspace(0, order.size, min(N_SAMPLED, order.size) + 1).astype(np.intp)
    return np.sort(order[np.random.default_rng(0).integers(ends[:-1], ends[1:])])


def _cells_needed(gaps: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Return after how many cells each neighbour is found, (s, K).

    `gaps` are squared distances to all centres, `cells` those of the neighbours. Of
    ties, another one would do for a row itself, but not for new samples beside it.
    """
    order = np.argsort(gaps, axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(order.shape[1])[None], axis=1)
    return np.take_along_axis(rank, cells, axis=1) + 1


@dataclass(frozen=True)
class _Probing:
    """What sampled rows would find.

    Attributes
    ----------
    needed : int array (s, K)
        Number of cells after which each neighbour of a row is found.
    gaps : array (s, c)
        Squared distances to the centres, ascending, less a constant of the row.
    radius : array (s,)
        Distance of the K-th neighbour.
    """

    needed: np.ndarray
    gaps: np.ndarray
    radius: np.ndarray

    def covers(self, n_probes: int) -> np.ndarray:
        """Return the margin of each row as a multiple of its radius."""
        margin = np.sqrt(self.gaps[:, n_probes - 1] - self.gaps[:, 0])
        return margin / np.maximum(self.radius, FINEST)

    def cover(self, n_probes: int, share: float) -> float:
        """Return the limit below which a share of rows looks into more cells."""
        return float(np.quantile(self.covers(n_probes), share))

    def fewest(self, uncovered: float = UNCOVERED, more: int = MORE_CELLS) -> int:
        """Return the smallest number of cells that hold enough, and one more.

        Of the rows a share looks into `more` times as many.
        """
        few, many = 1, self.gaps.shape[1]
        while few < many:
            n_probes = (few + many) // 2
            again = self.covers(n_probes) < self.cover(n_probes, uncovered)
            looked = np.where(again, more * n_probes, n_probes)
            shares = (self.needed <= looked[:, None]).mean(axis=1)
            enough = shares.mean() >= RECALL and self._is_enough(_worst(shares))
            few, many = (few, n_probes) if enough else (n_probes + 1, many)
        return min(few + 1, self.gaps.shape[1])

    def _is_enough(self, worst: np.ndarray) -> bool:
        """Say whether the worst 1 % of all rows find enough, by those of a sample.

        All rows may miss more: by two standard deviations, and by one neighbour as this
        is the smallest number of cells that suits the sample.
        """
        missed = self.needed.shape[1] * (1 - worst)
        allowed = self.needed.shape[1] * (1 - WORST) * worst.size
        more = 1 + 2 * np.sqrt(1 + np.square(missed).sum())
        return not missed.any() or missed.sum() + more <= allowed


def _worst(shares: np.ndarray) -> np.ndarray:
    """Return the shares of the worst 1 % of rows."""
    return np.sort(shares)[: -(-shares.size // 100)]


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
