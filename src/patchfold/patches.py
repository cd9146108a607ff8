"""Neighborhoods -> Patches: the local Gaussian of every sample.

The patch of sample i is x_i with its K neighbours (or the neighbours alone when
`include_center=False`); its covariance has divisor "points - 1" and is regularised by
one rule for every patch alike,

    Σ <- (1 - γ) Σ + γ (tr Σ / m) I + ρ v̄ I,

with γ = `shrinkage`, ρ = `ridge` and v̄ the mean variance of the features. A switch at
some condition number would make dissimilarities jump; this does not.

A patch with no more points than features has a covariance of low rank. It is then kept
as its centred points, the m x m matrices are never formed, and Σ = AᵀA + ε I.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

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
        identity = xp.eye(self.factor.shape[-1], dtype=self.factor.dtype)
        gram = xp.matmul(xp.matrix_transpose(self.factor), self.factor)
        return gram + self.noise[:, None, None] * identity

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
    variance = float(xp.mean(xp.var(X, axis=0)))
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
        noise = shrinkage * total / m + ridge * variance
        scale = (1 - shrinkage) / divisor
        if low_rank:
            return mean, centred * scale**0.5, noise, total
        shape = xp.matmul(xp.matrix_transpose(centred), centred) * scale
        identity = xp.eye(m, dtype=X.dtype)
        return mean, shape + noise[:, None, None] * identity, noise, total

    size = 8 * (3 * n_points * m + (0 if low_rank else 2 * m * m))
    parts = map_blocks(fit, n_patches, size, n_jobs)
    mean, shape, noise, total = (xp.concat(part) for part in zip(*parts, strict=True))
    _warn_if_degenerate(int(xp.sum(total <= 0)), n_patches, n_points)
    return Patches(
        center=centers,
        mean=mean,
        dense=None if low_rank else shape,
        factor=shape if low_rank else None,
        noise=noise,
    )


def _warn_if_degenerate(count: int, n_patches: int, n_points: int) -> None:
    if count:
        warn(
            f"{count} of {n_patches} patches consist of {n_points} identical points, "
            "so they have a place but no shape; their covariance is the ridge alone. "
            "Raise n_neighbors above the number of duplicates, or drop duplicates.",
            DegeneratePatchWarning,
        )


def check_invertible(patches: Patches) -> None:
    """Raise SingularPatchError if a covariance that nothing regularises is singular."""
    xp = array_namespace(patches.center)
    n, m = patches.center.shape
    if patches.dense is None:
        singular = n if float(xp.min(patches.noise)) <= 0 else 0
    elif float(xp.min(patches.noise)) > 0:
        singular = 0
    else:
        values = xp.linalg.eigvalsh(patches.dense)
        floor = m * float(np.finfo(np.float64).eps) * values[:, -1]
        singular = int(xp.sum(values[:, 0] <= floor))
    if singular:
        raise SingularPatchError(
            f"{singular} of {n} patch covariances are singular, and shrinkage=0 with "
            "ridge=0 leaves them so. Set ridge (1e-3 in the papers' scripts) or "
            "shrinkage above 0, or raise n_neighbors above the number of features."
        )
