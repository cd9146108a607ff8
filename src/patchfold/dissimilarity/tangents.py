"""Pairs of patches -> numbers: angles between the tangent spaces of two patches.

The tangent space of a patch is the span of its leading directions, `n_directions` of
them. Between two such spaces lie principal angles θ_1 <= θ_2 <= ..., as many as the
smaller space has dimensions, which depend on no sign, order or basis of the directions:
curvature without the choices that equal variances leave open. As in `curvature.py`,

* `within`    the smallest sine;
* `between`   the largest chord plus the largest sine;
* label-free  the mean of the sines.

A space that lies within the other does not turn. A patch of identical points has no
tangent space: an edge to it turns by nothing, except between classes, where the largest
value √2 + 1 stands.
"""

from __future__ import annotations

from typing import NamedTuple

from ..backends.arrays import cumulative_sum
from ..backends.backend import Array, array_namespace
from ..records import EdgeValues, Patches
from .curvature import describe_directions

EXPLAINED = 0.9
"""Part of its variance that spans a patch's tangent space where nothing else is said:
all directions would span the whole space, and nothing could turn."""


class TangentSpaces(NamedTuple):
    """Tangent spaces of patches.

    Attributes
    ----------
    basis : array (n, r, m)
        Orthonormal rows, zeros beyond the dimension.
    dimension : array (n,)
    """

    basis: Array
    dimension: Array


def describe_tangents(patches: Patches) -> TangentSpaces:
    """Return the space that the leading directions of each patch span."""
    directions, varied = describe_directions(patches)
    xp = array_namespace(directions)
    return TangentSpaces(directions, xp.sum(varied, axis=1))


def compare_tangents(left: TangentSpaces, right: TangentSpaces) -> EdgeValues:
    """Return sines and chords of principal angles, in three summaries.

    The sines are the singular values of what the larger space leaves of the smaller
    one's basis [1]_: cosines would lose half the digits of a small angle.

    References
    ----------
    .. [1] Å. Björck, G. H. Golub, "Numerical methods for computing angles between
       linear subspaces", Mathematics of Computation 27, 1973.
    """
    xp = array_namespace(left.basis)
    dimension = xp.where(
        left.dimension <= right.dimension, left.dimension, right.dimension
    )
    swap = (left.dimension > right.dimension)[:, None, None]
    small = xp.where(swap, right.basis, left.basis)
    large = xp.where(swap, left.basis, right.basis)
    shared = xp.matmul(small, xp.matrix_transpose(large))
    sines = xp.linalg.svdvals(small - xp.matmul(shared, large))
    sines = xp.where(sines < 1, sines, xp.ones_like(sines))
    known = dimension > 0
    one, nothing = xp.ones_like(dimension), xp.zeros_like(dimension)
    mean = xp.sum(sines, axis=1) / xp.where(known, dimension, one)
    place = cumulative_sum(xp.ones_like(sines))
    inside = place <= dimension[:, None]
    smallest = xp.min(xp.where(inside, sines, xp.ones_like(sines)), axis=1)
    largest = xp.where(known, sines[:, 0], one)
    return EdgeValues(
        mean, xp.where(known, smallest, nothing), _chord(largest) + largest
    )


def _chord(sine: Array) -> Array:
    """Return √(2 - 2 cos θ) from sin θ, θ <= 90°, without losing small angles."""
    xp = array_namespace(sine)
    return xp.sqrt(2 * sine * sine / (1 + xp.sqrt(1 - sine * sine)))
