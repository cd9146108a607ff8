"""What a CauchyMap begins with: where it is computed, and where its samples start."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ..backends.backend import NUMPY, Backend, backend_for
from ..exceptions import FarSampleWarning, MapConvergenceWarning, warn
from ..solvers.field.descent import SETTLED
from ..solvers.field.repulsion import EXACT_LIMIT
from ..solvers.field.source import Setting
from ..solvers.field.start import make_start
from ..validation import has_euclidean_metric


def check_components(n_components: int) -> None:
    """Raise ValueError for more coordinates than a map can have."""
    if n_components > 2:
        raise ValueError(
            f"n_components={n_components} is more than 2: the repulsion of "
            "CauchyMap is a field on a grid in the plane. Set n_components to 1 or "
            "2, or take PatchIsomap or PatchEigenmaps."
        )


def warn_of_the_limit(max_iter: int) -> None:
    """Warn of a map that has not converged."""
    warn(
        f"the map has not converged in max_iter={max_iter} steps: raise it.",
        MapConvergenceWarning,
    )


def read_init(
    init: Any, X: Any, n_samples: int, n_components: int
) -> tuple[np.ndarray | None, int]:
    """Return coordinates to start from, None for "pca", and the first step's number.

    Parameters
    ----------
    init : {"pca"}, array (n, n_components) or fitted CauchyMap
        As in `CauchyMap`. The samples are placed in a map, and its early steps are left
        out.
    X : array-like or data frame (n, m)
        Samples as they were given, in the order of the input.
    n_samples, n_components : int
        Shape of the coordinates.
    """
    if isinstance(init, str) and init == "pca":
        return None, 0
    if _is_map(init):
        check_is_fitted(init, msg="init is a CauchyMap that is not fitted: fit it.")
        if init.n_components != n_components:
            raise ValueError(
                f"init is a map with n_components={init.n_components}, and this one "
                f"has n_components={n_components}: make them equal."
            )
        return _places_in(init, X), SETTLED
    if hasattr(init, "fit"):
        raise ValueError(
            f"init is a {type(init).__name__}, and only a CauchyMap places samples for "
            "another: pass its coordinates (init=model.embedding_)."
        )
    given = check_array(NUMPY.bring(init), dtype=np.float64, input_name="init")
    if given.shape != (n_samples, n_components):
        raise ValueError(
            f"init must have shape ({n_samples}, {n_components}), a row for each "
            f"sample. Got {given.shape} instead."
        )
    return given, 0


def _places_in(chart: Any, X: Any) -> np.ndarray:
    """Return the places of samples in a fitted map, which may have other samples."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FarSampleWarning)
            return np.asarray(chart.transform(NUMPY.bring(X)))
    except ValueError as error:
        raise ValueError(
            "init is a map in which X cannot be placed; fit it on the same columns, or "
            f"pass coordinates of all samples as init: {error}"
        ) from error


def begin(
    given: np.ndarray | None, first: int, setting: Setting, n_components: int
) -> np.ndarray:
    """Return where our samples start (n, 2).

    Parameters
    ----------
    given, first : array (n, n_components) or None, int
        What `read_init` returned. Places in a map are kept, of other coordinates only
        the shape matters.
    setting : Setting
        Our order, and the scores of the samples.
    n_components : int
        Coordinates of the map.
    """
    if given is None:
        return make_start(setting.scores, n_components)
    ours = backend_for(setting.order).bring(given)[setting.order]
    if first == 0:
        return make_start(ours, n_components)
    start = np.zeros((ours.shape[0], 2), np.float32)
    start[:, :n_components] = ours
    return start


def where_drawn(model: Any, X: Any, y: Any) -> Backend:
    """Return where a map is computed: the device of X, if it has all that is needed.

    Few samples, labels, patches, another metric, a matrix and a start at another map
    are NumPy's.
    """
    backend, dissimilarity = backend_for(X), model.dissimilarity
    if not backend.draws_maps() or X.ndim != 2 or X.shape[0] <= EXACT_LIMIT:
        return NUMPY
    has_labels = y is not None and model.label_weight > 0
    by_points = isinstance(dissimilarity, str) and dissimilarity == "euclidean"
    by_points = by_points and has_euclidean_metric(model)
    if has_labels or not by_points or _is_map(model.init):
        return NUMPY
    return backend


def _is_map(init: Any) -> bool:
    return hasattr(init, "transform") and hasattr(init, "separation")
