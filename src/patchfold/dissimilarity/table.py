"""The table of dissimilarities: how patches are described, and pairs of them compared.

A dissimilarity is a row in `DISSIMILARITIES`: what to compute once per patch, how to
compare two batches of patches, and which patches it needs. Dissimilarities are
symmetric; a callable that is not is made so by averaging both directions.
`compare_pairs` compares any number of listed pairs, in blocks that stay in cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import parallel_config

from ..backends.backend import Array, array_namespace
from ..backends.native.loops import pairs_at_once
from ..backends.native.patches import kl_of_pairs
from ..backends.threads import map_blocks
from ..records import EdgeValues, Pairs, Patches
from ..validation import LARGEST
from .curvature import (
    compare_directions,
    describe_directions,
    fast_directions,
)
from .gaussian_distances import (
    compare_fisher_rao,
    compare_wasserstein,
    describe_fisher_rao,
    describe_wasserstein,
)
from .kl import (
    Description,
    compare_euclidean,
    compare_kl,
    describe_euclidean,
    describe_kl,
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
from .tangents import EXPLAINED, compare_tangents, describe_tangents

LARGE = 2**19
"""Bytes of a pair beyond which blocks are not made smaller than they have to be."""

SOURCES = 256
"""Samples whose pairs are looked at together where samples have an order."""

MOST = 8
"""More than 1 / `MOST` of all pairs counts as most of them."""


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
    fast : callable or None
        Makes a faster `compare`. It gets two descriptions, and whether most of all
        pairs are listed. It returns a function of positions in both, which returns what
        `compare` would, and copies no descriptions; or None: `compare` is used then.
    needs_points : bool
        True if Gaussians are not enough.
    n_directions : float or None
        What the parameter of that name means where it is None.
    work : callable or None
        Description -> numbers a pair takes to compare, where they are more than a few
        times those that describe it.
    isometric : bool
        True if a shift and a rotation of all samples change nothing, and `counts` of
        patches is where the number of features comes from. Wide samples are then given
        in coordinates of the space they span, with their mean as the origin.
    """

    describe: Callable[[Patches], Any]
    compare: Callable[[Any, Any], Any]
    needs_gaussians: bool = True
    regularized: bool = True
    fast: Callable[[Any, Any, bool], Callable[[Array, Array], Any] | None] | None = None
    needs_points: bool = False
    n_directions: float | None = None
    work: Callable[[Any], int] | None = None
    isometric: bool = False


