"""Euclidean distances: by matrix products with a known error, or exactly.

A matrix product finds candidates fast; differences then give the distances of the few
that matter to the last digit, also among points that are close and far from the origin.
"""

from __future__ import annotations

import numpy as np

from .native.loops import is_compiled, pairs_at_once
from .native.neighbors import squared_gaps
from .threads import map_blocks


def squared_distances(
    queries: np.ndarray,
    X: np.ndarray,
    row: np.ndarray,
    column: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Squared distances of listed pairs, from differences: exact for near points."""

    def measure(block: slice) -> np.ndarray:
        return squared_gaps(queries, X, row[block], column[block])

    if is_compiled():  # loops copy nothing, if rows are rows in memory
        queries, X = np.ascontiguousarray(queries), np.ascontiguousarray(X)
        found = map_blocks(measure, row.size, 0, n_jobs, step=pairs_at_once(X.shape[1]))
    else:  # small blocks: differences are read again from the nearest cache
        found = map_blocks(measure, row.size, 200 * X.shape[1], n_jobs)
    return np.concatenate([np.empty(0), *found])


def squared_distances_to(
    queries: np.ndarray,
    X: np.ndarray,
    columns: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Squared distances (q, c) of each query to its own row of candidates.

    A candidate below 0 is nobody, infinitely far.
    """
    q, c = columns.shape
    row, column = np.repeat(np.arange(q), c), np.maximum(columns, 0).ravel()
    squared = squared_distances(queries, X, row, column, n_jobs=n_jobs).reshape(q, c)
    squared[columns < 0] = np.inf
    return squared


class Entries:
    """Dissimilarities that are known already, read as `Products` are."""

    def __init__(self, matrix: np.ndarray) -> None:
        self._matrix = matrix

    def squared(self, block: slice) -> np.ndarray:
        """Return the dissimilarities of the rows in `block` to all."""
        return self._matrix[block]

    def slack(self, block: slice) -> np.ndarray:
        """Return zeros: nothing was rounded."""
        return np.zeros(block.stop - block.start)

    def exact(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Return the dissimilarities of listed pairs."""
        return self._matrix[row, column]


class Products:
    """Squared distances of blocks of rows by one matrix product, and their error."""

    def __init__(self, queries: np.ndarray, X: np.ndarray) -> None:
        self._exact = queries, X
        center = X.mean(axis=0)
        self._X = X - center
        self._norms = np.einsum("ij,ij->i", self._X, self._X)
        self._queries, self._query_norms = self._X, self._norms
        if queries is not X:
            self._queries = queries - center
            self._query_norms = np.einsum("ij,ij->i", self._queries, self._queries)
        self._rounding = 8 * (X.shape[1] + 8) * np.finfo(float).eps

    def squared(self, block: slice) -> np.ndarray:
        """Return squared distances of the queries in `block` to all of X."""
        squared = self._queries[block] @ self._X.T
        squared *= -2.0
        squared += self._norms
        squared += self._query_norms[block, None]
        return squared

    def slack(self, block: slice) -> np.ndarray:
        """Bound, per query, how far two of the products may be from the truth."""
        return self._rounding * (self._query_norms[block] + self._norms.max())

    def exact(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Return squared distances of listed pairs, from differences."""
        return squared_distances(*self._exact, row, column)
