"""Semi-definite matrix -> a function that solves with it, by way of its cores.

Of data with heavy tails most samples, the core, hang together well; the others, alone
or in small groups, hang on by weights that vanish. Clusters have a core each. Factors
fill up on a core, and an iteration with the matrix has to find an eigenvalue near zero
for each piece. So each part is solved as it can be: the loose samples are eliminated,
because their factors are sparse, and the equations that this leaves on the cores have
as many eigenvalues near zero as there are cores, whose vectors are known, so conjugate
gradients solve them in some twenty steps.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..backends.native.eigenvectors import (
    WIDTH,
    check_matrix,
    recur,
    sparse_times,
)
from ..graph.weights import scale_both_sides
from .factors import factorize

TIE = 0.5
"""An entry above this part of the largest in both of its rows, off the diagonal, ties
two samples of a core. Clusters of weak ties have a core, too."""

EACH, LEAST = 200, 1000
"""Samples of a core, and of all of them, at least: factors of fewer are as fast."""

OTHERS = 0.25
"""Part of the squares of the cores up to which those of the other pieces may add up: a
bound of the entries of their factors."""

PRECISE = 1e-6
"""Where conjugate gradients stop, relative to the right side. Where samples of the core
lie beside each other differs by less than this beside where the loose ones are, and a
classifier of neighbours sees it: at 1e-3 one lost .03 on spambase."""

ROUGH = 1e-2
"""Where they stop without a guess: the next round makes up for what is left."""

STEPS = 60
"""Steps at most, beyond which factors of all samples are as fast."""

DEGREE, RANGE = 8, 100
"""Degree of the polynomial that preconditions a step, and the largest eigenvalue over
the least that it evens out."""


class CoreSolver:
    """Solves M x = b where b and x are orthogonal to a vector of a tiny eigenvalue.

    With C the samples of cores, F the others, S = M_CC - M_CF M_FF⁻¹ M_FC, and z_k the
    vector on core k, S z_k is found without the loss of a digit: on other cores all
    terms have one sign, and all together are δ (z - M_CF M_FF⁻¹ null_F).

    Parameters
    ----------
    matrix : sparse array (n, n)
        M: symmetric, its eigenvalues δ or more, not above 0 off the diagonal.
    null : array (n,)
        A unit vector with M null = δ null.
    shift : float
        δ, above 0.
    label : int array (n,)
        As of `find_cores`; of each kind one at least.
    """

    def __init__(
        self, matrix: sp.csr_array, null: np.ndarray, shift: float, label: np.ndarray
    ) -> None:
        self._matrix, self._null = matrix, null
        self._core, self._loose = np.flatnonzero(label >= 0), np.flatnonzero(label < 0)
        upper, lower = matrix[self._core], matrix[self._loose]
        self._ties, self._back = upper[:, self._loose], lower[:, self._core].tocsr()
        self._factor = factorize(lower[:, self._loose].tocsc(), pivot=0.0)
        inner = upper[:, self._core].tocsr()
        self._inner = check_matrix(inner)
        self._roots = 1 / np.sqrt(inner.diagonal())
        scaled = scale_both_sides(inner, self._roots)
        self._single = self._inner.with_data(scaled.data.astype(np.float32))
        self._weights = _chebyshev(DEGREE, 2.0 / RANGE, 2.0)

        z, each = null[self._core], np.arange(self._core.size)
        own = label[self._core]
        self._parts = sp.csr_array((z, (own, each)))
        tied = (self._back @ self._parts.T).toarray()
        self._spread = -self._factor.solve(tied)  # what z_k is on loose samples
        image = (inner @ self._parts.T).toarray() + self._ties @ self._spread
        image[each, own] = 0.0
        solved = self._factor.solve(null[self._loose])
        image[each, own] = shift * (z - self._ties @ solved) - image.sum(axis=1)
        self._image = sp.csr_array(image)
        self._inverse = np.linalg.inv(self._parts @ image)

    def __call__(
        self, block: np.ndarray, guess: np.ndarray | None = None
    ) -> np.ndarray:
        """Return what solves with the columns of a block; roughly, without a guess."""
        rest = block if guess is None else block - self._matrix @ guess
        block = self._without_null(rest)
        loose = self._factor.solve(block[self._loose])
        right = block[self._core] - self._ties @ loose
        found = self._descend(right, ROUGH if guess is None else PRECISE)
        along = self._inverse @ (self._parts @ right - self._image.T @ found)
        solved = np.empty_like(block)
        solved[self._core] = found + self._parts.T @ along
        solved[self._loose] = loose - self._factor.solve(self._back @ found)
        solved[self._loose] += self._spread @ along
        return self._without_null(solved if guess is None else solved + guess)

    def _descend(self, right: np.ndarray, precise: float) -> np.ndarray:
        """Solve S y = P b by conjugate gradients, where P b is orthogonal to all z."""
        width = -right.shape[1] % WIDTH
        left = self._project(np.pad(right, ((0, 0), (0, width))))
        goal = precise**2 * _products(left, left)
        found, ahead = np.zeros_like(left), self._precondition(left)
        length = _products(left, ahead)
        for _ in range(STEPS):
            image = self._multiply(ahead)
            step = length / _not_zero(_products(ahead, image))
            found += ahead * step
            left -= image * step
            if (_products(left, left) <= goal).all():
                return found[:, : right.shape[1]]
            scaled = self._precondition(left)
            last, length = length, _products(left, scaled)
            ahead *= length / _not_zero(last)
            ahead += scaled
        raise RuntimeError(f"conjugate gradients did not end in {STEPS} steps")

    def _multiply(self, vectors: np.ndarray) -> np.ndarray:
        """Return P S times vectors."""
        image = np.empty_like(vectors)
        sparse_times(self._inner, vectors, image, slice(0, vectors.shape[0]))
        image -= self._ties @ self._factor.solve(self._back @ vectors)
        return self._project(image)

    def _precondition(self, left: np.ndarray) -> np.ndarray:
        """Return nearly what M_CC makes these of, by a polynomial of it."""
        added = (self._roots[:, None] * left).astype(np.float32)
        before, now = np.zeros_like(added), added * self._weights[0, 3]
        each = np.repeat(self._weights[:, :, None], left.shape[1], axis=2)
        for weights in each[1:]:
            recur(self._single, now, before, added, slice(0, now.shape[0]), weights)
            before, now = now, before
        return self._roots[:, None] * now

    def _project(self, vectors: np.ndarray) -> np.ndarray:
        """Take what S makes of the z out of vectors: then these are orthogonal to z."""
        vectors -= self._image @ (self._inverse @ (self._parts @ vectors))
        return vectors

    def _without_null(self, block: np.ndarray) -> np.ndarray:
        return block - np.multiply.outer(self._null, self._null @ block)


def find_cores(matrix: sp.csr_array) -> np.ndarray:
    """Return the core of each sample, 0, 1, ...; -1 of those in none.

    Raises
    ------
    RuntimeError
        If all cores are small, or all samples are in one, or the others hang together
        too.
    """
    entries = matrix.tocoo()
    places, ties = entries.coords, np.abs(entries.data)
    ties[places[0] == places[1]] = 0.0
    off = sp.csr_array((ties, places), shape=matrix.shape)
    strongest, (row, column) = off.max(axis=1).toarray().ravel(), places
    kept = ties > TIE * np.maximum(strongest[row], strongest[column])
    held = sp.coo_array((ties[kept], (row[kept], column[kept])), shape=matrix.shape)
    label = connected_components(held, directed=False)[1]
    sizes = np.bincount(label)
    large = sizes >= EACH
    inside = int(sizes[large].sum())
    others = (sizes[~large] ** 2).sum() > OTHERS * (sizes[large] ** 2).sum()
    if not LEAST <= inside < label.size or others:
        raise RuntimeError("the matrix has no core, or nothing beside it")
    return np.where(large, np.cumsum(large) - 1, -1)[label]


def _chebyshev(degree: int, low: float, high: float) -> np.ndarray:
    """Return weights of the terms of Chebyshev's iteration, as `recur` takes them."""
    middle, half = (high + low) / 2, (high - low) / 2
    rho, rows = half / middle, [(0.0, 0.0, 0.0, 1 / middle)]
    for _ in range(degree - 1):
        last, rho = rho, 1 / (2 * middle / half - rho)
        rows.append((-2 * rho / half, 1 + rho * last, -rho * last, 2 * rho / half))
    return np.array(rows, dtype=np.float32)


def _products(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", left, right)


def _not_zero(values: np.ndarray) -> np.ndarray:
    return np.where(values == 0, 1.0, values)
