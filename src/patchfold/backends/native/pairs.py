"""Loops in C over the pairs of a nearly complete graph (`pairs.c`), and arrays.

As in `_native.py`, each function says in NumPy or SciPy what it computes, and that runs
where nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .loops import aligned, as_kind, is_plain, loops

SMALL = 16
"""Matrices up to this size are solved eight at a time."""

LANES = 32
"""Patches whose directions are compared with those of another one at once."""


def all_squared_gaps(queries: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return |queries[i] - X[j]|² for all pairs, (q, n), feature by feature."""
    features = np.ascontiguousarray(X.T)
    if loops() is None or features.dtype != np.float64 or not is_plain(queries):
        squared = np.zeros((queries.shape[0], X.shape[0]))
        for ours, theirs in zip(queries.T, features, strict=True):
            gap = ours[:, None] - theirs
            gap *= gap
            squared += gap
        return squared
    squared = np.empty((queries.shape[0], X.shape[0]))
    loops().all_squared_gaps(queries, features, squared)
    return squared


def keys_of_rows(numbers: np.ndarray, dropped: int, bits: int) -> np.ndarray | None:
    """Return `_ranking.tie_keys` of numbers >= 0, each with its place in the row below.

    Keys lose their last `dropped` binary digits, places take `bits`. None if arrays
    must do it.
    """
    if loops() is None or not is_plain(numbers):
        return None
    keys = np.empty(numbers.shape, np.uint64)
    loops().keys_of_rows(numbers, keys, dropped, bits)
    return keys


def read_keys(
    keys: np.ndarray, numbers: np.ndarray, count: int, bits: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return places and numbers of the first `count` sorted keys of each row."""
    if count > keys.shape[1]:
        raise IndexError(f"{count} of {keys.shape[1]} keys in a row")
    if loops() is None or not is_plain(numbers):
        places = (keys[:, :count] & np.uint64((1 << bits) - 1)).view(np.int64)
        return places, np.take_along_axis(numbers, places, axis=1)
    places = np.empty((keys.shape[0], count), np.int64)
    found = np.empty(places.shape)
    loops().read_keys(keys, numbers, places, found, bits)
    return places, found


def moments_of_patches(
    centers: Any, X: Any, indices: np.ndarray, include_center: bool, *, factored: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return means (q, m) and covariances (q, m, m), divisor "points - 1", of patches.

    `factored` gives the points from their mean, (q, points, m), instead of covariances.
    None if arrays must find them, as `patches.fit_patches` does.
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


def principal_directions(matrices: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return eigenvalues (n, m), descending, and eigenvectors as rows (n, m, m).

    Of small matrices; None where LAPACK must find them.
    """
    if loops() is None or not is_plain(matrices) or matrices.shape[-1] > SMALL:
        return None
    variances, directions = np.empty(matrices.shape[:2]), np.empty(matrices.shape)
    found = loops().principal_directions(matrices, variances, directions)
    return (variances, directions) if found else None


def turns_of_pairs(
    left: tuple[Any, ...], right: tuple[Any, ...], near: float
) -> Callable[..., None] | None:
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
        Takes places in both and three arrays, and writes the mean curvature, the
        smallest and the sum of the largest there; fast where places ascend and are
        dense. None if arrays must do it.
    """
    parts = *left, *right
    if loops() is None or any(
        not isinstance(part, np.ndarray) or part.dtype != np.float64 for part in parts
    ):
        return None
    plain = [as_kind(part, np.float64) for part in parts]
    sides = [_side_by_side(part) for part in plain[2:]]

    def write(row: np.ndarray, column: np.ndarray, *out: np.ndarray) -> None:
        pairs = as_kind(row, np.int64), as_kind(column, np.int64)
        loops().turns_of_pairs(*plain, *sides, *pairs, *out, near)

    return write


def _side_by_side(rows: np.ndarray) -> np.ndarray:
    """Return arrays in groups of `LANES`, number by number; zeros fill the last."""
    flat = rows.reshape(rows.shape[0], -1)
    filled = np.zeros((-(-flat.shape[0] // LANES) * LANES, flat.shape[1]))
    filled[: flat.shape[0]] = flat
    return aligned(filled.reshape(-1, LANES, flat.shape[1]).transpose(0, 2, 1))
