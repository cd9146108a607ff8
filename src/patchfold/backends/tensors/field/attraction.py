"""Neighbours on a device -> weights of attraction between pairs, and their graph.

Equal pairs are brought together by sorting, and no float is added to another but in a
fixed order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...backend import Array
from ..search import squared_distances_to
from ..transfer import csr_tensor

ROUNDS, LOOK = 60, 4
"""Rounds of Newton's method at most, and those between two looks at the errors."""


@dataclass(frozen=True)
class Attraction:
    """Weights of near and of mid-near pairs.

    Attributes
    ----------
    near, middle : CSR tensors (n, n)
        P and M, symmetric; the sum of each is 1.
    """

    near: Array
    middle: Array


def unite(near: Array, middle: Array | None) -> Attraction:
    """Put near and mid-near pairs together; without these, near ones twice."""
    return Attraction(near, near if middle is None else middle)


def calibrated(lengths: Array, perplexity: float) -> Array:
    """Return rows of weights (n, K) of sum 1 with a perplexity, or .9 K if less."""
    import torch

    largest = lengths.amax(1, keepdim=True)
    squared = (lengths / torch.where(largest > 0, largest, 1)).square()
    target = math.log(max(1.0, min(perplexity, 0.9 * lengths.shape[1])))
    shifted = squared - squared.amin(1, keepdim=True)
    mean = shifted.mean(1, keepdim=True)
    beta = torch.where(mean > 0, 1 / mean, 0)
    low, high = torch.zeros_like(beta), torch.full_like(beta, torch.inf)
    done = beta == 0
    for round in range(ROUNDS):
        scaled = shifted * beta
        weights = (-scaled).exp()
        sums = weights.sum(1, keepdim=True)
        weights /= sums
        first = (weights * scaled).sum(1, keepdim=True)
        error = sums.log() + first - target
        done |= error.abs() < 1e-10
        if round % LOOK == LOOK - 1 and bool(done.all()):
            break
        slope = (weights * scaled.square()).sum(1, keepdim=True) - first.square()
        low, high = (
            torch.where(error > 0, beta, low),
            torch.where(error > 0, high, beta),
        )
        ahead = torch.where(slope > 0, beta * (error / slope).exp(), torch.inf)
        halved = torch.where(high.isinf(), 2 * beta, (low + high) / 2)
        ahead = torch.where((ahead > low) & (ahead < high), ahead, halved)
        done |= ahead.isinf()
        beta = torch.where(done, beta, ahead)
    return weights


def weighted_pairs(
    indices: Array, lengths: Array, even: float, perplexity: float, n_jobs: int | None
) -> Array:
    """Return symmetric weights of neighbours, of sum 1; rows are all equally long."""
    weights = (1 - even) * calibrated(lengths, perplexity) + even / indices.shape[1]
    n, (row, column) = indices.shape[0], _directed(indices)
    return _summed(*_mirrored(n, row, column, weights.reshape(-1)), n)


def middle_of_samples(X: Array, draws: Any, n_jobs: int | None) -> Array | None:
    """Return symmetric weights of mid-near pairs, of sum 1, or None."""
    import torch

    n, per_sample = X.shape[0], draws.per_sample
    if per_sample == 0:
        return None
    drawn = torch.from_numpy(draws.take(n)).to(X.device)
    gaps = squared_distances_to(X, X, drawn.view(n, -1)).view(drawn.shape)
    second = gaps.argsort(dim=1, stable=True)[:, 1:2]
    column = drawn.gather(1, second)[:, 0]
    row = torch.arange(n, device=X.device).repeat_interleave(per_sample)
    other = row != column
    row, column = row[other], column[other]
    if row.shape[0] == 0:
        return None
    both = torch.cat([row * n + column, column * n + row]).sort().values
    key, counts = both.unique_consecutive(return_counts=True)
    return _matrix(key, counts.to(X.dtype) / both.shape[0], n)


def join_pairs(near: Array, middle: Array) -> tuple[Array, Array, Array]:
    """Return the pattern of both graphs, and the weights of each on it in float32."""
    import torch

    n = near.shape[0]
    key = [_keys(graph) for graph in (near, middle)]
    both = torch.cat(key).sort().values.unique_consecutive()
    weights = []
    for keys, graph in zip(key, (near, middle), strict=True):
        on_both = torch.zeros(both.shape, dtype=torch.float32, device=both.device)
        on_both[torch.searchsorted(both, keys)] = graph.values().float()
        weights.append(on_both)
    if both.shape[0] >= 2**31:
        raise MemoryError(f"{both.shape[0]} edges are too many: lower n_neighbors.")
    return _matrix(both, weights[0], n), *weights


def graph_of(setting: Any) -> Array:
    """Return the dissimilarity of every edge, in the order of the input."""
    import torch

    links, order = setting.links, setting.order
    n, (row, column) = links.indices.shape[0], _directed(links.indices)
    ends = n, order[row], order[column], links.lengths.reshape(-1)
    key, total, count = _mirrored(*ends)
    return _matrix(key, torch.where(count > 1, total / 2, total), n)


def quantile_of_last(lengths: Array, part: float) -> float:
    """Return the quantile of the longest length of each row."""
    last = lengths.amax(1).sort().values
    place = part * (last.shape[0] - 1)
    low = int(place)
    ends = last[low], last[min(low + 1, last.shape[0] - 1)]
    return float(ends[0] + (place - low) * (ends[1] - ends[0]))


def in_input_order(values: Array, order: Array) -> Array:
    """Return rows of ours in the order of the input, in double precision."""
    placed = values.double()
    placed[order] = values.double()
    return placed


def _directed(indices: Array) -> tuple[Array, Array]:
    """Return rows and columns of neighbours (n, K)."""
    import torch

    n, k = indices.shape
    row = torch.arange(n, device=indices.device).repeat_interleave(k)
    return row, indices.reshape(-1).long()


def _mirrored(
    n: int, row: Array, column: Array, values: Array
) -> tuple[Array, Array, Array]:
    """Return keys of all pairs and of their mirrored ones, sums, and how many each was.

    No pair may be there twice, so that each sum has one or two parts.
    """
    import torch

    key, place = torch.cat([row * n + column, column * n + row]).sort(stable=True)
    values = torch.cat([values, values])[place]
    last = torch.ones_like(key, dtype=torch.bool)
    last[:-1] = key[1:] != key[:-1]
    is_double = torch.zeros_like(last)
    is_double[1:] = ~last[:-1]
    total = values.clone()
    total[1:] += torch.where(is_double[1:], values[:-1], 0)
    return key[last], total[last], 1 + is_double[last].long()


def _summed(key: Array, values: Array, count: Array, n: int) -> Array:
    return _matrix(key, values / values.sum(), n)


def _keys(matrix: Array) -> Array:
    """Return row n + column of the entries of a CSR tensor."""
    import torch

    n, pointer = matrix.shape[0], matrix.crow_indices().long()
    row = torch.arange(n, device=pointer.device).repeat_interleave(pointer.diff())
    return row * n + matrix.col_indices()


def _matrix(key: Array, values: Array, n: int) -> Array:
    """Return the CSR tensor with values at ascending keys."""
    import torch

    pointer = torch.searchsorted(key, torch.arange(n + 1, device=key.device) * n)
    kind = torch.int32 if key.shape[0] < 2**31 else torch.int64
    return csr_tensor(pointer.to(kind), (key % n).to(kind), values, (n, n))
