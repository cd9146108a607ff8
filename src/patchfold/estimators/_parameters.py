"""The rules of the parameters that all estimators share."""

from __future__ import annotations

from typing import Any

from .._validation import (
    Float,
    Fraction,
    Having,
    Integer,
    Nothing,
    OneOf,
    ThreadCount,
    Truth,
)
from ..covariance import COVARIANCES, SHRINKAGE_RULES
from ..dissimilarity import DISSIMILARITIES
from ..labels import LABEL_RULES

COMMON_RULES: dict[str, Any] = {
    "n_components": Integer(1),
    "n_neighbors": (Integer(1), Fraction(), OneOf("auto")),
    "dissimilarity": (
        OneOf(*DISSIMILARITIES, "precomputed"),
        Having(("__call__",), "a callable on patches"),
    ),
    "label_rule": (OneOf(*LABEL_RULES), Nothing()),
    "include_center": Truth(),
    "covariance": OneOf(*COVARIANCES),
    "n_directions": (Integer(1), Float(0, 1, open_low=True), Nothing()),
    "shrinkage": (Float(0, 1), OneOf(*SHRINKAGE_RULES)),
    "ridge": Float(0),
    "neighbors_algorithm": (
        OneOf("auto", "exact", "approximate"),
        Having(("fit_transform", "transform", "get_params"), "a KNN transformer"),
    ),
    "eigen_solver": OneOf("auto", "dense", "arpack"),
    "n_jobs": ThreadCount(),
    "random_state": (
        Integer(0),
        Having(("uniform", "set_state"), "a RandomState"),
        Nothing(),
    ),
}
