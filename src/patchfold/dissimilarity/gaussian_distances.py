"""Pairs of patches -> numbers: metrics on the space of Gaussians, batched over pairs.

2-Wasserstein is the cost of moving one Gaussian onto the other; Fisher-Rao the length
of a way between them on which every step is measured by Fisher's information.

Both need a spectrum per pair. Patches that are kept factored, Σ = FᵀF + ε I with r
points each, differ only within the span of their 2r points and the gap of their means;
across it they are ε_i I and ε_j I. So they are moved, without changing a length, into
2r + 1 dimensions, and the rest of the m is a term in closed form. This keeps half the
digits of very small distances, those far below √ε. Where 2r + 1 is not less than m,
covariances of m x m are the smaller ones, and are formed.
"""

from __future__ import annotations

from typing import NamedTuple

from ..backends.arrays import cholesky, eigh
from ..backends.backend import (
    Array,
    add_to_diagonals,
    array_namespace,
    identity_like,
)
from ..records import Patches
from .kl import Description, check_invertible


def describe_wasserstein(patches: Patches) -> Description:
    """Return (mean, R) with Σ = RᵀR; R is a row of deviations for diagonal patches.

    Factored patches in many dimensions give (mean, F, FFᵀ, ε, m).
    """
    xp = array_namespace(patches.mean)
    if patches.diagonal is not None:
        return patches.mean, xp.sqrt(patches.diagonal)
    if _stays_factored(patches):
        return _describe_factored(patches)
    values, vectors = eigh(patches.covariance)
    values = xp.where(values > 0, values, xp.zeros_like(values))
    return patches.mean, xp.sqrt(values)[:, :, None] * xp.matrix_transpose(vectors)


def compare_wasserstein(left: Description, right: Description) -> Array:
    """Return the 2-Wasserstein distance of two Gaussians [1]_.

    W² = ||Δ||² + tr Σ_i + tr Σ_j - 2 tr (Σ_i^½ Σ_j Σ_i^½)^½. The covariance part is the
    smallest ||R_i - Q R_j||² over rotations Q, and computed as such: differences do not
    cancel, and near patches keep their digits. It has the unit of the data.

    References
    ----------
    .. [1] R. Bhatia, T. Jain, Y. Lim, "On the Bures-Wasserstein distance between
       positive definite matrices", Expositiones Mathematicae 37, 2019.
    """
    xp = array_namespace(left[0])
    gap = left[0] - right[0]
    means = xp.sum(gap * gap, axis=-1)
    if left[1].ndim == 2:
        spread = left[1] - right[1]
        return xp.sqrt(means + xp.sum(spread * spread, axis=-1))
    if len(left) == 2:
        return xp.sqrt(means + _bures_squared(left[1], right[1]))
    pair = _reduce(left, right)
    roots = (xp.matrix_transpose(_lower(pair.left)), _lower(pair.right))
    spread = _bures_squared(roots[0], xp.matrix_transpose(roots[1]))
    step = xp.sqrt(left[3]) - xp.sqrt(right[3])
    return xp.sqrt(means + spread + pair.n_rest * step * step)


def describe_fisher_rao(patches: Patches) -> Description:
    """Return (mean, L, L⁻¹) with Σ = LLᵀ.

    Deviations take the place of L where there is one feature, or diagonal patches:
    (mean, deviations). Factored patches in many dimensions give (mean, F, FFᵀ, ε, m).
    """
    check_invertible(patches)
    xp = array_namespace(patches.mean)
    if patches.diagonal is not None:
        return patches.mean, xp.sqrt(patches.diagonal)
    if _stays_factored(patches):
        return _describe_factored(patches)
    if patches.mean.shape[1] == 1:
        return patches.mean, xp.sqrt(patches.covariance[:, :, 0])
    lower = cholesky(patches.covariance)
    return patches.mean, lower, xp.linalg.inv(lower)


def compare_fisher_rao(left: Description, right: Description) -> Array:
    """Return the Fisher-Rao distance of two Gaussians, or a bound below it.

    One feature: the exact distance, √2 arcosh(1 + (Δ²/2 + (σ_i - σ_j)²) / (2σ_iσ_j)).
    Diagonal patches: the exact distance among diagonal Gaussians, the root of the sum
    of squares over features. Otherwise no closed form is known, and Calvo and Oller's
    distance [1]_ stands for it: Gaussians are matrices [[Σ + μμᵀ, μ], [μᵀ, 1]], and
    d² = ½ Σ log² λ over the eigenvalues of P_i⁻¹P_j. It is a metric, never above the
    Fisher-Rao distance, equal to it for equal means, and does not change under affine
    maps.

    References
    ----------
    .. [1] M. Calvo, J. M. Oller, "A distance between multivariate normal distributions
       based in an embedding into the Siegel group", J. Multivariate Analysis 35, 1990.
    """
    xp = array_namespace(left[0])
    gap = right[0] - left[0]
    if left[1].ndim == 2:
        return _hyperbolic(gap, left[1], right[1])
    if len(left) == 3:
        return xp.sqrt(_calvo_oller_squared(gap, left[2], right[1]))
    pair = _reduce(left, right)
    inverse = xp.linalg.inv(_lower(pair.left))
    inside = _calvo_oller_squared(pair.gap, inverse, _lower(pair.right))
    ratio = xp.log(left[3]) - xp.log(right[3])
    return xp.sqrt(inside + pair.n_rest * ratio * ratio / 2)


