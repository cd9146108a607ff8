"""The steps of CauchyMap as Triton kernels, for CUDA devices: see `fused.py`.

`steps.py` says in plain torch what they compute. Masses are added up as whole numbers,
in any order; all other sums run in a fixed one. While `control[OK]` is 0 nothing
changes: samples have left the grid, and wait for the host to make a larger one.
"""

# Triton compiles these functions: they have no types, and are longer than others.
from __future__ import annotations

from typing import Any

from ..kernels import can_run, compiled, tl

__all__ = ["can_run", "hash_rows"]

OK, TAKEN, DONE, ENLARGED = 0, 1, 2, 3
"""Places in `control`: whether samples are on the grid, whether the last step was
taken, how many were, and whether the last one enlarged the map."""

BLOCK = 256
"""Samples of a program that reads or writes the grid."""

ROWS, EDGES = 32, 32
"""Samples, and edges of each at a time, of a program that moves samples."""

MANY = 1024
"""Partial sums that are added at a time."""

HASHED = 128
"""Rows of a program that hashes."""


@compiled
def hash_each_row(X, keys, n, m, B: tl.constexpr):  # type: ignore[no-untyped-def]
    rows = tl.program_id(0) * B + tl.arange(0, B)
    inside = rows < n
    start = X + rows.to(tl.int64) * m
    key = tl.zeros((B,), tl.int64)
    mix = tl.full((B,), -7046029254386353131, tl.int64)
    for k in range(m):
        value = tl.load(start + k, mask=inside, other=0.0) + 0.0
        key = (key ^ value.to(tl.int64, bitcast=True)) * mix
        key = key ^ ((key >> 32) & 0xFFFFFFFF)
    tl.store(keys + rows, key, mask=inside)


@compiled
def _spline(u, p: tl.constexpr):  # type: ignore[no-untyped-def]
    v = 1 - u
    if p == 0:
        return v * v * v / 6
    elif p == 1:
        return (4 - 6 * u * u + 3 * u * u * u) / 6
    elif p == 2:
        return (4 - 6 * v * v + 3 * v * v * v) / 6
    else:
        return u * u * u / 6


@compiled
def _slope(u, p: tl.constexpr):  # type: ignore[no-untyped-def]
    v = 1 - u
    if p == 0:
        return -v * v / 2
    elif p == 1:
        return (-4 * u + 3 * u * u) / 2
    elif p == 2:
        return (4 * v - 3 * v * v) / 2
    else:
        return u * u / 2


@compiled
def _place(y, box, c: tl.constexpr, nodes, spacing):  # type: ignore[no-untyped-def]
    # Node before a point, and where the point lies between this and the next.
    middle = (tl.load(box + c) + tl.load(box + 2 + c)) / 2
    place = (y - (middle - spacing * ((nodes - 1) / 2))) * (1 / spacing)
    corner = tl.minimum(tl.maximum(place.to(tl.int32), 1), nodes - 3)
    return corner, place - corner


@compiled
def spread(  # type: ignore[no-untyped-def]
    Y, box, control, mass, n, rows, columns, spacing, n_grids, B: tl.constexpr
):
    # Unit masses of samples, to one of several equal grids.
    program = tl.program_id(0)
    i = program * B + tl.arange(0, B)
    there = i < n * tl.load(control)
    x = tl.load(Y + 2 * i, mask=there, other=0.0)
    y = tl.load(Y + 2 * i + 1, mask=there, other=0.0)
    at_x, u = _place(x, box, 0, rows, spacing)
    at_y, v = _place(y, box, 1, columns, spacing)
    first = mass + (program % n_grids).to(tl.int64) * rows * columns
    node = (at_x - 1) * columns + at_y - 1
    for p in tl.static_range(4):
        wx = _spline(u, p) * 4294967296.0
        for q in tl.static_range(4):
            part = (wx * _spline(v, q)).to(tl.int64)
            tl.atomic_add(
                first + node + p * columns + q, part, mask=there, sem="relaxed"
            )


