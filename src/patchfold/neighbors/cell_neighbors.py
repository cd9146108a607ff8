"""Cells and queries -> Neighborhoods; rows in doubt are searched again.

A row is in doubt for one of three reasons:

* Its cells hold fewer than K samples.
* Cells it did not look into may hold nearer samples. The last cell it looked into is
  little farther than the first, compared with the distance of its K-th neighbour.
  `Cells.cover` is the limit; few samples are below. Outliers are, and new samples that
  are away from the training samples, for which the limit is higher.
* Single precision may have confused its K-th neighbour with samples that are no
  candidates, as in a clump of near duplicates. Samples that are ties may be confused.

It is searched again with more candidates from more cells, and in the end among all
samples. Of new samples many are in doubt: first they only look into some more cells.
"""

from __future__ import annotations

import numpy as np

from ..backends.native.neighbors import nearest_listed, squared_distances_to
from ..records import Neighborhoods
from .all_pairs import MANY
from .cell_search import Candidates, Cells, search_near
from .exact import SPARE, search_all

MORE_CELLS = 4
"""Multiple of the cells that a row in doubt looks into ..."""

MORE_CANDIDATES = 8
"""... and of its candidates."""

NEW_CELLS = 2
"""Multiple of the cells that a new sample in doubt looks into before that."""

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
    """Search the nearest cells: distances and ties as in `search_all`.

    `cells` holds the samples `X`; the other parameters are those of `search_all`.
    """
    kind = np.int32 if X.shape[0] < 2**31 else np.int64  # of many, half the memory
    indices = np.zeros((queries.shape[0], n_neighbors), dtype=kind)
    squared = np.full(indices.shape, np.inf)
    doubtful = np.ones(queries.shape[0], dtype=bool)
    cover = cells.new_cover if own is None else cells.cover

    def search(left: np.ndarray | slice, n_wanted: int, n_probes: int) -> None:
        ours, selves = queries[left], None if own is None else own[left]
        numbers = np.arange(queries.shape[0])[left]

        def settle(found: Candidates) -> None:
            rows, some = numbers[found.rows], ours[found.rows]
            itself = None if selves is None else selves[found.rows]
            near = nearest_listed(some, X, found.samples, itself, n_neighbors)
            indices[rows], squared[rows] = near
            last = np.sqrt(near[1][:, -1])
            doubtful[rows] = ~(found.margin >= cover * last)
            doubtful[rows] |= _is_confused(found, some, X, itself, last)

        search_near(cells, ours, n_wanted, n_probes, settle, own=selves, n_jobs=n_jobs)

    n_wanted = n_neighbors + 1 + SPARE
    if own is None:
        search(slice(None), n_wanted, cells.new_probes)
        if doubtful.any():
            search(np.flatnonzero(doubtful), n_wanted, NEW_CELLS * cells.new_probes)
    else:
        search(slice(None), n_wanted, cells.n_probes)
    left = np.flatnonzero(doubtful)
    if left.size and MANY * MORE_CANDIDATES * n_wanted <= X.shape[0]:
        search(left, MORE_CANDIDATES * n_wanted, MORE_CELLS * cells.n_probes)
    near = Neighborhoods(indices, np.sqrt(squared, out=squared))
    left = np.flatnonzero(doubtful)
    if left.size:
        selves = None if own is None else own[left]
        rest = search_all(queries[left], X, n_neighbors, own=selves, n_jobs=n_jobs)
        near.indices[left], near.distances[left] = rest.indices, rest.distances
    return near


def _is_confused(
    found: Candidates,
    queries: np.ndarray,
    X: np.ndarray,
    own: np.ndarray | None,
    last: np.ndarray,
) -> np.ndarray:
    """Say which rows may have nearer neighbours in the cells they looked into.

    Parameters
    ----------
    found : Candidates
        Candidates of these rows.
    queries : array (r, m)
        These rows.
    X : array (n, m)
        The samples.
    own : int array (r,) or None
        Which sample each row is itself.
    last : array (r,)
        Distance of the K-th neighbour; infinite where the cells hold too few.
    """
    confused = np.isinf(last)
    left = np.flatnonzero(~(confused | (last < found.least) | (last == 0)))
    if not left.size:
        return confused
    column, rounding = found.samples[left], found.rounding[left, None]
    far = np.sqrt(squared_distances_to(queries[left], X, column))
    if own is not None:
        far[column == own[left, None]] = np.inf
    gap = np.abs(far - last[left, None])
    in_doubt = (gap <= 2 * rounding) & (gap > TIE * last[left, None])
    confused[left] = in_doubt.any(axis=1)
    return confused
