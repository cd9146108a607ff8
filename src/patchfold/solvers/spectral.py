"""Symmetric matrix -> eigenpairs; order, trivial vector and sign are fixed here.

Every solver ends in a check of its residuals: an eigenvector that did not converge is
an error, never a result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

DENSE_LIMIT = 1500
"""Up to this many samples a dense eigensolver is used by `eigen_solver="auto"`."""

SHIFT = 1e-7
"""Shift of the inverse iteration, relative to the largest row sum of the matrix."""

SMALLEST_GAP = 0.1
"""Least |1 - λ| that a new sample's place is divided by."""

RESIDUAL = 1e-6
"""Largest residual of an accepted eigenpair, relative to the largest row sum."""


def smallest_eigenpairs(
    matrix: sp.csr_array,
    n_components: int,
    null_vector: np.ndarray,
    *,
    solver: str = "auto",
    seed: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bottom eigenpairs of a semi-definite matrix, but for its null vector.

    The null vector is known, so it is taken out before the search and not picked from
    its results: in a nearly disconnected graph other eigenvalues are as small as
    rounding, and no tolerance would tell them apart.

    Parameters
    ----------
    matrix : sparse array (n, n)
        Symmetric and positive semi-definite.
    n_components : int
        How many eigenpairs.
    null_vector : array (n,)
        The one trivial eigenvector, of any length, at eigenvalue 0.
    solver : {"auto", "dense", "arpack"}
        "arpack" factorises the matrix and iterates on its inverse.
    seed : RandomState
        Draws the start vector of the iteration.

    Returns
    -------
    values : array (n_components,)
        Ascending.
    vectors : array (n, n_components)
        Unit columns, orthogonal to the null vector, signs fixed.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> path = sp.csr_array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
    >>> smallest_eigenpairs(path, 1, np.ones(3), seed=np.random.RandomState(0))[0]
    array([1.])
    """
    n = matrix.shape[0]
    null = null_vector / np.linalg.norm(null_vector)
    size = float(abs(matrix).sum(axis=1).max()) or 1.0
    if solver == "dense" or (solver == "auto" and n <= DENSE_LIMIT):
        dense = matrix.toarray() + 2 * size * np.outer(null, null)
        values, vectors = eigh(dense, subset_by_index=[0, n_components - 1])
    else:
        values, vectors = _inverse_iteration(matrix, n_components, null, size, seed)
    _check_residuals(matrix @ vectors - vectors * values, size)
    return np.maximum(values, 0.0), fix_signs(vectors)


def largest_eigenpairs(
    matrix: np.ndarray,
    n_components: int,
    *,
    solver: str = "auto",
    seed: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the top eigenpairs of a dense symmetric matrix, largest first.

    Parameters and results are those of `smallest_eigenpairs`; there is no null vector.
    """
    n = matrix.shape[0]
    small = n <= DENSE_LIMIT or n_components >= n - 1
    if solver == "dense" or (solver == "auto" and small):
        values, vectors = eigh(matrix, subset_by_index=[n - n_components, n - 1])
    else:
        values, vectors = _lanczos(matrix, n_components, seed)
    values, vectors = values[::-1], vectors[:, ::-1]
    size = float(np.abs(matrix).sum(axis=1).max()) or 1.0
    _check_residuals(matrix @ vectors - vectors * values, size)
    return values, fix_signs(vectors)


def _inverse_iteration(
    matrix: sp.csr_array,
    n_components: int,
    null: np.ndarray,
    size: float,
    seed: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Lanczos on P (M + δI)⁻¹ P, where P takes the null vector out."""
    n = matrix.shape[0]
    shift = SHIFT * size
    factor = splu(
        (matrix + shift * sp.eye_array(n)).tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )

    def solve(vector: np.ndarray) -> np.ndarray:
        vector = vector.ravel()
        solved = factor.solve(vector - null * (null @ vector))
        return solved - null * (null @ solved)

    inverse = LinearOperator((n, n), matvec=solve, dtype=np.float64)
    found, vectors = _lanczos(inverse, n_components, seed)
    return 1 / found[::-1] - shift, vectors[:, ::-1]


def _lanczos(
    operator: Any, n_components: int, seed: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    start = seed.uniform(-1, 1, operator.shape[0])
    try:
        values, vectors = eigsh(operator, n_components, which="LA", v0=start)
    except ArpackNoConvergence as error:
        raise RuntimeError(
            f"the eigensolver found {len(error.eigenvalues)} of {n_components} "
            "eigenvectors before it ran out of iterations; set eigen_solver='dense', "
            "or raise n_neighbors or kernel_width to tie the graph together."
        ) from error
    order = np.argsort(values)
    return values[order], vectors[:, order]


def _check_residuals(residuals: np.ndarray, size: float) -> None:
    worst = float(np.linalg.norm(residuals, axis=0).max())
    if not worst <= RESIDUAL * size:
        raise RuntimeError(
            f"an eigenvector has a residual of {worst:.2g}, over {RESIDUAL:g} of the "
            "matrix's size; set eigen_solver='dense'."
        )


def fix_signs(vectors: np.ndarray) -> np.ndarray:
    """Make the largest entry of every column positive; of equal ones, the first."""
    size = np.abs(vectors)
    first = (size >= (1 - 1e-6) * size.max(axis=0)).argmax(axis=0)
    negative = vectors[first, np.arange(vectors.shape[1])] < 0
    return np.where(negative, -vectors, vectors)


def nystrom(
    similarities: np.ndarray,
    neighbors: np.ndarray,
    embedding: np.ndarray,
    eigenvalues: np.ndarray,
    *,
    normalized: bool,
) -> np.ndarray:
    """Place new samples among the eigenvectors of a Laplacian.

    At a training sample, L y = λ D y reads y = Σ w y_j / ((1 - λ) Σw), and L y = λ y
    reads y = Σ w y_j / (Σw - λ); both give a new sample its place from its links. Far
    from everything Σw tends to 0 and the second quotient has no meaning, so there λ
    counts for at most half of Σw: a far sample lies beyond its neighbours' mean, but at
    most twice as far out. In the first, 1 - λ is kept `SMALLEST_GAP` away from 0: an
    eigenvector at λ = 1 is unrelated to its neighbours' mean.

    Parameters
    ----------
    similarities : array (q, k)
        -d²/t along each link: the logarithm of the weight, so that none vanishes.
    neighbors : int array (q, k)
        Training samples at the other end.
    embedding : array (n, d)
        Eigenvectors at the training samples.
    eigenvalues : array (d,)
        λ, one per column.
    normalized : bool
        Whether the eigenproblem has D on its right-hand side.

    Returns
    -------
    array (q, d)
    """
    strongest = similarities.max(axis=1, keepdims=True)
    relative = np.exp(similarities - strongest)
    total = relative.sum(axis=1, keepdims=True)
    mean = np.einsum("qk,qkd->qd", relative / total, embedding[neighbors])
    if normalized:
        gap = 1 - eigenvalues
        return mean / np.where(
            np.abs(gap) < SMALLEST_GAP, np.copysign(SMALLEST_GAP, gap), gap
        )
    pull = capped_ratio(eigenvalues, np.exp(strongest) * total)
    return mean / (1 - pull)


def capped_ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return numerator / denominator, both >= 0, up to one half; 0 / 0 is 0."""
    half = np.broadcast_to(0.5, np.broadcast_shapes(numerator.shape, denominator.shape))
    small = numerator < 0.5 * denominator
    ratio = np.divide(numerator, denominator, out=half.copy(), where=small)
    return np.where(numerator > 0, ratio, 0.0)
