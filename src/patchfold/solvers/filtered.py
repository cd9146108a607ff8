"""Sparse matrix -> bottom eigenpairs, by a polynomial that lifts them above the rest.

Eight vectors or more are multiplied by a Chebyshev polynomial of the matrix, small over
the upper part of the spectrum and growing fast below it, then made orthogonal, and the
matrix is solved on what they span; what they do not reach is the upper part of the next
round. Products with several vectors read the matrix once for all of them, which is what
takes the time of Lanczos, and rows can be shared among threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, eigh_tridiagonal

from .._blocks import map_blocks, tell_part
from .._native_edges import reorder
from .._native_vectors import WIDTH, orthogonalize, recur
from ..geodesics import cache_order

FEW = 1500
"""Up to this many rows Lanczos is as fast."""

CROWDED = 100
"""Above this many entries a row as well: one product is then as costly as a round."""

SPARE = 4
"""Vectors beyond those wanted, at least: the gap to the last of them sets the pace."""

DEGREE = 40
"""Degree of the polynomial while the lower part of the spectrum is not known: products
between two rounds of orthogonal vectors."""

SETTLED = 0.75
"""Once a round has left more than this of the lower part, its end is known well enough
for the rest to be done in one go. A polynomial is 1 where the lower part begins, so one
of twice the degree does more than two rounds."""

GAIN = 1e8
"""By how much a round may lift vectors: they still have to be told apart."""

TRIED = 3
"""Rounds after which the pace is known."""

PRODUCTS = 1500
"""Products in sight, by that pace, beyond which another solver is faster."""

ROUNDS = 100
"""Rounds at most."""

FIRST = 0.03
"""Part of the spectrum that the first round takes for the lower one."""

BOUND_STEPS = 12
"""Steps of Lanczos that bound the largest eigenvalue."""

UNRESOLVED = 1e3
"""If all vectors end within this many tolerances of zero, there may be more eigenvalues
that are zero to rounding than vectors, and which of them are found is chance."""

MANY = 50_000
"""Beyond this many rows neighbours are first made neighbours in memory, and rows are
shared among threads, `ROWS` at a time."""

ROWS = 16_384

PART = "eigenvectors"
"""What who watches is told of: products, of as many as the pace lets expect."""

Pairs = tuple[np.ndarray, np.ndarray]


def suits_filter(matrix: Any) -> bool:
    """Say whether a matrix is large and sparse enough for it to pay."""
    n = matrix.shape[0]
    return n > FEW and sp.issparse(matrix) and matrix.nnz <= CROWDED * n


def filtered_eigenpairs(
    matrix: sp.csr_array,
    n_components: int,
    null: np.ndarray,
    tolerance: float,
    *,
    n_jobs: int | None = None,
    seed: np.random.RandomState,
) -> Pairs:
    """Return the smallest eigenpairs of a semi-definite matrix, but for a null vector.

    Parameters
    ----------
    matrix : sparse array (n, n)
        Symmetric and positive semi-definite.
    n_components : int
        How many eigenpairs.
    null : array (n,)
        The unit vector at eigenvalue 0 that is not wanted.
    tolerance : float
        Largest residual of an eigenpair.
    n_jobs : int or None
        Number of threads.
    seed : RandomState
        Draws the first vectors.

    Returns
    -------
    values : array (n_components,)
        Ascending.
    vectors : array (n, n_components)
        Unit columns, orthogonal to the null vector.

    Raises
    ------
    RuntimeError
        If too many products are in sight, or too many eigenvalues are nearly zero.
    """
    n = matrix.shape[0]
    width = -(-(n_components + SPARE) // WIDTH) * WIDTH
    if width >= n:
        raise RuntimeError(f"{n} samples are too few to be filtered")
    start = seed.uniform(-1, 1, (n, width))
    try:
        if n <= MANY:
            return _iterate(_Step(matrix), n_components, null, tolerance, start)
        order, place = cache_order(matrix)
        near = reorder(matrix, order, place)
        step = _Step(near, n_jobs)
        values, vectors = _iterate(step, n_components, null[order], tolerance, start)
        return values, vectors[place]
    finally:
        tell_part(PART, 1, 1)


class _Step:
    """Products with a matrix of blocks of vectors, in threads where it is large."""

    def __init__(self, matrix: sp.csr_array, n_jobs: int | None = None) -> None:
        self.matrix = matrix
        self.n_jobs = n_jobs
        self.threaded = matrix.shape[0] > MANY
        self.done, self.expected = 0, float(8 * DEGREE)

    def __call__(
        self, now: np.ndarray, before: np.ndarray, weights: tuple[float, float, float]
    ) -> None:
        """Overwrite U, `before`, by a M V + b V + c U."""

        def work(rows: slice) -> None:
            recur(self.matrix, now, before, rows, weights)

        tell_part(PART, self.done, max(self.expected, self.done + 1.0))
        if self.threaded:
            map_blocks(work, now.shape[0], 0, self.n_jobs, step=ROWS)
        else:
            work(slice(0, now.shape[0]))
        self.done += 1

    def product(self, vectors: np.ndarray) -> np.ndarray:
        image = np.zeros_like(vectors)
        self(vectors, image, (1.0, 0.0, 0.0))
        return image


def _iterate(
    step: _Step,
    n_components: int,
    null: np.ndarray,
    tolerance: float,
    block: np.ndarray,
) -> Pairs:
    top = _largest_at_most(step.matrix.__matmul__, block[:, 0])
    cut, degree = FIRST * top, DEGREE
    for rounds in range(ROUNDS):
        block = _filter(step, _without(null, block), cut, top, degree)
        block = orthogonalize(_without(null, block))
        image = step.product(block)
        small = block.T @ image
        if not np.isfinite(small).all():
            raise RuntimeError("the vectors are not independent")
        values, turn = eigh((small + small.T) / 2)
        block, image = block @ turn, image @ turn
        wanted = slice(n_components)
        residual = np.linalg.norm((image - block * values)[:, wanted], axis=0).max()
        last, cut = cut, float(values[-1])
        if residual <= tolerance:
            if cut <= UNRESOLVED * tolerance:
                raise RuntimeError("too many eigenvalues are nearly zero to be told")
            return values[wanted], block[:, wanted]
        gap = max((cut - values[n_components - 1]) / (top - cut), np.finfo(float).tiny)
        pace = np.arccosh(1 + 2 * gap) or 2 * np.sqrt(gap)
        ahead = np.arccosh(residual / tolerance) / pace
        step.expected = step.done + ahead
        settled = cut > SETTLED * last
        known = settled or rounds >= TRIED
        if not np.isfinite(residual) or (known and ahead > PRODUCTS):
            break
        if settled:
            degree = max(DEGREE // 2, int(min(ahead, np.arccosh(GAIN) / pace)) + 1)
    raise RuntimeError(f"too many products are in sight at a residual of {residual:g}")


def _filter(
    step: _Step, block: np.ndarray, cut: float, top: float, degree: int
) -> np.ndarray:
    """Return T(M) V for the Chebyshev polynomial that is at most 1 on [cut, top]."""
    half, middle = (top - cut) / 2, (top + cut) / 2
    before, now = block.copy(), np.zeros_like(block)
    step(before, now, (1 / half, -middle / half, 0.0))
    for _ in range(degree - 1):
        step(now, before, (2 / half, -2 * middle / half, -1.0))
        before, now = now, before
    return now


def _without(null: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Take the null vector out of every column.

    Not by a product: threads of BLAS go on spinning after it, and ours have to wait.
    """
    return block - null[:, None] * np.einsum("i,ij->j", null, block)


def _largest_at_most(
    product: Callable[[np.ndarray], np.ndarray], start: np.ndarray
) -> float:
    """Bound the largest eigenvalue by a few steps of Lanczos and what they leave."""
    vector, last = start / np.linalg.norm(start), np.zeros_like(start)
    along, left = [], [0.0]
    for _ in range(min(BOUND_STEPS, start.size)):
        image = product(vector) - left[-1] * last
        along.append(float(vector @ image))
        image -= along[-1] * vector
        left.append(float(np.linalg.norm(image)))
        if left[-1] == 0:
            break
        vector, last = image / left[-1], vector
    largest = eigh_tridiagonal(along, left[1:-1], eigvals_only=True)[-1]
    return float(largest + left[-1])
