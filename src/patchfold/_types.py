"""The frozen records that travel down the pipeline, with their shapes.

n samples, m features, K neighbours, E edges, q queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ._arrays import Array


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

    indices: np.ndarray
    distances: np.ndarray


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
    source: np.ndarray
    target: np.ndarray
    row: np.ndarray
    column: np.ndarray

    @cached_property
    def edge(self) -> np.ndarray:
        """Position (R,) of each directed relation among the E edges."""
        n = np.int64(self.n_samples)
        low, high = np.minimum(self.row, self.column), np.maximum(self.row, self.column)
        return np.searchsorted(self.source * n + self.target, low * n + high)

    @property
    def upper(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices and row pointer of the edges as an upper triangle in CSR format."""
        counts = np.bincount(self.source, minlength=self.n_samples)
        pointer = np.concatenate([[0], np.cumsum(counts)])
        small = max(self.n_samples, self.target.size) < 2**31
        kind = np.int32 if small else np.int64
        return self.target.astype(kind), pointer.astype(kind)


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
    length: np.ndarray

    def to_csr(self, values: np.ndarray | None = None) -> sp.csr_array:
        """Return the symmetric matrix of lengths, or of `values` per edge.

        Zeros stay stored: an entry that is absent is not an edge.
        """
        data = self.length if values is None else values
        n = self.pairs.n_samples
        above = sp.csr_array((data, *self.pairs.upper), shape=(n, n))
        turned = above.tocsc()
        below = sp.csr_array((turned.data, turned.indices, turned.indptr), shape=(n, n))
        # Edges are sorted: a row is what is left of the diagonal, then what is right.
        both = sp.hstack([below, above], format="csr")
        column = both.indices
        np.subtract(column, n, out=column, where=column >= n)
        return sp.csr_array((both.data, column, both.indptr), shape=(n, n))


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

    indices: np.ndarray
    lengths: np.ndarray


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
