"""Edges -> shortest paths: from some samples, or between all of them.

Between all samples they are found in two steps, and exactly. From nearly half of the
samples, those with the most edges, by Dijkstra's algorithm. A path from one of the
others soon meets one of these, so a few sweeps d_i = min_j (l_ij + d_j) over neighbours
find the rest: plain array operations on many targets at once, in threads, until a sweep
changes nothing, which is true of the shortest paths only.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra, reverse_cuthill_mckee

from ._blocks import map_blocks

FEW = 1000
"""Up to this many samples every path is found by Dijkstra's algorithm."""

HUBS = 0.45
"""Part of the samples that paths are searched from."""

MANY = 50_000
"""Beyond this many, samples are put in an order in which neighbours are close in
memory: of a million, a search then takes .5 s instead of .9."""

CHUNK = 256
"""Rows of one step of a sweep: with 64 targets or so, they stay in cache."""

MAX_SWEEPS = 50
"""Targets that need more (long chains of samples) are left to Dijkstra's algorithm."""


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

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> chain = sp.csr_array([[0.0, 1, 0], [1, 0, 2], [0, 2, 0]])
    >>> geodesics(chain)
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    """
    n = graph.shape[0]
    if sources is None and n > FEW:
        return _all_pairs(graph, n_jobs)
    sources = np.arange(n) if sources is None else sources
    lengths = np.empty((sources.size, n))
    rows = np.arange(sources.size)
    if n <= MANY:
        _search(graph, sources, lengths, rows)
        return lengths
    order = reverse_cuthill_mckee(graph, symmetric_mode=True)
    place = np.empty_like(order)
    place[order] = np.arange(n, dtype=order.dtype)
    _search(graph[order][:, order], place[sources], lengths, rows)
    return np.take(lengths, place, axis=1)


def _search(
    graph: sp.csr_array, sources: np.ndarray, lengths: np.ndarray, rows: np.ndarray
) -> None:
    """Write the path lengths from the sources into rows of `lengths`.

    In blocks, for memory; not in threads, which SciPy's search does not allow.
    """

    def search(block: slice) -> None:
        lengths[rows[block]] = dijkstra(graph, indices=sources[block])

    map_blocks(search, sources.size, 8 * graph.shape[0])


def _all_pairs(graph: sp.csr_array, n_jobs: int | None) -> np.ndarray:
    n = graph.shape[0]
    # Of equal degrees a shuffled half, or a chain would have one long end without any.
    shuffled = np.random.RandomState(0).permutation(n)
    by_degree = shuffled[np.argsort(-np.diff(graph.indptr)[shuffled], kind="stable")]
    cut = int(HUBS * n)
    hubs, rest = np.sort(by_degree[:cut]), np.sort(by_degree[cut:])
    lengths = np.empty((n, n))
    _search(graph, hubs, lengths, hubs)
    to_hubs, among = _Links(graph[rest][:, hubs]), _Links(graph[rest][:, rest])

    def sweep(block: slice) -> None:
        targets = rest[block]
        known = lengths[np.ix_(hubs, targets)]
        found = np.full((rest.size, targets.size), np.inf)
        found[np.arange(block.start, block.stop), np.arange(targets.size)] = 0.0
        to_hubs.lower(found, known, np.ones(rest.size, dtype=bool))
        moving = among.counts > 0
        for _ in range(MAX_SWEEPS):
            moved = among.lower(found, found, moving)
            moving = among.touching(moved)
            if not moving.any():
                break
        else:
            found = dijkstra(graph, indices=targets)[:, rest].T
        lengths[targets[:, None], hubs] = known.T
        lengths[targets[:, None], rest] = found.T

    map_blocks(sweep, rest.size, 8 * n, n_jobs)
    return lengths


class _Links:
    """Edges from the rows of a sparse matrix, taken one per row at a time."""

    def __init__(self, matrix: sp.csr_array) -> None:
        self.matrix = matrix.tocsr()
        self.counts = np.diff(self.matrix.indptr)
        self.order = np.argsort(-self.counts, kind="stable")

    def lower(
        self, best: np.ndarray, there: np.ndarray, wanted: np.ndarray
    ) -> np.ndarray:
        """Lower `best` to the shortest way over one edge; say which rows fell."""
        fell = np.zeros(best.shape[0], dtype=bool)
        rows = self.order[wanted[self.order]]
        shape = (min(CHUNK, rows.size), best.shape[1])
        steps, scratch = np.empty(shape), np.empty(shape)
        for start in range(0, rows.size, CHUNK):
            some = rows[start : start + CHUNK]
            before = best[some]
            after = steps[: some.size]
            after[:] = before
            self._lower_chunk(after, there, some, scratch)
            fell[some] = (after < before).any(axis=1)
            best[some] = after
        return fell

    def _lower_chunk(
        self,
        best: np.ndarray,
        there: np.ndarray,
        rows: np.ndarray,
        scratch: np.ndarray,
    ) -> None:
        """Take the k-th edge of every row that has one: the first so many of `rows`."""
        counts = self.counts[rows]
        first = self.matrix.indptr[rows]
        for k in range(counts[0]):
            n_rows = np.searchsorted(-counts, -k, side="left")
            edges = first[:n_rows] + k
            over = scratch[:n_rows]
            # "clip" only spares a copy: no index is out of bounds.
            np.take(there, self.matrix.indices[edges], axis=0, out=over, mode="clip")
            over += self.matrix.data[edges, None]
            np.minimum(best[:n_rows], over, out=best[:n_rows])

    def touching(self, marked: np.ndarray) -> np.ndarray:
        """Mark the rows with an edge to a marked one."""
        pattern = np.add.reduceat(
            np.append(marked[self.matrix.indices], False).astype(np.int32),
            self.matrix.indptr[:-1],
        )
        return (pattern > 0) & (self.counts > 0)
