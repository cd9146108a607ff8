"""Queries and samples -> all samples within a radius: neighbourhoods of any size.

A distance equal to the radius, to the 40 binary digits that make a tie, is within it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, NoReturn

import numpy as np

from ..backends.backend import BYTES_PER_EDGE, require_memory
from ..backends.distances import Products, in_rows
from ..backends.native.neighbors import TIE_BITS, nearest_first
from ..backends.threads import map_blocks
from ..exceptions import IsolatedSampleWarning, warn
from ..records import Neighborhoods, pointer_of
from ..validation import LARGEST
from .exact import search_all

NAMED = 10
"""Samples a message names at most."""

ROW_BYTES = 6 * 8
"""Working memory of the search for one query and one sample."""

ASKED = 200
"""Samples whose neighbours are counted to foresee how many there will be."""


def search_within(
    queries: np.ndarray,
    X: np.ndarray,
    radius: float,
    *,
    own: np.ndarray | None = None,
    most: int | None = None,
    n_jobs: int | None = None,
) -> Neighborhoods:
    """Find all samples within a distance of each query, nearest first.

    Parameters
    ----------
    queries : array (q, m)
        Whose neighbours are wanted.
    X : array (n, m)
        Samples.
    radius : float
        Largest distance of a neighbour.
    own : int array (q,) or None
        Which sample each query is itself, if it is one: never its own neighbour.
    most : int or None
        Most neighbours of all queries together.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    Neighborhoods
        Rows may be empty.

    Raises
    ------
    ValueError
        As soon as more than `most` neighbours are found.
    MemoryBudgetError
        As soon as a graph of those found needs more memory than the machine has.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> near = search_within(X, X, 2.0, own=np.arange(4))
    >>> near.indices.tolist(), near.counts.tolist()
    ([1, 0, 2, 1], [1, 2, 1, 0])
    """
    table, limit = Products(queries, X), min(float(radius), LARGEST) ** 2
    settings: dict[str, Any] = {"own": own, "most": most, "n_jobs": n_jobs}
    size = queries.shape[0], X.shape[0]
    near = search_table_within(table, size, limit, radius, **settings)
    return replace(near, distances=np.sqrt(near.distances))


def search_table_within(
    table: Any,
    size: tuple[int, int],
    limit: float,
    radius: float,
    *,
    own: np.ndarray | None = None,
    most: int | None = None,
    n_jobs: int | None = None,
) -> Neighborhoods:
    """Find all samples whose entry in a table is within a limit, nearest first.

    Parameters
    ----------
    table : Products, or one that is read as these are
        Of queries and samples.
    size : tuple of int
        How many queries and samples it has.
    limit : float
        Largest entry of a neighbour.
    radius : float
        What messages name.
    own, most, n_jobs
        As in `search_within`.

    Returns
    -------
    Neighborhoods
        With entries of the table in place of distances.
    """
    search, lock, total = _searcher(table, limit, own), Lock(), 0

    def bounded(block: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        nonlocal total
        found = search(block)
        with lock:  # threads count together
            total += found[0].size
        if most is not None and total > most:
            raise ValueError(
                f"there are more than {most} neighbours within radius={radius:g}"
            )
        require_memory(
            total * BYTES_PER_EDGE,
            f"the first {total} neighbours within radius={radius:g}",
            "Lower radius, or reduce the samples first.",
        )
        return found

    found = map_blocks(bounded, size[0], ROW_BYTES * size[1], n_jobs)
    parts = zip(*found, strict=True)
    indices, squared, counts = (np.concatenate(part) for part in parts)
    return Neighborhoods(indices, squared, pointer_of(counts))


def _searcher(
    products: Any, limit: float, own: np.ndarray | None = None
) -> Callable[[slice], tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return what finds neighbours, their squared distances and counts for a block."""
    limit *= 1 + 2.0**-TIE_BITS

    def search(block: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        squared = products.squared(block)
        if own is not None:
            squared[np.arange(squared.shape[0]), own[block]] = np.inf
        row, column = np.nonzero(squared <= limit + products.slack(block)[:, None])
        if not row.size:
            return column, np.empty(0), np.zeros(squared.shape[0], dtype=np.intp)
        exact = products.exact(row + block.start, column)
        inside = exact <= limit
        row, column, exact = row[inside], column[inside], exact[inside]
        counts = np.bincount(row, minlength=squared.shape[0])
        columns, far = in_rows(row, column, exact, squared.shape[0])
        order, far = nearest_first(far, far.shape[1])
        kept = np.arange(far.shape[1]) < counts[:, None]
        columns = np.take_along_axis(columns, order, axis=1)[kept]
        return columns, far[kept], counts

    return search


def expected_count(X: np.ndarray, radius: float) -> int:
    """Return how many neighbours a sample has on average, from some of them."""
    some = X[:: -(-X.shape[0] // ASKED)]
    search = _searcher(Products(some, X), min(float(radius), LARGEST) ** 2)
    per_row = ROW_BYTES * X.shape[0]
    counts = map_blocks(lambda block: search(block)[2].sum(), some.shape[0], per_row)
    return int(sum(counts) / some.shape[0])


def add_nearest(
    near: Neighborhoods,
    queries: np.ndarray,
    X: np.ndarray,
    *,
    own: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Neighborhoods:
    """Give samples without a neighbour within the radius their nearest one.

    Parameters
    ----------
    near : Neighborhoods
        What `search_within` found.
    queries, X, own, n_jobs
        What it was asked.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [7.0]])
    >>> near = search_within(X, X, 1.0, own=np.arange(3))
    >>> add_nearest(near, X, X, own=np.arange(3)).indices.tolist()
    [1, 0, 1]
    """
    isolated = np.flatnonzero(near.counts == 0)
    if not isolated.size:
        return near
    selves = None if own is None else own[isolated]
    found = search_all(queries[isolated], X, 1, own=selves, n_jobs=n_jobs)
    return with_one(near, isolated, found)


def with_one(
    near: Neighborhoods, isolated: np.ndarray, found: Neighborhoods
) -> Neighborhoods:
    """Give samples without a neighbour the one that was found for each."""
    assert near.pointer is not None
    place = near.pointer[isolated]
    return Neighborhoods(
        np.insert(near.indices, place, found.indices[:, 0]),
        np.insert(near.distances, place, found.distances[:, 0]),
        pointer_of(np.maximum(near.counts, 1)),
    )


@dataclass(frozen=True)
class RadiusSearch:
    """All samples within a radius; of a new sample without any, the nearest one.

    Attributes
    ----------
    radius : float
        Largest distance of a neighbour.
    most : int or None
        Most neighbours of all training samples together; None is what memory holds.
    """

    radius: float
    most: int | None = None
    n_neighbors = cells_for = cells = None

    def of_training(self, X: np.ndarray, n_jobs: int | None) -> Neighborhoods:
        """Find the neighbours of every sample; some may have none, but not all."""
        own = np.arange(X.shape[0])
        settings: dict[str, Any] = {"most": self.most, "n_jobs": n_jobs}
        near = search_within(X, X, self.radius, own=own, **settings)
        if not near.counts.any():
            found = add_nearest(near, X, X, own=own, n_jobs=n_jobs)
            raise_no_neighbors(found.distances.min(), self.radius)
        return near

    def of_queries(
        self, queries: np.ndarray, X: np.ndarray, n_jobs: int | None
    ) -> Neighborhoods:
        """Find the samples near new ones, and warn of those that have none."""
        near = search_within(queries, X, self.radius, n_jobs=n_jobs)
        near = add_nearest(near, queries, X, n_jobs=n_jobs)
        warn_isolated_queries(near.nearest[1], self.radius)
        return near

    def complete(
        self, near: Neighborhoods, X: np.ndarray, n_jobs: int | None
    ) -> Neighborhoods:
        """Give training samples without a neighbour within the radius one."""
        own = np.arange(X.shape[0])
        return add_nearest(near, X, X, own=own, n_jobs=n_jobs)


def raise_no_neighbors(nearest: float, radius: float) -> NoReturn:
    """Raise ValueError: no two samples are within the radius."""
    raise ValueError(
        f"no two samples are within radius={radius:g} of each other: the nearest two "
        f"are {nearest:.3g} apart. Raise radius."
    )


def warn_isolated_queries(nearest: np.ndarray, radius: float) -> None:
    """Warn of new samples whose nearest training sample is beyond the radius."""
    isolated = np.flatnonzero(nearest > radius * (1 + 2.0**-TIE_BITS))
    if isolated.size:
        warn(
            f"{isolated.size} of {nearest.size} new samples have no training sample "
            f"within radius={radius:g} ({name_rows(isolated)}). Each is placed by its "
            f"nearest one alone. A radius of {nearest.max():.3g} would reach all.",
            IsolatedSampleWarning,
        )


def name_rows(rows: np.ndarray) -> str:
    """Return row numbers as words, the first ten of them.

    Examples
    --------
    >>> import numpy as np
    >>> name_rows(np.array([3])), name_rows(np.arange(12))
    ('row 3', 'rows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...')
    """
    shown = ", ".join(map(str, rows[:NAMED])) + (", ..." if rows.size > NAMED else "")
    return f"row{'s' if rows.size > 1 else ''} {shown}"
