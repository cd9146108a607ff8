"""Sparse matrix -> bottom eigenpairs, by a polynomial that lifts them above the rest.

Eight vectors or more are multiplied by a Chebyshev polynomial of the matrix, small over
the upper part of the spectrum and growing fast below it, then made orthogonal, and the
matrix is solved on what they span; what they do not reach is the upper part of the next
round. Products with several vectors read the matrix once for all of them, which is what
takes the time of Lanczos, and rows can be shared among threads.

Single precision is enough for the polynomial, where only what it adds to a vector is
computed: if M v = θ v + r, then T(M) v = T(θ) v + s with an s as small as r is, and
rounding is a part of s, not of v.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, eigh_tridiagonal

from ..backends.native.eigenvectors import (
    TOLERANCE,
    WIDTH,
    check_matrix,
    orthogonalize,
    recur,
    sparse_times,
)
from ..backends.progress import tell_part
from ..backends.threads import map_blocks
from ..graph.paths import in_cache_order
from .pieces import LOOSE, count_pieces

SPARE = 4
"""Vectors beyond those wanted, at least: the gap to the last of them sets the pace."""

DEGREE = 40
"""Degree of the polynomial while the lower part of the spectrum is not known: products
between two rounds of orthogonal vectors."""

SETTLED = 0.75
"""Once a round has left more than this of the lower part, its end is known well enough
for the rest to be done in one go. A polynomial is 1 where the lower part begins, so one
of twice the degree does more than two rounds."""

REACH = 1e4
"""By how much a round may make residuals smaller: rounding leaves some 1e-5 of them."""

LIFT = 1e30
"""By how much a round may lift any vector: single precision ends at 1e38."""

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
"""Progress label; the total is the estimated number of products."""

ZEROS = "too many eigenvalues are nearly zero to be told"

Eigenpairs = tuple[np.ndarray, np.ndarray]


class ManyZerosError(RuntimeError):
    """There may be more eigenvalues that are zero to rounding than vectors."""


def filtered_eigenpairs(
    matrix: sp.csr_array,
    n_components: int,
    null: np.ndarray,
    tolerance: float,
    *,
    n_jobs: int | None = None,
    seed: np.random.RandomState,
) -> Eigenpairs:
    """Return the smallest eigenpairs of a semi-definite matrix, without a null vector.

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
    loose = LOOSE * tolerance / TOLERANCE
    few = np.count_nonzero(np.abs(matrix.data) <= loose) < 2 * width
    if not few and count_pieces(matrix, loose)[0] > width:
        raise ManyZerosError(ZEROS)  # as it would end
    try:
        if n <= MANY:
            step = _Step(matrix, start[:, 0])
            return _iterate(step, n_components, null, tolerance, start)
        with in_cache_order(matrix) as (order, place):
            step = _Step(matrix, start[:, 0], n_jobs)
            settings = n_components, null[order], tolerance
            values, vectors = _iterate(step, *settings, start)
            del step
        return values, vectors[place]
    finally:
        tell_part(PART, 1, 1)


class _Step:
    """Products with a matrix of blocks of vectors, in threads where it is large.

    `top` bounds its largest eigenvalue, found from the vector `start`; `single` is the
    matrix over that, in single precision.
    """

    def __init__(
        self, matrix: sp.csr_array, start: np.ndarray, n_jobs: int | None = None
    ) -> None:
        self.n_rows = matrix.shape[0]
        self.n_jobs = n_jobs
        self.threaded = self.n_rows > MANY
        self.done, self.expected = 0, float(8 * DEGREE)
        self.top = _largest_at_most(matrix.__matmul__, start)
        self.matrix = check_matrix(matrix)
        data = (matrix.data / self.top).astype(np.float32)
        self.single = self.matrix.with_data(data)

    def recur(
        self,
        now: np.ndarray,
        before: np.ndarray,
        added: np.ndarray,
        weights: np.ndarray,
    ) -> None:
        """Overwrite U, `before`, as the loop `recur` does."""
        self._share(lambda rows: recur(self.single, now, before, added, rows, weights))

    def product(self, vectors: np.ndarray) -> np.ndarray:
        """Return the product with the matrix itself."""
        image = np.empty_like(vectors)
        self._share(lambda rows: sparse_times(self.matrix, vectors, image, rows))
        return image

    def _share(self, work: Callable[[slice], None]) -> None:
        tell_part(PART, self.done, max(self.expected, self.done + 1.0))
        if self.threaded:
            map_blocks(work, self.n_rows, 0, self.n_jobs, step=ROWS)
        else:
            work(slice(0, self.n_rows))
        self.done += 1


