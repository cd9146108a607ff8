"""Manifold learning that compares neighbourhoods, not points."""

from . import datasets, exceptions, metrics
from ._version import __version__
from .estimators import CauchyEmbedding, PatchEigenmaps, PatchIsomap, PatchLLE
from .patches import Patches
from .recipes import cauchy, elap, isomap_kl, klap, pelle
from .sweep import fit_sweep

__all__ = [
    "CauchyEmbedding",
    "PatchEigenmaps",
    "PatchIsomap",
    "PatchLLE",
    "Patches",
    "__version__",
    "cauchy",
    "datasets",
    "elap",
    "exceptions",
    "fit_sweep",
    "isomap_kl",
    "klap",
    "metrics",
    "pelle",
]
