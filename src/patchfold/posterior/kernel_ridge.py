"""Kernel ridge regression on class indicators, with closed-form leave-one-out.

The smoother of class memberships: f = argmin Σ_i (Y_i - f(x_i))² + λ‖f‖², f in the
span of a Gaussian kernel at the landmarks. With H the matrix that maps Y to the fitted
values, the prediction for row i of the regression fitted without it is
(HY - h_ii Y)_i / (1 - h_ii), for any landmarks, as long as they stay where they are,
and for any weights of rows in the sum of squares. With every row a landmark this is
plain kernel ridge regression. With gaps the kernel may be indefinite; the directions in
which it is negative are left out.

Of very many rows, `FITTED_ROWS` that are spread evenly have the regression fitted, and
stand for all by their weights. The others are no part of it, and so scored as new rows.
"""

from __future__ import annotations

import numpy as np

from ..backends.blas import one_blas_thread
from ..backends.distances import Products
from ..backends.threads import map_blocks
from .gaps import has_gaps, squared_gap_distances, variance_of_rows
from .rows import spread_rows

NULL = 1e-14
"""Directions of the landmarks' kernel below this share of the largest are rounding."""

FITTED_ROWS = 50_000
"""Most rows that a regression is fitted to."""

STRIP = 10_000
"""Rows that are multiplied at once."""

WIDTH = 0.5
"""Kernel width, in units of the mean squared distance of two rows."""

PENALTIES = (0.1, 1.0)
"""λ: the sum of squares is that of all rows, so more rows mean less smoothing."""


def gaussian_kernel(Z: np.ndarray, landmarks: np.ndarray, width: float) -> np.ndarray:
    """Return exp(-‖z - l‖² / width) for all pairs.

    With gaps, distances are those of the columns that both have, as in `gaps.py`; rows
    that share none are as far apart as two rows are in the mean.
    """
    if has_gaps(Z) or has_gaps(landmarks):
        squared = squared_gap_distances(Z, landmarks, width / WIDTH)
    else:
        squared = Products(Z, landmarks).squared(slice(0, Z.shape[0]))
        np.maximum(squared, 0, out=squared)
    squared /= -width
    return np.exp(squared, out=squared)


class KernelScores:
    """The regressions on class indicators in one view, one for each penalty.

    Parameters
    ----------
    Z : array (n, m)
        Labelled rows, as the view sees them.
    codes : int array (n,)
        Their classes, 0, 1, ..., C - 1.
    n_landmarks : int
        Most landmarks; cost grows as n · n_landmarks².
    n_jobs : int or None
        Number of threads.
    weights : array (r, l, C) or None
        Those of the landmarks, where they were fitted before. `left_out` is then empty.
    row_weights : array (n,) or None
        What each row counts in the sum of squares.

    Attributes
    ----------
    weights : array (r, l, C)
        Of the landmarks, for each penalty and class.
    """

    names: tuple[str, ...] = tuple(
        f"kernel, penalty {penalty:g}" for penalty in PENALTIES
    )

    def __init__(
        self,
        Z: np.ndarray,
        codes: np.ndarray,
        *,
        n_landmarks: int,
        n_jobs: int | None = None,
        weights: np.ndarray | None = None,
        row_weights: np.ndarray | None = None,
    ) -> None:
        self._n_jobs = n_jobs
        # In gaps 0, the mean, only to choose which rows are landmarks.
        self._landmarks = Z[spread_rows(np.nan_to_num(Z), n_landmarks)]
        unit = 2 * Z.shape[1] * variance_of_rows(Z)  # the mean squared distance
        self._width = WIDTH * unit
        n_classes = int(codes.max()) + 1
        if weights is not None:
            self.weights = weights
            self.left_out = np.empty((0, codes.size, n_classes))
            return
        fitted = spread_rows(np.nan_to_num(Z), FITTED_ROWS)
        counts = np.ones(codes.size) if row_weights is None else row_weights
        counts = counts[fitted] * (counts.sum() / counts[fitted].sum())
        Y = np.eye(n_classes)[codes[fitted]] - 1 / n_classes
        with one_blas_thread():
            self.weights, scores = _regress(
                Z[fitted], Y, self._landmarks, self._width, counts, n_jobs
            )
        if fitted.size == codes.size:
            self.left_out = scores
            return
        self.left_out = self.of(Z)
        self.left_out[:, fitted] = scores

    def of(self, Z: np.ndarray) -> np.ndarray:
        """Return the scores of new rows, (s, q, C)."""
        n_penalties, _, n_classes = self.weights.shape
        weights = np.concatenate(list(self.weights), axis=1)
        scores = np.empty((n_penalties, Z.shape[0], n_classes))

        def evaluate(block: slice) -> None:
            kernel = gaussian_kernel(Z[block], self._landmarks, self._width)
            found = (kernel @ weights).reshape(-1, n_penalties, n_classes)
            scores[:, block] = found.transpose(1, 0, 2)

        work = 3 * 8 * self._landmarks.shape[0]
        with one_blas_thread():
            map_blocks(evaluate, Z.shape[0], work, self._n_jobs)
        return scores


def _regress(
    Z: np.ndarray,
    Y: np.ndarray,
    landmarks: np.ndarray,
    width: float,
    counts: np.ndarray,
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return landmark weights (r, l, C), and leave-one-out predictions (r, n, C)."""
    values, vectors = np.linalg.eigh(gaussian_kernel(landmarks, landmarks, width))
    real = values > NULL * values[-1]
    root = vectors[:, real] / np.sqrt(values[real])

    def describe(block: slice) -> np.ndarray:
        return gaussian_kernel(Z[block], landmarks, width) @ root

    work = 3 * 8 * landmarks.shape[0]
    features = np.concatenate(map_blocks(describe, Z.shape[0], work, n_jobs))
    n = Z.shape[0]

    def product(strip: slice) -> np.ndarray:
        counted = features[strip] * np.sqrt(counts[strip])[:, None]
        return counted.T @ counted

    values, vectors = np.linalg.eigh(
        _sum(map_blocks(product, n, 0, n_jobs, step=STRIP))
    )

    def turn(strip: slice) -> np.ndarray:
        features[strip] = features[strip] @ vectors
        return features[strip].T @ (counts[strip, None] * Y[strip])

    moments = _sum(map_blocks(turn, n, 0, n_jobs, step=STRIP))
    gains = 1 / (np.maximum(values, 0)[:, None] + np.array(PENALTIES))
    weights = gains.T[:, :, None] * moments
    left_out = np.empty((len(PENALTIES), *Y.shape))

    def leave_out(strip: slice) -> None:
        leverage = counts[strip, None] * ((features[strip] ** 2) @ gains)
        for penalty, ours in enumerate(weights):
            own = leverage[:, penalty, None]
            fitted = features[strip] @ ours
            left_out[penalty, strip] = (fitted - own * Y[strip]) / (1 - own)

    map_blocks(leave_out, n, 0, n_jobs, step=STRIP)
    return (root @ vectors) @ weights, left_out


def _sum(parts: list[np.ndarray]) -> np.ndarray:
    """Add in order, so that threads change nothing."""
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total
