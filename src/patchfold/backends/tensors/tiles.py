"""Many samples on a CUDA device -> their neighbours, tile by tile.

Samples are put in an order in which near ones are close, and cut into tiles. A tile of
queries is compared with every tile that can hold a neighbour, and a fused kernel lists
what is nearer than a bound: distances are never stored. The bound comes from every
512th sample, all compared; then from every 64th and every 8th: so about eight times the
neighbours wanted are listed, whatever the data. What is listed is measured and ranked
in double precision, as in `search.py`.

Nothing is left out on purpose; but products of short digits choose the candidates, so
a neighbour in some thousand may be missed (`benchmarks/gpu.py` measures the recall).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..backend import Array
from .devices import block_bytes
from .kernels import GROUPS, TILE, can_run, member_distances, near_in_tiles
from .search import (
    GROUP,
    SPARE,
    first_of_each_row,
    nearest_columns,
    search_all,
    squared_distances_to,
)

FROM = 50_000
"""From this many samples on it is faster than to compare all at once."""

WIDEST = 128
"""Features at most: a tile of more does not fit where a kernel works."""

THINNING = (512, 64, 8, 1)
"""Sampling strides, from coarse to fine."""

ROOM = 16
"""Places for each neighbour wanted; about eight are taken."""

MARGIN = 2.0**-8
"""Bounds are so much larger than needed: products have eleven binary digits."""

ENOUGH = 4
"""Samples for each neighbour wanted that a first bound is taken from, at least."""

SMALL = 128
"""Groups of so few samples are not ordered further."""

FEW_TILES = 2048
"""Tiles of queries that are searched in one go, at most."""


@dataclass(frozen=True)
class _Tiles:
    """Points in tiles, with balls around them.

    Attributes
    ----------
    points : float32 tensor (a multiple of TILE, M)
        Coordinates, filled up with zeros.
    order : int tensor (n,)
        Which sample each point is.
    centers : float32 tensor (t, M)
        Means of the tiles.
    radii : float32 tensor (t,)
        Largest distances from them.
    """

    points: Array
    order: Array
    centers: Array
    radii: Array


def suits_tiles(X: Array, n_neighbors: int) -> bool:
    """Say whether samples are many, and in a place, for this search."""
    n, m = X.shape
    few = ENOUGH * THINNING[-2] * (n_neighbors + 1 + SPARE) <= n
    return can_run(X) and n >= FROM and m <= WIDEST and few


def choose_search(
    algorithm: Any, X: Array, n_neighbors: int, *, n_jobs: int | None = None
) -> str | None:
    """Choose between tiles and all pairs; tensors on the processor may use cells."""
    if not isinstance(algorithm, str) or X.device.type == "cpu":
        return NotImplemented
    return "tiles" if algorithm != "exact" and suits_tiles(X, n_neighbors) else None


def nearest_others(
    X: Array, n_neighbors: int, search: Any, n_jobs: int | None
) -> tuple[Array, Array]:
    """Return indices and distances (n, K) of the nearest other samples."""
    import torch

    own = torch.arange(X.shape[0], device=X.device)
    return nearest_samples(X, X, n_neighbors, search, own, n_jobs)


def nearest_samples(
    queries: Array,
    X: Array,
    n_neighbors: int,
    search: Any,
    own: Array | None,
    n_jobs: int | None,
) -> tuple[Array, Array]:
    """Return indices and distances (q, K) of the nearest samples of queries."""
    if getattr(search, "stays_in_numpy", False) and X.device.type != "cpu":
        search = choose_search("auto", X, n_neighbors)  # it was fitted elsewhere
    if search is None:
        return search_all(queries, X, n_neighbors, own=own)
    if search == "tiles":
        return search_tiles(queries, X, n_neighbors, own=own)
    return NotImplemented


def search_tiles(
    queries: Array, X: Array, n_neighbors: int, *, own: Array | None = None
) -> tuple[Array, Array]:
    """Search many samples; as `search.search_all`, but for the note above."""
    import torch

    n_wanted = n_neighbors + int(own is not None) + SPARE
    center = X.mean(0)
    scale = (X - center).abs().max().clamp(min=torch.finfo(X.dtype).tiny)
    scaled = ((X - center) / scale).float()
    order = order_in_space(scaled)
    coarsest, *thinner = (
        thin for thin in THINNING if X.shape[0] // thin >= ENOUGH * n_wanted
    )
    levels = [_cut(scaled, order[::thin].contiguous()) for thin in thinner]
    ours = levels[-1]
    if own is None:
        placed = ((queries - center) / scale).float()
        ours = _cut(placed, order_in_space(placed))
    coarse = levels[-1].points[: X.shape[0] : coarsest].double()
    indices = torch.empty(
        (queries.shape[0], n_neighbors), dtype=torch.int64, device=X.device
    )
    squared = queries.new_empty((queries.shape[0], n_neighbors))
    crowded = []
    room = ROOM * n_wanted
    for tiles in _runs(ours, room, X.device):
        column, full = _candidates(ours, levels, coarse, tiles, n_wanted, room)
        some = ours.order[tiles.start * TILE : tiles.stop * TILE]
        column, full = column[: some.shape[0]], full[: some.shape[0]]
        exact = squared_distances_to(queries[some], X, column)
        if own is not None:
            exact.masked_fill_(column == own[some, None], torch.inf)
        indices[some], squared[some] = first_of_each_row(column, exact, n_neighbors)
        crowded.append(some[full])
    rest = torch.cat(crowded).sort().values
    if rest.numel():
        selves = None if own is None else own[rest]
        found, distances = search_all(queries[rest], X, n_neighbors, own=selves)
        indices[rest], squared[rest] = found, distances.square()
    return indices, squared.sqrt()


def order_in_space(points: Array) -> Array:
    """Return an order in which near points are close: halves, halves of these, ...

    Each group is cut at the median of the feature in which it is widest.
    """
    import torch

    n, order = points.shape[0], torch.arange(points.shape[0], device=points.device)
    n_groups = 1
    while n // n_groups > SMALL:
        size = n // n_groups
        there = points[order]
        groups = there[: n_groups * size].view(n_groups, size, -1)
        widest = (groups.amax(1) - groups.amin(1)).argmax(1)
        group = (torch.arange(n, device=points.device) // size).clamp(max=n_groups - 1)
        value = there.gather(1, widest[group][:, None])[:, 0].double()
        low, high = value.min(), value.max()
        key = group + (value - low) / (2 * (high - low)).clamp(min=1e-300)
        order = order[key.argsort(stable=True)]
        n_groups *= 2
    return order


def _cut(points: Array, order: Array) -> _Tiles:
    """Cut ordered points into tiles."""
    import torch

    n, m = order.shape[0], points.shape[1]
    n_tiles, M = -(-n // TILE), max(16, 1 << (m - 1).bit_length())
    filled = points.new_zeros((n_tiles * TILE, M))
    filled[:n, :m] = points[order]
    real = torch.arange(n_tiles * TILE, device=points.device) < n
    real = real.view(n_tiles, TILE, 1)
    tiles = filled.view(n_tiles, TILE, M)
    centers = tiles.sum(1) / real.sum(1)
    gaps = (tiles - centers[:, None, :]).square().sum(2)
    radii = (gaps * real[:, :, 0]).amax(1).sqrt()
    return _Tiles(filled, order, centers.contiguous(), radii)


def _runs(ours: _Tiles, room: int, device: Any) -> list[slice]:
    """Cut the tiles of queries into runs that fit in memory."""
    n_tiles = ours.radii.shape[0]
    step = max(1, min(FEW_TILES, 4 * block_bytes(device) // (8 * room * TILE)))
    return [slice(s, min(s + step, n_tiles)) for s in range(0, n_tiles, step)]


def _candidates(
    ours: _Tiles,
    levels: list[_Tiles],
    coarse: Array,
    tiles: slice,
    n_wanted: int,
    room: int,
) -> tuple[Array, Array]:
    """Return the nearest samples of the queries in some tiles, and where too many are.

    Returns
    -------
    columns : int tensor (q, n_wanted)
        Samples, in no order.
    full : bool tensor (q,)
        Queries with more samples near by than there was room for: identical ones.
    """
    import torch

    bounds = _first_bounds(ours, coarse, tiles, n_wanted)
    full = torch.zeros(bounds.shape, dtype=torch.bool, device=bounds.device)
    for level in levels:
        bounds = (bounds * (1 + MARGIN)).float()
        counts, keys = near_in_tiles(
            ours.points,
            level.points,
            ours.centers,
            bounds,
            *_visits(ours, level, tiles, bounds),
            level.order.shape[0],
            room,
            tiles.start,
        )
        full |= counts > room
        nearest = keys.topk(n_wanted, 1, largest=False, sorted=False).values
        found = (nearest >> 32).int().view(torch.float32)
        found = torch.where(nearest < 2**63 - 1, found, torch.inf)
        bounds = torch.minimum(bounds, found.amax(1))
    columns, short = _nearest_members(ours, level, tiles.start * TILE, nearest)
    return columns, full | short


def _nearest_members(
    ours: _Tiles, level: _Tiles, first: int, keys: Array
) -> tuple[Array, Array]:
    """Return the nearest samples of the listed groups, and where there are too few.

    As many samples are found as groups are listed, and those are in the nearest groups.
    """
    n_wanted, n = keys.shape[1], level.order.shape[0]
    queries = ours.points[first : first + keys.shape[0]]
    squared = member_distances(queries, level.points, keys.contiguous(), n)
    found, place = squared.topk(n_wanted, 1, largest=False, sorted=False)
    group = keys.gather(1, place // (TILE // GROUPS)) & (2**32 - 1)
    member = group // GROUPS * TILE + group % GROUPS
    member += GROUPS * (place % (TILE // GROUPS))
    short = found.isinf().any(1)  # their bound was off
    return level.order[member.clamp(max=n - 1)], short


def _first_bounds(ours: _Tiles, coarse: Array, tiles: slice, n_wanted: int) -> Array:
    """Return the distance of the last wanted neighbour among a few samples."""
    import torch

    queries = ours.points[tiles.start * TILE : tiles.stop * TILE].double()
    n = coarse.shape[0] // GROUP * GROUP
    some = coarse[:n] if n > 2 * n_wanted else coarse
    bounds = queries.new_empty(queries.shape[0])
    step = max(1, block_bytes(queries.device) // (8 * n + 1))
    for start in range(0, queries.shape[0], step):
        block = slice(start, start + step)
        gaps = torch.cdist(
            queries[block], some, compute_mode="use_mm_for_euclid_dist"
        ).square_()
        columns = nearest_columns(gaps, n_wanted)
        bounds[block] = gaps.gather(1, columns).amax(1)
    return bounds


def _visits(
    ours: _Tiles, level: _Tiles, tiles: slice, bounds: Array
) -> tuple[Array, Array]:
    """List, for each tile of queries, the tiles that reach within its largest bound."""
    import torch

    reach = bounds.view(-1, TILE).amax(1).sqrt() + ours.radii[tiles]
    apart = torch.cdist(ours.centers[tiles].double(), level.centers.double())
    wanted = apart <= 1.001 * (reach[:, None] + level.radii[None, :])
    counts = wanted.sum(1, dtype=torch.int32)
    starts = torch.zeros(counts.shape[0] + 1, dtype=torch.int32, device=counts.device)
    starts[1:] = counts.cumsum(0)
    return starts, wanted.nonzero()[:, 1].int()
