"""A graph in pieces -> one graph: count the pieces, join them, say so.

Pieces are counted on the graph, never by an eigenvalue tolerance. They are joined by
the closest pair of every two of them, as scikit-learn's Isomap does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ._types import Pairs
from .exceptions import DisconnectedGraphError, DisconnectedGraphWarning, warn
from .graph import pairs_from_directed
from .neighbors import closest_pairs


@dataclass(frozen=True)
class Components:
    """Pieces of a graph: how many, which sample is in which, and what to call them."""

    count: int
    labels: np.ndarray
    name: str


def weak_components(pairs: Pairs) -> Components:
    """Find the connected components."""
    count, labels = connected_components(_relation(pairs), connection="weak")
    return Components(count, labels, "connected components")


def closed_components(pairs: Pairs) -> Components:
    """Find the groups of samples that no neighbour relation leaves.

    Reconstruction weights are directed: where a group's neighbours are all its own,
    any constant on it is a solution, however many other samples point into it. So
    for LLE these groups, not the connected components, have to be one. Samples whose
    neighbours lead elsewhere belong to none and are labelled -1.
    """
    relation = _relation(pairs)
    n_strong, strong = connected_components(relation, connection="strong")
    leaves = strong[pairs.row] != strong[pairs.column]
    closed = np.ones(n_strong, dtype=bool)
    closed[strong[pairs.row[leaves]]] = False
    names = np.full(n_strong, -1)
    names[closed] = np.arange(closed.sum())
    return Components(
        int(closed.sum()), names[strong], "groups whose neighbours are all their own"
    )


def _relation(pairs: Pairs) -> sp.csr_array:
    ones = np.ones(pairs.row.size)
    n = pairs.n_samples
    return sp.coo_array((ones, (pairs.row, pairs.column)), shape=(n, n)).tocsr()


def join_components(
    pairs: Pairs,
    components: Components,
    X: Any,
    *,
    n_neighbors: int | None,
    precomputed: bool = False,
    n_jobs: int | None = None,
) -> Pairs:
    """Join the pieces of a graph by their closest pairs, with a warning.

    Parameters
    ----------
    pairs : Pairs
        The graph.
    components : Components
        Its pieces.
    X : array (n, m), or sparse array
        Samples; with `precomputed`, their dissimilarities (n, n). A sparse matrix does
        not say how far apart the pieces are: that is an error.
    n_neighbors : int or None
        What the warning says was used.
    precomputed : bool
        What X holds.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    Pairs
        The same graph, if it was one, or the joined one.
    """
    count, labels, name = components.count, components.labels, components.name
    if count == 1:
        return pairs
    if sp.issparse(X):
        raise DisconnectedGraphError(
            f"the precomputed graph has {count} {name}, and a sparse matrix does not "
            "say how far apart they are. Pass a connected graph, or the dense matrix "
            "of dissimilarities."
        )
    sizes = sorted(np.bincount(labels[labels >= 0]).tolist(), reverse=True)
    shown = ", ".join(map(str, sizes[:5])) + (", ..." if count > 5 else "")
    warn(
        f"The neighbour graph has {count} {name} (of {shown} samples) with "
        f"n_neighbors={n_neighbors}. They were joined by their closest pairs, and what "
        "lies between them is not to be trusted. Raise n_neighbors to avoid this.",
        DisconnectedGraphWarning,
    )
    row, column = closest_pairs(X, labels, precomputed=precomputed, n_jobs=n_jobs)
    return pairs_from_directed(
        pairs.n_samples,
        np.concatenate([pairs.row, row, column]),
        np.concatenate([pairs.column, column, row]),
    )
