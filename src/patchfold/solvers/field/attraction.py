"""Neighbours and their lengths -> weights of attraction between pairs of samples.

Near pairs: a sample weighs its neighbours partly alike, partly by their distance. A few
mid-near pairs, as in PaCMAP, hold the picture together at large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...backends.backend import on_any_device
from ...backends.native.field import calibrate
from ...backends.native.graph import add_mirrored
from ...backends.native.neighbors import squared_distances
from ...backends.native.pulls import Eights, in_eights
from ...backends.threads import map_blocks

EVEN, LESS_EVEN = 0.75, 0.25
"""Part of a sample's weight that its neighbours share alike, and how much less of it
at a separation of 1."""

PERPLEXITY = 8.0
"""Effective neighbours of the other part; at most .9 K."""

DRAWN, PER_SAMPLE = 6, 5
"""Samples that are drawn for a mid-near pair, and pairs of a sample."""

SEED = 42
"""Of the draws. They are of places in our order of the samples, not in the caller's."""

ROWS = 4096
"""Rows that are calibrated in one go."""


def calibrated(
    lengths: np.ndarray, perplexity: float, n_jobs: int | None = None
) -> np.ndarray:
    """Return rows of weights (n, K) of sum 1 with a perplexity, or .9 K if less.

    Parameters
    ----------
    lengths : array (n, K)
        Distances of neighbours; infinite at the end of a row that has fewer.
    perplexity : float
        exp of the entropy of a row.
    n_jobs : int or None
        Number of threads.
    """
    known = np.isfinite(lengths)
    counts = known.sum(axis=1)
    weights = np.zeros(lengths.shape)
    largest = np.max(lengths, axis=1, initial=0, where=known)
    unit = np.where(largest > 0, largest, 1)[:, None]  # squares may not overflow
    for count in np.unique(counts[counts > 0]):
        rows = np.flatnonzero(counts == count)
        entropy = np.log(max(1.0, min(perplexity, 0.9 * count)))

        def weigh(
            block: slice, some: Any = rows, k: int = count, h: Any = entropy
        ) -> None:
            scaled = lengths[some[block], :k] / unit[some[block]]
            weights[some[block], :k] = calibrate(scaled * scaled, h)

        map_blocks(weigh, rows.size, 0, n_jobs, step=ROWS)
    return weights


def near_pairs(
    indices: np.ndarray,
    lengths: np.ndarray,
    separation: float = 0.0,
    n_jobs: int | None = None,
) -> sp.csr_array:
    """Return P (n, n): symmetric weights of neighbours, of sum 1.

    Parameters
    ----------
    indices : int array (n, K)
        Neighbours of each sample.
    lengths : array (n, K)
        Dissimilarity along each; infinite where a row has fewer.
    separation : float
        s in [0, 1], as in `Recipe`.
    n_jobs : int or None
        Number of threads.
    """
    even = EVEN - LESS_EVEN * separation
    return weighted_pairs(indices, lengths, even, PERPLEXITY, n_jobs)


@on_any_device
def weighted_pairs(
    indices: np.ndarray,
    lengths: np.ndarray,
    even: float,
    perplexity: float,
    n_jobs: int | None,
) -> sp.csr_array:
    """Return symmetric weights, a part `even` of them shared alike by neighbours."""
    known = np.isfinite(lengths)
    counts = known.sum(axis=1)
    weights = calibrated(lengths, perplexity, n_jobs)
    weights *= 1 - even
    weights += even / np.maximum(counts, 1)[:, None]
    return symmetric_sum(rows_matrix(weights, indices, known))


class Draws:
    """Random samples, of which mid-near pairs are chosen; in our order of them.

    Parameters
    ----------
    n_samples : int
        Number of samples n.

    Attributes
    ----------
    per_sample : int
        Pairs of a sample.
    """

    def __init__(self, n_samples: int) -> None:
        self.per_sample = min(PER_SAMPLE, n_samples // 4)
        self._n, self._source = n_samples, np.random.RandomState(SEED)

    def take(self, n_rows: int) -> np.ndarray:
        """Draw for the next samples: (n_rows * per_sample, `DRAWN`) samples."""
        return self._source.randint(0, self._n, (n_rows * self.per_sample, DRAWN))


@on_any_device
def middle_of_samples(X: np.ndarray, draws: Draws, n_jobs: int | None) -> Any | None:
    """Return M (n, n) of samples (n, m), as `middle_pairs` does, or None."""

    def gaps(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        return squared_distances(X, X, row, column, n_jobs=n_jobs)

    return _choose_pairs(X.shape[0], draws, gaps)


def middle_pairs(
    n: int, squared_gaps: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> sp.csr_array | None:
    """Return M (n, n): symmetric weights of mid-near pairs, of sum 1.

    Each sample draws six others several times, and keeps the second nearest. None for
    fewer than four samples, or where samples drew only themselves.

    Parameters
    ----------
    n : int
        Number of samples.
    squared_gaps : callable
        From rows and columns (p,) to squared dissimilarities (p,).
    """
    return _choose_pairs(n, Draws(n), squared_gaps)


def _choose_pairs(
    n: int,
    draws: Draws,
    squared_gaps: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> sp.csr_array | None:
    """Keep, of every row of samples that were drawn, the second nearest."""
    per_sample = draws.per_sample
    if per_sample == 0:
        return None
    column = np.empty((n, per_sample), np.int32)
    for start in range(0, n, ROWS):
        rows = np.arange(start, min(start + ROWS, n))
        drawn = draws.take(rows.size)
        row = np.repeat(rows, per_sample * DRAWN)
        gaps = squared_gaps(row, drawn.ravel()).reshape(drawn.shape)
        second = np.argsort(gaps, axis=1, kind="stable")[:, 1:2]
        column[rows] = np.take_along_axis(drawn, second, axis=1).reshape(-1, per_sample)
    other = column != np.arange(n)[:, None]
    if not other.any():
        return None
    return symmetric_sum(rows_matrix(np.ones(column.shape), column, other))


def rows_matrix(
    values: np.ndarray, indices: np.ndarray, known: np.ndarray
) -> sp.csr_array:
    """Return a matrix (n, n) with the known values (n, K) of each row in columns."""
    n, is_full = indices.shape[0], bool(known.all())
    pointer = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    kind = np.int32 if pointer[-1] < 2**30 else np.int64  # twice as many when mirrored
    values, indices = (
        part.ravel() if is_full else part[known] for part in (values, indices)
    )
    parts = values, indices.astype(kind, copy=False), pointer.astype(kind)
    return sp.csr_array(parts, shape=(n, n))


def symmetric_sum(pairs: sp.csr_array) -> sp.csr_array:
    """Return (A + Aᵀ) / sum, in the single precision that steps have."""
    both = add_mirrored(pairs)
    both.data /= both.data.sum() or 1.0
    both.data = both.data.astype(np.float32)
    return both


@on_any_device
def unite(near: sp.csr_array, middle: sp.csr_array | None) -> Eights:
    """Put near and mid-near pairs together, as steps read them.

    Without mid-near pairs the near ones have their share too.
    """
    return in_eights(near, near if middle is None else middle)
