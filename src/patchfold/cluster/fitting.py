"""An estimator and many samples -> the estimator fitted, the heavy stages by a cluster.

The samples, and for an approximate search their cells, are an index that every worker
holds. Neighbours are searched for blocks of rows against it; patches are fitted and
compared for blocks of edges, and what is kept of a patch never leaves the worker. Edges
come back to the client, which embeds the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from ..backends.backend import NUMPY
from ..dissimilarity.store import PatchesOnDemand
from ..dissimilarity.table import MOST
from ..estimators.base import PatchEmbedding
from ..estimators.source import open_source
from ..exceptions import ClusterError
from ..graph.paths import cache_order
from ..neighbors.choice import (
    find_query_neighbors,
    open_search,
)
from ..records import EdgeValues, Neighborhoods, Pairs
from ..validation import check_parameters, has_euclidean_metric, is_precomputed
from .connection import require_dask
from .tasks import run_tasks

Estimator = TypeVar("Estimator", bound=Any)

ROWS = 4096
"""Rows whose neighbours one task searches."""

PATCH_BYTES = 2**28
"""What the patches of one task may take."""


def fit(
    estimator: Estimator,
    X: Any,
    y: Any = None,
    *,
    client: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> Estimator:
    """Fit an estimator, with the work on samples and edges done by a cluster.

    With the exact search the result is that of `estimator.fit(X, y)`, bit for bit. The
    fitted model does not keep its patches, which take m² numbers for each sample;
    `transform` computes those that it needs.

    The client holds the samples, the neighbours and the graph, about 170 bytes for each
    neighbour of each sample, and solves the eigenproblem; every worker holds the
    samples, the neighbours, and the patches of one task (256 MiB) for each thread.

    Parameters
    ----------
    estimator : embedding estimator
        One with `n_neighbors`, a number or a fraction that is a small part of the
        samples. Fitted in place.
    X : dask.array.Array, dask.dataframe.DataFrame or array-like (n_samples, n_features)
        Samples.
    y : array-like (n_samples,), default=None
        Class labels, used only by a `label_rule`; may be a Dask collection.
    client : dask.distributed.Client or None, default=None
        Of the cluster; None is the current one.
    progress : callable or None, default=None
        Called with the tasks that are done, and all that are known of.

    Returns
    -------
    estimator
        Fitted.

    Raises
    ------
    ValueError
        If its parameters ask for what only one machine can do.
    ClusterError
        If the workers cannot do it.

    Examples
    --------
    >>> import dask.array as da
    >>> import patchfold as pf
    >>> from patchfold.cluster import connect, fit
    >>> from sklearn.datasets import load_wine
    >>> X = load_wine().data
    >>> with connect("local", n_workers=1):
    ...     model = fit(pf.PatchIsomap(), da.from_array(X, chunks=(50, 13)))
    >>> bool((model.embedding_ == pf.PatchIsomap().fit(X).embedding_).all())
    True
    """
    client = client or _current_client()
    _check_estimator(estimator)
    X, y = _gathered(X), _gathered(y)
    data = estimator._check_input(X, y)
    if sp.issparse(data.X):
        raise ValueError(
            "a cluster fits dense samples, and X is sparse: use the estimator's own "
            "`fit`, or reduce the features first, for example by TruncatedSVD of "
            "scikit-learn."
        )
    count = data.n_neighbors
    _check_size(count, data.X.shape[0])
    algorithm = estimator.neighbors_algorithm
    search = open_search(algorithm, data.X, count, None, estimator.n_jobs)
    counter = _Counter(progress)
    found = _search(client, data.X, count, search, counter)
    compare = partial(_compare, client, counter)
    source = open_source(estimator, data, search=search, found=found, compare=compare)
    return estimator._fit_source(source, NUMPY)


def _current_client() -> Any:
    distributed = require_dask()
    try:
        return distributed.get_client()
    except ValueError:
        raise ClusterError(
            "there is no Dask client: make one, or use patchfold.cluster.connect."
        ) from None


def _check_estimator(estimator: Any) -> None:
    """Raise an error for an estimator that cannot be fitted on a cluster."""
    if not isinstance(estimator, PatchEmbedding):
        raise ValueError(
            "a cluster fits PatchIsomap, PatchEigenmaps, PatchLLE, PatchProjection and "
            f"CauchyEmbedding. Got {type(estimator).__name__} instead: use its own "
            "`fit`."
        )
    check_parameters(estimator)
    size, algorithm = estimator.n_neighbors, estimator.neighbors_algorithm
    refused = {
        f"n_neighbors={size!r}": size is None or isinstance(size, str),
        "dissimilarity='precomputed'": is_precomputed(estimator),
        f"metric={estimator.metric!r}": not has_euclidean_metric(estimator),
        "adaptive_patches=True": estimator.adaptive_patches,
        "a KNN transformer": not isinstance(algorithm, str),
    }
    for words, asked in refused.items():
        if asked:
            raise ValueError(
                f"{words} is for one machine: use `fit`, or give a number of "
                "neighbours, samples, patches of one size and one of our own searches."
            )


def _check_size(n_neighbors: int, n: int) -> None:
    """Refuse a graph that is nearly complete: it is compared in another way."""
    if MOST * n_neighbors > n:
        raise ValueError(
            f"n_neighbors={n_neighbors} must be at most an eighth of the n_samples={n} "
            "for a cluster: the graph itself is what takes the memory then. Use `fit`, "
            "or lower n_neighbors."
        )


def _gathered(X: Any) -> Any:
    """Bring a Dask collection here."""
    from dask import is_dask_collection

    return X.compute() if is_dask_collection(X) else X


class _Counter:
    """Counts the tasks of both stages for one bar."""

    def __init__(self, progress: Callable[[int, int], None] | None) -> None:
        self._progress, self._done, self._total = progress, 0, 0

    def expect(self, count: int) -> None:
        self._total += count

    def advance(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)


def _search(
    client: Any, X: np.ndarray, n_neighbors: int, search: Any, counter: _Counter
) -> Neighborhoods:
    """Search the neighbours of blocks of rows against all samples."""
    n = X.shape[0]
    blocks = [range(start, min(start + ROWS, n)) for start in range(0, n, ROWS)]
    counter.expect(len(blocks))
    indices = np.empty((n, n_neighbors), dtype=np.intp)
    distances = np.empty((n, n_neighbors))
    shared = (X, n_neighbors, search)
    for place, found in run_tasks(client, _search_rows, shared, blocks):
        rows = slice(blocks[place].start, blocks[place].stop)
        indices[rows], distances[rows] = found.indices, found.distances
        counter.advance()
    return Neighborhoods(indices, distances)


def _search_rows(shared: tuple[np.ndarray, int, Any], rows: range) -> Neighborhoods:
    X, n_neighbors, search = shared
    own = np.asarray(rows)
    return find_query_neighbors(X[own], X, n_neighbors, search=search.index, own=own)


def _compare(
    client: Any, counter: _Counter, patches: PatchesOnDemand, pairs: Pairs
) -> EdgeValues:
    """Compare the patches of blocks of edges, each where its patches are fitted."""
    blocks = _cut_edges(patches, pairs)
    counter.expect(len(blocks))
    kind = np.int32 if pairs.n_samples < 2**31 else np.int64
    ends = [
        (pairs.source[block].astype(kind), pairs.target[block].astype(kind))
        for block in blocks
    ]
    whole: dict[str, np.ndarray] = {}
    for place, values in run_tasks(client, _compare_edges, patches, ends):
        for name, part in vars(values).items():
            if part is not None:
                rows = whole.setdefault(name, np.empty(pairs.source.size))
                rows[blocks[place]] = part
        counter.advance()
    return EdgeValues(**whole)


def _compare_edges(
    patches: PatchesOnDemand, ends: tuple[np.ndarray, np.ndarray]
) -> EdgeValues:
    return patches.compare_ends(*ends)


def _cut_edges(patches: PatchesOnDemand, pairs: Pairs) -> list[np.ndarray]:
    """Cut the edges into blocks whose patches fit in a task.

    A patch is fitted in every block that has one of its edges, so samples are first put
    in an order in which neighbours are close. The cut depends on the samples alone,
    never on the cluster.
    """
    n, source, target = pairs.n_samples, pairs.source, pairs.target
    ones = np.ones(source.size, dtype=np.int8)
    graph = sp.coo_array((ones, (source, target)), shape=(n, n)).tocsr()
    _, place = cache_order((graph + graph.T).tocsr())
    by_place = np.argsort(np.minimum(place[source], place[target]), kind="stable")
    most = max(2, int(PATCH_BYTES / (3 * patches.bytes_each)))
    waiting, blocks = [by_place], []
    while waiting:
        block = waiting.pop()
        ends = np.concatenate([source[block], target[block]])
        if block.size > 1 and np.unique(ends).size > most:
            half = block.size // 2
            waiting += [block[half:], block[:half]]
        else:
            blocks.append(np.sort(block))
    return blocks
