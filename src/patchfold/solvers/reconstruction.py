"""Reconstruction weights -> embedding: entropic or barycentric weights, null space.

Rows of weights are ragged in general (an edge that joins components adds a neighbour),
so they are flat arrays over the directed relation, sorted by row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..backends.backend import on_any_device
from ..backends.threads import map_blocks
from .factors import factorize
from .spectral import smallest_eigenpairs

TOGETHER = 16
"""Sparse samples whose neighbours are multiplied at a time, all with all."""

PIVOT = 0.01
"""Part of the largest entry below which a diagonal entry is no pivot."""


@on_any_device
def entropic_weights(
    row: np.ndarray, length: np.ndarray, n_rows: int, reg: float
) -> np.ndarray:
    """Return PELLE's weights: (d dᵀ + αI) w = 1, scaled to sum to 1 in each row.

    The matrix is rank one plus a ridge, so by Sherman-Morrison
    w ∝ α + d·d - d Σd. With μ the mean of d's K entries and δ = d - μ that is
    α + δ·δ - Kμδ, which sums to K(α + δ·δ): positive, and nothing large cancels. It
    does so because δ sums to 0, also where the entries are so large and so nearly equal
    that μ's rounding is as large as δ: so the mean is taken out twice.

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
    gap = length
    for _ in range(2):
        gap = gap - (np.bincount(row, gap, n_rows) / np.maximum(count, 1))[row]
    sum_of_weights = reg + np.bincount(row, gap**2, n_rows)
    return (1 - gap * (total / sum_of_weights)[row]) / count[row]


@on_any_device
def barycentric_weights(
    queries: np.ndarray,
    X: np.ndarray,
    row: np.ndarray,
    column: np.ndarray,
    reg: float,
    *,
    n_jobs: int | None = None,
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
    n_jobs : int or None
        Number of threads.
    """
    counts = np.bincount(row, minlength=queries.shape[0])
    starts = np.cumsum(counts) - counts
    weights = np.empty(row.size)
    for count in np.unique(counts[counts > 0]):
        owners = np.flatnonzero(counts == count)
        entries = starts[owners, None] + np.arange(count)
        weigh = partial(_weigh, queries, X, column, reg, owners, entries)
        width = TOGETHER * count if sp.issparse(X) else X.shape[1]
        room = 8 * count * (2 * width + 3 * count)
        weights[entries] = np.concatenate(map_blocks(weigh, owners.size, room, n_jobs))
    return weights


def _weigh(
    queries: Any,
    X: Any,
    column: np.ndarray,
    reg: float,
    owners: np.ndarray,
    entries: np.ndarray,
    block: slice,
) -> np.ndarray:
    """Return the weights (b, K) of some samples that have equally many neighbours."""
    if sp.issparse(X):
        gram = _sparse_gram(queries, X, owners[block], column[entries[block]])
    else:
        gaps = X[column[entries[block]]] - queries[owners[block], None, :]
        gram = gaps @ gaps.transpose(0, 2, 1)
    trace = np.trace(gram, axis1=1, axis2=2)
    ridge = np.where(trace > 0, reg * trace, reg)
    diagonal = np.arange(entries.shape[1])
    gram[:, diagonal, diagonal] += ridge[:, None]
    solved = np.linalg.solve(gram, np.ones((*gram.shape[:2], 1)))[:, :, 0]
    return solved / solved.sum(axis=1, keepdims=True)


def _sparse_gram(
    queries: sp.csr_array, X: sp.csr_array, owners: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return products (q, K, K) of the differences of sparse samples and neighbours."""
    q, k = columns.shape
    gram = np.empty((q, k, k))
    for start in range(0, q, TOGETHER):
        part = slice(start, min(start + TOGETHER, q))
        asked = np.repeat(owners[part], k)
        gaps = sp.csr_array(X[columns[part].ravel()] - queries[asked])
        products = (gaps @ gaps.T).toarray()
        blocks = products.reshape(part.stop - start, k, part.stop - start, k)
        own = np.arange(part.stop - start)
        gram[part] = blocks[own, :, own, :]
    return gram


@on_any_device
def relation_matrix(
    weights: np.ndarray, row: np.ndarray, column: np.ndarray, shape: tuple[int, int]
) -> sp.csr_array:
    """Return the sparse matrix of weights whose rows ascend."""
    return sp.coo_array((weights, (row, column)), shape=shape).tocsr()


@on_any_device
def weighted_means(
    weights: np.ndarray,
    row: np.ndarray,
    column: np.ndarray,
    n: int,
    embedding: np.ndarray,
) -> np.ndarray:
    """Return the mean of the rows `column` of an embedding, for every row (n, d)."""
    shape = (n, embedding.shape[0])
    return sp.coo_array((weights, (row, column)), shape=shape) @ embedding


@on_any_device
def weighted_sums(matrix: sp.csr_array, rows: np.ndarray) -> np.ndarray:
    """Return the product of a sparse matrix and a narrow dense one."""
    return matrix @ rows


@on_any_device
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
        inverse=lambda: _factorize(residual),
        seed=seed,
    )


def _factorize(residual: sp.csr_array) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that solves RᵀR x = b for b and x of mean 0, R = I-W.

    The factors of R are sparser than those of RᵀR, and their errors are not squared.
    R is singular: R 1 = 0 and πᵀR = 0. Adding 1 to the diagonal at a sample with
    π ≠ 0 makes it regular and changes no solution that exists: from (R + eeᵀ) x = y
    with π·y = 0 follows π·e x·e = 0, hence R x = y; in the same way for Rᵀ. So y of
    Rᵀy = b is made orthogonal to π, and then R x = y solved.

    π is 0 at samples that are in no neighbourhood, so the one with the most is taken.
    """
    n = residual.shape[0]
    hub = int(np.bincount(residual.indices, minlength=n).argmax())
    ground = sp.coo_array(([1.0], ([hub], [hub])), shape=(n, n))
    factor = factorize((residual + ground).tocsc(), pivot=PIVOT)
    unit = np.zeros(n)
    unit[hub] = 1.0
    left_null = factor.solve(unit, "T")
    left_null /= np.linalg.norm(left_null)

    def solve(vector: np.ndarray) -> np.ndarray:
        half = factor.solve(vector - vector.mean(), "T")
        whole = factor.solve(half - left_null * (left_null @ half))
        return whole - whole.mean()

    return solve