def _bures_squared(left: Array, right: Array) -> Array:
    """Return the smallest ||R_i - Q R_j||² over rotations Q: Procrustes' problem."""
    xp = array_namespace(left)
    u, _, v = xp.linalg.svd(
        xp.matmul(left, xp.matrix_transpose(right)), full_matrices=False
    )
    gap = left - xp.matmul(xp.matmul(u, v), right)
    return xp.sum(gap * gap, axis=(1, 2))


def _hyperbolic(gap: Array, left: Array, right: Array) -> Array:
    """Return the distance in a product of half-planes, one for each feature."""
    xp = array_namespace(gap)
    step = left - right
    square = (gap * gap / 2 + step * step) / (4 * left * right)
    each = xp.asinh(xp.sqrt(square))  # arcosh(1 + 2x) = 2 arsinh √x keeps small x
    return xp.sqrt(8 * xp.sum(each * each, axis=-1))


def _calvo_oller_squared(gap: Array, inverse: Array, lower: Array) -> Array:
    """Return ½ Σ log² λ, as singular values: squared, small ones would drown.

    Seen from patch i, P_i⁻¹P_j = B Bᵀ with B = [[L_i⁻¹L_j, L_i⁻¹Δ], [0, 1]].
    """
    xp = array_namespace(gap)
    top = xp.concat([lower, gap[:, :, None]], axis=2)
    top = xp.matmul(inverse, top)
    bottom = xp.zeros_like(top[:, :1, :])
    last = xp.ones_like(bottom[:, :, :1])
    bottom = xp.concat([bottom[:, :, 1:], last], axis=2)
    values = xp.linalg.svdvals(xp.concat([top, bottom], axis=1))
    least = float(xp.finfo(values.dtype).smallest_normal)
    logs = xp.log(xp.clip(values, least, None))  # 0 is what rounding made of less
    return 2 * xp.sum(logs * logs, axis=-1)


class _ReducedPair(NamedTuple):
    """Two factored patches in the few dimensions in which they differ."""

    gap: Array
    left: Array
    right: Array
    n_rest: Array


def _stays_factored(patches: Patches) -> bool:
    if patches.factor is None:
        return False
    _, r, m = patches.factor.shape
    return 2 * r + 1 < m or patches.n_features is not None


def _describe_factored(patches: Patches) -> Description:
    xp = array_namespace(patches.factor)
    gram = xp.matmul(patches.factor, xp.matrix_transpose(patches.factor))
    return patches.mean, patches.factor, gram, patches.noise, patches.counts


def _reduce(left: Description, right: Description) -> _ReducedPair:
    """Move the factors and the gap of the means into 2r + 1 dimensions.

    Rows H with the same inner products, HHᵀ = C, are the same points in other
    coordinates.
    """
    xp = array_namespace(left[0])
    mean_i, factor_i, gram_i, noise_i, m = left
    mean_j, factor_j, gram_j, noise_j, _ = right
    r = factor_i.shape[1]
    gap = (mean_j - mean_i)[:, None, :]
    others = xp.matrix_transpose(xp.concat([factor_j, gap], axis=1))
    top = xp.concat([gram_i, xp.matmul(factor_i, others)], axis=2)
    middle = xp.matmul(factor_j, others[:, :, r:])
    middle = xp.concat([xp.matrix_transpose(top[:, :, r:-1]), gram_j, middle], axis=2)
    column = [top[:, :, -1:], middle[:, :, -1:], xp.matmul(gap, others[:, :, r:])]
    bottom = xp.matrix_transpose(xp.concat(column, axis=1))
    products = xp.concat([top, middle, bottom], axis=1)
    values, vectors = eigh(products)
    values = xp.where(values > 0, values, xp.zeros_like(values))
    rows = vectors * xp.sqrt(values)[:, None, :]
    return _ReducedPair(
        rows[:, 2 * r, :],
        _covariance(rows[:, :r, :], noise_i),
        _covariance(rows[:, r : 2 * r, :], noise_j),
        m - 2 * r - 1,
    )


def _covariance(factor: Array, noise: Array) -> Array:
    xp = array_namespace(factor)
    gram = xp.matmul(xp.matrix_transpose(factor), factor)
    return add_to_diagonals(gram, noise)


def _lower(covariance: Array) -> Array:
    """Return the Cholesky factor, with a floor of rounding for what is singular."""
    xp = array_namespace(covariance)
    limits = xp.finfo(covariance.dtype)
    floor = 4 * covariance.shape[-1] * float(limits.eps)
    total = xp.sum(xp.linalg.diagonal(covariance), axis=-1)
    floor = floor * total + float(limits.smallest_normal) ** 0.5
    return cholesky(covariance + floor[:, None, None] * identity_like(covariance))
