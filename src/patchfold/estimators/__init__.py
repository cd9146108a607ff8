"""The estimators: each chooses parts of the pipeline and runs them in order."""

from .cauchy import CauchyEmbedding
from .cauchy_map import CauchyMap
from .eigenmaps import PatchEigenmaps
from .isomap import PatchIsomap
from .lle import PatchLLE
from .patch_posterior import PatchPosterior
from .projection import PatchProjection
from .table_encoder import TableEncoder

__all__ = [
    "CauchyEmbedding",
    "CauchyMap",
    "PatchEigenmaps",
    "PatchIsomap",
    "PatchLLE",
    "PatchPosterior",
    "PatchProjection",
    "TableEncoder",
]