DISSIMILARITIES = {
    "euclidean": Dissimilarity(
        describe_euclidean, compare_euclidean, needs_gaussians=False
    ),
    "kl": Dissimilarity(describe_kl, compare_kl, fast=kl_of_pairs, isometric=True),
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
        fast=fast_directions,
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
    order: np.ndarray | None = None,
    most: bool | None = None,
    names: tuple[Array, Array] | None = None,
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
    most : bool or None
        Whether these are most of all pairs; None counts them.
    names : int arrays (E,) or None
        What an error calls the two patches of a pair; None is their positions.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    EdgeValues
        (E,) numbers, finite and not negative.
    """
    arrays, n_pairs = tuple(left), source.shape[0]
    xp = array_namespace(arrays[0])
    n_all = arrays[0].shape[0] * next(iter(right)).shape[0]
    if most is None:
        most = n_pairs > n_all // MOST
    numbers = 0
    for part in arrays:
        numbers += math.prod(part.shape[1:])
    fast = dissimilarity.fast
    compare_places = None if fast is None else fast(left, right, most)

    def compare(block: slice) -> EdgeValues:
        i, j = source[block], target[block]
        if not isinstance(arrays[0], np.ndarray):  # edges may be listed in NumPy
            device = arrays[0].device
            i, j = xp.asarray(i, device=device), xp.asarray(j, device=device)
        if compare_places is not None:
            values = compare_places(i, j)
        else:
            both = take_described(left, i), take_described(right, j)
            values = dissimilarity.compare(*both)
        return values if isinstance(values, EdgeValues) else EdgeValues(values)

    if compare_places is not None and isinstance(arrays[0], np.ndarray):
        pairs, step = (source, target), pairs_at_once(numbers)
        values = _fill(compare_places, *pairs, order, step, n_jobs)
    else:
        room = 4 * 8 * numbers  # of a pair, for copies of both ends
        if dissimilarity.work is not None:
            room += 8 * dissimilarity.work(left)
        # A fourth of a block stays in the nearest cache; but a few pairs it must be.
        room = min(4 * room, max(room, LARGE))
        if compare_places is not None:  # tables of all pairs
            room = 8 * 8 * n_all // n_pairs
        values = _join(map_blocks(compare, n_pairs, room, n_jobs), xp)
    check_lengths(values.label_free, *(names or (source, target)))
    return values


@dataclass(frozen=True)
class HeldPatches:
    """Descriptions of all training patches, in memory.

    Attributes
    ----------
    dissimilarity : str or callable
        What compares the patches.
    fitter : PatchFitter or CentersOnly
        What fitted them, and fits those of new samples.
    described : description
        One row per training sample.
    order : int array (n,) or None
        The samples in an order in which those near each other follow.
    """

    dissimilarity: Any
    fitter: Any
    described: Any
    order: np.ndarray | None = None

    def compare(self, pairs: Pairs, n_jobs: int | None) -> EdgeValues:
        """Compare the patches at both ends of every edge."""
        row, known = get_dissimilarity(self.dissimilarity), self.described
        ends, order = (pairs.source, pairs.target), self.order
        return compare_pairs(row, known, known, *ends, order=order, n_jobs=n_jobs)

    def link(
        self, described: Any, row: Array, column: Array, n_jobs: int | None
    ) -> EdgeValues:
        """Compare described new patches `row[e]` with training patches `column[e]`."""
        chosen, known = get_dissimilarity(self.dissimilarity), self.described
        return compare_pairs(chosen, described, known, row, column, n_jobs=n_jobs)


def _fill(
    compare_places: Callable[[Array, Array], Any],
    source: np.ndarray,
    target: np.ndarray,
    order: np.ndarray | None,
    step: int,
    n_jobs: int | None,
) -> EdgeValues:
    """Compare `step` pairs at a time, or in an order those of `SOURCES` samples."""
    n_parts = 3 if isinstance(compare_places(source[:1], target[:1]), EdgeValues) else 1
    values = np.empty((n_parts, source.size))  # one for all: large ones cost less
    starts = np.zeros(1, dtype=np.int64)
    if order is not None:
        counts = np.bincount(source, minlength=order.size)
        starts = np.concatenate([starts, counts.cumsum()])

    def write(block: slice) -> None:
        pairs: slice | np.ndarray = block
        if order is not None:
            pairs = pairs_of_rows(starts, order[block])
        found = compare_places(source[pairs], target[pairs])
        parts: tuple[Any, ...] = (found,)
        if n_parts == 3:
            parts = found.label_free, found.within, found.between
        for whole, part in zip(values, parts, strict=True):
            whole[pairs] = part

    if order is None:
        map_blocks(write, source.size, 0, n_jobs, step=step)
    else:
        map_blocks(write, order.size, 0, n_jobs, step=SOURCES)
    return EdgeValues(*values)


def pairs_of_rows(starts: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the places of pairs with these sources; `starts` (n + 1,) has the first.

    Examples
    --------
    >>> pairs_of_rows(np.array([0, 2, 3, 5]), np.array([2, 0])).tolist()
    [3, 4, 0, 1]
    """
    first = starts[rows]
    count = starts[rows + 1] - first
    shift = np.repeat(first - (count.cumsum() - count), count)
    return shift + np.arange(shift.size)


def _join(blocks: list[EdgeValues], xp: Any) -> EdgeValues:
    """Put the values of consecutive blocks of pairs in one."""
    parts = zip(*((v.label_free, v.within, v.between) for v in blocks), strict=True)
    return EdgeValues(*(None if part[0] is None else xp.concat(part) for part in parts))


def take_described(description: Description | Patches, indices: Array) -> Any:
    """Return the descriptions of the patches at these places."""
    if isinstance(description, Patches):
        return description.take(indices)
    xp = array_namespace(description[0])
    parts = [xp.take(part, indices, axis=0) for part in description]
    return getattr(description, "_make", tuple)(parts)


def check_lengths(lengths: Array, source: Array, target: Array) -> None:
    """Raise an error for values that are no lengths, and name their samples."""
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
