"""Neighbourhoods -> patches: the local Gaussian of every sample."""

from .fitting import Patches, fit_patches

__all__ = ["Patches", "fit_patches"]
