"""Samples on a device -> principal axes that far samples do not determine."""

from __future__ import annotations

from ...backend import Array
from ..graph import median

WIDEST = 2048
"""Features at most whose covariances are decomposed on a device."""


def find_axes(X: Array, n_axes: int, far: float) -> tuple[Array, ...]:
    """Return centre (m,), axes (m, k), scores (n, k), and a start's shape (n, 2)."""
    import torch

    n, m = X.shape
    if m > min(n, WIDEST):
        return NotImplemented
    center = X.mean(0)
    for _ in range(30):  # each round takes most of what outliers have moved it
        away = X - center
        r = away.square().sum(1).sqrt()
        middle = median(r)
        limit = far * middle if middle > 0 else torch.inf
        pull = torch.where(r > limit, limit / r.clamp(min=1e-300), 1.0)
        moved = pull @ away / n
        if float(moved.norm()) <= 1e-6 * middle:
            break
        center = center + moved
    pulled = away * pull[:, None]
    _, vectors = torch.linalg.eigh(pulled.T @ pulled)
    axes = vectors[:, -min(n_axes, m) :].flip(1)
    scores = away @ axes
    signs = torch.ones_like(axes[0])
    signs[:2] = _orientation(scores[:, :2] * pull[:, None])
    scores *= signs
    shape = X.new_zeros((n, 2))
    shape[:, : min(2, scores.shape[1])] = scores[:, :2] * pull[:, None]
    return center, (axes * signs).contiguous(), scores, shape


def _orientation(scores: Array) -> Array:
    """Return a sign for each column, as `orientation` does in NumPy."""
    import torch

    size = scores.abs().amax(0)
    unit = scores / torch.where(size > 0, size, 1)
    third, bulk = (unit**3).sum(0), (unit.abs() ** 3).sum(0)
    largest = unit.gather(0, unit.abs().argmax(0)[None])[0]
    signs = torch.where(third.abs() > 1e-8 * bulk, third, largest).sign()
    return torch.where(signs == 0, 1.0, signs)


def project(X: Array, center: Array, axes: Array) -> Array:
    """Return coordinates of samples along axes."""
    return (X - center) @ axes
