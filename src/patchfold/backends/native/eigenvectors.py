"""The eigensolvers' loops over a few vectors (`eigenvectors.c`).

See `loops.py`.

Which eigenpairs are accepted is said here, for all eigensolvers on every device.

None of the loops is BLAS: its threads go on spinning for milliseconds after a product
that they shared, and ours, which come next, wait for the cores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .loops import as_kind, can_read, is_plain, loops

WIDTH = 8
"""Vectors that are taken together: blocks have a multiple of this many columns."""

LENGTH = 16
"""`take_out` takes vectors whose length is a multiple of this."""


DENSE_LIMIT = 600
"""Up to this many samples a dense eigensolver is used by `eigen_solver="auto"`."""

RESIDUAL = 1e-4
"""Largest residual of an accepted eigenpair, relative to its eigenvalue ..."""

ROUNDING = 1e-10
"""... or, if that is more, relative to the size of the matrix."""

TOLERANCE = 1e-10
"""Where an iteration with the matrix itself stops, relative to its size."""


@dataclass(frozen=True)
class CheckedMatrix:
    """A sparse matrix whose indices are checked once for all its products.

    Attributes
    ----------
    matrix : sparse array (n, c)
        The matrix itself.
    places : capsule or None
        Where its entries are, in a copy that the loops own: what is written to the
        matrix's own indices later does not reach them. None where arrays multiply.
    """

    matrix: sp.csr_array
    places: Any

    def with_data(self, data: np.ndarray) -> CheckedMatrix:
        """Return a matrix that has other numbers in the same places."""
        parts = data, self.matrix.indices, self.matrix.indptr
        return replace(self, matrix=sp.csr_array(parts, shape=self.matrix.shape))


def check_matrix(matrix: sp.csr_array) -> CheckedMatrix:
    """Check where the entries of a matrix are, before it is multiplied many times."""
    if not can_read(matrix):
        return CheckedMatrix(matrix, None)
    places = as_kind(matrix.indptr, np.int32), as_kind(matrix.indices, np.int32)
    return CheckedMatrix(matrix, loops().check_matrix(*places, matrix.shape[1]))


def sparse_times(
    checked: CheckedMatrix, vectors: np.ndarray, image: np.ndarray, rows: slice
) -> None:
    """Overwrite rows of an image by those of the matrix's product with vectors.

    Both are C-contiguous, (n, k) of float64 with k a multiple of `WIDTH`.
    """
    matrix = checked.matrix
    if loops() is None or checked.places is None:
        image[rows] = matrix[rows] @ vectors
        return
    entries = checked.places, as_kind(matrix.data, np.float64)
    loops().sparse_times(*entries, vectors, image, rows.start, rows.stop)


def recur(
    checked: CheckedMatrix,
    now: np.ndarray,
    before: np.ndarray,
    added: np.ndarray,
    rows: slice,
    weights: np.ndarray,
) -> None:
    """Overwrite rows of U, `before`, by S V a + V b + U c + R d.

    V is `now`, and R what is `added`. All are in single precision, and C-contiguous:
    the matrix, the vectors (n, k) with k a multiple of `WIDTH`, and the weights (4, k)
    of their columns.
    """
    matrix = checked.matrix
    if loops() is None or checked.places is None:
        product = matrix[rows] @ now
        parts = product, now[rows], before[rows], added[rows]
        before[rows] = sum(w * part for w, part in zip(weights, parts, strict=True))
        return
    entries = checked.places, as_kind(matrix.data, np.float32)
    loops().recur(*entries, now, before, added, weights, rows.start, rows.stop)


def orthogonalize(block: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (n, k) of what the columns span.

    NaN where they are exactly dependent. The block is C-contiguous, float64, k a
    multiple of `WIDTH`; it may be overwritten.
    """
    if loops() is None:
        return np.linalg.qr(block)[0]
    loops().orthogonalize(block)
    return block


def take_out(vector: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, float]:
    """Take what it has in common with orthonormal rows out of a vector, in place.

    Both are C-contiguous, float64, and as long as a multiple of `LENGTH`. Returns the
    products with the rows, and the length of what is left.
    """
    parts = np.zeros(rows.shape[0])
    if loops() is None or not (is_plain(vector) and is_plain(rows)):
        for _ in range(2):  # once leaves what rounding brings back
            along = rows @ vector
            vector -= along @ rows
            parts += along
    else:
        loops().take_out(vector, rows, parts)
    return parts, float(np.sqrt(np.einsum("i,i", vector, vector)))


def multiply(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return a matrix product; `right` has a multiple of `WIDTH` columns."""
    plain = is_plain(left) and is_plain(right)
    if loops() is None or not plain:
        return left @ right
    product = np.empty((left.shape[0], right.shape[1]))
    loops().multiply(left, right, product)
    return product


def symmetric_times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the product of a symmetric matrix and a vector, of which half is read."""
    if loops() is None or not (is_plain(matrix) and is_plain(vector)):
        return matrix @ vector
    product = np.empty_like(vector)
    loops().symmetric_times(matrix, vector, product)
    return product


def check_residuals(residual: np.ndarray, values: np.ndarray, size: float) -> None:
    """Raise RuntimeError unless every eigenpair has converged.

    Parameters
    ----------
    residual, values : arrays (d,)
        Length of M v - λ v, and λ, of each eigenpair.
    size : float
        Size of the matrix: its largest sum of magnitudes in a row.
    """
    allowed = np.maximum(RESIDUAL * np.abs(values), ROUNDING * size)
    if not (residual <= allowed).all():
        worst = int(np.argmax(residual / allowed))
        raise RuntimeError(
            f"the eigenvector at {values[worst]:.3g} has a residual of "
            f"{residual[worst]:.2g}, over the {allowed[worst]:.2g} allowed; set "
            "eigen_solver='dense'."
        )
