"""What torch has no fused operation for, as Triton kernels: CUDA devices only.

Triton comes with torch for CUDA on Linux. Where it is missing, plain torch does the
same work, more slowly.
"""

from __future__ import annotations

from typing import Any

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None

TILE = 128
"""Samples that are compared with as many others by one product."""

GROUPS = 8
"""Groups of a tile: those samples whose places differ by a multiple of this."""

WARPS = 4
"""Measured: eight take half as long again."""

ROWS = 32
"""Rows of a sparse matrix that one program multiplies."""


def compiled(function: Any) -> Any:
    """Compile a function by Triton when it is first called; leave it without it."""
    return function if triton is None else triton.jit(function)


@compiled
def _near_in_tiles(  # type: ignore[no-untyped-def]
    queries,
    points,
    centers,
    bounds,
    starts,
    visits,
    counts,
    keys,
    n_points,
    room,
    first_tile,
    M: tl.constexpr,
    T: tl.constexpr,
    G: tl.constexpr,
):
    # One tile of queries against the tiles it has to visit. Coordinates are taken from
    # the centre of the queries, so that the short digits of the product are enough.
    tile = tl.program_id(0)
    rows = tile * T + tl.arange(0, T)
    features = tl.arange(0, M)
    lanes = tl.arange(0, T)
    center = tl.load(centers + (first_tile + tile) * M + features)
    at = (first_tile * T + rows).to(tl.int64)
    ours = tl.load(queries + at[:, None] * M + features[None, :]) - center[None, :]
    norms = tl.sum(ours * ours, 1)
    bound = tl.load(bounds + rows)
    for visit in range(tl.load(starts + tile), tl.load(starts + tile + 1)):
        columns = tl.load(visits + visit).to(tl.int64) * T + lanes
        theirs = tl.load(points + columns[:, None] * M + features[None, :])
        theirs = theirs - center[None, :]
        squared = tl.sum(theirs * theirs, 1)[None, :] + norms[:, None]
        squared -= 2 * tl.dot(ours, tl.trans(theirs), input_precision="tf32")
        squared = tl.where(columns[None, :] < n_points, squared, float("inf"))
        # Of every eighth column only the nearest is listed: sixteen times less to do.
        best = tl.min(tl.reshape(squared, (T, T // G, G)), 1)
        best = tl.maximum(best, 0.0)
        near = best <= bound[:, None]
        slots = counts + rows[:, None] + tl.zeros((T, G), tl.int32)
        place = tl.atomic_add(slots, 1, mask=near)
        # The bits of a float >= 0, read as an integer, are in the order of the floats.
        key = best.to(tl.int32, bitcast=True).to(tl.int64) << 32
        key = key | (tl.load(visits + visit).to(tl.int64) * G + tl.arange(0, G))
        where = keys + rows[:, None].to(tl.int64) * room + place
        tl.store(where, key, mask=near & (place < room))


@compiled
def _member_distances(  # type: ignore[no-untyped-def]
    queries,
    points,
    keys,
    out,
    n_points,
    n_keys,
    M: tl.constexpr,
    T: tl.constexpr,
    G: tl.constexpr,
):
    # One query and all members of its groups.
    row = tl.program_id(0).to(tl.int64)
    features, each = tl.arange(0, M), tl.arange(0, T // G)
    ours = tl.load(queries + row * M + features)
    for k in range(n_keys):
        group = tl.load(keys + row * n_keys + k) & 0xFFFFFFFF
        member = group // G * T + group % G + G * each
        real = member < n_points
        theirs = points + member[:, None] * M + features[None, :]
        gaps = tl.load(theirs, mask=real[:, None], other=float("inf")) - ours[None, :]
        tl.store(out + (row * n_keys + k) * (T // G) + each, tl.sum(gaps * gaps, 1))


@compiled
def _laplacian_product(  # type: ignore[no-untyped-def]
    pointer, column, data, diagonal, vector, out, n, R: tl.constexpr
):
    rows = tl.program_id(0) * R + tl.arange(0, R)
    inside = rows < n
    start = tl.load(pointer + rows, mask=inside, other=0)
    stop = tl.load(pointer + rows + 1, mask=inside, other=0)
    longest = tl.max(stop - start, 0)
    total = tl.zeros((R,), tl.float64)
    for k in range(0, longest, R):
        entry = start[:, None] + k + tl.arange(0, R)[None, :]
        there = entry < stop[:, None]
        value = tl.load(data + entry, mask=there, other=0.0)
        place = tl.load(column + entry, mask=there, other=0)
        total += tl.sum(value * tl.load(vector + place, mask=there, other=0.0), 1)
    own = tl.load(diagonal + rows, mask=inside, other=0.0)
    own = own * tl.load(vector + rows, mask=inside, other=0.0)
    tl.store(out + rows, own - total, mask=inside)


def can_run(tensor: Any) -> bool:
    """Say whether the kernels run where a tensor is."""
    return triton is not None and tensor.device.type == "cuda"


def near_in_tiles(
    queries: Any,
    points: Any,
    centers: Any,
    bounds: Any,
    starts: Any,
    visits: Any,
    n_points: int,
    room: int,
    first_tile: int,
) -> tuple[Any, Any]:
    """List the groups with a point that is no farther from a query than its bound.

    Parameters
    ----------
    queries, points : float32 tensors (a multiple of TILE, M)
        M a power of two, at least 16.
    centers : float32 tensor (query tiles, M)
        Means of the tiles of queries.
    bounds : float32 tensor (b TILE,)
        Squared distances, of the queries from tile `first_tile` on.
    starts, visits : int32 tensors (b + 1,), (v,)
        Which tiles of points each tile of queries is compared with.
    n_points, room, first_tile : int
        Points that are real, groups that are listed, and where the queries begin.

    Returns
    -------
    counts : int32 tensor (b TILE,)
        How many there are; more than `room` are not all listed.
    keys : int64 tensor (b TILE, room)
        Distance and number of the group in one, in no order; the largest number where
        there is none. Group g of tile t has number t GROUPS + g.
    """
    import torch

    n_tiles, M = starts.shape[0] - 1, queries.shape[1]
    counts = torch.zeros(n_tiles * TILE, dtype=torch.int32, device=queries.device)
    keys = torch.full(
        (n_tiles * TILE, room), 2**63 - 1, dtype=torch.int64, device=queries.device
    )
    _near_in_tiles[(n_tiles,)](
        queries,
        points,
        centers,
        bounds,
        starts,
        visits,
        counts,
        keys,
        n_points,
        room,
        first_tile,
        M=M,
        T=TILE,
        G=GROUPS,
        num_warps=WARPS,
    )
    return counts, keys


def member_distances(queries: Any, points: Any, keys: Any, n_points: int) -> Any:
    """Return squared distances of queries to all members of their groups.

    Parameters
    ----------
    queries, points : float32 tensors (q, M), (a multiple of TILE, M)
        As in `near_in_tiles`.
    keys : int64 tensor (q, k)
        From `near_in_tiles`.
    n_points : int
        Points that are real.

    Returns
    -------
    float32 tensor (q, k TILE / GROUPS)
        Infinite where there is no point.
    """
    n_rows, n_keys = keys.shape
    out = queries.new_empty((n_rows, n_keys * (TILE // GROUPS)))
    _member_distances[(n_rows,)](
        queries,
        points,
        keys,
        out,
        n_points,
        n_keys,
        M=queries.shape[1],
        T=TILE,
        G=GROUPS,
        num_warps=1,
    )
    return out


def laplacian_product(
    pointer: Any, column: Any, data: Any, diagonal: Any, vector: Any
) -> Any:
    """Multiply a diagonal less a CSR matrix by a vector, sums in a fixed order."""
    vector = vector.contiguous()
    out = vector.new_empty(pointer.shape[0] - 1)
    n = out.shape[0]
    grid = (triton.cdiv(n, ROWS),)
    _laplacian_product[grid](pointer, column, data, diagonal, vector, out, n, R=ROWS)
    return out
