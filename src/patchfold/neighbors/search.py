"""How neighbours are searched, by number or within a radius: chosen once for a fit.

All searches have the same methods: `of_training` for the samples of a fit,
`of_queries` for new samples. What was made ready for the first serves the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backends.arrays import Array
from ..records import Neighborhoods
from .cell_building import build_cells
from .cell_search import Cells
from .choice import NearestSearch, choose_search
from .metric import Metric
from .metric_search import MetricSearch, open_metric_search
from .radius import (
    add_nearest,
    raise_no_neighbors,
    search_within,
    warn_isolated_queries,
)


@dataclass(frozen=True)
class RadiusSearch:
    """All samples within a radius; of a new sample without any, the nearest one.

    Attributes
    ----------
    radius : float
        Largest distance of a neighbour.
    most : int or None
        Most neighbours of all training samples together; None is what memory holds.
    """

    radius: float
    most: int | None = None
    n_neighbors = cells_for = cells = None

    def of_training(self, X: np.ndarray, n_jobs: int | None) -> Neighborhoods:
        """Find the neighbours of every sample; some may have none, but not all."""
        own = np.arange(X.shape[0])
        settings: dict[str, Any] = {"most": self.most, "n_jobs": n_jobs}
        near = search_within(X, X, self.radius, own=own, **settings)
        if not near.counts.any():
            found = add_nearest(near, X, X, own=own, n_jobs=n_jobs)
            raise_no_neighbors(found.distances.min(), self.radius)
        return near

    def of_queries(
        self, queries: np.ndarray, X: np.ndarray, n_jobs: int | None
    ) -> Neighborhoods:
        """Find the samples near new ones, and warn of those that have none."""
        near = search_within(queries, X, self.radius, n_jobs=n_jobs)
        near = add_nearest(near, queries, X, n_jobs=n_jobs)
        warn_isolated_queries(near.nearest[1], self.radius)
        return near

    def complete(
        self, near: Neighborhoods, X: np.ndarray, n_jobs: int | None
    ) -> Neighborhoods:
        """Give training samples without a neighbour within the radius one."""
        own = np.arange(X.shape[0])
        return add_nearest(near, X, X, own=own, n_jobs=n_jobs)


NeighborSearch = NearestSearch | RadiusSearch | MetricSearch


def open_search(
    algorithm: Any,
    X: Array,
    n_neighbors: int | None,
    radius: float | None,
    n_jobs: int | None,
    metric: Metric | None = None,
) -> NeighborSearch:
    """Choose the search of a fit and make it ready.

    Parameters
    ----------
    algorithm : str or KNN transformer
        As in `choose_search`.
    X : array (n, m)
        Samples.
    n_neighbors : int or None
        How many neighbours; None with a radius, or for all pairs.
    radius : float or None
        Largest distance of a neighbour.
    n_jobs : int or None
        Number of threads.
    metric : Metric or None
        What measures; None is the Euclidean distance of dense samples.
    """
    if metric is not None:
        return open_metric_search(metric, algorithm, X, n_neighbors, radius, n_jobs)
    if radius is not None:
        return RadiusSearch(radius)
    if n_neighbors is None:
        return NearestSearch(None)
    index = choose_search(algorithm, X, n_neighbors, n_jobs=n_jobs)
    return NearestSearch(
        n_neighbors, index, n_neighbors if isinstance(index, Cells) else None
    )


def reopen_search(
    algorithm: Any,
    X: np.ndarray,
    n_neighbors: int | None,
    radius: float | None,
    cells_for: int | None,
    most: int,
    n_jobs: int | None,
    metric: Metric | None = None,
) -> NeighborSearch:
    """Make the search of a fitted model ready again; parameters as in `open_search`.

    Within a radius, its samples may have `most` neighbours together.
    """
    if metric is not None:
        parts = algorithm, X, n_neighbors, radius, n_jobs
        return open_metric_search(metric, *parts, cells_for=cells_for, most=most)
    if radius is not None:
        return RadiusSearch(radius, most)
    if n_neighbors is None or not isinstance(algorithm, str):
        return open_search(algorithm, X, n_neighbors, radius, n_jobs)
    index = None if cells_for is None else build_cells(X, cells_for, n_jobs=n_jobs)
    return NearestSearch(n_neighbors, index, cells_for)
