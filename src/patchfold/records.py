"""The frozen records that travel down the pipeline, with their shapes.

n samples, m features, K neighbours, E edges, q queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .backends.arrays import Array, array_namespace
from .backends.homes import is_tensor
from .backends.native.edges import mirror_edges
from .backends.tensors.graph import symmetric_csr


@dataclass(frozen=True)
class Neighborhoods:
    """Who is near whom: row i lists the neighbours of sample i, nearest first.

    Attributes
    ----------
    indices : int array (n, K)
        Neighbours; a sample is never its own neighbour.
    distances : float array (n, K)
        Euclidean distances to them, ascending; equal ones in order of index.
    """

    indices: Array
    distances: Array

    @property
    def counts(self) -> Array:
        """Number of neighbours (n,)."""
        return 0 * self.indices[:, 0] + self.indices.shape[1]

    @property
    def relation(self) -> tuple[Array, Array]:
        """Row and column (R,) of the relation "column is a neighbour of row"."""
        xp = array_namespace(self.indices)
        n, k = self.indices.shape
        rows = xp.arange(n, device=self.indices.device)
        return xp.repeat(rows, k), xp.reshape(self.indices, (-1,))

    @property
    def nearest(self) -> tuple[Array, Array]:
        """Index and distance (n,) of the nearest neighbour."""
        return self.indices[:, 0], self.distances[:, 0]

    def rows(self, chosen: Array) -> Neighborhoods:
        """Return the neighbourhoods of some samples only."""
        return Neighborhoods(self.indices[chosen], self.distances[chosen])

    def first(self, k: int) -> Neighborhoods:
        """Return the k nearest of each row."""
        return Neighborhoods(self.indices[:, :k], self.distances[:, :k])

    def keep(self, sizes: np.ndarray) -> RaggedNeighborhoods:
        """Return the nearest of each row, as many as `sizes` (n,) says."""
        kept = np.arange(self.indices.shape[1]) < sizes[:, None]
        return RaggedNeighborhoods(
            self.indices[kept], self.distances[kept], pointer_of(kept.sum(axis=1))
        )

    def links(self, lengths: Array) -> Links:
        """Return the neighbours as links, with a length (R,) for each."""
        return Links(self.indices, lengths.reshape(self.indices.shape))


@dataclass(frozen=True)
class RaggedNeighborhoods:
    """Who is near whom, where not all have equally many neighbours.

    Attributes
    ----------
    indices : int array (R,)
        Neighbours of sample 0, then of sample 1, ...; nearest first in each row.
    distances : float array (R,)
        Euclidean distances to them.
    pointer : int array (n + 1,)
        Row i is the slice from pointer[i] to pointer[i + 1].
    """

    indices: np.ndarray
    distances: np.ndarray
    pointer: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """Number of neighbours (n,)."""
        return np.diff(self.pointer)

    @property
    def relation(self) -> tuple[np.ndarray, np.ndarray]:
        """Row and column (R,) of the relation "column is a neighbour of row"."""
        counts = self.counts
        return np.repeat(np.arange(counts.size), counts), self.indices

    @property
    def nearest(self) -> tuple[np.ndarray, np.ndarray]:
        """Index and distance (n,) of the nearest neighbour; -1 and inf without one."""
        some = self.counts > 0
        start = self.pointer[:-1][some]
        index, distance = np.full(some.size, -1), np.full(some.size, np.inf)
        index[some], distance[some] = self.indices[start], self.distances[start]
        return index, distance

    def rows(self, chosen: np.ndarray) -> RaggedNeighborhoods:
        """Return the neighbourhoods of some samples only; `chosen` (n,) is a mask."""
        counts = self.counts
        inside = np.repeat(chosen, counts)
        return RaggedNeighborhoods(
            self.indices[inside], self.distances[inside], pointer_of(counts[chosen])
        )

    def first(self, k: int) -> RaggedNeighborhoods:
        """Return the k nearest of each row, or all where there are fewer."""
        return self.keep(np.full(self.pointer.size - 1, k))

    def keep(self, sizes: np.ndarray) -> RaggedNeighborhoods:
        """Return the nearest of each row, at most as many as `sizes` (n,) says."""
        counts = self.counts
        kept = self._place < np.repeat(sizes, counts)
        return RaggedNeighborhoods(
            self.indices[kept],
            self.distances[kept],
            pointer_of(np.minimum(sizes, counts)),
        )

    def links(self, lengths: np.ndarray) -> Links:
        """Return the neighbours as links, with a length (R,) for each."""
        shape = (self.pointer.size - 1, int(self.counts.max(initial=1)))
        indices, padded = np.zeros(shape, dtype=np.intp), np.full(shape, np.inf)
        row, column = self.relation
        indices[row, self._place], padded[row, self._place] = column, lengths
        return Links(indices, padded)

    @cached_property
    def _place(self) -> np.ndarray:
        """Place (R,) of each neighbour in its row."""
        return np.arange(self.indices.size) - np.repeat(self.pointer[:-1], self.counts)


def pointer_of(counts: np.ndarray) -> np.ndarray:
    """Return where rows of these lengths begin and end in a flat array.

    Examples
    --------
    >>> import numpy as np
    >>> pointer_of(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate([[0], np.cumsum(counts)])


@dataclass(frozen=True)
class Pairs:
    """Which samples are compared: undirected edges, and who asked for them.

    An edge exists if either end is among the other's neighbours.

    Attributes
    ----------
    n_samples : int
        Number of samples n.
    source, target : int arrays (E,)
        Ends of the edges, source < target, sorted by (source, target).
    row, column : int arrays (R,)
        The directed relation "column is a neighbour of row", sorted by row.
    """

    n_samples: int
    source: Array
    target: Array
    row: Array
    column: Array

    @cached_property
    def edge(self) -> Array:
        """Position (R,) of each directed relation among the E edges."""
        xp, n = array_namespace(self.row), self.n_samples
        low, high = xp.minimum(self.row, self.column), xp.maximum(self.row, self.column)
        keys = xp.astype(self.source, xp.int64) * n + self.target
        return xp.searchsorted(keys, xp.astype(low, xp.int64) * n + high)


@dataclass(frozen=True)
class EdgeList:
    """Edges with their dissimilarity. A length of zero is a length, not an absence.

    Attributes
    ----------
    pairs : Pairs
        The E edges.
    length : float array (E,)
        Dissimilarity of the two ends, at least 0.
    """

    pairs: Pairs
    length: Array

    def to_csr(self, values: Array | None = None) -> Any:
        """Return the symmetric sparse matrix of lengths, or of `values` per edge.

        Zeros stay stored: an entry that is absent is not an edge.
        """
        data = self.length if values is None else values
        n = self.pairs.n_samples
        if is_tensor(data):
            return symmetric_csr(n, self.pairs.source, self.pairs.target, data)
        return mirror_edges(n, self.pairs.source, self.pairs.target, data)


@dataclass(frozen=True)
class Links:
    """Edges from new samples to training samples.

    Attributes
    ----------
    indices : int array (q, k)
        Training samples each query is linked to.
    lengths : float array (q, k)
        Dissimilarity along each link; infinite where a row has fewer than k links.
    """

    indices: Array
    lengths: Array


@dataclass(frozen=True)
class EdgeValues:
    """What a dissimilarity says of a batch of pairs, before labels are considered.

    Attributes
    ----------
    label_free : array (E,)
        The dissimilarity itself.
    within, between : array (E,) or None
        What a label rule uses for two samples of one class, and of two classes;
        None where the dissimilarity offers no such choice.
    euclidean : array (E,) or None
        Distance of the two samples; only where a label rule asks for it.
    """

    label_free: Array
    within: Array | None = None
    between: Array | None = None
    euclidean: Array | None = None
