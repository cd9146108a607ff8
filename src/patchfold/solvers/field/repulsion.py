"""Coordinates -> the field φ(y) = Σ_j (1 + |y - y_j|²/α)^(-α) of all samples.

The repulsion of a sample is r = -½∇φ, and Z = Σ_i φ(y_i) - n. Of few samples the sum is
taken over all pairs. Of many it is one convolution on a grid by FFT, as in FIt-SNE:
samples are spread over nodes by cubic B-splines, and φ and its slopes are read by the
same splines.
"""

from __future__ import annotations

import numpy as np
from scipy import fft

from ...backends.native.field import Grid, gather, push_by_pairs, spread
from ...backends.nodes import (
    LEAST_Z,
    MOST_NODES,
    OUTSIDE,
    SPACINGS,
    choose_spacing,
    node_count,
)
from .parts import Crew, cut

EXACT_LIMIT = 1000
"""Up to this many samples all pairs are summed."""

GRIDS = 4
"""Grids that slices of samples are spread on, to be added in order."""


class Field:
    """φ of samples on a grid; buffers and the kernel are kept while its size is.

    Parameters
    ----------
    alpha : float
        Tail of the kernel, in (0, 1].
    crew : Crew
        Threads.
    spacings : tuple of float
        Distances of nodes to choose from, ascending.

    Attributes
    ----------
    grid : Grid
        Nodes of the last field.
    values : float32 array (grid.rows, grid.stride)
        φ at the nodes, in the first `grid.columns` columns.
    """

    def __init__(
        self, alpha: float, crew: Crew, spacings: tuple[float, ...] = SPACINGS
    ) -> None:
        self.alpha, self._crew, self._spacings = alpha, crew, spacings
        self._shape: tuple[float, ...] = ()

    def compute(self, Y: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        """Compute φ of samples Y (n, 2) that lie in the box from low to high."""
        spans = np.asarray(high, float) - low
        spacing = choose_spacing(float(spans.max()), self._spacings)
        rows, columns = (node_count(span / spacing) for span in spans)
        if self._shape != (rows, columns, spacing):
            self._prepare(rows, columns, spacing)
        middle = (np.asarray(high, float) + low) / 2
        x, y = middle - spacing * np.array([rows - 1, columns - 1]) / 2
        on_masses = Grid(float(x), float(y), spacing, rows, columns, columns)
        slices = cut(Y.shape[0], GRIDS)

        def fill(which: slice) -> None:
            for g in range(len(slices))[which]:
                self._masses[g].fill(0)
                spread(on_masses, Y, self._masses[g], slices[g])

        self._crew.run(fill, [slice(g, g + 1) for g in range(len(slices))])
        mass = self._masses[0]
        for other in self._masses[1 : len(slices)]:
            mass += other
        self.values = self._convolve(mass)
        self.grid = on_masses._replace(stride=self.values.shape[1])

    def _prepare(self, rows: int, columns: int, spacing: float) -> None:
        """Transform the kernel for a grid of this size."""
        self._shape = rows, columns, spacing
        self._padded = tuple(
            fft.next_fast_len(2 * size, real=True) for size in (rows, columns)
        )
        squared = []
        for size in self._padded:
            steps = np.arange(size)
            squared.append((np.minimum(steps, size - steps) * spacing) ** 2)
        reach = squared[0][:, None] + squared[1]
        kernel = (1 + reach / self.alpha) ** -self.alpha
        spectrum = fft.rfft2(kernel, workers=self._crew.n_threads).real
        for axis, size in enumerate(self._padded):
            turns = np.arange(spectrum.shape[axis]) / size
            splines = ((2 + np.cos(2 * np.pi * turns)) / 3) ** 2
            spectrum /= splines[:, None] if axis == 0 else splines
        self._kernel = spectrum.astype(np.float32)
        self._masses = np.empty((GRIDS, rows, columns), np.float32)

    def _convolve(self, mass: np.ndarray) -> np.ndarray:
        """Return kernel * mass; only rows that are not all 0 are transformed."""
        settings = {"overwrite_x": True, "workers": self._crew.n_threads}
        rows, columns = self._padded
        waves = fft.rfft(mass, columns, axis=1, workers=self._crew.n_threads)
        waves = fft.fft(waves, rows, axis=0, **settings)
        waves *= self._kernel
        waves = fft.ifft(waves, axis=0, **settings)[: mass.shape[0]]
        return fft.irfft(waves, columns, axis=1, **settings)

    def read(self, Y: np.ndarray, r: np.ndarray, slices: list[slice]) -> float:
        """Write -½∇φ at samples to r (n, 2), and return the sum of φ."""

        def look(rows: slice) -> float:
            return gather(self.grid, Y, self.values, r, rows)

        return sum(self._crew.run(look, slices))


class Repulsion:
    """Repulsion of all pairs of samples, by pairs or by a grid.

    Parameters
    ----------
    n_samples : int
        Number of samples n.
    alpha : float
        Tail of the kernel.
    crew : Crew
        Threads.
    """

    def __init__(self, n_samples: int, alpha: float, crew: Crew) -> None:
        self._slices, self._crew = cut(n_samples), crew
        self._alpha = alpha
        self._field = None if n_samples <= EXACT_LIMIT else Field(alpha, crew)

    def push(
        self, Y: np.ndarray, r: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> float:
        """Write the repulsion of samples (n, 2) in a box to r, and return Z."""
        return max(self._push(Y, r, low, high) - Y.shape[0], LEAST_Z)

    def _push(
        self, Y: np.ndarray, r: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> float:
        """Return the sum of φ, of which each sample has 1 from itself."""
        if self._field is None:
            r.fill(0)
            return self._sum_pairs(Y, Y, r)
        if (high - low).max() > MOST_NODES * SPACINGS[-1]:
            inside = _dense_part(Y, low, high)
            if inside is not None:
                return self._push_apart(Y, r, inside)
        self._field.compute(Y, low, high)
        return self._field.read(Y, r, self._slices)

    def _sum_pairs(self, Y: np.ndarray, sources: np.ndarray, r: np.ndarray) -> float:
        def look(rows: slice) -> float:
            return push_by_pairs(Y, sources, r, self._alpha, rows)

        return sum(self._crew.run(look, cut(Y.shape[0])))

    def _push_apart(self, Y: np.ndarray, r: np.ndarray, inside: np.ndarray) -> float:
        """Sum pairs with a few far samples one by one, and all others by the grid."""
        assert self._field is not None
        near, far = Y[inside], Y[~inside]
        r_near, r_far = np.empty_like(near), np.zeros_like(far)
        self._field.compute(near, near.min(axis=0), near.max(axis=0))
        total = self._field.read(near, r_near, cut(near.shape[0]))
        total += self._sum_pairs(near, far, r_near)
        total += self._sum_pairs(far, Y, r_far)
        r[inside], r[~inside] = r_near, r_far
        return total


def _dense_part(Y: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    """Say which samples (n,) lie in a box that leaves a few out, if it is much smaller.

    Samples are left out that are farthest from the median; None if the box of the
    others is more than half as wide.
    """
    away = np.abs(Y - np.median(Y, axis=0)).max(axis=1)
    count = min(OUTSIDE, Y.shape[0] // 10)
    inside = away < np.partition(away, -count)[-count]
    if inside.sum() < Y.shape[0] - OUTSIDE:
        return None
    rest = Y[inside]
    return inside if np.ptp(rest, axis=0).max() < (high - low).max() / 2 else None
