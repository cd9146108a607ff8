"""Distances, and the nearest of all samples (`neighbors.c`).

Differences give distances to the last digit, also among points that are close and far
from the origin. The K nearest of each row are chosen by squared distance; ties go by
index. See `loops.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..backend import Array, array_namespace
from ..threads import map_blocks
from .loops import aligned_zeros, as_kind, check_places, is_plain, loops, pairs_at_once

TIE_BITS = 40
"""Squared distances that agree to this many binary digits are ties."""

_DROPPED = 53 - TIE_BITS  # of the 53 binary digits of a float

GROUP = 16
"""Samples that the loops compare at once."""

MOST_NEIGHBORS = 32
"""Neighbours that `nearest_members` finds, among 64 bins of samples."""

MOST_LISTED = 128
"""Candidates of a query among which `nearest_listed` finds the nearest."""

FEW_LOOPS = 300
"""Up to this many samples all pairs are compared by plain matrix products ..."""

FEATURES = 100
"""... which beyond this many features are faster than loops in single precision."""

SMALLEST = 2.0**-100
"""Largest squared norm from which single precision rounds relatively, at least."""

BEHIND = 3
"""Groups that are read behind the last one, and must be there."""


def in_groups(
    rows: np.ndarray,
    size: int = GROUP,
    dtype: Any = np.float32,
    *,
    fill: float = np.inf,
    behind: int = BEHIND,
) -> np.ndarray:
    """Put rows (n, m) in groups of a size, number by number: (groups, m, size).

    `fill` fills the last group, and `behind` groups more.
    """
    n, m = rows.shape
    n_groups = -(-n // size) + behind
    filled = np.full((n_groups * size, m), fill, dtype)
    filled[:n] = rows
    groups = aligned_zeros((n_groups, m, size), dtype)
    groups[...] = filled.reshape(n_groups, size, m).transpose(0, 2, 1)
    return groups


class Members(NamedTuple):
    """Samples, laid out for `nearest_members`.

    Attributes
    ----------
    rows : array (n, m)
        The rows.
    points : float32 array (g + BEHIND, m, GROUP)
        The same from their center, in groups, feature by feature.
    norms : float32 array (n,)
        Their squared norms.
    center : array (m,)
        Mean of the rows.
    """

    rows: np.ndarray
    points: np.ndarray
    norms: np.ndarray
    center: np.ndarray


def lay_out(rows: np.ndarray) -> Members | None:
    """Lay rows out for `nearest_members`; None where it cannot search them, or slowly.

    Or where single precision has no room for them.
    """
    if loops() is None or rows.shape[0] <= FEW_LOOPS or rows.shape[1] > FEATURES:
        return None
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    center = rows.mean(axis=0)
    points = rows - center
    squared = np.einsum("ij,ij->i", points, points)
    if not SMALLEST < squared.max() < np.finfo(np.float32).max / 16:
        return None  # too large; or so small that squares lose their digits
    return Members(rows, in_groups(points), squared.astype(np.float32), center)


def nearest_members(
    members: Members,
    queries: np.ndarray,
    near: np.ndarray,
    squared: np.ndarray,
    rows: slice,
) -> None:
    """Write the nearest members of some queries, and their squared distances; (q, K).

    Ties go by index. A row of -1 is left open by rounding, and must be searched
    otherwise. Neighbours are at most `MOST_NEIGHBORS`.
    """
    ours, places = as_kind(queries[rows], np.float64), (near[rows], squared[rows])
    loops().nearest_members(ours, *members, *places)


def squared_distances(
    queries: np.ndarray,
    X: np.ndarray,
    row: np.ndarray,
    column: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Squared distances of listed pairs, from differences: exact for near points."""

    def measure(block: slice) -> np.ndarray:
        return squared_gaps(queries, X, row[block], column[block])

    if loops() is not None:  # loops copy nothing, if rows are rows in memory
        queries, X = np.ascontiguousarray(queries), np.ascontiguousarray(X)
        found = map_blocks(measure, row.size, 0, n_jobs, step=pairs_at_once(X.shape[1]))
    else:  # small blocks: differences are read again from the nearest cache
        found = map_blocks(measure, row.size, 200 * X.shape[1], n_jobs)
    return np.concatenate([np.empty(0), *found])


