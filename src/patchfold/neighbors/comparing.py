"""Queries and samples -> nearest candidates among all, in single precision."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..backends.native.neighbors import Groups, group_samples, search_cells
from ..backends.threads import map_blocks

STEP = 512
"""Queries in one block, at least."""

WORTH = 4_000_000
"""Distances that are worth a thread."""

CELL = 512
"""Samples that are compared with a few queries while they stay in cache."""

ROUNDING = 2.0**-24
"""Largest relative error of a number in single precision."""

FAR = 1000.0
"""Samples are far if they are this many times as far from the mean as the median."""

FEW_FAR = 128
"""Up to this many far samples are compared with every query."""

EXACT_SUM = 2.0**24
"""Sums of integers below this have no rounding errors in single precision."""

Finder = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]


def are_small_integers(queries: np.ndarray, X: np.ndarray) -> bool:
    """Say whether squared distances are integers that single precision can hold."""
    tables = (X,) if queries is X else (X, queries)
    for rows in (slice(8), slice(None)):  # the first rows mostly tell
        if not all((t[rows] == np.rint(t[rows])).all() for t in tables):
            return False
    center = np.rint(X.mean(axis=0))
    with np.errstate(over="ignore"):  # infinite is too large
        largest = max(np.square(t - center).sum(axis=1).max() for t in tables)
    return bool(4 * largest < EXACT_SUM)


def group_in_order(points: np.ndarray) -> Groups:
    """Cut samples into cells by their numbers."""
    label = np.arange(points.shape[0]) // CELL
    return group_samples(points, label, np.zeros((label[-1] + 1, points.shape[1])))


def compare_all(
    groups: Groups, queries: np.ndarray, n_wanted: int, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest samples of all cells, and their squared distances."""
    column = np.empty((queries.shape[0], n_wanted), np.int64)
    squared = np.empty(column.shape, np.float32)

    def search(block: slice) -> None:
        n_cells = groups.starts.size - 1
        found = search_cells(groups, queries[block], n_cells, n_wanted)
        column[block], squared[block], _ = found

    step = max(STEP, WORTH // groups.samples.size)
    map_blocks(search, queries.shape[0], 0, n_jobs, step=step)
    return column, squared


def by_loops(X: np.ndarray, n_jobs: int | None) -> Finder:
    """Return what finds candidates in single precision.

    It takes queries and a number of candidates, and returns candidates, ascending in
    each row (-1 where a query is too far away for single precision), and a squared
    distance that whatever is no candidate has at least. The few samples that are far
    from all others are candidates of all queries: they would set the scale.
    """
    near, far = _set_apart(X)
    center = X[near].mean(axis=0)
    scale = float(np.abs(X[near] - center).max()) or 1.0
    points = (X[near] - center) / scale
    groups = group_in_order(points)
    largest = np.linalg.norm(points, axis=1).max()

    def find(queries: np.ndarray, n_wanted: int) -> tuple[np.ndarray, np.ndarray]:
        ours = (queries - center) / scale
        sample, squared = compare_all(groups, ours, n_wanted, n_jobs)
        column = np.empty((ours.shape[0], n_wanted + far.size), np.int64)
        column[:, :n_wanted] = np.where(sample < 0, -1, near[sample])
        column[:, n_wanted:] = far
        column.sort(axis=1)
        reach = squared.max(axis=1).astype(float)
        # Each coordinate is rounded, then each difference, square and sum.
        with np.errstate(over="ignore"):  # too far for single precision: not settled
            moved = 4 * ROUNDING * (np.linalg.norm(ours, axis=1) + largest)
        rounded = 1 - (X.shape[1] + 4) * ROUNDING
        least = scale * (rounded * np.sqrt(reach) - moved)
        return column, np.where(np.isfinite(reach), np.maximum(least, 0), 0) ** 2

    return find


def _set_apart(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which samples are near each other, and which few are far from them."""
    near = np.arange(X.shape[0])
    while True:
        size = np.abs(X[near] - X[near].mean(axis=0)).max(axis=1)
        here = size <= FAR * np.median(size)
        n_far = X.shape[0] - np.count_nonzero(here)
        if here.all() or n_far > FEW_FAR:
            return near, np.setdiff1d(np.arange(X.shape[0]), near)
        near = near[here]
