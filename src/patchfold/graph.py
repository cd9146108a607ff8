"""Neighbours and lengths -> graphs: edges, weights, Laplacians, shortest paths.

Conventions, stated here only:

* The graph is the undirected union: {i, j} is an edge if either is among the other's
  neighbours. An absent entry is no edge: similarity 0, never exp(0) = 1.
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

VANISHING = 500.0
"""Beyond this d²/t for every edge, exp(-d²/t) is close to the smallest numbers."""


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


def edge_weights(edges: EdgeList, kernel_width: float) -> tuple[np.ndarray, float]:
    """Return exp(-d²/t) for every edge, and warn if the weights fall apart.

    Returns
    -------
    weights : array (E,)
        exp((z - d²)/t), never zero.
    zero : float
        The z: 0, unless every weight would vanish. Then it is the smallest d²: no
        embedding depends on a factor common to all weights.
    """
    squared = edges.length**2
    nearest = float(squared.min())
    with np.errstate(under="ignore"):
        weights = np.exp((nearest - squared) / kernel_width)
        strong = weights >= WEAK_WEIGHT
        zero = nearest if nearest / kernel_width > VANISHING else 0.0
        weights = np.exp((zero - squared) / kernel_width)
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
    return np.maximum(weights, np.finfo(float).tiny), zero


def median_square(lengths: np.ndarray) -> float:
    """Return the median of d², of those above 0 if it is 0, and 1 if all are."""
    squared = lengths**2
    median = float(np.median(squared))
    if median == 0 and squared.any():
        median = float(np.median(squared[squared > 0]))
    return median or 1.0


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
