"""Labels -> edge lengths: what the class of two samples does to the edge between them.

A label rule sees the values of an edge and whether its ends share a class. An edge with
an unlabelled end (`y == -1`) follows the label-free value, whatever the rule.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ._types import EdgeValues

UNLABELLED = -1
LABEL_RULES = ("klap",)


def encode_labels(y: Any, n_samples: int, estimator_name: str) -> np.ndarray:
    """Return class codes 0, 1, ... for the samples, with -1 for unlabelled ones.

    NumPy turns a list of names and numbers into strings, so "-1" is unlabelled too.

    Examples
    --------
    >>> encode_labels(["b", "a", -1, "b"], 4, "PatchEigenmaps").tolist()
    [1, 0, -1, 1]
    """
    if y is None:
        raise ValueError(
            f"This {estimator_name} estimator requires y to be passed, but the target "
            "y is None: its label_rule needs class labels. Pass y (-1 marks an "
            "unlabelled sample) or set label_rule=None."
        )
    given = column_or_1d(np.asarray(y), warn=True)
    if given.shape[0] != n_samples:
        raise ValueError(
            f"y has {given.shape[0]} labels, but X has {n_samples} samples; "
            "pass one label per sample."
        )
    missing = _is_missing(given) if given.dtype == object else given != given
    if missing.any():
        raise ValueError(
            f"y has {missing.sum()} missing labels (None or NaN); mark unlabelled "
            "samples with -1."
        )
    unlabelled = given == UNLABELLED
    if given.dtype.kind in "OSU":
        given = given.astype(str)
        unlabelled = unlabelled | (given == str(UNLABELLED))
    known = given[~unlabelled]
    if known.size:
        check_classification_targets(known)
    codes = np.full(n_samples, UNLABELLED)
    codes[~unlabelled] = np.unique(known, return_inverse=True)[1]
    return codes


def _is_missing(labels: np.ndarray) -> np.ndarray:
    """Say which objects are None, NaN or pandas' NA: what does not equal itself."""
    absent = np.frompyfunc(lambda v: v is None or str(v == v) != "True", 1, 1)
    return absent(labels).astype(bool)


def refuse_label_rule(rule: str) -> NoReturn:
    """Raise ValueError: the dissimilarity offers nothing to choose from."""
    raise ValueError(
        f"label_rule={rule!r} is defined on curvatures; set "
        "dissimilarity='curvature', or label_rule=None."
    )


def apply_label_rule(
    rule: str | None,
    values: EdgeValues,
    source: np.ndarray | None = None,
    target: np.ndarray | None = None,
) -> np.ndarray:
    """Return one length per edge.

    Parameters
    ----------
    rule : {"klap"} or None
        KLAP's eq. 50 takes the smallest curvature within a class and the sum of the
        largest between classes. None ignores labels.
    values : EdgeValues
        What the dissimilarity says of the edges.
    source, target : int arrays (E,)
        Class codes of the ends; needed by a rule.
    """
    if rule is None:
        return np.asarray(values.label_free)
    if values.within is None or values.between is None:
        refuse_label_rule(rule)
    labelled = (source != UNLABELLED) & (target != UNLABELLED)
    by_class = np.where(source == target, values.within, values.between)
    return np.where(labelled, by_class, values.label_free)
