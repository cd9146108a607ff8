"""Pairs of patches -> numbers: how little two densities overlap, batched over pairs.

Bhattacharyya, Hellinger and Cauchy-Schwarz compare two Gaussians, "kde" two kernel
density estimates. All four look at a pair through its mean covariance
Σ̄ = (Σ_i + Σ_j)/2, and need two things of it: the log ratio of determinants

    r = log|Σ̄| - ½ log|Σ_i| - ½ log|Σ_j|  >= 0,

and inner products in the metric Σ̄⁻¹. Unlike for KL, nothing of Σ̄ is known before the
pair is, so an edge costs a Cholesky factor. It is of size m, or of twice the points of
a patch where patches are kept factored: Σ̄ is then never formed.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ..backends.arrays import cholesky
from ..backends.backend import Array, array_namespace, identity_like
from ..backends.threads import map_blocks
from ..records import Patches
from .kl import Description, check_invertible, not_negative

FAR = 0.999
"""Beyond this ((a - b) / (a + b))², one number is more than 4,000 times the other."""


def describe_overlap(patches: Patches) -> Description:
    """Return what the mean covariance of a pair needs of each patch.

    (mean, variances) of diagonal patches, (mean, Σ, log|Σ|) of dense ones, and
    (mean, F, FFᵀ, ε, log|I + FFᵀ/ε|, m) of factored ones, Σ = FᵀF + ε I.
    """
    check_invertible(patches)
    xp = array_namespace(patches.mean)
    if patches.diagonal is not None:
        return patches.mean, patches.diagonal
    if patches.dense is not None:
        nothing = xp.zeros_like(patches.mean[:, None, :])
        return patches.mean, patches.dense, _border(patches.dense, nothing)[0]
    factor, noise = patches.factor, patches.noise
    gram = xp.matmul(factor, xp.matrix_transpose(factor))
    scaled = gram / noise[:, None, None]
    nothing = xp.zeros_like(scaled[:, :1, :])
    determinant = _border(scaled + identity_like(scaled), nothing)[0]
    return patches.mean, factor, gram, noise, determinant, patches.counts


def compare_bhattacharyya(left: Description, right: Description) -> Array:
    """Return the Bhattacharyya distance ⅛ ΔᵀΣ̄⁻¹Δ + ½ r: minus the log of ∫√(pq)."""
    gap, ratio = _gap_and_ratio(left, right)
    return not_negative(gap / 8 + ratio / 2)


def compare_hellinger(left: Description, right: Description) -> Array:
    """Return the Hellinger distance √(1 - ∫√(pq)), a metric, from 0 to 1."""
    xp = array_namespace(left[0])
    return xp.sqrt(-xp.expm1(-compare_bhattacharyya(left, right)))


def compare_cauchy_schwarz(left: Description, right: Description) -> Array:
    """Return the Cauchy-Schwarz divergence -log(∫pq / √(∫p² ∫q²)) = ¼ ΔᵀΣ̄⁻¹Δ + ½ r."""
    gap, ratio = _gap_and_ratio(left, right)
    return not_negative(gap / 4 + ratio / 2)


def describe_kde(patches: Patches) -> Description:
    """Return, besides the covariance, the centred points and the log of ∫p².

    The density of a patch has a Gaussian kernel at each of its p points. The kernel's
    covariance is the patch's own, regularised, times Scott's factor p^(-2/(m+4)), as in
    `scipy.stats.gaussian_kde`; with `shrinkage=1` it is the same in all directions.
    Patches of different sizes are padded with NaN; such places get no weight.
    """
    xp = array_namespace(patches.mean)
    points = patches.points - patches.mean[:, None, :]
    _, p, m = points.shape
    inside = ~xp.isnan(points[:, :, 0])
    points = xp.where(inside[:, :, None], points, xp.zeros_like(points))
    count = xp.sum(xp.astype(inside, points.dtype), axis=1)
    base = describe_overlap(_times(patches, count ** (-2 / (m + 4))))
    nothing = xp.zeros_like(points[:, :, 0])
    log_weight = xp.where(inside, nothing, nothing - xp.inf) - xp.log(count)[:, None]
    estimate = (*base, points, log_weight)

    def overlap(block: slice) -> Array:
        own = tuple(part[block, ...] for part in estimate)
        return _log_overlap(own, own)[0]

    size = 8 * 8 * p * (p + m)
    itself = xp.concat(map_blocks(overlap, points.shape[0], size))
    return (*estimate, itself)


def _times(patches: Patches, scale: Array) -> Patches:
    """Multiply the covariance of each patch by a number."""
    xp = array_namespace(scale)

    def scaled(values: Array, factor: Array) -> Array:
        if values is None:
            return None
        return values * xp.reshape(factor, (-1, *(1,) * (values.ndim - 1)))

    return replace(
        patches,
        dense=scaled(patches.dense, scale),
        factor=scaled(patches.factor, xp.sqrt(scale)),
        diagonal=scaled(patches.diagonal, scale),
        noise=scaled(patches.noise, scale),
    )


def work_of_kde(description: Description) -> int:
    """Return how many numbers a pair takes besides its descriptions: all distances."""
    p = description[-2].shape[-1]
    return 8 * p * p


def compare_kde(left: Description, right: Description) -> Array:
    """Return the Cauchy-Schwarz divergence of two kernel density estimates.

    Of the divergences between such mixtures it is one with a closed form: the integral
    of a product is a mean over pairs of points, of N(x_a - y_b; 0, H_i + H_j) with
    kernels H.
    """
    product, ratio = _log_overlap(left[:-1], right[:-1])
    return not_negative((left[-1] + right[-1]) / 2 - product + ratio / 2)


def _log_overlap(left: Description, right: Description) -> tuple[Array, Array]:
    """Return log ∫pq less its log determinant, and the ratio r, of two estimates."""
    xp = array_namespace(left[0])
    p = left[-1].shape[-1]
    shift = (right[0] - left[0])[:, None, :]
    rows = xp.concat([left[-2], right[-2] + shift], axis=1)
    inner, ratio = _inner_products(left[:-2], right[:-2], rows)
    squares = xp.linalg.diagonal(inner)
    distance = squares[:, :p, None] + squares[:, None, p:] - 2 * inner[:, :p, p:]
    exponent = left[-1][:, :, None] + right[-1][:, None, :] - not_negative(distance) / 4
    largest = xp.max(exponent, axis=(1, 2))
    terms = xp.exp(exponent - largest[:, None, None])
    return largest + xp.log(xp.sum(terms, axis=(1, 2))), ratio


def _gap_and_ratio(left: Description, right: Description) -> tuple[Array, Array]:
    """Return ΔᵀΣ̄⁻¹Δ and the ratio r of every pair."""
    inner, ratio = _inner_products(left, right, (left[0] - right[0])[:, None, :])
    return inner[:, 0, 0], ratio


def _inner_products(
    left: Description, right: Description, rows: Array
) -> tuple[Array, Array]:
    """Return V Σ̄⁻¹ Vᵀ for the rows V (E, k, m) of every pair, and its ratio r."""
    xp = array_namespace(rows)
    if len(left) == 2:
        mean = (left[1] + right[1]) / 2
        ratio = xp.sum(_log_ratio(left[1], right[1]), axis=-1)
        white = rows / xp.sqrt(mean)[:, None, :]
    elif len(left) == 3:
        determinant, white = _border((left[1] + right[1]) / 2, rows)
        ratio = determinant - (left[2] + right[2]) / 2
    else:
        return _inner_products_factored(left, right, rows)
    return xp.matmul(white, xp.matrix_transpose(white)), ratio


def _inner_products_factored(
    left: Description, right: Description, rows: Array
) -> tuple[Array, Array]:
    """Return the same by Woodbury: with G the factors of both, Σ̄ = GᵀG/2 + ε̄ I."""
    xp = array_namespace(rows)
    _, factor_i, gram_i, noise_i, determinant_i, m = left
    _, factor_j, gram_j, noise_j, determinant_j, _ = right
    twice = (noise_i + noise_j)[:, None, None]
    cross = xp.matmul(factor_i, xp.matrix_transpose(factor_j))
    gram = xp.concat(
        [
            xp.concat([gram_i, cross], axis=2),
            xp.concat([xp.matrix_transpose(cross), gram_j], axis=2),
        ],
        axis=1,
    )
    scaled = gram / twice
    both = xp.concat([factor_i, factor_j], axis=1)
    along = xp.matmul(rows, xp.matrix_transpose(both)) / xp.sqrt(twice)
    determinant, white = _border(scaled + identity_like(scaled), along)
    inner = xp.matmul(rows, xp.matrix_transpose(rows))
    inner = inner - xp.matmul(white, xp.matrix_transpose(white))
    ratio = determinant - (determinant_i + determinant_j) / 2
    isotropic = m * _log_ratio(noise_i, noise_j)
    return 2 * inner / twice, ratio + isotropic


def _log_ratio(a: Array, b: Array) -> Array:
    """Return log((a + b)/2) - ½ log(ab), exactly 0 where a equals b."""
    xp = array_namespace(a)
    part = (a - b) / (a + b)
    square = part * part
    is_far = square > FAR  # 1 - square has lost its digits
    near = -xp.log1p(-xp.where(is_far, xp.zeros_like(square), square)) / 2
    far = xp.log(a + b) - math.log(2) - (xp.log(a) + xp.log(b)) / 2
    return xp.where(is_far, far, near)


def _border(matrices: Array, rows: Array) -> tuple[Array, Array]:
    """Return log|S| and V L⁻ᵀ, where S = LLᵀ, for rows V of every S.

    The array API has no triangular solve, but a Cholesky factor is one: bordered by V
    below and by something huge in the corner, S has the factor [[L, 0], [V L⁻ᵀ, ...]].
    """
    xp = array_namespace(matrices)
    n, k, size = rows.shape
    if k > size:  # many rows: L⁻ᵀ once, then a product
        identity = xp.broadcast_to(identity_like(matrices), matrices.shape)
        determinant, inverse = _border(matrices, identity)
        return determinant, xp.matmul(rows, inverse)
    huge = float(xp.finfo(rows.dtype).max) ** 0.75
    corner = huge * xp.eye(k, dtype=rows.dtype, device=rows.device)
    corner = xp.broadcast_to(corner, (n, k, k))
    top = xp.concat([matrices, xp.matrix_transpose(rows)], axis=2)
    bottom = xp.concat([rows, corner], axis=2)
    lower = cholesky(xp.concat([top, bottom], axis=1))
    diagonal = xp.linalg.diagonal(lower)[:, :size]
    return 2 * xp.sum(xp.log(diagonal), axis=-1), lower[:, size:, :size]
