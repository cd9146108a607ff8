"""The rules of the parameters that all estimators share, one by one and together."""

from __future__ import annotations

from typing import Any

from ..dissimilarity.table import DISSIMILARITIES
from ..graph.labels import LABEL_RULES
from ..patches.covariance import COVARIANCE_RULES
from ..validation import (
    Float,
    Fraction,
    Having,
    Integer,
    ThreadCount,
)

COMMON_RULES: dict[str, Any] = {
    "n_components": Integer(1),
    "n_neighbors": (Integer(1), Fraction(), "auto", None),
    "radius": (Float(0, open_low=True, may_be_infinite=True), None),
    "adaptive_patches": bool,
    "dissimilarity": (
        *DISSIMILARITIES,
        "precomputed",
        Having(("__call__",), "a callable on patches"),
    ),
    "label_rule": (*LABEL_RULES, None),
    "include_center": bool,
    **COVARIANCE_RULES,
    "neighbors_algorithm": (
        "auto",
        "exact",
        "approximate",
        Having(("fit_transform", "transform", "get_params"), "a KNN transformer"),
    ),
    "eigen_solver": ("auto", "dense", "arpack"),
    "n_jobs": ThreadCount(),
    "verbose": (bool, Having(("__call__",), "a callable")),
    "random_state": (
        Integer(0),
        Having(("uniform", "set_state"), "a RandomState"),
        None,
    ),
}


def is_precomputed(estimator: Any) -> bool:
    """Say whether an estimator is given dissimilarities in place of samples."""
    return isinstance(estimator.dissimilarity, str) and (
        estimator.dissimilarity == "precomputed"
    )


def check_neighborhoods(estimator: Any, *, all_pairs: bool = False) -> None:
    """Raise ValueError unless exactly one of `n_neighbors` and `radius` is given.

    `all_pairs` says that neither stands for all pairs.
    """
    n_neighbors, radius = estimator.n_neighbors, estimator.radius
    name = type(estimator).__name__
    if radius is None:
        if n_neighbors is None and not all_pairs:
            raise ValueError(
                f"{name} has neither n_neighbors nor radius: set one of them."
            )
        return
    if n_neighbors is not None:
        raise ValueError(
            f"{name} has both n_neighbors={n_neighbors!r} and radius={radius!r}: set "
            "n_neighbors=None to use the radius."
        )
    algorithm = estimator.neighbors_algorithm
    if not isinstance(algorithm, str) or algorithm == "approximate":
        raise ValueError(
            "neighbors_algorithm finds a number of neighbours, and radius="
            f"{radius!r} asks for all within reach: set neighbors_algorithm='exact', "
            "or n_neighbors instead of radius."
        )
