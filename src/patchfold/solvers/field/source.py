"""What is embedded: samples, or a matrix of dissimilarities, in an order of our own.

Both kinds say who is near whom, how far along each link, what the start looks like, and
how new samples are linked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ...backends.backend import in_32_bits, on_any_device
from ...backends.native.graph import add_mirrored
from ...dissimilarity.table import compare_pairs, describe_patches, get_dissimilarity
from ...exceptions import DisconnectedGraphWarning, warn
from ...graph.precomputed import (
    describe_pieces,
    edges_from_matrix,
    keep_nearest,
    links_from_matrix,
)
from ...graph.weights import Components, pairs_from_directed
from ...neighbors.choice import open_search
from ...neighbors.metric import ChangedRows, Metric
from ...neighbors.sparse_metric import SparseMetric
from ...patches.fitting import PatchFitter, mean_variance
from ...patches.sparse_space import DenseRows, SparseSpan, find_sparse_space
from ...records import Links, Neighborhoods
from .attraction import (
    Draws,
    middle_of_samples,
    middle_pairs,
    rows_matrix,
)
from .order import curve_order, hash_order, matrix_order
from .start import graph_scores, matrix_scores, principal_axes, sparse_axes

AXES, WIDE, MANY = 50, 100, 10_000
"""Principal axes that samples are seen along where they have more than `WIDE` features
and are more than `MANY`; if `reduce` is "auto"."""

PROJECTED = 256
"""Rows that are projected at a time; a fixed number, so that batches change no bit."""


@dataclass(frozen=True)
class Settings:
    """How neighbours are found and compared: see the parameters of `CauchyMap`."""

    n_neighbors: int
    dissimilarity: Any
    shrinkage: float | str
    ridge: float
    neighbors_algorithm: Any
    reduce: int | str | None
    metric: Metric | None = None
    n_features: int | None = None  # where coordinates of patches are fewer


@dataclass(frozen=True)
class Setting:
    """The neighbours of the samples, in our order.

    Attributes
    ----------
    order : int array (n,)
        Row of the input that our i-th sample is.
    scores : array (n, 2)
        What the start looks like.
    links : Links
        Neighbours (n, K) of each sample, and dissimilarities.
    middle : sparse array (n, n) or None
        Weights of mid-near pairs; None where only edges are known.
    """

    order: np.ndarray
    scores: np.ndarray
    links: Links
    middle: Any


@dataclass(frozen=True)
class SampleSource:
    """Training samples in our order, and what new ones are compared with.

    Attributes
    ----------
    samples : array (n, m)
        Samples, or their coordinates along `axes`.
    center, axes : arrays or None
        Centre and principal axes of wide samples.
    search : NeighborSearch
        How their neighbours were searched.
    described : tuple of arrays, Patches or None
        Descriptions of their patches; None where points are compared.
    settings : Settings
        How neighbours are found and compared.
    space : SparseSpan, DenseRows or None
        Coordinates of sparse samples, where patches are compared.
    """

    samples: Any
    center: np.ndarray | None
    axes: np.ndarray | None
    search: Any
    described: Any
    settings: Settings
    space: SparseSpan | DenseRows | None = None

    def link(self, X: np.ndarray, n_jobs: int | None = None) -> Links:
        """Link new samples (q, m) to their nearest training samples."""
        if self.axes is not None:
            X = project(X, self.center, self.axes)
        settings, samples = self.settings, self.samples
        near = self.search.of_queries(X, samples, n_jobs)
        if self.described is None:
            return Links(near.indices, near.distances)
        if self.space is not None:
            X, samples = self.space.locate(X), self.space.samples
        described = _describe(X, samples, near, settings, n_jobs)
        row, column = near.relation
        dissimilarity = get_dissimilarity(settings.dissimilarity)
        ends = described, self.described, row, column
        values = compare_pairs(dissimilarity, *ends, n_jobs=n_jobs)
        return near.links(values.label_free)


def open_samples(
    X: Any, settings: Settings, n_jobs: int | None = None, *, order: Any = None
) -> tuple[SampleSource, Setting]:
    """Put samples in order, and find and compare their neighbours.

    Parameters
    ----------
    X : array (n, m)
        Samples.
    settings : Settings
        How neighbours are found and compared.
    n_jobs : int or None
        Number of threads.
    order : int array (n,) or None
        Order of the samples, of a model that was stored; None finds one.
    """
    by_hash = hash_order(X)
    X, metric = X[by_hash], settings.metric
    count = _axes_count(X, settings)
    rows = X
    if isinstance(metric, ChangedRows | SparseMetric):  # angles: of rows of length 1
        rows = getattr(metric.prepare(X), "matrix", metric.prepare(X))
    find_axes = sparse_axes if sp.issparse(X) else principal_axes
    principal = find_axes(rows, count or 2)
    scores, center, axes = principal.shape, None, None
    if count:
        X, center, axes = principal.scores, principal.center, principal.axes
        metric = None
    along = curve_order(scores) if order is None else np.argsort(by_hash)[order]
    order, scores, X = by_hash[along], scores[along], X[along]
    del rows, principal  # samples in another order, while neighbours are searched
    k, algorithm = settings.n_neighbors, settings.neighbors_algorithm
    search: Any = open_search(algorithm, X, k, None, n_jobs, metric)
    near = search.of_training(X, n_jobs)
    described, lengths, space = None, near.distances, None
    if get_dissimilarity(settings.dissimilarity).needs_gaussians:
        space = find_sparse_space(X) if sp.issparse(X) else None
        points = X if space is None else space.samples
        if points.shape[1] < X.shape[1]:
            settings = replace(settings, n_features=X.shape[1])
        described = _describe(points, points, near, settings, n_jobs)
        lengths = _compare_neighbors(described, near, settings, n_jobs)
    if metric is None:
        middle = middle_of_samples(X, Draws(X.shape[0]), n_jobs)
    else:
        gaps = partial(search.between, n_jobs=n_jobs)
        middle = middle_pairs(X.shape[0], gaps)
    links = Links(in_32_bits(near.indices), lengths)
    setting = Setting(order, scores, links, middle)
    source = SampleSource(X, center, axes, search, described, settings, space)
    return source, setting


def _axes_count(X: np.ndarray, settings: Settings) -> int:
    """Return along how many principal axes samples are seen; 0 is all features."""
    n, m = X.shape
    points = not get_dissimilarity(settings.dissimilarity).needs_gaussians
    if settings.reduce == "auto":
        plain = points and settings.metric is None
        return AXES if plain and m > WIDE and n > MANY else 0
    if settings.reduce is None or settings.reduce >= min(n, m):
        return 0
    return int(settings.reduce)


@on_any_device
def project(X: Any, center: Any, axes: np.ndarray) -> np.ndarray:
    """Return coordinates of samples along axes, the same bits in any batch."""
    if sp.issparse(X):  # row by row
        return X @ axes - center @ axes
    found = np.empty((X.shape[0], axes.shape[1]))
    for start in range(0, X.shape[0], PROJECTED):
        rows = np.zeros((PROJECTED, X.shape[1]))
        some = X[start : start + PROJECTED]
        rows[: some.shape[0]] = some - center
        found[start : start + PROJECTED] = (rows @ axes)[: some.shape[0]]
    return found


def _describe(
    centers: np.ndarray,
    X: np.ndarray,
    near: Neighborhoods,
    settings: Settings,
    n_jobs: int | None,
) -> Any:
    """Describe the patches of samples, from training neighbours."""
    dissimilarity = get_dissimilarity(settings.dissimilarity)
    regularized = dissimilarity.regularized
    n_features = settings.n_features or X.shape[1]
    told: dict[str, Any] = {}
    if settings.n_features is not None:
        told = {"n_features": n_features}
    keywords = {
        "shrinkage": settings.shrinkage if regularized else 0.0,
        "ridge": settings.ridge if regularized else 0.0,
        "variance": mean_variance(X) * X.shape[1] / n_features,
        "n_directions": dissimilarity.n_directions,
        "keep_points": dissimilarity.needs_points,
        **told,
    }
    fitter = PatchFitter(X, settings.n_neighbors, keywords)
    patches = fitter.fit(centers, near, n_jobs=n_jobs)
    return describe_patches(dissimilarity, patches, n_jobs=n_jobs)


def _compare_neighbors(
    described: Any, near: Neighborhoods, settings: Settings, n_jobs: int | None
) -> np.ndarray:
    """Return the dissimilarity (n, K) of each sample and its neighbours."""
    pairs = pairs_from_directed(near.indices.shape[0], *near.relation)
    values = compare_pairs(
        get_dissimilarity(settings.dissimilarity),
        described,
        described,
        pairs.source,
        pairs.target,
        n_jobs=n_jobs,
    )
    return np.asarray(values.label_free)[pairs.edge].reshape(near.indices.shape)


@dataclass(frozen=True)
class MatrixSource:
    """A matrix of dissimilarities: new samples are linked by rows of another one.

    Attributes
    ----------
    place : int array (n,)
        Place of each column of the matrix in our order.
    n_neighbors : int
        Links of a new sample.
    nearest_only : bool
        Whether that holds for a sparse matrix too; else all stored entries are links.
    """

    place: np.ndarray
    n_neighbors: int
    nearest_only: bool = False

    def link(self, D: Any, n_jobs: int | None = None) -> Links:
        """Link new samples by their dissimilarities (q, n) to the training samples."""
        if self.nearest_only:
            D = keep_nearest(D, self.n_neighbors, None, training=False)
        links = links_from_matrix(D, self.n_neighbors)
        return Links(self.place[links.indices], links.lengths)


def open_matrix(
    D: Any, n_neighbors: int, nearest_only: bool = False
) -> tuple[MatrixSource, Setting]:
    """Put the samples of a matrix in order, and read their neighbours.

    Parameters
    ----------
    D : array or sparse array (n, n)
        Dissimilarities; of a sparse one the stored entries are the edges.
    n_neighbors : int
        Neighbours of a sample in a dense matrix.
    nearest_only : bool
        Whether it holds for a sparse one too.
    """
    if nearest_only:
        D = keep_nearest(D, n_neighbors, None, training=True)
    if sp.issparse(D):
        D = edges_from_matrix(D, None).graph
        _require_edges(D)
    order = matrix_order(D)
    source = MatrixSource(np.argsort(order), n_neighbors, nearest_only)
    if sp.issparse(D):
        edges = sp.csr_array(D[order][:, order])
        edges.sort_indices()
        _warn_of_pieces(edges)
        scores = graph_scores(_closeness(edges))
        return source, Setting(order, scores, _rows_of(edges), None)
    D = D[order][:, order]
    masked = D.astype(float)
    np.fill_diagonal(masked, np.inf)
    nearest = np.argsort(masked, axis=1, kind="stable")[:, :n_neighbors]
    links = Links(nearest, np.take_along_axis(masked, nearest, axis=1))
    middle = middle_pairs(D.shape[0], lambda row, column: D[row, column])
    return source, Setting(order, matrix_scores(D), links, middle)


def _require_edges(edges: sp.csr_array) -> None:
    counts = np.diff(edges.indptr)
    if counts.min() == 0:
        raise ValueError(
            f"sample {int(counts.argmin())} has no stored dissimilarity to any other "
            "sample; store at least one per row of X."
        )


def _warn_of_pieces(edges: sp.csr_array) -> None:
    """Say that nothing is known of how pieces of a sparse matrix lie to each other."""
    found = Components(*connected_components(edges, directed=False))
    if found.count > 1:
        warn(
            f"{describe_pieces(found)}The map puts them side by side; only what is "
            "within each of them is to be trusted. Pass a connected graph, or the "
            "dense matrix of dissimilarities.",
            DisconnectedGraphWarning,
        )


def _rows_of(edges: sp.csr_array) -> Links:
    """Return the edges of each row as links, infinite where a row has fewer."""
    counts = np.diff(edges.indptr)
    row = np.repeat(np.arange(edges.shape[0]), counts)
    place = np.arange(edges.nnz) - np.repeat(edges.indptr[:-1], counts)
    shape = edges.shape[0], int(counts.max())
    indices, lengths = np.zeros(shape, np.int64), np.full(shape, np.inf)
    indices[row, place], lengths[row, place] = edges.indices, edges.data
    return Links(indices, lengths)


def _closeness(edges: sp.csr_array) -> sp.csr_array:
    """Return weights exp(-d²/mean d²) of edges."""
    mean = float((edges.data**2).mean()) or 1.0
    return sp.csr_array(
        (np.exp(-(edges.data**2) / mean), edges.indices, edges.indptr), edges.shape
    )


@on_any_device
def graph_of(setting: Setting) -> sp.csr_array:
    """Return the dissimilarity of every edge, in the order of the input.

    Of an edge that both ends list it is the mean of their lengths.
    """
    order, links = setting.order, setting.links
    place = np.argsort(order)
    indices = np.empty(links.indices.shape, np.int32)
    for start in range(0, place.size, PROJECTED):
        some = place[start : start + PROJECTED]
        indices[start : start + PROJECTED] = order[links.indices[some]]
    lengths = links.lengths[place]
    nearest = rows_matrix(lengths, indices, np.isfinite(lengths))
    return add_mirrored(nearest, mean=True)
