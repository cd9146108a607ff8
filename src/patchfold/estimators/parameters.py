"""Checks of a fit: parameters, one by one and together, samples and labels.

The rules of the parameters that all estimators share are here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..backends.arrays import Array
from ..backends.backend import NUMPY
from ..dissimilarity.table import DISSIMILARITIES, get_dissimilarity
from ..exceptions import MetricWarning, warn
from ..graph.labels import LABEL_RULES, encode_labels, refuse_precomputed
from ..graph.precomputed import check_dissimilarities
from ..neighbors.metric import METRICS, PRECOMPUTED, Metric, resolve_metric
from ..patches.covariance import COVARIANCE_RULES
from ..validation import (
    N_JOBS,
    Float,
    Fraction,
    Having,
    Integer,
    check_magnitude,
    check_parameters,
    check_samples,
    without_zeros,
)
from .frames import check_table

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


def is_precomputed(estimator: Any) -> bool:
    """Say whether an estimator is given dissimilarities in place of samples."""
    dissimilarity, metric = estimator.dissimilarity, estimator.metric
    by_matrix = isinstance(dissimilarity, str) and dissimilarity == PRECOMPUTED
    return by_matrix or (isinstance(metric, str) and metric == PRECOMPUTED)


def has_euclidean_metric(estimator: Any) -> bool:
    """Say whether samples are compared by the Euclidean distance."""
    metric, params = estimator.metric, estimator.metric_params or {}
    if not isinstance(metric, str):
        return False
    if metric == "minkowski":
        return params.keys() <= {"p"} and params.get("p", estimator.p) == 2
    return metric in ("euclidean", "l2") and not params


def metric_of(estimator: Any, X: Any) -> Metric | None:
    """Return the metric for samples X; None is the Euclidean distance, if dense."""
    return resolve_metric(estimator.metric, estimator.p, estimator.metric_params, X)


def check_metric(estimator: Any) -> None:
    """Raise ValueError for a metric that does not go with the dissimilarity."""
    metric, dissimilarity = estimator.metric, estimator.dissimilarity
    if isinstance(metric, str) and metric == PRECOMPUTED:
        if dissimilarity not in ("euclidean", PRECOMPUTED):
            raise ValueError(
                "metric='precomputed' has distances and no samples, and dissimilarity="
                f"{dissimilarity!r} compares patches of samples: set dissimilarity="
                "'euclidean' to take the distances as they are."
            )
    elif is_precomputed(estimator) and not has_euclidean_metric(estimator):
        shown = getattr(metric, "__name__", repr(metric))
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


class CheckedInput(NamedTuple):
    """What `fit` was given, checked.

    Attributes
    ----------
    X : array, tensor or sparse array
        Samples or dissimilarities, a copy.
    classes : int array (n,) or None
        Labels as numbers, where a label rule uses them.
    """

    X: Any
    classes: Array | None


def check_input(estimator: Any, X: Any, y: Any) -> CheckedInput:
    """Check the parameters of an estimator, the samples and the labels of a fit."""
    check_parameters(estimator)
    check_neighborhoods(estimator, all_pairs=estimator._can_take_all_pairs)
    check_metric(estimator)
    X = check_source(estimator, X, reset=True)
    n = X.shape[0]
    if estimator.n_components >= n:
        raise ValueError(
            f"n_components={estimator.n_components} must be less than the number of "
            f"samples, n_samples={n}. Lower it, or pass more samples."
        )
    classes = None
    if estimator.label_rule is not None:
        if is_precomputed(estimator):
            refuse_precomputed(estimator.label_rule)
        classes = encode_labels(y, n, type(estimator).__name__)
    return CheckedInput(X, classes)


def check_source(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check samples or dissimilarities, of a fit (`reset`) or of new samples."""
    is_matrix = is_precomputed(estimator)
    may_have_words = "encoder_" in vars(estimator)  # a data frame in `fit` had some
    if reset:
        vars(estimator).pop("encoder_", None)
        may_have_words = not (is_matrix or isinstance(X, np.ndarray))
    check = check_table if may_have_words else check_samples
    X = check(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        copy=reset,  # the model must not change when its user's array does
        ensure_min_samples=2 if reset else 1,
    )
    if is_matrix:
        check_dissimilarities(NUMPY.bring(X), square=reset)
        return X
    check_magnitude(X, spread=reset)
    return without_zeros(X) if sp.issparse(X) else X
