"""Centred points of patches -> covariances: one rule, and the models it can follow.

    Σ <- (1 - γ) Σ + γ (tr Σ / m) I + ρ v̄ I,

with γ = `shrinkage`, ρ = `ridge` and v̄ the mean variance of the features. A switch at
some condition number would make dissimilarities jump; this does not. Where γ or ρ is
positive, a few units of rounding of the patch's own spread are added too, so that a
patch that is very long in one direction stays invertible.

Σ itself may be reduced first: to its diagonal, or to its leading directions, the others
sharing the mean of their variances. Arrays have a leading axis of patches, p points
each, m features.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

from ..backends.arrays import (
    Array,
    add_to_diagonals,
    array_namespace,
    cumulative_sum,
    eigh,
    svd_of_rows,
)
from ..validation import Float, Integer

SHRINKAGE_RULES = ("oas", "ledoit_wolf")
COVARIANCES = ("full", "diagonal", "robust")
COVARIANCE_RULES: dict[str, Any] = {
    "covariance": (*COVARIANCES,),
    "n_directions": (Integer(1), Float(0, 1, open_low=True), None),
    "shrinkage": (Float(0, 1), *SHRINKAGE_RULES),
    "ridge": Float(0),
}
"""What the parameters of a covariance may be."""

TIE_TOLERANCE = 1e-10
"""Variances closer than this part of the largest are equal."""


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
            gamma = self._shrinkage(gamma, gram, total, p, m, squares)
        noise = isotropic_noise(total, m, gamma, self.ridge, self.variance)
        if self.covariance == "diagonal":
            variances, count = self._cut_diagonal(
                xp.sum(squares, axis=1) / divisor, total
            )
            variances = _times(1 - gamma, variances) + noise[:, None]
            return Shapes(variances, noise, total, count)
        if self.n_directions is None:
            factor = _times(((1 - gamma) / divisor) ** 0.5, centred)
            return Shapes(factor, noise, total, None)
        factor, rest, count = self._cut_factor(centred / divisor**0.5, total)
        factor = _times((1 - gamma) ** 0.5, factor)
        return Shapes(factor, noise + (1 - gamma) * rest, total, count)

    def of_covariances(
        self, covariance: Array, total: Array, p: int, squares: Array | None = None
    ) -> Shapes:
        """Return the regularised covariances of patches of p points.

        `squares`, the centred points squared, is what "ledoit_wolf" needs besides.
        """
        m, gamma = covariance.shape[-1], self.shrinkage
        if isinstance(gamma, str):
            gamma = self._shrinkage(gamma, covariance, total, p, m, squares)
        noise = isotropic_noise(total, m, gamma, self.ridge, self.variance)
        count = None
        if self.n_directions is not None:
            covariance, count = self._cut_covariance(covariance, total)
        regular = add_to_diagonals(_times(1 - gamma, covariance), noise)
        return Shapes(regular, noise, total, count)

    @staticmethod
    def _shrinkage(
        rule: str,
        products: Array,
        total: Array,
        p: int,
        m: int,
        squares: Array | None,
    ) -> Array:
        """Return γ, one per patch, by the rule of that name."""
        xp = array_namespace(total)
        divisor = max(p - 1, 1)
        norm = xp.sum(products * products, axis=(1, 2)) * divisor**2
        fourth = None
        if squares is not None:
            radius = xp.sum(squares, axis=2)
            fourth = xp.sum(radius * radius, axis=1)
        return shrinkage_by_rule(rule, norm, total * divisor, fourth, p, m)

    def _cut_covariance(self, covariance: Array, total: Array) -> tuple[Array, Array]:
        xp = array_namespace(covariance)
        values, vectors = eigh(covariance)
        values, vectors = xp.flip(values, axis=1), xp.flip(vectors, axis=2)
        kept, rest = self._leading(values, total, values.shape[1])
        values = xp.where(kept > 0, values, rest[:, None])
        scaled = vectors * values[:, None, :]
        covariance = xp.matmul(scaled, xp.matrix_transpose(vectors))
        return covariance, xp.sum(kept, axis=1)

    def _cut_factor(self, factor: Array, total: Array) -> tuple[Array, Array, Array]:
        xp = array_namespace(factor)
        singular, directions = svd_of_rows(factor)
        m = self.n_features or factor.shape[2]
        kept, rest = self._leading(singular * singular, total, m)
        excess = kept * (singular * singular - rest[:, None])
        excess = xp.sqrt(xp.where(excess > 0, excess, xp.zeros_like(excess)))
        return excess[:, :, None] * directions, rest, xp.sum(kept, axis=1)

    def _cut_diagonal(
        self, variances: Array, total: Array
    ) -> tuple[Array, Array | None]:
        if self.n_directions is None:
            return variances, None
        xp = array_namespace(variances)
        ordered = xp.flip(xp.sort(variances, axis=1), axis=1)
        kept, rest = self._leading(ordered, total, variances.shape[1])
        least = xp.min(xp.where(kept > 0, ordered, ordered[:, :1]), axis=1)
        keep = variances >= least[:, None]
        return xp.where(keep, variances, rest[:, None]), xp.sum(kept, axis=1)

    def _leading(self, variances: Array, total: Array, m: int) -> tuple[Array, Array]:
        assert self.n_directions is not None
        return leading_directions(variances, total, self.n_directions, m)


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


def shrinkage_by_rule(
    rule: str, products: Array, total: Array, fourth: Array, p: int, m: int
) -> Array:
    """Return γ of every patch as scikit-learn's estimator of that name chooses it.

    Parameters
    ----------
    rule : {"oas", "ledoit_wolf"}
        Chen et al., IEEE Trans. Signal Processing 58, 2010; Ledoit and Wolf, J.
        Multivariate Analysis 88, 2004.
    products : array (n,)
        ||AᵀA||², the squared Frobenius norm, A being the centred points.
    total : array (n,)
        ||A||².
    fourth : array (n,) or None
        Sum over points of ||a||⁴; "oas" does without.
    p, m : int
        Points and features.

    Returns
    -------
    array (n,)
        Between 0 and 1; 0 for one feature, where all shrinkage is the same.
    """
    xp = array_namespace(total)
    if m == 1:
        return xp.zeros_like(total)
    square, trace = products / p**2, total / p
    apart = square - trace * trace / m  # squared distance from a multiple of I, >= 0
    if rule == "oas":
        wanted = square + trace * trace
        possible = (p + 1) * apart
        full = xp.ones_like(total)
    else:
        wanted = (fourth / p - square) / p
        possible = apart
        full = xp.where(wanted > 0, xp.ones_like(total), xp.zeros_like(total))
        wanted = xp.where(wanted > 0, wanted, xp.zeros_like(wanted))
    less = wanted < possible
    return xp.where(less, wanted / xp.where(less, possible, full + 1), full)


def leading_directions(
    variances: Array, total: Array, n_directions: float, m: int
) -> tuple[Array, Array]:
    """Choose the directions a patch keeps, and spread the rest of its variance.

    Parameters
    ----------
    variances : array (n, r)
        Variances along the principal directions, descending.
    total : array (n,)
        Their sum.
    n_directions : int or float
        How many to keep, or the part of the variance that the fewest must explain.
        Equal variances are kept or left together, so more may be kept.
    m : int
        Number of features.

    Returns
    -------
    kept : array (n, r)
        1 for the directions that are kept, 0 for the others.
    rest : array (n,)
        Mean variance of the others, of which there are m less the kept.

    Examples
    --------
    >>> import numpy as np
    >>> kept, rest = leading_directions(
    ...     np.array([[6.0, 3.0, 1.0]]), np.array([10.0]), 0.8, 4
    ... )
    >>> kept.tolist(), rest.tolist()
    ([[1.0, 1.0, 0.0]], [0.5])
    """
    xp = array_namespace(variances)
    r = variances.shape[1]
    if isinstance(n_directions, Integral):
        last = xp.zeros_like(total) + min(int(n_directions), r)
    else:
        short = cumulative_sum(variances) < (
            float(n_directions) * (1 - TIE_TOLERANCE) * total[:, None]
        )
        last = 1 + xp.sum(xp.astype(short[:, : r - 1], variances.dtype), axis=1)
    place = xp.arange(1, r + 1, dtype=variances.dtype, device=variances.device)
    at_last = xp.astype(place == last[:, None], variances.dtype)
    least = xp.sum(variances * at_last, axis=1, keepdims=True)
    keep = variances >= least - TIE_TOLERANCE * variances[:, :1]
    kept = xp.astype(keep, variances.dtype)
    left_over = total - xp.sum(variances * kept, axis=1)
    left_over = xp.where(left_over > 0, left_over, xp.zeros_like(left_over))
    count = m - xp.sum(kept, axis=1)
    return kept, left_over / xp.where(count > 0, count, xp.ones_like(count))
