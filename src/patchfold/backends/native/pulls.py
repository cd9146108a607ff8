"""Loops in C over the edges of CauchyMap (`pulls.c`), and arrays in their place.

See `loops.py`. Coordinates are float32 arrays (n, 2). Functions work on a slice of the
samples: slices run in threads, and sums over a slice do not depend on their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .loops import aligned_zeros, check_places, loops, parts_of

EIGHT = 8
"""Edges of a group."""

AT_ONCE = 4096
"""Groups that are weighed while they stay in cache."""


@dataclass(frozen=True)
class Eights:
    """Edges of two graphs in groups of eight, which are computed with at once.

    A row has its edges of the first graph, then those of the second; the last group is
    filled up by the sample itself, with weight 0.

    Attributes
    ----------
    starts : int32 array (n + 1,)
        At which group the edges of each sample begin.
    ends : int32 array (g, 8)
        The other ends of edges.
    signed : float32 array (g, 8)
        Weights in the first graph, and in the second one with a minus.
    weights : float32 array (g, 8)
        What `weigh` made of them.
    """

    starts: np.ndarray
    ends: np.ndarray
    signed: np.ndarray
    weights: np.ndarray

    def weigh(self, of_near: float, of_middle: float) -> None:
        """Let edges weigh a P + b M, with a and b above 0."""
        near, middle = np.float32(of_near), np.float32(-of_middle)
        for start in range(0, self.signed.shape[0], AT_ONCE):
            some = self.signed[start : start + AT_ONCE]
            weights = self.weights[start : start + AT_ONCE]
            np.multiply(some, near, out=weights)
            np.maximum(weights, some * middle, out=weights)  # a negative one loses

    @property
    def row(self) -> np.ndarray:
        """The sample that each group is of, (g,)."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))


def in_eights(near: sp.csr_array, middle: sp.csr_array) -> Eights:
    """Put the edges of two graphs (n, n) in groups."""
    counts = np.diff(near.indptr).astype(np.int64) + np.diff(middle.indptr)
    starts = np.concatenate([[0], np.cumsum(-(-counts // EIGHT))])
    if EIGHT * starts[-1] >= 2**31:
        raise MemoryError(f"{counts.sum()} edges are too many: lower n_neighbors.")
    starts = starts.astype(np.int32)
    shape = int(starts[-1]), EIGHT
    ends, *weights = (aligned_zeros(shape, kind) for kind in ("i4", "f4", "f4"))
    found = Eights(starts, ends, *weights)
    if loops() is not None:
        graphs = *parts_of(near, np.float32), *parts_of(middle, np.float32)
        loops().fill_eights(*graphs, starts, ends, found.signed)
        return found
    ends[...] = found.row[:, None]
    first = EIGHT * starts[:-1].astype(np.int64)
    for graph, sign in ((near, 1), (middle, -1)):
        check_places(near.shape[0], graph.indices)
        counts = np.diff(graph.indptr)
        place = np.repeat(first - graph.indptr[:-1], counts) + np.arange(graph.nnz)
        ends.reshape(-1)[place] = graph.indices
        found.signed.reshape(-1)[place] = sign * graph.data
        first = first + counts
    return found


@dataclass(frozen=True)
class Step:
    """Numbers of one step of all samples.

    Attributes
    ----------
    scale : float
        Factor of the attraction.
    push : float
        Factor of the repulsion, 1 / Z.
    rate, momentum : float
        Factors of the gradient and of the last step.
    flat : bool
        Whether the second coordinate stays as it is.
    """

    scale: float
    push: float
    rate: float
    momentum: float
    flat: bool


def move_samples(
    edges: Eights,
    arrays: tuple[np.ndarray, ...],
    alpha: float,
    step: Step,
    rows: slice,
) -> np.ndarray:
    """Move samples against the gradient: attraction along edges less repulsion.

    Parameters
    ----------
    edges : Eights
        Weights of attraction.
    arrays : Y, r, velocity, gain, moved
        Coordinates, repulsion, last step, gains, and where to write new coordinates,
        float32 arrays (n, 2). Velocity and gain are updated.
    alpha : float
        Tail of the kernel.
    step : Step
        Factors of this step.
    rows : slice
        The samples that are moved.

    Returns
    -------
    array (7,)
        Sums of x, y and x² + y² of the moved samples; least x and y, largest x and y.
    """
    Y, r, velocity, gain, moved = arrays
    if loops() is not None:
        sums, ends = np.empty(7), (rows.start, rows.stop)
        parts = edges.starts, edges.ends, edges.weights
        factors = np.array([alpha, step.scale, step.push, step.rate, step.momentum])
        given = Y, *parts, *arrays[1:], factors, sums, int(step.flat)
        loops().move_samples(*given, *ends)
        return sums
    row, weights, gaps = _gaps(edges, Y, rows)
    q = weights / (1 + (gaps * gaps).sum(axis=2) / np.float32(alpha))
    pull = np.zeros_like(Y[rows])
    np.add.at(pull, row - rows.start, (q[:, :, None] * gaps).sum(axis=1))
    slope = np.float32(step.scale) * pull - np.float32(step.push) * r[rows]
    v, g = velocity[rows], gain[rows]
    ahead = (slope > 0) != (v > 0)
    g[:] = np.where(ahead, g + np.float32(0.2), np.maximum(0.8 * g, 0.01))
    v[:] = np.float32(step.momentum) * v - np.float32(step.rate) * g * slope
    if step.flat:
        v[:, 1] = 0
    v /= np.maximum(np.sqrt((v * v).sum(axis=1, keepdims=True)), 1)
    moved[rows] = Y[rows] + v
    wide = moved[rows].astype(np.float64)
    totals = *wide.sum(axis=0), (wide * wide).sum()
    return np.array([*totals, *wide.min(axis=0), *wide.max(axis=0)])


def stretch(edges: Eights, Y: np.ndarray, alpha: float, rows: slice) -> float:
    """Return Σ w ln(1 + |y_i - y_j|²/α) over the edges of some rows."""
    if loops() is not None:
        total, ends = np.empty(1), (rows.start, rows.stop)
        parts = edges.starts, edges.ends, edges.weights
        loops().stretch(Y, *parts, alpha, *ends, total)
        return float(total[0])
    _, weights, gaps = _gaps(edges, Y, rows)
    squared = (gaps * gaps).sum(axis=2, dtype=np.float64)
    return float((weights * np.log1p(squared / alpha)).sum())


def _gaps(
    edges: Eights, Y: np.ndarray, rows: slice
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return samples (g,) of groups of some rows, weights and y_i - y_j (g, 8, 2)."""
    some = slice(edges.starts[rows.start], edges.starts[rows.stop])
    row, ends = edges.row[some], edges.ends[some]
    check_places(Y.shape[0], ends)
    return row, edges.weights[some], Y[row][:, None, :] - Y[ends]
