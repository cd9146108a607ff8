"""X -> Neighborhoods: the nearest samples, with the rules for selves and ties.

Conventions, stated here only:

* `n_neighbors` does not count the sample itself (as in scikit-learn).
* A training sample is told from its duplicates by position, never by distance.
* Squared distances that agree to 40 binary digits (12 decimal ones) are ties, and ties
  go to the lower index. Without the tolerance, rounding would decide between points of
  a grid or between z-scored categories, and the result would change with the machine.
* The K nearest are a prefix of the K + 1 nearest.

How neighbours are searched, by number or within a radius, by which metric, is chosen
here, once for a fit (`open_search`). All searches have the same methods: `of_training`
for the samples of a fit, `of_queries` for new samples. What was made ready for the
first serves the second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from ..backends.backend import Array, on_any_device
from ..backends.distances import in_rows
from ..backends.native.neighbors import first_of_each_row, squared_distances
from ..exceptions import NeighborCountWarning, warn
from ..records import Neighborhoods
from .cell_building import build_cells
from .cell_neighbors import search_rows
from .cell_search import Cells
from .exact import SPARE, search_all
from .metric import Metric
from .metric_search import MetricSearch, list_stored, open_metric_search
from .radius import RadiusSearch

EXACT_LIMIT = 30_000
"""Up to this many samples "auto" is the exact search."""

TILES = "tiles"
"""The search of many samples on a device."""

SMALL_PART = 50
"""Cells pay where K is less than n / `SMALL_PART`; beyond, all are compared."""


def resolve_n_neighbors(n_neighbors: int | float, n_samples: int) -> int:
    """Turn a count or a fraction of the samples into a count of other samples.

    A fraction is rounded down.

    Examples
    --------
    >>> resolve_n_neighbors(0.75, 150)
    112
    """
    if not isinstance(n_neighbors, Integral):
        count = int(round(float(n_neighbors) * n_samples, 9))
        return min(max(1, count), n_samples - 1)
    if n_neighbors > n_samples - 1:
        warn(
            f"n_neighbors={n_neighbors} exceeds the {n_samples - 1} other samples; "
            f"n_neighbors={n_samples - 1} is used. Lower n_neighbors or add samples.",
            NeighborCountWarning,
        )
    return int(min(n_neighbors, n_samples - 1))


def pays_for_cells(n_neighbors: int, n_samples: int) -> bool:
    """Say whether the neighbours are a part of the samples for which cells pay."""
    return SMALL_PART * (n_neighbors + 1 + SPARE) <= n_samples


@on_any_device
def choose_search(
    algorithm: Any, X: Array, n_neighbors: int, *, n_jobs: int | None = None
) -> Any:
    """Make ready what the neighbours of `X`, and of new samples, are searched with.

    Parameters
    ----------
    algorithm : {"auto", "exact", "approximate"} or KNN transformer
        "auto" is approximate beyond 30,000 samples, if K is a small part of them. A
        transformer is cloned.
    X : array (n, m)
        Samples.
    n_neighbors : int
        How many neighbours K.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    Cells, KNN transformer, "tiles" or None
        None is the exact search; "tiles" that of many samples on a device.
    """
    if not isinstance(algorithm, str):
        return clone(algorithm)
    n = X.shape[0]
    wanted = algorithm == "approximate" or (algorithm == "auto" and n > EXACT_LIMIT)
    if wanted and pays_for_cells(n_neighbors, n):
        return build_cells(X, n_neighbors, n_jobs=n_jobs)
    return None


@dataclass(frozen=True)
class NearestSearch:
    """The K nearest of every sample.

    Attributes
    ----------
    n_neighbors : int or None
        K; None is all other samples, which need no search.
    index : Cells, KNN transformer, "tiles" or None
        What `choose_search` made ready; None is the exact search.
    cells : Cells or None
        The index, where it is cells of samples near each other.
    cells_for : int or None
        For how many neighbours these were built: with it they can be built again from
        the samples.
    """

    n_neighbors: int | None
    index: Any = None
    cells: Cells | None = None
    cells_for: int | None = None
    radius = None

    def resized(self, n_neighbors: int) -> NearestSearch:
        """Return the same search for fewer neighbours."""
        return replace(self, n_neighbors=n_neighbors)

    def of_training(self, X: Array, n_jobs: int | None) -> Neighborhoods | None:
        """Find the neighbours of every sample among the others; None if all are."""
        if self.n_neighbors is None:
            return None
        return Neighborhoods(*nearest_others(X, self.n_neighbors, self.index, n_jobs))

    def of_queries(self, queries: Array, X: Array, n_jobs: int | None) -> Neighborhoods:
        """Find the samples near new ones."""
        count = self.n_neighbors or X.shape[0]
        found = nearest_samples(queries, X, count, self.index, None, n_jobs)
        return Neighborhoods(*found)


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

        def euclidean(rows: Array) -> NeighborSearch:
            return open_search(algorithm, rows, n_neighbors, None, n_jobs)

        parts = metric, algorithm, X, n_neighbors, radius, n_jobs
        return open_metric_search(*parts, euclidean)
    if radius is not None:
        return RadiusSearch(radius)
    if n_neighbors is None:
        return NearestSearch(None)
    index = choose_search(algorithm, X, n_neighbors, n_jobs=n_jobs)
    if isinstance(index, Cells):
        return NearestSearch(n_neighbors, index, index, n_neighbors)
    return NearestSearch(n_neighbors, index)


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

        def euclidean(rows: np.ndarray) -> NeighborSearch:
            parts = algorithm, rows, n_neighbors, None, cells_for, most, n_jobs
            return reopen_search(*parts)

        parts = metric, algorithm, X, n_neighbors, radius, n_jobs
        return open_metric_search(*parts, euclidean, most)
    if radius is not None:
        return RadiusSearch(radius, most)
    if n_neighbors is None or not isinstance(algorithm, str):
        return open_search(algorithm, X, n_neighbors, radius, n_jobs)
    cells = None if cells_for is None else build_cells(X, cells_for, n_jobs=n_jobs)
    return NearestSearch(n_neighbors, cells, cells, cells_for)


def find_neighbors(
    X: Array,
    n_neighbors: int,
    *,
    algorithm: Any = "auto",
    n_jobs: int | None = None,
) -> Neighborhoods:
    """Find the nearest other samples of every sample.

    Parameters
    ----------
    X : array (n, m)
        Samples.
    n_neighbors : int
        How many neighbours K, at most n - 1.
    algorithm : str, KNN transformer, or what `choose_search` returned
        "exact" (or None) compares all pairs. A transformer is anything shaped like
        scikit-learn's `KNeighborsTransformer`; it is asked for `n_neighbors` at least,
        if it takes that parameter, and fitted here.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    Neighborhoods
        Indices and distances, (n, K) each.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> find_neighbors(X, 2).indices.tolist()
    [[1, 2], [0, 2], [1, 0], [2, 1]]
    """
    if isinstance(algorithm, str) and algorithm != TILES:
        algorithm = choose_search(algorithm, X, n_neighbors, n_jobs=n_jobs)
    return Neighborhoods(*nearest_others(X, n_neighbors, algorithm, n_jobs))


@on_any_device
def nearest_others(
    X: np.ndarray, n_neighbors: int, search: Any, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return indices and distances (n, K) of the nearest other samples."""
    own = np.arange(X.shape[0])
    if search is None:
        found = search_all(X, X, n_neighbors, own=own, n_jobs=n_jobs)
        return found.indices, found.distances
    if isinstance(search, Cells):
        return nearest_samples(X, X, n_neighbors, search, own, n_jobs)
    if search.get_params().get("n_neighbors", n_neighbors) < n_neighbors:
        search.set_params(n_neighbors=n_neighbors)
    graph = search.fit_transform(X)
    return _nearest_stored(graph, X, X, n_neighbors, training=True)


