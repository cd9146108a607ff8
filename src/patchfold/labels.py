"""Labels -> edge lengths: what the class of two samples does to the edge between them.

A label rule sees the values of an edge and whether its ends share a class. An edge with
an unlabelled end (`y == -1`) follows the label-free value, whatever the rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ._types import EdgeValues

UNLABELLED = -1
LABEL_RULES = ("klap",)


def encode_labels(y: Any, n_samples: int, estimator_name: str) -> np.ndarray:
    """Return class codes 0, 1, ... for the samples, with -1 for unlabelled ones.

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
    given = np.asarray(column_or_1d(_as_array(y), warn=True))
    if given.shape[0] != n_samples:
        raise ValueError(
            f"y has {given.shape[0]} labels, but X has {n_samples} samples; "
            "pass one label per sample."
        )
    unlabelled = np.array(given == UNLABELLED, dtype=bool) & np.ones(n_samples, bool)
    known = given[~unlabelled]
    if given.dtype == object:
        missing = sum(label is None or label != label for label in known.tolist())
        if missing:
            raise ValueError(
                f"y has {missing} missing labels (None or NaN); mark unlabelled "
                "samples with -1."
            )
        known = known.astype(str)
    if known.size:
        check_classification_targets(known)
    codes = np.full(n_samples, UNLABELLED)
    codes[~unlabelled] = np.unique(known, return_inverse=True)[1]
    return codes


def _as_array(y: Any) -> np.ndarray:
    """Keep -1 a number in a list of strings, where NumPy would make it a string."""
    if isinstance(y, (list, tuple)) and len({isinstance(v, str) for v in y}) == 2:
        return np.array(y, dtype=object)
    return np.asarray(y)


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
        raise ValueError(
            f"label_rule={rule!r} is defined on curvatures; set "
            "dissimilarity='curvature', or label_rule=None."
        )
    labelled = (source != UNLABELLED) & (target != UNLABELLED)
    by_class = np.where(source == target, values.within, values.between)
    return np.where(labelled, by_class, values.label_free)
