"""Samples with many more features than samples -> coordinates in the space they span.

n samples lie in n dimensions, whatever the number m of their features. In an
orthonormal basis of these, distances and inner products stay what they are, and a patch
of p points is p x n numbers instead of p x m. Across them a patch has no spread but the
isotropic part that regularisation adds, which a dissimilarity knows in closed form; it
must only be told m.

A new sample lies in these dimensions and one more, its own. It is compared with
training samples only, which are 0 there, so one column is enough for all new samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dtrsm

ORTHOGONAL = 0.1
"""Inner products of a first basis up to this far from those of an orthonormal one are
mended by a second round; beyond, samples depend too much on each other."""


@dataclass(frozen=True)
class Span:
    """An orthonormal basis of wide samples, and where they lie in it.

    Attributes
    ----------
    mean : array (m,)
        Origin: the mean of the samples.
    basis : array (m, n - 1)
        Columns that are nearly orthonormal.
    turn : array (n - 1, n - 1)
        What they are multiplied by to be so.
    samples : array (n, n)
        Coordinates of the samples. The last, across the basis, is 0.
    """

    mean: np.ndarray
    basis: np.ndarray
    turn: np.ndarray
    samples: np.ndarray

    def locate(self, queries: np.ndarray) -> np.ndarray:
        """Return the coordinates (q, n) of new samples (q, m).

        The last is the distance from the space: of one query it is true, but two
        queries may be apart although it is equal.
        """
        gaps = queries - self.mean
        along = gaps @ self.basis @ self.turn
        gaps -= along @ self.turn.T @ self.basis.T
        return np.column_stack([along, np.linalg.norm(gaps, axis=1)])


def find_span(X: np.ndarray) -> Span:
    """Return coordinates of the samples in the space they span.

    They are off by a few units of rounding of a sample's distance from the mean. Inner
    products of samples would take the place of coordinates, but lose half of the
    digits of what is small.

    Parameters
    ----------
    X : array (n, m)
        Samples, n <= m.

    Returns
    -------
    Span

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0, 0, 0, 1], [0, 0, 3, 0, 1]])
    >>> span = find_span(X)
    >>> np.round(np.ptp(span.samples, axis=0), 6).tolist()
    [3.0, 0.0]
    >>> np.round(span.locate(np.array([[0.0, 4, 1.5, 0, 1]])), 6)[0, -1].item()
    4.0
    """
    mean = X.mean(axis=0)
    gaps = X - mean
    basis, turn, upper = _factorize(gaps[:-1])
    samples = np.zeros((X.shape[0], X.shape[0]))
    samples[:-1, :-1] = upper.T
    # Minus the sum of the others, but for the rounding of a mean that may be far away.
    samples[-1, :-1] = gaps[-1] @ basis @ turn
    return Span(mean, basis, turn, samples)


def _factorize(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return B, T and an upper triangular R with rows = (B T R)ᵀ and B T orthonormal.

    By Cholesky's factorisation, twice: matrix products alone, several times as fast as
    Householder's, and as exact while it goes well. The second round mends B by its
    inner products, and leaves it as it is: it is large, T is not.
    """
    try:
        first = np.linalg.cholesky(rows @ rows.T, upper=True)
        basis = dtrsm(1.0, first, rows.T, side=1)
        second = np.linalg.cholesky(basis.T @ basis, upper=True)
        # It says how far from orthonormal the first round had ended.
        if abs(second - np.eye(second.shape[0])).max() <= ORTHOGONAL:
            return basis, np.linalg.inv(second), second @ first
    except np.linalg.LinAlgError:
        pass
    basis, upper = np.linalg.qr(rows.T)
    return basis, np.eye(upper.shape[0]), upper
