"""Labels -> edge lengths: what the class of two samples does to the edge between them.

A label rule is a row of `LABEL_RULES`. It sees the values of an edge and whether its
ends share a class. An edge with an unlabelled end (`y == -1`) stays, with its
label-free value, whatever the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Number
from typing import Any, NoReturn

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target

from ..backends.backend import NUMPY, Array, array_namespace, on_any_device
from ..neighbors.exact import search_all
from ..neighbors.metric_search import MetricSearch
from ..records import EdgeValues, Pairs
from .weights import pairs_from_directed

UNLABELLED = -1


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
    given = column_or_1d(np.asarray(NUMPY.bring(y)), warn=True)
    if given.shape[0] != n_samples:
        raise ValueError(
            f"y has {given.shape[0]} labels, but X has {n_samples} samples; "
            "pass one label per sample."
        )
    given, unlabelled = sortable_labels(given, "y")
    known = given[~unlabelled]
    if known.size and type_of_target(known) not in ("binary", "multiclass"):
        number = known[known % 1 != 0][0]
        raise ValueError(
            f"Unknown label type: continuous. y holds numbers such as {number:g}, and "
            "labels are classes: cut the numbers into classes first, for example by "
            "numpy.digitize."
        )
    codes = np.full(n_samples, UNLABELLED, dtype=np.int32)
    codes[~unlabelled] = np.unique(known, return_inverse=True)[1]
    return codes


def sortable_labels(given: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return labels as numbers or names, and which of them are -1: unlabelled.

    Objects that are neither, such as tuples, go by what they are printed as. Errors
    call the labels by `name`.

    Examples
    --------
    >>> labels, unlabelled = sortable_labels(np.array([("a", 1), -1], object), "y")
    >>> labels.tolist(), unlabelled.tolist()
    (["('a', 1)", '-1'], [False, True])
    """
    missing = _is_missing(given) if given.dtype == object else given != given
    if missing.any():
        raise ValueError(
            f"{name} has {missing.sum()} missing labels (None or NaN); mark unlabelled "
            "samples with -1."
        )
    unlabelled = given == UNLABELLED
    if given.dtype == object:
        # Numbers are sorted as numbers, not as their names.
        plain = all(isinstance(label, str | Number) for label in given)
        given = np.asarray(given.tolist() if plain else list(map(str, given)))
    if given.dtype.kind in "OSU":
        given = given.astype(str)
        unlabelled = unlabelled | (given == str(UNLABELLED))
    return given, unlabelled


def _is_missing(labels: np.ndarray) -> np.ndarray:
    """Say which objects are None, NaN or pandas' NA: what does not equal itself."""
    absent = np.frompyfunc(lambda v: v is None or str(v == v) != "True", 1, 1)
    return absent(labels).astype(bool)


@dataclass(frozen=True)
class LabelRule:
    """What the classes of two samples do to the edge between them.

    Attributes
    ----------
    lengths : callable or None
        EdgeValues -> lengths for edges within a class, and between classes. None leaves
        lengths as they are.
    needs_euclidean : bool
        Whether that takes the Euclidean lengths of the edges as well.
    removes_edges : bool
        Whether edges between classes are removed before anything is measured.
    """

    lengths: Callable[[EdgeValues], tuple[Any, Any]] | None = None
    needs_euclidean: bool = False
    removes_edges: bool = False


def _klap(values: EdgeValues) -> tuple[Any, Any]:
    """KLAP, eq. 50: the smallest curvature, or the sum of the two largest."""
    if values.within is None or values.between is None:
        raise ValueError(
            "label_rule='klap' is defined on curvatures; set "
            "dissimilarity='curvature', or label_rule=None."
        )
    return values.within, values.between


def _entropic(values: EdgeValues) -> tuple[Any, Any]:
    """Supervised ELAP: the smaller of Euclidean and dissimilarity, or their sum."""
    xp = array_namespace(values.label_free)
    pair = values.label_free, values.euclidean
    return xp.minimum(*pair), xp.add(*pair)


