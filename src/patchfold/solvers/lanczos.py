"""Symmetric matrix -> bottom eigenpairs, by Lanczos's method with thick restarts.

For a thousand samples ARPACK is as quick, but what it shares among threads of BLAS
keeps them spinning for milliseconds, as long as the rest of a small fit. And equal
eigenvalues, as those of a square grid, look like one to Lanczos: whatever is found is
looked for again, from a vector that is orthogonal to it, until that brings nothing new.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from ..backends.native.eigenvectors import LENGTH, multiply, symmetric_times, take_out

ROOM = 40
"""Vectors of a full basis: this many, or three times the number wanted. Matrices
smaller than twice the basis are left to other solvers."""

PRODUCTS = 1600
"""Products at most."""

STEPS = 20
"""Products between two looks at how far it is; as many follow a drawn vector."""

NEAR = 0.1
"""The next eigenvalue is known when its residual is this part of the gap before it: one
that is not wanted may hide one that is."""

UNRESOLVED = 1e3
"""Two eigenvalues within this many tolerances of zero may be two of many such, and
which of them are found is chance ..."""

ROUNDED = 16 * np.finfo(float).eps
"""... unless more of them than are wanted are this part of the largest: they are zero
to rounding, and no solver can choose."""

ALONE = 1500
"""Up to this many samples our own loop multiplies a dense matrix, in one thread."""

NOTHING = 1e-13
"""A product of which less than this is new is all within what the vectors span."""


def lanczos_eigenpairs(
    product: Callable[[np.ndarray], np.ndarray],
    n_components: int,
    null: np.ndarray,
    tolerance: float,
    *,
    seed: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest eigenpairs of a symmetric matrix, but for a null vector.

    Parameters
    ----------
    product : callable
        Multiplies the matrix by a vector.
    n_components : int
        How many eigenpairs.
    null : array (n,)
        The unit vector at eigenvalue 0 that is not wanted.
    tolerance : float
        Largest residual of an eigenpair.
    seed : RandomState
        Draws the first vector, and one whenever the vectors span all that the matrix
        makes of them.

    Returns
    -------
    values : array (n_components,)
        Ascending.
    vectors : array (n, n_components)
        Unit columns, orthogonal to the null vector.

    Raises
    ------
    RuntimeError
        If it takes too many products, or there are too few samples.

    Examples
    --------
    >>> import numpy as np
    >>> scale = np.arange(200.0)
    >>> null = np.eye(200)[0]
    >>> start = np.random.RandomState(0)
    >>> lanczos_eigenpairs(scale.__mul__, 2, null, 1e-6, seed=start)[0].round(9)
    array([1., 2.])
    """
    n, room = null.size, max(ROOM, 3 * n_components)
    if n <= 2 * room:
        raise RuntimeError(f"{n} samples are too few for a basis of {room} vectors")
    basis = _Basis(product, null, room, seed)
    wanted, known = slice(n_components), np.full(n_components, np.inf)
    look = max(STEPS, n_components + 2)
    for _ in range(PRODUCTS):
        basis.extend()
        if basis.size < min(look, room):
            continue
        values, turn = eigh(basis.small[: basis.size, : basis.size])
        residual = basis.left * np.abs(turn[-1])
        rounded = values[n_components] <= ROUNDED * values[-1]
        if values[1] <= UNRESOLVED * tolerance and not rounded:
            raise RuntimeError("many eigenvalues may be nearly zero")
        found = residual[wanted].max() <= tolerance
        change = np.abs(values[wanted] - known).max()
        again = found and (rounded or change <= 2 * tolerance)
        gap = values[n_components] - values[n_components - 1]
        if again and residual[n_components] <= max(NEAR * gap, tolerance):
            basis.shrink(values[wanted], turn[:, wanted])
            return values[wanted], basis.rows[1 : n_components + 1, :n].copy().T
        if found and not again:
            known = values[wanted]
            basis.shrink(values[wanted], turn[:, wanted])
            basis.draw()
        elif basis.size == room:
            kept = slice((room + n_components) // 2)
            basis.shrink(values[kept], turn[:, kept])
        look = basis.size + STEPS
    raise RuntimeError(f"Lanczos's method took over {PRODUCTS} products")


def product_with(matrix: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return what multiplies a vector by a symmetric matrix."""
    if sp.issparse(matrix) or matrix.shape[0] > ALONE:
        return matrix.__matmul__
    return partial(symmetric_times, matrix)


class _Basis:
    """Orthonormal vectors, the null vector first, and a matrix on what they span.

    There are `size` of them besides the null vector, in `rows`; the next one follows.
    `small` is the matrix on them, and `left` the length of what is new in the last
    one's image.
    """

    def __init__(
        self,
        product: Callable[[np.ndarray], np.ndarray],
        null: np.ndarray,
        room: int,
        seed: np.random.RandomState,
    ) -> None:
        n = null.size
        self._product, self._n, self._seed = product, n, seed
        self.rows = np.zeros((room + 2, -(-n // LENGTH) * LENGTH))
        self.rows[0, :n] = null
        self.small = np.zeros((room, room))
        self.size, self.left = 0, 0.0
        self.draw()

    def draw(self) -> None:
        """Let the next vector be any that is orthogonal to all before.

        What the image of the last one had besides these is forgotten, so this is done
        where that is nothing, or less than the tolerance.
        """
        before, vector = self.rows[: self.size + 1], self.rows[self.size + 1]
        vector[: self._n] = self._seed.uniform(-1, 1, self._n)
        vector /= take_out(vector, before)[1]

    def extend(self) -> None:
        """Multiply the next vector; what is new in its image comes after it."""
        vector, image = self.rows[self.size + 1 : self.size + 3]
        image[: self._n] = self._product(vector[: self._n])
        along, self.left = take_out(image, self.rows[: self.size + 2])
        self.small[self.size, : self.size + 1] = along[1:]
        self.size += 1
        if self.left > NOTHING * np.hypot(self.left, np.linalg.norm(along)):
            image /= self.left
        else:
            self.left = 0.0
            self.draw()

    def shrink(self, values: np.ndarray, turn: np.ndarray) -> None:
        """Keep some eigenvectors, and the vector that comes next.

        The columns of `turn` have the weights of the vectors in them.
        """
        size, after = values.size, self.rows[self.size + 1].copy()
        weights = np.ascontiguousarray(turn.T)
        self.rows[1 : size + 1] = multiply(weights, self.rows[1 : self.size + 1])
        self.rows[size + 1] = after
        self.small[:size, :size] = np.diag(values)
        self.size = size
