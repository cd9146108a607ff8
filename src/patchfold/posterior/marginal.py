"""Columns one by one -> scores: how common a row's values are in each class.

Every column is cut into bins of about equally many rows; a class speaks for a row by
Σ_f log((N_fbc / n_c + a_c s_fb) / (1 + a_c)): N_fbc of its n_c rows share the row's bin
b of column f, s_fb is the share of the bin among all rows, and a_c = α / n_c. This is
what patches cannot see: a class that a single column gives away, categories, skewed
columns.

A training row is taken out of the counts N and n; the cuts and the shares are made
without labels. a_c stays what it is with all rows: were it α / (n_c - 1), empty bins
would speak for the class that a row was taken out of, and in tiny classes give its
label away.

A gap is in no bin, and its column is left out of the sum of its row; n_c is counted for
each column, over the rows that have it.
"""

from __future__ import annotations

import numpy as np

from ..backends.threads import map_blocks

N_BINS = 10
"""A column of no more values than this has one bin for each."""

GAP = -1
"""The bin of a gap."""

SMOOTHING = 2.0
"""α: how many rows of no class in particular every class is given."""


class MarginalScores:
    """The score of one set of columns.

    Parameters
    ----------
    X : array (n, m)
        Labelled rows.
    codes : int array (n,)
        Their classes, 0, 1, ..., C - 1.
    n_jobs : int or None
        Number of threads.
    row_weights : array (n,) or None
        What each row counts.
    """

    names: tuple[str, ...] = ("marginal",)

    def __init__(
        self,
        X: np.ndarray,
        codes: np.ndarray,
        *,
        n_jobs: int | None = None,
        row_weights: np.ndarray | None = None,
    ) -> None:
        self._n_jobs = n_jobs
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        varies = np.flatnonzero(low < high)
        self._columns = varies
        self._cuts = [_cuts(X[~np.isnan(X[:, f]), f]) for f in varies]
        bins = self._bins(X)
        n_classes, m = int(codes.max()) + 1, varies.size
        cell = (np.arange(m) * N_BINS + bins) * n_classes + codes[:, None]
        weights = np.ones(codes.size) if row_weights is None else row_weights
        there = bins != GAP
        each = np.broadcast_to(weights[:, None], there.shape)[there]
        size = m * N_BINS * n_classes
        counts = np.bincount(cell[there], weights=each, minlength=size)
        self._counts = counts.reshape(m, N_BINS, n_classes).astype(float)
        self._sizes = self._counts.sum(axis=1)
        rows = self._counts.sum(axis=2)  # half a row for each bin: none is impossible
        self._shares = (rows + 0.5) / (self._sizes.sum(axis=1)[:, None] + 0.5 * N_BINS)
        own = np.eye(n_classes)[codes] * weights[:, None]
        self.left_out = self._score(bins, own)[None]

    def of(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of new rows, (1, q, C)."""
        no_own = np.zeros((X.shape[0], self._counts.shape[2]))
        return self._score(self._bins(X), no_own)[None]

    def _bins(self, X: np.ndarray) -> np.ndarray:
        bins = np.empty((X.shape[0], self._columns.size), dtype=np.intp)

        def cut(block: slice) -> None:
            ours = X[block, self._columns]
            for place, cuts in enumerate(self._cuts):
                bins[block, place] = np.searchsorted(cuts, ours[:, place])
            bins[block][np.isnan(ours)] = GAP

        map_blocks(cut, X.shape[0], 3 * 8 * self._columns.size, self._n_jobs)
        return bins

    def _score(self, bins: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Sum the log shares over columns; `own` is taken out of the counts."""
        column = np.arange(bins.shape[1])
        # A class that never has the column speaks as all rows do.
        strength = SMOOTHING / np.maximum(self._sizes, 1e-9)

        def score(block: slice) -> np.ndarray:
            out = own[block, None, :]
            found = self._counts[column, bins[block]] - out
            rate = np.maximum(found, 0) / np.maximum(self._sizes - out, 1e-9)
            share = self._shares[column, bins[block]][:, :, None]
            logs = np.log((rate + strength * share) / (1 + strength))
            return np.where(bins[block][:, :, None] == GAP, 0.0, logs).sum(axis=1)

        work = 3 * 8 * bins.shape[1] * self._counts.shape[2]
        return np.concatenate(map_blocks(score, bins.shape[0], work, self._n_jobs))


def _cuts(values: np.ndarray) -> np.ndarray:
    """Return where a column is cut: between its values, or at its quantiles."""
    distinct = np.unique(values)
    if distinct.size <= N_BINS:
        return distinct[1:] / 2 + distinct[:-1] / 2
    return np.unique(np.quantile(values, np.arange(1, N_BINS) / N_BINS))
