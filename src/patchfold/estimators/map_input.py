"""Parameters of CauchyMap: those that do not go together, and what the search reads."""

from __future__ import annotations

from typing import Any

from ..solvers.field.source import Settings
from ..validation import (
    check_metric,
    has_euclidean_metric,
    is_precomputed,
)
from .map_start import check_components
from .parameters import metric_of, warn_of_metric


def check_map_parameters(estimator: Any, y: Any) -> None:
    """Raise ValueError for parameters of a CauchyMap that do not go together.

    Parameters
    ----------
    estimator : CauchyMap
        Its parameters, each checked on its own.
    y : array-like or None
        Labels, as in `fit`.
    """
    check_components(estimator.n_components)
    check_metric(estimator)
    has_labels = y is not None and estimator.label_weight > 0
    if is_precomputed(estimator):
        if has_labels:
            raise ValueError(
                "labels need samples, and 'precomputed' has only a matrix: leave y "
                "out, or set label_weight=0."
            )
        return
    warn_of_metric(estimator)
    if has_euclidean_metric(estimator):
        return
    shown = getattr(estimator.metric, "__name__", repr(estimator.metric))
    if has_labels:
        raise ValueError(
            f"labels are put beside samples in a Euclidean space, and metric={shown} "
            "is another: leave y out, or set label_weight=0."
        )
    if estimator.reduce not in (None, "auto"):
        raise ValueError(
            f"reduce={estimator.reduce} searches along principal axes, by Euclidean "
            f"distance, and metric={shown} is another: set reduce=None."
        )


def settings_of_map(model: Any, X: Any) -> Settings:
    """Return how the neighbours of samples X of a map are found and compared."""
    return Settings(
        model.n_neighbors_,
        model.dissimilarity,
        model.shrinkage,
        model.ridge,
        model.neighbors_algorithm,
        model.reduce,
        metric_of(model, X),
    )
