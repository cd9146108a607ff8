"""Methods by name: what `embed --method`, `compare` and the studies can run."""

from .baselines import BASELINES
from .table import (
    FRACTIONS,
    METHODS,
    OTHERS,
    PAPERS,
    SIZES,
    TWINS,
    Method,
    find_method,
    is_installed,
)

__all__ = [
    "BASELINES",
    "FRACTIONS",
    "METHODS",
    "OTHERS",
    "PAPERS",
    "SIZES",
    "TWINS",
    "Method",
    "find_method",
    "is_installed",
]
