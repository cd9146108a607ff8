"""What `fit` and `transform` do with samples: data frames of mixed columns are encoded.

A data frame in which every column holds numbers is taken as it is, like an array. Any
other one becomes numbers by a `TableEncoder`, which the estimator keeps as `encoder_`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ..backends.backend import require_memory
from ..backends.progress import note
from ..backends.structure import check_structure
from ..patches.fitting import is_wide
from ..validation import check_samples, without_zeros
from .encoding.layout import tell
from .encoding.reading import read_objects, table_kind
from .table_encoder import TableEncoder


def check_table(estimator: Any, X: Any, *, reset: bool, **settings: Any) -> Any:
    """Return samples as numbers, checked.

    Parameters
    ----------
    estimator : estimator
        Whose samples they are. Of mixed columns, it gets `encoder_` in `fit`, and its
        `n_features_in_` counts the columns of the frame.
    X : array-like, tensor or data frame (n, m)
        Samples.
    reset : bool
        Whether this is `fit`.
    **settings
        As in scikit-learn's `check_array`. Where it lets NaN pass, gaps of a frame
        stay NaN; else they are at the mean of their column.
    """
    keeps_gaps = settings.get("ensure_all_finite") == "allow-nan"
    if reset:
        vars(estimator).pop("encoder_", None)
        if not has_mixed_columns(X):
            return check_samples(estimator, X, reset=True, **settings)
        encoder = TableEncoder()
        values = encoder._fit(X)
        validate_data(estimator, X, reset=True, skip_check_array=True)
        estimator.encoder_ = encoder
        where = "left out" if keeps_gaps else "at the mean"
        note(tell(encoder._fitted.columns, encoder._width, where))
    else:
        encoder = vars(estimator).get("encoder_")
        if encoder is None:
            return check_samples(estimator, X, reset=False, **settings)
        validate_data(estimator, X, reset=False, skip_check_array=True)
        values = encoder._read(X)
    numbers = encoder._numbers(values, keeps_gaps=keeps_gaps)
    settings = {"dtype": np.float64, "order": "C", **settings, "copy": False}
    return check_array(numbers, estimator=estimator, input_name="X", **settings)


def as_numbers(X: Any) -> Any:
    """Return a data frame of mixed columns as numbers, anything else as it is.

    Arrays of a sparse matrix that do not belong together are a ValueError.
    """
    if sp.issparse(X):
        check_structure(X)
    return TableEncoder().fit_transform(X) if has_mixed_columns(X) else X


def dense_if_narrow(X: Any) -> Any:
    """Return sparse samples without stored zeros; dense, if their features are few.

    Only then may they have gaps.
    """
    if not sp.issparse(X):
        return X
    n, m = X.shape
    if not is_wide(n, m):
        require_memory(
            16.0 * n * m,
            f"{n} sparse samples of {m} features, made dense",
            "Reduce the features first, for example by TruncatedSVD of scikit-learn.",
        )
        return X.toarray()
    refuse_sparse_gaps(X)
    return without_zeros(X)


def refuse_sparse_gaps(X: Any) -> None:
    """Raise ValueError for sparse samples with NaN."""
    if sp.issparse(X) and np.isnan(X.data).any():
        raise ValueError(
            f"X is sparse, has {X.shape[1]} features and contains NaN, and gaps are "
            "left out of dense samples only: fill them, leave their rows out, or "
            "reduce the features and pass X.toarray()."
        )


def has_mixed_columns(X: Any) -> bool:
    """Say whether X is a data frame with a column that holds no numbers.

    Booleans, and objects that are numbers, count as numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> has_mixed_columns(pd.DataFrame({"a": [1, 2], "b": [True, False]}))
    False
    >>> has_mixed_columns(pd.DataFrame({"a": [1, 2], "b": ["red", "blue"]}))
    True
    """
    kind = table_kind(X)
    if kind is None:
        return False
    column = {
        "pandas": lambda place: X.iloc[:, place],
        "polars": lambda place: X[:, place],
        "arrow": lambda place: X.column(place),
    }[kind]
    dtypes = [field.type for field in X.schema] if kind == "arrow" else X.dtypes
    return not all(
        _is_plain(str(dtype), partial(column, place))
        for place, dtype in enumerate(dtypes)
    )


_PLAIN = ("float", "int", "uint", "bool", "double", "halffloat", "decimal", "sparse")


def _is_plain(dtype: str, column: Callable[[], Any]) -> bool:
    """Say whether a column holds numbers, by the name of its type."""
    if dtype.lower().startswith(_PLAIN):
        return True
    if dtype.lower() != "object":
        return False
    try:
        read = read_objects("", list(column()), text=False)
    except TypeError:
        return False  # the encoder names the column, and what it holds
    return read.kind not in ("category", "date", "duration")
