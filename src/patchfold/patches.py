"""Neighborhoods -> Patches: the local Gaussian of every sample.

The patch of sample i is x_i with its K neighbours (or the neighbours alone when
`include_center=False`); its covariance has divisor "points - 1" and is regularised by
one rule for every patch alike,

    Σ <- (1 - γ) Σ + γ (tr Σ / m) I + ρ v̄ I,

with γ = `shrinkage`, ρ = `ridge` and v̄ the mean variance of the features. A switch at
some condition number would make dissimilarities jump; this does not. Where γ or ρ is
positive, a few units of rounding of the patch's own spread are added too, so that a
patch that is very long in one direction stays invertible.

A patch with no more points than features has a covariance of low rank. It is then kept
as its centred points, the m x m matrices are never formed, and Σ = AᵀA + ε I.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from ._arrays import Array, array_namespace
from ._blocks import map_blocks
from .exceptions import DegeneratePatchWarning, SingularPatchError, warn


@dataclass(frozen=True)
class Patches:
    """Local Gaussians, one per sample; what a dissimilarity compares.

    Exactly one of `dense` and `factor` is present where there are Gaussians at all
    ("euclidean" needs only the centres).

    Attributes
    ----------
    center : array (n, m)
        The sample each patch belongs to.
    mean : array (n, m) or None
        Patch means.
    dense : array (n, m, m) or None
        Regularised covariances.
    factor : array (n, r, m) or None
        Centred and scaled points A, with covariance AᵀA + noise I.
    noise : array (n,) or None
        The isotropic part ε that regularisation added.
    """

    center: Array
    mean: Array = None
    dense: Array = None
    factor: Array = None
    noise: Array = None

    @property
    def covariance(self) -> Array:
        """Regularised covariances (n, m, m), formed here if they are kept factored."""
        if self.dense is not None:
            return self.dense
        xp = array_namespace(self.factor)
        gram = xp.matmul(xp.matrix_transpose(self.factor), self.factor)
        return gram + self.noise[:, None, None] * identity_like(gram)

    def take(self, indices: Array) -> Patches:
        """Return the patches at these positions, in this order."""
        xp = array_namespace(self.center)
        present = {f.name: getattr(self, f.name) for f in fields(self)}
        return Patches(
            **{
                name: None if value is None else xp.take(value, indices, axis=0)
                for name, value in present.items()
            }
        )


def mean_variance(X: Array) -> float:
    """Return v̄, the mean over features of the variance of X; 1 if X is constant."""
    xp = array_namespace(X)
    # From the first sample, so that a constant column varies by exactly nothing.
    variance = float(xp.mean(xp.var(X - X[:1, :], axis=0)))
    return variance if variance > 0 else 1.0


def fit_patches(
    centers: Array,
    X: Array,
    indices: Array,
    *,
    include_center: bool = True,
    shrinkage: float = 0.1,
    ridge: float = 1e-6,
    variance: float = 1.0,
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
    shrinkage, ridge : float
        γ and ρ of the rule at the top of this module.
    variance : float
        v̄, from `mean_variance` of the training samples.
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
    xp = array_namespace(X)
    n_patches, n_neighbors = indices.shape
    m = X.shape[1]
    n_points = n_neighbors + int(include_center)
    divisor = max(n_points - 1, 1)
    low_rank = n_points <= m

    def fit(block: slice) -> tuple[Array, Array, Array, Array]:
        rows = indices[block, :]
        flat = xp.reshape(rows, (-1,))
        points = xp.reshape(xp.take(X, flat, axis=0), (*rows.shape, m))
        if include_center:
            points = xp.concat([centers[block, :][:, None, :], points], axis=1)
        # From the first point, so that identical points differ by exactly nothing.
        first = points[:, :1, :]
        points = points - first
        offset = xp.mean(points, axis=1, keepdims=True)
        mean = (first + offset)[:, 0, :]
        centred = points - offset
        total = xp.sum(centred * centred, axis=(1, 2)) / divisor
        noise = _noise(total, m, shrinkage, ridge, variance)
        if low_rank:
            scale = (1 - shrinkage) / divisor
            return mean, centred * scale**0.5, noise, total
        covariance = xp.matmul(xp.matrix_transpose(centred), centred) / divisor
        return mean, _regularize(covariance, shrinkage, noise), noise, total

    size = 8 * (3 * n_points * m + (0 if low_rank else 2 * m * m))
    parts = map_blocks(fit, n_patches, size, n_jobs)
    mean, shape, noise, total = (xp.concat(part) for part in zip(*parts, strict=True))
    _warn_if_degenerate(total, n_points)
    return Patches(
        center=centers,
        mean=mean,
        dense=None if low_rank else shape,
        factor=shape if low_rank else None,
        noise=noise,
    )


def _noise(
    total: Array, m: int, shrinkage: float, ridge: float, variance: float
) -> Array:
    """Return ε, the isotropic part of the rule, from the traces of the covariances."""
    xp = array_namespace(total)
    rounding = 4 * m * float(xp.finfo(total.dtype).eps) if shrinkage or ridge else 0.0
    return (shrinkage / m + rounding) * total + ridge * variance


def _regularize(covariance: Array, shrinkage: float, noise: Array) -> Array:
    identity = identity_like(covariance)
    return (1 - shrinkage) * covariance + noise[:, None, None] * identity


class RunningPatches:
    """Patches of one training set for one K after another, each from the last.

    With the neighbours sorted by distance, the patches of a larger K are those of a
    smaller one and a few points more: sums of differences from their first point, and
    of the outer products, only grow. What `fit_patches` would give, to rounding.

    Parameters
    ----------
    X : array (n, m)
        Training samples.
    indices : int array (n, K)
        Neighbours for the largest K, nearest first.
    include_center : bool
        Whether a sample is a point of its own patch.
    """

    def __init__(self, X: Array, indices: Array, *, include_center: bool) -> None:
        xp = array_namespace(X)
        self._X, self._indices, self._reached = X, indices, 0
        self._include_center = include_center
        self._first = X if include_center else xp.take(X, indices[:, 0], axis=0)
        self._sums = xp.zeros_like(X)
        self._products: Array = None

    def fit(
        self,
        n_neighbors: int,
        *,
        shrinkage: float,
        ridge: float,
        variance: float,
        n_jobs: int | None = None,
    ) -> Patches:
        """Return the patches for `n_neighbors`, which must not fall between calls."""
        m = self._X.shape[1]
        n_points = n_neighbors + int(self._include_center)
        if n_points <= m:
            return fit_patches(
                self._X,
                self._X,
                self._indices[:, :n_neighbors],
                include_center=self._include_center,
                shrinkage=shrinkage,
                ridge=ridge,
                variance=variance,
                n_jobs=n_jobs,
            )
        self._grow(n_neighbors, n_jobs)
        xp = array_namespace(self._X)
        divisor = max(n_points - 1, 1)
        outer = self._sums[:, :, None] * self._sums[:, None, :] / n_points
        covariance = (self._products - outer) / divisor
        total = xp.sum(xp.linalg.diagonal(covariance), axis=1)
        noise = _noise(total, m, shrinkage, ridge, variance)
        _warn_if_degenerate(total, n_points)
        return Patches(
            center=self._X,
            mean=self._first + self._sums / n_points,
            dense=_regularize(covariance, shrinkage, noise),
            noise=noise,
        )

    def _grow(self, n_neighbors: int, n_jobs: int | None) -> None:
        """Add the neighbours up to `n_neighbors` to the sums."""
        if n_neighbors < self._reached:
            raise ValueError(
                f"n_neighbors={n_neighbors} is below the {self._reached} already "
                "reached; ask for growing numbers."
            )
        xp = array_namespace(self._X)
        n, m = self._X.shape
        new = self._indices[:, self._reached : n_neighbors]
        n_new = new.shape[1]

        def add(block: slice) -> tuple[Array, Array]:
            flat = xp.reshape(new[block, :], (-1,))
            points = xp.reshape(xp.take(self._X, flat, axis=0), (-1, n_new, m))
            gap = points - self._first[block, :][:, None, :]
            return xp.sum(gap, axis=1), xp.matmul(xp.matrix_transpose(gap), gap)

        parts = map_blocks(add, n, 8 * (3 * n_new * m + m * m), n_jobs)
        sums, products = (xp.concat(part) for part in zip(*parts, strict=True))
        self._sums = self._sums + sums
        first = self._products is None
        self._products = products if first else self._products + products
        self._reached = n_neighbors


def _warn_if_degenerate(total: Array, n_points: int) -> None:
    count = _count(total <= 0)
    if count:
        warn(
            f"{count} of {total.shape[0]} patches consist of {n_points} identical "
            "points, so they have a place but no shape; their covariance is the ridge "
            "alone. "
            "Raise n_neighbors above the number of duplicates, or drop duplicates.",
            DegeneratePatchWarning,
        )


def check_invertible(patches: Patches) -> None:
    """Raise SingularPatchError if a covariance that nothing regularises is singular."""
    xp = array_namespace(patches.center)
    n, m = patches.center.shape
    eps = m * float(xp.finfo(patches.noise.dtype).eps)
    if patches.dense is None:
        spread = xp.sum(patches.factor * patches.factor, axis=(1, 2))
        singular = _count(patches.noise <= eps * spread)
    elif float(xp.min(patches.noise)) > eps * float(xp.max(patches.dense)):
        return
    else:
        values = xp.linalg.eigvalsh(patches.dense)
        singular = _count(values[:, 0] <= eps * values[:, -1])
    if singular:
        raise SingularPatchError(
            f"{singular} of {n} patch covariances are singular, and nothing "
            "regularises them. Set ridge above 0 (1e-3 in the papers' scripts), or "
            "raise n_neighbors above the number of features."
        )


def identity_like(matrices: Array) -> Array:
    """Return the identity matrix for a batch of square matrices, on its device."""
    xp = array_namespace(matrices)
    size = matrices.shape[-1]
    return xp.eye(size, dtype=matrices.dtype, device=matrices.device)


def _count(condition: Array) -> int:
    xp = array_namespace(condition)
    return int(xp.sum(xp.astype(condition, xp.int64)))
