"""Loops in C of CauchyMap (`field.c`), and arrays in their place; see `loops.py`.

Coordinates are float32 arrays (n, 2). Functions work on a slice of the samples: slices
run in threads, and sums over a slice do not depend on their number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .loops import as_kind, loops

ROUNDS = 30
"""Rounds in which a new sample is balanced, at most."""

STILL = 1e-4
"""A new sample that a round moves by less stays there."""

_MIX = np.uint64(0x9E3779B97F4A7C15)


class Grid(NamedTuple):
    """Nodes of a grid in the plane.

    Attributes
    ----------
    x, y : float
        Place of the first node.
    spacing : float
        Distance of nodes.
    rows, columns : int
        Nodes along x and along y.
    stride : int
        Numbers from one row to the next, at least `columns`.
    """

    x: float
    y: float
    spacing: float
    rows: int
    columns: int
    stride: int


def hash_rows(X: np.ndarray) -> np.ndarray:
    """Return a 64-bit key of each row that depends on its values only."""
    if loops() is not None:
        keys = np.empty(X.shape[0], np.uint64)
        loops().hash_rows(as_kind(X, np.float64), keys)
        return keys
    keys = np.zeros(X.shape[0], np.uint64)
    for column in X.T:
        bits = np.ascontiguousarray(column + 0.0).view(np.uint64)
        keys = (keys ^ bits) * _MIX
        keys ^= keys >> np.uint64(32)
    return keys


def calibrate(squared: np.ndarray, entropy: float) -> np.ndarray:
    """Return rows of exp(-β d²), normalised, with an entropy in nats.

    β is found for each row; where no β gives the entropy, as in rows of equal
    distances, weights are those of the β that came nearest.
    """
    squared = as_kind(squared, np.float64)
    if loops() is not None:
        weights = np.empty_like(squared)
        loops().calibrate(squared, weights, entropy)
        return weights
    shifted = squared - squared.min(axis=1, keepdims=True)
    mean = shifted.mean(axis=1)
    beta = np.divide(1, mean, out=np.zeros_like(mean), where=mean > 0)
    low, high = np.zeros_like(beta), np.full_like(beta, np.inf)
    for _ in range(100):
        scaled = shifted * beta[:, None]
        weights = np.exp(-scaled)
        sums = weights.sum(axis=1)
        weights /= sums[:, None]
        error = np.log(sums) + (weights * scaled).sum(axis=1) - entropy
        low, high = np.where(error > 0, beta, low), np.where(error > 0, high, beta)
        middle = np.where(np.isinf(high), 2 * beta, (low + high) / 2)
        done = (np.abs(error) < 1e-10) | (beta == 0) | np.isinf(middle)
        if done.all():
            break
        beta = np.where(done, beta, middle)
    return weights


def push_by_pairs(
    Y: np.ndarray, sources: np.ndarray, r: np.ndarray, alpha: float, rows: slice
) -> float:
    """Add the repulsion of sources to rows of r, and return the sum of φ.

    With u = 1 / (1 + |y_i - y_j|²/α), φ(y_i) = Σ_j u^α, r_i = Σ_j u^(α+1) (y_i - y_j).
    """
    if loops() is not None:
        total = np.empty(1)
        ends = rows.start, rows.stop
        loops().push_by_pairs(Y, sources, r, alpha, *ends, total)
        return float(total[0])
    gaps = Y[rows, None, :] - sources
    u = 1 / (1 + (gaps * gaps).sum(axis=2) / np.float32(alpha))
    power = u ** np.float32(alpha)
    r[rows] += ((power * u)[:, :, None] * gaps).sum(axis=1)
    return float(power.sum(dtype=np.float64))


def spread(grid: Grid, Y: np.ndarray, mass: np.ndarray, rows: slice) -> None:
    """Add unit masses of samples to a grid, by cubic B-splines over 4 × 4 nodes."""
    if loops() is not None:
        loops().spread(Y, mass, _place(grid), grid.columns, rows.start, rows.stop)
        return
    node, across, along = _nodes(grid, Y[rows])
    parts = (_splines(across)[:, :, None] * _splines(along)[:, None, :]).reshape(-1)
    np.add.at(mass.reshape(-1), node.reshape(-1), parts)


def gather(
    grid: Grid, Y: np.ndarray, field: np.ndarray, r: np.ndarray, rows: slice
) -> float:
    """Write -½∇φ at samples to rows of r, and return the sum of φ."""
    if loops() is not None:
        total, ends = np.empty(1), (rows.start, rows.stop)
        loops().gather(Y, field, r, _place(grid), grid.columns, *ends, total)
        return float(total[0])
    phi, r[rows] = _read_field(grid, Y[rows], field)
    return float(phi.sum(dtype=np.float64))


def settle_samples(
    grid: Grid,
    field: np.ndarray,
    Y: np.ndarray,
    near: np.ndarray,
    weights: np.ndarray,
    *,
    box: np.ndarray,
    alpha: float,
    push: float,
    flat: bool,
    placed: np.ndarray,
    rows: slice,
) -> None:
    """Balance new samples between their neighbours and the field.

    Parameters
    ----------
    grid, field
        The field φ of the training samples.
    Y : float32 array (n, 2)
        Their coordinates.
    near : int64 array (q, k)
        Neighbours of the new samples among them.
    weights : float32 array (q, k)
        Weights of these, rows of sum 1.
    box : float32 array (4,)
        Least x and y, largest x and y at which the field is read.
    alpha : float
        Tail of the kernel.
    push : float
        Factor of the repulsion.
    flat : bool
        Whether the second coordinate stays as it is.
    placed : float32 array (q, 2)
        Where to write their coordinates.
    rows : slice
        The new samples that are placed.
    """
    if loops() is not None:
        factors, ends = np.array([alpha, push]), (rows.start, rows.stop)
        arrays = Y, near, weights, field, _place(grid), box, factors, placed
        loops().settle_samples(*arrays, grid.columns, int(flat), *ends)
        return
    there, w = Y[near[rows]], weights[rows]
    y = (w[:, :, None] * there).sum(axis=1)
    low, high = there.min(axis=1) - 1, there.max(axis=1) + 1
    moving = np.ones((y.shape[0], 1), bool)
    for _ in range(ROUNDS):
        gaps = y[:, None, :] - there
        a = w / (1 + (gaps * gaps).sum(axis=2) / np.float32(alpha))
        _, r = _read_field(grid, np.clip(y, box[:2], box[2:]), field)
        force = (a[:, :, None] * gaps).sum(axis=1) - np.float32(push) * r
        move = np.float32(0.5) * force / a.sum(axis=1, keepdims=True)
        if flat:
            move[:, 1] = 0
        to = np.clip(y - move, low, high)
        moved = np.abs(to - y).sum(axis=1, keepdims=True)
        y = np.where(moving, to, y)
        moving &= moved >= STILL
    placed[rows] = y


def _place(grid: Grid) -> np.ndarray:
    return np.array([grid.x, grid.y, 1 / grid.spacing])


def _nodes(grid: Grid, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the 4 × 4 nodes around points, and where these lie between nodes."""
    origin = np.array([grid.x, grid.y], np.float32)
    places = (Y - origin) * np.float32(1 / grid.spacing)
    last = grid.rows - 2, grid.columns - 2
    if not ((places >= 1) & (places < last)).all():
        raise ValueError("a sample is outside of the grid")
    corner = places.astype(np.int64)
    across, along = (places - corner).T
    reach = np.arange(-1, 3)
    x, y = corner[:, 0, None] + reach, corner[:, 1, None] + reach
    return x[:, :, None] * grid.stride + y[:, None, :], across, along


