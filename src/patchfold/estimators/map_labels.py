"""Labels of CauchyMap: samples -> samples with class probabilities beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backends.progress import without_progress
from ..graph.labels import encode_labels
from ..posterior.classes import encode_classes
from ..solvers.field.label_space import LabelSpace, median_reach, side_by_side
from ..solvers.field.order import hash_order
from .patch_posterior import PatchPosterior


@dataclass(frozen=True)
class Labels:
    """What labels said of classes.

    Attributes
    ----------
    posterior : PatchPosterior
        Fitted; it says the probabilities of new samples.
    space : LabelSpace
        How samples and probabilities are put side by side.
    """

    posterior: PatchPosterior
    space: LabelSpace

    def join(self, X: Any) -> Any:
        """Return new samples with their probabilities beside them."""
        return self.space.join(X, self.posterior.predict_proba(X))


def add_labels(
    X: Any,
    codes: np.ndarray,
    weight: float,
    n_neighbors: int,
    n_jobs: int | None = None,
) -> tuple[Any, Labels]:
    """Put class probabilities beside samples.

    Parameters
    ----------
    X : array or sparse array (n, m)
        Samples.
    codes : int array (n,)
        Classes, -1 where there is no label.
    weight : float
        What probabilities count.
    n_neighbors : int
        The median distance to the neighbour of this number is the unit of distances.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    array or sparse array (n, m + c), Labels
        Samples in the new space, and what new samples need to get there.
    """
    codes = _by_rows(codes, hash_order(X))
    order = hash_order(side_by_side(X, codes[:, None]))
    rows = X[order]
    with without_progress():
        posterior = PatchPosterior(n_jobs=n_jobs).fit(rows, codes[order])
    space = LabelSpace(median_reach(rows, n_neighbors, n_jobs), weight)
    joined = space.join(rows, posterior.posterior_)
    return joined[np.argsort(order)], Labels(posterior, space)


def _by_rows(codes: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return codes of classes as they first appear in an order of rows."""
    known = codes[order][codes[order] >= 0]
    first = np.unique(known, return_index=True)[1]
    number = np.argsort(np.argsort(first))
    return np.where(codes >= 0, number[codes], codes)


def read_labels(y: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return class codes (n,), -1 for unlabelled, and labels; None without two classes.

    As in PatchPosterior, -1 is a class if there is only one label besides it.
    """
    codes = encode_labels(y, n_samples, "CauchyMap")
    if np.unique(codes).size < 2:
        return None
    return encode_classes(y, n_samples, "CauchyMap")
