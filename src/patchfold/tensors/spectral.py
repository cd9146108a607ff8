"""Laplacian on a device -> its bottom eigenpairs: Lanczos with thick restarts.

All vectors are kept orthogonal to each other and to the null vector; when the basis is
full, it shrinks to its best directions and grows again. Where that takes long, as many
eigenvalues are close, the search goes on in a Chebyshev polynomial of the matrix, which
is large at the bottom of the spectrum and small elsewhere: many products then cost one
round of orthogonal vectors. `solvers/spectral.py` checks the residuals of what is
returned, by its own rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._arrays import Array
from .graph import Laplacian

BASIS, PER_PAIR = 64, 8
"""Vectors of a full basis: so many, or so many for each eigenpair if that is more."""

KEPT = 0.375
"""Part of it that stays at a restart."""

PLAIN = 2000
"""Products with the matrix itself, before the polynomial takes over."""

DEGREE = 20
"""Degree of the polynomial."""

FILTERED = 2000
"""Products with the polynomial at most."""


def lanczos(
    matrix: Laplacian, n_components: int, null: Array, start: Array, tolerance: float
) -> tuple[Array, Array]:
    """Return the smallest eigenpairs of a matrix, but for its null vector.

    Parameters
    ----------
    matrix : Laplacian
        Symmetric and positive semi-definite.
    n_components : int
        How many eigenpairs.
    null : tensor (n,)
        The unit vector at eigenvalue 0 that is not wanted.
    start : tensor (n,)
        Where the search begins.
    tolerance : float
        Largest residual of an eigenpair.

    Returns
    -------
    values : tensor (n_components,)
        Ascending.
    vectors : tensor (n, n_components)
        Unit columns, orthogonal to the null vector.
    """
    import torch

    basis = _Basis(null, start, n_components)
    found = basis.search(matrix.product, PLAIN, lambda ends: ends <= tolerance)
    if found is not None:
        return found
    basis = _Basis(null, basis.vectors.sum(1), n_components, basis.reach)
    polynomial = _polynomial(matrix, basis.reach)
    rounds = max(1, FILTERED // basis.width)
    for _ in range(rounds):
        # A residual of the polynomial says little of the matrix: look at that itself.
        basis.search(polynomial, basis.width, lambda ends: ends < 0)
        vectors = basis.vectors
        images = torch.stack([matrix.product(v) for v in vectors.T], 1)
        values = (vectors * images).sum(0)
        residual = torch.linalg.vector_norm(images - vectors * values, dim=0)
        if bool((residual <= tolerance).all()):
            values, order = values.sort()
            return values, vectors[:, order]
    raise RuntimeError(
        "the eigensolver did not converge; set eigen_solver='dense', or raise "
        "n_neighbors or kernel_width to tie the graph together."
    )


class _Basis:
    """Orthonormal vectors, the null vector first, and a matrix on what they span."""

    def __init__(
        self, null: Array, start: Array, n_components: int, reach: float = 0.0
    ) -> None:
        import torch

        n = null.shape[0]
        self.n_components, self.reach = n_components, reach
        self.width = min(max(BASIS, PER_PAIR * n_components), n - 2)
        self._kept = max(n_components + 2, int(KEPT * self.width))
        self._rows = null.new_zeros((self.width + 2, n))
        self._small = null.new_zeros((self.width, self.width + 1))
        start = start - null * (null @ start)
        self._rows[0] = null
        self._rows[1] = start / torch.linalg.vector_norm(start)
        self._size = 0
        self.vectors: Array = None

    def search(
        self, product: Callable[[Array], Array], most: int, done: Callable[[Any], Any]
    ) -> tuple[Array, Array] | None:
        """Grow and restart until `done` with the residuals, or after `most` products.

        Leaves the best vectors so far, and how far up the spectrum the basis reaches.
        """
        import torch

        rows, small, kept = self._rows, self._small, self._kept
        products = 0
        while products < most:
            products += self.width - self._size
            for j in range(self._size, self.width):
                norm = _extend(product, rows[: j + 3], small[j, : j + 2])
            table, end = small[:, 1:].cpu(), float(norm)
            if not bool(torch.isfinite(table).all()) or end != end:
                raise RuntimeError("the search has left the numbers")
            values, weights = torch.linalg.eigh(table, UPLO="L")
            wanted = weights[:, : self.n_components].to(rows.device)
            self.vectors, self.reach = rows[1:-1].T @ wanted, float(values[kept - 1])
            if bool(done(end * weights[-1, : self.n_components].abs()).all()):
                return values[: self.n_components].to(rows.device), self.vectors
            rows[1 : kept + 1] = weights[:, :kept].T.to(rows.device) @ rows[1:-1]
            rows[kept + 1] = rows[-1]
            small.zero_()
            small[:kept, 1:].diagonal()[:] = values[:kept].to(rows.device)
            self._size = kept
        return None


def _extend(product: Callable[[Array], Array], basis: Array, along: Array) -> Array:
    """Fill the last row of the basis with what the image of the one before adds.

    Writes the image along the others to `along`, and returns the length of the rest.
    """
    import torch

    known = basis[:-1]
    image = product(known[-1])
    first = known @ image
    image = torch.addmv(image, known.T, first, alpha=-1)
    again = known @ image  # once is not enough when little is left
    image = torch.addmv(image, known.T, again, alpha=-1)
    torch.add(first, again, out=along)
    norm = torch.linalg.vector_norm(image)
    torch.div(image, norm, out=basis[-1])
    return norm


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
