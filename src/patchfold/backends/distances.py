"""Tables of distances: by matrix products with a known error, or known already.

A matrix product finds candidates fast; differences then give the distances of the few
that matter to the last digit, also among points that are close and far from the origin.
"""

from __future__ import annotations

import numpy as np

from .native.neighbors import squared_distances


class Entries:
    """Dissimilarities that are known already, read as `Products` are."""

    def __init__(self, matrix: np.ndarray) -> None:
        self._matrix = matrix

    def squared(self, block: slice, since: int = 0) -> np.ndarray:
        """Return the dissimilarities of the rows in `block` to all from `since` on."""
        return self._matrix[block, since:]

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

    def squared(self, block: slice, since: int = 0) -> np.ndarray:
        """Return squared distances of the queries in `block` to X from `since` on."""
        squared = self._queries[block] @ self._X[since:].T
        squared *= -2.0
        squared += self._norms[since:]
        squared += self._query_norms[block, None]
        return squared

    def slack(self, block: slice) -> np.ndarray:
        """Bound, per query, how far two of the products may be from the truth."""
        return self._rounding * (self._query_norms[block] + self._norms.max())

    def exact(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Return squared distances of listed pairs, from differences."""
        return squared_distances(*self._exact, row, column)


def in_rows(
    row: np.ndarray, column: np.ndarray, squared: np.ndarray, n_rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Arrange a list of candidates, sorted by row, in rows of equal length.

    Places that stay empty are infinitely far away.
    """
    counts = np.bincount(row, minlength=n_rows)
    shape = (n_rows, int(counts.max()))
    if row.size == shape[0] * shape[1]:
        return column.reshape(shape), squared.reshape(shape)
    place = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts)
    columns, far = np.zeros(shape, dtype=column.dtype), np.full(shape, np.inf)
    columns[row, place], far[row, place] = column, squared
    return columns, far
