"""Nearest distinct rows -> nearest rows, where many rows are equal."""

from __future__ import annotations

import numpy as np

from ..backends.distances import in_rows
from ..backends.native.neighbors import first_of_each_row, tie_keys


def expand_neighbors(
    members: np.ndarray,
    starts: np.ndarray,
    indices: np.ndarray,
    squared: np.ndarray,
    n_neighbors: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the K nearest rows of queries from their nearest distinct rows.

    Parameters
    ----------
    members : int array (n,)
        All rows, those that are equal side by side, ascending among themselves.
    starts : int array (d + 1,)
        Where in `members` those of each distinct row begin.
    indices : int array (q, c)
        The nearest distinct rows, ties by number: K of them, or all.
    squared : array (q, c)
        Their squared distances.
    n_neighbors : int
        How many neighbours K.

    Returns
    -------
    column, squared : arrays (q, K)
        Nearest first; ties go to the lower index. Of rows at the same distance, the t
        lowest are among the t distinct rows that occur first: no others are needed.
    """
    counts = np.minimum(np.diff(starts), n_neighbors)[indices]
    keys = tie_keys(squared)
    last = (np.cumsum(counts, axis=1) < n_neighbors).sum(axis=1)
    counts[keys > np.take_along_axis(keys, last[:, None], axis=1)] = 0
    row, place = np.nonzero(counts)
    counts = counts[row, place]
    each = np.repeat(np.arange(row.size), counts)
    within = np.arange(each.size) - np.repeat(np.cumsum(counts) - counts, counts)
    member = members[starts[indices[row, place]][each] + within]
    order = np.argsort(row[each] * members.size + member)
    each, member = each[order], member[order]
    far = squared[row, place][each]
    listed = in_rows(row[each], member, far, indices.shape[0])
    return first_of_each_row(*listed, n_neighbors)


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
