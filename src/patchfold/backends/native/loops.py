"""Inner loops in C (`loops.c`), and arrays in their place where they are not compiled.

Each function says in NumPy or SciPy what it computes; that is what runs without a
compiler, and what the tests hold the C against, to rounding and but for the choice
among ties. All release Python's lock.

The loops check their arguments themselves, as they declare them (`_loops.h`): types,
that arrays are contiguous, sizes against each other, and the range of indices. What
does not fit is a ValueError or an IndexError that names the loop and the argument. A
wrapper passes arrays as they are, made readable by `as_kind` and `parts_of`, and has
NumPy do what `is_plain` and `can_read` say the loops cannot read.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

try:
    _loops: Any = import_module("._loops", __package__)
except ImportError:  # installed where nothing compiles
    _loops = None

LAYOUT = 18
"""Counts the ways in which the loops were called: older ones are not called at all."""

if _loops is not None and getattr(_loops, "LAYOUT", 0) != LAYOUT:
    _loops = None

PAIRS = 4096
"""Listed pairs that loops work on in one go, at least."""

WORTH = 2**21
"""Numbers that are read in one go: with fewer a thread is done before others began."""


def pairs_at_once(numbers: int) -> int:
    """Return how many pairs are worked on in one go, if each reads so many numbers."""
    return max(PAIRS, WORTH // max(numbers, 1))


def is_compiled() -> bool:
    """Say whether the loops in C are there."""
    return _loops is not None


def loops() -> Any:
    """Return the loops in C; None where they are not compiled."""
    return _loops


def shortest_paths(graph: sp.csr_array, sources: np.ndarray) -> np.ndarray:
    """Return path lengths (s, n) from the sources; stored zeros are edges."""
    if not can_read(graph):
        if graph.nnz < 2**31:  # SciPy 1.13 takes no longer indices
            places = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
            graph = sp.csr_array((graph.data, *places), shape=graph.shape)
        return np.atleast_2d(dijkstra(graph, indices=sources))
    found = np.empty((sources.size, graph.shape[0]))
    _loops.shortest_paths(*parts_of(graph), as_kind(sources, np.int32), found)
    return found


def squared_gaps(
    left: np.ndarray, right: np.ndarray, row: np.ndarray, column: np.ndarray
) -> np.ndarray:
    """Return |left[row[e]] - right[column[e]]|² for every e."""
    if _loops is None or not (is_plain(left) and is_plain(right)):
        check_places(left.shape[0], row)
        check_places(right.shape[0], column)
        gaps = right[column]
        gaps -= left[row]
        return np.einsum("ij,ij->i", gaps, gaps)
    squared = np.empty(row.size)
    pairs = as_kind(row, np.int64), as_kind(column, np.int64)
    _loops.squared_gaps(left, right, *pairs, squared)
    return squared


def invert_packed(matrices: np.ndarray) -> np.ndarray | None:
    """Return inverses of packed positive definite matrices, packed, or None.

    Both (n, m (m + 1) / 2), upper triangles row by row; of the inverses what is off the
    diagonal is doubled, as `divergences.describe_kl` wants it. None where they must be
    found otherwise: they are not plain arrays, or not all are positive definite.
    """
    if _loops is None or not is_plain(matrices):
        return None
    inverses = np.empty_like(matrices)
    m = int(np.sqrt(2 * matrices.shape[1]))
    _loops.invert_packed(matrices, inverses, m)
    return inverses if np.isfinite(inverses).all() else None


def kl_of_pairs(
    left: tuple[Any, ...],
    right: tuple[Any, ...],
    row: np.ndarray,
    column: np.ndarray,
) -> np.ndarray | None:
    """Return what `divergences.compare_kl` does of listed pairs; None if it must do it.

    Patches are described in float64, by packed matrices or by factors. They are read
    where they are: to copy them for every pair is what takes the time of `compare_kl`.
    """
    parts = (*left, *right)
    fit = _fit_together(left) and _fit_together(right) and len(left) == len(right)
    if _loops is None or not fit or left[0].shape[1] != right[0].shape[1]:
        return None
    if len(left) == 3 and left[1].shape[1] != right[1].shape[1]:  # one is diagonal
        return None
    values = np.empty(row.size)
    pairs = as_kind(row, np.int64), as_kind(column, np.int64)
    compare = _loops.kl_of_pairs if len(left) == 3 else _loops.kl_of_factored_pairs
    compare(*parts, *pairs, values)
    return values


def _fit_together(description: tuple[Any, ...]) -> bool:
    """Say whether arrays are patches as KL describes them."""
    if not all(map(is_plain, description)) or description[0].ndim != 2:
        return False
    n, m = description[0].shape
    rank = description[1].shape[1] if description[1].ndim > 1 else 0
    shapes = [part.shape for part in description[1:]]
    if len(description) == 3:
        return rank in (m, m * (m + 1) // 2) and shapes == [(n, rank)] * 2
    return shapes == [(n, rank, m), (n, rank, rank), (n,), (n,), (n,), (n,)]


def can_read(matrix: sp.csr_array) -> bool:
    """Say whether the loops are there, and can count the entries of a matrix."""
    return _loops is not None and matrix.nnz < 2**31


def parts_of(
    matrix: sp.csr_array, kind: Any = np.float64
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what a sparse matrix consists of, as the loops want it."""
    return (
        as_kind(matrix.indptr, np.int32),
        as_kind(matrix.indices, np.int32),
        as_kind(matrix.data, kind),
    )


def aligned(values: np.ndarray) -> np.ndarray:
    """Return a contiguous copy that begins where a line of cache does: 64 bytes."""
    room = np.empty(values.nbytes + 64, dtype=np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


def as_kind(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Return numbers as the loops read them: of a type, contiguous and aligned.

    Integers do not come from floats, and no index changes where its type has room for
    less: that is an IndexError.
    """
    kind = np.dtype(dtype)
    if kind.kind == "i" and values.dtype != kind and values.size:
        if values.dtype.kind not in "iu":
            raise IndexError(f"indices must be integers, not {values.dtype}")
        if values.min() < 0 or values.max() > np.iinfo(kind).max:
            raise IndexError(f"{values.min()} to {values.max()} are no indices")
    plain = np.ascontiguousarray(values, dtype=kind)
    return plain if plain.flags.aligned else plain.copy()


def is_plain(part: Any) -> bool:
    """Say whether the loops can read it as it is."""
    return (
        isinstance(part, np.ndarray)
        and part.dtype == np.float64
        and part.flags.c_contiguous
        and part.flags.aligned
    )


def check_places(n: int, *places: np.ndarray) -> None:
    """Refuse places that are none of 0 to n - 1, where arrays stand in for a loop."""
    for which in places:
        if which.size and not 0 <= which.min() <= which.max() < n:
            raise IndexError(f"{which.min()} to {which.max()} of {n} samples")
