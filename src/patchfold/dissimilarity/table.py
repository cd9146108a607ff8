"""The table of dissimilarities: how patches are described, and two of them compared.

A dissimilarity is a row in `DISSIMILARITIES`: what to compute once per patch, how to
compare two batches of patches, and which patches it needs. Dissimilarities are
symmetric; a callable that is not is made so by averaging both directions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import parallel_config

from ..backends.arrays import Array, array_namespace
from ..backends.native.dissimilarity import kl_of_pairs
from ..patches.fitting import Patches
from ..records import EdgeValues
from .curvature import (
    compare_all_directions,
    compare_directions,
    compare_most_directions,
    describe_directions,
)
from .gaussian_distances import (
    compare_fisher_rao,
    compare_wasserstein,
    describe_fisher_rao,
    describe_wasserstein,
)
from .kl import compare_euclidean, compare_kl, describe_euclidean, describe_kl
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
