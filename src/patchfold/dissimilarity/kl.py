"""Pairs of patches -> numbers: divergences between local Gaussians, batched over pairs.

Each divergence is two functions. `describe_*` computes once per patch what every edge
of it will need; `compare_*` takes two equally long batches of such descriptions and
returns one number per pair. Adding one is two functions and a row in the table of
`dissimilarity.py`.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from ..backends.arrays import cholesky
from ..backends.backend import Array, array_namespace, identity_like
from ..backends.native.patches import invert_packed, packed_products
from ..backends.threads import fill_blocks
from ..exceptions import SingularPatchError
from ..records import Patches

Description = tuple[Array, ...]
"""What is kept of patches: arrays with one row per patch each, mostly a named tuple."""


class PackedGaussians(NamedTuple):
    """Means, covariances and their inverses, as `compare_kl` reads them.

    A symmetric matrix is packed as its upper triangle, and the off-diagonal entries of
    the inverse count twice, so that the trace of a product is a plain inner product
    over p = m(m+1)/2 numbers. Of diagonal patches there are p = m variances.

    Attributes
    ----------
    mean : array (n, m)
    covariance : array (n, p)
    precision : array (n, p)
    """

    mean: Array
    covariance: Array
    precision: Array


class FactoredGaussians(NamedTuple):
    """Σ = FᵀF + ε I; by Woodbury Σ⁻¹ = (I - BᵀB)/ε, B = L⁻¹F with LLᵀ = ε I + FFᵀ.

    Attributes
    ----------
    mean : array (n, m)
    factor : array (n, r, m)
        F.
    inverse : array (n, r, r)
        L⁻¹.
    noise : array (n,)
        ε.
    norm, whitened : arrays (n,)
        ||F||² and ||B||².
    n_features : array (n,)
        Number of features.
    """

    mean: Array
    factor: Array
    inverse: Array
    noise: Array
    norm: Array
    whitened: Array
    n_features: Array


def describe_euclidean(patches: Patches) -> Description:
    """Return the sample itself: the dissimilarity that ignores the neighbourhood."""
    return (patches.center,)


def compare_euclidean(left: Description, right: Description) -> Array:
    """Return ||x_i - x_j||."""
    xp = array_namespace(left[0])
    difference = left[0] - right[0]
    return xp.sqrt(xp.sum(difference * difference, axis=-1))


def check_invertible(patches: Patches) -> None:
    """Raise SingularPatchError if a covariance that nothing regularises is singular."""
    xp = array_namespace(patches.center)
    n, m = patches.center.shape
    eps = m * float(xp.finfo(patches.noise.dtype).eps)
    if patches.diagonal is not None:
        largest = xp.max(patches.diagonal, axis=1)
        singular = xp.min(patches.diagonal, axis=1) <= eps * largest
    elif patches.dense is None:
        flat = xp.reshape(patches.factor, (n, -1))
        spread = xp.vecdot(flat, flat)
        singular = patches.noise <= eps * spread
    elif float(xp.min(patches.noise)) > eps * float(xp.max(patches.dense)):
        return
    else:
        values = xp.linalg.eigvalsh(patches.dense)
        singular = values[:, 0] <= eps * values[:, -1]
    count = int(xp.sum(xp.astype(singular, xp.int64)))
    if count:
        raise SingularPatchError(
            f"{count} of {n} patch covariances are singular, and nothing "
            "regularises them. Set ridge above 0 (1e-3 in the papers' scripts), or "
            "raise n_neighbors or radius: patches need more points than features."
        )


def describe_kl(patches: Patches) -> PackedGaussians | FactoredGaussians:
    """Return what symmetrised KL needs of a patch: Σ and Σ⁻¹, or factors.

    Where the packed matrices take less room than the factors, they are given instead:
    pairs are compared faster.
    """
    check_invertible(patches)
    n, m = patches.mean.shape
    if patches.diagonal is not None:
        return PackedGaussians(patches.mean, patches.diagonal, 1 / patches.diagonal)
    rank = m if patches.dense is not None else patches.factor.shape[1]
    if m < 2 * rank and patches.n_features is None:  # packed matrices are smaller
        work = partial(_describe_dense, patches)
        return PackedGaussians(patches.mean, *fill_blocks(work, n, 8 * 5 * m * m))
    work = partial(_describe_factors, patches)
    inverse, *norms = fill_blocks(work, n, 8 * rank * (5 * rank + m))
    ends = patches.noise, *norms, patches.counts
    return FactoredGaussians(patches.mean, patches.factor, inverse, *ends)


def _describe_dense(patches: Patches, block: slice) -> Description:
    """Return Σ and Σ⁻¹ packed."""
    packed = None
    if patches.dense is not None:
        packed = _pack(patches.dense[block, ...])
    elif patches.factor is not None:
        packed = packed_products(patches.factor[block, ...], patches.noise[block])
    if packed is None:
        packed = _pack(patches.take(block).covariance)
    inverted = invert_packed(packed)
    if inverted is not None:
        return packed, inverted
    xp = array_namespace(patches.mean)
    precision = xp.linalg.inv(patches.take(block).covariance)
    both = _pack(precision) + _pack(xp.matrix_transpose(precision))
    row, column = _triangle(precision.shape[-1])
    on_diagonal = xp.asarray(row == column, dtype=both.dtype, device=both.device)
    return packed, both * (1 - on_diagonal / 2)


def _describe_factors(patches: Patches, block: slice) -> Description:
    """Return L⁻¹ and the squared norms of F and of B = L⁻¹F."""
    xp = array_namespace(patches.mean)
    factor, noise = patches.factor[block, ...], patches.noise[block][:, None, None]
    gram = xp.matmul(factor, xp.matrix_transpose(factor))
    inverse = xp.linalg.inv(cholesky(gram + noise * identity_like(gram)))
    whitened = xp.sum(inverse * xp.matmul(inverse, gram), axis=(1, 2))
    return inverse, xp.sum(xp.linalg.diagonal(gram), axis=-1), whitened


def compare_kl(
    left: PackedGaussians | FactoredGaussians,
    right: PackedGaussians | FactoredGaussians,
) -> Array:
    """Return the symmetrised KL divergence of two Gaussians (ELAP eq. 40).

    ¼ [tr(Σ_i⁻¹Σ_j) + tr(Σ_j⁻¹Σ_i) + Δᵀ(Σ_i⁻¹ + Σ_j⁻¹)Δ] - m/2, where the traces
    less 2m are written tr[(Σ_i - Σ_j)(Σ_j⁻¹ - Σ_i⁻¹)]: nothing large cancels, and two
    equal patches are at distance exactly 0. Factored patches have no such form; there
    equal patches are at a distance of rounding.
    """
    if isinstance(left, PackedGaussians):
        return _kl_packed(left, right)  # type: ignore[arg-type]
    return _kl_factored(left, right)  # type: ignore[arg-type]


def _kl_packed(left: PackedGaussians, right: PackedGaussians) -> Array:
    xp = array_namespace(left.mean)
    gap = left.covariance - right.covariance
    traces = xp.vecdot(gap, right.precision - left.precision)
    delta = left.mean - right.mean
    if gap.shape == delta.shape:  # diagonal, or one feature
        outer = delta * delta
    else:
        row, column = _triangle(delta.shape[1])
        row = xp.asarray(row, device=delta.device)
        column = xp.asarray(column, device=delta.device)
        outer = xp.take(delta, row, axis=1) * xp.take(delta, column, axis=1)
    means = xp.vecdot(outer, left.precision) + xp.vecdot(outer, right.precision)
    return not_negative((traces + means) / 4)


def _kl_factored(left: FactoredGaussians, right: FactoredGaussians) -> Array:
    xp = array_namespace(left.mean)
    delta = left.mean - right.mean
    cross = xp.matmul(left.factor, xp.matrix_transpose(right.factor))
    one_way = _trace_and_mean(left, right, delta, cross)
    other_way = _trace_and_mean(right, left, delta, xp.matrix_transpose(cross))
    step = left.noise - right.noise
    isotropic = left.n_features * ((step / left.noise) * (step / right.noise))
    return not_negative((one_way + other_way + isotropic) / 4)


def _trace_and_mean(
    inverted: FactoredGaussians, other: FactoredGaussians, delta: Array, cross: Array
) -> Array:
    """Return tr(Σ_i⁻¹ Σ_j) + Δᵀ Σ_i⁻¹ Δ but for m ε_j/ε_i, Σ_i inverted by Woodbury.

    `cross` is F_i F_jᵀ. The isotropic parts of both ways less 2m are one square.
    """
    xp = array_namespace(delta)
    along = xp.matmul(inverted.inverse, xp.matmul(inverted.factor, delta[:, :, None]))
    trace = other.norm - _square(xp.matmul(inverted.inverse, cross))
    mean = xp.sum(delta * delta, axis=-1) - _square(along)
    return (trace - other.noise * inverted.whitened + mean) / inverted.noise


def not_negative(values: Array) -> Array:
    """Clip rounding below zero: a divergence is never negative. NaN stays."""
    xp = array_namespace(values)
    return xp.where(values < 0, xp.zeros_like(values), values)


def _square(matrices: Array) -> Array:
    """Return the squared Frobenius norm of each matrix of a batch."""
    xp = array_namespace(matrices)
    return xp.sum(matrices * matrices, axis=(1, 2))


_triangle = lru_cache(np.triu_indices)
"""Rows and columns of an upper triangle: as costly as a hundred pairs are to compare,
and wanted in every block of them."""


def _pack(matrices: Array) -> Array:
    """Flatten the upper triangles of a batch of m x m matrices."""
    xp, m = array_namespace(matrices), matrices.shape[-1]
    row, column = _triangle(m)
    places = xp.asarray(row * m + column, device=matrices.device)
    flat = xp.reshape(matrices, (matrices.shape[0], m * m))
    return xp.take(flat, places, axis=1)
