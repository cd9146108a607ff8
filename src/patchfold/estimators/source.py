"""Samples, or a matrix of dissimilarities -> a graph with lengths, and links to it.

`open_source` decides which of the two a fit begins with. Both sources find a graph,
make what links new samples to it, and measure its edges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..backends.backend import NUMPY, Array, backend_for, on_any_device
from ..backends.native.neighbors import squared_distances
from ..backends.progress import begin_stage
from ..dissimilarity.patch_sizes import sizes_by_curvature, tangent_turning
from ..dissimilarity.store import (
    CentersOnly,
    MeasuredSamples,
    PatchesOnDemand,
    PatchStore,
    defer_patches,
    describe_by_cells,
)
from ..dissimilarity.table import HeldPatches, describe_patches, get_dissimilarity
from ..exceptions import MemoryBudgetError
from ..graph.labels import apply_label_rule, get_label_rule, remove_edges_between
from ..graph.precomputed import (
    MatrixLinks,
    edges_along,
    edges_from_matrix,
    keep_nearest,
)
from ..graph.weights import complete_graph, pairs_from_directed
from ..neighbors.cell_search import near_each_other
from ..neighbors.choice import NeighborSearch, open_search
from ..neighbors.metric_search import MetricSearch
from ..neighbors.radius import RadiusSearch
from ..patches.fitting import PatchFitter, is_wide, mean_variance
from ..patches.space import find_span
from ..patches.sparse_space import find_sparse_space, refuse_features
from ..records import EdgeList, EdgeValues, Neighborhoods, Pairs
from ..validation import PRECOMPUTED, has_euclidean_metric, is_precomputed
from .links import (
    PatchSettings,
    SampleLinks,
    can_wait,
    patch_parameters,
    require_room,
)
from .parameters import metric_of, warn_of_metric

STAGES = ("neighbours", "patches", "edges", "coordinates")
"""What a fit does, in this order; progress is told by these names."""

Join = Callable[[Pairs, Any], tuple[Pairs, int]]
"""Pairs and their source -> pairs of a connected graph, and the pieces there were."""


class CheckedInput(NamedTuple):
    """What `fit` was given, checked.

    Attributes
    ----------
    X : array, tensor or sparse array
        Samples or dissimilarities, a copy.
    classes : int array (n,) or None
        Labels as numbers, where a label rule uses them.
    n_neighbors : int or None
        How many neighbours, as a number.
    """

    X: Any
    classes: Array | None
    n_neighbors: int | None


class NeighborGraph(NamedTuple):
    """Which samples are compared.

    Attributes
    ----------
    pairs : Pairs
        The edges of a connected graph.
    n_components : int
        Pieces there were before they were joined.
    near : Neighborhoods or None
        The neighbours that the edges came from; None of a matrix, and of all pairs.
    edges : EdgeList or None
        The edges of a matrix with their lengths, before pieces were joined.
    """

    pairs: Pairs
    n_components: int
    near: Neighborhoods | None = None
    edges: EdgeList | None = None


@dataclass(frozen=True)
class SampleSource:
    """Samples: neighbours are searched, and patches of them compared.

    Attributes
    ----------
    X : array or tensor (n, m)
        Samples.
    classes : int array (n,) or None
        Their labels, where a label rule uses them.
    settings : PatchSettings
        How patches are made and compared.
    search : NeighborSearch
        How neighbours are found.
    n_neighbors : int or None
        How many, where a number was asked for.
    n_jobs : int or None
        Number of threads.
    found : Neighborhoods or None
        Neighbours that were found already, at least as many as wanted.
    compare : callable or None
        `PatchesOnDemand` and `Pairs` -> `EdgeValues`; None compares them here.
    held : bool
        Whether descriptions of all patches are held; else they are made on demand.
    """

    X: Array
    classes: Array | None
    settings: PatchSettings
    search: NeighborSearch
    n_neighbors: int | None
    n_jobs: int | None
    found: Neighborhoods | None = None
    compare: Callable[[PatchesOnDemand, Pairs], EdgeValues] | None = None
    held: bool = True

    @property
    def metric_search(self) -> MetricSearch | None:
        """The search, where it is by another metric than the Euclidean one."""
        return self.search if isinstance(self.search, MetricSearch) else None

    def neighbor_graph(self, join: Join) -> NeighborGraph:
        """Find the neighbours, and the graph that they and the labels make."""
        X, n_jobs = self.X, self.n_jobs
        if self.found is not None and self.n_neighbors is not None:
            near: Neighborhoods | None = self.found.first(self.n_neighbors)
        else:
            near = self.search.of_training(X, n_jobs)
        n = X.shape[0]
        if near is None:
            pairs = complete_graph(n)
        else:
            pairs = pairs_from_directed(n, *near.relation)
        if self.classes is not None:
            rule = get_label_rule(self.settings.label_rule)
            if rule.removes_edges:
                by = self.metric_search
                pairs = remove_edges_between(
                    pairs, self.classes, X, search=by, n_jobs=n_jobs
                )
        return NeighborGraph(*join(pairs, self), near)

    def link(
        self, near: Neighborhoods | None, has_twins: bool | None = None
    ) -> SampleLinks:
        """Make the patches of all samples, and the links of new samples to them.

        Parameters
        ----------
        near : Neighborhoods or None
            Neighbours; None where all samples are, or none are needed.
        has_twins : bool or None
            Whether some samples are identical, if that is known; None looks at `near`.
        """
        begin_stage("patches", STAGES)
        X, settings, search, n_jobs = self.X, self.settings, self.search, self.n_jobs
        if has_twins is None:
            has_twins = near is None or bool((near.nearest[1] == 0).any())
        sizes, row = None, get_dissimilarity(settings.dissimilarity)
        fitter: PatchFitter | CentersOnly
        if not row.needs_gaussians:
            fitter = CentersOnly(X)
        else:
            if near is None:
                raise ValueError(
                    "n_neighbors=None compares all pairs of samples, but patches need "
                    "neighbours: set n_neighbors, or dissimilarity='euclidean' instead "
                    f"of {settings.dissimilarity!r}."
                )
            if search.radius is not None or settings.adaptive_patches:
                near = _choose_patches(X, near, settings, search, n_jobs)
            sizes = near.counts
            keywords = {
                "include_center": settings.include_center,
                "shrinkage": settings.shrinkage if row.regularized else 0.0,
                "ridge": settings.ridge if row.regularized else 0.0,
                "variance": mean_variance(X),
                "covariance": settings.covariance,
                "n_directions": settings.n_directions or row.n_directions,
                "keep_points": row.needs_points,
            }
            fitter = PatchFitter(X, int(sizes.max()), keywords)
            if sp.issparse(X) or is_wide(*X.shape):
                fitter = _fit_in_space(fitter, settings, has_twins)
        store: PatchStore
        if isinstance(search, MetricSearch) and isinstance(fitter, CentersOnly):
            store = MeasuredSamples(search, fitter)
        elif self.held:
            order = described = None
            if search.cells is not None:
                order = near_each_other(search.cells, np.arange(X.shape[0]))
                parts = settings.dissimilarity, fitter, near, order
                described = describe_by_cells(*parts, n_jobs)
            if described is None:
                patches = fitter.fit(fitter.X, near, n_jobs=n_jobs)
                described = describe_patches(row, patches, n_jobs=n_jobs)
            store = HeldPatches(settings.dissimilarity, fitter, described, order)
        else:
            store = defer_patches(settings.dissimilarity, fitter, near)
        return SampleLinks(X, settings, search, store, sizes, has_twins)

    def measure(self, graph: NeighborGraph, links: SampleLinks) -> EdgeList:
        """Compare the patches at both ends of every edge."""
        begin_stage("edges", STAGES)
        pairs, store = graph.pairs, links.store
        if not isinstance(store, PatchesOnDemand):
            values = store.compare(pairs, self.n_jobs)
        elif self.compare is not None:
            values = self.compare(store, pairs)
        else:
            cells = self.search.cells
            order = near_each_other(cells, np.arange(pairs.n_samples))
            values = store.compare(pairs, order, self.n_jobs)
        if self.settings.label_rule is None:
            return EdgeList(pairs, values.label_free)
        return EdgeList(pairs, self._by_labels(pairs, values))

    def _by_labels(self, pairs: Pairs, values: EdgeValues) -> Array:
        """Choose the length of every edge by the labels of its ends."""
        i, j = pairs.source, pairs.target
        rule, by = get_label_rule(self.settings.label_rule), self.metric_search
        if rule.needs_euclidean and by is not None:
            values = replace(values, euclidean=by.between(i, j, self.n_jobs))
        elif rule.needs_euclidean:
            squared = on_any_device(squared_distances)(
                self.X, self.X, i, j, n_jobs=self.n_jobs
            )
            values = replace(values, euclidean=squared**0.5)
        assert self.classes is not None
        ends = self.classes[i], self.classes[j]
        return apply_label_rule(self.settings.label_rule, values, *ends)


def _fit_in_space(
    fitter: PatchFitter, settings: PatchSettings, has_twins: bool
) -> PatchFitter:
    """Fit the patches of sparse or wide samples in the coordinates of a space."""
    X, keywords = fitter.X, fitter.settings
    wide, sparse = is_wide(*X.shape), sp.issparse(X)
    # Not with identical samples: rounding would part them.
    spans = wide and settings.may_span and (not has_twins or sparse)
    if sparse and wide and not spans:
        row = get_dissimilarity(settings.dissimilarity)
        refuse_features(
            f"covariance={settings.covariance!r}"
            if row.isometric
            else f"dissimilarity={settings.dissimilarity!r}"
        )
    if not (spans or sparse):
        return fitter
    if spans:
        keywords = {**keywords, "n_features": X.shape[1]}
    span: Any = find_sparse_space(X) if sparse else find_span(X)
    return PatchFitter(span.samples, fitter.largest, keywords, span)


def _choose_patches(
    X: np.ndarray,
    near: Neighborhoods,
    settings: PatchSettings,
    search: NeighborSearch,
    n_jobs: int | None,
) -> Neighborhoods:
    """Choose the neighbours in the patch of every sample."""
    if isinstance(search, RadiusSearch | MetricSearch) and search.radius is not None:
        near = search.complete(near, X, n_jobs)
        require_room(X, settings, None, search.radius, counts=near.counts)
    if not settings.adaptive_patches:
        return near
    curvature = tangent_turning(
        find_sparse_space(X).samples if sp.issparse(X) else X,
        near,
        include_center=settings.include_center,
        n_directions=settings.n_directions,
        n_jobs=n_jobs,
    )
    return near.keep(sizes_by_curvature(curvature, near.counts))


@dataclass(frozen=True)
class MatrixSource:
    """A matrix of dissimilarities: the graph and its lengths are read from it.

    Attributes
    ----------
    X : array or sparse array (n, n)
        Dissimilarities.
    n_neighbors, radius
        Which of them are edges.
    nearest_only : bool
        Whether that holds for a sparse matrix too; else all stored entries are edges.
    """

    X: Any
    n_neighbors: int | None
    radius: float | None
    nearest_only: bool = False
    metric_search = None

    def neighbor_graph(self, join: Join) -> NeighborGraph:
        """Read the graph and its lengths from the matrix."""
        D, wanted = self.X, (self.n_neighbors, self.radius)
        if self.nearest_only:
            D = keep_nearest(D, *wanted, training=True)
        edges = edges_from_matrix(D, *wanted, directed=self.nearest_only)
        return NeighborGraph(*join(edges.pairs, self), edges=edges)

    def link(self, near: Neighborhoods | None) -> MatrixLinks:
        """Make the links of new samples: a matrix has no patches."""
        return MatrixLinks(self.n_neighbors, self.radius, self.nearest_only)

    def measure(self, graph: NeighborGraph, links: MatrixLinks) -> EdgeList:
        """Read the lengths of edges that joined pieces too."""
        edges = graph.edges
        if edges is None or graph.pairs is not edges.pairs:
            edges = edges_along(self.X, graph.pairs)
        return edges


Source = SampleSource | MatrixSource


def open_source(
    estimator: Any,
    data: CheckedInput,
    *,
    search: NeighborSearch | None = None,
    found: Neighborhoods | None = None,
    compare: Callable[[PatchesOnDemand, Pairs], EdgeValues] | None = None,
) -> Source:
    """Choose what a fit begins with.

    Parameters
    ----------
    estimator : PatchEmbedding
        Its parameters say what.
    data : CheckedInput
        What was checked of its input.
    search, found, compare
        Of `SampleSource`, where a sweep or a cluster has done that work.
    """
    X, classes, n_neighbors = data
    settings, n_jobs = PatchSettings(*patch_parameters(estimator)), estimator.n_jobs
    euclidean, backend = has_euclidean_metric(estimator), backend_for(X)
    here = backend.device is None
    if not here and (not euclidean or _needs_numpy(X, settings, n_neighbors)):
        X, backend = NUMPY.bring(X), NUMPY
    if is_precomputed(estimator):
        near = estimator.metric == PRECOMPUTED
        return MatrixSource(X, n_neighbors, estimator.radius, near)
    is_plain = euclidean and not sp.issparse(X)
    metric = None if is_plain else metric_of(estimator, X)
    wanted, held = (X, settings, n_neighbors, estimator.radius), compare is None
    try:
        require_room(*wanted, held=held)
    except MemoryBudgetError:
        if not (held and is_plain and here and can_wait(*wanted)):
            raise
        held = False
        require_room(*wanted, held=held)
    begin_stage("neighbours", STAGES)
    if search is None:
        if not euclidean:
            warn_of_metric(estimator)
        algorithm, radius = estimator.neighbors_algorithm, estimator.radius
        search = open_search(algorithm, X, n_neighbors, radius, n_jobs, metric)
    classes = None if classes is None else backend.bring(classes)
    parts = X, classes, settings, search, n_neighbors, n_jobs
    return SampleSource(*parts, found, compare, held)


def _needs_numpy(X: Array, settings: PatchSettings, n_neighbors: int | None) -> bool:
    """Say whether tensors are measured in NumPy, as options ask that torch lacks.

    Then neighbours, patches and edges are found here, and the edges brought back.
    """
    wide = is_wide(*X.shape) and settings.covariance == "full"
    rare = settings.adaptive_patches or settings.dissimilarity == "precomputed"
    return n_neighbors is None or rare or wide
