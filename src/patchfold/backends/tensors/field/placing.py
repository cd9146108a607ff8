"""New samples on a device -> their places in a map, each found on its own."""

from __future__ import annotations

from typing import Any

from ...backend import Array
from .attraction import calibrated
from .grid import Field, choose_nodes, read, spread
from .order import row_keys

ROUNDS = 30
"""Rounds in which a new sample is balanced."""

ROWS = 2**18
"""New samples that are balanced at a time."""


def recognise(keys: Array, Y: Array, training: Array, X: Array) -> tuple[Array, Array]:
    """Say which samples are training samples, and return the mean place of these."""
    import torch

    keys, by_key = keys.view(torch.int64).sort(stable=True)
    wanted = row_keys(X)
    first = torch.searchsorted(keys, wanted)
    count = torch.searchsorted(keys, wanted, right=True) - first
    sums = torch.zeros((keys.shape[0] + 1, 2), dtype=torch.float64, device=Y.device)
    sums[1:] = Y[by_key].double().cumsum(0)
    places = (sums[first + count] - sums[first]) / count.clamp(min=1)[:, None]
    at = by_key[first.clamp(max=keys.shape[0] - 1)]
    single = count == 1  # its bits, not those of a difference of sums
    places[single] = Y[at[single]].double()
    equal = (training[at] == X).all(1)
    return (count > 0) & equal, places


def settle_all(
    chart: Any, links: Any, perplexity: float, calm: float, n_jobs: int | None
) -> Array:
    """Return coordinates (q, 2) of new samples between attraction and the field."""
    import torch

    Y, flat = chart.Y, chart.flat
    box = torch.cat([Y.amin(0), Y.amax(0)])
    spans = (box[2:] - box[:2]).cpu().numpy()
    nodes = choose_nodes(spans, None)
    field = Field(nodes, chart.alpha, Y.device).convolve(spread(Y, box, nodes))
    push = Y.shape[0] / (calm * chart.share * chart.Z)
    weights = calibrated(links.lengths, perplexity).float()
    placed = []
    for near, w in zip(links.indices.split(ROWS), weights.split(ROWS), strict=True):
        there = Y[near]
        y = _weighed(w, there)
        low, high = there.amin(1) - 1, there.amax(1) + 1
        for _ in range(ROUNDS):
            gaps = y[:, None, :] - there
            a = w / (1 + gaps.square().sum(2) / chart.alpha)
            _, r = read(y.clamp(box[:2], box[2:]), box, nodes, field)
            move = 0.5 * (_weighed(a, gaps) - push * r) / _added(a)[:, None]
            if flat:
                move[:, 1] = 0
            y = (y - move).clamp(low, high)
        placed.append(y)
    return torch.cat(placed).double()


def _weighed(weights: Array, values: Array) -> Array:
    """Return sums (q, 2) of values (q, k, 2), added in order: equal in any batch."""
    total = weights[:, :1] * values[:, 0]
    for k in range(1, weights.shape[1]):
        total = total + weights[:, k : k + 1] * values[:, k]
    return total


def _added(values: Array) -> Array:
    """Return sums (q,) of values (q, k), added in order."""
    total = values[:, 0]
    for k in range(1, values.shape[1]):
        total = total + values[:, k]
    return total
