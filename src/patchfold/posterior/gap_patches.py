"""The patch score of rows with gaps.

The patch of a row in a class is its K nearest rows of the class, by the distance over
the columns that both have. Its mean and covariance are those of present cells: with r
the residuals, 0 in gaps, Σ_jk = Σ_i r_ij r_ik / √(f_j f_k), f_j one less than the cells
of column j, then shrunk as every patch is. A column that none, or one, of the rows of
the patch has varies as in all rows, and lies around 0, the mean of all, if none has it.
The score is the Student density of `local.py` over the o columns that the row has:

    -½ log|Σ_OO| - ½ (K + o) log(1 + (x - μ)_Oᵀ Σ_OO⁻¹ (x - μ)_O / K).
"""

from __future__ import annotations

import numpy as np

from ..backends.progress import tell_each
from ..backends.threads import map_blocks
from ..patches.fitting import isotropic_noise
from .gaps import marginal_distances, squared_gap_distances, variance_of_rows
from .rows import spread_rows
from .search import MOST_ROWS


class PatchGapScores:
    """The scores of the K nearest rows of every class, for rows with gaps.

    Parameters
    ----------
    Z : array (n, m)
        Labelled rows, as the view sees them; NaN is a gap.
    codes : int array (n,)
        Their classes, 0, 1, ..., C - 1.
    n_neighbors : int
        K; a class of fewer rows gives all it has.
    shrinkage, ridge : float
        γ and ρ of the covariance rule.
    n_jobs : int or None
        Number of threads.
    scored : bool
        Whether the training rows have been scored before. `left_out` is then empty.
    """

    names: tuple[str, ...] = ("patch",)

    def __init__(
        self,
        Z: np.ndarray,
        codes: np.ndarray,
        *,
        n_neighbors: int,
        shrinkage: float,
        ridge: float,
        n_jobs: int | None = None,
        scored: bool = False,
    ) -> None:
        self._Z, self._n_neighbors, self._n_jobs = Z, n_neighbors, n_jobs
        self._shrinkage, self._ridge = shrinkage, ridge
        self._variance = variance_of_rows(Z)
        self._unit = 2 * Z.shape[1] * self._variance
        n_classes = int(codes.max()) + 1
        self._members = [self._searched(codes == c) for c in range(n_classes)]
        self.left_out = np.empty((0, codes.size, n_classes))
        if scored:
            return
        self.left_out = np.full((1, codes.size, n_classes), np.nan)
        for c in tell_each("patch scores", range(n_classes)):
            inside = np.isin(np.arange(codes.size), self._members[c])
            for rows in (np.flatnonzero(inside), np.flatnonzero(~inside)):
                near = self._near(Z[rows], c, n_neighbors, own=rows)
                if near.size:
                    self.left_out[0, rows, c] = self._score(Z[rows], near)

    def _searched(self, inside: np.ndarray) -> np.ndarray:
        """Return the rows among which a class is searched."""
        members = np.flatnonzero(inside)
        filled = np.nan_to_num(self._Z[members])  # 0 is the mean: only to spread them
        return members[spread_rows(filled, MOST_ROWS)]

    def of(self, Z: np.ndarray) -> np.ndarray:
        """Return the scores of new rows, (1, q, C)."""
        classes = range(len(self._members))
        scores = [self._score(Z, self._near(Z, c, self._n_neighbors)) for c in classes]
        return np.stack(scores, axis=-1)[None]

    def patch_rows(self, z: np.ndarray, c: int, own: int | None) -> np.ndarray:
        """Return the rows that make the patch of one row in class c, nearest first.

        `own` is the training row that it is, and is left out.
        """
        row = None if own is None else np.array([own])
        return self._near(z[None], c, self._n_neighbors, own=row)[0]

    def _near(
        self, Z: np.ndarray, c: int, n_neighbors: int, own: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the nearest rows of class c, (q, K), never a row's `own`."""
        members = self._members[c]
        spare = int(own is not None and np.isin(own, members).any())
        most = min(n_neighbors, members.size - spare)

        def search(block: slice) -> np.ndarray:
            squared = squared_gap_distances(Z[block], self._Z[members], self._unit)
            if own is not None:
                squared[own[block, None] == members] = np.inf
            return members[np.argsort(squared, axis=1, kind="stable")[:, :most]]

        work = 8 * 6 * members.size
        found = map_blocks(search, Z.shape[0], work, self._n_jobs)
        return np.concatenate([np.empty((0, most), np.intp), *found])

    def _score(self, Z: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Return the score of each row by its patch, (q,)."""
        m, k = Z.shape[1], near.shape[1]

        def score(block: slice) -> np.ndarray:
            rows, points = Z[block], self._Z[near[block]]
            present, there = ~np.isnan(rows), ~np.isnan(points)
            counts = there.sum(axis=1)
            filled = np.where(there, points, 0.0)
            mean = filled.sum(axis=1) / np.maximum(counts, 1)
            residuals = np.where(there, points - mean[:, None], 0.0)
            free = np.maximum(counts - 1, 1)
            sigma = residuals.transpose(0, 2, 1) @ residuals
            sigma /= np.sqrt(free[:, :, None] * free[:, None, :])
            few = (counts <= 1) & (counts < k)
            diagonal = np.arange(m)
            sigma[:, diagonal, diagonal] += few * self._variance
            trace = np.trace(sigma, axis1=1, axis2=2)
            rule = self._shrinkage, self._ridge, self._variance
            noise = isotropic_noise(trace, m, *rule)
            sigma *= 1 - self._shrinkage
            sigma[:, diagonal, diagonal] += noise[:, None]
            gap = (rows - mean)[:, :, None]
            distance, log_det = marginal_distances(sigma, present, gap)
            degrees = 0.5 * (k + present.sum(axis=1))
            return -0.5 * log_det - degrees * np.log1p(distance[:, 0] / k)

        work = 8 * (4 * k * m + 6 * m * m)
        return np.concatenate(map_blocks(score, Z.shape[0], work, self._n_jobs))
