"""Neighbours and lengths -> graphs: edges, weights, Laplacians.

Conventions, stated here only:

* The graph is the undirected union: {i, j} is an edge if either is among the other's
  neighbours. An absent entry is no edge: similarity 0, never exp(0) = 1.
* The Laplacian is L = D - W, with D the row sums of W.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..backends.backend import NUMPY, Array, array_namespace, on_any_device
from ..backends.native.graph import unite_relations
from ..exceptions import VanishingWeightsWarning, warn
from ..neighbors.radius import name_rows
from ..records import EdgeList, Pairs

WEAK_WEIGHT = 1e-10
"""An edge weight below this part of the largest does not hold a graph together."""

VANISHING = 500.0
"""Beyond this d²/t for every edge, exp(-d²/t) is close to the smallest numbers."""


def pairs_from_directed(n: int, row: Array, column: Array) -> Pairs:
    """List the edges of a directed relation "column is a neighbour of row"."""
    if (row[1:] < row[:-1]).any():
        order = array_namespace(row).argsort(row, stable=True)
        row, column = row[order], column[order]
    return Pairs(n, *unite_relations(n, row, column), row, column)


def edges_of(graph: sp.csr_array) -> EdgeList:
    """Return the edges of a symmetric sparse matrix of lengths.

    The relation that they came from is not in it: `row` and `column` are empty.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> edges_of(sp.csr_array([[0.0, 2.0], [2.0, 0.0]])).length.tolist()
    [2.0]
    """
    n = graph.shape[0]
    row = np.repeat(np.arange(n), np.diff(graph.indptr))
    right = graph.indices > row
    nothing = np.empty(0, dtype=np.int64)
    pairs = Pairs(n, row[right], graph.indices[right], nothing, nothing)
    return EdgeList(pairs, graph.data[right])


def complete_graph(n: int) -> Pairs:
    """List all pairs of n samples, each sample a neighbour of every other."""
    row, column = np.nonzero(~np.eye(n, dtype=bool))
    above = row < column
    return Pairs(n, row[above], column[above], row, column)


@on_any_device
def find_pieces(n: int, source: Array, target: Array) -> tuple[int, Array]:
    """Count and label the connected components of n samples and these edges.

    Examples
    --------
    >>> import numpy as np
    >>> count, labels = find_pieces(4, np.array([0, 1]), np.array([1, 2]))
    >>> count, labels.tolist()
    (2, [0, 0, 0, 1])
    """
    degree = np.bincount(source, minlength=n) + np.bincount(target, minlength=n)
    if n and 2 * degree.min() >= n - 1:  # a piece of n/2 samples has no such degree
        return 1, np.zeros(n, dtype=np.int32)
    graph = sp.coo_array((np.ones(source.size), (source, target)), shape=(n, n))
    return connected_components(graph, directed=False)


@dataclass(frozen=True)
class Components:
    """Pieces of a graph: how many, which sample is in which, and what to call them."""

    count: int
    labels: Array
    name: str = "connected components"

    @property
    def shown(self) -> str:
        """How many pieces there are, and the sizes of the largest.

        Examples
        --------
        >>> Components(2, np.array([0, 1, 1])).shown
        '2 connected components (of 2, 1 samples)'
        """
        sizes = sorted(self._sizes().tolist(), reverse=True)
        some = ", ".join(map(str, sizes[:5])) + (", ..." if self.count > 5 else "")
        return f"{self.count} {self.name} (of {some} samples)"

    @property
    def isolated(self) -> str:
        """Which samples are pieces of their own, as a sentence; "" if none are."""
        labels = NUMPY.bring(self.labels)
        alone = np.flatnonzero((labels >= 0) & (self._sizes()[labels] == 1))
        return f"Alone in theirs: {name_rows(alone)}. " if alone.size else ""

    def _sizes(self) -> np.ndarray:
        labels = NUMPY.bring(self.labels)
        return np.bincount(labels[labels >= 0])


def edge_weights(edges: EdgeList, kernel_width: float) -> tuple[Array, float]:
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
    zero = nearest if nearest / kernel_width > VANISHING else 0.0
    weights = weigh(edges.length, kernel_width, zero)
    reach = nearest - kernel_width * math.log(WEAK_WEIGHT)
    if float(squared.max()) <= reach:  # the graph is one piece, or was made one
        return weights, zero
    strong = squared <= reach
    n, source, target = edges.pairs.n_samples, edges.pairs.source, edges.pairs.target
    pieces, _ = find_pieces(n, source[strong], target[strong])
    if pieces > 1 and pieces > find_pieces(n, source, target)[0]:
        middle = median(squared)
        remedy = (
            f"Set kernel_width='auto', the median squared dissimilarity, {middle:.3g}."
            if kernel_width < middle
            else "Raise n_neighbors, radius or kernel_width."
        )
        lost = 100 * (1 - int(strong.sum()) / strong.shape[0])
        warn(
            f"kernel_width={kernel_width:.3g} lets {lost:.0f} % of "
            f"the edge weights vanish, and what is left holds the samples in {pieces} "
            f"separate pieces: the embedding mostly tells these apart. {remedy}",
            VanishingWeightsWarning,
        )
    return weights, zero


def weigh(lengths: Array, kernel_width: float, zero: float) -> Array:
    """Return exp((z - d²)/t) of every length d, never zero."""
    xp = array_namespace(lengths)
    exponents = zero - lengths**2
    exponents /= kernel_width
    with np.errstate(under="ignore"):
        weights = xp.exp(exponents)
    return xp.clip(weights, float(np.finfo(float).tiny), None)


def resolve_width(kernel_width: float | str, lengths: Array) -> float:
    """Return the t that `kernel_width` stands for.

    "auto" is the median of d², of those above 0 if it is 0, and 1 if all are.
    """
    if kernel_width != "auto":
        return float(kernel_width)
    squared = lengths**2
    middle = median(squared)
    if middle == 0 and (squared > 0).any():
        middle = median(squared[squared > 0])
    return middle or 1.0


@on_any_device
def median(values: np.ndarray) -> float:
    """Return the median."""
    return float(np.median(values))


@on_any_device
def scale_both_sides(matrix: Any, factors: Array, *, overwrite: bool = False) -> Any:
    """Return D M D for a diagonal D: a matrix of the same entries, scaled.

    `overwrite` lets a dense matrix be scaled where it is.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> scale_both_sides(sp.csr_array([[1.0, 2], [2, 1]]), np.array([1, 10])).toarray()
    array([[  1.,  20.],
           [ 20., 100.]])
    """
    if isinstance(matrix, np.ndarray):
        scaled = matrix if overwrite else matrix.copy()
        scaled *= factors[:, None]
        scaled *= factors
        return scaled
    data = matrix.data * np.repeat(factors, np.diff(matrix.indptr))
    data *= factors[matrix.indices]
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


@on_any_device
def laplacian(weights: Any, *, fill: bool = False) -> tuple[Any, Array]:
    """Return L = D - W and the degrees, of a sparse or dense matrix W.

    `fill` returns L dense where W is sparse and nearly complete: then it takes no more
    room, and what is done with it no indices.
    """
    made = fill and sp.issparse(weights) and weights.nnz > weights.shape[0] ** 2 // 2
    if made:
        dense = np.empty(weights.shape)
        dense.fill(0.0)  # faster than pages of zeros, one by one
        weights = weights.toarray(out=dense)
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    if isinstance(weights, np.ndarray):
        own = weights.diagonal().copy()
        matrix = np.negative(weights, out=weights if made else None)
        np.fill_diagonal(matrix, degrees - own)
        return matrix, degrees
    return (sp.diags_array(degrees) - weights).tocsr(), degrees
