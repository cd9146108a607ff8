"""Pairs of patches -> numbers: how much tangent directions turn along an edge (KLAP).

u_il is the l-th principal direction of patch i, in descending order of variance. An
eigenvector has no sign, so each pair of directions is aligned first, c_l = <u_il, u_jl>
>= 0. The naive curvature is the chord K_l = ||u_il - u_jl|| = √(2 - 2c_l), and the
differential-geometric one the sine K̂_l = √(1 - c_l²), which is never larger. An edge
needs three numbers of them:

* `within`    the smallest curvature, min K̂_l;
* `between`   the largest chord plus the largest sine, max K_l + max K̂_l;
* label-free  the mean curvature, the mean of K̂_l, which lies between the two.

Where variances are equal (grids, categories) their directions are any basis of a
subspace, and rounding would choose. A rule does: within the subspace, the directions
are those of diag(√1, √2, ..., √m), so ties go by the order of the features.

Only directions with variance count: beyond the rank of a patch its directions are an
arbitrary basis of nothing. Of those, `n_directions` may leave the leading ones only. A
patch of identical points has no direction at all; an edge to it turns by nothing,
except between classes, where nothing speaks for closeness and the largest value √2 + 1
stands.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..backends.arrays import cumulative_sum, eigh, svd_of_rows
from ..backends.backend import Array, array_namespace, identity_like
from ..backends.native.patches import (
    principal_directions,
    singular_rows,
    turns_of_few_pairs,
    turns_of_pairs,
)
from ..backends.threads import fill_blocks
from ..patches.covariance import TIE_TOLERANCE
from ..records import EdgeValues, Patches

RANK_TOLERANCE = 1e-12
"""A direction has variance if it exceeds this part of the patch's largest variance."""

NEAR = 64
"""Cosines within this many √ε of 1 have lost too many digits of their angle."""


class Directions(NamedTuple):
    """Principal directions of patches.

    Attributes
    ----------
    directions : array (n, r, m)
        As rows. Those that do not count, without variance or beyond `n_directions`, are
        zeros.
    varied : array (n, r)
        1 where a direction counts, else 0.
    """

    directions: Array
    varied: Array


def describe_directions(patches: Patches) -> Directions:
    """Return the principal directions of patches, and which of them count."""
    xp = array_namespace(patches.center)
    if patches.diagonal is not None:
        raise ValueError(
            "covariance='diagonal' has no principal directions but the axes, and this "
            "dissimilarity compares directions; set covariance='full' or 'robust'."
        )
    if patches.dense is not None:
        variances, directions = _decompose(patches.dense)
    else:
        variances, directions = _decompose_factors(patches.factor)
    directions = _break_ties(directions, variances)
    varied = variances > RANK_TOLERANCE * variances[:, :1]
    if patches.n_directions is not None:
        place = cumulative_sum(xp.ones_like(variances))
        varied = varied & (place <= patches.n_directions[:, None])
    varied = xp.astype(varied, directions.dtype)
    return Directions(directions * varied[:, :, None], varied)


def _decompose(matrices: Array) -> tuple[Array, Array]:
    """Return variances, descending, and directions as rows, in threads."""
    xp = array_namespace(matrices)
    n, m, _ = matrices.shape

    def decompose(block: slice) -> tuple[Array, ...]:
        found = principal_directions(matrices[block, ...])
        if found is not None:
            return found
        values, columns = eigh(matrices[block, ...])
        rows = xp.matrix_transpose(columns)
        return xp.flip(values, axis=1), xp.flip(rows, axis=1)

    # Small blocks: one matrix takes as long as many of its size to read.
    variances, directions = fill_blocks(decompose, n, 128 * 8 * m * m)
    return variances, directions


def _decompose_factors(factors: Array) -> tuple[Array, Array]:
    """Return the same of factors A (n, r, m), whose products AᵀA are the matrices."""
    n, r, m = factors.shape

    def decompose(block: slice) -> tuple[Array, ...]:
        found = singular_rows(factors[block, ...])
        singular, rows = svd_of_rows(factors[block, ...]) if found is None else found
        return singular * singular, rows

    variances, directions = fill_blocks(decompose, n, 128 * 8 * r * m)
    return variances, directions


def _break_ties(directions: Array, variances: Array) -> Array:
    """Choose the directions of equal variance by the order of the features."""
    xp = array_namespace(directions)
    gap = variances[:, :-1] - variances[:, 1:]
    split = gap > TIE_TOLERANCE * variances[:, :1]
    if bool(xp.all(split)):
        return directions
    dtype, m = directions.dtype, directions.shape[-1]
    step = xp.astype(split, dtype)
    group = xp.concat([xp.zeros_like(variances[:, :1]), cumulative_sum(step)], axis=1)
    same_group = xp.astype(group[:, :, None] == group[:, None, :], dtype)
    order = xp.sqrt(xp.arange(1, m + 1, dtype=dtype, device=directions.device))
    projected = xp.matmul(directions * order, xp.matrix_transpose(directions))
    # Groups are kept apart, and in their order, by steps larger than any entry.
    steps = 2 * (m + 1) ** 0.5 * group[:, :, None] * identity_like(projected)
    turn = eigh(projected * same_group + steps)[1]
    return xp.matmul(xp.matrix_transpose(turn), directions)