@compiled
def collect(mass, out, size, n_grids, B: tl.constexpr):  # type: ignore[no-untyped-def]
    # The sum of the grids in floats; the grids are 0 then.
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < size
    total = tl.zeros((B,), tl.int64)
    place = mass + i
    for _ in range(n_grids):
        total += tl.load(place, mask=inside, other=0)
        tl.store(place, tl.zeros((B,), tl.int64), mask=inside)
        place += size
    masses = total.to(tl.float64) * 2.3283064365386963e-10
    tl.store(out + i, masses.to(tl.float32), mask=inside)


@compiled
def read(  # type: ignore[no-untyped-def]
    Y, box, control, field, r, phi, n, rows, columns, stride, spacing, B: tl.constexpr
):
    # The field and its slopes at samples; sums of the field over B samples.
    program = tl.program_id(0)
    i = program * B + tl.arange(0, B)
    there = i < n * tl.load(control)
    x = tl.load(Y + 2 * i, mask=there, other=0.0)
    y = tl.load(Y + 2 * i + 1, mask=there, other=0.0)
    at_x, u = _place(x, box, 0, rows, spacing)
    at_y, v = _place(y, box, 1, columns, spacing)
    node = field + (at_x - 1) * stride + at_y - 1
    total, by_x, by_y = (
        tl.zeros((B,), tl.float32),
        tl.zeros((B,), tl.float32),
        tl.zeros((B,), tl.float32),
    )
    for p in tl.static_range(4):
        along = tl.zeros((B,), tl.float32)
        steep = tl.zeros((B,), tl.float32)
        for q in tl.static_range(4):
            value = tl.load(node + p * stride + q, mask=there, other=0.0)
            along += _spline(v, q) * value
            steep += _slope(v, q) * value
        total += _spline(u, p) * along
        by_x += _slope(u, p) * along
        by_y += _spline(u, p) * steep
    tl.store(r + 2 * i, by_x * (-0.5 / spacing), mask=there)
    tl.store(r + 2 * i + 1, by_y * (-0.5 / spacing), mask=there)
    whole = tl.sum(tl.where(there, total, 0.0).to(tl.float64), 0)
    tl.store(phi + program, whole)


@compiled
def sum_field(phi, control, Z, n, count, least, B: tl.constexpr):  # type: ignore[no-untyped-def]
    lanes = tl.arange(0, B)
    total = tl.zeros((B,), tl.float64)
    for k in range(0, count, B):
        total += tl.load(phi + k + lanes, mask=k + lanes < count, other=0.0)
    found = tl.maximum(tl.sum(total, 0) - n, least)
    tl.store(Z, found, mask=tl.load(control) != 0)


@compiled
def _pulled(  # type: ignore[no-untyped-def]
    x,
    y,
    start,
    stop,
    column,
    near,
    middle,
    Y,
    share,
    of_middle,
    inverse,
    R: tl.constexpr,
    E: tl.constexpr,
):
    # Sums of w (y_i - y_j) / (1 + |y_i - y_j|^2 / alpha) over edges.
    pull_x, pull_y = tl.zeros((R,), tl.float32), tl.zeros((R,), tl.float32)
    for k in range(0, tl.max(stop - start, 0), E):
        entry = start[:, None] + k + tl.arange(0, E)[None, :]
        there = entry < stop[:, None]
        j = tl.load(column + entry, mask=there, other=0)
        w = share * tl.load(near + entry, mask=there, other=0.0)
        w += of_middle * tl.load(middle + entry, mask=there, other=0.0)
        dx = x[:, None] - tl.load(Y + 2 * j, mask=there, other=0.0)
        dy = y[:, None] - tl.load(Y + 2 * j + 1, mask=there, other=0.0)
        q = w / (1 + (dx * dx + dy * dy) * inverse)
        pull_x += tl.sum(q * dx, 1)
        pull_y += tl.sum(q * dy, 1)
    return pull_x, pull_y


