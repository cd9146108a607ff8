"""Reconstruction weights -> embedding: entropic or barycentric weights, null space.

Rows of weights are ragged in general (an edge that joins components adds a neighbour),
so they are flat arrays over the directed relation, sorted by row.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .spectral import smallest_eigenpairs


def entropic_weights(
    row: np.ndarray, length: np.ndarray, n_rows: int, reg: float
) -> np.ndarray:
    """Return PELLE's weights: (d dᵀ + αI) w = 1, scaled to sum to 1 in each row.

    The matrix is rank one plus a ridge, so by Sherman-Morrison
    w ∝ α + d·d - d Σd. With μ the mean of d's K entries and δ = d - μ that is
    α + δ·δ - Kμδ, which sums to K(α + δ·δ): positive, and nothing large cancels.

    Parameters
    ----------
    row : int array (R,)
        Which sample each weight belongs to.
    length : float array (R,)
        Dissimilarity to that neighbour.
    n_rows : int
        Number of samples.
    reg : float
        α.

    Examples
    --------
    >>> import numpy as np
    >>> entropic_weights(np.array([0, 0]), np.array([1.0, 1.0]), 1, 1e-3)
    array([0.5, 0.5])
    """
    count = np.bincount(row, minlength=n_rows)
    total = np.bincount(row, length, n_rows)
    gap = length - (total / np.maximum(count, 1))[row]
    sum_of_weights = reg + np.bincount(row, gap**2, n_rows)
    return (1 - gap * (total / sum_of_weights)[row]) / count[row]


def barycentric_weights(
    queries: np.ndarray,
    X: np.ndarray,
    row: np.ndarray,
    column: np.ndarray,
    reg: float,
) -> np.ndarray:
    """Return LLE's weights from the local Gram matrix of differences.

    The Gram matrix gets a ridge of `reg` times its trace (`reg` itself where the trace
    is 0), as in scikit-learn.

    Parameters
    ----------
    queries : array (q, m)
        Samples to reconstruct.
    X : array (n, m)
        Samples to reconstruct them from.
    row, column : int arrays (R,)
        Sorted by row: query `row` has neighbour `column` of X.
    reg : float
        Ridge relative to the trace.
    """
    counts = np.bincount(row, minlength=queries.shape[0])
    starts = np.cumsum(counts) - counts
    weights = np.empty(row.size)
    for count in np.unique(counts[counts > 0]):
        owners = np.flatnonzero(counts == count)
        entries = starts[owners, None] + np.arange(count)
        gaps = X[column[entries]] - queries[owners, None, :]
        gram = gaps @ gaps.transpose(0, 2, 1)
        trace = np.trace(gram, axis1=1, axis2=2)
        ridge = np.where(trace > 0, reg * trace, reg)
        gram[:, np.arange(count), np.arange(count)] += ridge[:, None]
        solved = np.linalg.solve(gram, np.ones((owners.size, count, 1)))[:, :, 0]
        weights[entries] = solved / solved.sum(axis=1, keepdims=True)
    return weights


def reconstruction_embedding(
    weights: sp.csr_array,
    n_components: int,
    *,
    solver: str = "auto",
    seed: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bottom eigenpairs of (I-W)ᵀ(I-W), without the constant vector."""
    n = weights.shape[0]
    residual = (sp.eye_array(n) - weights).tocsr()
    return smallest_eigenpairs(
        (residual.T @ residual).tocsr(),
        n_components,
        np.ones(n),
        solver=solver,
        seed=seed,
    )
