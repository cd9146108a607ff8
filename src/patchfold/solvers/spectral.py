"""Symmetric matrix -> eigenpairs; order, trivial vector and sign are fixed here.

Every solver ends in a check of its residuals: an eigenvector that did not converge is
an error, never a result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

DENSE_LIMIT = 600
"""Up to this many samples a dense eigensolver is used by `eigen_solver="auto"`."""

DENSE_RESCUE = 4000
"""Up to this many it takes over where "auto" found that no iteration converges."""

SHIFT = 1e-7
"""Shift of the inverse iteration, relative to the largest row sum of the matrix."""

SMALLEST_GAP = 0.1
"""Least |1 - λ| that a new sample's place is divided by."""

RESIDUAL = 1e-4
"""Largest residual of an accepted eigenpair, relative to its eigenvalue ..."""

ROUNDING = 1e-10
"""... or, if that is more, relative to the size of the matrix."""

TOLERANCE = 1e-10
"""Where Lanczos on the matrix itself stops, relative to the size of the matrix."""

RESTARTS = 100
"""How often Lanczos may restart, some 16 products each, before something else is tried:
with dozens of eigenvalues that are zero to rounding it never ends."""

SPARE = 4
"""Vectors of a block beyond the components wanted: they make up for small gaps."""

MAX_BLOCKS = 60
"""Blocks of a Krylov basis at most."""

BLOCK_TOLERANCE = 1e-12
"""Where the block iteration stops, relative to the largest eigenvalue."""


Pairs = tuple[np.ndarray, np.ndarray]


def is_dense(solver: str, n: int) -> bool:
    """Say whether a dense eigensolver is to be used for n samples."""
    return solver == "dense" or (solver == "auto" and n <= DENSE_LIMIT)


def smallest_eigenpairs(
    matrix: sp.csr_array,
    n_components: int,
    null_vector: np.ndarray,
    *,
    solver: str = "auto",
    inverse: Callable[[], Callable[[np.ndarray], np.ndarray]] | None = None,
    seed: np.random.RandomState,
) -> Pairs:
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
        "arpack" is Lanczos: on `inverse` where given; otherwise on the matrix, and if
        that does not converge, on its inverse by a factorisation. The two complement
        each other: a graph on which Lanczos is slow has small separators, and these
        keep its factors sparse.
    inverse : callable or None
        Returns a function that solves M x = b where b and x are orthogonal to the
        null vector, or raises RuntimeError if there is no such x.
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
    if is_dense(solver, n):
        values, vectors = _solve_dense(matrix, n_components, null, size)
    else:
        try:
            values, vectors = _iterate(matrix, n_components, null, size, inverse, seed)
        except RuntimeError:
            if solver != "auto" or n > DENSE_RESCUE:
                raise
            values, vectors = _solve_dense(matrix, n_components, null, size)
    return np.maximum(values, 0.0), fix_signs(vectors)


def _solve_dense(
    matrix: sp.csr_array, n_components: int, null: np.ndarray, size: float
) -> Pairs:
    """Find the bottom eigenpairs with the null vector moved to the top."""
    dense = matrix.toarray() + 2 * size * np.outer(null, null)
    values, vectors = eigh(dense, subset_by_index=[0, n_components - 1])
    _check(matrix, values, vectors, size)
    return values, vectors


def largest_eigenpairs(
    product: Callable[[np.ndarray], np.ndarray],
    n: int,
    n_components: int,
    *,
    seed: np.random.RandomState,
) -> Pairs:
    """Return the top eigenpairs of a dense symmetric matrix, largest first.

    Block Krylov iteration: the matrix is read once for several vectors, which is what
    counts when it is large. All blocks are kept, so nothing is lost to restarts.

    Parameters
    ----------
    product : callable
        Multiplies the matrix by an array (n, b).
    n : int
        Rows of the matrix, many more than components.
    n_components : int
        How many eigenpairs.
    seed : RandomState
        Draws the first block.

    Returns
    -------
    values : array (n_components,)
        Descending.
    vectors : array (n, n_components)
        Unit columns, signs fixed.

    Examples
    --------
    >>> import numpy as np
    >>> matrix = np.diag(2.0 ** -np.arange(100))
    >>> start = np.random.RandomState(0)
    >>> np.round(largest_eigenpairs(matrix.__matmul__, 100, 2, seed=start)[0], 6)
    array([1. , 0.5])
    """
    width = n_components + SPARE
    basis = np.empty((n, 0))
    images = np.empty((n, 0))
    block = np.linalg.qr(seed.uniform(-1, 1, (n, width)))[0]
    while basis.shape[1] + width <= min(n, MAX_BLOCKS * width):
        basis = np.concatenate([basis, block], axis=1)
        images = np.concatenate([images, product(block)], axis=1)
        small = basis.T @ images
        values, weights = eigh((small + small.T) / 2)
        values, weights = (
            values[::-1][:n_components],
            weights[:, ::-1][:, :n_components],
        )
        vectors = basis @ weights
        residual = np.linalg.norm(images @ weights - vectors * values, axis=0)
        if residual.max() <= BLOCK_TOLERANCE * abs(values).max():
            return values, fix_signs(vectors)
        block = images[:, -width:]
        for _ in range(2):  # once is not enough when little is left of the block
            block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
    raise RuntimeError(
        f"the eigensolver stopped at a residual of {residual.max():.2g}; set "
        "eigen_solver='dense'."
    )


