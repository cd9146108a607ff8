"""Reconstruction weights -> embedding of many samples, interpolated from landmarks.

The bottom eigenvectors of (I-W)ᵀ(I-W) are found among those that landmarks determine:
every sample is at the barycentre of the landmarks around it, so an embedding is V = P Y
with Y that of the l landmarks, and Y solves an eigenproblem of l samples,

    Pᵀ (I-W)ᵀ (I-W) P y = λ PᵀP y.

All reconstruction errors count, also those of samples that are no landmark ("locally
linear landmarks", Vladymyrov and Carreira-Perpiñán, 2013). Rows of P sum to 1, so the
constant vector is P 1 and is left out as it is of all samples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

from ..backends.backend import array_namespace, on_any_device
from ..backends.threads import map_blocks
from ..neighbors.choice import find_query_neighbors, open_search
from ..neighbors.sparse_metric import SparseMetric
from .reconstruction import barycentric_weights, relation_matrix, weighted_sums
from .spectral import smallest_eigenpairs

AROUND = 10
"""Landmarks that a sample is interpolated from."""

REG = 1e-3
"""Ridge of these barycentres, relative to the trace of the Gram matrix."""

ROWS = 64
"""Rows of the small matrices that a thread computes at a time."""


def interpolate(
    X: np.ndarray, landmarks: np.ndarray, *, n_jobs: int | None = None
) -> sp.csr_array:
    """Return P, the weights of the landmarks around every sample.

    Parameters
    ----------
    X : array (n, m)
        Samples.
    landmarks : int array (l,)
        Which of them are landmarks: they have weight 1 in their own row.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    sparse array (n, l)
        Rows sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> interpolate(X, np.array([0, 2])).toarray().round(6)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """
    n, count = X.shape[0], landmarks.shape[0]
    around = min(AROUND, count)
    chosen = X[landmarks]
    if sp.issparse(X):
        metric = SparseMetric("euclidean")
        search = open_search("exact", chosen, around, None, n_jobs, metric)
        near = search.of_queries(X, chosen, n_jobs).indices
    else:
        near = find_query_neighbors(X, chosen, around, n_jobs=n_jobs).indices
    xp = array_namespace(near)
    own = xp.arange(n, device=near.device)
    row = xp.reshape(xp.broadcast_to(own[:, None], (n, around)), (-1,))
    weights = barycentric_weights(
        X, chosen, row, xp.reshape(near, (-1,)), REG, n_jobs=n_jobs
    )
    weights, near = xp.reshape(weights, (n, around)), near + 0
    # A landmark is the first around itself, and not once more where samples repeat.
    others, own = near[landmarks], own[:count]
    near[landmarks] = xp.where(others == own[:, None], others[:, :1], others)
    weights[landmarks], near[landmarks, 0] = 0.0, own
    weights[landmarks, 0] = 1.0
    weights, near = xp.reshape(weights, (-1,)), xp.reshape(near, (-1,))
    return relation_matrix(weights, row, near, (n, count))


def landmark_embedding(
    weights: sp.csr_array,
    X: np.ndarray,
    landmarks: np.ndarray,
    n_components: int,
    *,
    solver: str = "auto",
    n_jobs: int | None = None,
    seed: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bottom eigenpairs of (I-W)ᵀ(I-W) among interpolated vectors.

    Parameters
    ----------
    weights : sparse array (n, n)
        Reconstruction weights W; rows sum to 1.
    X, landmarks, n_jobs
        As in `interpolate`.
    n_components : int
        How many, fewer than landmarks.
    solver, seed
        As in `smallest_eigenpairs`, for the problem of the landmarks.

    Returns
    -------
    values : array (n_components,)
        Sums of squared reconstruction errors, ascending: no less than the eigenvalues.
    vectors : array (n, n_components)
        Unit columns of mean 0, orthogonal to each other.
    """
    P = interpolate(X, landmarks, n_jobs=n_jobs)
    products = products_of_columns(weights, P, n_jobs)
    values, places = _place_landmarks(*products, n_components, solver, seed)
    return values, weighted_sums(P, places)


@on_any_device
def products_of_columns(
    weights: sp.csr_array, P: sp.csr_array, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return PᵀP and EᵀE, dense, for the errors E = P - W P."""
    return _gram(P, n_jobs), _gram(P - weights @ P, n_jobs)


@on_any_device
def _place_landmarks(
    inner: np.ndarray,
    outer: np.ndarray,
    n_components: int,
    solver: str,
    seed: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the errors λ and landmarks Y of EᵀE y = λ PᵀP y, but for the constant."""
    root = cholesky(inner, lower=True)
    half = solve_triangular(root, outer, lower=True)
    matrix = solve_triangular(root, half.T, lower=True)
    matrix = (matrix + matrix.T) / 2
    null = root.sum(axis=0)
    values, vectors = smallest_eigenpairs(
        matrix,
        n_components,
        null,
        solver=solver,
        inverse=lambda: _invert(matrix, null / np.linalg.norm(null)),
        seed=seed,
    )
    return values, solve_triangular(root, vectors, lower=True, trans=1)


def _gram(matrix: sp.csr_array, n_jobs: int | None) -> np.ndarray:
    """Return the products of the columns of a sparse matrix (n, l), dense (l, l)."""
    across = matrix.T.tocsr()

    def multiply(block: slice) -> np.ndarray:
        return (across[block] @ matrix).toarray()

    return np.concatenate(map_blocks(multiply, across.shape[0], 0, n_jobs, step=ROWS))


def _invert(matrix: np.ndarray, null: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that solves M x = b for b and x orthogonal to the null vector.

    The null vector is moved to the size of the matrix, which makes it regular.
    """
    size = np.trace(matrix) / null.size
    try:
        factor = cho_factor(matrix + size * np.outer(null, null), lower=True)
    except np.linalg.LinAlgError as error:
        raise RuntimeError("the matrix of the landmarks is singular") from error

    def solve(vector: np.ndarray) -> np.ndarray:
        solved = cho_solve(factor, vector - null * (null @ vector))
        return solved - null * (null @ solved)

    return solve


def draw_landmarks(
    count: Any, n: int, n_components: int, seed: np.random.RandomState
) -> np.ndarray | None:
    """Draw as many of n samples, ascending; None if every sample is a landmark."""
    if count is None or int(count) >= n:
        return None
    if int(count) <= n_components:
        raise ValueError(
            f"n_landmarks={count} must be more than n_components={n_components}: that "
            "many samples span fewer directions. Raise n_landmarks."
        )
    return np.sort(seed.permutation(n)[: int(count)])
