"""A matrix of dissimilarities -> the same graph stage the features lead to.

Dense: every row's `n_neighbors` smallest entries are its neighbours, or those up to
`radius`. Sparse: the stored entries are the graph, zeros included, and neither is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..backends.backend import NUMPY
from ..exceptions import DisconnectedGraphError, DisconnectedGraphWarning, warn
from ..neighbors.radius import raise_no_neighbors, warn_isolated_queries
from ..records import EdgeList, Links, Pairs
from ..validation import LARGEST
from .weights import Components, complete_graph, pairs_from_directed


def check_dissimilarities(D: Any, *, square: bool) -> None:
    """Raise ValueError unless D holds finite numbers >= 0, symmetric if square."""
    stored = D.data if sp.issparse(D) else D
    if square and D.shape[0] != D.shape[1]:
        raise ValueError(
            "dissimilarity='precomputed' needs a square matrix of dissimilarities. "
            f"Got shape {D.shape} instead."
        )
    if stored.size and stored.min() < 0:
        raise ValueError(
            f"X holds a negative dissimilarity ({stored.min():.3g}); with "
            "dissimilarity='precomputed' all must be >= 0."
        )
    largest = float(stored.max(initial=0))
    if largest > LARGEST or (square and 0 < largest < 1 / LARGEST):
        raise ValueError(
            f"the largest dissimilarity in X is {largest:.3g}, and squares of more "
            f"than {LARGEST:g} or less than {1 / LARGEST:g} are out of range: "
            "scale X."
        )
    if not square or sp.issparse(D):
        return
    if np.abs(np.diagonal(D)).max() > 1e-6 * np.abs(D).max():
        raise ValueError(
            "X has a diagonal that is not zero; with dissimilarity='precomputed' a "
            "sample is at 0 from itself. Is this a matrix of similarities?"
        )
    if not np.allclose(D, D.T, rtol=1e-6, atol=1e-12 * np.abs(D).max()):
        raise ValueError(
            "X is not symmetric; with dissimilarity='precomputed' pass a symmetric "
            "matrix, for example (X + X.T) / 2."
        )


def edges_from_matrix(
    D: Any,
    n_neighbors: int | None,
    radius: float | None = None,
    *,
    directed: bool = False,
) -> EdgeList:
    """Read the neighbour graph and its lengths from a square matrix.

    With `directed`, the stored entries of a sparse row are the neighbours of its
    sample; else they are edges, and both ends have each other as neighbours.
    """
    if sp.issparse(D):
        return _edges_from_sparse(_canonical(D).tocoo(), directed)
    n = D.shape[0]
    if radius is not None:
        near = radius >= D
        np.fill_diagonal(near, False)
        if not near.any():
            raise_no_neighbors(D[~np.eye(n, dtype=bool)].min(), radius)
        pairs = pairs_from_directed(n, *np.nonzero(near))
    elif n_neighbors is None:
        pairs = complete_graph(n)
    else:
        masked = D.astype(float, copy=True)
        np.fill_diagonal(masked, np.inf)
        nearest = np.argsort(masked, axis=1, kind="stable")[:, :n_neighbors]
        row = np.repeat(np.arange(n), n_neighbors)
        pairs = pairs_from_directed(n, row, nearest.ravel())
    return edges_along(D, pairs)


def keep_pieces(components: Components, draws_pieces: bool) -> None:
    """Say what becomes of a sparse matrix in pieces: a warning, or an error.

    Parameters
    ----------
    components : Components
        Its pieces.
    draws_pieces : bool
        Whether the embedding is by eigenvectors, which such a graph has too.
    """
    if not draws_pieces or components.isolated:
        raise DisconnectedGraphError(
            f"{describe_pieces(components)}Pass a connected graph, or the dense matrix "
            "of dissimilarities."
        )
    warn(
        f"{describe_pieces(components)}So coordinates up to number "
        f"{components.count - 1} only tell them apart: there, all samples of one have "
        "the same value. Pass a connected graph or the dense matrix of "
        "dissimilarities, or fit each of them by itself.",
        DisconnectedGraphWarning,
    )


def describe_pieces(components: Components) -> str:
    """Say what pieces a sparse precomputed matrix has."""
    return (
        f"The precomputed graph has {components.shown}, and a sparse matrix does not "
        f"say how far apart they are. {components.isolated}"
    )


def keep_nearest(
    D: Any, n_neighbors: int | None, radius: float | None, *, training: bool
) -> Any:
    """Keep the K smallest stored entries of each row, or those within the radius.

    Parameters
    ----------
    D : array or sparse array (q, n)
        Distances; a dense matrix is returned as it is.
    n_neighbors, radius : int or None, float or None
        Which are kept; all, where both are None.
    training : bool
        Whether rows are training samples: then the diagonal does not count.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> D = sp.csr_array([[0, 2.0, 1.0], [2.0, 0, 3.0], [1.0, 3.0, 0]])
    >>> keep_nearest(D, 1, None, training=True).indices.tolist()
    [2, 0, 0]
    """
    if not sp.issparse(D):
        return D
    D = _canonical(D).tocoo()
    other = D.row != D.col if training else np.ones(D.nnz, dtype=bool)
    if radius is not None:
        other &= D.data <= radius
    row, column, value = D.row[other], D.col[other], D.data[other]
    if n_neighbors is not None:
        counts = np.bincount(row, minlength=D.shape[0])
        if counts.min() < n_neighbors:
            raise ValueError(
                f"row {int(counts.argmin())} of X stores {counts.min()} distances, and "
                f"n_neighbors={n_neighbors} are needed: lower n_neighbors, or store "
                "more."
            )
        order = np.lexsort((column, value, row))
        place = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = order[place < n_neighbors]
        row, column, value = row[kept], column[kept], value[kept]
    return sp.coo_array((value, (row, column)), shape=D.shape).tocsr()


def _canonical(D: Any) -> sp.csr_array:
    """Copy a sparse matrix, with entries that are stored in parts added up."""
    canonical = sp.csr_array(D, copy=True)
    canonical.sum_duplicates()
    return canonical


def edges_along(D: np.ndarray, pairs: Pairs) -> EdgeList:
    """Read the lengths of given edges from a dense matrix."""
    there, back = D[pairs.source, pairs.target], D[pairs.target, pairs.source]
    return EdgeList(pairs, (there + back) / 2)


def _edges_from_sparse(D: sp.coo_array, directed: bool) -> EdgeList:
    other = D.row != D.col
    row, column, value = D.row[other], D.col[other], D.data[other].astype(float)
    pairs = pairs_from_directed(D.shape[0], row, column)
    by_row = value[np.argsort(row, kind="stable")]
    n_edges = pairs.source.size
    smallest = np.full(n_edges, np.inf)
    largest = np.zeros(n_edges)
    np.minimum.at(smallest, pairs.edge, by_row)
    np.maximum.at(largest, pairs.edge, by_row)
    if not np.allclose(smallest, largest, rtol=1e-6, atol=0):
        raise ValueError(
            "X is not symmetric: an edge is stored with two different values; with "
            "dissimilarity='precomputed' pass a symmetric graph."
        )
    if directed:
        return EdgeList(pairs, smallest)
    both_ways = pairs_from_directed(
        pairs.n_samples,
        np.concatenate([pairs.source, pairs.target]),
        np.concatenate([pairs.target, pairs.source]),
    )
    return EdgeList(both_ways, smallest)


def links_from_matrix(
    D: Any, n_neighbors: int | None, radius: float | None = None
) -> Links:
    """Read the links of new samples from a (q, n) matrix of dissimilarities."""
    if sp.issparse(D):
        return _links_from_sparse(_canonical(D))
    if radius is not None:
        return _links_within(D, radius)
    k = D.shape[1] if n_neighbors is None else min(n_neighbors, D.shape[1])
    nearest = np.argsort(D, axis=1, kind="stable")[:, :k]
    return Links(nearest, np.take_along_axis(D, nearest, axis=1).astype(float))


def _links_within(D: np.ndarray, radius: float) -> Links:
    """Link each query to all within the radius; to the nearest if there is none."""
    nearest = np.argsort(D, axis=1, kind="stable")
    lengths = np.take_along_axis(D, nearest, axis=1).astype(float)
    warn_isolated_queries(lengths[:, 0], radius)
    kept = lengths <= radius
    kept[:, 0] = True
    k = int(kept.sum(axis=1).max())
    return Links(nearest[:, :k], np.where(kept, lengths, np.inf)[:, :k])


def _links_from_sparse(D: sp.csr_array) -> Links:
    counts = np.diff(D.indptr)
    if counts.min(initial=1) == 0:
        raise ValueError(
            f"query {int(counts.argmin())} has no stored dissimilarity to any training "
            "sample; store at least one per row."
        )
    row = np.repeat(np.arange(D.shape[0]), counts)
    place = np.arange(D.nnz) - np.repeat(D.indptr[:-1], counts)
    shape = (D.shape[0], int(counts.max()))
    indices, lengths = np.zeros(shape, dtype=np.int64), np.full(shape, np.inf)
    indices[row, place], lengths[row, place] = D.indices, D.data
    return Links(indices, lengths)


@dataclass(frozen=True)
class MatrixLinks:
    """Links new samples by their dissimilarities to the training samples."""

    n_neighbors: int | None
    radius: float | None
    nearest_only: bool = False
    patch_sizes = search = None
    backend = NUMPY

    def accept(self, D: Any) -> Any:
        """Return dissimilarities as they are."""
        return D

    def near(self, D: Any, n_jobs: int | None) -> Links:
        """Read the nearest training samples of each new one."""
        if self.nearest_only:
            D = keep_nearest(D, self.n_neighbors, self.radius, training=False)
        return links_from_matrix(D, self.n_neighbors, self.radius)

    def known(self, links: Links) -> np.ndarray:
        """Say (q,) which new samples are training samples: at distance 0."""
        return (links.lengths == 0).any(axis=1)

    def settle(self, links: Links, embedding: np.ndarray) -> np.ndarray:
        """Place training samples at the mean of those at distance 0."""
        same = links.lengths == 0
        shares = same / same.sum(axis=1, keepdims=True)
        return np.einsum("qk,qkd->qd", shares, embedding[links.indices])

    def link(self, D: Any, links: Links, n_jobs: int | None) -> Links:
        """Return the links: dissimilarities are lengths."""
        return links
