"""Rows and a class -> the nearest rows of that class, never the row itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..backends.backend import NUMPY, Array, Backend, backend_for
from ..backends.native.neighbors import Members, lay_out
from ..neighbors.choice import choose_search, find_neighbors, find_query_neighbors
from ..neighbors.exact import search_all
from .rows import spread_rows

MOST_ROWS = 5000
"""Rows among which "auto" searches a class of more: so cost is linear in samples."""


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
        self._rows: dict[int, tuple[np.ndarray, Members | None]] = {}
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
        """Return a search of class c that works as `training_neighbors` does."""
        Z, most = self._Z[self._members[c]], min(n_neighbors, self._members[c].size - 1)
        if most > 0:
            self._fitted[c] = self._choose(Z, n_neighbors)
            if not self.takes_threads(c):  # it has to be fitted
                find_neighbors(Z, most, algorithm=self._fitted[c], n_jobs=self._n_jobs)

    def takes_threads(self, c: int) -> bool:
        """Say whether several threads may search class c: not by a user's search."""
        return not hasattr(self._fitted.get(c), "fit_transform")

    def _choose(self, Z: Array, n_neighbors: int) -> Any:
        """Return the search of a class; None is the exact search."""
        algorithm = "exact" if self._algorithm == "auto" else self._algorithm
        if not isinstance(algorithm, str):
            asked = algorithm.get_params().get("n_neighbors", n_neighbors)
            if max(asked, n_neighbors) >= Z.shape[0]:
                return None
        return choose_search(algorithm, Z, n_neighbors, n_jobs=self._n_jobs)

    def query_neighbors(self, queries: Array, c: int, n_neighbors: int) -> Array:
        """Return the nearest rows of class c to new samples, (q, K)."""
        members, backend = self._members[c], backend_for(queries)
        wanted, search = min(n_neighbors, members.size), self._fitted.get(c)
        if backend.is_numpy and search is None:
            if c not in self._rows:
                rows = self._Z[members]
                self._rows[c] = rows, lay_out(rows)
            rows, laid_out = self._rows[c]
            found = search_all(
                queries, rows, wanted, n_jobs=self._n_jobs, laid_out=laid_out
            )
            return members[found.indices]
        there = backend.bring(self._Z[members]), wanted
        found = find_query_neighbors(
            queries, *there, search=search, n_jobs=self._n_jobs
        )
        return backend.bring(members)[found.indices]