LABEL_RULES = {
    "klap": LabelRule(_klap),
    "entropic": LabelRule(_entropic, needs_euclidean=True),
    "within": LabelRule(removes_edges=True),
}
"""The rules by name: KLAP's own, and what the ELAP and PELLE papers propose."""


def get_label_rule(rule: str | None) -> LabelRule:
    """Return the table row of a name; without one, a rule that does nothing."""
    return LabelRule() if rule is None else LABEL_RULES[rule]


def refuse_precomputed(rule: str) -> NoReturn:
    """Raise ValueError: a matrix of dissimilarities has neither patches nor samples."""
    raise ValueError(
        f"label_rule={rule!r} needs samples, and dissimilarity='precomputed' has only "
        "a matrix; pass samples with another dissimilarity, or set label_rule=None."
    )


def apply_label_rule(
    rule: str | None,
    values: EdgeValues,
    source: Array | None = None,
    target: Array | None = None,
) -> Array:
    """Return one length per edge.

    Parameters
    ----------
    rule : {"klap", "entropic", "within"} or None
        A row of `LABEL_RULES`. None ignores labels.
    values : EdgeValues
        What the dissimilarity says of the edges.
    source, target : int arrays (E,)
        Class codes of the ends; needed by a rule.

    Examples
    --------
    >>> import numpy as np
    >>> values = EdgeValues(np.full(3, 0.5), euclidean=np.array([0.2, 2.0, 2.0]))
    >>> classes = np.array([0, 0, 1]), np.array([0, 1, -1])
    >>> apply_label_rule("entropic", values, *classes).tolist()
    [0.2, 2.5, 0.5]
    """
    lengths = get_label_rule(rule).lengths
    if lengths is None:
        return values.label_free
    within, between = lengths(values)
    xp = array_namespace(values.label_free)
    labelled = (source != UNLABELLED) & (target != UNLABELLED)
    by_class = xp.where(source == target, within, between)
    if bool(xp.all(labelled)):
        return by_class
    return xp.where(labelled, by_class, values.label_free)


@on_any_device
def remove_edges_between(
    pairs: Pairs,
    classes: np.ndarray,
    X: Any,
    *,
    search: MetricSearch | None = None,
    n_jobs: int | None = None,
) -> Pairs:
    """Remove the edges whose ends are of two classes.

    A sample with no neighbour left gets the nearest one of its own class, or without a
    label. Only a class of a single sample can be left without an edge.

    Parameters
    ----------
    pairs : Pairs
        The graph.
    classes : int array (n,)
        Class codes.
    X : array (n, m)
        Samples.
    search : MetricSearch or None
        What says who is nearest; None is the Euclidean distance.
    n_jobs : int or None
        Number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold.graph.weights import complete_graph
    >>> left = remove_edges_between(
    ...     complete_graph(3), np.array([0, 1, -1]), np.eye(3)
    ... )
    >>> list(zip(left.source.tolist(), left.target.tolist()))
    [(0, 2), (1, 2)]
    """
    ends = classes[pairs.row], classes[pairs.column]
    kept = (ends[0] == ends[1]) | (ends[0] == UNLABELLED) | (ends[1] == UNLABELLED)
    rows, columns = [pairs.row[kept]], [pairs.column[kept]]
    n = pairs.n_samples
    # Those without a neighbour before are not the rule's to join.
    before, after = (np.bincount(r, minlength=n) for r in (pairs.row, rows[0]))
    alone = (before > 0) & (after == 0)
    for label in np.unique(classes[alone]):
        lost = np.flatnonzero(alone & (classes == label))
        own = np.flatnonzero((classes == label) | (classes == UNLABELLED))
        if own.size > 1 and search is not None:
            rows.append(lost)
            columns.append(search.nearest_of(lost, own, n_jobs))
        elif own.size > 1:
            place = np.searchsorted(own, lost)
            found = search_all(X[lost], X[own], 1, own=place, n_jobs=n_jobs)
            rows.append(lost)
            columns.append(own[found.indices[:, 0]])
    return pairs_from_directed(n, np.concatenate(rows), np.concatenate(columns))
