"""Divergences of Gaussians and of density estimates, one pair at a time: the oracle.

These are the divergences that the papers name but do not write down. A Gaussian is
``(mean, covariance)``, a density estimate ``(points, kernel)`` with one kernel
covariance for all its points. Nothing of the library under test is used.
"""

import math

import numpy as np


def square_root(matrix):
    """Symmetric square root of a positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors @ np.diag(np.sqrt(np.maximum(values, 0))) @ vectors.T


def normal_density(x, mean, covariance):
    """Density of a Gaussian at one point."""
    gap = x - mean
    power = gap @ np.linalg.inv(covariance) @ gap / 2
    return math.exp(-power) / math.sqrt(np.linalg.det(2 * math.pi * covariance))


def bhattacharyya(p, q):
    """Minus the logarithm of the integral of sqrt(pq), in closed form."""
    mean = (p[1] + q[1]) / 2
    gap = p[0] - q[0]
    determinants = np.linalg.det(p[1]) * np.linalg.det(q[1])
    return gap @ np.linalg.inv(mean) @ gap / 8 + 0.5 * math.log(
        np.linalg.det(mean) / math.sqrt(determinants)
    )


def hellinger(p, q):
    """Square root of 1 - integral of sqrt(pq)."""
    return math.sqrt(1 - math.exp(-bhattacharyya(p, q)))


def cauchy_schwarz(p, q):
    """Minus log of (integral of pq) / sqrt(integral of p^2 times that of q^2)."""
    product = normal_density(p[0], q[0], p[1] + q[1])
    own = normal_density(p[0], p[0], 2 * p[1]) * normal_density(q[0], q[0], 2 * q[1])
    return -math.log(product / math.sqrt(own))


def wasserstein(p, q):
    """2-Wasserstein distance of two Gaussians."""
    root = square_root(p[1])
    cross = np.trace(square_root(root @ q[1] @ root))
    spread = np.trace(p[1]) + np.trace(q[1]) - 2 * cross
    return math.sqrt(max(np.sum((p[0] - q[0]) ** 2) + spread, 0))


def embed_gaussian(p):
    """Positive definite matrix of a Gaussian by Calvo and Oller."""
    mean, covariance = p
    column = mean[:, None]
    return np.block([[covariance + column @ column.T, column], [column.T, np.eye(1)]])


def calvo_oller(p, q):
    """Calvo and Oller's distance from the eigenvalues of P^-1 Q."""
    values = np.linalg.eigvals(np.linalg.inv(embed_gaussian(p)) @ embed_gaussian(q))
    return math.sqrt(sum(math.log(value) ** 2 for value in values.real) / 2)


def fisher_rao_line(p, q):
    """Length of the geodesic between two Gaussians of one feature, by quadrature.

    In the coordinates (mean / sqrt 2, deviation) geodesics are half circles centred on
    the axis, and a step is sqrt 2 |dz| / deviation.
    """
    (x, s), (y, t) = ((g[0][0] / math.sqrt(2), math.sqrt(g[1][0, 0])) for g in (p, q))
    if abs(x - y) < 1e-9:
        return math.sqrt(2) * abs(math.log(s / t))
    center = (y * y + t * t - x * x - s * s) / (2 * (y - x))
    ends = sorted((math.atan2(s, x - center), math.atan2(t, y - center)))
    angle = np.linspace(*ends, 20_001)
    return math.sqrt(2) * np.trapezoid(1 / np.sin(angle), angle)


def kde_product(a, b):
    """Integral of the product of two density estimates: a sum over pairs of points."""
    total = 0.0
    for x in a[0]:
        for y in b[0]:
            total += normal_density(x, y, a[1] + b[1])
    return total / (len(a[0]) * len(b[0]))


def kde_cauchy_schwarz(a, b):
    """Cauchy-Schwarz divergence of two density estimates."""
    own = kde_product(a, a) * kde_product(b, b)
    return -math.log(kde_product(a, b) / math.sqrt(own))


def scott_kernel(points, covariance):
    """Kernel of a density estimate: the covariance times Scott's squared factor."""
    p, m = points.shape
    return points, covariance * float(p) ** (-2 / (m + 4))


def principal_sines(A, B):
    """Sines of the principal angles of the spans of the rows of A and B, ascending.

    Each angle in turn is the smallest between what is left of the two spaces.
    """
    left, right = np.linalg.qr(A.T)[0], np.linalg.qr(B.T)[0]
    sines = []
    for _ in range(min(left.shape[1], right.shape[1])):
        u, cosines, v = np.linalg.svd(left.T @ right)
        sines.append(math.sqrt(max(1 - min(cosines[0], 1.0) ** 2, 0)))
        left, right = left @ u[:, 1:], right @ v[1:].T
    return sines
