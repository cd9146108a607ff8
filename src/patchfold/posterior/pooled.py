"""Classes as patches of one shape: distances to class means, by the pooled covariance.

The score is -½ (x - μ_c)ᵀΣ⁻¹(x - μ_c) with Σ the covariance within classes, shrunk by
the rule of `patches/fitting.py`: linear discriminant analysis. A row of class y, of n_y
rows, is taken out of its class mean and of Σ: with d = x - μ_y the scatter within
classes loses n_y/(n_y - 1) ddᵀ, so one decomposition serves all rows. If rows have
weights w, n_y is their sum, and it loses w n_y/(n_y - w) ddᵀ.
"""

from __future__ import annotations

import numpy as np

from ..backends.blas import one_blas_thread
from ..backends.threads import map_blocks
from ..patches.fitting import isotropic_noise
from .rows import variance_over

SHRINKAGE = 0.1
"""γ: less than that of a patch, as the covariance is estimated from all rows."""


class PooledScores:
    """The score of class means in one view.

    Parameters
    ----------
    Z : array (n, m)
        Labelled rows, as the view sees them.
    codes : int array (n,)
        Their classes, 0, 1, ..., C - 1.
    ridge : float
        ρ of the covariance rule.
    n_jobs : int or None
        Number of threads.
    row_weights : array (n,) or None
        What each row counts in means and covariances.
    n_features : int or None
        m, where rows are given in fewer coordinates.
    """

    names: tuple[str, ...] = ("pooled",)

    def __init__(
        self,
        Z: np.ndarray,
        codes: np.ndarray,
        *,
        ridge: float,
        n_jobs: int | None = None,
        row_weights: np.ndarray | None = None,
        n_features: int | None = None,
    ) -> None:
        self._ridge, self._n_jobs = ridge, n_jobs
        self._variance = variance_over(Z, n_features)
        self._n_features = n_features or Z.shape[1]
        weights = np.ones(codes.size) if row_weights is None else row_weights
        members = np.eye(int(codes.max()) + 1)[codes] * weights[:, None]
        counts = members.sum(axis=0)
        self._means = (members.T @ Z) / counts[:, None]
        residuals = (Z - self._means[codes]) * np.sqrt(weights)[:, None]
        _, singular, Vt = np.linalg.svd(residuals, full_matrices=False)
        self._basis, self._scatter = Vt.T, singular**2
        self._divisor = max(1.0, weights.sum() - counts.size)
        left = counts[codes] - weights
        left[np.bincount(codes)[codes] == 1] = 0.0  # but for rounding, already
        self.left_out = self._blocks(Z, (codes, weights, left))[None]

    def of(self, Z: np.ndarray) -> np.ndarray:
        """Return the scores of new rows, (1, q, C)."""
        return self._blocks(Z)[None]

    def _blocks(
        self,
        Z: np.ndarray,
        known: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    ) -> np.ndarray:
        def score(block: slice) -> np.ndarray:
            if known is None:
                return self._score(Z[block])
            return self._leave_out(Z[block], *(part[block] for part in known))

        work = 4 * 8 * self._means.size
        with one_blas_thread():
            return np.concatenate(map_blocks(score, Z.shape[0], work, self._n_jobs))

    def _along(self, gap: np.ndarray) -> np.ndarray:
        """Return gaps (q, C, m) along the directions of the scatter, by one product."""
        flat = gap.reshape(-1, gap.shape[2]) @ self._basis
        return flat.reshape(*gap.shape[:2], -1)

    def _noise(self, trace: np.ndarray) -> np.ndarray:
        rule = SHRINKAGE, self._ridge, self._variance
        return isotropic_noise(trace, self._n_features, *rule)

    def _score(self, Z: np.ndarray) -> np.ndarray:
        noise = self._noise(np.array([self._scatter.sum() / self._divisor]))
        values = (1 - SHRINKAGE) / self._divisor * self._scatter + noise
        gap = Z[:, None, :] - self._means
        along = self._along(gap)
        across = np.maximum((gap**2).sum(axis=2) - (along**2).sum(axis=2), 0)
        return -0.5 * ((along**2 / values).sum(axis=2) + across / noise)

    def _leave_out(
        self, Z: np.ndarray, codes: np.ndarray, weights: np.ndarray, left: np.ndarray
    ) -> np.ndarray:
        """Score rows of the classes `codes`, each without itself.

        `left` is what the other rows of the class count together.
        """
        rows = np.arange(codes.size)
        others = np.where(left > 0, left, 1.0)
        # How the gap to its mean grows, and what the scatter loses along it.
        own = np.where(left > 0, (left + weights) / others, 0.0)
        loss = own * weights
        fewer = np.maximum(self._divisor - weights, 1.0)
        divisor = np.where(left > 0, fewer, self._divisor)
        gap = Z[:, None, :] - self._means
        lost = gap[rows, codes] @ self._basis
        gap[rows, codes] *= own[:, None]
        along = self._along(gap)
        across = np.maximum((gap**2).sum(axis=2) - (along**2).sum(axis=2), 0)
        across[rows, codes] = 0  # but for rounding, already
        trace = self._scatter.sum() - loss * (lost**2).sum(axis=1)
        noise = self._noise(np.maximum(trace, 0) / divisor)[:, None]
        share = ((1 - SHRINKAGE) / divisor)[:, None]
        weighed = lost / (share * self._scatter + noise)
        change = share * loss[:, None]
        rest = 1 - change * (lost * weighed).sum(axis=1)[:, None]
        shifted = (along @ weighed[:, :, None])[:, :, 0]
        inverse = 1 / (share * self._scatter + noise)
        distance = ((along**2) @ inverse[:, :, None])[:, :, 0] + across / noise
        return -0.5 * (distance + change * shifted**2 / rest)