def _iterate(
    step: _Step,
    n_components: int,
    null: np.ndarray,
    tolerance: float,
    block: np.ndarray,
) -> Eigenpairs:
    top = step.top
    cut, degree, wanted = FIRST * top, DEGREE, slice(n_components)
    values, block, left = _solve_within(step, null, block)
    for rounds in range(ROUNDS):
        lifts = _pace(cut, top, 0.0)
        degree = min(degree, int(np.arccosh(LIFT) / lifts) + 1)
        block = _filter(step, (values, block, left), cut, degree)
        del left  # of many samples a block is a good part of the memory
        values, block, left = _solve_within(step, null, block)
        residual = np.linalg.norm(left[:, wanted], axis=0).max()
        last, cut = cut, float(values[-1])
        if residual <= tolerance:
            if cut <= UNRESOLVED * tolerance:
                raise ManyZerosError(ZEROS)
            return values[wanted], block[:, wanted]
        pace = _pace(cut, top, values[n_components - 1])
        ahead = np.arccosh(residual / tolerance) / pace
        step.expected = step.done + ahead
        settled = cut > SETTLED * last
        known = settled or rounds >= TRIED
        if not np.isfinite(residual) or (known and ahead > PRODUCTS):
            break
        if settled:
            n_rounds = np.ceil(np.log(residual / tolerance) / np.log(REACH))
            smaller = (residual / tolerance) ** (1 / n_rounds)
            degree = max(DEGREE // 2, int(np.arccosh(smaller) / pace) + 1)
    raise RuntimeError(f"too many products are in sight at a residual of {residual:g}")


def _pace(cut: float, top: float, value: float) -> float:
    """Return by which power of e each degree lifts an eigenvalue over those above."""
    gap = max((cut - value) / (top - cut), np.finfo(float).tiny)
    return float(np.arccosh(1 + 2 * gap) or 2 * np.sqrt(gap))


def _solve_within(
    step: _Step, null: np.ndarray, block: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return eigenpairs of the matrix on a subspace, and their residuals."""
    block = orthogonalize(_without(null, block))
    image = step.product(block)
    small = block.T @ image
    if not np.isfinite(small).all():
        raise RuntimeError("the vectors are not independent")
    values, turn = eigh((small + small.T) / 2)
    block = block @ turn
    image = image @ turn
    image -= block * values
    return values, block, image


def _filter(
    step: _Step,
    solved: tuple[np.ndarray, np.ndarray, np.ndarray],
    cut: float,
    degree: int,
) -> np.ndarray:
    """Return T(M) V, for Chebyshev's polynomial that is at most 1 from the cut on.

    V are vectors with values and residuals. Every column is divided by what T is at its
    own value, or at the cut if that is above.
    """
    values, block, left = solved
    half, middle = (step.top - cut) / 2, (step.top + cut) / 2
    ratio, own = _divided((values - middle) / half, degree)
    earlier, later = ratio[:-1], ratio[1:]
    weights = np.stack(
        [
            2 * later * step.top / half,
            -2 * later * middle / half,
            -earlier * later,
            2 * later * own[1:-1],
        ],
        axis=1,
    ).astype(np.float32)
    size = np.linalg.norm(left, axis=0)
    size[size == 0] = 1
    added = (left / size).astype(np.float32)
    now, before = added * ratio[0].astype(np.float32), np.zeros_like(added)
    for some in weights:
        step.recur(now, before, added, some)
        before, now = now, before
    del added, before
    lifted = now * (size / half)
    lifted += block * own[-1]
    return lifted


def _divided(x: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Return T_k(y) / T_k+1(y), of all k < degree, and T_k(x) / T_k(y) up to it.

    T_k are Chebyshev's polynomials, and y is x or -1, whichever is less. No x is beyond
    1. From closed forms: T_k itself may be too large a number.
    """
    k = np.arange(degree + 1)[:, None]
    rate = np.arccosh(np.maximum(-x, 1))
    shrunk = np.exp(-2 * rate) ** k
    ratio = -np.exp(-rate) * (1 + shrunk[:-1]) / (1 + shrunk[1:])
    angle = np.arccos(np.clip(x, -1, 1))
    return ratio, np.where(rate > 0, 1.0, (-1.0) ** k * np.cos(k * angle))


def _without(null: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Take the null vector out of every column.

    Not by a product: threads of BLAS go on spinning after it, and ours have to wait.
    """
    return block - null[:, None] * np.einsum("i,ij->j", null, block)


def _largest_at_most(
    product: Callable[[np.ndarray], np.ndarray], start: np.ndarray
) -> float:
    """Bound the largest eigenvalue by a few steps of Lanczos and their residual."""
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
