"""Rows -> scores: how well every class speaks for a row, by every part in every view.

A part is fitted to labelled rows in one view. It has `names`, one for each score,
`left_out` (s, n, C), the scores of the training rows, each from the others only, and
`of(Z)`, those of new rows. Adding one is such a class and a branch of `fit_part`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from ..backends.backend import NUMPY, Backend
from ..backends.progress import begin_stage
from ..backends.threads import map_blocks
from .gap_patches import PatchGapScores
from .gap_pooled import PooledGapScores
from .gaps import has_gaps, refuse_gaps
from .kernel_ridge import KernelScores
from .local import PatchScores
from .marginal import MarginalScores
from .pooled import PooledScores
from .rows import spread_rows
from .sparse_marginal import SparseMarginalScores
from .sparse_views import fit_sparse_views, sparse_relief
from .views import fit_views, relief_weights
from .whole import ClassPatchScores

SCORES = ("patch", "class", "pooled", "kernel", "marginal")

TWINS = ("patch", "pooled")
"""Scores that have another part for rows with gaps; it costs more."""

SEEN_AT_ONCE = 10_000
"""Rows that a view is applied to in one go."""

MARGINAL_VIEW = "columns"
"""The marginal score cuts the columns themselves, so no view changes it."""


class Part(Protocol):
    """The contract of a part."""

    names: tuple[str, ...]
    left_out: np.ndarray

    def of(self, Z: np.ndarray) -> np.ndarray:
        """Return the scores of new rows, (s, q, C)."""
        ...


@dataclass(frozen=True)
class Settings:
    """Which scores in which views: see the parameters of `PatchPosterior`."""

    views: tuple[str, ...]
    scores: tuple[str, ...]
    n_neighbors: int
    shrinkage: float
    ridge: float
    n_landmarks: int
    algorithm: Any = "auto"
    n_jobs: int | None = None
    backend: Backend = NUMPY


@dataclass(frozen=True)
class Scored:
    """Parts of a fit that take long and were computed before.

    Attributes
    ----------
    left_out : array (s, n, C)
        Scores of the training rows, each without itself.
    kernels : dict of str to array (r, l, C)
        Weights of the kernel score in each view.
    """

    left_out: np.ndarray
    kernels: dict[str, np.ndarray]


def fit_part(
    name: str,
    Z: np.ndarray,
    codes: np.ndarray,
    settings: Settings,
    *,
    scored: bool = False,
    weights: np.ndarray | None = None,
    gaps: bool = False,
    row_weights: np.ndarray | None = None,
    n_features: int | None = None,
) -> Part:
    """Fit one of `SCORES` to labelled rows; what is known already is not computed.

    With `gaps`, it takes rows that have some. `row_weights` (n,) have no place in the
    shape of a patch. Sparse rows come in fewer coordinates than `n_features`; the
    marginal score takes them as they are.
    """
    rule: dict[str, Any] = {"shrinkage": settings.shrinkage, "ridge": settings.ridge}
    n_jobs = settings.n_jobs
    count, algorithm = settings.n_neighbors, settings.algorithm
    if name == "patch" and gaps:
        return PatchGapScores(
            Z, codes, n_neighbors=count, scored=scored, n_jobs=n_jobs, **rule
        )
    if name == "pooled" and gaps:
        return PooledGapScores(
            Z,
            codes,
            ridge=settings.ridge,
            scored=scored,
            n_jobs=n_jobs,
            row_weights=row_weights,
        )
    if name == "patch":
        return PatchScores(
            Z,
            codes,
            n_neighbors=count,
            algorithm=algorithm,
            scored=scored,
            backend=settings.backend,
            n_features=n_features,
            n_jobs=n_jobs,
            **rule,
        )
    if name == "class":
        return ClassPatchScores(Z, codes, n_features=n_features, **rule)
    if name == "pooled":
        given: dict[str, Any] = {"row_weights": row_weights, "n_features": n_features}
        return PooledScores(Z, codes, ridge=settings.ridge, n_jobs=n_jobs, **given)
    if name == "kernel":
        return KernelScores(
            Z,
            codes,
            n_landmarks=settings.n_landmarks,
            n_jobs=n_jobs,
            weights=weights,
            row_weights=row_weights,
        )
    if sp.issparse(Z):
        return SparseMarginalScores(Z, codes, scored=scored, row_weights=row_weights)
    return MarginalScores(Z, codes, n_jobs=n_jobs, row_weights=row_weights)


class ClassScores:
    """All scores of rows for classes, fitted to labelled rows.

    Parameters
    ----------
    settings : Settings
        Which scores.
    X : array or csr_array (n, m)
        Labelled rows; sparse ones without gaps and stored zeros.
    codes : int array (n,)
        Their classes, 0, 1, ..., C - 1.
    scored : Scored or None
        Of the same rows, where they were scored before.
    row_weights : array (n,) or None
        What each row counts; their mean is 1.

    Attributes
    ----------
    names : tuple of str
        One for each score.
    left_out : array (s, n, C)
        Scores of the training rows, each without itself.
    known : bool array (n, C)
        Whether the class has rows besides this one.
    """

    def __init__(
        self,
        settings: Settings,
        X: Any,
        codes: np.ndarray,
        scored: Scored | None = None,
        row_weights: np.ndarray | None = None,
    ) -> None:
        self.row_weights, self.n_jobs = row_weights, settings.n_jobs
        counts = np.bincount(codes)
        self._X, self._codes = X, codes
        self._settings = replace(settings, backend=NUMPY)  # nothing stays on a device
        self._has_gaps, self._twins = has_gaps(X), dict[tuple[str, str], Part]()
        if self._has_gaps:
            refuse_gaps(settings)
        self.n_classes = counts.size
        self.known = counts - np.eye(counts.size, dtype=int)[codes] > 0
        # Columns with entries, and one in any case.
        used = np.unique(np.append(X.indices, 0)) if sp.issparse(X) else None
        self._used = used
        n_features = X.shape[1] if sp.issparse(X) else None
        self._views = self._fit_views()
        self._parts: dict[str, dict[str, Part]] = {}
        in_views = [name for name in settings.scores if name != "marginal"]
        wanted = {view: in_views for view in self._views}
        if "marginal" in settings.scores:
            wanted[MARGINAL_VIEW] = ["marginal"]
        stages = [f"{view}: {name}" for view in wanted for name in wanted[view]]
        for view_name, names in wanted.items():
            Z = self._apply(view_name, X)
            self._parts[view_name] = {}
            for name in names:
                begin_stage(f"{view_name}: {name}", stages)
                self._parts[view_name][name] = fit_part(
                    name,
                    Z,
                    codes,
                    settings,
                    scored=scored is not None,
                    weights=None if scored is None else scored.kernels.get(view_name),
                    gaps=self._has_gaps,
                    row_weights=row_weights,
                    n_features=n_features,
                )
        self.names = tuple(
            f"{view}: {name}"
            for view, parts in self._parts.items()
            for part in parts.values()
            for name in part.names
        )
        if scored is not None:
            self.left_out = scored.left_out
            return
        every = [part for parts in self._parts.values() for part in parts.values()]
        self.left_out = np.concatenate([part.left_out for part in every])
        self.left_out[:, ~self.known] = np.nan
        for part in every:  # they are kept once
            part.left_out = part.left_out[:0]

    def _fit_views(self) -> dict[str, Any]:
        settings, codes = self._settings, self._codes
        if self._used is None:
            return fit_views(settings.views, self._X, codes, n_jobs=settings.n_jobs)
        return fit_sparse_views(
            settings.views,
            self._X[:, self._used],
            codes,
            n_features=self._X.shape[1],
            width=min(settings.n_neighbors, codes.size),
            n_jobs=settings.n_jobs,
        )

    @property
    def scored(self) -> Scored:
        """What a fit to the same rows need not compute again."""
        found = {view: parts.get("kernel") for view, parts in self._parts.items()}
        kernels = {
            view: part.weights
            for view, part in found.items()
            if isinstance(part, KernelScores)
        }
        return Scored(self.left_out, kernels)

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The labelled rows (n, m) and their classes (n,)."""
        return self._X, self._codes

    def of(self, X: np.ndarray, backend: Backend = NUMPY) -> np.ndarray:
        """Return the scores of new rows, (s, q, C), those of patches by `backend`.

        Patches are what takes time; the other parts know only NumPy.
        """
        scores, gaps = [], np.zeros(X.shape[0], dtype=bool)
        if not sp.issparse(X):
            gaps = np.isnan(X).any(axis=1)
        if gaps.any():
            refuse_gaps(self._settings)
        for view, parts in self._parts.items():
            Z = self._apply(view, X)
            for name, part in parts.items():
                if name in TWINS and gaps.any() and not self._has_gaps:
                    found = np.empty((1, Z.shape[0], self.n_classes))
                    found[:, gaps] = self._twin(view, name).of(Z[gaps])
                    if not gaps.all():
                        found[:, ~gaps] = self._of(part, Z[~gaps], backend)
                    scores.append(found)
                else:
                    scores.append(self._of(part, Z, backend))
        return np.concatenate(scores)

    def _of(self, part: Part, Z: np.ndarray, backend: Backend) -> np.ndarray:
        there = backend.bring(Z) if isinstance(part, PatchScores) else Z
        return NUMPY.bring(part.of(there))

    def _twin(self, view: str, name: str) -> Part:
        """Return the part for rows with gaps, where training rows have none."""
        if (view, name) not in self._twins:
            Z, settings = self._apply(view, self._X), self._settings
            self._twins[view, name] = fit_part(
                name,
                Z,
                self._codes,
                settings,
                scored=True,
                gaps=True,
                row_weights=self.row_weights,
            )
        return self._twins[view, name]

    def patches(self, x: Any, own: int | None) -> dict[str, list[np.ndarray]]:
        """Return, for one row, its patch of every class in every view.

        Parameters
        ----------
        x : array (1, m)
            The row.
        own : int or None
            The training row that it is, and that is in none of its patches.

        Returns
        -------
        dict of str to list of int arrays
            Positions among the labelled rows, nearest first; empty without patches.
        """
        found: dict[str, list[np.ndarray]] = {}
        for view, parts in self._parts.items():
            part = parts.get("patch")
            if isinstance(part, PatchScores | PatchGapScores):
                z = self._apply(view, x)[0]
                found[view] = [
                    part.patch_rows(z, c, own) for c in range(self.n_classes)
                ]
        return found

    def relevance(self) -> np.ndarray:
        """Return the weight of every column by Relief, (m,)."""
        if self._has_gaps:
            raise ValueError(
                "X has gaps (NaN), and Relief weighs columns by differences of whole "
                "rows: fill the gaps."
            )
        if self._used is not None:
            weights = np.zeros(self._X.shape[1])
            weights[self._used] = sparse_relief(
                self._X[:, self._used],
                self._codes,
                weights.size,
                n_jobs=self._settings.n_jobs,
            )
            return weights
        plain = fit_views(("zscore",), self._X, self._codes)["zscore"]
        return relief_weights(
            plain.apply(self._X), self._codes, n_jobs=self._settings.n_jobs
        )

    def spread(self, count: int) -> np.ndarray:
        """Return training rows that stand for all, as the first view sees them."""
        Z = self._apply(next(iter(self._views)), self._X)
        return spread_rows(np.nan_to_num(Z), count)

    def _apply(self, view: str, X: Any) -> Any:
        """Return rows as a view sees them; the training rows must be `_X` itself."""
        if self._used is None:
            width = X.shape[1]
        elif view != MARGINAL_VIEW and X is self._X:
            return self._views[view].samples
        else:
            X = X[:, self._used]
            width = 0 if view == MARGINAL_VIEW else self._views[view].width
        if view == MARGINAL_VIEW:
            return X
        Z, seen = np.empty((X.shape[0], width)), self._views[view]

        def apply(rows: slice) -> None:
            Z[rows] = seen.apply(X[rows])

        map_blocks(apply, X.shape[0], 0, self.n_jobs, step=SEEN_AT_ONCE)
        return Z
