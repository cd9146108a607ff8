"""The marginal score of sparse rows: what zeros say is summed once, for all rows.

With L_fbc the log share of bin b of column f in class c (see `marginal.py`), and z the
bin of 0, a row has Σ_f L_fzc, which is the same for all rows, and L_fbc - L_fzc for
each of its entries. A training row changes the counts of its own class: what zeros say
there is summed once for each class and weight of a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .marginal import N_BINS, SMOOTHING
from .sparse_views import count_values


class SparseMarginalScores:
    """The score of one set of columns, of sparse rows.

    Parameters
    ----------
    X : csr_array (n, m)
        Labelled rows, without stored zeros.
    codes : int array (n,)
        Their classes.
    scored : bool
        Whether the training rows have been scored before. `left_out` is then empty.
    row_weights : array (n,) or None
        What each row counts.
    """

    names: tuple[str, ...] = ("marginal",)

    def __init__(
        self,
        X: sp.csr_array,
        codes: np.ndarray,
        *,
        scored: bool = False,
        row_weights: np.ndarray | None = None,
    ) -> None:
        self._find_cuts(X)
        n_classes, m = int(codes.max()) + 1, X.shape[1]
        weights = np.ones(codes.size) if row_weights is None else row_weights
        row, column, bins = self._entries(X)
        cell = (column * N_BINS + bins) * n_classes + codes[row]
        counts = np.bincount(cell, weights[row], m * N_BINS * n_classes)
        counts = counts.astype(np.float64)  # without entries, they are integers
        self._counts = counts.reshape(m, N_BINS, n_classes)
        self._sizes = np.bincount(codes, weights, n_classes)
        there = np.arange(m), self._zeros
        self._counts[there] += self._sizes - self._counts.sum(axis=1)
        self._counts[there] = np.maximum(self._counts[there], 0)  # but for rounding
        rows = self._counts.sum(axis=2)
        self._shares = (rows + 0.5) / (self._sizes.sum() + 0.5 * N_BINS)
        self._strength = SMOOTHING / self._sizes
        self.left_out = np.empty((0, codes.size, n_classes))
        if not scored:
            self.left_out = self._leave_out(X, codes, weights)[None]

    def of(self, X: sp.csr_array) -> np.ndarray:
        """Return the scores of new rows, (1, q, C)."""
        row, column, bins = self._entries(X)
        pointer = np.searchsorted(row, np.arange(X.shape[0] + 1))
        shape = X.shape[0], self._counts.shape[0] * N_BINS
        ones = np.ones(row.size)
        cells = sp.csr_array((ones, column * N_BINS + bins, pointer), shape=shape)
        found = np.empty((X.shape[0], self._sizes.size))
        for c in range(self._sizes.size):
            logs = self._log_shares(slice(None), slice(None), c)
            gains = logs - logs[np.arange(len(logs)), self._zeros][:, None]
            found[:, c] = self._of_zeros(c).sum() + cells @ gains.ravel()
        return found[None]

    def _find_cuts(self, X: sp.csr_array) -> None:
        """Find where columns are cut, which of them vary, and the bin of 0."""
        turned, (n, m) = sp.csc_array(X), X.shape
        self._cuts: list[np.ndarray] = []
        self._varies, self._zeros = np.zeros(m, dtype=bool), np.zeros(m, dtype=np.intp)
        for f, stored in enumerate(np.split(turned.data, turned.indptr[1:-1])):
            values, counts = count_values(stored, n)
            self._varies[f] = values.size > 1
            self._cuts.append(_cuts(values, counts))
            self._zeros[f] = np.searchsorted(self._cuts[f], 0.0)

    def _entries(self, X: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return row, column and bin of entries in columns that vary, row by row."""
        turned = sp.csc_array(X)
        bins, ends = np.empty(turned.nnz, dtype=np.intp), turned.indptr
        for f in np.flatnonzero(np.diff(ends)):
            cells = slice(ends[f], ends[f + 1])
            bins[cells] = np.searchsorted(self._cuts[f], turned.data[cells])
        column = np.repeat(np.arange(X.shape[1]), np.diff(ends))
        order = np.argsort(turned.indices, kind="stable")
        order = order[self._varies[column[order]]]
        return turned.indices[order], column[order], bins[order]

    def _log_shares(self, column: Any, bins: Any, c: int, own: Any = 0.0) -> np.ndarray:
        """Return L of class c for columns and bins, rows of weight `own` left out."""
        left = np.maximum(self._sizes[c] - own, 1e-9)
        rate = np.maximum(self._counts[column, bins, c] - own, 0) / left
        strength = self._strength[c]
        share = self._shares[column, bins]
        return np.log((rate + strength * share) / (1 + strength))

    def _of_zeros(self, c: int, own: float = 0.0) -> np.ndarray:
        """Return what a 0 says for class c in each column that varies."""
        varying = np.flatnonzero(self._varies)
        return self._log_shares(varying, self._zeros[varying], c, own)

    def _leave_out(
        self, X: sp.csr_array, codes: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Score the training rows, each without itself: (n, C)."""
        found = self.of(X)[0]
        row, column, bins = self._entries(X)
        for c in range(self._sizes.size):
            ours, inside = codes[row] == c, np.flatnonzero(codes == c)
            place, own = column[ours], weights[row[ours]]
            gain = self._log_shares(place, bins[ours], c, own)
            gain -= self._log_shares(place, self._zeros[place], c, own)
            sums = np.bincount(row[ours], gain, codes.size)
            known, which = np.unique(weights[inside], return_inverse=True)
            zeros = [self._of_zeros(c, weight).sum() for weight in known]
            found[inside, c] = np.array(zeros)[which] + sums[inside]
        return found


def _cuts(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return where a column is cut: between its values, or at its quantiles.

    Examples
    --------
    >>> _cuts(np.array([0.0, 2.0]), np.array([5, 1])).tolist()
    [1.0]
    """
    if values.size <= N_BINS:
        return values[1:] / 2 + values[:-1] / 2
    ends = np.cumsum(counts)
    place = (ends[-1] - 1) * (np.arange(1, N_BINS) / N_BINS)
    low = np.floor(place)
    left = values[np.searchsorted(ends, low, side="right")]
    right = values[np.searchsorted(ends, np.minimum(low + 1, ends[-1] - 1), "right")]
    share, gap = place - low, right - left
    near = np.where(share < 0.5, left + gap * share, right - gap * (1 - share))
    return np.unique(near)
