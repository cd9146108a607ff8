"""Samples on a device -> an order that depends on their values only."""

from __future__ import annotations

from ...backend import Array
from . import kernels

MIX = 0x9E3779B97F4A7C15 - 2**64
"""Factor of the hash, as a signed number."""

LEVELS = 2**16
"""Steps of a coordinate that the order along a curve can tell apart."""


def row_keys(X: Array) -> Array:
    """Return a 64-bit key (n,) of each row: the bits of NumPy's, as signed numbers."""
    import torch

    if kernels.can_run(X):
        return kernels.hash_rows(X)
    keys = torch.zeros(X.shape[0], dtype=torch.int64, device=X.device)
    for column in X.T.contiguous():
        keys = (keys ^ (column + 0.0).view(torch.int64)) * MIX
        keys ^= (keys >> 32) & 0xFFFFFFFF
    return keys


def hash_order(X: Array) -> Array:
    """Return an order (n,) of rows by a 64-bit hash of their values, unsigned."""
    return (row_keys(X) ^ -(2**63)).argsort(stable=True)


def curve_order(Y: Array) -> Array:
    """Return an order (n,) of points in the plane along a Z-shaped curve."""
    import torch

    low, width = Y.amin(0), Y.amax(0) - Y.amin(0)
    unit = torch.where(width > 0, (LEVELS - 1) / width, 0)
    steps = ((Y - low) * unit).long()
    key = _spaced(steps[:, 0]) << 1 | _spaced(steps[:, 1])
    return key.argsort(stable=True)


def _spaced(bits: Array) -> Array:
    """Put a zero between the 16 bits of each number."""
    for shift, mask in (
        (8, 0x00FF00FF),
        (4, 0x0F0F0F0F),
        (2, 0x33333333),
        (1, 0x55555555),
    ):
        bits = (bits | bits << shift) & mask
    return bits