def squared_distances_to(
    queries: np.ndarray,
    X: np.ndarray,
    columns: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Squared distances (q, c) of each query to its own row of candidates.

    Index -1 means no candidate; its distance is inf.
    """
    q, c = columns.shape
    row, column = np.repeat(np.arange(q), c), np.maximum(columns, 0).ravel()
    squared = squared_distances(queries, X, row, column, n_jobs=n_jobs).reshape(q, c)
    squared[columns < 0] = np.inf
    return squared


def squared_gaps(
    left: np.ndarray, right: np.ndarray, row: np.ndarray, column: np.ndarray
) -> np.ndarray:
    """Return |left[row[e]] - right[column[e]]|² for every e."""
    if loops() is None or not (is_plain(left) and is_plain(right)):
        check_places(left.shape[0], row)
        check_places(right.shape[0], column)
        gaps = right[column]
        gaps -= left[row]
        return np.einsum("ij,ij->i", gaps, gaps)
    squared = np.empty(row.size)
    pairs = as_kind(row, np.int64), as_kind(column, np.int64)
    loops().squared_gaps(left, right, *pairs, squared)
    return squared


def all_squared_gaps(queries: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return |queries[i] - X[j]|² for all pairs, (q, n), feature by feature."""
    features = np.ascontiguousarray(X.T)
    if loops() is None or features.dtype != np.float64 or not is_plain(queries):
        squared = np.zeros((queries.shape[0], X.shape[0]))
        for ours, theirs in zip(queries.T, features, strict=True):
            gap = ours[:, None] - theirs
            gap *= gap
            squared += gap
        return squared
    squared = np.empty((queries.shape[0], X.shape[0]))
    loops().all_squared_gaps(queries, features, squared)
    return squared


def first_of_each_row(
    column: np.ndarray, squared: np.ndarray, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Keep the first K candidates of each row by (distance, index).

    Parameters
    ----------
    column : int array (q, c)
        Candidates, ascending in each row.
    squared : array (q, c)
        Their squared distances; infinite for a place that holds no candidate.
    n_neighbors : int
        How many to keep, at most c.

    Returns
    -------
    column, squared : arrays (q, K)
        Nearest first.

    Examples
    --------
    >>> import numpy as np
    >>> column, squared = np.array([[3, 5, 8]]), np.array([[2.0, 1.0, 1.0 + 1e-15]])
    >>> first_of_each_row(column, squared, 2)[0].tolist()
    [[5, 8]]
    """
    order, squared = nearest_first(squared, n_neighbors)
    return np.take_along_axis(column, order, axis=1), squared


def nearest_listed(
    queries: np.ndarray,
    X: np.ndarray,
    columns: np.ndarray,
    own: np.ndarray | None,
    n_neighbors: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest candidates (q, K) of each query, and squared distances.

    Where there are fewer than K, they end with an index of no meaning and inf.

    Parameters
    ----------
    queries : array (q, m)
        Rows.
    X : array (n, m)
        Samples.
    columns : int array (q, c)
        Candidates, ascending in each row; -1 is none.
    own : int array (q,) or None
        A sample that is left out of each row.
    n_neighbors : int
        How many, at most c.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> columns = np.array([[-1, 0, 1, 2]])
    >>> nearest_listed(X[:1], X, columns, np.array([0]), 2)[0].tolist()
    [[1, 2]]
    """
    few = columns.shape[1] <= MOST_LISTED and X.shape[0] < 2**31
    if loops() is None or not (few and is_plain(queries) and is_plain(X)):
        squared = squared_distances_to(queries, X, columns)
        if own is not None:
            squared[columns == own[:, None]] = np.inf
        return first_of_each_row(columns, squared, n_neighbors)
    found = np.empty((queries.shape[0], n_neighbors), np.int64)
    squared = np.empty(found.shape)
    left_out = np.empty(0, np.int64) if own is None else as_kind(own, np.int64)
    listed = as_kind(columns, np.int64)
    loops().nearest_listed(queries, X, listed, left_out, found, squared)
    return found, squared


def without_selves(
    indices: np.ndarray, squared: np.ndarray, own: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Leave out of each row what the query is itself, or else the last.

    Examples
    --------
    >>> import numpy as np
    >>> found = np.array([[0, 1, 2], [0, 1, 2]])
    >>> without_selves(found, np.zeros((2, 3)), np.array([1, 7]))[0].tolist()
    [[0, 2], [0, 1]]
    """
    keep = indices != own[:, None]
    keep[keep.all(axis=1), -1] = False
    shape = indices.shape[0], indices.shape[1] - 1
    return indices[keep].reshape(shape), squared[keep].reshape(shape)


def nearest_first(
    squared: np.ndarray, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return places and values (q, K) of the K smallest of each row; ties by place.

    A key and its place fit into one integer, unless rows are long: to sort these is
    faster than to sort places, and leaves nothing to choose among equal keys.

    Examples
    --------
    >>> import numpy as np
    >>> places, squared = nearest_first(np.array([[2.0, 1.0, 2.0]]), 2)
    >>> places.tolist(), squared.tolist()
    ([[1, 0]], [[1.0, 2.0]])
    """
    n_places = squared.shape[1]
    bits = (n_places - 1).bit_length()
    if bits > _DROPPED + 1:  # a distance has no sign
        order = np.argsort(tie_keys(squared), axis=1, kind="stable")[:, :n_neighbors]
        return order, np.take_along_axis(squared, order, axis=1)
    compiled = loops() is not None and is_plain(squared)
    if compiled:
        keys = np.empty(squared.shape, np.uint64)
        loops().keys_of_rows(squared, keys, _DROPPED, bits)
    else:
        keys = tie_keys(squared).view(np.uint64)
        keys <<= np.uint64(bits)
        keys |= np.arange(n_places, dtype=np.uint64)
    keys.sort(axis=1)
    if n_neighbors > n_places:
        raise IndexError(f"{n_neighbors} of {n_places} keys in a row")
    if not compiled:
        order = (keys[:, :n_neighbors] & np.uint64((1 << bits) - 1)).view(np.int64)
        return order, np.take_along_axis(squared, order, axis=1)
    places = np.empty((squared.shape[0], n_neighbors), np.int64)
    found = np.empty(places.shape)
    loops().read_keys(keys, squared, places, found, bits)
    return places, found


def tie_keys(squared: Array) -> Array:
    """Round to `TIE_BITS` digits, half to even, as integers in the order of the floats.

    The bits of a float >= 0, read as an integer, are in the order of the floats.
    """
    if isinstance(squared, np.ndarray):
        bits = np.ascontiguousarray(squared, dtype=np.float64).view(np.int64)
    else:  # a tensor
        bits = squared.view(array_namespace(squared).int64)
    keys = bits >> _DROPPED
    keys &= 1
    keys += bits
    keys += (1 << (_DROPPED - 1)) - 1
    keys >>= _DROPPED
    return keys
