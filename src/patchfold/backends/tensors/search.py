"""Queries and samples on a device -> the nearest of all samples, exactly.

Products in double precision choose candidates, differences measure them, and ties go
to the lower index, as in `exact_search.py`.
"""

from __future__ import annotations

from ..backend import Array
from ..native.neighbors import TIE_BITS, tie_keys
from .devices import block_bytes

SPARE = 8
"""Candidates beyond the K wanted, so that few rows with ties have to look further."""

GROUP = 32
"""Columns whose smallest distance stands for them: the nearest samples are in the
groups with the smallest, and only these few are ranked."""

MANY = 8
"""With K above n / `MANY`, whole rows of distances are sorted."""


def search_all(
    queries: Array, X: Array, n_neighbors: int, *, own: Array | None = None
) -> tuple[Array, Array]:
    """Search all samples.

    Parameters
    ----------
    queries : tensor (q, m)
        Whose neighbours are wanted.
    X : tensor (n, m)
        Samples, in double precision.
    n_neighbors : int
        How many neighbours K.
    own : int tensor (q,) or None
        Which sample each query is itself, if it is one: never its own neighbour.

    Returns
    -------
    indices, distances : tensors (q, K)
        Nearest first.
    """
    import torch

    n, n_wanted = X.shape[0], n_neighbors + int(own is not None) + SPARE
    if n <= MANY * n_wanted:
        return sort_all(queries, X, n_neighbors, own)
    center = X.mean(0)
    gaps = X - center
    theirs = lift_samples(gaps, fill=-(-n // GROUP) * GROUP)
    indices = queries.new_empty((queries.shape[0], n_neighbors), dtype=torch.int64)
    squared = queries.new_empty((queries.shape[0], n_neighbors))
    unsettled = []
    step = max(1, block_bytes(X.device) // (12 * n))
    for start in range(0, queries.shape[0], step):
        block = slice(start, start + step)
        ours = queries[block] - center
        column = nearest_columns(lift_queries(ours) @ theirs.T, n_wanted)
        exact = squared_distances_to(queries[block], X, column)
        reach = exact.amax(1)
        if own is not None:
            exact.masked_fill_(column == own[block, None], torch.inf)
        indices[block], squared[block] = first_of_each_row(column, exact, n_neighbors)
        beyond = squared[block][:, -1] * (1 + 4 * 2.0**-TIE_BITS)
        beyond += product_slack(ours, gaps)
        unsettled.append(start + torch.nonzero(~(beyond < reach))[:, 0])
    rest = torch.cat(unsettled)
    if rest.numel():
        selves = None if own is None else own[rest]
        found, distances = sort_all(queries[rest], X, n_neighbors, selves)
        indices[rest], squared[rest] = found, distances.square()
    return indices, squared.sqrt()


def sort_all(
    queries: Array, X: Array, n_neighbors: int, own: Array | None
) -> tuple[Array, Array]:
    """Sort whole rows of exact distances."""
    import torch

    q, n = queries.shape[0], X.shape[0]
    indices = queries.new_empty((q, n_neighbors), dtype=torch.int64)
    squared = queries.new_empty((q, n_neighbors))
    features = X.T.contiguous()
    step = max(1, block_bytes(X.device) // (40 * n))
    for start in range(0, q, step):
        block = slice(start, min(start + step, q))
        exact = torch.zeros((block.stop - start, n), dtype=X.dtype, device=X.device)
        for ours, theirs in zip(queries[block].T, features, strict=True):
            exact += (ours[:, None] - theirs).square_()
        if own is not None:
            exact[torch.arange(block.stop - start), own[block]] = torch.inf
        order = tie_keys(exact).argsort(dim=1, stable=True)[:, :n_neighbors]
        indices[block], squared[block] = order, exact.gather(1, order)
    return indices, squared.sqrt()


def squared_distances_to(queries: Array, X: Array, columns: Array) -> Array:
    """Squared distances (q, c) of each query to its own row of candidates."""
    q, c = columns.shape
    squared = X.new_empty((q, c))
    step = max(1, block_bytes(X.device) // (16 * c * X.shape[1]))
    for start in range(0, q, step):
        block = slice(start, start + step)
        gap = X[columns[block]]
        gap -= queries[block, None, :]
        squared[block] = gap.square_().sum(2)
    return squared


def first_of_each_row(
    column: Array, squared: Array, n_neighbors: int
) -> tuple[Array, Array]:
    """Keep the first K candidates of each row by (distance, index)."""
    column, place = column.sort(1)
    squared = squared.gather(1, place)
    order = tie_keys(squared).argsort(dim=1, stable=True)[:, :n_neighbors]
    return column.gather(1, order), squared.gather(1, order)


def nearest_columns(squared: Array, n_wanted: int) -> Array:
    """Return the places of the smallest entries of each row, in any order.

    `squared` has a multiple of `GROUP` columns. The k smallest lie in the k groups with
    the smallest minima, so most columns are read once and never ranked.
    """
    q, n = squared.shape
    if n // GROUP <= 2 * n_wanted:
        return squared.topk(n_wanted, 1, largest=False, sorted=False).indices
    groups = squared.view(q, n // GROUP, GROUP)
    near = groups.amin(2).topk(n_wanted, 1, largest=False, sorted=False).indices
    inside = groups.gather(1, near[:, :, None].expand(-1, -1, GROUP))
    best = inside.reshape(q, -1).topk(n_wanted, 1, largest=False, sorted=False).indices
    return near.gather(1, best // GROUP) * GROUP + best % GROUP


def lift_queries(gaps: Array) -> Array:
    """Return rows (-2q, 1, |q|²): times those of samples, they are squared distances.

    `gaps` are differences from one point near all of them.
    """
    import torch

    norms = gaps.square().sum(1, keepdim=True)
    return torch.cat([-2 * gaps, torch.ones_like(norms), norms], 1)


def lift_samples(gaps: Array, fill: int = 0) -> Array:
    """Return rows (x, |x|², 1), with rows infinitely far away up to a length."""
    import torch

    norms = gaps.square().sum(1, keepdim=True)
    rows = torch.cat([gaps, norms, torch.ones_like(norms)], 1)
    rest = rows.new_zeros((max(0, fill - rows.shape[0]), rows.shape[1]))
    rest[:, -2] = torch.inf
    return torch.cat([rows, rest])


def product_slack(queries: Array, gaps: Array) -> Array:
    """Bound, per query, how far two products may be from the truth."""
    import torch

    rounding = 8 * (gaps.shape[1] + 8) * torch.finfo(gaps.dtype).eps
    return rounding * (queries.square().sum(1) + gaps.square().sum(1).max())
