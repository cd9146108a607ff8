"""Rows of which many are equal: the distinct ones, and what is nearest to them."""

from __future__ import annotations

from typing import NamedTuple

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


class DistinctRows(NamedTuple):
    """Which rows of a table are equal.

    Attributes
    ----------
    first : int array (d,)
        Where each distinct row occurs first, ascending.
    label : int array (n,)
        Which of the distinct rows each row is.
    members : int array (n,)
        All rows, those that are equal side by side, ascending among themselves.
    starts : int array (d + 1,)
        Where in `members` those of each distinct row begin.
    """

    first: np.ndarray
    label: np.ndarray
    members: np.ndarray
    starts: np.ndarray


def find_distinct(X: np.ndarray) -> DistinctRows | None:
    """Find the distinct rows; None if rows that differ have the same hash.

    Parameters
    ----------
    X : float64 array (n, m)
        The table.

    Examples
    --------
    >>> import numpy as np
    >>> rows = find_distinct(np.array([[1.0], [0.0], [1.0]]))
    >>> rows.first.tolist(), rows.label.tolist(), rows.members.tolist()
    ([0, 1], [0, 1, 0], [0, 2, 1])
    """
    _, first, group = np.unique(_hash(X), return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    first, label = first[order], number[group]
    if not (X[first[label]] == X).all():
        return None
    starts = np.concatenate([[0], np.cumsum(np.bincount(label))])
    return DistinctRows(first, label, np.argsort(label, kind="stable"), starts)


def _hash(X: np.ndarray) -> np.ndarray:
    """Return a number for each row that two rows seldom share."""
    rng = np.random.default_rng(0)
    factors = np.array(rng.integers(0, 2**62, X.shape[1]), dtype=np.uint64)
    factors = np.uint64(2) * factors + np.uint64(1)
    total = np.zeros(X.shape[0], dtype=np.uint64)
    for number in range(X.shape[1]):
        bits = (X[:, number] + 0.0).view(np.uint64)  # not -0
        bits ^= bits >> np.uint64(32)  # simple numbers have their digits in front
        bits *= np.uint64(0x9E3779B97F4A7C15)
        bits ^= bits >> np.uint64(29)
        bits *= factors[number]
        total += bits
    return total
