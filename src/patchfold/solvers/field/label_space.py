"""Samples and class probabilities -> the space that a map with labels is drawn in.

Squared distances are |x_i - x_j|²/s² + w Σ_c (√p_ic - √p_jc)². Where labels say
nothing, probabilities are alike and the second part vanishes; it is never scaled up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...neighbors.exact import search_all

LOOKED_AT = 2000
"""Samples at most whose neighbours give the unit of distances."""


@dataclass(frozen=True)
class LabelSpace:
    """How samples and probabilities are put side by side.

    Attributes
    ----------
    unit : float
        s, the unit of distances between samples.
    weight : float
        w, what probabilities count.
    """

    unit: float
    weight: float

    def join(self, X: np.ndarray, posterior: np.ndarray) -> np.ndarray:
        """Return samples (n, m) and probabilities (n, c) side by side, (n, m + c)."""
        roots = np.sqrt(self.weight * np.maximum(posterior, 0))
        return np.hstack([X / self.unit, roots])


def median_reach(X: np.ndarray, n_neighbors: int, n_jobs: int | None = None) -> float:
    """Return the median distance of samples to their K-th neighbour; 1 if it is 0.

    Of many samples, some that are evenly spaced in the given order are looked at.
    """
    n = X.shape[0]
    rows = np.unique(np.linspace(0, n - 1, min(n, LOOKED_AT)).astype(np.int64))
    near = search_all(X[rows], X, n_neighbors, own=rows, n_jobs=n_jobs)
    return float(np.median(near.distances[:, -1])) or 1.0
