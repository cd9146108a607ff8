"""The rules of the parameters that all estimators share, and the metric they ask for.

`check_parameters` of `validation.py` holds an estimator to them.
"""

from __future__ import annotations

from typing import Any

from ..dissimilarity.table import DISSIMILARITIES, get_dissimilarity
from ..exceptions import MetricWarning, warn
from ..graph.labels import LABEL_RULES
from ..neighbors.metric import METRICS, Metric, resolve_metric
from ..patches.covariance import COVARIANCE_RULES
from ..validation import (
    N_JOBS,
    Float,
    Fraction,
    Having,
    Integer,
    has_euclidean_metric,
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
    "n_jobs": N_JOBS,
    "verbose": (bool, Having(("__call__",), "a callable")),
    "random_state": (
        Integer(0),
        Having(("uniform", "set_state"), "a RandomState"),
        None,
    ),
}


def metric_of(estimator: Any, X: Any) -> Metric | None:
    """Return the metric for samples X; None is the Euclidean distance, if dense."""
    return resolve_metric(estimator.metric, estimator.p, estimator.metric_params, X)


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
