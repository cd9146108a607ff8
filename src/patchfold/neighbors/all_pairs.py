"""Queries and samples -> the nearest of all samples, by tables of all pairs."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ..backends.distances import Products, in_rows
from ..backends.native.neighbors import (
    TIE_BITS,
    all_squared_gaps,
    first_of_each_row,
    nearest_first,
)
from ..backends.threads import map_blocks
from ..records import Neighborhoods

MANY = 8
"""With more than one in this many samples as neighbours, all distances are sorted."""

QUERIES = 4096
"""Queries in one call of scikit-learn."""

BEYOND_TIES = 1 + 4 * 2.0**-TIE_BITS
"""No tie with a squared distance is more than this many times as large."""

Finder = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]
"""Queries and a number of candidates -> candidates, ascending in each row, and a
squared distance that whatever is no candidate has at least."""

_one_at_a_time = threading.Lock()
"""scikit-learn sets BLAS to one thread and back. Two searches at once would leave it at
one thread."""


def _renew_lock() -> None:
    """Replace the lock after a fork."""
    global _one_at_a_time
    _one_at_a_time = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def by_products(X: np.ndarray, n_jobs: int | None) -> Finder:
    """Return a function that finds candidates by scikit-learn."""
    center = X.mean(axis=0)  # products of numbers far from 0 say little
    search = NearestNeighbors(algorithm="brute", n_jobs=n_jobs).fit(X - center)

    def find(queries: np.ndarray, n_wanted: int) -> tuple[np.ndarray, np.ndarray]:
        def nearest(block: slice) -> tuple[np.ndarray, np.ndarray]:
            with _one_at_a_time:
                far, column = search.kneighbors(queries[block] - center, n_wanted)
            return column, far[:, -1]

        # scikit-learn has its own threads; the blocks are for the progress bar.
        found = map_blocks(nearest, queries.shape[0], 0, step=QUERIES)
        column, far = (np.concatenate(part) for part in zip(*found, strict=True))
        column.sort(axis=1)
        slack = Products(queries, X).slack(slice(0, queries.shape[0]))
        return column, far**2 - slack

    return find


def among_all(
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    own: np.ndarray | None,
    n_jobs: int | None,
) -> Neighborhoods:
    """Compare with every sample, one block of queries after another."""
    q, n = queries.shape[0], X.shape[0]
    # One array for both: a large one is given in large pages, which cost less.
    squared, indices = np.empty((2, q, n_neighbors))
    indices = indices.view(np.int64)
    # Of few features, most distances are found as fast feature by feature.
    few = MANY * n_neighbors <= n or (X.shape[1] > n and 2 * n_neighbors < n)
    products = Products(queries, X) if few else None

    def search(block: slice) -> None:
        ours = None if own is None else own[block]
        if products is None:
            exact = all_squared_gaps(queries[block], X)
            if ours is not None:
                exact[np.arange(ours.size), ours] = np.inf
            indices[block], squared[block] = nearest_first(exact, n_neighbors)
        else:
            indices[block], squared[block] = first_of_each_row(
                *near_in_table(products, block, ours, n_neighbors), n_neighbors
            )

    map_blocks(search, q, 48 * 8 * n, n_jobs)
    return Neighborhoods(indices, np.sqrt(squared, out=squared))


def near_in_table(
    products: Any, block: slice, own: np.ndarray | None, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find candidates by a matrix product, and their exact squared distances.

    `products` is `Products`, or another table that is read as these are.
    """
    squared = products.squared(block)
    if own is not None:
        squared[np.arange(own.size), own] = np.inf
    kth = np.partition(squared, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
    limit = np.maximum(kth, 0) * BEYOND_TIES + products.slack(block)
    row, column = np.nonzero(squared <= limit[:, None])
    exact = products.exact(row + block.start, column)
    return in_rows(row, column, exact, squared.shape[0])