def _splines(u: np.ndarray) -> np.ndarray:
    """Return cubic B-splines at nodes -1, 0, 1, 2 for fractions, (n, 4)."""
    v = 1 - u
    inner = (4 - 6 * u**2 + 3 * u**3) / 6, (4 - 6 * v**2 + 3 * v**3) / 6
    return np.stack([v**3 / 6, *inner, u**3 / 6], axis=1)


def _slopes(u: np.ndarray) -> np.ndarray:
    """Return the derivatives of `_splines`."""
    v = 1 - u
    inner = (-4 * u + 3 * u**2) / 2, (4 * v - 3 * v**2) / 2
    return np.stack([-(v**2) / 2, *inner, u**2 / 2], axis=1)


def _read_field(
    grid: Grid, Y: np.ndarray, field: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return φ and -½∇φ at points."""
    node, across, along = _nodes(grid, Y)
    values = field.reshape(-1)[node]
    by = {"x": _splines(across), "y": _splines(along)}
    phi = np.einsum("ipq,ip,iq->i", values, by["x"], by["y"])
    slopes = np.stack(
        [
            np.einsum("ipq,ip,iq->i", values, _slopes(across), by["y"]),
            np.einsum("ipq,ip,iq->i", values, by["x"], _slopes(along)),
        ],
        axis=1,
    )
    return phi, (-0.5 / grid.spacing) * slopes.astype(np.float32)
