"""Descriptions of patches -> lengths of edges: how the pairs are walked.

Some pairs one by one, in blocks that stay in cache; of most pairs, all at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from ..backends.arrays import Array, array_namespace
from ..backends.native.loops import PAIRS, pairs_at_once
from ..backends.threads import map_blocks
from ..patches.fitting import Patches
from ..records import EdgeValues
from ..validation import LARGEST
from .kl import Description
from .table import Dissimilarity

LARGE = 2**19
"""Bytes of a pair beyond which blocks are not made smaller than they have to be."""

SOURCES = 256
"""Samples whose pairs are looked at together where samples have an order."""

MOST = 8
"""Above this part of all pairs, all pairs are compared at once where that is fast."""


def compare_pairs(
    dissimilarity: Dissimilarity,
    left: Description | Patches,
    right: Description | Patches,
    source: Array,
    target: Array,
    *,
    order: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> EdgeValues:
    """Compare patch `source[e]` of `left` with patch `target[e]` of `right`.

    Parameters
    ----------
    dissimilarity : Dissimilarity
        The table row.
    left, right : descriptions
        What its `describe` returned.
    source, target : int arrays (E,)
        Positions in `left` and in `right`.
    order : int array or None
        All positions in `left`, those near each other together: their targets are then
        read from cache. Sources ascend.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    EdgeValues
        (E,) numbers, finite and not negative.
    """
    n_left, n_right = (arrays_of(ends)[0].shape[0] for ends in (left, right))
    if dissimilarity.compare_all and source.shape[0] > n_left * n_right // MOST:
        values = _compare_most(dissimilarity, left, right, source, target, n_jobs)
    else:
        values = compare_listed(
            dissimilarity, left, right, source, target, n_jobs, order
        )
    check_lengths(values.label_free, source, target)
    return values


def compare_listed(
    dissimilarity: Dissimilarity,
    left: Description | Patches,
    right: Description | Patches,
    source: Array,
    target: Array,
    n_jobs: int | None = None,
    order: np.ndarray | None = None,
) -> EdgeValues:
    """Compare pair by pair, in blocks of pairs; see `compare_pairs`."""
    arrays = arrays_of(left)
    xp = array_namespace(arrays[0])
    in_place = dissimilarity.compare_places
    if in_place is not None:

        def look(block: slice | np.ndarray) -> Any:
            return in_place(left, right, source[block], target[block])

        if look(slice(0, 1)) is not None:
            if order is not None:
                return EdgeValues(_look_in_order(look, source, order, n_jobs))
            step = pairs_at_once(sum(math.prod(part.shape[1:]) for part in arrays))
            found = map_blocks(look, source.shape[0], 0, n_jobs, step=step)
            return EdgeValues(np.concatenate(found))

    def compare(block: slice) -> EdgeValues:
        device = arrays[0].device
        i = xp.asarray(source[block], device=device)
        j = xp.asarray(target[block], device=device)
        values = dissimilarity.compare(_take(left, i), _take(right, j))
        return values if isinstance(values, EdgeValues) else EdgeValues(values)

    per_pair = 4 * 8 * sum(math.prod(part.shape[1:]) for part in arrays)
    if dissimilarity.work is not None:
        per_pair += 8 * dissimilarity.work(left)
    # A fourth of a block stays in the nearest cache; but a few pairs it must be.
    per_pair = min(4 * per_pair, max(per_pair, LARGE))
    return _join(map_blocks(compare, source.shape[0], per_pair, n_jobs), xp)


def _look_in_order(
    look: Callable[[np.ndarray], np.ndarray],
    source: np.ndarray,
    order: np.ndarray,
    n_jobs: int | None,
) -> np.ndarray:
    """Look at the pairs of `SOURCES` samples at a time, taken in an order of theirs."""
    starts = np.concatenate([[0], np.bincount(source, minlength=order.size).cumsum()])
    values = np.empty(source.size)

    def write(block: slice) -> None:
        first = starts[order[block]]
        count = starts[order[block] + 1] - first
        shift = np.repeat(first - (count.cumsum() - count), count)
        pairs = shift + np.arange(shift.size)
        values[pairs] = look(pairs)

    map_blocks(write, order.size, 0, n_jobs, step=SOURCES)
    return values


def _compare_most(
    dissimilarity: Dissimilarity,
    left: Any,
    right: Any,
    source: Array,
    target: Array,
    n_jobs: int | None,
) -> EdgeValues:
    """Compare most of the pairs: by a loop over them, or by tables of all."""
    most = dissimilarity.compare_most
    write = most(left, right) if most is not None else None
    if write is None:
        return _compare_rows(dissimilarity, left, right, source, target, n_jobs)
    values = np.empty((3, source.shape[0]))  # one for all: large ones cost less

    def compare(block: slice) -> None:
        write(source[block], target[block], *(part[block] for part in values))

    map_blocks(compare, source.shape[0], 0, n_jobs, step=PAIRS)
    return EdgeValues(*values)


def _compare_rows(
    dissimilarity: Dissimilarity,
    left: Any,
    right: Any,
    source: Array,
    target: Array,
    n_jobs: int | None,
) -> EdgeValues:
    """Compare blocks of rows with all they reach, and pick the pairs; sorted sources.

    Only the picked values outlive a block, so a nearly complete graph costs the memory
    of its edges.
    """
    xp = array_namespace(left[0])
    n_left, n_right = left[0].shape[0], right[0].shape[0]
    compare_all = dissimilarity.compare_all
    assert compare_all is not None

    def compare(block: slice) -> EdgeValues:
        here = slice(*_positions(source, block))
        i, j = source[here], target[here]
        low, high = (int(j.min()), int(j.max()) + 1) if j.shape[0] else (0, 1)
        table, doubtful = compare_all(
            tuple(part[block, ...] for part in left),
            tuple(part[low:high, ...] for part in right),
        )
        place = (i - block.start) * (high - low) + j - low
        picked = _map_parts(lambda part: _pick(part, place), table)
        (again,) = array_namespace(place).nonzero(_aside(_pick(doubtful, place), place))
        if not again.shape[0]:
            return picked
        exact = compare_listed(dissimilarity, left, right, i[again], j[again])
        position = _count_up(place)
        position[again] = i.shape[0] + _count_up(again)
        both = _join([picked, exact], xp)
        return _map_parts(lambda part: _pick(part, position), both)

    return _join(map_blocks(compare, n_left, 8 * 8 * n_right, n_jobs), xp)


def _positions(source: Array, block: slice) -> list[int]:
    """Return where a block of rows begins and ends among sorted sources."""
    xp = array_namespace(source)
    ends = xp.asarray([block.start, block.stop], device=source.device)
    return [int(place) for place in xp.searchsorted(source, ends)]


def _count_up(like: Array) -> Array:
    """Return 0, 1, ..., one number for each row."""
    return array_namespace(like).arange(like.shape[0], device=like.device)


def _aside(values: Array, like: Array) -> Array:
    """Return values in the library of another array: edges are listed in NumPy."""
    return np.asarray(values) if isinstance(like, np.ndarray) else values


def _pick(values: Array, place: Array) -> Array:
    """Return the values at these places of the flattened array."""
    xp = array_namespace(values)
    places = xp.asarray(place, device=values.device)
    return xp.take(xp.reshape(values, (-1,)), places)


def _map_parts(function: Callable[[Array], Array], values: EdgeValues) -> EdgeValues:
    """Apply a function to every part of the values that is there."""
    parts = (values.label_free, values.within, values.between)
    return EdgeValues(*(None if part is None else function(part) for part in parts))


def _join(blocks: list[EdgeValues], xp: Any) -> EdgeValues:
    """Put the values of consecutive blocks of pairs in one."""
    parts = zip(*((v.label_free, v.within, v.between) for v in blocks), strict=True)
    return EdgeValues(*(None if part[0] is None else xp.concat(part) for part in parts))


def arrays_of(description: Description | Patches) -> Description:
    """Return the arrays that a description consists of, one row per patch each."""
    if isinstance(description, Patches):
        every = (getattr(description, field.name) for field in fields(description))
        return tuple(part for part in every if part is not None)
    return description


def _take(description: Description | Patches, indices: Array) -> Any:
    if isinstance(description, Patches):
        return description.take(indices)
    xp = array_namespace(description[0])
    return tuple(xp.take(part, indices, axis=0) for part in description)


def check_lengths(lengths: Array, source: Array, target: Array) -> None:
    """Refuse what is no length, and name the samples it would be between."""
    xp = array_namespace(lengths)
    if not lengths.shape[0] or (
        float(xp.min(lengths)) >= 0 and float(xp.max(lengths)) <= LARGEST
    ):
        return
    wide = xp.astype(lengths, xp.float64)  # LARGEST is too large for float32
    (bad,) = xp.nonzero(~((wide <= LARGEST) & (wide >= 0)))
    if bad.shape[0]:
        e = int(bad[0])
        raise ValueError(
            f"the dissimilarity of {bad.shape[0]} edges is not a number from 0 to "
            f"{LARGEST:g}, the first {float(lengths[e])} between samples "
            f"{int(source[e])} and {int(target[e])}. Scale the features, raise ridge, "
            "or mend the dissimilarity callable."
        )
