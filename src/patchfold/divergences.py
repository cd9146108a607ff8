"""Pairs of patches -> numbers: divergences between local Gaussians, batched over pairs.

Each divergence is two functions. `describe_*` computes once per patch what every edge
of it will need; `compare_*` takes two equally long batches of such descriptions and
returns one number per pair. Adding one is two functions and a row in the table of
`dissimilarity.py`.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ._arrays import Array, array_namespace
from ._blocks import fill_blocks
from .patches import Patches, check_invertible, identity_like

Description = tuple[Array, ...]


def describe_euclidean(patches: Patches) -> Description:
    """Return the sample itself: the dissimilarity that ignores the neighbourhood."""
    return (patches.center,)


def compare_euclidean(left: Description, right: Description) -> Array:
    """Return ||x_i - x_j||."""
    xp = array_namespace(left[0])
    difference = left[0] - right[0]
    return xp.sqrt(xp.sum(difference * difference, axis=-1))


def describe_kl(patches: Patches) -> Description:
    """Return what symmetrised KL needs of a patch: means, Σ and Σ⁻¹, or factors.

    Dense patches give (mean, Σ packed, Σ⁻¹ packed). A symmetric matrix is packed as
    its upper triangle, and the off-diagonal entries of Σ⁻¹ count twice, so that the
    trace of a product is a plain inner product over m(m+1)/2 numbers; of diagonal
    patches the m variances and their inverses are enough.

    Factored patches Σ = FᵀF + ε I give (mean, F, B, ε, ||F||², ||B||²) with
    B = L⁻¹F, LLᵀ = ε I + FFᵀ; by Woodbury Σ⁻¹ = (I - BᵀB)/ε. Where the packed matrices
    take less room than the factors, these are given instead: pairs are compared faster.
    """
    check_invertible(patches)
    n, m = patches.mean.shape
    if patches.diagonal is not None:
        return patches.mean, patches.diagonal, 1 / patches.diagonal
    rank = m if patches.dense is not None else patches.factor.shape[1]
    if m < 2 * rank:  # packed matrices are smaller than factors
        work = partial(_describe_dense, patches)
        return patches.mean, *fill_blocks(work, n, 8 * 5 * m * m)
    work = partial(_describe_factors, patches)
    whitened, *norms = fill_blocks(work, n, 8 * rank * (3 * rank + 4 * m))
    return patches.mean, patches.factor, whitened, patches.noise, *norms


def _describe_dense(patches: Patches, block: slice) -> Description:
    """Return Σ and Σ⁻¹ packed."""
    xp = array_namespace(patches.mean)
    covariance = patches.rows(block).covariance
    precision = xp.linalg.inv(covariance)
    precision = (precision + xp.matrix_transpose(precision)) / 2
    doubled = 2 * precision - precision * identity_like(precision)
    return _pack(covariance), _pack(doubled)


def _describe_factors(patches: Patches, block: slice) -> Description:
    """Return B and the squared norms of F and B."""
    xp = array_namespace(patches.mean)
    factor, noise = patches.factor[block, ...], patches.noise[block][:, None, None]
    gram = xp.matmul(factor, xp.matrix_transpose(factor))
    lower = xp.linalg.cholesky(gram + noise * identity_like(gram))
    whitened = xp.linalg.solve(lower, factor)
    return whitened, _square(factor), _square(whitened)


def compare_kl(left: Description, right: Description) -> Array:
    """Return the symmetrised KL divergence of two Gaussians (ELAP eq. 40).

    ¼ [tr(Σ_i⁻¹Σ_j) + tr(Σ_j⁻¹Σ_i) + Δᵀ(Σ_i⁻¹ + Σ_j⁻¹)Δ] - m/2, where the traces
    less 2m are written tr[(Σ_i - Σ_j)(Σ_j⁻¹ - Σ_i⁻¹)]: nothing large cancels, and two
    equal patches are at distance exactly 0. Factored patches have no such form; there
    equal patches are at a distance of rounding.
    """
    return _kl_dense(left, right) if len(left) == 3 else _kl_factored(left, right)


def _kl_dense(left: Description, right: Description) -> Array:
    xp = array_namespace(left[0])
    mean_i, cov_i, precision_i = left
    mean_j, cov_j, precision_j = right
    traces = xp.vecdot(cov_i - cov_j, precision_j - precision_i)
    delta = mean_i - mean_j
    if cov_i.shape == delta.shape:  # diagonal, or one feature
        outer = delta * delta
    else:
        row, column = _upper_triangle(delta)
        outer = xp.take(delta, row, axis=1) * xp.take(delta, column, axis=1)
    means = xp.vecdot(outer, precision_i + precision_j)
    return not_negative((traces + means) / 4)


def _kl_factored(left: Description, right: Description) -> Array:
    m = left[0].shape[-1]
    delta = left[0] - right[0]
    one_way = _trace_and_mean(left, right, delta, m)
    other_way = _trace_and_mean(right, left, delta, m)
    return not_negative((one_way + other_way) / 4 - m / 2)


def _trace_and_mean(
    inverted: Description, other: Description, delta: Array, m: int
) -> Array:
    """Return tr(Σ_i⁻¹ Σ_j) + Δᵀ Σ_i⁻¹ Δ, with Σ_i inverted by Woodbury."""
    xp = array_namespace(delta)
    _, _, whitened, noise, _, whitened_norm = inverted
    _, factor, _, other_noise, factor_norm, _ = other
    cross = _square(xp.matmul(whitened, xp.matrix_transpose(factor)))
    along = xp.matmul(whitened, delta[:, :, None])[:, :, 0]
    trace = factor_norm + m * other_noise - cross - other_noise * whitened_norm
    mean = xp.sum(delta * delta, axis=-1) - xp.sum(along * along, axis=-1)
    return (trace + mean) / noise


def not_negative(values: Array) -> Array:
    """Clip rounding below zero: a divergence is never negative."""
    xp = array_namespace(values)
    return xp.where(values > 0, values, xp.zeros_like(values))


def _square(matrices: Array) -> Array:
    """Return the squared Frobenius norm of each matrix of a batch."""
    xp = array_namespace(matrices)
    return xp.sum(matrices * matrices, axis=(1, 2))


def _upper_triangle(like: Array) -> tuple[Array, Array]:
    """Return rows and columns of the upper triangle, for the last axis of `like`."""
    xp = array_namespace(like)
    row, column = np.triu_indices(like.shape[-1])
    return (
        xp.asarray(row, device=like.device),
        xp.asarray(column, device=like.device),
    )


def _pack(matrices: Array) -> Array:
    """Flatten the upper triangles of a batch of m x m matrices."""
    xp = array_namespace(matrices)
    m = matrices.shape[-1]
    row, column = _upper_triangle(matrices)
    flat = xp.reshape(matrices, (matrices.shape[0], m * m))
    return xp.take(flat, row * m + column, axis=1)
