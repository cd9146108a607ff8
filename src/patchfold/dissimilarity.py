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

from ._arrays import Array, array_namespace
from ._blocks import map_blocks
from ._types import EdgeValues
from .curvature import compare_directions, describe_directions
from .divergences import (
    Description,
    compare_euclidean,
    compare_kl,
    describe_euclidean,
    describe_kl,
)
from .patches import Patches


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
    """

    describe: Callable[[Patches], Any]
    compare: Callable[[Any, Any], Any]
    needs_gaussians: bool = True
    regularized: bool = True


DISSIMILARITIES = {
    "euclidean": Dissimilarity(
        describe_euclidean, compare_euclidean, needs_gaussians=False
    ),
    "kl": Dissimilarity(describe_kl, compare_kl),
    "curvature": Dissimilarity(
        describe_directions, compare_directions, regularized=False
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


def compare_pairs(
    dissimilarity: Dissimilarity,
    left: Description | Patches,
    right: Description | Patches,
    source: np.ndarray,
    target: np.ndarray,
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
    arrays = _arrays(left)
    xp = array_namespace(arrays[0])

    def compare(block: slice) -> EdgeValues:
        device = arrays[0].device
        i = xp.asarray(source[block], device=device)
        j = xp.asarray(target[block], device=device)
        values = dissimilarity.compare(_take(left, i), _take(right, j))
        return values if isinstance(values, EdgeValues) else EdgeValues(values)

    per_pair = 4 * 8 * sum(math.prod(part.shape[1:]) for part in arrays)
    parts = map_blocks(compare, source.size, per_pair, n_jobs)
    values = EdgeValues(
        *(
            None if part[0] is None else xp.concat(part)
            for part in zip(
                *((v.label_free, v.within, v.between) for v in parts), strict=True
            )
        )
    )
    _check_lengths(np.asarray(values.label_free), source, target)
    return values


def _arrays(description: Description | Patches) -> Description:
    if isinstance(description, Patches):
        every = (getattr(description, field.name) for field in fields(description))
        return tuple(part for part in every if part is not None)
    return description


def _take(description: Description | Patches, indices: Array) -> Any:
    if isinstance(description, Patches):
        return description.take(indices)
    xp = array_namespace(description[0])
    return tuple(xp.take(part, indices, axis=0) for part in description)


def _check_lengths(lengths: np.ndarray, source: np.ndarray, target: np.ndarray) -> None:
    bad = np.flatnonzero(~(np.isfinite(lengths) & (lengths >= 0)))
    if bad.size:
        e = bad[0]
        raise ValueError(
            f"the dissimilarity of {bad.size} edges is not a finite number >= 0, the "
            f"first {lengths[e]} between samples {source[e]} and {target[e]}. Scale "
            "the features, raise ridge, or mend the dissimilarity callable."
        )
