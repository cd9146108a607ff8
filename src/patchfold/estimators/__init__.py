"""The estimators: each chooses parts of the pipeline and runs them in order."""

from .cauchy import CauchyEmbedding
from .eigenmaps import PatchEigenmaps
from .isomap import PatchIsomap
from .lle import PatchLLE

__all__ = ["CauchyEmbedding", "PatchEigenmaps", "PatchIsomap", "PatchLLE"]
