"""Cells and queries -> Neighborhoods; rows in doubt are searched again.

A row is in doubt if its K-th neighbour and what is not among its candidates are nearer
to each other than single precision can tell, as in a clump of near duplicates. It is
searched again with more candidates, which mostly hold all that are confused; and among
all samples if that does not help, if it is far from every cell, or if cells hold too
few. Where all that are confused are ties, there is nothing to doubt.
"""

from __future__ import annotations

import numpy as np

from ..backends.distances import squared_distances_to
from ..backends.ranking import first_of_each_row
from ..records import Neighborhoods
from .cell_search import Candidates, Cells, search_near
from .exact import MANY, SPARE, search_all

WIDER = (4, 16)
"""So many times the candidates are kept, where fewer leave rows in doubt."""

TIE = 1e-10
"""Distances that differ by less than this part are ties: any of them will do."""


def search_rows(
    cells: Cells,
    queries: np.ndarray,
    X: np.ndarray,
    n_neighbors: int,
    *,
    own: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Neighborhoods:
    """Search the nearest cells: distances and ties as in the exact search.

    Parameters
    ----------
    cells : Cells
        The samples in their cells.
    queries : array (q, m)
        Whose neighbours are wanted.
    X : array (n, m)
        The samples.
    n_neighbors : int
        How many neighbours K.
    own : int array (q,) or None
        Which sample each query is itself, if it is one: never its own neighbour.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    Neighborhoods
        Indices into `X` and distances, (q, K) each.
    """
    indices = np.zeros((queries.shape[0], n_neighbors), dtype=np.int64)
    squared = np.full(indices.shape, np.inf)
    doubtful = np.ones(queries.shape[0], dtype=bool)

    def search(left: np.ndarray | slice, n_wanted: int) -> None:
        ours, selves = queries[left], None if own is None else own[left]
        numbers = np.arange(queries.shape[0])[left]

        def settle(found: Candidates) -> None:
            rows, column = numbers[found.rows], found.samples
            exact = squared_distances_to(ours[found.rows], X, column)
            if selves is not None:
                exact[column == selves[found.rows, None]] = np.inf
            indices[rows], squared[rows] = first_of_each_row(column, exact, n_neighbors)
            doubtful[rows] = _is_doubtful(found, exact, squared[rows, -1])

        search_near(cells, ours, n_wanted, settle, own=selves, n_jobs=n_jobs)

    search(slice(None), n_neighbors + 1 + SPARE)
    for times in WIDER:
        n_wanted = times * (n_neighbors + 1 + SPARE)
        left = np.flatnonzero(doubtful)
        if left.size and MANY * n_wanted <= X.shape[0]:
            search(left, n_wanted)
    near = Neighborhoods(indices, np.sqrt(squared))
    left = np.flatnonzero(doubtful)
    if left.size:
        selves = None if own is None else own[left]
        rest = search_all(queries[left], X, n_neighbors, own=selves, n_jobs=n_jobs)
        near.indices[left], near.distances[left] = rest.indices, rest.distances
    return near


def _is_doubtful(
    found: Candidates, squared: np.ndarray, last: np.ndarray
) -> np.ndarray:
    """Say which rows may have nearer neighbours in the cells they looked into.

    Parameters
    ----------
    found : Candidates
        What was found for these rows.
    squared : array (r, c)
        Squared distances of the candidates.
    last : array (r,)
        That of the K-th neighbour; infinite where the cells hold too few.
    """
    last = np.sqrt(last)
    doubtful = np.isinf(last)
    left = np.flatnonzero(~(doubtful | (last < found.least) | (last == 0)))
    far, rounding = np.sqrt(squared[left]), found.rounding[left, None]
    gap = np.abs(far - last[left, None])
    confused = (gap <= 2 * rounding) & (gap > TIE * last[left, None])
    doubtful[left] = confused.any(axis=1)
    return doubtful
