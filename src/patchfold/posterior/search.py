"""Rows and a class -> the nearest rows of that class, never the row itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..backends.arrays import Array
from ..backends.backend import NUMPY, Backend, backend_for
from ..backends.native.loops import is_compiled
from ..backends.native.neighbors import Members, lay_out, nearest_members
from ..backends.threads import map_blocks
from ..neighbors.choice import choose_search, find_neighbors, find_query_neighbors
from .rows import spread_rows

MOST_ROWS = 5000
"""Rows among which "auto" searches a class of more: so cost is linear in samples."""

FEW_ROWS = 300
"""Up to this many rows of a class are compared by matrix products ..."""

FEATURES = 100
"""... as are rows of more features than this."""

STEP = 1024
"""Queries in one block."""


class ClassSearch:
    """The neighbour search of `neighbors`, within one class at a time.

    Parameters
    ----------
    Z : array (n, m)
        Labelled rows, as a view sees them.
    codes : int array (n,)
        Their classes, 0, 1, ...
    algorithm : {"auto", "exact", "approximate"} or KNN transformer
        "auto" is exact, among at most `MOST_ROWS` rows of a class, spread evenly over
        it. Others as in `choose_search`, for every class; one with fewer rows than a
        transformer asks for is searched exactly.
    n_jobs : int or None
        Number of threads.
    """

    def __init__(
        self,
        Z: np.ndarray,
        codes: np.ndarray,
        *,
        algorithm: Any = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self._Z, self._codes = Z, codes
        self._algorithm, self._n_jobs = algorithm, n_jobs
        self._fitted: dict[int, Any] = {}
        self._laid_out: dict[int, Members | None] = {}
        self._members = [self._searched(c) for c in range(int(codes.max()) + 1)]

    def _searched(self, c: int) -> np.ndarray:
        """Return the rows among which class c is searched."""
        members = np.flatnonzero(self._codes == c)
        if self._algorithm != "auto":
            return members
        return members[spread_rows(self._Z[members], MOST_ROWS)]

    def training_neighbors(
        self, c: int, n_neighbors: int, backend: Backend = NUMPY
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and their nearest rows of class c: first the members, then others.

        A class of n_c rows gives at most n_c neighbours, and n_c - 1 to its own rows.
        Rows that find none are left out. `backend` is where they are searched.
        """
        members = self._members[c]
        near = self.own_neighbors(c, n_neighbors, backend)
        if near.size:
            yield members, near
        others = self.others(c)
        if others.size:
            there = backend.bring(self._Z[others])
            yield others, NUMPY.bring(self.query_neighbors(there, c, n_neighbors))

    def members(self, c: int) -> np.ndarray:
        """Return the rows among which class c is searched."""
        return self._members[c]

    def others(self, c: int) -> np.ndarray:
        """Return the rows that are not among those."""
        is_other = np.ones(self._codes.size, dtype=bool)
        is_other[self._members[c]] = False
        return np.flatnonzero(is_other)

    def own_neighbors(
        self, c: int, n_neighbors: int, backend: Backend = NUMPY
    ) -> np.ndarray:
        """Return the nearest rows of class c to its `members`; none to a single one."""
        members = self._members[c]
        most = min(n_neighbors, members.size - 1)
        if most <= 0:
            return np.empty((members.size, 0), dtype=np.intp)
        Z, n_jobs = backend.bring(self._Z[members]), self._n_jobs
        self._fitted[c] = self._choose(Z, n_neighbors)
        found = find_neighbors(Z, most, algorithm=self._fitted[c], n_jobs=n_jobs)
        return members[NUMPY.bring(found.indices)]

    def prepare(self, c: int, n_neighbors: int) -> None:
        """Make ready what searches class c, as `training_neighbors` does."""
        Z, most = self._Z[self._members[c]], min(n_neighbors, self._members[c].size - 1)
        if most > 0:
            self._fitted[c] = self._choose(Z, n_neighbors)
            if not self.takes_threads(c):  # it has to be fitted
                find_neighbors(Z, most, algorithm=self._fitted[c], n_jobs=self._n_jobs)

    def takes_threads(self, c: int) -> bool:
        """Say whether several threads may search class c: not by a user's search."""
        return not hasattr(self._fitted.get(c), "fit_transform")

    def _choose(self, Z: Array, n_neighbors: int) -> Any:
        """Return what searches a class; None is the exact search."""
        algorithm = "exact" if self._algorithm == "auto" else self._algorithm
        if not isinstance(algorithm, str):
            asked = algorithm.get_params().get("n_neighbors", n_neighbors)
            if max(asked, n_neighbors) >= Z.shape[0]:
                return None
        return choose_search(algorithm, Z, n_neighbors, n_jobs=self._n_jobs)

    def query_neighbors(self, queries: Array, c: int, n_neighbors: int) -> Array:
        """Return the nearest rows of class c to new samples, (q, K)."""
        members, backend = self._members[c], backend_for(queries)
        near = None
        if backend is NUMPY and self._fitted.get(c) is None:
            near = self._among_members(queries, c, n_neighbors)
        if near is None:
            near = self._found(queries, c, n_neighbors)
        return backend.bring(members)[near]

    def _found(self, queries: Array, c: int, n_neighbors: int) -> Array:
        """Search class c as all searches do; places among its rows."""
        members, bring = self._members[c], backend_for(queries).bring
        return find_query_neighbors(
            queries,
            bring(self._Z[members]),
            min(n_neighbors, members.size),
            search=self._fitted.get(c),
            n_jobs=self._n_jobs,
        ).indices

    def _among_members(
        self, queries: np.ndarray, c: int, n_neighbors: int
    ) -> np.ndarray | None:
        """Compare with all rows of class c by a loop; None if that cannot do it."""
        if c not in self._laid_out:
            rows = self._Z[self._members[c]]
            can = is_compiled() and rows.shape[0] > FEW_ROWS
            can = can and rows.shape[1] <= FEATURES
            self._laid_out[c] = lay_out(rows) if can else None
        laid_out = self._laid_out[c]
        if laid_out is None:
            return None
        queries = np.ascontiguousarray(queries)
        found = map_blocks(
            lambda block: nearest_members(laid_out, queries[block], n_neighbors),
            queries.shape[0],
            0,
            self._n_jobs,
            step=STEP,
        )
        known = [near for near in found if near is not None]
        if not known:
            return None
        near = np.concatenate(known)
        left = np.flatnonzero(near[:, 0] < 0)
        if left.size:  # by rounding, or by ties
            near[left] = self._found(queries[left], c, n_neighbors)
        return near
