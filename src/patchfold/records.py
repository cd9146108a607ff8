"""The frozen records that travel down the pipeline, with their shapes.

n samples, m features, K neighbours, R neighbours of all samples together, E edges, q
queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from .backends.backend import (
    Array,
    add_to_diagonals,
    array_namespace,
    identity_like,
)
from .backends.native.graph import mirror_edges


@dataclass(frozen=True)
class Neighborhoods:
    """The neighbours of every sample, nearest first.

    Attributes
    ----------
    indices : int array (n, K) or (R,)
        A table with one row per sample where all have K neighbours; else the neighbours
        of sample 0, then of sample 1, ... A sample is never its own neighbour.
    distances : float array (n, K) or (R,), or None
        Distances to them, ascending; equal ones in order of index. None once they are
        forgotten.
    pointer : int array (n + 1,) or None
        Sample i has the neighbours from pointer[i] to pointer[i + 1]; None of a table.

    Examples
    --------
    >>> import numpy as np
    >>> near = Neighborhoods(np.array([[1, 2], [2, 0], [1, 0]]), np.ones((3, 2)))
    >>> some = near.keep(np.array([2, 1, 1]))
    >>> some.indices.tolist(), some.rows(np.array([2, 0])).indices.tolist()
    ([1, 2, 2, 1], [1, 1, 2])
    """

    indices: Array
    distances: Array
    pointer: np.ndarray | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples n."""
        if self.pointer is None:
            return int(self.indices.shape[0])
        return int(self.pointer.size - 1)

    @property
    def counts(self) -> Array:
        """Number of neighbours (n,)."""
        if self.pointer is None:
            return 0 * self.indices[:, 0] + self.indices.shape[1]
        return np.diff(self.pointer)

    @property
    def relation(self) -> tuple[Array, Array]:
        """Row and column (R,) of the relation "column is a neighbour of row"."""
        if self.pointer is not None:
            return np.repeat(np.arange(self.n_samples), self.counts), self.indices
        xp = array_namespace(self.indices)
        kind = {"dtype": self.indices.dtype, "device": self.indices.device}
        rows = xp.arange(self.indices.shape[0], **kind)
        return xp.repeat(rows, self.indices.shape[1]), xp.reshape(self.indices, (-1,))

    @property
    def nearest(self) -> tuple[Array, Array]:
        """Index and distance (n,) of the nearest neighbour; -1 and inf without one."""
        if self.pointer is None:
            return self.indices[:, 0], self.distances[:, 0]
        some = self.counts > 0
        start = self.pointer[:-1][some]
        index, distance = np.full(some.size, -1), np.full(some.size, np.inf)
        index[some], distance[some] = self.indices[start], self.distances[start]
        return index, distance

    def rows(self, chosen: Array) -> Neighborhoods:
        """Return the neighbourhoods of some samples: a mask (n,), or positions."""
        inside, pointer = chosen, None
        if self.pointer is not None:
            counts = self.counts[chosen]
            pointer = pointer_of(counts)
            start = self.pointer[:-1][chosen] - pointer[:-1]
            inside = np.repeat(start, counts) + np.arange(pointer[-1])
        distances = None if self.distances is None else self.distances[inside]
        return Neighborhoods(self.indices[inside], distances, pointer)

    def first(self, k: int) -> Neighborhoods:
        """Return the k nearest of each sample, or all where there are fewer."""
        if self.pointer is None:
            return Neighborhoods(self.indices[:, :k], self.distances[:, :k])
        return self.keep(np.full(self.n_samples, k))

    def keep(self, sizes: np.ndarray) -> Neighborhoods:
        """Return the nearest of each sample, at most as many as `sizes` (n,) says."""
        place, counts = self._place, self.counts
        kept = place < (sizes[:, None] if place.ndim == 2 else np.repeat(sizes, counts))
        pointer = pointer_of(np.minimum(sizes, counts))
        return Neighborhoods(self.indices[kept], self.distances[kept], pointer)

    def links(self, lengths: Array) -> Links:
        """Return the neighbours as links, with a length (R,) for each."""
        if self.pointer is None:
            return Links(self.indices, lengths.reshape(self.indices.shape))
        shape = (self.n_samples, int(self.counts.max(initial=1)))
        indices, padded = np.zeros(shape, dtype=np.intp), np.full(shape, np.inf)
        row, column = self.relation
        indices[row, self._place], padded[row, self._place] = column, lengths
        return Links(indices, padded)

    @cached_property
    def _place(self) -> np.ndarray:
        """Place of each neighbour in its row: (K,) as a row of a table, or (R,)."""
        if self.pointer is None:
            return np.arange(self.indices.shape[1])[None]
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
class Patches:
    """Local Gaussians, one per sample; what a dissimilarity compares.

    Exactly one of `dense`, `factor` and `diagonal` is present where there are Gaussians
    at all ("euclidean" needs only the centres).

    Attributes
    ----------
    center : array (n, m)
        The sample each patch belongs to.
    mean : array (n, m) or None
        Patch means.
    dense : array (n, m, m) or None
        Regularised covariances.
    factor : array (n, r, m) or None
        Centred and scaled points A, with covariance AᵀA + noise I.
    noise : array (n,) or None
        The isotropic part ε that regularisation added.
    diagonal : array (n, m) or None
        Regularised variances, where covariances are diagonal.
    n_directions : array (n,) or None
        Leading directions a patch keeps, where not all of them.
    points : array (n, p, m) or None
        The points of the patches, where the dissimilarity asks for them.
    n_features : array (n,) or None
        Number of features, where everything above is in fewer coordinates (`Span`);
        across those a covariance is its isotropic part.
    """

    center: Array
    mean: Array = None
    dense: Array = None
    factor: Array = None
    noise: Array = None
    diagonal: Array = None
    n_directions: Array = None
    points: Array = None
    n_features: Array = None

    @property
    def covariance(self) -> Array:
        """Regularised covariances (n, m, m), formed here if they are kept otherwise."""
        if self.dense is not None:
            return self.dense
        if self.diagonal is not None:
            return self.diagonal[:, :, None] * identity_like(self.diagonal)
        xp = array_namespace(self.factor)
        gram = xp.matmul(xp.matrix_transpose(self.factor), self.factor)
        return add_to_diagonals(gram, self.noise)

    @property
    def counts(self) -> Array:
        """Number of features (n,), of each patch the same."""
        if self.n_features is not None:
            return self.n_features
        return self.center.shape[1] + 0 * self.noise

    def __iter__(self) -> Iterator[Array]:
        """Yield the arrays that there are, the centres first."""
        every = (getattr(self, field.name) for field in fields(self))
        return (part for part in every if part is not None)

    def take(self, chosen: Any) -> Patches:
        """Return some patches: a slice of them, without a copy, or those at places."""
        xp = array_namespace(self.center)
        parts = {}
        for field in fields(self):
            part = getattr(self, field.name)
            if isinstance(chosen, slice) and part is not None:
                parts[field.name] = part[chosen, ...]
            elif part is not None:
                parts[field.name] = xp.take(part, chosen, axis=0)
        return Patches(**parts)


@dataclass(frozen=True)
class Pairs:
    """Which samples are compared: undirected edges, and the directed pairs behind them.

    An edge exists if either end is among the other's neighbours.

    Attributes
    ----------
    n_samples : int
        Number of samples n.
    source, target : int arrays (E,)
        Ends of the edges, source < target, sorted by (source, target).
    row, column : int arrays (R,) or None
        The directed relation "column is a neighbour of row", sorted by row. None once
        it is forgotten.
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

    @cached_property
    def graph(self) -> Any:
        """The symmetric sparse matrix (n, n) of lengths, zeros stored."""
        return self.to_csr(self.length)

    def as_graph(self) -> EdgeList:
        """Return the same edges as `graph` alone, without the list of them."""
        alone = EdgeList(Pairs(self.pairs.n_samples, None, None, None, None), None)
        vars(alone)["graph"] = self.graph
        return alone

    def to_csr(self, data: Array) -> Any:
        """Return the symmetric sparse matrix of some values (E,), one per edge.

        Zeros stay stored: an entry that is absent is not an edge.
        """
        n = self.pairs.n_samples
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

    def rows(self, chosen: Array) -> Links:
        """Return the links of some new samples only."""
        return Links(self.indices[chosen], self.lengths[chosen])


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
