"""Patches -> EdgeList: the table of dissimilarities, and how pairs are walked.

A dissimilarity is a row in `DISSIMILARITIES`: what to compute once per patch, how to
compare two batches of patches, and which patches it needs. Dissimilarities are
symmetric; a callable that is not is made so by averaging both directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from joblib import parallel_config

from ._arrays import Array, array_namespace
from ._blocks import map_blocks
from ._native import PAIRS, kl_of_pairs, pairs_at_once
from ._types import EdgeValues
from ._validation import LARGEST
from .curvature import (
    compare_all_directions,
    compare_directions,
    compare_most_directions,
    describe_directions,
)
from .divergences import (
    Description,
    compare_euclidean,
    compare_kl,
    describe_euclidean,
    describe_kl,
)
from .gaussian_distances import (
    compare_fisher_rao,
    compare_wasserstein,
    describe_fisher_rao,
    describe_wasserstein,
)
from .overlap import (
    compare_bhattacharyya,
    compare_cauchy_schwarz,
    compare_hellinger,
    compare_kde,
    describe_kde,
    describe_overlap,
    work_of_kde,
)
from .patches import Patches
from .tangents import EXPLAINED, compare_tangents, describe_tangents

LARGE = 2**19
"""Bytes of a pair beyond which blocks are not made smaller than they have to be."""

MOST = 8
"""Above this part of all pairs, all pairs are compared at once where that is fast."""


@dataclass(frozen=True)
class Dissimilarity:
    """How two patches are compared.

    Attributes
    ----------
    describe : callable
        Patches -> what is kept of them: a tuple of arrays with one row per patch, or
        the patches themselves.
    compare : callable
        Two such descriptions, of equal length -> one number per pair, or EdgeValues.
    needs_gaussians : bool
        False if the centres of the patches are enough.
    regularized : bool
        False if the covariances are wanted as they are.
    compare_all : callable or None
        Two descriptions -> EdgeValues of all pairs of their patches, (a, b) each, and
        which pairs are better left to `compare`; for graphs with most of the pairs.
    compare_most : callable or None
        Two descriptions -> a function of places in them and three arrays, which writes
        the EdgeValues of these pairs there; None where `compare_all` must do it.
    needs_points : bool
        True if Gaussians are not enough.
    n_directions : float or None
        What the parameter of that name means where it is None.
    work : callable or None
        Description -> numbers a pair takes to compare, where they are more than a few
        times those that describe it.
    compare_places : callable or None
        Two descriptions and places in them -> the numbers of these pairs, without a
        copy of what describes them; None where it cannot.
    isometric : bool
        True if only lengths and angles matter, and the number of features: samples may
        then be given in coordinates of the space they span.
    """

    describe: Callable[[Patches], Any]
    compare: Callable[[Any, Any], Any]
    needs_gaussians: bool = True
    regularized: bool = True
    compare_all: Callable[[Any, Any], tuple[EdgeValues, Array]] | None = None
    compare_most: Callable[[Any, Any], Callable[..., None] | None] | None = None
    needs_points: bool = False
    n_directions: float | None = None
    work: Callable[[Any], int] | None = None
    compare_places: Callable[..., np.ndarray | None] | None = None
    isometric: bool = False


DISSIMILARITIES = {
    "euclidean": Dissimilarity(
        describe_euclidean, compare_euclidean, needs_gaussians=False
    ),
    "kl": Dissimilarity(
        describe_kl, compare_kl, compare_places=kl_of_pairs, isometric=True
    ),
    "bhattacharyya": Dissimilarity(
        describe_overlap, compare_bhattacharyya, isometric=True
    ),
    "hellinger": Dissimilarity(describe_overlap, compare_hellinger, isometric=True),
    "cauchy_schwarz": Dissimilarity(
        describe_overlap, compare_cauchy_schwarz, isometric=True
    ),
    "wasserstein": Dissimilarity(
        describe_wasserstein, compare_wasserstein, isometric=True
    ),
    "fisher_rao": Dissimilarity(
        describe_fisher_rao, compare_fisher_rao, isometric=True
    ),
    "kde": Dissimilarity(
        describe_kde, compare_kde, needs_points=True, work=work_of_kde
    ),
    "curvature": Dissimilarity(
        describe_directions,
        compare_directions,
        regularized=False,
        compare_all=compare_all_directions,
        compare_most=compare_most_directions,
    ),
    "principal_angles": Dissimilarity(
        describe_tangents,
        compare_tangents,
        regularized=False,
        n_directions=EXPLAINED,
        isometric=True,
    ),
}


def get_dissimilarity(dissimilarity: Any) -> Dissimilarity:
    """Return the table row of a name, or wrap a callable on patches."""
    if isinstance(dissimilarity, str):
        return DISSIMILARITIES[dissimilarity]
    return _from_callable(dissimilarity)


def _from_callable(function: Callable[[Patches, Patches], Array]) -> Dissimilarity:
    """Make a table row of a function that takes two batches of patches."""
    name = getattr(function, "__name__", repr(function))

    def compare(left: Patches, right: Patches) -> Array:
        n_pairs = left.center.shape[0]
        xp = array_namespace(left.center)
        values = [
            xp.asarray(function(*ends)) for ends in ((left, right), (right, left))
        ]
        for value in values:
            if value.shape != (n_pairs,):
                raise ValueError(
                    f"dissimilarity {name} must return one number per pair, shape "
                    f"({n_pairs},). Got shape {value.shape} instead."
                )
        return (values[0] + values[1]) / 2

    return Dissimilarity(lambda patches: patches, compare)


def describe_patches(
    dissimilarity: Dissimilarity, patches: Patches, *, n_jobs: int | None = None
) -> Any:
    """Compute once per patch what its edges will need, in threads."""
    if n_jobs is None:
        return dissimilarity.describe(patches)
    with parallel_config(backend="threading", n_jobs=n_jobs):
        return dissimilarity.describe(patches)


def compare_pairs(
    dissimilarity: Dissimilarity,
    left: Description | Patches,
    right: Description | Patches,
    source: Array,
    target: Array,
    *,
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
        values = compare_listed(dissimilarity, left, right, source, target, n_jobs)
    check_lengths(values.label_free, source, target)
    return values


def compare_listed(
    dissimilarity: Dissimilarity,
    left: Description | Patches,
    right: Description | Patches,
    source: Array,
    target: Array,
    n_jobs: int | None = None,
) -> EdgeValues:
    """Compare pair by pair, in blocks of pairs."""
    arrays = arrays_of(left)
    xp = array_namespace(arrays[0])
    in_place = dissimilarity.compare_places
    if in_place is not None:

        def look(block: slice) -> Any:
            return in_place(left, right, source[block], target[block])

        if look(slice(0, 1)) is not None:
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
