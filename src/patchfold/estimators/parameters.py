"""The rules of the parameters that all estimators share, one by one and together."""

from __future__ import annotations

from typing import Any

from ..dissimilarity.table import DISSIMILARITIES, get_dissimilarity
from ..exceptions import MetricWarning, warn
from ..graph.labels import LABEL_RULES
from ..neighbors.metric import (
    METRICS,
    PRECOMPUTED,
    Metric,
    is_euclidean,
    resolve_metric,
)
from ..patches.covariance import COVARIANCE_RULES
from ..validation import (
    Float,
    Fraction,
    Having,
    Integer,
    ThreadCount,
)

METRIC_RULES: dict[str, Any] = {
    "metric": (
        *METRICS,
        Having(("__call__",), "a callable on two samples"),
    ),
    "p": Float(0, open_low=True, may_be_infinite=True),
    "metric_params": (Having(("keys", "items"), "a dict"), None),
}

COMMON_RULES: dict[str, Any] = {
    "n_components": Integer(1),
    "n_neighbors": (Integer(1), Fraction(), "auto", None),
    "radius": (Float(0, open_low=True, may_be_infinite=True), None),
    "adaptive_patches": bool,
    **METRIC_RULES,
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
    given = estimator.dissimilarity, estimator.metric
    return any(isinstance(name, str) and name == PRECOMPUTED for name in given)


def has_euclidean_metric(estimator: Any) -> bool:
    """Say whether samples are compared by the Euclidean distance."""
    return is_euclidean(estimator.metric, estimator.p, estimator.metric_params)


def metric_of(estimator: Any, X: Any) -> Metric | None:
    """Return what measures samples X; None is the Euclidean distance, if dense."""
    return resolve_metric(estimator.metric, estimator.p, estimator.metric_params, X)


def check_metric(estimator: Any) -> None:
    """Raise ValueError for a metric that does not go with the dissimilarity."""
    metric, dissimilarity = estimator.metric, estimator.dissimilarity
    shown = getattr(metric, "__name__", repr(metric))
    if isinstance(metric, str) and metric == PRECOMPUTED:
        if dissimilarity not in ("euclidean", PRECOMPUTED):
            raise ValueError(
                "metric='precomputed' has distances and no samples, and dissimilarity="
                f"{dissimilarity!r} compares patches of samples: set dissimilarity="
                "'euclidean' to take the distances as they are."
            )
    elif is_precomputed(estimator) and not has_euclidean_metric(estimator):
        raise ValueError(
            f"metric={shown} measures samples, and dissimilarity='precomputed' has "
            "none: leave metric out."
        )


def warn_of_metric(estimator: Any) -> None:
    """Say that a metric finds the neighbours of patches, and no more."""
    metric = estimator.metric
    patches = get_dissimilarity(estimator.dissimilarity).needs_gaussians
    if not patches or has_euclidean_metric(estimator):
        return
    warn(
        f"metric={getattr(metric, '__name__', repr(metric))} finds the neighbours; "
        f"their patches are compared by dissimilarity={estimator.dissimilarity!r}, in "
        "the Euclidean space of the features. Set dissimilarity='euclidean' to compare "
        "samples by the metric alone.",
        MetricWarning,
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
