"""Labels -> classes: which rows are of which class, and which are unlabelled."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite

from ..backends.backend import NUMPY
from ..graph.labels import UNLABELLED, encode_labels


def encode_classes(
    y: Any, n_samples: int, estimator_name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return class codes of the samples, and the labels they stand for.

    -1 is unlabelled, unless there is only one label besides it: then both are classes,
    as there is nothing else -1 could be.

    Parameters
    ----------
    y : array-like (n_samples,)
        Labels.
    n_samples : int
        How many there must be.
    estimator_name : str
        For messages.

    Returns
    -------
    codes : int array (n_samples,)
        0, 1, ..., C - 1, or -1 for an unlabelled sample.
    classes : array (C,)
        Labels, sorted.

    Examples
    --------
    >>> codes, classes = encode_classes(["b", "a", "-1", "b"], 4, "PatchPosterior")
    >>> codes.tolist(), classes.tolist()
    ([1, 0, -1, 1], ['a', 'b'])
    """
    if y is None:
        raise ValueError(
            f"This {estimator_name} estimator requires y to be passed, but the target "
            "y is None. Pass class labels; -1 marks an unlabelled sample."
        )
    given = np.asarray(NUMPY.bring(y))
    if given.dtype.kind == "f":
        assert_all_finite(given, input_name="y")
    codes = encode_labels(y, n_samples, estimator_name)
    if codes.max() < 1:
        codes = codes - codes.min()
    found, first = np.unique(codes, return_index=True)
    first = first[found != UNLABELLED]
    if first.size < 2:
        raise ValueError(
            f"{estimator_name} needs two classes or more, and y has {first.size} "
            "class: pass labels of the others too."
        )
    return codes, given.reshape(-1)[first]
