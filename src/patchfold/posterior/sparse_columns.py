"""What the columns of a sparse row add to scores: only its own and the background's do.

A column that is 0 in a row and in the background row changes nothing when it is taken
over. So each order walks through the columns in which the two differ, in the order that
a walk through all columns has.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

Score = Callable[..., np.ndarray]
"""Rows -> scores (q, C)."""

N_ORDERS = 32
"""Orders of the columns; each comes with its reverse, and a background row."""


def draw_orders(m: int) -> np.ndarray:
    """Return orders of the columns, each with its reverse: (N_ORDERS, m)."""
    rng = np.random.default_rng(0)
    half = [rng.permutation(m) for _ in range(N_ORDERS // 2)]
    return np.array([*half, *(order[::-1] for order in half)])


def share_sparse(
    score: Score, row: sp.csr_array, background: sp.csr_array
) -> tuple[np.ndarray, np.ndarray]:
    """Return the part of every column (m, C), and the mean background score (C,).

    Parameters
    ----------
    score : callable
        Rows -> scores.
    row : csr_array (1, m)
        The row.
    background : csr_array (b, m)
        Rows that it is compared with, one for each order, in turn.
    """
    m = row.shape[1]
    walks, mixed = [], []
    for k, order in enumerate(draw_orders(m)):
        start = k % background.shape[0]
        other = background[start : start + 1]
        place = np.argsort(order)
        differ = sp.csr_array(row - other)
        differ.eliminate_zeros()
        walk = differ.indices[np.argsort(place[differ.indices])]
        walks.append(walk)
        mixed.append(_mix(row, other, walk))
    scores = score(sp.csr_array(sp.vstack(mixed)))
    effects = np.zeros((m, scores.shape[1]))
    base, done = [], 0
    for walk in walks:
        steps = scores[done : done + walk.size + 1]
        effects[walk] += np.diff(steps, axis=0) / N_ORDERS
        base.append(steps[0])
        done += walk.size + 1
    return effects, np.mean(base, axis=0)


def _mix(row: sp.csr_array, other: sp.csr_array, walk: np.ndarray) -> sp.csr_array:
    """Return `other` with none, one, ... and all columns of a walk from `row`."""
    m = row.shape[1]
    steps = np.tril(np.ones((walk.size + 1, walk.size)), -1)
    ours, theirs = row[:, walk].toarray(), other[:, walk].toarray()
    # Columns in which both are equal, which no step changes; then the others.
    outside = other.copy()
    outside.data[np.isin(outside.indices, walk)] = 0
    inside = sp.csr_array(np.where(steps > 0, ours, theirs))
    parts = inside.data, walk[inside.indices], inside.indptr
    inside = sp.csr_array(parts, shape=(walk.size + 1, m))
    rest = sp.vstack([outside] * (walk.size + 1), format="csr")
    mixed = sp.csr_array(inside + rest)
    mixed.eliminate_zeros()
    return mixed


def sparse_medians(X: sp.csr_array) -> np.ndarray:
    """Return the median of every column.

    Examples
    --------
    >>> sparse_medians(sp.csr_array([[1.0, 0], [3.0, 2.0]])).tolist()
    [2.0, 1.0]
    """
    turned, n = sp.csc_array(X), X.shape[0]
    medians, ends = np.zeros(X.shape[1]), turned.indptr
    for f in np.flatnonzero(2 * np.diff(ends) >= n):
        column = np.zeros(n)
        cells = turned.data[ends[f] : ends[f + 1]]
        column[: cells.size] = cells
        medians[f] = np.median(column)
    return medians