@compiled
def _hastened(slope, velocity, gain, at, inside, rate, momentum):  # type: ignore[no-untyped-def]
    # The next velocity along one coordinate; the gain is stored.
    v = tl.load(velocity + at, mask=inside, other=0.0)
    g = tl.load(gain + at, mask=inside, other=1.0)
    g = tl.where((slope > 0) != (v > 0), g + 0.2, tl.maximum(0.8 * g, 0.01))
    tl.store(gain + at, g, mask=inside)
    return momentum * v - rate * g * slope


@compiled
def _store_sums(x, y, inside, out, programs):  # type: ignore[no-untyped-def]
    # Sums of x, y and their squares, and the box of the samples of one program.
    wide_x = tl.where(inside, x, 0.0).to(tl.float64)
    wide_y = tl.where(inside, y, 0.0).to(tl.float64)
    far = float("inf")
    tl.store(out, tl.sum(wide_x, 0))
    tl.store(out + programs, tl.sum(wide_y, 0))
    tl.store(out + 2 * programs, tl.sum(wide_x * wide_x + wide_y * wide_y, 0))
    tl.store(out + 3 * programs, tl.min(tl.where(inside, x, far), 0).to(tl.float64))
    tl.store(out + 4 * programs, tl.min(tl.where(inside, y, far), 0).to(tl.float64))
    tl.store(out + 5 * programs, tl.max(tl.where(inside, x, -far), 0).to(tl.float64))
    tl.store(out + 6 * programs, tl.max(tl.where(inside, y, -far), 0).to(tl.float64))


@compiled
def move(  # type: ignore[no-untyped-def]
    pointer,
    column,
    near,
    middle,
    Y,
    r,
    velocity,
    gain,
    moved,
    Z,
    factors,
    control,
    sums,
    n,
    of_middle,
    inverse,
    flat: tl.constexpr,
    R: tl.constexpr,
    E: tl.constexpr,
):
    # Attraction along edges less repulsion; a step of R samples, and their sums.
    program = tl.program_id(0)
    rows = program * R + tl.arange(0, R)
    inside = rows < n * tl.load(control)
    step = factors + 4 * tl.load(control + 2)
    scale, rate, momentum = tl.load(step + 1), tl.load(step + 2), tl.load(step + 3)
    push = (1 / tl.load(Z)).to(tl.float32)
    start = tl.load(pointer + rows, mask=inside, other=0)
    stop = tl.load(pointer + rows + 1, mask=inside, other=0)
    x = tl.load(Y + 2 * rows, mask=inside, other=0.0)
    y = tl.load(Y + 2 * rows + 1, mask=inside, other=0.0)
    share = tl.load(step)
    pull_x, pull_y = _pulled(
        x, y, start, stop, column, near, middle, Y, share, of_middle, inverse, R, E
    )
    push_x = push * tl.load(r + 2 * rows, mask=inside, other=0.0)
    push_y = push * tl.load(r + 2 * rows + 1, mask=inside, other=0.0)
    slope = scale * pull_x - push_x
    vx = _hastened(slope, velocity, gain, 2 * rows, inside, rate, momentum)
    slope = scale * pull_y - push_y
    vy = _hastened(slope, velocity, gain, 2 * rows + 1, inside, rate, momentum)
    if flat:
        vy = vy * 0
    size = tl.maximum(tl.sqrt(vx * vx + vy * vy), 1.0)
    vx, vy = vx / size, vy / size
    tl.store(velocity + 2 * rows, vx, mask=inside)
    tl.store(velocity + 2 * rows + 1, vy, mask=inside)
    x, y = x + vx, y + vy
    tl.store(moved + 2 * rows, x, mask=inside)
    tl.store(moved + 2 * rows + 1, y, mask=inside)
    _store_sums(x, y, inside, sums + program, tl.num_programs(0))


