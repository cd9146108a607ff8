"""Neighbourhoods of different sizes -> patches.

Patches of one size are fitted at a time: a loop over the sizes that occur, never over
samples. Patches of different sizes still share one representation. A factor is padded
with rows of zeros, which add nothing to AᵀA, and the points themselves with NaN; where
some patches have more points than features, all are kept as matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.threads import map_blocks
from ..exceptions import DegeneratePatchWarning, warn
from ..records import Neighborhoods, Patches


def fit_uneven(
    fit: Callable[..., Patches],
    centers: np.ndarray,
    X: np.ndarray,
    near: Neighborhoods,
    largest: int,
    *,
    include_center: bool = True,
    warn_identical: bool = True,
    **settings: Any,
) -> Patches:
    """Fit the patches of each size by `fit_patches`, and put them together.

    Parameters
    ----------
    fit : callable
        `fit_patches`.
    centers, X, near, largest
        As in `PatchFitter`.
    include_center, warn_identical, **settings
        As in `fit_patches`.
    """
    counts, pointer = near.counts, near.pointer
    assert pointer is not None
    largest += int(include_center)
    whole: dict[str, np.ndarray] = {}
    for size in np.unique(counts):
        owners = np.flatnonzero(counts == size)
        indices = near.indices[pointer[owners, None] + np.arange(size)]
        part = fit(
            centers[owners],
            X,
            indices,
            include_center=include_center,
            warn_identical=False,
            **settings,
        )
        for name, values in _arrays(part, largest).items():
            if name not in whole:
                whole[name] = np.zeros((counts.size, *values.shape[1:]))
            whole[name][owners] = values
    if warn_identical:
        _warn_of_identical(centers, X, near, include_center, settings.get("n_jobs"))
    return Patches(center=centers, **whole)


def _arrays(patches: Patches, largest: int) -> dict[str, np.ndarray]:
    """Return what patches are made of, in the form the largest of all would have."""
    arrays = {"mean": patches.mean, "noise": patches.noise}
    if patches.n_directions is not None:
        arrays["n_directions"] = patches.n_directions
    if patches.n_features is not None:
        arrays["n_features"] = patches.n_features
    m = patches.mean.shape[1]
    if patches.points is not None:
        arrays["points"] = _padded(patches.points, largest, np.nan)
    if patches.diagonal is not None:
        arrays["diagonal"] = patches.diagonal
    elif largest > m:
        arrays["dense"] = patches.covariance
    else:
        arrays["factor"] = _padded(patches.factor, largest, 0.0)
    return arrays


def _padded(rows: np.ndarray, length: int, value: float) -> np.ndarray:
    """Fill up the second axis to a length."""
    n, known, m = rows.shape
    rest = np.full((n, length - known, m), value)
    return np.concatenate([rows, rest], axis=1)


def _warn_of_identical(
    centers: np.ndarray,
    X: np.ndarray,
    near: Neighborhoods,
    include_center: bool,
    n_jobs: int | None,
) -> None:
    """Warn of patches that are one point, or several at one place."""
    row, column = near.relation
    first = centers if include_center else X[near.nearest[0]]

    def differ(block: slice) -> np.ndarray:
        return (X[column[block]] != first[row[block]]).any(axis=1)

    apart = np.concatenate(map_blocks(differ, row.size, 20 * X.shape[1], n_jobs))
    n = near.counts.size
    count = n - np.unique(row[apart]).size
    if count:
        warn(
            f"{count} of {n} patches are one point, or identical points, so they have "
            "a place but no shape; their covariance is the ridge alone. Raise radius "
            "or n_neighbors, or drop duplicates.",
            DegeneratePatchWarning,
        )