def find_query_neighbors(
    queries: Array,
    X: Array,
    n_neighbors: int,
    *,
    search: Any = None,
    own: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Neighborhoods:
    """Find the nearest training samples of new samples, or of some training samples.

    A training sample at distance zero is a neighbour like any other here.

    Parameters
    ----------
    queries : array (q, m)
        New samples.
    X : array (n, m)
        Training samples.
    n_neighbors : int
        How many neighbours K.
    search : Cells, fitted KNN transformer or None
        What the neighbours of `X` were searched with; None is the exact search.
    own : int array (q,) or None
        Which sample each query is itself, if it is one: never its own neighbour.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    Neighborhoods
        Indices into `X` and distances, (q, K) each.
    """
    found = nearest_samples(queries, X, n_neighbors, search, own, n_jobs)
    return Neighborhoods(*found)


@on_any_device
def nearest_samples(
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    search: Any,
    own: np.ndarray | None,
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return indices and distances (q, K) of the nearest samples of queries."""
    if search is None or search == TILES:  # of a model that was fitted on a device
        found = search_all(queries, X, n_neighbors, own=own, n_jobs=n_jobs)
    elif isinstance(search, Cells):
        found = search_rows(search, queries, X, n_neighbors, own=own, n_jobs=n_jobs)
    else:
        graph = search.transform(queries)
        return _nearest_stored(graph, queries, X, n_neighbors, training=False)
    return found.indices, found.distances


def _nearest_stored(
    graph: Any,
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    *,
    training: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Read the K nearest stored entries of each row of a sparse distance matrix.

    Which entries are stored is the transformer's choice; their distances are ours, so
    that ties and identical samples are treated as in the exact search.
    """
    row, column = list_stored(graph, n_neighbors, training=training)
    exact = squared_distances(queries, X, row, column)
    candidates = in_rows(row, column, exact, graph.shape[0])
    column, squared = first_of_each_row(*candidates, n_neighbors)
    return column, np.sqrt(squared)