@compiled
def look(  # type: ignore[no-untyped-def]
    sums,
    control,
    box,
    change,
    n,
    count,
    wide,
    high,
    least,
    flat: tl.constexpr,
    B: tl.constexpr,
):
    # Centre and size of moved samples: how they are settled, and their new box.
    lanes = tl.arange(0, B)
    x, y = tl.zeros((B,), tl.float64), tl.zeros((B,), tl.float64)
    squares = tl.zeros((B,), tl.float64)
    far = float("inf")
    x0 = tl.full((B,), far, tl.float64)
    y0, x1, y1 = x0, -x0, -x0
    for k in range(0, count, B):
        at, real = sums + k + lanes, k + lanes < count
        x += tl.load(at, mask=real, other=0.0)
        y += tl.load(at + count, mask=real, other=0.0)
        squares += tl.load(at + 2 * count, mask=real, other=0.0)
        x0 = tl.minimum(x0, tl.load(at + 3 * count, mask=real, other=far))
        y0 = tl.minimum(y0, tl.load(at + 4 * count, mask=real, other=far))
        x1 = tl.maximum(x1, tl.load(at + 5 * count, mask=real, other=-far))
        y1 = tl.maximum(y1, tl.load(at + 6 * count, mask=real, other=-far))
    mean_x, mean_y = tl.sum(x, 0) / n, tl.sum(y, 0) / n
    spread = tl.sum(squares, 0) / n - mean_x * mean_x - mean_y * mean_y
    if not flat:
        spread = spread / 2
    size = tl.sqrt(tl.maximum(spread, 0.0))
    factor = tl.where(size < least, least / tl.maximum(size, 1e-12), 1.0)
    west, south = (tl.min(x0, 0) - mean_x) * factor, (tl.min(y0, 0) - mean_y) * factor
    east, north = (tl.max(x1, 0) - mean_x) * factor, (tl.max(y1, 0) - mean_y) * factor
    taken = tl.load(control)
    tl.store(control + 1, taken)
    tl.store(control + 3, tl.where(size < least, taken, 0))
    ok = taken != 0
    tl.store(change, mean_x.to(tl.float32), mask=ok)
    tl.store(change + 1, mean_y.to(tl.float32), mask=ok)
    tl.store(change + 2, factor.to(tl.float32), mask=ok)
    tl.store(box, west.to(tl.float32), mask=ok)
    tl.store(box + 1, south.to(tl.float32), mask=ok)
    tl.store(box + 2, east.to(tl.float32), mask=ok)
    tl.store(box + 3, north.to(tl.float32), mask=ok)
    tl.store(control + 2, tl.load(control + 2) + 1, mask=ok)
    holds = (east - west <= wide) & (north - south <= high)
    tl.store(control, holds.to(tl.int32), mask=ok)


@compiled
def settle(  # type: ignore[no-untyped-def]
    moved, Y, velocity, gain, control, change, n, B: tl.constexpr
):
    i = tl.program_id(0) * B + tl.arange(0, B)
    there = i < n * tl.load(control + 1)
    factor = tl.load(change + 2)
    x = (tl.load(moved + 2 * i, mask=there) - tl.load(change)) * factor
    y = (tl.load(moved + 2 * i + 1, mask=there) - tl.load(change + 1)) * factor
    tl.store(Y + 2 * i, x, mask=there)
    tl.store(Y + 2 * i + 1, y, mask=there)
    anew = i < n * tl.load(control + 3)
    zeros = tl.zeros((B,), tl.float32)
    tl.store(velocity + 2 * i, zeros, mask=anew)
    tl.store(velocity + 2 * i + 1, zeros, mask=anew)
    tl.store(gain + 2 * i, zeros + 1, mask=anew)
    tl.store(gain + 2 * i + 1, zeros + 1, mask=anew)


def blocks(n: int, size: int) -> int:
    """Return how many programs n samples need."""
    return -(-n // size)


def hash_rows(X: Any) -> Any:
    """Return a 64-bit key (n,) of each row, as a signed number."""
    import torch

    X = X.contiguous()
    n, m = X.shape
    keys = torch.empty(n, dtype=torch.int64, device=X.device)
    hash_each_row[(blocks(n, HASHED),)](X, keys, n, m, B=HASHED)
    return keys
