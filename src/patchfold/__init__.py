"""Manifold learning that compares neighbourhoods, not points."""

from . import exceptions, metrics
from .estimators import CauchyEmbedding, PatchEigenmaps, PatchIsomap, PatchLLE
from .patches import Patches
from .recipes import cauchy, elap, isomap_kl, klap, pelle
from .sweep import fit_sweep

__version__ = "0.1.0.dev0"

__all__ = [
    "CauchyEmbedding",
    "PatchEigenmaps",
    "PatchIsomap",
    "PatchLLE",
    "Patches",
    "cauchy",
    "elap",
    "exceptions",
    "fit_sweep",
    "isomap_kl",
    "klap",
    "metrics",
    "pelle",
]