def _iterate(
    matrix: sp.csr_array,
    n_components: int,
    null: np.ndarray,
    size: float,
    inverse: Callable[[], Callable[[np.ndarray], np.ndarray]] | None,
    seed: np.random.RandomState,
) -> Pairs:
    """Try the cheap way first; the last one says what is wrong if it fails too."""
    n = matrix.shape[0]
    start = _start(seed, n)
    start -= null * (null @ start)
    # Lanczos cannot find all but one of the eigenvectors; the inverse has one to spare.
    if inverse is not None or n_components < n - 2:
        try:
            if inverse is not None:
                found, vectors = _lanczos(_operator(inverse(), n), n_components, start)
                values, vectors = 1 / found[::-1], vectors[:, ::-1]
            else:
                values, vectors = _from_above(matrix, n_components, null, size, start)
            _check(matrix, values, vectors, size)
            return values, vectors
        except RuntimeError:
            pass
    values, vectors = _inverse_iteration(matrix, n_components, null, size, start)
    _check(matrix, values, vectors, size)
    return values, vectors


def _from_above(
    matrix: sp.csr_array,
    n_components: int,
    null: np.ndarray,
    size: float,
    start: np.ndarray,
) -> Pairs:
    """Lanczos on size·I - M, the null vector moved from the top into the middle."""
    middle = matrix.diagonal().mean()

    def apply(vector: np.ndarray) -> np.ndarray:
        return size * vector - matrix @ vector - null * (middle * (null @ vector))

    found, vectors = _lanczos(
        _operator(apply, null.size),
        n_components,
        start,
        tol=TOLERANCE,
    )
    return size - found[::-1], vectors[:, ::-1]


def _inverse_iteration(
    matrix: sp.csr_array,
    n_components: int,
    null: np.ndarray,
    size: float,
    start: np.ndarray,
) -> Pairs:
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
        solved = factor.solve(vector - null * (null @ vector))
        return solved - null * (null @ solved)

    found, vectors = _lanczos(_operator(solve, n), n_components, start)
    return 1 / found[::-1] - shift, vectors[:, ::-1]


def _start(seed: np.random.RandomState, n: int) -> np.ndarray:
    return seed.uniform(-1, 1, n)


def _operator(apply: Callable[[np.ndarray], np.ndarray], n: int) -> LinearOperator:
    return LinearOperator((n, n), matvec=lambda v: apply(v.ravel()), dtype=np.float64)


def _lanczos(
    operator: Any,
    n_components: int,
    start: np.ndarray,
    *,
    tol: float = 0,
) -> Pairs:
    try:
        values, vectors = eigsh(
            operator, n_components, which="LA", v0=start, tol=tol, maxiter=RESTARTS
        )
    except ArpackNoConvergence as error:
        raise RuntimeError(
            f"the eigensolver found {len(error.eigenvalues)} of {n_components} "
            "eigenvectors before it ran out of iterations; set eigen_solver='dense', "
            "or raise n_neighbors or kernel_width to tie the graph together."
        ) from error
    order = np.argsort(values)
    return values[order], vectors[:, order]


def _check(matrix: Any, values: np.ndarray, vectors: np.ndarray, size: float) -> None:
    """Raise RuntimeError unless every column is an eigenvector."""
    residual = np.linalg.norm(matrix @ vectors - vectors * values, axis=0)
    allowed = np.maximum(RESIDUAL * np.abs(values), ROUNDING * size)
    if not (residual <= allowed).all():
        worst = int(np.argmax(residual / allowed))
        raise RuntimeError(
            f"the eigenvector at {values[worst]:.3g} has a residual of "
            f"{residual[worst]:.2g}, over the {allowed[worst]:.2g} allowed; set "
            "eigen_solver='dense'."
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
        return mean / keep_from_zero(1 - eigenvalues)
    pull = capped_ratio(eigenvalues, np.exp(strongest) * total)
    return mean / (1 - pull)


def keep_from_zero(gap: np.ndarray) -> np.ndarray:
    """Return 1 - λ at least `SMALLEST_GAP` away from 0."""
    return np.where(np.abs(gap) < SMALLEST_GAP, np.copysign(SMALLEST_GAP, gap), gap)


def capped_ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return numerator / denominator, both >= 0, up to one half; 0 / 0 is 0."""
    half = np.broadcast_to(0.5, np.broadcast_shapes(numerator.shape, denominator.shape))
    small = numerator < 0.5 * denominator
    ratio = np.divide(numerator, denominator, out=half.copy(), where=small)
    return np.where(numerator > 0, ratio, 0.0)
