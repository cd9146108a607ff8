"""Labelled rows -> posteriors and places: scores, their stack and anchors in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..backends.backend import NUMPY, Backend
from ..backends.blas import one_blas_thread
from ..backends.threads import map_blocks
from ..exceptions import LabelBlendWarning, warn
from .anchors import order_classes, place_anchors
from .scores import ClassScores, Scored, Settings
from .stack import Stack, fit_stack

STACK_ROWS = 100_000
"""Most rows that the stack is fitted to; of more, this many at even steps."""

ROOM = 2**28
"""Bytes of the scores of new rows that are held at once."""

TYPICALITY = 0.2
"""Height of the typicality axis; the anchors are at distance 1 from the centre."""


@dataclass(frozen=True)
class ClassEvidence:
    """The evidence for every class, of some rows.

    Attributes
    ----------
    posterior : array (q, C)
        p(c|x).
    best : array (q,)
        The weighed score of the class that fits best: how typical a row is.
    contributions : array (s, q, C)
        What every score adds to the log odds of every class.
    """

    posterior: np.ndarray
    best: np.ndarray
    contributions: np.ndarray


@dataclass(frozen=True)
class Solution:
    """What is fitted to the scores of all rows.

    Attributes
    ----------
    stack : Stack
        Weights of the scores.
    anchors : array (C, d)
        Where a row lies that surely is of a class.
    center, spread : float
        Median of the best scores, and the range between their quartiles.
    """

    stack: Stack
    anchors: np.ndarray
    center: float
    spread: float


class PosteriorModel:
    """Scores, stack and anchors, fitted to labelled rows.

    Parameters
    ----------
    settings : Settings
        Which scores.
    X : array or csr_array (n, m)
        Labelled rows.
    codes : int array (n,)
        Their classes, 0, 1, ..., C - 1.
    n_components : int
        Dimensions, at most C.
    known : tuple of Scored and Solution, or None
        Of the same rows, where they were fitted before.
    row_weights : array (n,) or None
        What each row counts; their mean is 1.

    Attributes
    ----------
    scores : ClassScores
        Fitted scores.
    stack : Stack
        Their weights.
    solution : Solution
        The stack, anchors, and what typical rows score.
    """

    def __init__(
        self,
        settings: Settings,
        X: np.ndarray,
        codes: np.ndarray,
        n_components: int,
        known: tuple[Scored, Solution] | None = None,
        row_weights: np.ndarray | None = None,
    ) -> None:
        scored, solution = known or (None, None)
        self.scores = ClassScores(settings, X, codes, scored, row_weights)
        self._has_typicality = n_components == self.scores.n_classes
        if solution is None:
            self.stack = self._fit_stack(codes, row_weights)
            solution = self._solve(order_classes(X, codes), n_components)
        self.stack, self.solution = solution.stack, solution

    def _fit_stack(self, codes: np.ndarray, row_weights: np.ndarray | None) -> Stack:
        scores, known = self.scores.left_out, self.scores.known
        if codes.size > STACK_ROWS:
            rows = self.scores.spread(STACK_ROWS)
            scores, known, codes = scores[:, rows], known[rows], codes[rows]
            row_weights = None if row_weights is None else row_weights[rows]
        return fit_stack(scores, known, codes, row_weights)

    def _solve(self, order: np.ndarray, n_components: int) -> Solution:
        """Place the anchors, and find what typical rows score."""
        posterior, best = self.weigh_left_out()
        n_classes = self.scores.n_classes
        spatial = min(n_components, n_classes - 1)
        anchors = np.zeros((n_classes, n_components))
        anchors[order, :spatial] = place_anchors(posterior[:, order], spatial)
        low, center, high = np.quantile(best, [0.25, 0.5, 0.75])
        return Solution(self.stack, anchors, float(center), float(high - low) or 1.0)

    @property
    def anchors(self) -> np.ndarray:
        """Where a row lies that surely is of a class, (C, d)."""
        return self.solution.anchors

    def weigh_left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Return posteriors (n, C) and best scores (n,) of the training rows."""
        return self._weigh(self.scores.left_out, self.scores.known)

    def weigh(
        self, X: np.ndarray, backend: Backend = NUMPY
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return posteriors (q, C) and best scores (q,) of new rows, some at a time.

        Patches are scored on `backend`.
        """
        n_classes = self.scores.n_classes
        posterior, best = np.empty((X.shape[0], n_classes)), np.empty(X.shape[0])
        step = max(1, ROOM // (8 * len(self.scores.names) * n_classes))
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            scores = self.scores.of(X[rows], backend)
            known = np.ones(scores.shape[1:], dtype=bool)
            posterior[rows], best[rows] = self._weigh(scores, known)
        return posterior, best

    def left_out(self, rows: slice | list[int] = slice(None)) -> ClassEvidence:
        """Return the evidence of training rows, each without itself."""
        scores, known = self.scores.left_out[:, rows], self.scores.known[rows]
        return self._weigh_evidence(scores, known)

    def of(self, X: np.ndarray) -> ClassEvidence:
        """Return the evidence of new rows."""
        known = np.ones((X.shape[0], self.scores.n_classes), dtype=bool)
        return self._weigh_evidence(self.scores.of(X), known)

    def place(self, posterior: np.ndarray, best: np.ndarray) -> np.ndarray:
        """Return coordinates, (q, d): the mean of the anchors under the posterior."""
        placed = posterior @ self.anchors
        if self._has_typicality:
            height = (best - self.solution.center) / self.solution.spread
            placed[:, -1] = TYPICALITY * np.tanh(height)
        return placed

    def _weigh_evidence(self, scores: np.ndarray, known: np.ndarray) -> ClassEvidence:
        posterior, best = self._weigh(scores, known)
        return ClassEvidence(posterior, best, self.stack.contributions(scores, known))

    def _weigh(
        self, scores: np.ndarray, known: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        weights = self.stack.weights / self.stack.scales
        posterior, best = np.empty(known.shape), np.empty(known.shape[0])

        def weigh(rows: slice) -> None:
            ours, seen = scores[:, rows], known[rows]
            weighed = np.where(seen, np.tensordot(weights, ours, axes=1), -np.inf)
            posterior[rows] = self.stack.posterior(ours, seen)
            best[rows] = weighed.max(axis=1)

        work = 6 * 8 * scores.shape[0] * scores.shape[2]
        with one_blas_thread():
            map_blocks(weigh, known.shape[0], work, self.scores.n_jobs)
        return posterior, best


def blend_labels(posterior: np.ndarray, codes: np.ndarray, share: float) -> np.ndarray:
    """Mix the labels into the posterior of training rows, if that is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> blend_labels(np.array([[0.8, 0.2]]), np.array([0]), 0.0).tolist()
    [[0.8, 0.2]]
    """
    if not share:
        return posterior
    warn(
        f"label_blend={share:g} puts the labels of training rows into "
        "their coordinates: the training picture will show classes apart even "
        "where labels are random (0.5: a silhouette of .81 to 1 with permuted "
        "labels). Only what transform makes of other rows is evidence; "
        "label_blend=0 shows it for training rows too.",
        LabelBlendWarning,
    )
    return (1 - share) * posterior + share * np.eye(posterior.shape[1])[codes]
