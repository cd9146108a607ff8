"""Edges -> shortest paths: from some samples, or from all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..backends.backend import on_any_device
from ..backends.native.graph import GROUP, paths_of_groups, reorder, shortest_paths
from ..backends.threads import map_blocks

MANY = 50_000
"""Beyond this many, samples are put in an order in which neighbours are close in
memory: of a million, a search then takes .5 s instead of .9."""

FEW = 8
"""If fewer than one sample in `FEW` is a source, paths are searched source by source:
the next one is too far away."""

TOGETHER = 4
"""Sources whose lengths are written together: those to a sample lie side by side."""

TURNED = 4096
"""Samples whose lengths from these sources are written while they stay in cache."""


@on_any_device
def geodesics(
    graph: sp.csr_array,
    sources: np.ndarray | None = None,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return shortest-path lengths from the sources (default: all) to every sample.

    Parameters
    ----------
    graph : sparse array (n, n)
        Symmetric; lengths of edges. Stored zeros are edges of length zero.
    sources : int array (s,) or None
        Where paths begin; None for everywhere.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    array (s, n)
        Lengths from given sources to a sample are side by side in memory.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> chain = sp.csr_array([[0.0, 1, 0], [1, 0, 2], [0, 2, 0]])
    >>> geodesics(chain)
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    """
    n, is_all = graph.shape[0], sources is None
    sources = np.arange(n) if sources is None else sources
    if n <= MANY and sources.size * FEW > n:
        lengths = _search_groups(graph, sources, n_jobs)
        return lengths if is_all else np.asfortranarray(lengths)
    lengths = np.empty((sources.size, n), order="C" if is_all else "F")
    if n <= MANY:
        _search(graph, sources, lengths, n_jobs)
        return lengths
    with in_cache_order(graph) as (_, place):
        _search(graph, place[sources], lengths, n_jobs, place)
    return lengths


def cache_order(graph: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return an order in which neighbours are close, and each sample's place in it."""
    order = reverse_cuthill_mckee(graph, symmetric_mode=True)
    place = np.empty_like(order)
    place[order] = np.arange(order.size, dtype=order.dtype)
    return order, place


@contextmanager
def in_cache_order(matrix: sp.csr_array) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Put a matrix in an order in which neighbours are close, and back in the end.

    It gives that order, and each sample's place in it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> chain = sp.csr_array([[0.0, 1, 0], [1, 0, 2], [0, 2, 0]])
    >>> with in_cache_order(chain) as (order, place):
    ...     print(order.tolist(), chain.data.tolist())
    [2, 1, 0] [2.0, 1.0, 2.0, 1.0]
    >>> chain.data.tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    order, place = cache_order(matrix)
    reorder(matrix, order, place)
    try:
        yield order, place
    finally:
        reorder(matrix, place, order)


def _search_groups(
    graph: sp.csr_array, sources: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    """Search from sources near each other together."""
    lengths = np.empty((sources.size, graph.shape[0]))
    _, place = cache_order(graph)
    rows = np.argsort(place[sources], kind="stable")

    def search(block: slice) -> None:
        chosen = rows[block]
        paths_of_groups(graph, sources[chosen], chosen, lengths)

    map_blocks(search, sources.size, 0, n_jobs, step=8 * GROUP)
    return lengths


def _search(
    graph: sp.csr_array,
    sources: np.ndarray,
    lengths: np.ndarray,
    n_jobs: int | None,
    place: np.ndarray | None = None,
) -> None:
    """Write lengths (s, n); `place` tells where each sample is in the graph."""
    n = graph.shape[0]

    def search(block: slice) -> None:
        found = shortest_paths(graph, sources[block])
        for start in range(0, n, TURNED):
            some = slice(start, start + TURNED)
            lengths[block, some] = found[:, some if place is None else place[some]]

    map_blocks(search, sources.size, 0, n_jobs, step=TOGETHER)
