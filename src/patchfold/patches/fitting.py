"""Neighbourhoods -> patches: the local Gaussian of every sample, and of new ones.

The patch of sample i is x_i with its K neighbours (or the neighbours alone when
`include_center=False`); its covariance has divisor "points - 1" and is regularised by
one rule for every patch alike:

    Σ <- (1 - γ) Σ + γ (tr Σ / m) I + ρ v̄ I,

with γ = `shrinkage`, ρ = `ridge` and v̄ the mean variance of the features. A switch at
some condition number would make dissimilarities jump; this does not. Where γ or ρ is
positive, a few units of rounding of the patch's own spread are added too, so that a
patch that is very long in one direction stays invertible. Σ itself may be reduced
first, to its diagonal or its leading directions (`covariance.py`).

A patch with no more points than features has a covariance of low rank. It is then kept
as its centred points, the m x m matrices are never formed, and Σ = AᵀA + ε I.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from ..backends.backend import Array, add_to_diagonals, array_namespace
from ..backends.native.patches import moments_of_patches
from ..backends.threads import fill_blocks
from ..exceptions import DegeneratePatchWarning, warn
from ..records import Neighborhoods, Patches
from .covariance import choose_shrinkage, cut_covariance, cut_diagonal, cut_factor
from .moments import moments_of_most
from .robust import center_points, points_of_patches
from .space import Span
from .uneven import fit_uneven


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

    def fit(self, centers: Array, near: Any, **settings: Any) -> Patches:
        """Fit a Gaussian to every neighbourhood, of equal sizes or not.

        Parameters
        ----------
        centers : array (q, m)
            The samples the patches belong to, in the coordinates of `X`.
        near : Neighborhoods
            The neighbours of each among `X`, at least one.
        **settings
            As in `fit_patches`; they overrule our own.

        Examples
        --------
        >>> import numpy as np
        >>> from patchfold.neighbors.radius import search_within
        >>> X = np.array([[0.0], [2.0], [4.0]])
        >>> near = search_within(X, X, 2.0, own=np.arange(3))
        >>> fitter = PatchFitter(X, 2, {"shrinkage": 0, "ridge": 0})
        >>> patches = fitter.fit(X, near)
        >>> patches.mean.ravel().tolist(), patches.covariance.ravel().tolist()
        ([1.0, 2.0, 3.0], [2.0, 4.0, 2.0])
        """
        settings = {**self.settings, **settings}
        if near.pointer is None:
            return fit_patches(centers, self.X, near.indices, **settings)
        return fit_uneven(fit_patches, centers, self.X, near, self.largest, **settings)

    def of_queries(self, X: Array, near: Neighborhoods, n_jobs: int | None) -> Patches:
        """Fit the patches of new samples, from training neighbours."""
        centers = X if self.span is None else self.span.locate(X)
        return self.fit(centers, near.first(self.largest), n_jobs=n_jobs)


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


class Shapes(NamedTuple):
    """Regularised covariances of n patches, in one of three representations.

    Attributes
    ----------
    matrices : array
        Σ (n, m, m); or F (n, p, m) with Σ = FᵀF + noise I, where p <= m; or, of the
        diagonal model, variances (n, m).
    noise : array (n,)
        The isotropic part ε that was added.
    total : array (n,)
        Traces before regularisation.
    n_directions : array (n,) or None
        Leading directions kept, where only some were asked for.
    """

    matrices: Array
    noise: Array
    total: Array
    n_directions: Array | None


@dataclass(frozen=True)
class CovarianceModel:
    """How the covariance of a patch is estimated and regularised.

    Attributes
    ----------
    shrinkage : float or {"oas", "ledoit_wolf"}
        γ, or the rule that chooses it for each patch.
    ridge : float
        ρ.
    variance : float
        v̄.
    covariance : {"full", "diagonal", "robust"}
        Whether only variances are kept, and whether outliers are pulled in first.
    n_directions : int, float or None
        Leading directions to keep, or the part of the variance they must explain.
    n_features : int or None
        Number of features m, where patches are given in fewer coordinates.
    """

    shrinkage: float | str
    ridge: float
    variance: float
    covariance: str = "full"
    n_directions: float | None = None
    n_features: int | None = None

    def of_points(self, centred: Array) -> Shapes:
        """Return the covariances of centred points (n, p, m)."""
        xp = array_namespace(centred)
        _, p, m = centred.shape
        divisor = max(p - 1, 1)
        squares = centred * centred
        total = xp.sum(squares, axis=(1, 2)) / divisor
        if p > m and self.covariance != "diagonal":
            covariance = xp.matmul(xp.matrix_transpose(centred), centred) / divisor
            return self.of_covariances(covariance, total, p, squares)
        m, gamma = self.n_features or m, self.shrinkage
        if isinstance(gamma, str):
            gram = xp.matmul(centred, xp.matrix_transpose(centred)) / divisor
            gamma = choose_shrinkage(gamma, gram, total, p, m, squares)
        noise = isotropic_noise(total, m, gamma, self.ridge, self.variance)
        if self.covariance == "diagonal":
            variances, count = xp.sum(squares, axis=1) / divisor, None
            if self.n_directions is not None:
                variances, count = cut_diagonal(variances, total, self.n_directions)
            variances = _times(1 - gamma, variances) + noise[:, None]
            return Shapes(variances, noise, total, count)
        if self.n_directions is None:
            factor = _times(((1 - gamma) / divisor) ** 0.5, centred)
            return Shapes(factor, noise, total, None)
        factor = centred / divisor**0.5
        factor, rest, count = cut_factor(factor, total, self.n_directions, m)
        factor = _times((1 - gamma) ** 0.5, factor)
        return Shapes(factor, noise + (1 - gamma) * rest, total, count)

    def of_covariances(
        self, covariance: Array, total: Array, p: int, squares: Array | None = None
    ) -> Shapes:
        """Return the regularised covariances of patches of p points.

        `squares`, the centred points squared, is what "ledoit_wolf" needs besides.
        """
        m, gamma = covariance.shape[-1], cast(Any, self.shrinkage)
        if isinstance(gamma, str):
            gamma = choose_shrinkage(gamma, covariance, total, p, m, squares)
        noise = isotropic_noise(total, m, gamma, self.ridge, self.variance)
        count = None
        if self.n_directions is not None:
            covariance, count = cut_covariance(covariance, total, self.n_directions)
        kept = 1 - gamma if isinstance(gamma, Real) else (1 - gamma)[:, None, None]
        regular = add_to_diagonals(covariance * kept, noise)
        return Shapes(regular, noise, total, count)


def _times(scale: Array, arrays: Array) -> Array:
    """Multiply a batch of arrays by a number, or by one number each."""
    if isinstance(scale, Real):
        return arrays * scale
    return arrays * scale[(slice(None), *(None,) * (arrays.ndim - 1))]


def isotropic_noise(
    total: Array, m: int, shrinkage: float | Array, ridge: float, variance: float
) -> Array:
    """Return ε, the isotropic part of the rule, from the traces of the covariances."""
    xp = array_namespace(total)
    helps = not isinstance(shrinkage, Real) or shrinkage or ridge
    rounding = 4 * m * float(xp.finfo(total.dtype).eps) if helps else 0.0
    return (shrinkage / m + rounding) * total + ridge * variance


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
        γ of the rule above.
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
        points = points_of_patches(*ours)
        kept = points if keep_points else None
        mean, centred = center_points(points, robust=covariance == "robust")
        return mean, kept, *model.of_points(centred)

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
    xp = array_namespace(shapes.total)
    if warn_identical and bool(xp.any(shapes.total <= 0)):
        warn_of_degenerate(shapes.total, n_points)
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


def warn_of_degenerate(total: Array, n_points: int) -> None:
    """Warn of patches of `n_points` points that are all equal."""
    xp = array_namespace(total)
    n, count = total.shape[0], int(xp.sum(xp.astype(total <= 0, xp.int64)))
    warn(
        f"{count} of {n} patches consist of {n_points} identical points, "
        "so they have a place but no shape; their covariance is the ridge alone. "
        "Raise n_neighbors above the number of duplicates, or drop duplicates.",
        DegeneratePatchWarning,
    )
