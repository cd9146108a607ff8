"""Neighborhoods -> Patches: the local Gaussian of every sample.

The patch of sample i is x_i with its K neighbours (or the neighbours alone when
`include_center=False`); its covariance has divisor "points - 1" and is regularised by
one rule for every patch alike, that of `covariance.py`.

A patch with no more points than features has a covariance of low rank. It is then kept
as its centred points, the m x m matrices are never formed, and Σ = AᵀA + ε I.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from ..backends.arrays import Array, add_to_diagonals, array_namespace, identity_like
from ..backends.native.patches import moments_of_patches
from ..backends.threads import fill_blocks
from ..exceptions import DegeneratePatchWarning, SingularPatchError, warn
from .covariance import CovarianceModel, Shapes
from .moments import moments_of_most
from .robust import robust_points


@dataclass(frozen=True)
class Patches:
    """Local Gaussians, one per sample; what a dissimilarity compares.

    Exactly one of `dense`, `factor` and `diagonal` is present where there are Gaussians
    at all ("euclidean" needs only the centres).

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
    diagonal : array (n, m) or None
        Regularised variances, where covariances are diagonal.
    n_directions : array (n,) or None
        Leading directions a patch keeps, where not all of them.
    points : array (n, p, m) or None
        The points of the patches, where the dissimilarity asks for them.
    n_features : array (n,) or None
        Number of features, where everything above is in fewer coordinates (`span.py`);
        across those a covariance is its isotropic part.
    """

    center: Array
    mean: Array = None
    dense: Array = None
    factor: Array = None
    noise: Array = None
    diagonal: Array = None
    n_directions: Array = None
    points: Array = None
    n_features: Array = None

    @property
    def covariance(self) -> Array:
        """Regularised covariances (n, m, m), formed here if they are kept otherwise."""
        if self.dense is not None:
            return self.dense
        if self.diagonal is not None:
            return self.diagonal[:, :, None] * identity_like(self.diagonal)
        xp = array_namespace(self.factor)
        gram = xp.matmul(xp.matrix_transpose(self.factor), self.factor)
        return add_to_diagonals(gram, self.noise)

    def take(self, indices: Array) -> Patches:
        """Return the patches at these positions, in this order."""
        xp = array_namespace(self.center)
        return self._map(lambda value: xp.take(value, indices, axis=0))

    @property
    def counts(self) -> Array:
        """Number of features (n,), of each patch the same."""
        if self.n_features is not None:
            return self.n_features
        return self.center.shape[1] + 0 * self.noise

    def rows(self, block: slice) -> Patches:
        """Return a run of consecutive patches, where possible without a copy."""
        return self._map(lambda value: value[block, ...])

    def _map(self, function: Callable[[Array], Array]) -> Patches:
        """Apply a function to every part that is there."""
        present = {f.name: getattr(self, f.name) for f in fields(self)}
        return Patches(
            **{
                name: None if value is None else function(value)
                for name, value in present.items()
            }
        )


def mean_variance(X: Array) -> float:
    """Return v̄, the mean over features of the variance of X; 1 if X is constant."""
    xp = array_namespace(X)
    # From the first sample, so that a constant column varies by exactly nothing.
    gaps = X - X[:1, :]
    gaps = gaps - xp.mean(gaps, axis=0)
    gaps *= gaps
    variance = float(xp.mean(gaps))
    return variance if variance > 0 else 1.0


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
    xp = array_namespace(X)
    n_patches, n_neighbors = indices.shape
    m = X.shape[1]
    n_points = n_neighbors + int(include_center)
    model = CovarianceModel(
        shrinkage, ridge, variance, covariance, n_directions, n_features
    )
    by_sums = n_points > m and not (keep_points or model.needs_points)
    if by_sums and isinstance(X, np.ndarray) and 2 * n_neighbors > X.shape[0]:
        settings = (model, include_center, warn_identical, n_jobs)
        return _fit_to_most(centers, X, indices, *settings)

    def fit(block: slice) -> tuple[Array, ...]:
        rows = indices[block, :]
        if not (keep_points or model.covariance == "robust"):
            ours = centers[block, ...]
            found = moments_of_patches(
                ours, X, rows, include_center, factored=not by_sums
            )
            if found is not None and not by_sums:
                return found[0], None, *model.of_points(found[1])
            if found is not None:
                total = np.trace(found[1], axis1=1, axis2=2)
                return found[0], None, *model.of_covariances(found[1], total, n_points)
        flat = xp.reshape(rows, (-1,))
        points = xp.reshape(xp.take(X, flat, axis=0), (*rows.shape, m))
        if include_center:
            points = xp.concat([centers[block, :][:, None, :], points], axis=1)
        # From the first point, so that identical points differ by exactly nothing.
        first = points[:, :1, :]
        gaps = points - first
        if covariance == "robust":
            offset, centred = robust_points(gaps)
        else:
            offset = xp.mean(gaps, axis=1, keepdims=True)
            centred = gaps - offset
        mean = (first + offset)[:, 0, :]
        return mean, points if keep_points else None, *model.of_points(centred)

    size = 8 * (3 * n_points * m + (2 * m * m if n_points > m else 0))
    mean, kept, *shapes = fill_blocks(fit, n_patches, size, n_jobs)
    if warn_identical:
        warn_if_degenerate(shapes[2], n_points)
    return _assemble(centers, mean, Shapes(*shapes), model, n_points, kept)


def _fit_to_most(
    centers: np.ndarray,
    X: np.ndarray,
    indices: np.ndarray,
    model: CovarianceModel,
    include_center: bool,
    warn_identical: bool,
    n_jobs: int | None,
) -> Patches:
    """Fit patches of more than half of the samples, all of them by one product."""
    mean, matrices = moments_of_most(
        centers, X, indices, include_center=include_center, n_jobs=n_jobs
    )
    n_points = indices.shape[1] + int(include_center)
    total = np.trace(matrices, axis1=1, axis2=2)
    if warn_identical:
        warn_if_degenerate(total, n_points)
    shapes = model.of_covariances(matrices, total, n_points)
    return _assemble(centers, mean, shapes, model, n_points)


def _assemble(
    centers: Array,
    mean: Array,
    shapes: Shapes,
    model: CovarianceModel,
    n_points: int,
    points: Array = None,
) -> Patches:
    """Put means and covariances where `Patches` keeps them."""
    kind = "factor" if n_points <= mean.shape[1] else "dense"
    if model.covariance == "diagonal":
        kind = "diagonal"
    n_features = None
    if model.n_features is not None:
        n_features = model.n_features + 0 * shapes.noise
    return Patches(
        center=centers,
        mean=mean,
        noise=shapes.noise,
        n_directions=shapes.n_directions,
        points=points,
        n_features=n_features,
        **{kind: shapes.matrices},
    )


def warn_if_degenerate(total: Array, n_points: int) -> None:
    """Warn of patches of `n_points` points whose spread is nothing."""
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
    if patches.diagonal is not None:
        largest = xp.max(patches.diagonal, axis=1)
        singular = _count(xp.min(patches.diagonal, axis=1) <= eps * largest)
    elif patches.dense is None:
        flat = xp.reshape(patches.factor, (n, -1))
        spread = xp.vecdot(flat, flat)
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
            "raise n_neighbors or radius: patches need more points than features."
        )


def _count(condition: Array) -> int:
    xp = array_namespace(condition)
    return int(xp.sum(xp.astype(condition, xp.int64)))
