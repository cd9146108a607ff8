"""Semi-definite matrix -> its bottom eigenpairs by its factors.

For graphs on which products with the matrix itself lead nowhere: long ones, whose
eigenvalues crowd at zero, and those in hundreds of pieces that vanishing weights hold
together, whose eigenvalues are zero to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from .arpack import arpack_eigenpairs
from .core import CoreSolver, find_cores
from .factors import factorize
from .pieces import MANY

SPARE = 4
"""Vectors beyond the components wanted: they make up for small gaps."""

ROUNDS = 20
"""Rounds of the subspace iteration before Lanczos is tried."""

TINY_SHIFT = 1e-13
"""Shift of the subspace iteration, relative to the size of the matrix: eigenvalues are
told apart down to here."""

SHIFT = 1e-7
"""Shift for Lanczos, which needs the inverses of larger eigenvalues in digits too."""

TRACE = 1e-16
"""Entries off the diagonal below this part of the matrix are left out of its factors:
they are a thousandth of the smallest shift, and the factors have up to a third less."""

PRECISE = 1e-9
"""Residual at which a vector is found, relative to its eigenvalue ..."""

ZERO = 1e-14
"""... or, if that is more, relative to the size of the matrix: of eigenvalues that are
zero to rounding any vector will do."""

Eigenpairs = tuple[np.ndarray, np.ndarray]

Solve = Callable[..., np.ndarray]
"""Takes a block of right sides and, or None, a guess of what solves with them."""


def inverse_eigenpairs(
    matrix: Any,
    n_components: int,
    null: np.ndarray,
    size: float,
    *,
    seed: np.random.RandomState,
) -> Eigenpairs:
    """Return the bottom eigenpairs, but for the null vector, by inverse iteration.

    Parameters
    ----------
    matrix : sparse or dense array (n, n)
        Symmetric and positive semi-definite.
    n_components : int
        How many eigenpairs.
    null : array (n,)
        The one trivial eigenvector, of length 1, at eigenvalue 0.
    size : float
        Bound of the matrix's eigenvalues.
    seed : RandomState
        Draws the start of the iteration.

    Returns
    -------
    values : array (n_components,)
        Ascending.
    vectors : array (n, n_components)
        Unit columns, orthogonal to the null vector.

    Raises
    ------
    RuntimeError
        If no iteration converges.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> path = sp.csr_array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
    >>> null = np.full(3, 3**-0.5)
    >>> values, _ = inverse_eigenpairs(path, 1, null, 4, seed=np.random.RandomState(0))
    >>> values.round(9)
    array([1.])
    """
    matrix = matrix / size  # squares of the smallest numbers are zero
    width = min(n_components + SPARE, null.size - 1)
    block = seed.uniform(-1, 1, (null.size, width))
    try:
        solve = _solver(matrix, null, TINY_SHIFT)
        values, vectors = _iterate_subspace(matrix, n_components, null, block, solve)
    except RuntimeError:
        start = block[:, 0] - null * (null @ block[:, 0])
        solve = _solver(matrix, null, SHIFT)
        found, vectors = arpack_eigenpairs(solve, n_components, start)
        values, vectors = 1 / found[::-1] - SHIFT, vectors[:, ::-1]
    return values * size, vectors


def core_eigenpairs(
    matrix: sp.csr_array,
    n_components: int,
    null: np.ndarray,
    size: float,
    *,
    seed: np.random.RandomState,
) -> Eigenpairs:
    """Do that without factors of the samples that hang together well (`core.py`).

    For a graph that vanishing weights leave in many pieces, most samples in large ones;
    of many samples, in one. The start is as that of `inverse_eigenpairs`, and the seed
    stays as it is.

    Raises
    ------
    RuntimeError
        If the graph is another one, or the iteration does not converge.
    """
    matrix = matrix / size
    width = min(n_components + SPARE, null.size - 1)
    block = deepcopy(seed).uniform(-1, 1, (null.size, width))
    shifted = _shifted(matrix, TINY_SHIFT).tocsr()
    label = find_cores(shifted)
    if label.max() > 0 and null.size > MANY:
        raise RuntimeError("vectors that are constant on each core are faster")
    solve = CoreSolver(shifted, null, TINY_SHIFT, label)
    values, vectors = _iterate_subspace(matrix, n_components, null, block, solve)
    return values * size, vectors


def _iterate_subspace(
    matrix: Any, n_components: int, null: np.ndarray, block: np.ndarray, solve: Solve
) -> Eigenpairs:
    guess = None
    for _ in range(ROUNDS):
        solved = solve(block, guess)
        if not np.isfinite(solved).all():
            break
        block = np.linalg.qr(solved)[0]
        block -= np.outer(null, null @ block)  # what rounding put back
        block = np.linalg.qr(block)[0]
        images = matrix @ block
        values, weights = eigh(block.T @ images)
        block, images = block @ weights, images @ weights
        residual = np.linalg.norm(images - block * values, axis=0)
        enough = np.maximum(PRECISE * np.abs(values), ZERO)
        if (residual <= enough)[:n_components].all():
            return values[:n_components], block[:, :n_components]
        guess = block / (values + TINY_SHIFT)
    raise RuntimeError("the subspace iteration did not converge")


def _solver(matrix: Any, null: np.ndarray, shift: float) -> Solve:
    """Return P (M + δI)⁻¹ P, where P takes the null vector out; M is of size 1."""
    factor = factorize(_shifted(matrix, shift), pivot=0.0)

    def solve(block: np.ndarray, guess: np.ndarray | None = None) -> np.ndarray:
        solved = factor.solve(block - np.multiply.outer(null, null @ block))
        return solved - np.multiply.outer(null, null @ solved)

    return solve


def _shifted(matrix: Any, shift: float) -> sp.csc_array:
    """Return M + δI without entries that are nothing beside δ; M is of size 1."""
    shifted = sp.coo_array(matrix + shift * sp.eye_array(matrix.shape[0]))
    row, column = shifted.coords
    kept = (np.abs(shifted.data) > TRACE) | (row == column)
    places = row[kept], column[kept]
    return sp.csc_array((shifted.data[kept], places), shape=shifted.shape)
