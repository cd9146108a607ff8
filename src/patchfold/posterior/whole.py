"""A class as one patch: the scores of all its rows, each row left out of its own.

With T the scatter of class c, d = x - μ_c for one of its n rows, leaving the row out
gives the mean μ_c - d/(n - 1) and the scatter T - n/(n - 1) ddᵀ. So one decomposition
of T serves all rows: the rest is a rank-one change, and costs O(m) a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..patches.fitting import isotropic_noise
from .rows import variance_over


@dataclass(frozen=True)
class ClassPatch:
    """All rows of one class, along their principal directions.

    Attributes
    ----------
    mean : array (m,)
        Class mean.
    basis : array (m, r)
        Directions with scatter, orthonormal.
    scatter : array (r,)
        Sum of squares along each.
    n_points : int
        Rows of the class.
    """

    mean: np.ndarray
    basis: np.ndarray
    scatter: np.ndarray
    n_points: int

    @classmethod
    def fit(cls, rows: np.ndarray) -> ClassPatch:
        """Describe the rows of a class."""
        mean = rows.mean(axis=0)
        _, singular, Vt = np.linalg.svd(rows - mean, full_matrices=False)
        return cls(mean, Vt.T, singular**2, rows.shape[0])

    def gaussian_score(
        self,
        queries: np.ndarray,
        *,
        members: bool,
        shrinkage: float,
        ridge: float,
        variance: float,
        n_features: int | None = None,
    ) -> np.ndarray:
        """Return the Student score of `local`; `members` are left out one by one."""
        n, m = self.n_points, n_features or queries.shape[1]
        gap = queries - self.mean
        along = (gap @ self.basis) ** 2
        squared = np.einsum("ij,ij->i", gap, gap)
        # A row of the class has nothing across its directions, not even rounding.
        across = 0 if members else np.maximum(squared - along.sum(axis=1), 0)
        kept = n - int(members)
        divisor = max(kept - 1, 1)
        lost = n / (n - 1) if members else 0.0
        total = np.maximum(self.scatter.sum() - lost * squared, 0) / divisor
        noise = isotropic_noise(total, m, shrinkage, ridge, variance)
        values = (1 - shrinkage) / divisor * self.scatter + noise[:, None]
        distance = (along / values).sum(axis=1) + across / noise
        log_det = np.log(values).sum(axis=1) + (m - self.scatter.size) * np.log(noise)
        if members:
            left = 1 - (1 - shrinkage) / divisor * lost * distance
            log_det += np.log(left)
            distance = lost**2 * distance / left
        return -0.5 * log_det - 0.5 * (kept + m) * np.log1p(distance / kept)

    def mean_score(self, queries: np.ndarray, *, members: bool) -> np.ndarray:
        """Return -½ ‖x - μ‖², with `members` left out of the mean one by one."""
        gap = queries - self.mean
        factor = self.n_points / (self.n_points - 1) if members else 1.0
        return -0.5 * factor**2 * np.einsum("ij,ij->i", gap, gap)


class ClassPatchScores:
    """The scores of whole classes in one view: by the Gaussian, and by the mean alone.

    Parameters
    ----------
    Z : array (n, m)
        Labelled rows, as the view sees them.
    codes : int array (n,)
        Their classes, 0, 1, ..., C - 1.
    shrinkage, ridge : float
        γ and ρ of the covariance rule.
    n_features : int or None
        m, where rows are given in fewer coordinates.
    """

    names: tuple[str, ...] = ("class", "class mean")

    def __init__(
        self,
        Z: np.ndarray,
        codes: np.ndarray,
        *,
        shrinkage: float,
        ridge: float,
        n_features: int | None = None,
    ) -> None:
        n_classes = int(codes.max()) + 1
        self._rule: dict[str, Any] = {
            "shrinkage": shrinkage,
            "ridge": ridge,
            "variance": variance_over(Z, n_features),
            "n_features": n_features,
        }
        self._classes = [ClassPatch.fit(Z[codes == c]) for c in range(n_classes)]
        self.left_out = self.of(Z)
        for c, patch in enumerate(self._classes):
            inside = codes == c
            self.left_out[:, inside, c] = (
                self._score(patch, Z[inside], True) if patch.n_points > 1 else np.nan
            )

    def of(self, Z: np.ndarray) -> np.ndarray:
        """Return the scores of new rows, (2, q, C)."""
        scores = [self._score(patch, Z, False) for patch in self._classes]
        return np.stack(scores, axis=-1)

    def _score(self, patch: ClassPatch, Z: np.ndarray, members: bool) -> np.ndarray:
        gaussian = patch.gaussian_score(Z, members=members, **self._rule)
        return np.stack([gaussian, patch.mean_score(Z, members=members)])
