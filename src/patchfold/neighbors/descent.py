"""PyNNDescent: candidates for the neighbours of sparse samples, or by other metrics.

An extra (`pip install "patchfold[neighbors]"`). It only proposes neighbours; distances
are measured here, as for every search.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..backends.threads import count_threads

FEW_SAMPLES = 1_000
"""Up to this many samples are all compared: that is faster, and exact."""

SPARE = 2
"""Candidates beyond the neighbours asked for: one is the sample itself."""

QUERY_CANDIDATES = 2
"""Candidates of a new sample, in multiples of those of a training sample."""

QUERY_EPSILON = 0.3
"""How far a new sample's search goes on.

On 1,300 samples in clumps recall is at least .93 with these settings. With the .1 of
PyNNDescent and no more candidates it is .73 to .96."""

NEEDED = (
    "neighbors_algorithm='approximate' with this metric, or a sparse X, needs "
    'PyNNDescent: pip install "patchfold[neighbors]". "exact" needs nothing.'
)


class Descent:
    """An index of samples, built when it is first asked.

    Parameters
    ----------
    name : str
        Metric.
    params : dict
        Its parameters: "p" of "minkowski", or none.
    n_neighbors : int
        Neighbours that are asked for.
    n_jobs : int or None
        Number of threads.
    """

    def __init__(
        self, name: Any, params: dict[str, Any], n_neighbors: int, n_jobs: int | None
    ) -> None:
        check_descent(name, params)
        self._name, self._params, self._n_jobs = name, params, n_jobs
        self._count = n_neighbors + SPARE
        self._index: Any = None

    def of_training(self, X: Any) -> np.ndarray:
        """Return candidates (n, k) of every sample; -1 where one is missing."""
        return self._built(X).neighbor_graph[0].astype(np.int64)

    def of_queries(self, queries: Any, X: Any) -> np.ndarray:
        """Return candidates (q, k) among X of new samples; -1 where one is missing."""
        count = min(QUERY_CANDIDATES * self._count, X.shape[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self._built(X).query(queries, k=count, epsilon=QUERY_EPSILON)
        return found[0].astype(np.int64)

    def _built(self, X: Any) -> Any:
        if self._index is None:
            from numba.core.config import NUMBA_NUM_THREADS as MOST
            from pynndescent import NNDescent

            threads = min(count_threads(self._n_jobs), MOST)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what it compiles
                self._index = NNDescent(
                    X,
                    metric=self._name,
                    metric_kwds=dict(self._params),
                    n_neighbors=min(self._count, X.shape[0]),
                    random_state=0,
                    n_jobs=threads,
                )
        return self._index


def check_descent(name: Any, params: dict[str, Any]) -> None:
    """Raise ImportError without PyNNDescent, ValueError for metrics it lacks."""
    try:
        from pynndescent.distances import named_distances
    except ImportError as error:
        raise ImportError(NEEDED) from error
    shown = getattr(name, "__name__", repr(name))
    if not isinstance(name, str) or name not in named_distances or params.keys() - "p":
        raise ValueError(
            f"neighbors_algorithm='approximate' does not know metric={shown}"
            f"{' with metric_params' if params else ''}: set "
            "neighbors_algorithm='exact', which knows all."
        )
