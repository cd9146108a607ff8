"""Neighbourhoods -> patches: the local Gaussian of every sample."""

from ..records import Patches
from .fitting import fit_patches

__all__ = ["Patches", "fit_patches"]
