"""Rows: which are training rows, and which can stand for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from ..neighbors.sparse_metric import row_keys
from ..patches.fitting import mean_variance
from ..solvers.spectral import fix_signs


def spread_rows(Z: np.ndarray, count: int) -> np.ndarray:
    """Return which rows lie evenly spread along the direction of largest spread.

    Chosen without labels, and whatever the order of the rows.

    Parameters
    ----------
    Z : array (n, m)
        Rows.
    count : int
        How many; all, if there are no more.

    Returns
    -------
    int array (at most count,)
        Positions, ascending.

    Examples
    --------
    >>> spread_rows(np.array([[3.0], [0.0], [2.0], [1.0]]), 2).tolist()
    [0, 1]
    """
    n, m = Z.shape
    if n <= count:
        return np.arange(n)
    centred = Z - Z.mean(axis=0)
    if m <= n:
        direction = eigh(centred.T @ centred, subset_by_index=[m - 1, m - 1])[1]
    else:
        above = eigh(centred @ centred.T, subset_by_index=[n - 1, n - 1])[1]
        direction = centred.T @ above
    along = (centred @ fix_signs(direction))[:, 0]
    order = np.argsort(along)
    if (np.diff(along[order]) == 0).any():
        order = np.lexsort((*Z.T, along))
    return np.sort(order[np.linspace(0, n - 1, count).round().astype(int)])


def variance_over(Z: np.ndarray, n_features: int | None) -> float:
    """Return the mean over `n_features` columns of the variance of rows.

    The rows may be given in other coordinates, at the same distances; None if not.

    Examples
    --------
    >>> variance_over(np.array([[1.0, 0.0], [3.0, 0.0]]), 8)
    0.125
    """
    variance = mean_variance(Z)
    if n_features is None or not np.ptp(Z, axis=0).any():
        return variance
    return variance * Z.shape[1] / n_features


class RowIndex:
    """Training rows, to be recognised: identical in every column, without distances.

    Parameters
    ----------
    X : float array (n, m)
        Training rows.

    Examples
    --------
    >>> index = RowIndex(np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0]]))
    >>> values = np.array([[1.0], [5.0], [3.0]])
    >>> group = index.find(np.array([[1.0, 2.0], [7.0, 7.0], [-0.0, 0.0]]))
    >>> (group >= 0).tolist(), index.mean(values)[group[group >= 0]].ravel().tolist()
    ([True, False, True], [2.0, 5.0])
    """

    def __init__(self, X: np.ndarray) -> None:
        self._unique, group = np.unique(_plain(X), axis=0, return_inverse=True)
        self._group = group.ravel()
        self._order = np.argsort(_as_bytes(self._unique))

    def find(self, X: np.ndarray) -> np.ndarray:
        """Return the group of identical training rows each row is in, or -1."""
        known = _as_bytes(self._unique)[self._order]
        wanted = _as_bytes(_plain(X))
        place = np.minimum(np.searchsorted(known, wanted), known.size - 1)
        return np.where(known[place] == wanted, self._order[place], -1)

    @property
    def values(self) -> np.ndarray:
        """All training rows, (n, m); -0.0 has become 0.0."""
        rows = self._unique[self._group]
        rows[np.isinf(rows)] = np.nan
        return rows

    def members(self, group: int) -> np.ndarray:
        """Return the training rows of one group."""
        return np.flatnonzero(self._group == group)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Average values of training rows within each group of identical rows."""
        count = np.bincount(self._group)
        sums = [np.bincount(self._group, column) for column in values.T]
        return np.column_stack(sums) / count[:, None]


class SparseRowIndex(RowIndex):
    """The same for sparse rows, without stored zeros.

    Parameters
    ----------
    X : csr_array (n, m)
        Training rows.

    Examples
    --------
    >>> index = SparseRowIndex(sp.csr_array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0]]))
    >>> index.find(sp.csr_array([[0.0, 0.0], [7.0, 7.0], [1.0, 2.0]])).tolist()
    [0, -1, 1]
    """

    def __init__(self, X: sp.csr_array) -> None:
        self._X = X
        self._keys, self._first, group = np.unique(
            row_keys(X), return_index=True, return_inverse=True
        )
        self._group = group.ravel()

    def find(self, X: sp.csr_array) -> np.ndarray:
        """Return the group of identical training rows each row is in, or -1."""
        wanted = row_keys(X)
        place = np.minimum(np.searchsorted(self._keys, wanted), self._keys.size - 1)
        group = np.where(self._keys[place] == wanted, place, -1)
        rows = np.flatnonzero(group >= 0)
        gaps = sp.csr_array(X[rows] - self._X[self._first[group[rows]]])
        gaps.eliminate_zeros()
        group[rows[np.diff(gaps.indptr) > 0]] = -1
        return group

    @property
    def values(self) -> sp.csr_array:
        """All training rows, (n, m)."""
        return self._X


def index_rows(X: Any) -> RowIndex:
    """Return an index that recognises training rows, sparse or not."""
    return SparseRowIndex(X) if sp.issparse(X) else RowIndex(X)


def _plain(X: np.ndarray) -> np.ndarray:
    """Return rows in which equal cells have equal bits: 0.0, and infinity in gaps."""
    return np.where(np.isnan(X), np.inf, X + 0.0)


def _as_bytes(X: np.ndarray) -> np.ndarray:
    """View rows as single items."""
    X = np.ascontiguousarray(X)
    return X.view(np.dtype((np.void, X.dtype.itemsize * X.shape[1]))).ravel()
