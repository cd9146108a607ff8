"""Class patches -> scores: how well a row fits the nearest rows of a class.

The patch of row x in class c is the K nearest rows of c, never x itself, with mean μ
and covariance Σ by the rule of `patches/fitting.py`. Its score is

    -½ log|Σ| - ½ (K + m) log(1 + (x - μ)ᵀΣ⁻¹(x - μ) / K),

the log density, up to a constant, of a Student distribution: its heavy tail is what an
estimate from K rows deserves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.arrays import cholesky
from ..backends.backend import (
    NUMPY,
    Array,
    Backend,
    array_namespace,
    backend_for,
    identity_like,
)
from ..backends.native.class_patches import can_score, score_patches
from ..backends.native.loops import pairs_at_once
from ..backends.progress import tell_each
from ..backends.threads import count_threads, map_blocks
from ..patches.fitting import fit_patches, isotropic_noise
from ..records import Patches
from .rows import variance_over
from .search import ClassSearch

BLOCK = 8192
"""Rows that are searched and scored at once, of more."""


def student_score(
    queries: Array, patches: Patches, n_points: int, n_features: int | None = None
) -> Array:
    """Return the score of each query under its own patch.

    Parameters
    ----------
    queries : array (q, m)
        Rows.
    patches : Patches
        One for each row, fitted without it.
    n_points : int
        K, the number of points of a patch.
    n_features : int or None
        m, where rows are given in fewer coordinates.

    Returns
    -------
    array (q,)
    """
    xp = array_namespace(queries)
    m = n_features or queries.shape[1]
    log_det, distance = _gaussian_terms(queries - patches.mean, patches, m)
    return -0.5 * log_det - 0.5 * (n_points + m) * xp.log(1 + distance / n_points)


def _gaussian_terms(gap: Array, patches: Patches, m: int) -> tuple[Array, Array]:
    """Return log|Σ| and gapᵀΣ⁻¹gap of each patch, of m features.

    A factored patch Σ = FᵀF + ε I uses LLᵀ = FFᵀ + ε I: |Σ| = ε^(m-r) |L|², and by
    Woodbury gapᵀΣ⁻¹gap = (‖gap‖² - ‖L⁻¹F gap‖²) / ε.
    """
    xp = array_namespace(gap)
    if patches.dense is not None:
        lower = cholesky(patches.dense)
        along = xp.linalg.solve(lower, gap[:, :, None])[:, :, 0]
        return _log_det(lower), xp.sum(along * along, axis=1)
    factor, noise = patches.factor, patches.noise
    gram = xp.matmul(factor, xp.matrix_transpose(factor))
    lower = cholesky(gram + noise[:, None, None] * identity_like(gram))
    along = xp.matmul(factor, gap[:, :, None])
    along = xp.linalg.solve(lower, along)[:, :, 0]
    squared = xp.sum(gap * gap, axis=1) - xp.sum(along * along, axis=1)
    spare = m - gram.shape[1]
    return _log_det(lower) + spare * xp.log(noise), squared / noise


def _log_det(lower: Array) -> Array:
    """Return log|LLᵀ| of each lower triangle."""
    xp = array_namespace(lower)
    return 2 * xp.sum(xp.log(xp.linalg.diagonal(lower)), axis=1)


def local_score(
    queries: Array,
    Z: Array,
    near: Array,
    *,
    shrinkage: float,
    ridge: float,
    variance: float,
    n_features: int | None = None,
    n_jobs: int | None = None,
) -> Array:
    """Score rows by patches of the rows they are nearest to.

    Parameters
    ----------
    queries : array (q, m)
        Rows.
    Z : array (n, m)
        Training rows.
    near : int array (q, K)
        The rows of Z that make the patch of each query.
    shrinkage, ridge, variance : float
        γ, ρ and v̄ of the covariance rule.
    n_features : int or None
        m, where rows are given in fewer coordinates, of which there are K or more.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    array (q,)
    """
    xp = array_namespace(queries)
    m, k = queries.shape[1], near.shape[1]
    settings: dict[str, Any] = {
        "shrinkage": shrinkage,
        "ridge": ridge,
        "variance": variance,
        "n_features": n_features,
    }
    trace = float(isotropic_noise(np.ones(1), m, shrinkage, ridge, 0.0)[0])
    rule = 1 - shrinkage, trace, ridge * variance

    def score(block: slice) -> Array:
        rows, ours = queries[block, :], near[block, :]
        by_loop = n_features is None  # the loop takes all features
        scores = score_patches(rows, Z, ours, rule) if by_loop else None
        if scores is None:
            return _score_by_arrays(rows, Z, ours, settings)
        left = np.flatnonzero(~np.isfinite(scores))
        if left.size:
            scores[left] = _score_by_arrays(rows[left], Z, ours[left], settings)
        return scores

    work = 8 * (3 * k * m + (4 * m * m if k > m else 0))
    step = pairs_at_once(k * m) if can_score(queries, Z, k) else None
    return xp.concat(map_blocks(score, queries.shape[0], work, n_jobs, step=step))


def _score_by_arrays(
    queries: Array, Z: Array, near: Array, settings: dict[str, Any]
) -> Array:
    """Score rows by arrays; parameters as in `local_score`."""
    patches = fit_patches(
        queries,
        Z,
        near,
        include_center=False,
        warn_identical=False,  # normal within a class; the ridge is their shape
        **settings,
    )
    return student_score(queries, patches, near.shape[1], settings["n_features"])


class PatchScores:
    """The scores of the K nearest rows of every class, in one view.

    Parameters
    ----------
    Z : array (n, m)
        Labelled rows, as the view sees them.
    codes : int array (n,)
        Their classes, 0, 1, ..., C - 1.
    n_neighbors : int
        K; a class of fewer rows gives all it has.
    shrinkage, ridge : float
        γ and ρ of the covariance rule.
    algorithm : {"auto", "exact"} or KNN transformer
        How neighbours are searched.
    scored : bool
        Whether the training rows have been scored before. `left_out` is then empty.
    backend : Backend
        Where training rows are searched and scored. Nothing stays there.
    n_features : int or None
        m, where rows are given in fewer coordinates, of which there are K or more.
    n_jobs : int or None
        Number of threads.
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
        algorithm: Any = "auto",
        scored: bool = False,
        backend: Backend = NUMPY,
        n_features: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._Z, self._n_neighbors = Z, n_neighbors
        self._n_classes = int(codes.max()) + 1
        self._search = ClassSearch(Z, codes, algorithm=algorithm, n_jobs=n_jobs)
        self._rule: dict[str, Any] = {
            "shrinkage": shrinkage,
            "ridge": ridge,
            "variance": variance_over(Z, n_features),
            "n_features": n_features,
            "n_jobs": n_jobs,
        }
        self.left_out = np.empty((0, codes.size, self._n_classes))
        if scored:
            for c in range(self._n_classes):
                self._search.prepare(c, n_neighbors)
            return
        self.left_out = np.full((1, codes.size, self._n_classes), np.nan)
        there, scores = backend.bring(Z), self.left_out[0]
        for c in tell_each("patch scores", range(self._n_classes)):
            members, others = self._search.members(c), self._search.others(c)
            near = self._search.own_neighbors(c, n_neighbors, backend)
            if near.size:
                own = there[backend.bring(members)]
                score = self._score(own, there, backend.bring(near))
                scores[members, c] = NUMPY.bring(score)
            if others.size:
                places = backend.bring(others)
                scores[others, c] = NUMPY.bring(self._as_new(there, there, c, places))

    def of(self, Z: Array) -> Array:
        """Return the scores of new rows, (1, q, C), where these rows are."""
        train = backend_for(Z).bring(self._Z)
        scores = [self._as_new(Z, train, c) for c in range(self._n_classes)]
        return array_namespace(Z).stack(scores, axis=-1)[None]

    def _as_new(
        self, queries: Array, Z: Array, c: int, places: Array | None = None
    ) -> Array:
        """Search and score rows, or those at some places, in class c.

        Of many, a block's neighbours are found, used and forgotten by one thread.
        """

        def score(block: slice) -> Array:
            ours = queries[block] if places is None else queries[places[block]]
            return self._score(ours, Z, self._near(ours, c))

        count = (queries if places is None else places).shape[0]
        if count <= BLOCK or backend_for(queries) is not NUMPY:
            return score(slice(0, count))
        self._near(queries[:1], c)  # lays out the class, once for all threads
        if not self._search.takes_threads(c):
            return score(slice(0, count))
        n_jobs = self._rule["n_jobs"]
        step = min(BLOCK, -(-count // count_threads(n_jobs)))
        return np.concatenate(map_blocks(score, count, 0, n_jobs, step=step))

    def _score(self, queries: Array, Z: Array, near: Array) -> Array:
        remedy = "Score fewer rows at a time."
        with backend_for(queries).working_on(queries, remedy):
            return local_score(queries, Z, near, **self._rule)

    def patch_rows(self, z: np.ndarray, c: int, own: int | None) -> np.ndarray:
        """Return the rows that make the patch of one row in class c, nearest first.

        `own` is the training row that it is, and is left out.
        """
        near = self._near(z[None], c, spare=own is not None)[0]
        return near[near != own][: self._n_neighbors]

    def _near(self, Z: Array, c: int, *, spare: bool = False) -> Array:
        return self._search.query_neighbors(Z, c, self._n_neighbors + int(spare))
