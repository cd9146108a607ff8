"""Rows with gaps: distances and variances over the columns that are there.

A gap is NaN. It is left out of every sum; nothing is put in its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..patches.fitting import mean_variance

CANNOT = {
    "views": {
        "whitened": "mixes columns",
        "relevance": "weighs columns by differences of whole rows",
    },
    "scores": {"class": "has a covariance of its own for each class"},
}
"""Views and scores that cannot leave out a column of a row, and why."""


def has_gaps(X: Any) -> bool:
    """Say whether a cell is missing.

    Examples
    --------
    >>> has_gaps(np.array([[1.0, np.nan]])), has_gaps(np.array([[1.0, 2.0]]))
    (True, False)
    """
    return bool(np.isnan(X.data if sp.issparse(X) else X).any())


def refuse_gaps(settings: Any) -> None:
    """Raise ValueError if a view or a score cannot leave a column out."""
    for parameter, words in CANNOT.items():
        for name in getattr(settings, parameter):
            if name in words:
                raise ValueError(
                    f"X has gaps (NaN), and {name!r} of {parameter} {words[name]}, so "
                    "it cannot leave a column out of a row: take it out of "
                    f"{parameter}, or fill the gaps."
                )


def variance_of_rows(Z: np.ndarray) -> float:
    """Return the mean over columns of the variance of their present cells.

    Examples
    --------
    >>> variance_of_rows(np.array([[1.0, 0.0], [3.0, np.nan], [np.nan, 2.0]]))
    1.0
    """
    if not has_gaps(Z):
        return mean_variance(Z)
    present = ~np.isnan(Z)
    counts = present.sum(axis=0)
    filled = np.where(present, Z, 0.0)
    means = filled.sum(axis=0) / np.maximum(counts, 1)
    squared = (np.where(present, Z - means, 0.0) ** 2).sum(axis=0)
    variance = float(
        (squared / np.maximum(counts, 1)).sum() / max(1, (counts > 0).sum())
    )
    return variance if variance > 0 else 1.0


def squared_gap_distances(A: np.ndarray, B: np.ndarray, unit: float) -> np.ndarray:
    """Return squared distances over the columns that both rows have, (a, b).

    They are multiplied with m over the number of these columns, so that a distance over
    fewer columns is as large as one over all. `unit` is that of rows that share none.

    Examples
    --------
    >>> rows = np.array([[0.0, 0.0], [3.0, np.nan], [np.nan, 1.0]])
    >>> squared_gap_distances(rows, rows, unit=5.0).tolist()
    [[0.0, 18.0, 2.0], [18.0, 0.0, 5.0], [2.0, 5.0, 0.0]]
    """
    here, there = ~np.isnan(A), ~np.isnan(B)
    a, b = np.where(here, A, 0.0), np.where(there, B, 0.0)
    left, right = here.astype(np.float64), there.astype(np.float64)
    squared = (a * a) @ right.T + left @ (b * b).T - 2 * (a @ b.T)
    np.maximum(squared, 0, out=squared)
    shared = left @ right.T
    found = np.full_like(squared, unit)
    return np.divide(squared * A.shape[1], shared, out=found, where=shared > 0)


def marginal_distances(
    covariances: np.ndarray, present: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return dᵀΣ⁻¹d and log|Σ| over the columns that each row has.

    Parameters
    ----------
    covariances : array (q, m, m)
        Σ of every row; overwritten.
    present : bool array (q, m)
        The columns that it has.
    offsets : array (q, m, r)
        r vectors d for each row.

    Returns
    -------
    distances : array (q, r)
        The Gaussian over these columns alone is Σ without the other rows and columns.
    log_det : array (q,)
    """
    m = present.shape[1]
    both = present[:, :, None] & present[:, None, :]
    covariances[~both] = 0.0
    covariances[:, np.arange(m), np.arange(m)] += ~present
    lower = np.linalg.cholesky(covariances)
    along = np.linalg.solve(lower, np.where(present[:, :, None], offsets, 0.0))
    diagonal = lower[:, np.arange(m), np.arange(m)]
    return (along**2).sum(axis=1), 2 * np.log(diagonal).sum(axis=1)