def compare_directions(left: Directions, right: Directions) -> EdgeValues:
    """Return the curvatures of a batch of edges from their principal directions.

    Sines come from chords, not from cosines: √(1 - c²) loses half the digits of a
    small angle, and most angles between overlapping patches are small.
    """
    xp = array_namespace(left.directions)
    cosine = xp.sum(left.directions * right.directions, axis=-1)
    one = xp.ones_like(cosine)
    sign = xp.where(cosine < 0, -one, one)
    gap = left.directions - sign[:, :, None] * right.directions
    chord = xp.sum(gap * gap, axis=-1)  # squared, in [0, 2]
    sine = xp.sqrt(chord * (1 - chord / 4))
    shared = left.varied * right.varied
    count = xp.sum(shared, axis=-1)
    known = count > 0
    mean = xp.sum(sine * shared, axis=-1) / xp.where(known, count, one[:, 0])
    smallest = xp.min(xp.where(shared > 0, sine, 2 * one), axis=-1)
    smallest = xp.where(known, smallest, xp.zeros_like(smallest))
    widest = xp.max(chord * shared, axis=-1)
    widest = xp.where(known, widest, 2 * one[:, 0])
    return EdgeValues(mean, smallest, _chord_plus_sine(widest))


def compare_all_directions(
    left: Directions, right: Directions
) -> tuple[Array, Array, Array, Array]:
    """Return the three curvatures of all pairs (a, b), and which are in doubt.

    For one l all cosines are a matrix product, and only the extreme ones are kept. In
    doubt are pairs with an angle so small that its cosine has lost its digits: they
    are to be compared by `compare_directions`.
    """
    xp = array_namespace(left.directions)
    count = xp.matmul(left.varied, xp.matrix_transpose(right.varied))
    largest, smallest = xp.zeros_like(count), xp.ones_like(count)
    sines = xp.zeros_like(count)
    n_directions = left.directions.shape[1]
    flat = bool(xp.any(left.varied == 0)) or bool(xp.any(right.varied == 0))
    for k in range(n_directions):
        across = xp.matrix_transpose(right.directions[:, k, :])
        cosine = xp.abs(xp.matmul(left.directions[:, k, :], across))
        largest = xp.maximum(largest, cosine)
        if flat:  # a direction without variance turns by nothing
            cosine = cosine + (1 - left.varied[:, k, None] * right.varied[None, :, k])
        smallest = xp.minimum(smallest, cosine)
        sines += xp.sqrt(xp.abs(1 - cosine * cosine))
    none = count == 0
    largest = xp.where(none, xp.ones_like(count), largest)
    smallest = xp.where(none, xp.zeros_like(count), smallest)
    within = xp.sqrt(xp.abs(1 - largest * largest))
    between = _chord_plus_sine(2 * xp.abs(1 - smallest))
    lost = NEAR * float(xp.finfo(count.dtype).eps) ** 0.5
    mean = sines / xp.where(none, xp.ones_like(count), count)
    return mean, within, between, (largest > 1 - lost) & ~none


def fast_directions(
    left: Directions, right: Directions, most: bool
) -> Callable[[Array, Array], EdgeValues] | None:
    """Return a loop that compares listed pairs without a copy; None to use arrays.

    Where most of all pairs are listed, other ways are faster.
    """
    if most:
        loop = turns_of_pairs(left, right, 1 - NEAR * sys.float_info.epsilon**0.5)
    else:
        loop = turns_of_few_pairs(left, right)
    if loop is not None:
        return lambda row, column: EdgeValues(*loop(row, column))
    return partial(compare_by_tables, left, right) if most else None


def compare_by_tables(
    left: Directions, right: Directions, row: Array, column: Array
) -> EdgeValues:
    """Return the curvatures of listed pairs from those of all pairs between them.

    Fast where pairs are sorted by row, and most pairs are listed.
    """
    xp = array_namespace(left.directions)
    (top, height), (start, width) = _range(row), _range(column)
    tables = compare_all_directions(
        Directions(*(part[top : top + height, ...] for part in left)),
        Directions(*(part[start : start + width, ...] for part in right)),
    )
    place = (row - top) * width + column - start
    parts = [xp.take(xp.reshape(table, (-1,)), place) for table in tables]
    *values, doubtful = parts
    (again,) = xp.nonzero(doubtful)
    if not again.shape[0]:
        return EdgeValues(*values)
    exact = compare_directions(
        Directions(*(xp.take(part, xp.take(row, again), axis=0) for part in left)),
        Directions(*(xp.take(part, xp.take(column, again), axis=0) for part in right)),
    )
    which = cumulative_sum(xp.astype(doubtful, xp.int64)[None, :])[0, :] - 1
    which = xp.where(doubtful, which, xp.zeros_like(which))
    mended = exact.label_free, exact.within, exact.between
    return EdgeValues(
        *(
            xp.where(doubtful, xp.take(part, which), value)
            for part, value in zip(mended, values, strict=True)
        )
    )


def _range(places: Array) -> tuple[int, int]:
    """Return the first of some places, and how many there are up to the last."""
    xp = array_namespace(places)
    first = int(xp.min(places))
    return first, int(xp.max(places)) - first + 1


def _chord_plus_sine(squared_chord: Array) -> Array:
    xp = array_namespace(squared_chord)
    return xp.sqrt(squared_chord) + xp.sqrt(squared_chord * (1 - squared_chord / 4))
