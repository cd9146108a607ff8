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

from ..backends.backend import NUMPY, Array, Backend, array_namespace, on_any_device
from ..backends.native.eigenvectors import DENSE_LIMIT, TOLERANCE, check_residuals
from ..backends.threads import BLOCK_BYTES
from .arpack import arpack_eigenpairs
from .filtered import MANY as SHARED
from .filtered import ManyZerosError, filtered_eigenpairs
from .inverse import SPARE, core_eigenpairs, inverse_eigenpairs
from .lanczos import lanczos_eigenpairs, product_with
from .pieces import MANY, piecewise_eigenpairs

DENSE_RESCUE = 4000
"""Up to this many it takes over where "auto" found that no iteration converges."""

FEW = 1500
"""Up to this many rows Lanczos is as fast as the filtered iteration ..."""

CROWDED = 100
"""... and above this many entries a row: a product is then as costly as a round."""

TRACE = 1e-200
"""Entries below this part of the matrix are zeros to an eigensolver."""

MAX_BLOCKS = 60
"""Blocks of a Krylov basis at most."""

BLOCK_TOLERANCE = 1e-12
"""Where the block iteration stops, relative to the largest eigenvalue."""

Eigenpairs = tuple[Array, Array]


def is_dense(solver: str, n: int) -> bool:
    """Say whether a dense eigensolver is to be used for n samples."""
    return solver == "dense" or (solver == "auto" and n <= DENSE_LIMIT)


