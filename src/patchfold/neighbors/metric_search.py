"""How neighbours are searched by a metric other than the Euclidean one.

`open_metric_search` chooses: rows whose Euclidean distance says the same are searched
as Euclidean ones are; else candidates come from a transformer, from PyNNDescent where
that is asked for, from a tree where samples have few features, or from comparing with
all samples. Ties go to the lower index, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.neighbors import BallTree

from ..backends.distances import in_rows
from ..backends.native.neighbors import first_of_each_row
from ..backends.threads import map_blocks
from ..records import Neighborhoods
from .all_pairs import BEYOND_TIES, near_in_table
from .cell_search import Cells
from .descent import FEW_SAMPLES, Descent
from .exact import SPARE
from .metric import ChangedRows, Metric, NamedMetric
from .radius import (
    ROW_BYTES,
    raise_no_neighbors,
    search_table_within,
    warn_isolated_queries,
    with_one,
)

FEW_FEATURES = 15
"""Up to this many features trees are faster than comparing with all samples."""

TREES = ("manhattan", "chebyshev", "minkowski", "canberra", "hamming", "haversine")
"""Metrics that are searched by trees: those that keep the triangle inequality."""


@dataclass(frozen=True)
class MetricSearch:
    """Neighbours by a metric: K of them, all within a radius, or all.

    Attributes
    ----------
    metric : Metric
        What measures.
    samples : prepared samples
        Training samples, as the metric prepared them.
    n_neighbors : int or None
        K; None with a radius, or for all samples.
    radius : float or None
        Largest distance of a neighbour.
    index : BallTree, Descent, KNN transformer or None
        What finds candidates; None compares with all samples.
    euclidean : NearestSearch or None
        Searches instead, by the Euclidean distance, where this says the same.
    most : int or None
        Most neighbours within the radius, of all training samples together.
    """

    metric: Metric
    samples: Any
    n_neighbors: int | None
    radius: float | None = None
    index: Any = None
    euclidean: Any = None
    most: int | None = None

    @property
    def cells(self) -> Cells | None:
        """Cells of samples near each other, of an approximate search."""
        return None if self.euclidean is None else self.euclidean.cells

    @property
    def cells_for(self) -> int | None:
        """For how many neighbours these cells were built."""
        return None if self.euclidean is None else self.euclidean.cells_for

    def resized(self, n_neighbors: int) -> MetricSearch:
        """Return the same search for fewer neighbours."""
        return replace(self, n_neighbors=n_neighbors)

    def of_training(self, X: Any, n_jobs: int | None) -> Neighborhoods | None:
        """Find the neighbours of every sample X among the others; None if all are."""
        own = np.arange(self.samples.shape[0])
        if self.radius is not None:
            near = self._within(self.samples, own, n_jobs)
            if not near.counts.any():
                found = self.add_nearest(near, n_jobs=n_jobs)
                raise_no_neighbors(found.distances.min(), self.radius)
            return near
        if self.n_neighbors is None:
            return None
        if _is_transformer(self.index):
            count = self.index.get_params().get("n_neighbors", self.n_neighbors)
            if count <= self.n_neighbors:  # it may count the sample itself
                self.index.set_params(n_neighbors=self.n_neighbors + 1)
            graph = self.index.fit_transform(X)
            return self._stored(graph, self.samples, own)
        if isinstance(self.index, Descent):
            column = self.index.of_training(X)
            return self._among(column, self.samples, self.n_neighbors, own, n_jobs)
        return self._nearest(self.samples, self.n_neighbors, own, n_jobs)

    def of_queries(self, queries: Any, X: Any, n_jobs: int | None) -> Neighborhoods:
        """Find the training samples near new ones; one at least."""
        prepared = self.metric.prepare(queries)
        if self.radius is not None:
            near = self._within(prepared, None, n_jobs)
            near = self.add_nearest(near, prepared, n_jobs=n_jobs)
            warn_isolated_queries(near.nearest[1], self.radius)
            return near
        if _is_transformer(self.index):
            return self._stored(self.index.transform(queries), prepared, None)
        count = self.n_neighbors or self.samples.shape[0]
        if isinstance(self.index, Descent):
            column = self.index.of_queries(queries, X)
            return self._among(column, prepared, count, None, n_jobs)
        return self._nearest(prepared, count, None, n_jobs)

    def between(
        self, row: np.ndarray, column: np.ndarray, n_jobs: int | None = None
    ) -> np.ndarray:
        """Return the distances of listed training samples."""
        table = self.metric.table(self.samples, self.samples)

        def measure(block: slice) -> np.ndarray:
            return table.exact(row[block], column[block])

        parts = map_blocks(measure, row.size, 0, n_jobs, step=max(1, row.size // 16))
        return self.metric.length(np.concatenate([np.empty(0), *parts]))

    def complete(
        self, near: Neighborhoods, X: Any, n_jobs: int | None
    ) -> Neighborhoods:
        """Give training samples without a neighbour within the radius one."""
        return self.add_nearest(near, n_jobs=n_jobs)

    def nearest_of(
        self, rows: np.ndarray, among: np.ndarray, n_jobs: int | None = None
    ) -> np.ndarray:
        """Return which sample of `among` is nearest to each of `rows`, among them."""
        few = replace(self, samples=self.samples[among])
        own = np.searchsorted(among, rows)
        return among[few._compare_all(self.samples[rows], 1, own, n_jobs).indices[:, 0]]

    def add_nearest(
        self, near: Neighborhoods, queries: Any = None, *, n_jobs: int | None = None
    ) -> Neighborhoods:
        """Give samples without a neighbour within the radius their nearest one.

        `queries` are prepared; None is the training samples.
        """
        isolated = np.flatnonzero(near.counts == 0)
        if not isolated.size:
            return near
        own = isolated if queries is None else None
        asked = self.samples if queries is None else queries
        found = self._compare_all(asked[isolated], 1, own, n_jobs)
        return with_one(near, isolated, found)

    def _within(
        self, queries: Any, own: np.ndarray | None, n_jobs: int | None
    ) -> Neighborhoods:
        assert self.radius is not None
        table = self.metric.table(queries, self.samples)
        near = search_table_within(
            table,
            (queries.shape[0], self.samples.shape[0]),
            min(self.metric.key(self.radius), np.finfo(float).max / 2),
            self.radius,
            own=own,
            most=None if own is None else self.most,
            n_jobs=n_jobs,
        )
        return replace(near, distances=self.metric.length(near.distances))

    def _nearest(
        self, queries: Any, count: int, own: np.ndarray | None, n_jobs: int | None
    ) -> Neighborhoods:
        if self.euclidean is not None:
            search = self.euclidean.resized(count)
            if own is None:
                near = search.of_queries(queries, self.samples, n_jobs)
            else:
                near = search.of_training(self.samples, n_jobs)
            return replace(near, distances=self.metric.length(near.distances**2))
        if isinstance(self.index, BallTree):
            return self._by_tree(queries, count, own, n_jobs)
        return self._compare_all(queries, count, own, n_jobs)

    def _by_tree(
        self, queries: Any, count: int, own: np.ndarray | None, n_jobs: int | None
    ) -> Neighborhoods:
        """Ask the tree for a few too many; compare with all where ties are left."""
        wanted = min(count + SPARE + 1, self.samples.shape[0])
        far, column = self.index.query(queries, wanted)
        last = np.where(wanted == self.samples.shape[0], np.inf, far[:, -1])
        order = np.argsort(column, axis=1)
        column = np.take_along_axis(column, order, axis=1)
        far = np.take_along_axis(far, order, axis=1)
        if own is not None:
            far[column == own[:, None]] = np.inf
        indices, distances = first_of_each_row(column, far, count)
        left = np.flatnonzero(~(distances[:, -1] * BEYOND_TIES < last))
        found = Neighborhoods(indices, distances)
        return self._with_rest(found, left, queries, own, n_jobs)

    def _with_rest(
        self,
        found: Neighborhoods,
        left: np.ndarray,
        queries: Any,
        own: np.ndarray | None,
        n_jobs: int | None,
    ) -> Neighborhoods:
        """Overwrite the rows that are left open: compare these with all samples."""
        if left.size:
            ours, count = None if own is None else own[left], found.indices.shape[1]
            rest = self._compare_all(queries[left], count, ours, n_jobs)
            found.indices[left], found.distances[left] = rest.indices, rest.distances
        return found

    def _among(
        self,
        column: np.ndarray,
        queries: Any,
        count: int,
        own: np.ndarray | None,
        n_jobs: int | None,
    ) -> Neighborhoods:
        """Keep the nearest of candidates; compare with all where they are too few."""
        column = np.sort(column, axis=1)
        row = np.repeat(np.arange(column.shape[0]), column.shape[1])
        there = column.ravel() >= 0
        table = self.metric.table(queries, self.samples)
        far = np.full(column.shape, np.inf)
        far.ravel()[there] = table.exact(row[there], column.ravel()[there])
        if own is not None:
            far[column == own[:, None]] = np.inf
        far[:, 1:][column[:, 1:] == column[:, :-1]] = np.inf
        indices, distances = first_of_each_row(column, far, count)
        left = np.flatnonzero(~np.isfinite(distances[:, -1]))
        found = Neighborhoods(indices, self.metric.length(distances))
        return self._with_rest(found, left, queries, own, n_jobs)

    def _compare_all(
        self, queries: Any, count: int, own: np.ndarray | None, n_jobs: int | None
    ) -> Neighborhoods:
        table, n = self.metric.table(queries, self.samples), self.samples.shape[0]

        def search(block: slice) -> tuple[np.ndarray, np.ndarray]:
            ours = None if own is None else own[block]
            candidates = near_in_table(table, block, ours, count)
            return first_of_each_row(*candidates, count)

        parts = map_blocks(search, queries.shape[0], ROW_BYTES * n, n_jobs)
        indices, keys = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Neighborhoods(indices, self.metric.length(keys))

    def _stored(
        self, graph: Any, queries: Any, own: np.ndarray | None
    ) -> Neighborhoods:
        """Keep the K nearest of the candidates that a transformer stored."""
        k = self.n_neighbors or 1
        row, column = list_stored(graph, k, training=own is not None)
        keys = self.metric.table(queries, self.samples).exact(row, column)
        found = first_of_each_row(*in_rows(row, column, keys, graph.shape[0]), k)
        return Neighborhoods(found[0], self.metric.length(found[1]))


def open_metric_search(
    metric: Metric,
    algorithm: Any,
    X: Any,
    n_neighbors: int | None,
    radius: float | None,
    n_jobs: int | None,
    euclidean: Callable[[Any], Any],
    most: int | None = None,
) -> MetricSearch:
    """Choose the search of a fit and make it ready; as `open_search`.

    Parameters
    ----------
    metric : Metric
        What measures.
    algorithm, X, n_neighbors, radius, n_jobs
        As in `open_search`.
    euclidean : callable
        Rows -> the search of them by the Euclidean distance.
    most : int or None
        Most neighbours within the radius, of all samples together.
    """
    samples: Any = metric.prepare(X)
    index: Any = None
    nearest: Any = None
    if n_neighbors is not None and not isinstance(algorithm, str):
        index = clone(algorithm)
    elif isinstance(metric, ChangedRows):
        nearest = euclidean(samples)
    elif n_neighbors is not None and algorithm == "approximate":
        params = getattr(metric, "params", {})
        index = Descent(metric.name, params, n_neighbors, n_jobs)
        if X.shape[0] <= max(FEW_SAMPLES, 4 * n_neighbors):
            index = None
    elif n_neighbors is not None and _has_tree(metric, samples):
        assert isinstance(metric, NamedMetric)
        index = BallTree(samples, metric=metric.name, **metric.params)
    return MetricSearch(metric, samples, n_neighbors, radius, index, nearest, most)


def list_stored(
    graph: Any, n_neighbors: int, *, training: bool
) -> tuple[np.ndarray, np.ndarray]:
    """List the stored entries of a sparse matrix, and refuse rows of too few.

    Of `training` samples, the diagonal does not count.
    """
    stored = sp.csr_array(graph)
    stored.sort_indices()
    counts = np.diff(stored.indptr)
    row, column = np.repeat(np.arange(stored.shape[0]), counts), stored.indices
    if training:
        other = row != column
        row, column = row[other], column[other]
        counts = np.bincount(row, minlength=stored.shape[0])
    if counts.min() < n_neighbors:
        raise ValueError(
            f"neighbors_algorithm returned only {counts.min()} neighbours for sample "
            f"{int(counts.argmin())}, but n_neighbors={n_neighbors} are needed; "
            "raise its n_neighbors or lower ours."
        )
    return row, column


def _is_transformer(index: Any) -> bool:
    return hasattr(index, "fit_transform")


def _has_tree(metric: Metric, samples: Any) -> bool:
    """Say whether a tree is faster than comparing with all samples."""
    return (
        isinstance(metric, NamedMetric)
        and metric.name in TREES
        and (metric.name == "minkowski" or not metric.params)
        and samples.shape[1] <= FEW_FEATURES
        and samples.dtype == np.float64
    )
