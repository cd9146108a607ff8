"""Means, covariances and factors of patches (`patches.c`); see `loops.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .loops import as_kind, is_plain, loops


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
