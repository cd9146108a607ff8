"""Embedded distances -> value and slope: the decays Γ of Cauchy graph embedding.

A decay is a function of the squared distance s = d², falling from Γ(0): 1 for the
bounded ones, 0 for the two that fall without end. Its slope dΓ/ds is never positive.
The exponential and linear decays have a cusp at 0, where ascent tends to stall.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..backends.backend import Array, array_namespace

CUSP = 1e-150
"""Squared distances are kept above this where a slope is infinite at 0."""


@dataclass(frozen=True)
class Decay:
    """One decay: its value, its slope, and its value at distance 0."""

    value: Callable[[Array, float], Array]
    slope: Callable[[Array, float], Array]
    at_zero: float


def _cauchy(s: Array, sigma: float) -> Array:
    return sigma**2 / (s + sigma**2)


def _cauchy_slope(s: Array, sigma: float) -> Array:
    return -(sigma**2) / (s + sigma**2) ** 2


def _gaussian(s: Array, sigma: float) -> Array:
    return array_namespace(s).exp(-s / sigma**2)


def _gaussian_slope(s: Array, sigma: float) -> Array:
    return -_gaussian(s, sigma) / sigma**2


def _exponential(s: Array, sigma: float) -> Array:
    xp = array_namespace(s)
    return xp.exp(-xp.sqrt(s) / sigma)


def _exponential_slope(s: Array, sigma: float) -> Array:
    s = _off_cusp(s)
    return -_exponential(s, sigma) / (2 * sigma * s**0.5)


def _linear(s: Array, sigma: float) -> Array:
    return -array_namespace(s).sqrt(s)


def _linear_slope(s: Array, sigma: float) -> Array:
    return 0.5 / _linear(_off_cusp(s), sigma)


def _laplacian(s: Array, sigma: float) -> Array:
    return -s


def _laplacian_slope(s: Array, sigma: float) -> Array:
    return array_namespace(s).full_like(s, -1.0)


def _off_cusp(s: Array) -> Array:
    return array_namespace(s).clip(s, CUSP, None)


DECAYS = {
    "cauchy": Decay(_cauchy, _cauchy_slope, 1.0),
    "gaussian": Decay(_gaussian, _gaussian_slope, 1.0),
    "exponential": Decay(_exponential, _exponential_slope, 1.0),
    "linear": Decay(_linear, _linear_slope, 0.0),
    "laplacian": Decay(_laplacian, _laplacian_slope, 0.0),
}
