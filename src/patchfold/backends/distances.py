"""Euclidean distances, by matrix products or exactly, and the nearest by them.

A matrix product finds candidates fast; differences then give the distances of the few
that matter to the last digit, also among points that are close and far from the origin.
The K nearest of each row are chosen by squared distance; ties go by index.
"""

from __future__ import annotations

import numpy as np

from .arrays import Array, array_namespace
from .native.loops import is_compiled, pairs_at_once
from .native.neighbors import keys_of_rows, read_keys, squared_gaps
from .threads import map_blocks

TIE_BITS = 40
"""Squared distances that agree to this many binary digits are ties."""

_DROPPED = 53 - TIE_BITS  # of the 53 binary digits of a float


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


def first_of_each_row(
    column: np.ndarray, squared: np.ndarray, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Keep the first K candidates of each row by (distance, index).

    Parameters
    ----------
    column : int array (q, c)
        Candidates, ascending in each row.
    squared : array (q, c)
        Their squared distances; infinite for a place that holds no candidate.
    n_neighbors : int
        How many to keep, at most c.

    Returns
    -------
    column, squared : arrays (q, K)
        Nearest first.

    Examples
    --------
    >>> import numpy as np
    >>> column, squared = np.array([[3, 5, 8]]), np.array([[2.0, 1.0, 1.0 + 1e-15]])
    >>> first_of_each_row(column, squared, 2)[0].tolist()
    [[5, 8]]
    """
    order, squared = nearest_first(squared, n_neighbors)
    return np.take_along_axis(column, order, axis=1), squared


def nearest_first(
    squared: np.ndarray, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return places and values (q, K) of the K smallest of each row; ties by place.

    A key and its place fit into one integer, unless rows are long: to sort these is
    faster than to sort places, and leaves nothing to choose among equal keys.

    Examples
    --------
    >>> import numpy as np
    >>> places, squared = nearest_first(np.array([[2.0, 1.0, 2.0]]), 2)
    >>> places.tolist(), squared.tolist()
    ([[1, 0]], [[1.0, 2.0]])
    """
    n_places = squared.shape[1]
    bits = (n_places - 1).bit_length()
    if bits > _DROPPED + 1:  # a distance has no sign
        order = np.argsort(tie_keys(squared), axis=1, kind="stable")[:, :n_neighbors]
        return order, np.take_along_axis(squared, order, axis=1)
    keys = keys_of_rows(squared, _DROPPED, bits)
    if keys is None:
        keys = tie_keys(squared).view(np.uint64)
        keys <<= np.uint64(bits)
        keys |= np.arange(n_places, dtype=np.uint64)
    keys.sort(axis=1)
    return read_keys(keys, squared, n_neighbors, bits)


def tie_keys(squared: Array) -> Array:
    """Round to `TIE_BITS` digits, half to even, as integers in the order of the floats.

    The bits of a float >= 0, read as an integer, are in the order of the floats.
    """
    if isinstance(squared, np.ndarray):
        bits = np.ascontiguousarray(squared, dtype=np.float64).view(np.int64)
    else:  # a tensor
        bits = squared.view(array_namespace(squared).int64)
    keys = bits >> _DROPPED
    keys &= 1
    keys += bits
    keys += (1 << (_DROPPED - 1)) - 1
    keys >>= _DROPPED
    return keys


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
