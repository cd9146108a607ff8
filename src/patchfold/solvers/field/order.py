"""Samples -> an order that depends on their values, not on the order they came in.

Sums, random draws and ties depend on the order of rows. CauchyMap works in an order of
its own, so that rows that occur once get the same coordinates, bit for bit, in whatever
order they are passed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...backends.backend import on_any_device
from ...backends.native.field import hash_rows
from ...neighbors.sparse_metric import row_keys as sparse_row_keys

LEVELS = 2**16
"""Steps of a coordinate that the order along a curve can tell apart."""


@on_any_device
def row_keys(X: Any) -> np.ndarray:
    """Return a 64-bit key (n,) of each row; equal rows have equal keys."""
    return sparse_row_keys(X) if sp.issparse(X) else hash_rows(X)


@on_any_device
def hash_order(X: Any) -> np.ndarray:
    """Return an order (n,) of rows by a 64-bit hash of their values.

    Different rows with equal hashes would stay in the order of the input; among a
    million rows that has a probability of 3e-8.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    >>> bool((X[hash_order(X)] == X[::-1][hash_order(X[::-1])]).all())
    True
    """
    return np.argsort(row_keys(X), kind="stable")


@on_any_device
def in_input_order(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return rows of ours in the order of the input, in double precision."""
    placed = np.empty(values.shape)
    placed[order] = values
    return placed


def matrix_order(D: Any) -> np.ndarray:
    """Return an order (n,) of the samples of a matrix of dissimilarities.

    Samples are told apart by the values of their rows, in ascending order. Samples
    whose rows have the same values stay in the order of the input.
    """
    if not sp.issparse(D):
        return hash_order(np.sort(D, axis=1))
    row = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    ascending = np.lexsort([D.data, row])
    row, values = row[ascending], D.data[ascending]
    sums = [np.bincount(row, values**p, D.shape[0]) for p in range(3)]
    return hash_order(np.column_stack(sums))


@on_any_device
def curve_order(Y: np.ndarray) -> np.ndarray:
    """Return an order (n,) of points in the plane along a Z-shaped curve.

    Points that follow each other are near each other, so that loops over neighbours
    read memory that is in cache. Equal points stay in order.

    Examples
    --------
    >>> import numpy as np
    >>> curve_order(np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])).tolist()
    [0, 2, 3, 1]
    """
    low, width = Y.min(axis=0), np.ptp(Y, axis=0)
    unit = np.divide(LEVELS - 1, width, out=np.zeros_like(width), where=width > 0)
    steps = ((Y - low) * unit).astype(np.uint64)
    key = _spaced(steps[:, 0]) << np.uint64(1) | _spaced(steps[:, 1])
    return np.argsort(key, kind="stable")


def _spaced(bits: np.ndarray) -> np.ndarray:
    """Put a zero between the 16 bits of each number."""
    for shift, mask in (
        (8, 0x00FF00FF),
        (4, 0x0F0F0F0F),
        (2, 0x33333333),
        (1, 0x55555555),
    ):
        bits = (bits | bits << np.uint64(shift)) & np.uint64(mask)
    return bits
