"""Samples in groups, on a device -> pairs among which the closest of every two are."""

from __future__ import annotations

from ..backend import Array, require_memory
from .devices import block_bytes
from .search import lift_queries, lift_samples, product_slack
from .transfer import send

FEW = 64
"""Up to this many groups are gone through one by one."""


def measure_candidates(
    X: Array,
    grouped: Array,
    group: Array,
    n_groups: int,
    precomputed: bool,
    n_jobs: int | None,
    search: None = None,
) -> tuple[Array, Array, Array]:
    """Return pairs among which the closest of every two groups are, and how far apart.

    Matrices of dissimilarities and samples of other metrics are never tensors here. How
    far apart samples are is measured in NumPy, so that ties go the same way.
    """
    require_memory(
        24.0 * group.shape[0] * n_groups,
        f"joining a graph in {n_groups} pieces",
        "Raise n_neighbors or radius, so that there are fewer.",
        like=X,
    )
    sorted_X = X[grouped]
    row, column = closest_candidates(sorted_X, group, n_groups)
    one, other = send((sorted_X[row], sorted_X[column]), None)
    return row, column, ((one - other) ** 2).sum(axis=1)


def closest_candidates(X: Array, group: Array, n_groups: int) -> tuple[Array, Array]:
    """Return pairs that may be the closest of their two groups, by rounding.

    Parameters
    ----------
    X : tensor (n, m)
        Samples, in double precision, sorted by group.
    group : int tensor (n,)
        Group of each, 0, 1, ...
    n_groups : int
        How many there are.

    Returns
    -------
    row, column : int tensors
        Places of the two samples, the group of `row` being the lower one.
    """
    import torch

    n = X.shape[0]
    gaps = X - X.mean(0)
    ours, theirs = lift_queries(gaps), lift_samples(gaps)
    numbers = torch.arange(n_groups, device=X.device)
    starts = torch.searchsorted(group, numbers).tolist()
    minima = X.new_empty((n, n_groups))
    step = max(1, block_bytes(X.device) // (8 * n))
    for start in range(0, n, step):
        block = slice(start, start + step)
        minima[block] = _by_group(ours[block] @ theirs.T, group, starts)
    ends = [*starts[1:], n]
    nearest = torch.stack(
        [minima[s:e].amin(0) for s, e in zip(starts, ends, strict=True)]
    )
    limit = nearest[group] + product_slack(gaps, gaps)[:, None]
    wanted = (minima <= limit) & (numbers > group[:, None])
    rows, columns = [], []
    for some in wanted.any(1).nonzero()[:, 0].split(max(1, step // 4)):
        near = ours[some] @ theirs.T <= limit[some][:, group]
        near &= group[some, None] < group
        row, column = near.nonzero(as_tuple=True)
        rows.append(some[row])
        columns.append(column)
    return torch.cat(rows), torch.cat(columns)


def _by_group(squared: Array, group: Array, starts: list[int]) -> Array:
    """Return the smallest entry of each row in each group of columns."""
    import torch

    n_groups, ends = len(starts), [*starts[1:], squared.shape[1]]
    if n_groups <= FEW:
        parts = zip(starts, ends, strict=True)
        return torch.stack([squared[:, s:e].amin(1) for s, e in parts], 1)
    smallest = squared.new_full((squared.shape[0], n_groups), torch.inf)
    place = group.expand(squared.shape[0], -1)
    return smallest.scatter_reduce_(1, place, squared, "amin")
