"""The estimators: each chooses parts of the pipeline and runs them in order."""

from .cauchy import CauchyEmbedding
from .eigenmaps import PatchEigenmaps
from .isomap import PatchIsomap
from .lle import PatchLLE
from .posterior import PatchPosterior
from .projection import PatchProjection

__all__ = [
    "CauchyEmbedding",
    "PatchEigenmaps",
    "PatchIsomap",
    "PatchLLE",
    "PatchPosterior",
    "PatchProjection",
]
