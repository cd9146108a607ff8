"""Where the samples of a CauchyMap start: its `init`, checked and put in order."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ..backends.backend import NUMPY
from ..exceptions import FarSampleWarning
from ..solvers.field.descent import SETTLED
from ..solvers.field.source import Setting
from ..solvers.field.start import make_start


def check_init(init: Any, n_samples: int, n_components: int) -> Any:
    """Return the coordinates or the fitted map that `init` is; None for "pca"."""
    if isinstance(init, str) and init == "pca":
        return None
    if _is_map(init):
        check_is_fitted(init, msg="init is a CauchyMap that is not fitted: fit it.")
        if init.n_components != n_components:
            raise ValueError(
                f"init is a map with n_components={init.n_components}, and this one "
                f"has n_components={n_components}: make them equal."
            )
        return init
    given = check_array(NUMPY.bring(init), dtype=np.float64, input_name="init")
    if given.shape != (n_samples, n_components):
        raise ValueError(
            f"init must have shape ({n_samples}, {n_components}), a row for each "
            f"sample. Got {given.shape} instead."
        )
    return given


def begin(
    init: Any, X: Any, setting: Setting, n_components: int
) -> tuple[np.ndarray, int]:
    """Return where our samples start (n, 2), and the number of their first step.

    Parameters
    ----------
    init : None, array (n, n_components) or fitted CauchyMap
        What `check_init` returned.
    X : array-like or data frame (n, m)
        Samples as they were given, in the order of the input.
    setting : Setting
        Our order, and the scores of the samples.
    n_components : int
        Coordinates of the map.
    """
    if _is_map(init):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FarSampleWarning)
            places = np.asarray(init.transform(NUMPY.bring(X)))
        start = np.zeros((places.shape[0], 2), np.float32)
        start[:, :n_components] = places[setting.order]
        return start, SETTLED
    scores = setting.scores if init is None else init[setting.order]
    return make_start(scores, n_components), 0


def _is_map(init: Any) -> bool:
    return hasattr(init, "transform") and hasattr(init, "separation")
