"""Scores -> posterior: p(c|x) = softmax_c(Σ_s a_s φ_sc(x) + b_c), a ≥ 0.

A score enters less its mean over the classes, divided by the root mean square that
leaves over the training rows: only differences between classes speak, in one unit. The
weights a are shared by all classes and not negative, so a score may speak or be silent,
never lie. They are fitted to leave-one-out scores, so a score that only remembers its
own row gets no weight. The problem is convex; Newton steps solve it to rounding, so the
order of the rows does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RIDGE = 0.01
"""Penalty on a and b, per training row."""

MAX_STEPS = 100
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Stack:
    """Fitted weights of the scores.

    Attributes
    ----------
    weights : array (s,)
        a, at least 0.
    offsets : array (C,)
        b.
    scales : array (s,)
        Root mean squares of the centred scores.
    """

    weights: np.ndarray
    offsets: np.ndarray
    scales: np.ndarray

    def contributions(self, scores: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return what every score adds to the log odds of every class, (s, q, C)."""
        return self.weights[:, None, None] * _standardize(scores, known, self.scales)

    def posterior(self, scores: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return p(c|x), (q, C); a class that is not known has probability 0."""
        logits = self.contributions(scores, known).sum(axis=0) + self.offsets
        return _softmax(logits, known)


def fit_stack(
    scores: np.ndarray,
    known: np.ndarray,
    codes: np.ndarray,
    row_weights: np.ndarray | None = None,
) -> Stack:
    """Fit the weights to leave-one-out scores.

    Parameters
    ----------
    scores : array (s, n, C)
        Leave-one-out scores.
    known : bool array (n, C)
        Whether the class has rows besides this one.
    codes : int array (n,)
        True classes. A row that is the only one of its class has nothing to say here.
    row_weights : array (n,) or None
        What each row counts in the log loss and in the units of scores.

    Returns
    -------
    Stack
    """
    n_scores, n, n_classes = scores.shape
    centred = _standardize(scores, known, np.ones(n_scores))
    counts = np.ones(n) if row_weights is None else row_weights
    squared = (centred**2 * counts[:, None]).sum(axis=(1, 2))
    scales = np.sqrt(squared / max(1e-9, float(counts @ known.sum(axis=1))))
    scales[scales == 0] = 1.0
    used = known[np.arange(n), codes]
    if not used.any():
        return Stack(np.ones(n_scores) / n_scores, np.zeros(n_classes), scales)
    features = (centred[:, used] / scales[:, None, None]).transpose(1, 2, 0)
    features = np.ascontiguousarray(features)
    problem = _Problem(features, known[used], codes[used], counts[used])
    solution = _newton(problem, n_scores)
    return Stack(solution[:n_scores], solution[n_scores:], scales)


def _standardize(
    scores: np.ndarray, known: np.ndarray, scales: np.ndarray
) -> np.ndarray:
    count = np.maximum(known.sum(axis=1), 1)
    shown = np.where(known, scores, 0.0)
    mean = shown.sum(axis=2) / count
    return np.where(known, shown - mean[:, :, None], 0.0) / scales[:, None, None]


def _softmax(logits: np.ndarray, known: np.ndarray) -> np.ndarray:
    logits = np.where(known, logits, -np.inf)
    logits = logits - logits.max(axis=1, keepdims=True)
    odds = np.exp(logits)
    return odds / odds.sum(axis=1, keepdims=True)


class _Problem:
    """The penalised mean log loss, its gradient and its Hessian."""

    def __init__(
        self,
        features: np.ndarray,
        known: np.ndarray,
        codes: np.ndarray,
        counts: np.ndarray,
    ) -> None:
        self._features, self._known = features, known
        self._counts = counts / counts.mean()
        self._n, self._n_classes, self._n_scores = features.shape
        self._codes, self._rows = codes, np.arange(codes.size)
        self._truth = np.eye(self._n_classes)[codes]

    def posterior(self, solution: np.ndarray) -> np.ndarray:
        logits = self._features @ solution[: self._n_scores]
        return _softmax(logits + solution[self._n_scores :], self._known)

    def value(self, solution: np.ndarray, posterior: np.ndarray) -> float:
        right = np.maximum(posterior[self._rows, self._codes], 1e-300)
        loss = -(self._counts * np.log(right)).mean()
        return float(loss + RIDGE / 2 * solution @ solution)

    def derivatives(
        self, solution: np.ndarray, posterior: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        s = self._n_scores
        size = s + self._n_classes
        counts = self._counts[:, None]
        excess = counts * (posterior - self._truth) / self._n
        flat = self._features.reshape(-1, s)
        gradient = np.concatenate([excess.ravel() @ flat, excess.sum(axis=0)])
        hessian = np.empty((size, size))
        mean = np.einsum("nc,ncs->ns", posterior, self._features)
        weighed = counts * posterior
        hessian[:s, :s] = flat.T @ (flat * weighed.reshape(-1, 1))
        hessian[:s, :s] -= mean.T @ (counts * mean)
        mixed = np.einsum("nc,ncs->cs", weighed, self._features) - weighed.T @ mean
        hessian[s:, :s], hessian[:s, s:] = mixed, mixed.T
        hessian[s:, s:] = np.diag(weighed.sum(axis=0)) - weighed.T @ posterior
        return (
            gradient + RIDGE * solution,
            hessian / self._n + RIDGE * np.eye(size),
        )


def _newton(problem: _Problem, n_bounded: int) -> np.ndarray:
    """Minimise with the first `n_bounded` unknowns at least 0 (projected Newton)."""
    size = n_bounded + problem._n_classes
    bounded = np.arange(size) < n_bounded
    solution = np.where(bounded, 1.0 / max(1, n_bounded), 0.0)
    posterior = problem.posterior(solution)
    value = problem.value(solution, posterior)
    for _ in range(MAX_STEPS):
        gradient, hessian = problem.derivatives(solution, posterior)
        held = bounded & (solution <= 0) & (gradient > 0)
        free = np.flatnonzero(~held)
        step = np.zeros(size)
        step[free] = np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        rate = 1.0
        while True:
            trial = solution - rate * step
            trial = np.where(bounded, np.maximum(trial, 0), trial)
            trial_posterior = problem.posterior(trial)
            trial_value = problem.value(trial, trial_posterior)
            if trial_value <= value or rate < 1e-10:
                break
            rate /= 2
        moved = np.abs(trial - solution).max()
        solution, posterior, value = trial, trial_posterior, trial_value
        if moved <= TOLERANCE or rate < 1e-10:
            break
    return solution
