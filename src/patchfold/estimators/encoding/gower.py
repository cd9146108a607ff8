"""Gower's distance between rows of a table: the mean over the columns both have.

A number differs by its distance over the range of the column in `fit`, at most 1; a
category by 0 or 1; an ordered category by ranks over the number of steps. A column that
is missing in one of the two rows is left out; rows that share no column are 1 apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist

from ...backends.backend import require_memory
from ...backends.threads import map_blocks
from .layout import Learned


def scale_to_range(
    known: Sequence[Learned], values: Sequence[np.ndarray]
) -> np.ndarray:
    """Return values in units of their ranges, categories as codes; NaN in gaps."""
    parts = []
    for column, numbers in zip(known, values, strict=True):
        if column.kind == "category":
            parts.append(numbers)
        else:
            span = column.span or 1.0
            parts.append(np.clip((numbers - column.low) / span, 0.0, 1.0))
    return np.column_stack(parts)


def gower_distances(
    A: np.ndarray, B: np.ndarray, is_category: np.ndarray, n_jobs: int | None = None
) -> np.ndarray:
    """Return Gower's distances of rows, as `scale_to_range` gives them.

    Parameters
    ----------
    A, B : array (n, m), array (k, m)
        Rows; NaN is a gap.
    is_category : bool array (m,)
        Columns of codes.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    array (n, k)
        From 0 to 1. Time is n · k · m, memory 8 · n · k bytes.
    """
    n, k = A.shape[0], B.shape[0]
    require_memory(
        8.0 * n * k, f"Gower's distances of {n} to {k} rows", "Take fewer rows."
    )
    out = np.empty((n, k))

    def fill(rows: slice) -> None:
        out[rows] = _block(A[rows], B, is_category)

    map_blocks(fill, n, 8.0 * 4 * k, n_jobs)
    return out


def _block(A: np.ndarray, B: np.ndarray, is_category: np.ndarray) -> np.ndarray:
    here, there = ~np.isnan(A), ~np.isnan(B)
    total = np.zeros((A.shape[0], B.shape[0]))
    for part, metric in ((~is_category, "cityblock"), (is_category, "hamming")):
        if not part.any():
            continue
        left, right = here[:, part], there[:, part]
        a, b = np.where(left, A[:, part], 0), np.where(right, B[:, part], 0)
        found = cdist(a, b, metric)
        if metric == "hamming":
            found *= part.sum()
            a, b = (a != 0).astype(np.float64), (b != 0).astype(np.float64)
        # What a gap, filled with 0, adds is taken off again.
        found -= a @ (~right).T.astype(np.float64)
        found -= (~left).astype(np.float64) @ b.T
        total += found
    shared = here.astype(np.float64) @ there.T.astype(np.float64)
    apart = np.divide(total, shared, out=np.ones_like(total), where=shared > 0)
    return np.clip(apart, 0.0, 1.0)
