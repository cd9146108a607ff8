"""Rows of clusters too narrow for single precision -> neighbours, a cluster at a time.

Single precision has no digits left for what is narrow and far from the middle of all
samples. From a sample inside, it has them: those around it are searched alone, by a
search that takes their own middle, and may come here again. A row is settled if
whatever was left out is beyond its K-th neighbour.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..records import Neighborhoods

ROUNDING = 2.0**-24
"""Largest relative error of a number in single precision."""

RESOLVED = 512
"""Rounding errors that a cluster is wide which is searched by itself, at most."""

FAR = 1000.0
"""Samples are far if they are this many times as far from the mean as the median."""

FEW_FAR = 128
"""Up to this many far samples are compared with every query."""

FEWEST = 256
"""Rows of a cluster that are worth a search of their own."""

CLUSTERS = 64
"""Most clusters that are looked at."""

SURE = 1 - 1e-6
"""Part of a distance that rounding and ties leave."""

Search = Callable[..., Neighborhoods]
"""Queries, samples, and `own`, which sample each query is itself -> neighbours."""


def settle_clusters(
    search: Search,
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    own: np.ndarray | None,
) -> tuple[np.ndarray, Neighborhoods]:
    """Find neighbours of rows in clusters too narrow for single precision.

    Parameters
    ----------
    search : callable
        An exact search.
    queries : array (q, m)
        Rows.
    X : array (n, m)
        Samples.
    n_neighbors : int
        How many neighbours K.
    own : int array (q,) or None
        Which sample each query is itself.

    Returns
    -------
    settled : bool array (q,)
        Of which rows the neighbours are found.
    found : Neighborhoods
        Of all rows, (q, K); not known where a row is not settled.

    Examples
    --------
    >>> from functools import partial
    >>> from patchfold.neighbors.exact import search_all
    >>> X = np.repeat([0.0, 3, 9], 300)[:, None] + 1e-9 * np.arange(900)[:, None]
    >>> search = partial(search_all, n_neighbors=2)
    >>> settled, found = settle_clusters(search, X, X, 2, np.arange(900))
    >>> bool(settled.all()), found.indices[:2].tolist()
    (True, [[1, 2], [0, 2]])
    """
    shape = queries.shape[0], n_neighbors
    found = Neighborhoods(np.zeros(shape, np.intp), np.full(shape, np.inf))
    settled = np.zeros(shape[0], dtype=bool)
    left, radius = np.arange(shape[0]), RESOLVED * ROUNDING * _width(X)
    for _ in range(CLUSTERS):
        if left.size < FEWEST:
            break
        middle = queries[left[left.size // 2]]
        from_middle = _distances(queries[left], middle)
        inside = from_middle <= radius / 2
        cell = np.flatnonzero(_distances(X, middle) <= radius)
        rows = left[inside]
        if rows.size < FEWEST or 2 * cell.size > X.shape[0]:
            break  # more searches like this one would take longer than they save
        left = left[~inside]
        if cell.size <= n_neighbors:
            continue
        places = None if own is None else np.searchsorted(cell, own[rows])
        near = search(queries[rows], X[cell], own=places)
        sure = near.distances[:, -1] < SURE * (radius - from_middle[inside])
        settled[rows] = sure
        found.indices[rows] = cell[near.indices]
        found.distances[rows] = near.distances
    return settled, found


def set_apart(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which samples are near each other, and which few are far from them."""
    near = np.arange(X.shape[0])
    while True:
        size = np.abs(X[near] - X[near].mean(axis=0)).max(axis=1)
        here = size <= FAR * np.median(size)
        n_far = X.shape[0] - np.count_nonzero(here)
        if here.all() or n_far > FEW_FAR:
            return near, np.setdiff1d(np.arange(X.shape[0]), near)
        near = near[here]


def _width(X: np.ndarray) -> float:
    """Return a bound on how far samples are from their mean, the few far ones aside."""
    near, _ = set_apart(X)
    return float(np.abs(X[near] - X[near].mean(axis=0)).max() * X.shape[1] ** 0.5)


def _distances(rows: np.ndarray, point: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(rows - point, axis=1))
