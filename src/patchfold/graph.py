"""Neighborhoods and lengths -> graphs: edges, components, weights, shortest paths.

Conventions, stated here only:

* The graph is the undirected union: {i, j} is an edge if either is among the other's
  neighbours. An absent entry is no edge: similarity 0, never exp(0) = 1.
* Components are counted on the graph, never by an eigenvalue tolerance.
* The Laplacian is L = D - W, with D the row sums of W.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, dijkstra

from ._blocks import map_blocks
from ._types import EdgeList, Pairs
from .exceptions import VanishingWeightsWarning, warn

WEAK_WEIGHT = 1e-10
"""An edge weight below this part of the largest does not hold a graph together."""


def undirected_union(indices: np.ndarray) -> Pairs:
    """List the edges of the neighbour graph, each once; row i lists i's neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = undirected_union(np.array([[1], [2], [1]]))
    >>> list(zip(pairs.source.tolist(), pairs.target.tolist()))
    [(0, 1), (1, 2)]
    """
    n, k = indices.shape
    return pairs_from_directed(n, np.repeat(np.arange(n), k), indices.ravel())


def pairs_from_directed(n: int, row: np.ndarray, column: np.ndarray) -> Pairs:
    """List the edges of a directed relation "column is a neighbour of row"."""
    order = np.argsort(row, kind="stable")
    row, column = row[order].astype(np.int64), column[order].astype(np.int64)
    key = np.minimum(row, column) * n + np.maximum(row, column)
    unique, edge = np.unique(key, return_inverse=True)
    source, target = np.divmod(unique, n)
    return Pairs(n, source, target, row, column, edge)


def complete_graph(n: int) -> Pairs:
    """List all pairs of n samples, each sample a neighbour of every other."""
    source, target = np.triu_indices(n, k=1)
    every = np.arange(source.size)
    row, column = np.concatenate([source, target]), np.concatenate([target, source])
    edge = np.concatenate([every, every])
    order = np.lexsort((column, row))
    return Pairs(n, source, target, row[order], column[order], edge[order])


def weak_components(pairs: Pairs) -> tuple[int, np.ndarray]:
    """Count the connected components; return the component of every sample."""
    return connected_components(_relation(pairs), directed=True, connection="weak")


def closed_components(pairs: Pairs) -> tuple[int, np.ndarray]:
    """Count the groups of samples that no neighbour relation leaves.

    Reconstruction weights are directed: where a group's neighbours are all its own,
    any constant on it is a solution, however many other samples point into it. So
    for LLE these groups, not the connected components, have to be one.

    Returns
    -------
    count : int
        Number of closed groups.
    labels : int array (n,)
        Group of each sample; -1 for samples whose neighbours lead elsewhere.
    """
    relation = _relation(pairs)
    n_strong, strong = connected_components(relation, connection="strong")
    leaves = strong[pairs.row] != strong[pairs.column]
    closed = np.ones(n_strong, dtype=bool)
    closed[strong[pairs.row[leaves]]] = False
    names = np.full(n_strong, -1)
    names[closed] = np.arange(closed.sum())
    return int(closed.sum()), names[strong]


def _relation(pairs: Pairs) -> sp.csr_array:
    ones = np.ones(pairs.row.size)
    n = pairs.n_samples
    return sp.coo_array((ones, (pairs.row, pairs.column)), shape=(n, n)).tocsr()


def edge_weights(edges: EdgeList, kernel_width: float) -> np.ndarray:
    """Return exp(-d²/t) for every edge, and warn if the weights fall apart."""
    squared = edges.length**2
    with np.errstate(under="ignore"):
        weights = np.exp(-squared / kernel_width)
    strong = weights >= WEAK_WEIGHT * weights.max(initial=0)
    ends = edges.pairs.source[strong], edges.pairs.target[strong]
    n = edges.pairs.n_samples
    held = sp.coo_array((np.ones(strong.sum()), ends), shape=(n, n))
    pieces = connected_components(held, directed=False)[0]
    if pieces > 1:
        median = float(np.median(squared))
        remedy = (
            f"Set kernel_width='auto', the median squared dissimilarity, {median:.3g}."
            if kernel_width < median
            else "Raise n_neighbors or kernel_width."
        )
        lost = 100 * (1 - strong.mean())
        warn(
            f"kernel_width={kernel_width:.3g} lets {lost:.0f} % of "
            f"the edge weights vanish, and what is left holds the samples in {pieces} "
            f"separate pieces: the embedding mostly tells these apart. {remedy}",
            VanishingWeightsWarning,
        )
    return np.maximum(weights, np.finfo(float).tiny)


def laplacian(weights: sp.csr_array) -> tuple[sp.csr_array, np.ndarray]:
    """Return L = D - W and the degrees."""
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    return (sp.diags_array(degrees) - weights).tocsr(), degrees


def geodesics(
    graph: sp.csr_array,
    sources: np.ndarray | None = None,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return shortest-path lengths from the sources (default: all) to every sample.

    Stored zeros are edges of length zero.
    """
    starts = np.arange(graph.shape[0]) if sources is None else sources

    def run(block: slice) -> np.ndarray:
        return dijkstra(graph, directed=True, indices=starts[block])

    return np.concatenate(map_blocks(run, starts.size, 8 * graph.shape[0], n_jobs))
