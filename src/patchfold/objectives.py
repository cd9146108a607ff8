"""Embedded distances -> value and slope: the decays Γ of Cauchy graph embedding.

A decay is a function of the squared distance s = d², falling from Γ(0): 1 for the
bounded ones, 0 for the two that fall without end. Its slope dΓ/ds is never positive.
The exponential and linear decays have a cusp at 0, where ascent tends to stall.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

CUSP = 1e-150
"""Squared distances are kept above this where a slope is infinite at 0."""


@dataclass(frozen=True)
class Decay:
    """One decay: its value, its slope, and its value at distance 0."""

    value: Callable[[np.ndarray, float], np.ndarray]
    slope: Callable[[np.ndarray, float], np.ndarray]
    at_zero: float


def _cauchy(s: np.ndarray, sigma: float) -> np.ndarray:
    return sigma**2 / (s + sigma**2)


def _cauchy_slope(s: np.ndarray, sigma: float) -> np.ndarray:
    return -(sigma**2) / (s + sigma**2) ** 2


def _gaussian(s: np.ndarray, sigma: float) -> np.ndarray:
    return np.exp(-s / sigma**2)


def _gaussian_slope(s: np.ndarray, sigma: float) -> np.ndarray:
    return -np.exp(-s / sigma**2) / sigma**2


def _exponential(s: np.ndarray, sigma: float) -> np.ndarray:
    return np.exp(-np.sqrt(s) / sigma)


def _exponential_slope(s: np.ndarray, sigma: float) -> np.ndarray:
    d = np.sqrt(np.maximum(s, CUSP))
    return -np.exp(-d / sigma) / (2 * sigma * d)


def _linear(s: np.ndarray, sigma: float) -> np.ndarray:
    return -np.sqrt(s)


def _linear_slope(s: np.ndarray, sigma: float) -> np.ndarray:
    return -0.5 / np.sqrt(np.maximum(s, CUSP))


def _laplacian(s: np.ndarray, sigma: float) -> np.ndarray:
    return -s


def _laplacian_slope(s: np.ndarray, sigma: float) -> np.ndarray:
    return np.full_like(s, -1.0)


DECAYS = {
    "cauchy": Decay(_cauchy, _cauchy_slope, 1.0),
    "gaussian": Decay(_gaussian, _gaussian_slope, 1.0),
    "exponential": Decay(_exponential, _exponential_slope, 1.0),
    "linear": Decay(_linear, _linear_slope, 0.0),
    "laplacian": Decay(_laplacian, _laplacian_slope, 0.0),
}
