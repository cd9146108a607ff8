"""Points -> centres of k-means, and which of them is nearest to each point."""

from __future__ import annotations

import numpy as np

from ..backends.native.cells import group_samples, search_cells
from ..backends.native.loops import is_compiled
from ..backends.threads import map_blocks

FEW_CENTERS = 256
"""Up to this many centres are compared with every point."""

NEAR_GROUPS = 8
"""Cells of centres that are looked into for the nearest centre."""

N_ROUNDS = 4
"""Rounds of k-means; cells need not be the best ones."""

TOGETHER = 4
"""Centres that are near enough to each other to follow in any order."""


def find_centers(points: np.ndarray, n_cells: int, n_jobs: int | None) -> np.ndarray:
    """Run a few rounds of k-means from the first points."""
    centers = points[:n_cells]
    for _ in range(N_ROUNDS):
        label = nearest_center(points, centers, n_jobs)
        count = np.bincount(label, minlength=n_cells)[:, None]
        sums = [np.bincount(label, feature, n_cells) for feature in points.T]
        means = np.column_stack(sums) / np.maximum(count, 1)
        centers = np.where(count > 0, means, centers).astype(np.float32)
    return centers


def order_centers(centers: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Order some centres so that those near each other mostly follow each other.

    The half with the smaller numbers in the widest feature comes first, and in each
    half likewise. What is near in space is then near in memory, from cell to cell.
    """
    if some.size <= TOGETHER:
        return some
    widest = np.ptp(centers[some], axis=0).argmax()
    some = some[np.argsort(centers[some, widest], kind="stable")]
    halves = np.array_split(some, 2)
    return np.concatenate([order_centers(centers, half) for half in halves])


def sort_into(
    points: np.ndarray, centers: np.ndarray, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cell of each point, and the centres of cells that are not empty.

    Among equal samples many centres may be equal, and all but one of their cells empty.
    """
    taken, label = np.unique(
        nearest_center(points, centers, n_jobs), return_inverse=True
    )
    return label, centers[taken]


def to_centers(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return squared distances to the centres, less a constant of each row."""
    gaps = points @ (-2 * centers.T)
    gaps += np.einsum("ij,ij->i", centers, centers)
    return gaps


def nearest_center(
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
        middles = find_centers(centers, int(n_centers**0.5), n_jobs)
        groups = group_samples(centers, *sort_into(centers, middles, n_jobs))

    def nearest(block: slice) -> np.ndarray:
        if groups is None:
            return to_centers(points[block], centers).argmin(axis=1)
        return search_cells(groups, points[block], NEAR_GROUPS, 1)[0][:, 0]

    return np.concatenate(map_blocks(nearest, points.shape[0], 8 * n_centers, n_jobs))
