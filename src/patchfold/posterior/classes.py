"""Labels -> classes: which rows are of which class, and which are unlabelled."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite

from ..backends.backend import NUMPY
from ..graph.labels import UNLABELLED, encode_labels


def check_weights(
    sample_weight: Any, codes: np.ndarray, labelled: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return weights of labelled rows, of mean 1, and which rows are labelled.

    A row of weight 0 takes no part, as an unlabelled one.

    Parameters
    ----------
    sample_weight : array-like (n,), number or None
        Weights, at least 0.
    codes : int array (n,)
        Classes.
    labelled : bool array (n,)
        Rows that have one.

    Examples
    --------
    >>> codes, labelled = np.array([0, 1, 0, -1]), np.array([True, True, True, False])
    >>> weights, labelled = check_weights([1, 3, 0, 4], codes, labelled)
    >>> weights.tolist(), labelled.tolist()
    ([0.5, 1.5], [True, True, False, False])
    """
    if sample_weight is None:
        return None, labelled
    weights = np.asarray(NUMPY.bring(sample_weight), dtype=np.float64)
    weights = np.full(codes.shape, weights) if weights.ndim == 0 else weights
    if weights.shape != codes.shape:
        raise ValueError(
            f"sample_weight must have a number for each of the {codes.size} samples. "
            f"Its shape is {weights.shape}."
        )
    assert_all_finite(weights, input_name="sample_weight")
    if weights.min() < 0:
        raise ValueError(
            f"sample_weight must not be negative. Its smallest is {weights.min():g}."
        )
    labelled = labelled & (weights > 0)
    if np.setdiff1d(codes[codes != UNLABELLED], codes[labelled]).size:
        raise ValueError(
            "sample_weight is zero for all samples of a class: leave their labels out, "
            "or give one a weight."
        )
    weights = weights[labelled] / weights.max()
    return weights / weights.mean(), labelled


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
