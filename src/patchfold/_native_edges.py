"""Loops in C over the edges of a graph (`_edges.c`), and arrays; see `_native.py`."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ._native import as_kind, loops


def mirror_edges(
    n: int, source: np.ndarray, target: np.ndarray, values: np.ndarray
) -> sp.csr_array:
    """Return the symmetric sparse matrix of edges, zeros stored, rows ascending.

    Edges are sorted by (source, target), source < target.
    """
    kind = np.int32 if max(n, 2 * source.size) < 2**31 else np.int64
    if loops() is None or kind is np.int64 or values.dtype != np.float64:
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
        as_kind(source, np.int64),
        as_kind(target, np.int64),
        as_kind(values, np.float64),
    )
    loops().mirror_edges(*edges, pointer, column, data)
    return sp.csr_array((data, column, pointer), shape=(n, n))


def unite_relations(
    n: int, row: np.ndarray, column: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """List the pairs of which either is the other's neighbour, source < target, sorted.

    In a table of all pairs: for relations of many of them.
    """
    table = np.zeros((n, n), dtype=bool)
    if loops() is None:
        table[row, column] = True
        table |= table.T
        source, target = np.nonzero(np.triu(table, k=1))
        return source, target
    source, target = np.empty((2, row.size + 1), np.int64)
    relation = as_kind(row, np.int64), as_kind(column, np.int64)
    count = loops().unite_relations(table, *relation, source, target, n)
    return source[:count], target[:count]


def label_pieces(
    n: int, source: np.ndarray, target: np.ndarray
) -> tuple[int, np.ndarray]:
    """Count and label the connected components of n samples, those of edges together.

    Labels are in the order of the smallest sample of each.
    """
    if loops() is None:
        graph = sp.coo_array((np.ones(source.size), (source, target)), shape=(n, n))
        return connected_components(graph, directed=False)
    labels = np.empty(n, np.int32)
    edges = as_kind(source, np.int64), as_kind(target, np.int64)
    return loops().label_pieces(*edges, labels), labels
