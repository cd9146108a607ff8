"""The steps of CauchyMap in torch, one operation after the other.

Sums over the edges of a sample run in a fixed order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backend import Array
from ...nodes import LEAST_Z, MOST_NODES, OUTSIDE, SPACINGS
from .attraction import join_pairs
from .grid import Field, Nodes, choose_nodes, read, spread


class Steps:
    """Samples in a map, and what moves them.

    Parameters
    ----------
    attraction : Attraction
        Weights of pairs.
    start : float32 tensor (n, 2)
        Coordinates to begin with.
    recipe : Recipe
        What is minimised.

    Attributes
    ----------
    Y : float32 tensor (n, 2)
        Coordinates.
    """

    def __init__(self, attraction: Any, start: Array, recipe: Any) -> None:
        import torch

        self.Y, self._recipe = start.clone(), recipe
        self._velocity, self._gain = torch.zeros_like(start), torch.ones_like(start)
        self._r, self._Z = torch.zeros_like(start), LEAST_Z
        pattern, *weights = join_pairs(attraction.near, attraction.middle)
        self._pointer, self._column = pattern.crow_indices(), pattern.col_indices()
        self._near, self._middle = weights
        self._box = torch.cat([start.amin(0), start.amax(0)])
        self._field: Field | None = None
        self._inside: Array | None = None
        self._edges: tuple[Array, Array] | None = None

    def choose_grid(self) -> None:
        """Look at the samples, and make a grid that holds them."""
        box = self._box.tolist()
        if not np.isfinite(box).all():
            raise ValueError("a sample is outside of the grid")
        spans = np.array(box[2:]) - box[:2]
        self._inside = None
        if spans.max() > MOST_NODES * SPACINGS[-1]:
            self._inside = _dense_part(self.Y, float(spans.max()))
        if self._inside is not None:
            near = self.Y[self._inside]
            spans = np.array((near.amax(0) - near.amin(0)).tolist())
        nodes = choose_nodes(spans, None if self._field is None else self._field.nodes)
        if self._field is None or nodes != self._field.nodes:
            self._make_field(nodes)

    def _make_field(self, nodes: Nodes) -> None:
        self._field = Field(nodes, self._recipe.alpha, self.Y.device)

    def push(self) -> float:
        """Compute the repulsion where samples are, and return Z."""
        if self._inside is None:
            total, r = self._by_grid(self.Y, self._box)
            self._r.copy_(r)
        else:
            total = self._push_apart(self._inside)
        self._Z = max(float(total) - self.Y.shape[0], LEAST_Z)
        return self._Z

    def stretch(self, share: float) -> float:
        """Return Σ w ln(1 + |y_i - y_j|²/α) over all edges."""
        gaps = self._gaps()
        squared = gaps.square().sum(1).double() / self._recipe.alpha
        return float((self._weigh(share) * squared.log1p()).sum())

    def advance(self, done: int, most: int) -> int:
        """Take at most `most` steps; return how many are done then."""
        share, scale, rate, momentum = self._recipe.factors(done, self.Y.shape[0])
        push = 1 / self.push()
        slope = scale * self._pull(share) - push * self._r
        ahead = (slope > 0) != (self._velocity > 0)
        less = (0.8 * self._gain).clamp(min=0.01)
        self._gain.copy_(less.where(~ahead, self._gain + 0.2))
        v = momentum * self._velocity - rate * self._gain * slope
        if self._recipe.flat:
            v[:, 1] = 0
        v /= v.square().sum(1, keepdim=True).sqrt().clamp(min=1)
        self._velocity.copy_(v)
        self._settle(self.Y + v)
        return done + 1

    def _settle(self, moved: Array) -> None:
        """Take moved samples over, centred; enlarge them if they have collapsed."""
        import torch

        wide = moved.double()
        mean = wide.mean(0)
        moved = moved - mean.float()
        squares = float((wide.square().mean(0) - mean.square()).sum())
        size = (max(squares, 0.0) / (1 if self._recipe.flat else 2)) ** 0.5
        least = self._recipe.least_size
        if size < least:
            moved = moved * (least / max(size, 1e-12))
            self._velocity.zero_()
            self._gain.fill_(1)
        self.Y.copy_(moved)
        self._box.copy_(torch.cat([moved.amin(0), moved.amax(0)]))

    def _by_grid(self, Y: Array, box: Array) -> tuple[Array, Array]:
        """Return the sum of φ over samples, and the repulsion (n, 2) of each."""
        assert self._field is not None
        nodes = self._field.nodes
        values = self._field.convolve(spread(Y, box, nodes))
        phi, r = read(Y, box, nodes, values)
        return phi.double().sum(), r

    def _push_apart(self, inside: Array) -> Array:
        """Sum pairs with a few far samples one by one, and all others by the grid."""
        import torch

        near, far = self.Y[inside], self.Y[~inside]
        total, r = self._by_grid(near, torch.cat([near.amin(0), near.amax(0)]))
        for ours, theirs, which in ((near, far, inside), (far, self.Y, ~inside)):
            more, force = _by_pairs(ours, theirs, self._recipe.alpha)
            total = total + more
            self._r[which] = force + r if ours is near else force
        return total

    def _pull(self, share: float) -> Array:
        """Return Σ w (y_i - y_j) / (1 + |y_i - y_j|²/α) of each sample."""
        import torch

        gaps = self._gaps()
        q = self._weigh(share) / (1 + gaps.square().sum(1) / self._recipe.alpha)
        terms, offsets = q[:, None] * gaps, self._pointer.long()
        parts = [
            torch.segment_reduce(terms[:, c].contiguous(), "sum", offsets=offsets)
            for c in range(2)
        ]
        return torch.stack(parts, 1)

    def _weigh(self, share: float) -> Array:
        return share * self._near + self._recipe.middle_share * self._middle

    def _gaps(self) -> Array:
        """Return y_i - y_j of all edges."""
        import torch

        if self._edges is None:
            counts = self._pointer.long().diff()
            row = torch.arange(counts.shape[0], device=counts.device)
            self._edges = row.repeat_interleave(counts), self._column.long()
        row, column = self._edges
        return self.Y[row] - self.Y[column]


def _by_pairs(Y: Array, sources: Array, alpha: float) -> tuple[Array, Array]:
    """Return the sum of φ, and the repulsion of samples by sources, pair by pair."""
    import torch

    total, r = torch.zeros((), dtype=torch.float64, device=Y.device), []
    step = max(1, 2**26 // max(1, sources.shape[0]))
    for block in Y.split(step):
        gaps = block[:, None, :] - sources
        u = 1 / (1 + gaps.square().sum(2) / alpha)
        power = u**alpha
        r.append(((power * u)[:, :, None] * gaps).sum(1))
        total = total + power.double().sum()
    return total, torch.cat(r)


def _dense_part(Y: Array, span: float) -> Array | None:
    """Say which samples (n,) lie in a box that leaves a few out, if it is much smaller.

    Samples are left out that are farthest from the median; None if the box of the
    others is more than half as wide.
    """
    import torch

    away = (Y - Y.median(0).values).abs().amax(1)
    count = min(OUTSIDE, Y.shape[0] // 10)
    inside = away < torch.topk(away, count).values[-1]
    if int(inside.sum()) < Y.shape[0] - OUTSIDE:
        return None
    rest = Y[inside]
    return inside if float((rest.amax(0) - rest.amin(0)).max()) < span / 2 else None
