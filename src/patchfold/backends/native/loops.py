"""The loops in C: their table, and what the wrappers of all stages share.

`neighbors.py`, `cells.py`, `patches.py`, `class_patches.py`, `graph.py`,
`eigenvectors.py`, `field.py` and `pulls.py` call them. Every loop has a twin in NumPy
or SciPy (`TWINS`), which runs where nothing is compiled.
`tests/backends/native/test_twins.py` compares both, to rounding and but for the choice
among ties. All loops release Python's lock.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

try:
    _loops: Any = import_module("._loops", __package__)
except ImportError:  # installed where nothing compiles
    _loops = None

LAYOUT = 27
"""The version of the loops and their arguments, also in `loops.c`: raised when they
change. Compiled loops of another version are not called at all."""

if _loops is not None and getattr(_loops, "LAYOUT", 25) != LAYOUT:
    _loops = None

TWINS = {
    "squared_gaps": "backends.native.neighbors.squared_gaps",
    "all_squared_gaps": "backends.native.neighbors.all_squared_gaps",
    "keys_of_rows": "backends.native.neighbors.tie_keys",
    "read_keys": "backends.native.neighbors.nearest_first",
    "search_cells": "backends.native.cells.search_cells",
    "moments_of_patches": "patches.fitting.fit_patches",
    "nearest_members": "neighbors.exact.search_all",
    "nearest_listed": "backends.native.neighbors.nearest_listed",
    "score_patches": "posterior.local.local_score",
    "packed_products": "dissimilarity.kl.describe_kl",
    "invert_packed": "dissimilarity.kl.describe_kl",
    "kl_of_pairs": "dissimilarity.kl.compare_kl",
    "kl_of_factored_pairs": "dissimilarity.kl.compare_kl",
    "principal_directions": "dissimilarity.curvature.describe_directions",
    "singular_rows": "dissimilarity.curvature.describe_directions",
    "turns_of_pairs": "dissimilarity.curvature.compare_directions",
    "turns_of_few_pairs": "dissimilarity.curvature.compare_directions",
    "unite_relations": "backends.native.graph.unite_relations",
    "unite_neighbors": "backends.native.graph.unite_relations",
    "mirror_edges": "backends.native.graph.mirror_edges",
    "add_mirrored": "backends.native.graph.add_mirrored",
    "reorder_rows": "backends.native.graph.reorder",
    "shortest_paths": "backends.native.graph.shortest_paths",
    "paths_of_groups": "backends.native.graph.paths_of_groups",
    "check_matrix": "backends.native.eigenvectors.sparse_times",
    "sparse_times": "backends.native.eigenvectors.sparse_times",
    "recur": "backends.native.eigenvectors.recur",
    "orthogonalize": "backends.native.eigenvectors.orthogonalize",
    "take_out": "backends.native.eigenvectors.take_out",
    "multiply": "backends.native.eigenvectors.multiply",
    "symmetric_times": "backends.native.eigenvectors.symmetric_times",
    "hash_rows": "backends.native.field.hash_rows",
    "calibrate": "backends.native.field.calibrate",
    "push_by_pairs": "backends.native.field.push_by_pairs",
    "spread": "backends.native.field.spread",
    "gather": "backends.native.field.gather",
    "settle_samples": "backends.native.field.settle_samples",
    "fill_eights": "backends.native.pulls.in_eights",
    "move_samples": "backends.native.pulls.move_samples",
    "stretch": "backends.native.pulls.stretch",
}
"""Every loop, and the function of the package that does the same with arrays: a wrapper
itself, or what its caller runs where the wrapper returns None."""

PAIRS = 4096
"""Listed pairs that loops work on in one go, at least."""

WORTH = 2**21
"""Numbers that are read in one go: with fewer a thread is done before others began."""


def pairs_at_once(numbers: int) -> int:
    """Return how many pairs are worked on in one go, each of which reads `numbers`."""
    return max(PAIRS, WORTH // max(numbers, 1))


def is_compiled() -> bool:
    """Say whether the loops in C are there."""
    return _loops is not None


def instruction_set() -> str:
    """Return which instructions the loops in C use; "" where they are not compiled.

    With GCC on Linux and x86-64 they are chosen for the processor when the loops are
    loaded. Elsewhere they are those that every processor of the platform has.
    """
    return getattr(_loops, "INSTRUCTIONS", "") if _loops is not None else ""


def loops() -> Any:
    """Return the loops in C; None where they are not compiled."""
    return _loops


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


def aligned_zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return zeros that begin where a line of cache does: 64 bytes."""
    kind = np.dtype(dtype)
    n_bytes = math.prod(shape) * kind.itemsize
    room = np.zeros(n_bytes + 64, dtype=np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + n_bytes].view(kind).reshape(shape)


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
