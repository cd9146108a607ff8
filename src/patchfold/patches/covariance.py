"""What a covariance can be made of: shrinkage by a rule, leading directions alone.

The rule that all covariances follow is in `fitting.py`. Arrays have a leading axis of
patches, p points each, m features.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

from ..backends.arrays import cumulative_sum, eigh, svd_of_rows
from ..backends.backend import Array, array_namespace
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


def choose_shrinkage(
    rule: str, products: Array, total: Array, p: int, m: int, squares: Array | None
) -> Array:
    """Return γ of every patch by a rule.

    Parameters
    ----------
    rule : {"oas", "ledoit_wolf"}
        Its name.
    products : array (n, r, r)
        Covariances, or as factors have the same squares, products of points.
    total : array (n,)
        Traces of the covariances.
    p, m : int
        Points and features.
    squares : array (n, p, m) or None
        The centred points squared; "oas" does without.
    """
    xp = array_namespace(total)
    divisor = max(p - 1, 1)
    norm = xp.sum(products * products, axis=(1, 2)) * divisor**2
    fourth = None
    if squares is not None:
        radius = xp.sum(squares, axis=2)
        fourth = xp.sum(radius * radius, axis=1)
    return shrinkage_by_rule(rule, norm, total * divisor, fourth, p, m)


def cut_covariance(
    covariance: Array, total: Array, n_directions: float
) -> tuple[Array, Array]:
    """Return covariances whose lesser directions share a variance, and the count kept.

    Parameters as in `leading_directions`.
    """
    xp = array_namespace(covariance)
    values, vectors = eigh(covariance)
    values, vectors = xp.flip(values, axis=1), xp.flip(vectors, axis=2)
    kept, rest = leading_directions(values, total, n_directions, values.shape[1])
    values = xp.where(kept > 0, values, rest[:, None])
    scaled = vectors * values[:, None, :]
    covariance = xp.matmul(scaled, xp.matrix_transpose(vectors))
    return covariance, xp.sum(kept, axis=1)


def cut_factor(
    factor: Array, total: Array, n_directions: float, m: int
) -> tuple[Array, Array, Array]:
    """Do that to factors (n, p, m): return them, the shared variance, the count."""
    xp = array_namespace(factor)
    singular, directions = svd_of_rows(factor)
    kept, rest = leading_directions(singular * singular, total, n_directions, m)
    excess = kept * (singular * singular - rest[:, None])
    excess = xp.sqrt(xp.where(excess > 0, excess, xp.zeros_like(excess)))
    return excess[:, :, None] * directions, rest, xp.sum(kept, axis=1)


def cut_diagonal(
    variances: Array, total: Array, n_directions: float
) -> tuple[Array, Array]:
    """Do that to the variances (n, m) of a diagonal model."""
    xp = array_namespace(variances)
    ordered = xp.flip(xp.sort(variances, axis=1), axis=1)
    kept, rest = leading_directions(ordered, total, n_directions, variances.shape[1])
    least = xp.min(xp.where(kept > 0, ordered, ordered[:, :1]), axis=1)
    keep = variances >= least[:, None]
    return xp.where(keep, variances, rest[:, None]), xp.sum(kept, axis=1)


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
