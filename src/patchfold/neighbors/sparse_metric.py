"""Distances of sparse samples: by products of sparse matrices, never made dense."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import manhattan_distances

SPARSE_METRICS = ("euclidean", "sqeuclidean", "cosine", "manhattan")
"""Metrics that sparse samples can be compared by."""

PAIRS = 8192
"""Listed pairs that are compared at a time."""

CROWDED = 4
"""A table is made where more than one in so many of its pairs are listed ..."""

TABLE_BYTES = 2**25
"""... as many rows at a time as this holds."""

NEAR = 0.1
"""Products round off what is less than this part of two squared lengths."""


_MIX = np.uint64(0x9E3779B97F4A7C15)


def row_keys(X: sp.csr_array) -> np.ndarray:
    """Return a 64-bit key of each sparse row that depends on its values only.

    Entries are stored once, and none is 0.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> keys = row_keys(sp.csr_array([[0, 1.0, 2.0], [0, 1.0, 2.0], [1.0, 0, 2.0]]))
    >>> bool(keys[0] == keys[1]), bool(keys[0] == keys[2])
    (True, False)
    """
    values = np.ascontiguousarray(X.data + 0.0).view(np.uint64)
    mixed = (values ^ (X.indices.astype(np.uint64) + np.uint64(1)) * _MIX) * _MIX
    mixed ^= mixed >> np.uint64(32)
    mixed *= _MIX
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]


@dataclass(frozen=True)
class SparseRows:
    """Sparse samples, with what their products need.

    Attributes
    ----------
    matrix : csr_array (n, m)
        Samples, without entries that are stored twice.
    """

    matrix: sp.csr_array

    @cached_property
    def turned(self) -> sp.csr_array:
        """The same by features, (m, n)."""
        return sp.csr_array(self.matrix.T)

    @cached_property
    def norms(self) -> np.ndarray:
        """Squared lengths (n,) of the samples."""
        return np.asarray(self.matrix.multiply(self.matrix).sum(axis=1)).ravel()

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples and of features."""
        return self.matrix.shape

    def __getitem__(self, rows: Any) -> SparseRows:
        return SparseRows(self.matrix[rows])


@dataclass(frozen=True)
class SparseMetric:
    """A distance of sparse samples.

    Attributes
    ----------
    name : str
        One of `SPARSE_METRICS`.
    """

    name: str

    def prepare(self, X: sp.csr_array) -> SparseRows:
        """Return the samples; for angles, at length 1."""
        matrix = sp.csr_array(X, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max:
            # scikit-learn's Manhattan distance has no other indices.
            places = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
            matrix = sp.csr_array((matrix.data, *places), shape=matrix.shape)
        rows = SparseRows(matrix)
        if self.name == "cosine":
            lengths = np.sqrt(rows.norms)
            each = np.repeat(np.where(lengths > 0, lengths, 1), np.diff(matrix.indptr))
            parts = matrix.data / each, matrix.indices, matrix.indptr
            rows = SparseRows(sp.csr_array(parts, shape=matrix.shape))
        return rows

    def table(self, queries: SparseRows, samples: SparseRows) -> SparseTable:
        """Return squared distances, or those of "manhattan", of what was prepared."""
        return SparseTable(self.name, queries, samples)

    def length(self, keys: np.ndarray) -> np.ndarray:
        """Return the distances that entries of a table stand for."""
        if self.name == "euclidean":
            return np.sqrt(keys)
        return keys / 2 if self.name == "cosine" else keys

    def key(self, distance: float) -> float:
        """Return the entry of a table that stands for a distance."""
        if self.name == "euclidean":
            return float(distance) ** 2
        return float(distance) * (2 if self.name == "cosine" else 1)


@dataclass(frozen=True)
class SparseTable:
    """Squared distances of sparse samples, read as `Products` are.

    An angle needs a direction, and a sample of zeros has none: it is at a right angle
    to all others.

    Attributes
    ----------
    name : str
        The metric.
    queries, samples : SparseRows (q, m), (n, m)
        What it prepared.
    """

    name: str
    queries: SparseRows
    samples: SparseRows

    def squared(self, block: slice, since: int = 0) -> np.ndarray:
        """Return the entries of the queries in `block` and samples from `since` on."""
        rows = self.queries.matrix[block]
        if self.name == "manhattan":
            return manhattan_distances(rows, self.samples.matrix)[:, since:]
        squared = (rows @ self.samples.turned).toarray()
        squared *= -2.0
        squared += self.samples.norms
        squared += self.queries.norms[block, None]
        squared += self._right_angles(
            self.queries.norms[block, None], self.samples.norms
        )
        return squared[:, since:]

    def slack(self, block: slice) -> np.ndarray:
        """Bound, per query, how far entries may be from the truth."""
        rounding = 8 * np.finfo(float).eps
        rounding *= int(np.diff(self.samples.matrix.indptr).max(initial=0)) + 8
        if self.name == "manhattan":
            return np.full(block.stop - block.start, 0.0)
        return rounding * (self.queries.norms[block] + self.samples.norms.max())

    def exact(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Return the entries of listed pairs, from differences where they are near."""
        rows, place = np.unique(row, return_inverse=True)
        n = self.samples.shape[0]
        if row.size * CROWDED <= rows.size * n:
            return self._by_gaps(row, column)
        found = np.empty(row.size)
        order, step = np.argsort(place, kind="stable"), max(1, TABLE_BYTES // (8 * n))
        ends = np.searchsorted(place[order], np.arange(0, rows.size + step, step))
        for start, (first, stop) in zip(
            range(0, rows.size, step), pairwise(ends), strict=True
        ):
            asked = SparseTable(
                self.name, self.queries[rows[start:][:step]], self.samples
            )
            part = order[first:stop]
            table = asked.squared(slice(0, asked.queries.shape[0]))
            found[part] = table[place[part] - start, column[part]]
        if self.name == "manhattan":
            return found
        sizes = self.queries.norms[row] + self.samples.norms[column]
        near = np.flatnonzero(found < NEAR * sizes)
        found[near] = self._by_gaps(row[near], column[near])
        return found

    def _by_gaps(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Return the entries of listed pairs, from differences."""
        found = np.empty(row.size)
        for start in range(0, row.size, PAIRS):
            part = slice(start, start + PAIRS)
            i, j = row[part], column[part]
            gaps = self.queries.matrix[i] - self.samples.matrix[j]
            sizes = abs(gaps) if self.name == "manhattan" else gaps.multiply(gaps)
            found[part] = np.asarray(sizes.sum(axis=1)).ravel()
            found[part] += self._right_angles(
                self.queries.norms[i], self.samples.norms[j]
            )
        return found

    def _right_angles(self, left: np.ndarray, right: np.ndarray) -> Any:
        """Return what squared distances of unit rows lack where one row is 0."""
        if self.name != "cosine":
            return 0.0
        return ((left == 0) != (right == 0)).astype(float)
