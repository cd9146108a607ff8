"""Samples on a device -> the same in double precision, checked where they are."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import validate_data

from ..backend import Array
from .transfer import as_float64


def check_samples(estimator: Any, X: Array, *, reset: bool, **settings: Any) -> Array:
    """Check a tensor as scikit-learn checks an array, where it is."""
    name = type(estimator).__name__
    if str(X.layout) != "torch.strided":
        raise ValueError(
            f"{name} takes no sparse tensor: pass a dense one, or a sparse matrix of "
            "SciPy where that is taken."
        )
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D tensor of shape {tuple(X.shape)} "
            "instead. Reshape it: a row for each sample, a column for each feature."
        )
    least = settings.get("ensure_min_samples", 1)
    for size, low, of in zip(X.shape, (least, 1), ("sample", "feature"), strict=True):
        if size < low:
            raise ValueError(
                f"Found array with {size} {of}(s) (shape={tuple(X.shape)}) while a "
                f"minimum of {low} is required by {name}."
            )
    if X.is_complex():
        raise ValueError("Complex data not supported: pass a tensor of real numbers.")
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    X = as_float64(X, copied=settings.get("copy", False))
    if not bool((X - X == 0).all()):
        raise ValueError(
            f"Input X contains NaN or infinity, and {name} does not accept missing "
            "values: drop or fill in such samples."
        )
    return X
