"""Neighbourhoods of any sizes -> Patches, of training samples and of new ones.

Patches of one size are fitted at a time: a loop over the sizes that occur, never over
samples. Patches of different sizes still share one representation. A factor is padded
with rows of zeros, which add nothing to AᵀA, and the points themselves with NaN; where
some patches have more points than features, all are kept as matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backends.arrays import Array
from ..backends.threads import map_blocks
from ..exceptions import DegeneratePatchWarning, warn
from ..records import Neighborhoods
from .fitting import Patches, fit_patches
from .space import Space, Span, find_span


@dataclass(frozen=True)
class PatchFitter:
    """Fits Gaussians to neighbourhoods of training samples.

    Attributes
    ----------
    space : Space or Span
        The training samples, in the coordinates patches are seen in.
    largest : int
        Neighbours in the largest patch of a training sample: no other has more.
    settings : dict
        Keywords of `fit_patches`.
    """

    space: Space | Span
    largest: int
    settings: dict[str, Any]

    @property
    def includes_centers(self) -> bool:
        """Whether a sample is a point of its own patch."""
        return bool(self.settings["include_center"])

    def of_training(
        self, near: Any, rows: np.ndarray | None = None, **settings: Any
    ) -> Patches:
        """Fit the patches of all training samples, or of some.

        `near` has the neighbours of those samples; `settings` overrule our own.
        """
        samples = self.space.samples
        centers = samples if rows is None else samples[rows]
        return self._fit(centers, near, settings)

    def of_queries(self, X: Array, near: Neighborhoods, n_jobs: int | None) -> Patches:
        """Fit the patches of new samples, from training neighbours."""
        return self._fit(self.space.locate(X), near, {"n_jobs": n_jobs})

    def _fit(
        self, centers: Array, near: Neighborhoods, settings: dict[str, Any]
    ) -> Patches:
        return fit_neighborhoods(
            centers,
            self.space.samples,
            near.first(self.largest),
            largest=self.largest,
            **{**self.settings, **settings},
        )


@dataclass(frozen=True)
class CentersOnly:
    """Stands in for `PatchFitter` where samples are compared, not patches."""

    space: Space
    includes_centers = True

    def of_training(
        self, near: Any, rows: np.ndarray | None = None, **settings: Any
    ) -> Patches:
        """Return patches that are their centres alone."""
        samples = self.space.samples
        return Patches(center=samples if rows is None else samples[rows])

    def of_queries(self, X: Array, near: Neighborhoods, n_jobs: int | None) -> Patches:
        """Return patches that are their centres alone."""
        return Patches(center=X)


def make_fitter(
    X: Array, near: Neighborhoods, settings: dict[str, Any], *, wide: bool
) -> PatchFitter:
    """Make what fits the patches of training samples X, and of new ones.

    Parameters
    ----------
    X : array (n, m)
        Training samples.
    near : Neighborhoods
        Those in the patch of each of them.
    settings : dict
        Keywords of `fit_patches`.
    wide : bool
        Whether patches are seen in the space that the samples span.
    """
    space: Space | Span = Space(X)
    if wide:
        space = find_span(X)
        settings = {**settings, "n_features": X.shape[1]}
    return PatchFitter(space, int(near.counts.max()), settings)


def fit_neighborhoods(
    centers: np.ndarray,
    X: np.ndarray,
    near: Neighborhoods,
    *,
    include_center: bool = True,
    largest: int | None = None,
    **settings: Any,
) -> Patches:
    """Fit a Gaussian to every neighbourhood, of equal sizes or not.

    Parameters
    ----------
    centers : array (q, m)
        The samples the patches belong to.
    X : array (n, m)
        Training samples, from which the neighbours come.
    near : Neighborhoods
        The neighbours of each centre, at least one.
    include_center : bool
        Whether the centre is a point of its own patch.
    largest : int or None
        The most neighbours there are in any of the patches that these will be compared
        with, where sizes differ: all then have one form.
    **settings
        As in `fit_patches`.

    Returns
    -------
    Patches
        q local Gaussians.

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold.neighbors.radius import search_within
    >>> X = np.array([[0.0], [2.0], [4.0]])
    >>> near = search_within(X, X, 2.0, own=np.arange(3))
    >>> patches = fit_neighborhoods(X, X, near, shrinkage=0, ridge=0)
    >>> patches.mean.ravel().tolist(), patches.covariance.ravel().tolist()
    ([1.0, 2.0, 3.0], [2.0, 4.0, 2.0])
    """
    settings = {"include_center": include_center, **settings}
    if near.pointer is None:
        return fit_patches(centers, X, near.indices, **settings)
    counts = near.counts
    largest = (largest or int(counts.max())) + int(include_center)
    whole: dict[str, np.ndarray] = {}
    for size in np.unique(counts):
        owners = np.flatnonzero(counts == size)
        indices = near.indices[near.pointer[owners, None] + np.arange(size)]
        part = fit_patches(
            centers[owners], X, indices, **{**settings, "warn_identical": False}
        )
        for name, values in _arrays(part, largest).items():
            if name not in whole:
                whole[name] = np.zeros((counts.size, *values.shape[1:]))
            whole[name][owners] = values
    if settings.get("warn_identical", True):
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
