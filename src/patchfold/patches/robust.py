"""Points of patches, and their centres: means, or robust ones."""

from __future__ import annotations

from scipy.special import gammainc, gammaincinv

from ..backends.backend import Array, array_namespace

MEDIAN_STEPS = 30
"""Steps to the spatial median: then it moves by far less than the points' chance."""

MEDIAN_SMOOTHING = 1e-3
"""Part of the median distance below which distances are rounded off: none is 0."""


def robust_points(points: Array) -> tuple[Array, Array]:
    """Return the spatial median of every patch, and its points, outliers pulled in.

    Points farther from the median than half of them are moved towards it, to the
    median radius; their covariance is the generalised spatial sign covariance with
    "Winsor" radii [1]_, which stays bounded while outliers are fewer than half. It is
    divided by what it would be, in units of the variance, for an isotropic Gaussian.

    Where more than half of the points are one, radii say nothing and no point moves.

    Parameters
    ----------
    points : array (n, p, m)
        Points, best from near the origin.

    Returns
    -------
    center : array (n, 1, m)
    pulled : array (n, p, m)
        Relative to the centre.

    References
    ----------
    .. [1] J. Raymaekers, P. Rousseeuw, "A generalized spatial sign covariance matrix",
       J. Multivariate Analysis 171, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[-2.0], [-1], [0], [1], [99]])[None]
    >>> center, pulled = robust_points(points)
    >>> center.round(2).item(), bool(abs(pulled).max() < 2)
    (0.0, True)
    """
    xp = array_namespace(points)
    center = _spatial_median(points)
    radius = _distances(points, center)
    limit = _median(radius)
    limit = xp.where(limit > 0, limit, xp.max(radius, axis=1, keepdims=True))
    far = radius > limit
    factor = xp.where(far, limit / xp.where(far, radius, limit + 1), 1 + 0 * radius)
    return center, (points - center) * factor / _winsor_scale(points.shape[2])


def _spatial_median(points: Array) -> Array:
    """Return the point of least summed distance to all, by Weiszfeld's iteration.

    Where more than half of the points are one, it is the answer.
    """
    xp = array_namespace(points)
    heap = _median(points)
    moves = _median(_distances(points, heap)) > 0
    center = xp.where(moves, xp.mean(points, axis=1, keepdims=True), heap)
    for _ in range(MEDIAN_STEPS):
        distance = _distances(points, center)
        smoothing = MEDIAN_SMOOTHING * _median(distance)
        smoothing = xp.where(moves, smoothing, xp.ones_like(smoothing))
        weight = 1 / xp.sqrt(distance * distance + smoothing * smoothing)
        share = weight / xp.sum(weight, axis=1, keepdims=True)
        mean = xp.sum(share * points, axis=1, keepdims=True)
        center = xp.where(moves, mean, heap)
    return center


def _distances(points: Array, center: Array) -> Array:
    xp = array_namespace(points)
    gap = points - center
    return xp.sqrt(xp.sum(gap * gap, axis=2, keepdims=True))


def _median(values: Array) -> Array:
    """Return the medians along the second axis, which stays as one."""
    xp = array_namespace(values)
    ordered = xp.sort(values, axis=1)
    p = values.shape[1]
    low, high = (p - 1) // 2, p // 2
    return (ordered[:, low : low + 1, :] + ordered[:, high : high + 1, :]) / 2


def _winsor_scale(m: int) -> float:
    """Return √E[min(r, median)²/m] of the radius r of a standard Gaussian."""
    half = float(gammaincinv(m / 2, 0.5))  # half the median of r², which is χ²
    return float(gammainc(m / 2 + 1, half) + half / m) ** 0.5


def points_of_patches(
    centers: Array, X: Array, indices: Array, include_center: bool
) -> Array:
    """Return the points (q, p, m) of patches, the centre first where it is one."""
    xp = array_namespace(X)
    points = xp.take(X, xp.reshape(indices, (-1,)), axis=0)
    points = xp.reshape(points, (*indices.shape, X.shape[1]))
    if include_center:
        points = xp.concat([centers[:, None, :], points], axis=1)
    return points


def center_points(points: Array, *, robust: bool) -> tuple[Array, Array]:
    """Return means (q, m) and centred points (q, p, m) of points (q, p, m)."""
    # From the first point, so that identical points differ by exactly nothing.
    first = points[:, :1, :]
    gaps = points - first
    if robust:
        offset, centred = robust_points(gaps)
    else:
        offset = array_namespace(gaps).mean(gaps, axis=1, keepdims=True)
        centred = gaps - offset
    return (first + offset)[:, 0, :], centred
