"""Laplacian on a device -> its bottom eigenpairs: Lanczos with thick restarts.

All vectors are kept orthogonal to each other and to the null vector; when the basis is
full, it shrinks to its best directions and grows again. Where that takes long, as many
eigenvalues are close, the search goes on in a Chebyshev polynomial of the matrix, which
is large at the bottom of the spectrum and small elsewhere: many products then cost one
round of orthogonal vectors.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Array
from ..native.eigenvectors import DENSE_LIMIT, TOLERANCE, check_residuals
from .graph import Laplacian
from .transfer import send

BASIS, PER_PAIR = 64, 8
"""Vectors of a full basis: at least the first, and the second for each eigenpair."""

KEPT = 0.375
"""Part of it that stays at a restart."""

PLAIN = 2000
"""Products with the matrix itself, before the polynomial takes over."""

DEGREE = 20
"""Degree of the polynomial."""

FILTERED = 2000
"""Products with the polynomial at most."""

ROUNDED = 16 * 2.0**-52
"""If more eigenvalues than are wanted are at most this part of the matrix's size, they
are zero to rounding: any of them would do, and none is searched for again."""

NEAR = 0.1
"""The eigenvalue after the wanted ones is known when its residual is this part of its
distance from the last of them, as in `solvers/lanczos.py`."""

LOOKS = 8
"""A full basis may be looked at so often at least, however wide it is."""

STEPS = 8
"""Products between two looks at whether there is anything new in them."""

NOTHING = 1e-13
"""An image of which less than this is new is all within what the vectors span."""


FEW_PER_PAIR = 16
"""With fewer samples than this for each eigenpair, a matrix is solved in NumPy."""


def bottom_eigenpairs(
    matrix: Laplacian,
    n_components: int,
    null_vector: Array,
    solver: str,
    inverse: Any,
    n_jobs: int | None,
    seed: np.random.RandomState,
) -> tuple[Array, Array]:
    """Iterate where the matrix is; NumPy solves it if that fails, or it is small."""
    n = matrix.shape[0]
    if solver == "dense" or n <= max(DENSE_LIMIT, FEW_PER_PAIR * n_components):
        return NotImplemented
    null = null_vector / (null_vector @ null_vector) ** 0.5
    drawn = copy.deepcopy(seed)  # as it is, where NumPy solves the matrix
    try:
        values, vectors = lanczos(
            matrix,
            n_components,
            null,
            lambda: send(drawn.uniform(-1, 1, n), null.device, null.dtype),
            TOLERANCE * matrix.size,
        )
        images = [matrix.product(vector) for vector in vectors.T]
        residual = [
            float(((image - value * vector) ** 2).sum()) ** 0.5
            for image, value, vector in zip(images, values, vectors.T, strict=True)
        ]
        check_residuals(np.array(residual), send(values, None), matrix.size)
    except RuntimeError:
        return NotImplemented
    fell_back = float((null @ vectors).abs().max()) > TOLERANCE**0.5
    return NotImplemented if fell_back else (values, vectors)


def nearest_rotation(M: Array) -> Array:
    """Return the nearest matrix with orthonormal columns.

    A device is slow at tall matrices: it makes this one square for NumPy.
    """
    import torch

    basis, square = torch.linalg.qr(M)
    U, _, Vt = np.linalg.svd(send(square, None), full_matrices=False)
    return basis @ send(U @ Vt, M.device, M.dtype)


def lanczos(
    matrix: Laplacian,
    n_components: int,
    null: Array,
    draw: Callable[[], Array],
    tolerance: float,
) -> tuple[Array, Array]:
    """Return the smallest eigenpairs of a matrix, without its null vector.

    Equal eigenvalues look like one to Lanczos, so what is found is looked for again,
    from a drawn vector, until that brings nothing new.

    Parameters
    ----------
    matrix : Laplacian
        Symmetric and positive semi-definite.
    n_components : int
        How many eigenpairs.
    null : tensor (n,)
        The unit vector at eigenvalue 0 that is not wanted.
    draw : callable
        Returns a vector (n,) to begin a search at, each time another.
    tolerance : float
        Largest residual of an eigenpair.

    Returns
    -------
    values : tensor (n_components,)
        Ascending.
    vectors : tensor (n, n_components)
        Unit columns, orthogonal to the null vector.
    """
    basis = _Basis(null, draw(), n_components, draw)
    known: Array = None
    left = max(PLAIN, LOOKS * basis.width)
    while left > 0:
        settled = _settled(n_components, tolerance, again=known is not None)
        left -= basis.search(matrix.product, left, settled)
        if not basis.is_done:
            break
        rounded = basis.after <= ROUNDED * matrix.size
        if rounded or _agree(basis.values, known, tolerance):
            return basis.values, basis.vectors
        known = basis.values
        basis.begin_again()
    return _filtered(matrix, basis, null, draw, tolerance)


def _agree(values: Array, known: Array, tolerance: float) -> bool:
    """Say whether a second look found what the first did, if there was one."""
    return known is not None and bool(((values - known).abs() <= 2 * tolerance).all())


def _settled(
    n_components: int, tolerance: float, *, again: bool
) -> Callable[[Array, Array], bool]:
    """Return what says, from values and residuals, whether a search is at its end."""

    def settled(values: Array, residual: Array) -> bool:
        if not bool((residual[:n_components] <= tolerance).all()):
            return False
        gap = float(values[n_components] - values[n_components - 1])
        # One that is not wanted may hide one that is.
        return not again or float(residual[n_components]) <= max(NEAR * gap, tolerance)

    return settled


def _filtered(
    matrix: Laplacian,
    basis: _Basis,
    null: Array,
    draw: Callable[[], Array],
    tolerance: float,
) -> tuple[Array, Array]:
    """Go on in a polynomial of the matrix."""
    import torch

    basis = _Basis(null, basis.vectors.sum(1), basis.n_components, draw, basis.reach)
    polynomial = _polynomial(matrix, basis.reach)
    known: Array = None
    for _ in range(max(LOOKS, FILTERED // basis.width)):
        # A residual of the polynomial says little of the matrix: look at that itself.
        basis.search(polynomial, basis.width, lambda values, residual: False)
        vectors = basis.vectors
        images = torch.stack([matrix.product(v) for v in vectors.T], 1)
        values = (vectors * images).sum(0)
        residual = torch.linalg.vector_norm(images - vectors * values, dim=0)
        if not bool((residual <= tolerance).all()):
            continue
        values, order = values.sort()
        if _agree(values, known, tolerance):
            return values, vectors[:, order]
        known = values
        basis.begin_again()
    raise RuntimeError(
        "the eigensolver did not converge; set eigen_solver='dense', or raise "
        "n_neighbors or kernel_width to connect the graph better."
    )


class _Basis:
    """Orthonormal vectors, the null vector first, and a matrix on what they span."""

    def __init__(
        self,
        null: Array,
        start: Array,
        n_components: int,
        draw: Callable[[], Array],
        reach: float = 0.0,
    ) -> None:
        n = null.shape[0]
        self.n_components, self.reach, self._draw = n_components, reach, draw
        self.width = min(max(BASIS, PER_PAIR * n_components), n - 2)
        self._kept = max(n_components + 2, int(KEPT * self.width))
        self._rows = null.new_zeros((self.width + 2, n))
        self._small = null.new_zeros((self.width, self.width + 1))
        self._norms = null.new_zeros((self.width, 2))
        self._rows[0] = null
        self.is_done = False
        self._size = 0
        self._go_on(start)

    def _restart(self, vectors: Array, values: Array) -> None:
        """Begin with some eigenvectors (k, n) of what was solved."""
        self._size = size = values.shape[0]
        self._rows[1 : size + 1] = vectors
        self._small.zero_()
        self._small[:size, 1:].diagonal()[:] = values

    def _go_on(self, vector: Array) -> None:
        """Let the next vector be this one, made orthogonal to those before."""
        import torch

        before = self._rows[: self._size + 1]
        for _ in range(2):  # once is not enough when little is left
            vector = vector - before.T @ (before @ vector)
        self._rows[self._size + 1] = vector / torch.linalg.vector_norm(vector)

    def begin_again(self) -> None:
        """Keep the best vectors only, and go on from a drawn one.

        What the images of the best have besides them is forgotten, so their residuals
        must be small.
        """
        self._restart(self.vectors.T, self.values)
        self._go_on(self._draw())

    def _grow(self, product: Callable[[Array], Array]) -> int:
        """Fill the basis, and return how many products that took."""
        products = 0
        while self._size < self.width:
            some = range(self._size, min(self._size + STEPS, self.width))
            for j in some:
                along = self._small[j, : j + 2]
                _extend(product, self._rows[: j + 3], along, self._norms[j])
            products += len(some)
            whole, left = self._norms[some.start : some.stop].T.cpu()
            (nothing,) = (left <= NOTHING * whole).nonzero(as_tuple=True)
            if nothing.shape[0]:  # all that the matrix makes of these is among them
                self._size = some[int(nothing[0])] + 1
                self._go_on(self._draw())
            else:
                self._size = some.stop
        return products

    def search(
        self,
        product: Callable[[Array], Array],
        most: int,
        settled: Callable[[Array, Array], bool],
    ) -> int:
        """Grow and restart until it is settled, or after `most` products.

        `settled` is asked with eigenvalues and their residuals. Leaves the best vectors
        so far, their values, that after them, and how far up the basis reaches.
        Returns the products it took.
        """
        import torch

        rows, kept = self._rows, self._kept
        wanted, products = slice(self.n_components), 0
        while products < most:
            products += self._grow(product)
            table, end = self._small[:, 1:].cpu(), float(self._norms[-1, 1])
            if not bool(torch.isfinite(table).all()) or end != end:
                raise RuntimeError("the search has values that are not finite")
            values, weights = torch.linalg.eigh(table, UPLO="L")
            turn = weights.to(rows.device)
            self.vectors = rows[1:-1].T @ turn[:, wanted]
            self.values = values[wanted].to(rows.device)
            self.after = float(values[self.n_components])
            self.reach = float(values[kept - 1])
            self.is_done = settled(values, end * weights[-1].abs())
            if self.is_done:
                break
            best = turn[:, :kept].T @ rows[1:-1]
            self._restart(best, values[:kept].to(rows.device))
            rows[kept + 1] = rows[-1]
        return products


def _extend(
    product: Callable[[Array], Array], basis: Array, along: Array, norms: Array
) -> None:
    """Fill the last row of the basis with what the image of the one before adds.

    Writes the image along the others to `along`, its length and that of the rest to
    `norms`.
    """
    import torch

    known = basis[:-1]
    image = product(known[-1])
    torch.linalg.vector_norm(image, out=norms[0])
    first = known @ image
    image = torch.addmv(image, known.T, first, alpha=-1)
    again = known @ image  # once is not enough when little is left
    image = torch.addmv(image, known.T, again, alpha=-1)
    torch.add(first, again, out=along)
    torch.linalg.vector_norm(image, out=norms[1])
    torch.div(image, norms[1], out=basis[-1])


def _polynomial(matrix: Laplacian, cut: float) -> Callable[[Array], Array]:
    """Return -T(M) v for the Chebyshev polynomial that is at most 1 above the cut."""
    half, middle = (matrix.size - cut) / 2, (matrix.size + cut) / 2

    def product(vector: Array) -> Array:
        before, now = vector, (matrix.product(vector) - middle * vector) / half
        for _ in range(DEGREE - 1):
            after = matrix.product(now) - middle * now
            before, now = now, 2 / half * after - before
        return -now if DEGREE % 2 == 0 else now

    return product
