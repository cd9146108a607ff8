"""Eigenvectors of the normalised Laplacian -> coordinates of L y = λ D y.

y = D^(-1/2) v. At a sample whose edges nearly vanish, √d is far below the rounding of
v, and the quotient is noise divided by nothing. The equation itself says where such a
sample lies: y = Σ w y_j / ((1 - λ) d), beyond the mean of those it is tied to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.backend import Array, array_namespace, on_any_device
from .nystrom import keep_from_zero

ROUNDING = 1e-10
"""Entries of a unit eigenvector up to this are taken for rounding errors."""

WEAK = 1e-6
"""Part of the largest √d below which a sample is tied weakly."""

SWEEPS = 20
"""Rounds in which weakly tied samples are placed: chains of them reach the others."""


def walk_coordinates(
    vectors: Array,
    eigenvalues: Array,
    affinity: Any,
    degrees: Array,
) -> Array:
    """Return y = D^(-1/2) v, and at weakly tied samples what the equation says.

    Parameters
    ----------
    vectors : array (n, d)
        Unit eigenvectors v of D^(-1/2) L D^(-1/2).
    eigenvalues : array (d,)
        λ, one per column.
    affinity : sparse matrix (n, n)
        Weights W.
    degrees : array (n,)
        Row sums of W, above 0.

    Returns
    -------
    array (n, d)
    """
    xp = array_namespace(vectors)
    roots = xp.sqrt(degrees)
    coordinates = vectors / roots[:, None]
    noise = xp.max(xp.abs(vectors), axis=1) <= ROUNDING
    (weak,) = xp.nonzero((roots < WEAK * xp.max(roots)) & noise)
    if not weak.shape[0]:
        return coordinates
    return _place_weak(coordinates, eigenvalues, affinity, degrees, weak)


@on_any_device
def _place_weak(
    coordinates: np.ndarray,
    eigenvalues: np.ndarray,
    affinity: Any,
    degrees: np.ndarray,
    weak: np.ndarray,
) -> np.ndarray:
    """Place weakly tied samples by the equation."""
    gap = keep_from_zero(1 - eigenvalues)
    ties = affinity[weak]
    coordinates[weak] = 0.0
    for _ in range(SWEEPS):
        mean = (ties @ coordinates) / degrees[weak, None]
        coordinates[weak] = mean / gap
    return coordinates
