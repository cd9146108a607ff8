"""Classes as patches of one shape: distances to class means, by the pooled covariance.

The score is -½ (x - μ_c)ᵀΣ⁻¹(x - μ_c) with Σ the covariance within classes, shrunk by
the rule of `covariance.py`: linear discriminant analysis. A row of class y, of n_y
rows, is taken out of its class mean and of Σ: with d = x - μ_y the scatter within
classes loses n_y/(n_y - 1) ddᵀ, so one decomposition serves all rows.
"""

from __future__ import annotations

import numpy as np

from ..backends.threads import map_blocks
from ..patches.covariance import isotropic_noise
from ..patches.fitting import mean_variance

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
    """

    names: tuple[str, ...] = ("pooled",)

    def __init__(
        self,
        Z: np.ndarray,
        codes: np.ndarray,
        *,
        ridge: float,
        n_jobs: int | None = None,
    ) -> None:
        self._ridge, self._variance, self._n_jobs = ridge, mean_variance(Z), n_jobs
        counts = np.bincount(codes)
        n_classes = counts.size
        self._means = (np.eye(n_classes)[codes].T @ Z) / counts[:, None]
        _, singular, Vt = np.linalg.svd(Z - self._means[codes], full_matrices=False)
        self._basis, self._scatter = Vt.T, singular**2
        self._divisor = max(1, codes.size - n_classes)
        self.left_out = self._blocks(Z, counts, codes)[None]

    def of(self, Z: np.ndarray) -> np.ndarray:
        """Return the scores of new rows, (1, q, C)."""
        return self._blocks(Z)[None]

    def _blocks(
        self,
        Z: np.ndarray,
        counts: np.ndarray | None = None,
        codes: np.ndarray | None = None,
    ) -> np.ndarray:
        def score(block: slice) -> np.ndarray:
            if counts is None or codes is None:
                return self._score(Z[block])
            return self._leave_out(Z[block], codes[block], counts[codes[block]])

        work = 4 * 8 * self._means.size
        return np.concatenate(map_blocks(score, Z.shape[0], work, self._n_jobs))

    def _noise(self, trace: np.ndarray) -> np.ndarray:
        m = self._means.shape[1]
        return isotropic_noise(trace, m, SHRINKAGE, self._ridge, self._variance)

    def _score(self, Z: np.ndarray) -> np.ndarray:
        noise = self._noise(np.array([self._scatter.sum() / self._divisor]))
        values = (1 - SHRINKAGE) / self._divisor * self._scatter + noise
        gap = Z[:, None, :] - self._means
        along = gap @ self._basis
        across = np.maximum((gap**2).sum(axis=2) - (along**2).sum(axis=2), 0)
        return -0.5 * ((along**2 / values).sum(axis=2) + across / noise)

    def _leave_out(
        self, Z: np.ndarray, codes: np.ndarray, sizes: np.ndarray
    ) -> np.ndarray:
        """Score rows of the classes `codes` of these `sizes`, each without itself."""
        rows = np.arange(codes.size)
        others = np.maximum(sizes - 1, 1)
        own = np.where(sizes > 1, sizes / others, 0.0)  # how the gap to its mean grows
        divisor = np.where(sizes > 1, max(1, self._divisor - 1), self._divisor)
        gap = Z[:, None, :] - self._means
        lost = gap[rows, codes] @ self._basis
        gap[rows, codes] *= own[:, None]
        along = gap @ self._basis
        across = np.maximum((gap**2).sum(axis=2) - (along**2).sum(axis=2), 0)
        across[rows, codes] = 0  # but for rounding, already
        trace = self._scatter.sum() - own * (lost**2).sum(axis=1)
        noise = self._noise(np.maximum(trace, 0) / divisor)[:, None]
        share = ((1 - SHRINKAGE) / divisor)[:, None]
        weighed = lost / (share * self._scatter + noise)
        change = share * own[:, None]
        left = 1 - change * (lost * weighed).sum(axis=1)[:, None]
        shifted = (along @ weighed[:, :, None])[:, :, 0]
        inverse = 1 / (share * self._scatter + noise)
        distance = ((along**2) @ inverse[:, :, None])[:, :, 0] + across / noise
        return -0.5 * (distance + change * shifted**2 / left)
