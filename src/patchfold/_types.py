"""The frozen records that travel down the pipeline, with their shapes.

n samples, m features, K neighbours, E edges, q queries.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    row, column, edge : int arrays (R,)
        The directed relation "column is a neighbour of row", sorted by row; `edge`
        is its position among the E edges.
    """

    n_samples: int
    source: np.ndarray
    target: np.ndarray
    row: np.ndarray
    column: np.ndarray
    edge: np.ndarray


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
        i, j = self.pairs.source, self.pairs.target
        n = self.pairs.n_samples
        both = (np.concatenate([i, j]), np.concatenate([j, i]))
        matrix = sp.coo_array((np.concatenate([data, data]), both), shape=(n, n))
        return matrix.tocsr()


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
    """

    label_free: Array
    within: Array | None = None
    between: Array | None = None
