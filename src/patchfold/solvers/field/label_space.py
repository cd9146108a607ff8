"""Samples and class probabilities -> the space that a map with labels is drawn in.

Squared distances are |x_i - x_j|²/s² + w Σ_c (√p_ic - √p_jc)². Where labels say
nothing, probabilities are alike and the second part vanishes; it is never scaled up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...neighbors.choice import open_search
from ...neighbors.exact import search_all
from ...neighbors.sparse_metric import SparseMetric

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

    def join(self, X: Any, posterior: np.ndarray) -> Any:
        """Return samples (n, m) and probabilities (n, c) side by side, (n, m + c)."""
        roots = np.sqrt(self.weight * np.maximum(posterior, 0))
        return side_by_side(X / self.unit, roots)


def side_by_side(X: Any, columns: np.ndarray) -> Any:
    """Return samples (n, m), dense or sparse, with more columns (n, c), (n, m + c)."""
    if sp.issparse(X):
        return sp.hstack([X, sp.csr_array(columns)], format="csr")
    return np.hstack([X, columns])


def median_reach(X: Any, n_neighbors: int, n_jobs: int | None = None) -> float:
    """Return the median distance of samples to their K-th neighbour; 1 if it is 0.

    Of many samples, some that are evenly spaced in the given order are looked at.
    """
    n = X.shape[0]
    rows = np.unique(np.linspace(0, n - 1, min(n, LOOKED_AT)).astype(np.int64))
    if sp.issparse(X):  # a sample is its own nearest here
        distance = SparseMetric("euclidean")
        search = open_search("exact", X, n_neighbors + 1, None, n_jobs, distance)
        near = search.of_queries(X[rows], X, n_jobs)
    else:
        near = search_all(X[rows], X, n_neighbors, own=rows, n_jobs=n_jobs)
    return float(np.median(near.distances[:, -1])) or 1.0
