"""Coordinates on a device -> the field of all samples on a grid, by FFT.

Masses are spread in whole numbers, units of 2^-32: sums of these do not depend on their
order, so that the same samples give the same bits however a device adds them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import next_fast_len

from ...backend import Array
from ...nodes import choose_spacing, node_count

UNIT = 2.0**32
"""Whole numbers that a mass of 1 is made of."""

ROOM = 1.1, 2.0
"""A grid is made for a span times the first plus the second: samples move before the
grid is checked again."""

SPARE = 2.0
"""A grid is kept while it is at most this many times as long as needed, each way."""


@dataclass(frozen=True)
class Nodes:
    """Nodes of a grid in the plane; its place follows the samples.

    Attributes
    ----------
    rows, columns : int
        Nodes along x and along y.
    spacing : float
        Distance of nodes.
    """

    rows: int
    columns: int
    spacing: float

    def hold(self, spans: np.ndarray) -> bool:
        """Say whether samples of these spans lie on the grid, with their splines."""
        return bool((spans <= self.spacing * (np.array(self.shape) - 4)).all())

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows, self.columns


def choose_nodes(spans: np.ndarray, last: Nodes | None) -> Nodes:
    """Return a grid for samples of these spans; the last one, if it will do."""
    spacing = choose_spacing(float(spans.max()))
    if last is not None and last.spacing == spacing and last.hold(spans + 1):
        least = (node_count(span / spacing) for span in spans)
        if all(a <= SPARE * b for a, b in zip(last.shape, least, strict=True)):
            return last
    wanted = ROOM[0] * spans + ROOM[1]
    rows, columns = (node_count(span / spacing) for span in wanted)
    return Nodes(rows, columns, spacing)


class Field:
    """The kernel (1 + d²/α)^(-α) on a grid, to be convolved with masses.

    Parameters
    ----------
    nodes : Nodes
        The grid.
    alpha : float
        Tail of the kernel, in (0, 1].
    device : torch.device
        Where it is.
    """

    def __init__(self, nodes: Nodes, alpha: float, device: object) -> None:
        import torch

        self.nodes = nodes
        self._padded = tuple(next_fast_len(2 * size) for size in nodes.shape)
        squared = []
        for size in self._padded:
            steps = torch.arange(size, dtype=torch.float64, device=device)
            squared.append((torch.minimum(steps, size - steps) * nodes.spacing) ** 2)
        reach = squared[0][:, None] + squared[1]
        spectrum = torch.fft.rfft2((1 + reach / alpha) ** -alpha).real
        for axis, size in enumerate(self._padded):
            turns = torch.arange(
                spectrum.shape[axis], dtype=torch.float64, device=device
            )
            splines = ((2 + (2 * torch.pi * turns / size).cos()) / 3) ** 2
            spectrum = spectrum / (splines[:, None] if axis == 0 else splines)
        scale = self._padded[0] * self._padded[1]  # of a transform and back
        self._kernel = (spectrum / scale).float()

    def convolve(self, mass: Array) -> Array:
        """Return φ (rows, at least columns) of masses (rows, columns) in float32."""
        import torch

        rows, columns = self._padded
        waves = torch.fft.rfft(mass, columns, dim=1)
        waves = torch.fft.fft(waves, rows, dim=0) * self._kernel
        waves = torch.fft.ifft(waves, dim=0, norm="forward")[: mass.shape[0]]
        return torch.fft.irfft(waves, columns, dim=1, norm="forward")


def spread(Y: Array, box: Array, nodes: Nodes) -> Array:
    """Return unit masses of samples (n, 2) on the grid over a box, in float32.

    The box (4,) is the least x and y and the largest x and y.
    """
    import torch

    place, across, along = _places(Y, box, nodes, nodes.columns)
    parts = _splines(across)[:, :, None] * _splines(along)[:, None, :]
    whole = (parts * UNIT).long()
    mass = torch.zeros(nodes.rows * nodes.columns, dtype=torch.int64, device=Y.device)
    mass.index_add_(0, place.reshape(-1), whole.reshape(-1))
    return (mass.double() / UNIT).float().view(nodes.shape)


def read(Y: Array, box: Array, nodes: Nodes, field: Array) -> tuple[Array, Array]:
    """Return φ (n,) and -½∇φ (n, 2) at points."""
    import torch

    place, across, along = _places(Y, box, nodes, field.shape[1])
    values = field.reshape(-1)[place]
    wx, wy = _splines(across), _splines(along)
    by_y = _along(values, wy)
    slope_x = _weighed(by_y, _slopes(across))
    slope_y = _weighed(_along(values, _slopes(along)), wx)
    slopes = torch.stack([slope_x, slope_y], 1)
    return _weighed(by_y, wx), (-0.5 / nodes.spacing) * slopes


def _along(values: Array, weights: Array) -> Array:
    """Return sums (n, 4) over the last axis of values (n, 4, 4), one by one.

    So a point has the same bits in any batch.
    """
    import torch

    return torch.stack([_weighed(values[:, p], weights) for p in range(4)], 1)


def _weighed(values: Array, weights: Array) -> Array:
    """Return weighted sums (n,) of values (n, 4), added in order."""
    total = values[:, 0] * weights[:, 0]
    for p in range(1, 4):
        total = total + values[:, p] * weights[:, p]
    return total


def _places(
    Y: Array, box: Array, nodes: Nodes, stride: int
) -> tuple[Array, Array, Array]:
    """Return the 4 × 4 nodes around points, and where these lie between nodes."""
    import torch

    half = torch.tensor(nodes.shape, device=Y.device).float() - 1
    first = (box[2:] + box[:2]) / 2 - half * (nodes.spacing / 2)
    places = (Y - first) * (1 / nodes.spacing)
    corner = torch.stack(
        [places[:, c].long().clamp(1, nodes.shape[c] - 3) for c in range(2)], 1
    )
    across, along = (places - corner).unbind(1)
    reach = torch.arange(-1, 3, device=Y.device)
    x, y = corner[:, 0, None] + reach, corner[:, 1, None] + reach
    return x[:, :, None] * stride + y[:, None, :], across, along


def _splines(u: Array) -> Array:
    """Return cubic B-splines at nodes -1, 0, 1, 2 for fractions, (n, 4)."""
    import torch

    v = 1 - u
    inner = (4 - 6 * u**2 + 3 * u**3) / 6, (4 - 6 * v**2 + 3 * v**3) / 6
    return torch.stack([v**3 / 6, *inner, u**3 / 6], 1)


def _slopes(u: Array) -> Array:
    """Return the derivatives of `_splines`."""
    import torch

    v = 1 - u
    inner = (-4 * u + 3 * u**2) / 2, (4 * v - 3 * v**2) / 2
    return torch.stack([-(v**2) / 2, *inner, u**2 / 2], 1)
