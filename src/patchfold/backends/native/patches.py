"""Patches: moments, inverses, KL, directions (`patches.c`, `dissimilarity.c`, ...).

See `loops.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .loops import as_kind, is_plain, loops
from .neighbors import in_groups

Comparer = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Places in two descriptions -> the numbers of these pairs."""

SMALL = 24
"""Matrices up to this size are solved eight at a time."""

CACHED = 4096
"""Numbers of a matrix; eight matrices of more do not stay in the second cache."""

LANES = 32
"""Patches whose directions are compared with those of another one at once."""


def moments_of_patches(
    centers: Any, X: Any, indices: np.ndarray, include_center: bool, *, factored: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return means (q, m) and covariances (q, m, m), divisor "points - 1", of patches.

    `factored` gives the points from their mean, (q, points, m), instead of covariances.
    None if arrays must find them, as `fitting.fit_patches` does.
    """
    if loops() is None or not (is_plain(centers) and is_plain(X)):
        return None
    (q, m), k = centers.shape, indices.shape[1]
    mean = np.empty(centers.shape)
    shapes = np.empty((q, k + int(include_center) if factored else m, m))
    near, flags = as_kind(indices, np.int64), (int(include_center), int(factored))
    loops().moments_of_patches(centers, X, near, mean, shapes, *flags)
    return mean, shapes


def packed_products(factors: Any, noise: Any) -> np.ndarray | None:
    """Return AᵀA + ε I, packed, of factors A (n, r, m) and noises ε (n,).

    (n, m (m + 1) / 2), upper triangles row by row; None if arrays must find them, as
    `Patches.covariance` and a look at the upper triangle do.
    """
    if loops() is None or not (is_plain(factors) and is_plain(noise)):
        return None
    n, _, m = factors.shape
    packed = np.empty((n, m * (m + 1) // 2))
    loops().packed_products(factors, noise, packed)
    return packed


def invert_packed(matrices: np.ndarray) -> np.ndarray | None:
    """Return inverses of packed positive definite matrices, packed, or None.

    Both (n, m (m + 1) / 2), upper triangles row by row; of the inverses what is off the
    diagonal is doubled, as `kl.describe_kl` wants it. None where they must be
    found otherwise: they are not plain arrays, or not all are positive definite.
    """
    if loops() is None or not is_plain(matrices):
        return None
    inverses = np.empty_like(matrices)
    m = int(np.sqrt(2 * matrices.shape[1]))
    loops().invert_packed(matrices, inverses, m)
    return inverses if np.isfinite(inverses).all() else None


def kl_of_pairs(
    left: Sequence[Any], right: Sequence[Any], most: bool = False
) -> Comparer | None:
    """Make ready to do what `kl.compare_kl` does, of listed pairs of Gaussians.

    They are packed, or factors, of any ranks on both sides; whether `most` of all pairs
    are listed makes no difference. They are read where they are: to copy them for every
    pair is what takes the time of `compare_kl`. None if that must do it: there are no
    loops, or arrays are not plain.
    """
    parts = *left, *right
    if loops() is None or not all(map(is_plain, parts)):
        return None
    are_factors = left[1].ndim == 3
    loop = loops().kl_of_factored_pairs if are_factors else loops().kl_of_pairs

    def compare(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        values = np.empty(row.size)
        loop(*parts, as_kind(row, np.int64), as_kind(column, np.int64), values)
        return values

    return compare


def principal_directions(matrices: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return eigenvalues (n, m), descending, and eigenvectors as rows (n, m, m).

    Of small matrices; None where LAPACK must find them.
    """
    if loops() is None or not is_plain(matrices) or matrices.shape[-1] > SMALL:
        return None
    variances, directions = np.empty(matrices.shape[:2]), np.empty(matrices.shape)
    found = loops().principal_directions(matrices, variances, directions)
    return (variances, directions) if found else None


def singular_rows(matrices: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return singular values (n, r), descending, and right vectors as rows (n, r, m).

    Of matrices of few rows; None where LAPACK must find them. A right vector of a
    singular value of exactly zero is zeros.
    """
    if loops() is None or not is_plain(matrices):
        return None
    _, r, m = matrices.shape
    if r > SMALL or r * m > CACHED:
        return None
    values, rows = np.empty(matrices.shape[:2]), np.empty(matrices.shape)
    found = loops().singular_rows(matrices, values, rows)
    return (values, rows) if found else None


def turns_of_pairs(
    left: tuple[Any, ...], right: tuple[Any, ...], near: float
) -> Comparer | None:
    """Make ready to do what `curvature.compare_directions` does, of many listed pairs.

    Parameters
    ----------
    left, right : (directions, which of them count)
        Patches, as `curvature.describe_directions` returns them.
    near : float
        Angles with a larger cosine are measured by their chord.

    Returns
    -------
    callable or None
        Takes places in both (E,), and returns (3, E) numbers: the mean curvature, the
        smallest and the sum of the largest; fast where places ascend and are dense.
        None if arrays must do it.
    """
    plain = _plain(*left, *right)
    if plain is None:
        return None
    sides = [
        in_groups(part.reshape(part.shape[0], -1), LANES, float, fill=0.0, behind=0)
        for part in plain[2:]
    ]

    def compare(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        values = np.empty((3, row.size))
        pairs = as_kind(row, np.int64), as_kind(column, np.int64)
        loops().turns_of_pairs(*plain, *sides, *pairs, *values, near)
        return values

    return compare


def turns_of_few_pairs(
    left: tuple[Any, ...], right: tuple[Any, ...]
) -> Comparer | None:
    """Make ready the same, of any pairs in any order; all angles by their chords."""
    plain = _plain(*left, *right)
    if plain is None:
        return None

    def compare(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        values = np.empty((3, row.size))
        pairs = as_kind(row, np.int64), as_kind(column, np.int64)
        loops().turns_of_few_pairs(*plain, *pairs, *values)
        return values

    return compare


def _plain(*parts: Any) -> list[np.ndarray] | None:
    """Return arrays as the loops read them; None if they cannot."""
    if loops() is None or any(
        not isinstance(part, np.ndarray) or part.dtype != np.float64 for part in parts
    ):
        return None
    return [as_kind(part, np.float64) for part in parts]
