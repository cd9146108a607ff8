"""The pooled score of rows with gaps: class means and the shared covariance.

A class has the mean of its present cells in a column, and where it has none, that of
all rows, which is 0 in both views. With r the residuals from the class means, 0 in
gaps, the covariance is C_jk = Σ_i r_ij r_ik / √(f_j f_k), f_j being the present cells
less the classes that have any: its diagonal has the variances of present cells, and it
is never indefinite. A row is scored by the Gaussian of the columns it has.

Taking row i out of its class moves the mean of column j by δ_j = -r_ij / (n_j - 1), n_j
being the present cells of the class. The sums of products of the other rows, with A_jk
the sum of r_j over the n_jk rows of the class that have both columns, become

    S_jk - r_ij r_ik - δ_k (A_jk - r_ij) - δ_j (A_kj - r_ik) + (n_jk - 1) δ_j δ_k.

If rows have weights w, cells and rows are counted by them, and r_ij r_ik, r_ij and r_ik
have the factor w_i. Without gaps all of this is `pooled.py`, which costs less.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..backends.backend import require_memory
from ..backends.threads import map_blocks
from ..patches.fitting import isotropic_noise
from .gaps import marginal_distances, variance_of_rows
from .pooled import SHRINKAGE


class PooledGapScores:
    """The score of class means in one view, for rows with gaps.

    Parameters
    ----------
    Z : array (n, m)
        Labelled rows, as the view sees them; NaN is a gap.
    codes : int array (n,)
        Their classes, 0, 1, ..., C - 1.
    ridge : float
        ρ of the covariance rule.
    n_jobs : int or None
        Number of threads.
    scored : bool
        Whether the training rows have been scored before. `left_out` is then empty.
    row_weights : array (n,) or None
        What each row counts in means and covariances.
    """

    names: tuple[str, ...] = ("pooled",)

    def __init__(
        self,
        Z: np.ndarray,
        codes: np.ndarray,
        *,
        ridge: float,
        n_jobs: int | None = None,
        scored: bool = False,
        row_weights: np.ndarray | None = None,
    ) -> None:
        self._ridge, self._n_jobs = ridge, n_jobs
        self._variance = variance_of_rows(Z)
        n_classes, m = int(codes.max()) + 1, Z.shape[1]
        require_memory(
            16.0 * n_classes * m * m,
            f"the pooled score of {m} columns with gaps",
            "Fill the gaps, or take 'pooled' out of scores.",
        )
        present = ~np.isnan(Z)
        weights = np.ones(codes.size) if row_weights is None else row_weights
        indicator = np.eye(n_classes)[codes]
        members = indicator * weights[:, None]
        self._counts, self._cells = members.T @ present, indicator.T @ present
        sums = members.T @ np.where(present, Z, 0.0)
        self._means = sums / np.maximum(self._counts, 1)
        residuals = np.where(present, Z - self._means[codes], 0.0)
        self._scatter = residuals.T @ (weights[:, None] * residuals)
        self._free = self._counts.sum(axis=0) - (self._cells > 0).sum(axis=0)
        self.left_out = np.empty((0, codes.size, n_classes))
        if not scored:
            self.left_out = self._leave_out(Z, codes, weights, residuals)[None]

    def of(self, Z: np.ndarray) -> np.ndarray:
        """Return the scores of new rows, (1, q, C)."""
        free = np.maximum(self._free, 1)
        covariance = self._scatter / np.sqrt(free * free[:, None])

        def score(block: slice) -> np.ndarray:
            rows = Z[block]
            matrices = np.repeat(covariance[None], rows.shape[0], axis=0)
            gap = rows[:, :, None] - self._means.T
            return self._score(matrices, ~np.isnan(rows), gap)

        return self._in_blocks(score, Z)[None]

    def _in_blocks(
        self, score: Callable[[slice], np.ndarray], Z: np.ndarray
    ) -> np.ndarray:
        work = 8 * 6 * Z.shape[1] ** 2
        return np.concatenate(map_blocks(score, Z.shape[0], work, self._n_jobs))

    def _score(
        self, covariances: np.ndarray, present: np.ndarray, gap: np.ndarray
    ) -> np.ndarray:
        """Return the scores (q, C) of rows by their own covariances (q, m, m)."""
        m = present.shape[1]
        trace = np.trace(covariances, axis1=1, axis2=2)
        noise = isotropic_noise(trace, m, SHRINKAGE, self._ridge, self._variance)
        covariances *= 1 - SHRINKAGE
        covariances[:, np.arange(m), np.arange(m)] += noise[:, None]
        return -0.5 * marginal_distances(covariances, present, gap)[0]

    def _leave_out(
        self,
        Z: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray,
        residuals: np.ndarray,
    ) -> np.ndarray:
        """Score the training rows, each without itself."""
        present, (n_classes, m) = ~np.isnan(Z), self._means.shape
        both = np.empty((n_classes, m, m))
        sums = np.empty((n_classes, m, m))
        for c in range(n_classes):
            there = present[codes == c].astype(np.float64)
            counted = there * weights[codes == c, None]
            both[c] = counted.T @ there
            sums[c] = residuals[codes == c].T @ counted

        def score(block: slice) -> np.ndarray:
            own, there, r = codes[block], present[block], residuals[block]
            w = weights[block, None]
            alone = there & (self._cells[own] == 1)
            others = np.where(there & ~alone, self._counts[own] - w, 1.0)
            shift = np.where(there & ~alone, -w * r / others, 0.0)
            mean = self._means[own] + shift
            mean[alone] = 0.0
            change = (w * r)[:, :, None] * r[:, None, :]
            taken = sums[own] - (w * r)[:, :, None] * there[:, None, :]
            moved = shift[:, None, :] * taken
            change += moved + moved.transpose(0, 2, 1)
            pairs = both[own] - (w * there)[:, :, None] * there[:, None, :]
            change -= pairs * (shift[:, :, None] * shift[:, None, :])
            free = np.maximum(self._free - w * (there & ~alone), 1)
            matrices = self._scatter - change
            matrices /= np.sqrt(free[:, :, None] * free[:, None, :])
            gap = Z[block][:, :, None] - self._means.T
            gap[np.arange(own.size), :, own] = Z[block] - mean
            return self._score(matrices, there, gap)

        return self._in_blocks(score, Z)
