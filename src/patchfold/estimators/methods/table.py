"""The table of methods: the name, title, estimator and settings of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from .. import (
    CauchyMap,
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchPosterior,
    PatchProjection,
)
from ..recipes import cauchy, elap, isomap_kl, klap, pelle
from .baselines import BASELINES

SIZES = (5, 10, 20, 40)
FRACTIONS = (0.25, 0.5, 0.75)
"""Neighbourhood sizes that are compared: counts, and fractions of the samples."""


@dataclass(frozen=True)
class Method:
    """A method and what a user has to know about it.

    Attributes
    ----------
    name : str
        What is typed.
    title : str
        What is printed.
    make : callable
        Returns the estimator; takes any of its parameters.
    compared : dict
        Parameters it is compared with where they are not its defaults.
    remark : str
        Why, or what else to know.
    sizes : tuple
        Neighbourhood sizes for a curve of scores: counts, or fractions of the samples.
        Empty for a method without neighbours to choose.
    twin : str
        The name of the Euclidean classic it grew out of.
    supervised : bool
        Whether `fit` reads the labels.
    """

    name: str
    title: str
    make: Callable[..., Any]
    compared: dict[str, Any]
    remark: str = ""
    sizes: tuple[int | float, ...] = ()
    twin: str = ""
    supervised: bool = False


def _euclidean(kind: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **params: kind(**{"dissimilarity": "euclidean", **params})


METHODS = {
    row.name: row
    for row in (
        Method("isomap-kl", "ISOMAP-KL", isomap_kl, {}, "", SIZES, "isomap"),
        Method(
            "elap",
            "ELAP",
            elap,
            {"kernel_width": "auto"},
            "t = median d², as most weights vanish at the paper's t = 1 on many sets",
            SIZES,
            "eigenmaps",
        ),
        Method("pelle", "PELLE", pelle, {}, "", SIZES, "lle"),
        Method(
            "klap",
            "KLAP",
            klap,
            {},
            "supervised: its picture has seen the labels; K = .75 n as in its paper",
            FRACTIONS,
            "eigenmaps",
            supervised=True,
        ),
        Method(
            "cauchy",
            "Cauchy",
            cauchy,
            {"n_neighbors": 20},
            "on the neighbour graph; its paper takes all pairs",
            SIZES,
        ),
        Method(
            "isomap",
            "Isomap",
            _euclidean(PatchIsomap),
            {},
            "with Euclidean distances",
            SIZES,
        ),
        Method(
            "eigenmaps",
            "Laplacian eigenmaps",
            _euclidean(PatchEigenmaps),
            {},
            "with Euclidean distances",
            SIZES,
        ),
        Method(
            "lle", "LLE", _euclidean(PatchLLE), {}, "with Euclidean distances", SIZES
        ),
        Method("pca", "PCA", BASELINES["PCA"].make, {}),
        Method("tsne", "t-SNE", BASELINES["TSNE"].make, {}, "perplexity 30"),
        Method(
            "umap",
            "UMAP",
            BASELINES["UMAP"].make,
            {},
            "its own defaults; the first fit compiles it",
        ),
        Method(
            "posterior",
            "Patch posterior",
            PatchPosterior,
            {},
            "supervised: draws leave-one-out class probabilities",
            supervised=True,
        ),
        Method(
            "cauchy-map",
            "CauchyMap",
            CauchyMap,
            {},
            "neighbours attract, all pairs repel",
            SIZES,
        ),
        Method(
            "cauchy-map-labels",
            "CauchyMap with labels",
            CauchyMap,
            {},
            "supervised: leave-one-out class probabilities are extra columns",
            supervised=True,
        ),
        Method(
            "projection",
            "Patch projection",
            PatchProjection,
            {},
            "linear: new samples are placed by a matrix product",
            SIZES,
        ),
    )
}

PAPERS = ("isomap-kl", "elap", "pelle", "klap", "cauchy")
TWINS = ("isomap", "eigenmaps", "lle")
OTHERS = ("pca", "tsne", "umap")
"""What `compare` runs: the recipes, their Euclidean twins, and what people know."""


def find_method(name: str) -> Method:
    """Return a method, or say which there are.

    Examples
    --------
    >>> find_method("elap").title
    'ELAP'
    """
    found = METHODS.get(name.lower().replace("_", "-"))
    if found is None:
        known = ", ".join(METHODS)
        raise ValueError(f"the method must be one of {known}. Got {name!r} instead.")
    return found


def is_installed(method: Method) -> bool:
    """Say whether what the method needs is there."""
    return method.name != "umap" or find_spec("umap") is not None
