"""Datasets of the papers by name, toy manifolds, and the cities of the Cauchy paper."""

from ._cities import Cities, great_circle_distances, us_capitals
from ._load import CatalogueRow, catalogue, load
from ._record import (
    Dataset,
    DatasetChangedError,
    DatasetShapeWarning,
    DatasetUnavailableError,
)
from ._toys import make_letter, make_shape

__all__ = [
    "CatalogueRow",
    "Cities",
    "Dataset",
    "DatasetChangedError",
    "DatasetShapeWarning",
    "DatasetUnavailableError",
    "catalogue",
    "great_circle_distances",
    "load",
    "make_letter",
    "make_shape",
    "us_capitals",
]
