"""Neighbourhoods -> patches: the local Gaussian of every sample, and of new ones.

The patch of sample i is x_i with its K neighbours (or the neighbours alone when
`include_center=False`); its covariance has divisor "points - 1" and is regularised by
one rule for every patch alike, that of `covariance.py`.

A patch with no more points than features has a covariance of low rank. It is then kept
as its centred points, the m x m matrices are never formed, and Σ = AᵀA + ε I.

Patches of one size are fitted at a time: a loop over the sizes that occur, never over
samples. Patches of different sizes still share one representation. A factor is padded
with rows of zeros, which add nothing to AᵀA, and the points themselves with NaN; where
some patches have more points than features, all are kept as matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..backends.arrays import Array, array_namespace
from ..backends.native.patches import moments_of_patches
from ..backends.threads import fill_blocks, map_blocks
from ..exceptions import DegeneratePatchWarning, warn
from ..records import Neighborhoods, Patches
from .covariance import CovarianceModel, Shapes
from .moments import moments_of_most
from .robust import robust_points
from .space import Span


@dataclass(frozen=True)
class PatchFitter:
    """Fits Gaussians to neighbourhoods of training samples.

    Attributes
    ----------
    X : array (n, m)
        The training samples, in the coordinates that patches are seen in.
    largest : int
        Neighbours in the largest patch of a training sample: no other has more.
    settings : dict
        Keywords of `fit_patches`.
    span : Span or None
        Of wide samples, the space that they span: these are its coordinates.
    """

    X: Array
    largest: int
    settings: dict[str, Any]
    span: Span | None = None

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
        centers = self.X if rows is None else self.X[rows]
        settings = {**self.settings, "largest": self.largest, **settings}
        return fit_neighborhoods(centers, self.X, near, **settings)

    def of_queries(self, X: Array, near: Neighborhoods, n_jobs: int | None) -> Patches:
        """Fit the patches of new samples, from training neighbours."""
        centers = X if self.span is None else self.span.locate(X)
        settings = {**self.settings, "largest": self.largest, "n_jobs": n_jobs}
        return fit_neighborhoods(centers, self.X, near.first(self.largest), **settings)


@dataclass(frozen=True)
class CentersOnly:
    """Stands in for `PatchFitter` where samples are compared, not patches."""

    X: Array
    includes_centers = True

    def of_training(
        self, near: Any, rows: np.ndarray | None = None, **settings: Any
    ) -> Patches:
        """Return patches that are their centres alone."""
        return Patches(center=self.X if rows is None else self.X[rows])

    def of_queries(self, X: Array, near: Neighborhoods, n_jobs: int | None) -> Patches:
        """Return patches that are their centres alone."""
        return Patches(center=X)


def is_wide(n_samples: int, n_features: int) -> bool:
    """Say whether samples span less than half of their space.

    Then two patches, of n points at most, and the gap between their means do too.
    """
    return n_features > 2 * n_samples + 1


def mean_variance(X: Array) -> float:
    """Return v̄, the mean over features of the variance of X; 1 if X is constant."""
    if sp.issparse(X):
        means = X.mean(axis=0)
        spread = float(X.data @ X.data) / X.shape[0] - float(means @ means)
        return spread / X.shape[1] if spread > 0 else 1.0
    xp = array_namespace(X)
    # From the first sample, so that a constant column varies by exactly nothing.
    gaps = X - X[:1, :]
    gaps -= xp.mean(gaps, axis=0)
    gaps *= gaps
    variance = float(xp.mean(gaps))
    return variance if variance > 0 else 1.0


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


def fit_patches(
    centers: Array,
    X: Array,
    indices: Array,
    *,
    include_center: bool = True,
    shrinkage: float | str = 0.1,
    ridge: float = 1e-6,
    variance: float = 1.0,
    covariance: str = "full",
    n_directions: float | None = None,
    n_features: int | None = None,
    keep_points: bool = False,
    warn_identical: bool = True,
    n_jobs: int | None = None,
) -> Patches:
    """Fit a Gaussian to every neighbourhood.

    Parameters
    ----------
    centers : array (q, m)
        The samples the patches belong to: training samples, or new ones.
    X : array (n, m)
        Training samples, from which the neighbours come.
    indices : int array (q, K)
        Neighbours of each centre, as rows of X.
    include_center : bool
        Whether the centre is a point of its own patch.
    shrinkage : float or {"oas", "ledoit_wolf"}
        γ of the rule in `covariance.py`.
    ridge : float
        ρ of that rule.
    variance : float
        v̄, from `mean_variance` of the training samples.
    covariance : {"full", "diagonal", "robust"}
        Model of a covariance; "robust" replaces the mean as well.
    n_directions : int, float or None
        Leading directions to keep, or the part of the variance they must explain.
    n_features : int or None
        Number of features, where samples are given in fewer coordinates, of which
        there are more than points in a patch.
    keep_points : bool
        Whether the patches carry their points.
    warn_identical : bool
        Whether to warn of patches of identical points.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    Patches
        q local Gaussians.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [2.0], [4.0]])
    >>> patches = fit_patches(X, X, np.array([[1], [0], [1]]), shrinkage=0, ridge=0)
    >>> patches.mean.ravel().tolist(), patches.covariance.ravel().tolist()
    ([1.0, 1.0, 3.0], [2.0, 2.0, 2.0])
    """
    (n_patches, n_neighbors), m = indices.shape, X.shape[1]
    n_points = n_neighbors + int(include_center)
    model = CovarianceModel(
        shrinkage, ridge, variance, covariance, n_directions, n_features
    )
    by_points = keep_points or covariance != "full" or shrinkage == "ledoit_wolf"
    by_sums = n_points > m and not by_points

    def fit(block: slice) -> tuple[Array, ...]:
        ours = centers[block, ...], X, indices[block, :], include_center
        if not (keep_points or covariance == "robust"):
            found = moments_of_patches(*ours, factored=not by_sums)
            if found is not None and not by_sums:
                return found[0], None, *model.of_points(found[1])
            if found is not None:
                total = np.trace(found[1], axis1=1, axis2=2)
                return found[0], None, *model.of_covariances(found[1], total, n_points)
        points = _points_of_patches(*ours)
        kept = points if keep_points else None
        mean, shapes = _fit_points(points, model)
        return mean, kept, *shapes

    if by_sums and isinstance(X, np.ndarray) and 2 * n_neighbors > X.shape[0]:
        mean, sums = moments_of_most(
            centers, X, indices, include_center=include_center, n_jobs=n_jobs
        )
        total = np.trace(sums, axis1=1, axis2=2)
        kept, shapes = None, model.of_covariances(sums, total, n_points)
    else:
        size = 8 * (3 * n_points * m + (2 * m * m if n_points > m else 0))
        mean, kept, *parts = fill_blocks(fit, n_patches, size, n_jobs)
        shapes = Shapes(*parts)
    if warn_identical:
        warn_if_degenerate(shapes.total, n_points)
    kind = "factor" if n_points <= m else "dense"
    return Patches(
        center=centers,
        mean=mean,
        noise=shapes.noise,
        n_directions=shapes.n_directions,
        points=kept,
        n_features=None if n_features is None else n_features + 0 * shapes.noise,
        **{"diagonal" if covariance == "diagonal" else kind: shapes.matrices},
    )


def _points_of_patches(
    centers: Array, X: Array, indices: Array, include_center: bool
) -> Array:
    """Return the points (q, p, m) of patches, the centre first where it is one."""
    xp = array_namespace(X)
    points = xp.take(X, xp.reshape(indices, (-1,)), axis=0)
    points = xp.reshape(points, (*indices.shape, X.shape[1]))
    if include_center:
        points = xp.concat([centers[:, None, :], points], axis=1)
    return points


def _fit_points(points: Array, model: CovarianceModel) -> tuple[Array, Shapes]:
    """Return means and covariances of points (q, p, m)."""
    # From the first point, so that identical points differ by exactly nothing.
    first = points[:, :1, :]
    gaps = points - first
    if model.covariance == "robust":
        offset, centred = robust_points(gaps)
    else:
        offset = array_namespace(gaps).mean(gaps, axis=1, keepdims=True)
        centred = gaps - offset
    return (first + offset)[:, 0, :], model.of_points(centred)


def warn_if_degenerate(total: Array, n_points: int) -> None:
    """Warn of patches of `n_points` points that are all equal."""
    xp = array_namespace(total)
    n, count = total.shape[0], int(xp.sum(xp.astype(total <= 0, xp.int64)))
    if count:
        warn(
            f"{count} of {n} patches consist of {n_points} identical points, "
            "so they have a place but no shape; their covariance is the ridge alone. "
            "Raise n_neighbors above the number of duplicates, or drop duplicates.",
            DegeneratePatchWarning,
        )


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