def smallest_eigenpairs(
    matrix: Any,
    n_components: int,
    null_vector: Array,
    *,
    solver: str = "auto",
    inverse: Callable[[], Callable[[np.ndarray], np.ndarray]] | None = None,
    n_jobs: int | None = None,
    seed: np.random.RandomState,
) -> Eigenpairs:
    """Return the bottom eigenpairs of a semi-definite matrix, but for its null vector.

    The null vector is known, so it is taken out before the search and not picked from
    its results: in a nearly disconnected graph other eigenvalues are as small as
    rounding, and no tolerance would tell them apart.

    Parameters
    ----------
    matrix : sparse or dense array (n, n), or Laplacian on a device
        Symmetric and positive semi-definite.
    n_components : int
        How many eigenpairs.
    null_vector : array (n,)
        The one trivial eigenvector, of any length, at eigenvalue 0.
    solver : {"auto", "dense", "arpack"}
        "arpack" is ARPACK's Lanczos with the matrix, "auto" our own (`lanczos.py`), of
        many samples a filtered iteration (`filtered.py`); if that does not converge,
        both take the inverse, by a factorisation (`inverse.py`), of samples in pieces
        by their core (`core.py`), or, of many in pieces, vectors that are constant on
        these (`pieces.py`). Products and factors complement each other: a graph on
        which products are many has small separators, and these keep its factors sparse.
        Where `inverse` is given, both begin with it.
    inverse : callable or None
        Returns a function that solves M x = b where b and x are orthogonal to the
        null vector, or raises RuntimeError if there is no such x.
    n_jobs : int or None
        Number of threads.
    seed : RandomState
        Draws the start vectors of the iteration.

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
    values, vectors = bottom_eigenpairs(
        matrix, n_components, null_vector, solver, inverse, n_jobs, seed
    )
    xp = array_namespace(values)
    return xp.clip(values, 0.0, None), fix_signs(vectors)


@on_any_device
def bottom_eigenpairs(
    matrix: Any,
    n_components: int,
    null_vector: np.ndarray,
    solver: str,
    inverse: Callable[[], Callable[[np.ndarray], np.ndarray]] | None,
    n_jobs: int | None,
    seed: np.random.RandomState,
) -> Eigenpairs:
    """Return what `smallest_eigenpairs` does, but for signs and rounding below 0."""
    n = matrix.shape[0]
    null = null_vector / np.linalg.norm(null_vector)
    matrix, size = _without_traces(matrix)
    if not is_dense(solver, n):
        try:
            options = solver, inverse, n_jobs, seed
            return _iterate(matrix, n_components, null, size, *options)
        except RuntimeError:
            if solver != "auto" or n > DENSE_RESCUE:
                raise
    return _solve_dense(matrix, n_components, null, size)


def _without_traces(matrix: Any) -> tuple[Any, float]:
    """Return the matrix with entries far below rounding as zeros, and its size.

    Products of the smallest numbers take a processor a hundred times as long. The size
    is the largest sum of the magnitudes in a row.
    """
    if not sp.issparse(matrix):
        return _dense_without_traces(matrix)
    matrix = matrix.tocsr()
    places, entries = (matrix.indices, matrix.indptr), np.abs(matrix.data)
    sums = sp.csr_array((entries, *places), shape=matrix.shape)
    size = float(sums.sum(axis=1).max()) or 1.0
    trace = entries < TRACE * size
    trace &= entries > 0
    if not trace.any():
        return matrix, size
    data = np.where(trace, 0.0, matrix.data)
    return sp.csr_array((data, *places), shape=matrix.shape), size


def _dense_without_traces(matrix: np.ndarray) -> tuple[np.ndarray, float]:
    """Do that for a dense matrix, some rows at a time: it may be most of the memory."""
    blocks = np.array_split(matrix, -(-matrix.nbytes // BLOCK_BYTES))
    size = max(float(np.abs(rows).sum(axis=1).max()) for rows in blocks) or 1.0
    if not any(_traces(rows, size).any() for rows in blocks):
        return matrix, size
    return np.where(_traces(matrix, size), 0.0, matrix), size


def _traces(entries: np.ndarray, size: float) -> np.ndarray:
    trace = np.abs(entries) < TRACE * size
    trace &= entries != 0
    return trace


def _solve_dense(
    matrix: Any, n_components: int, null: np.ndarray, size: float
) -> Eigenpairs:
    """Find the bottom eigenpairs with the null vector moved to the top."""
    whole = matrix.toarray() if sp.issparse(matrix) else matrix
    dense = whole + 2 * size * np.outer(null, null)
    values, vectors = eigh(dense, subset_by_index=[0, n_components - 1])
    _check(matrix, values, vectors, size)
    return values, vectors


def largest_eigenpairs(
    product: Callable[[Array], Array],
    n: int,
    n_components: int,
    *,
    seed: np.random.RandomState,
    backend: Backend = NUMPY,
) -> Eigenpairs:
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
    backend : Backend
        Where `product` takes and returns its arrays.

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
    block = backend.bring(seed.uniform(-1, 1, (n, width)))
    xp = array_namespace(block)
    block = xp.linalg.qr(block)[0]
    basis, images = block[:, :0], block[:, :0]
    while basis.shape[1] + width <= min(n, MAX_BLOCKS * width):
        basis = xp.concat([basis, block], axis=1)
        images = xp.concat([images, product(block)], axis=1)
        small = basis.T @ images
        values, weights = _leading((small + small.T) / 2, n_components)
        vectors = basis @ weights
        residual = xp.max(xp.linalg.norm(images @ weights - vectors * values, axis=0))
        if residual <= BLOCK_TOLERANCE * xp.max(xp.abs(values)):
            return values, fix_signs(vectors)
        block = images[:, -width:]
        for _ in range(2):  # once is not enough when little is left of the block
            block = xp.linalg.qr(block - basis @ (basis.T @ block))[0]
    raise RuntimeError(
        f"the eigensolver stopped at a residual of {float(residual):.2g}; set "
        "eigen_solver='dense'."
    )


@on_any_device
def _leading(small: np.ndarray, n_components: int) -> Eigenpairs:
    """Return the largest eigenpairs of a small dense matrix, largest first."""
    values, vectors = eigh(small)
    return values[::-1][:n_components], vectors[:, ::-1][:, :n_components]


def _iterate(
    matrix: Any,
    n_components: int,
    null: np.ndarray,
    size: float,
    solver: str,
    inverse: Callable[[], Callable[[np.ndarray], np.ndarray]] | None,
    n_jobs: int | None,
    seed: np.random.RandomState,
) -> Eigenpairs:
    """Try the cheap way first; the last one says what is wrong if it fails too."""
    n = matrix.shape[0]
    start = seed.uniform(-1, 1, n)
    start -= null * (null @ start)
    try:
        if inverse is not None:
            found, vectors = arpack_eigenpairs(inverse(), n_components, start)
            values, vectors = 1 / found[::-1], vectors[:, ::-1]
        elif solver == "arpack":
            values, vectors = _from_above(matrix, n_components, null, size, start)
        elif n > FEW and sp.issparse(matrix) and matrix.nnz <= CROWDED * n:
            goal = TOLERANCE * size
            values, vectors = filtered_eigenpairs(
                matrix, n_components, null, goal, n_jobs=n_jobs, seed=seed
            )
        else:
            values, vectors = lanczos_eigenpairs(
                product_with(matrix), n_components, null, TOLERANCE * size, seed=seed
            )
        _check(matrix, values, vectors, size)
        return values, vectors
    except RuntimeError as error:
        in_pieces = isinstance(error, ManyZerosError)
    return _rescue(matrix, n_components, null, size, in_pieces, seed)


def _rescue(
    matrix: Any,
    n_components: int,
    null: np.ndarray,
    size: float,
    in_pieces: bool,
    seed: np.random.RandomState,
) -> Eigenpairs:
    """Try the ways that are left where no product with the matrix leads to the end."""
    n, ways = null.size, [inverse_eigenpairs]
    if n > MANY and sp.issparse(matrix):
        ways.insert(0, piecewise_eigenpairs)
    if in_pieces and n <= SHARED:
        ways.insert(0, core_eigenpairs)
    for way in ways:
        try:
            values, vectors = way(matrix, n_components, null, size, seed=seed)
            _check(matrix, values, vectors, size)
            return values, vectors
        except (RuntimeError, np.linalg.LinAlgError) as error:
            last = error
    raise last


def _from_above(
    matrix: Any,
    n_components: int,
    null: np.ndarray,
    size: float,
    start: np.ndarray,
) -> Eigenpairs:
    """Lanczos on size·I - M, the null vector moved from the top into the middle."""
    if n_components >= null.size - 2:
        raise RuntimeError("Lanczos cannot find all but one of the eigenvectors")
    middle = matrix.diagonal().mean()

    def apply(vector: np.ndarray) -> np.ndarray:
        return size * vector - matrix @ vector - null * (middle * (null @ vector))

    found, vectors = arpack_eigenpairs(apply, n_components, start)
    return size - found[::-1], vectors[:, ::-1]


def _check(matrix: Any, values: np.ndarray, vectors: np.ndarray, size: float) -> None:
    """Raise RuntimeError unless every column is an eigenvector."""
    rows = np.ascontiguousarray(vectors.T)
    images = np.stack(list(map(product_with(matrix), rows)), axis=1)
    check_residuals(np.linalg.norm(images - vectors * values, axis=0), values, size)


def fix_signs(vectors: Array) -> Array:
    """Make the largest entry of every column positive; of equal ones, the first."""
    xp = array_namespace(vectors)
    size = xp.abs(vectors)
    largest = size >= (1 - 1e-6) * xp.max(size, axis=0)
    first = xp.argmax(xp.astype(largest, xp.int8), axis=0)
    columns = xp.arange(vectors.shape[1], device=vectors.device)
    return xp.where(vectors[first, columns] < 0, -vectors, vectors)
