"""Edges, matrices and paths of a graph (`graph.c`, `paths.c`).

See `loops.py`.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from ..backend import on_any_device
from .loops import as_kind, can_read, check_places, loops, parts_of


@on_any_device
def mirror_edges(
    n: int, source: np.ndarray, target: np.ndarray, values: np.ndarray
) -> sp.csr_array:
    """Return the symmetric sparse matrix of edges, zeros stored, rows ascending.

    Edges are sorted by (source, target), source < target.
    """
    kind = np.int32 if max(n, 2 * source.size) < 2**31 else np.int64
    if loops() is None or kind is np.int64 or values.dtype != np.float64:
        check_places(n, source, target)
        counts = np.bincount(source, minlength=n)
        pointer = np.concatenate([[0], np.cumsum(counts)]).astype(kind)
        above = sp.csr_array((values, target.astype(kind), pointer), shape=(n, n))
        turned = above.tocsc()
        parts = turned.data, turned.indices, turned.indptr
        # A row is what is left of the diagonal, then what is right of it.
        both = sp.hstack([sp.csr_array(parts, shape=(n, n)), above], format="csr")
        column = both.indices
        np.subtract(column, n, out=column, where=column >= n)
        return sp.csr_array((both.data, column, both.indptr), shape=(n, n))
    pointer, column = np.empty(n + 1, kind), np.empty(2 * source.size, kind)
    data = np.empty(2 * source.size)
    edges = (
        as_kind(source, np.int32),
        as_kind(target, np.int32),
        as_kind(values, np.float64),
    )
    loops().mirror_edges(*edges, pointer, column, data)
    return sp.csr_array((data, column, pointer), shape=(n, n))


DENSE = 8
"""A relation of more than 1 / `DENSE` of all pairs is put in a table of all."""

SPARSE = 64
"""The loop takes at most this many samples for each relation: both take memory."""


@on_any_device
def unite_relations(
    n: int, row: np.ndarray, column: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """List the pairs of which either is the other's neighbour, source < target, sorted.

    Rows ascend, and no sample is a neighbour of itself. Where loops find them, indices
    have 32 bits: of many edges they are a good part of the memory.
    """
    is_dense = row.size > n * n // DENSE
    if loops() is None or n >= 2**31 or n // SPARSE > row.size:
        return _unite_in_arrays(n, row, column, is_dense)
    source, target = np.empty((2, row.size + 1), np.int32)
    relation = as_kind(row, np.int32), as_kind(column, np.int32)
    unite = loops().unite_relations if is_dense else loops().unite_neighbors
    count = unite(*relation, source, target, n)
    return source[:count], target[:count]


def _unite_in_arrays(
    n: int, row: np.ndarray, column: np.ndarray, is_dense: bool
) -> tuple[np.ndarray, np.ndarray]:
    check_places(n, row, column)
    if is_dense:
        table = np.zeros((n, n), dtype=bool)
        table[row, column] = True
        table |= table.T
        source, target = np.nonzero(np.triu(table, k=1))
        return source, target
    key = np.minimum(row, column) * np.int64(n) + np.maximum(row, column)
    key.sort()
    first = np.ones(key.size, dtype=bool)
    np.not_equal(key[1:], key[:-1], out=first[1:])
    source, target = np.divmod(key[first], n)
    return source, target


GROUP = 16
"""Sources that `paths_of_groups` searches for at once."""


def add_mirrored(matrix: sp.csr_array, *, mean: bool = False) -> sp.csr_array:
    """Return A + Aᵀ, rows ascending, zeros stored; or the mean of each entry's parts.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> table = sp.csr_array(np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 0.0], [0, 0, 0]]))
    >>> add_mirrored(table).toarray().tolist()
    [[0.0, 3.0, 4.0], [3.0, 0.0, 0.0], [4.0, 0.0, 0.0]]
    >>> add_mirrored(table, mean=True).toarray().tolist()
    [[0.0, 1.5, 4.0], [1.5, 0.0, 0.0], [4.0, 0.0, 0.0]]
    """
    if not _is_narrow(matrix) or 2 * matrix.nnz >= 2**31:
        counted = sp.csr_array((1 + 1j * matrix.data, matrix.indices, matrix.indptr))
        counted.resize(matrix.shape)
        both = (counted + counted.T).tocsr()
        both.sum_duplicates()
        values = both.data.imag / both.data.real if mean else both.data.imag.copy()
        return sp.csr_array((values, both.indices, both.indptr), shape=matrix.shape)
    pointer, room = np.empty(matrix.shape[0] + 1, np.int32), 2 * matrix.nnz
    column, values = np.empty(room, np.int32), np.empty(room)
    places = pointer, column, values
    count = loops().add_mirrored(*parts_of(matrix), *places, int(mean))
    for part in (column, values):  # give back what is not needed, without a copy
        part.resize(count, refcheck=False)
    return sp.csr_array((values, column, pointer), shape=matrix.shape)


def reorder(matrix: sp.csr_array, order: np.ndarray, place: np.ndarray) -> None:
    """Put the rows of a matrix in an order, and column j at `place[j]`, in place.

    Entries of a row stay in the order they had: to sort them would take longer. Numbers
    come first and columns then: both in two orders would be most of a fit's memory.
    """
    if not _is_narrow(matrix):
        rows = matrix[order]
        matrix.data, matrix.indices = rows.data, place[rows.indices]
        matrix.indptr = rows.indptr
        return
    pointer, count = np.empty(order.size + 1, np.int32), matrix.nnz
    places = as_kind(order, np.int32), as_kind(place, np.int32), pointer
    column, data = np.empty(0, np.int32), np.empty(count)
    loops().reorder_rows(*parts_of(matrix), *places, column, data)
    matrix.data = data
    column, data = np.empty(count, np.int32), np.empty(0)
    loops().reorder_rows(*parts_of(matrix), *places, column, data)
    matrix.indices, matrix.indptr = column, pointer


def _is_narrow(matrix: sp.csr_array) -> bool:
    """Say whether the loops take a matrix: double precision, 32 bits an index."""
    kinds = matrix.data.dtype, matrix.indices.dtype, matrix.indptr.dtype
    narrow = kinds == (np.float64, np.int32, np.int32)
    return can_read(matrix) and narrow


def shortest_paths(graph: sp.csr_array, sources: np.ndarray) -> np.ndarray:
    """Return path lengths (s, n) from the sources; stored zeros are edges."""
    if not can_read(graph):
        if graph.nnz < 2**31:  # SciPy 1.13 takes no longer indices
            places = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
            graph = sp.csr_array((graph.data, *places), shape=graph.shape)
        return np.atleast_2d(dijkstra(graph, indices=sources))
    found = np.empty((sources.size, graph.shape[0]))
    loops().shortest_paths(*parts_of(graph), as_kind(sources, np.int32), found)
    return found


def paths_of_groups(
    graph: sp.csr_array, sources: np.ndarray, rows: np.ndarray, found: np.ndarray
) -> None:
    """Write path lengths from the sources to rows of `found` (t, n).

    They are those of `shortest_paths` to the last bit. `GROUP` sources are searched for
    at once, which is fast where sources that follow each other are near each other.
    Where it takes far more work than it should, the others are searched one by one.
    """
    if not can_read(graph):
        found[rows] = shortest_paths(graph, sources)
        return
    # Narrower buckets order vertices better, and are more to look into.
    some = graph.data[:: 1 + graph.nnz // 10_000]
    typical = np.median(some) if some.size else 0.0  # a mean may be that of one outlier
    width = typical / 4 if 1e-300 < typical < np.inf else 1.0
    chosen = as_kind(sources, np.int32), as_kind(rows, np.int32)
    done = loops().paths_of_groups(*parts_of(graph), *chosen, found, width)
    if done < sources.size:
        found[rows[done:]] = shortest_paths(graph, sources[done:])
