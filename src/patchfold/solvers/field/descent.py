"""Attraction and a start -> coordinates: gradient descent with gains and momentum.

The objective is L = αΣ(aP + bM) ln(1 + d²/α) + ln Z: t-SNE's, with the tail α. Early
steps multiply the attraction by 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ...backends.backend import on_any_device
from ...backends.native.pulls import Eights, Step, move_samples, stretch
from ...backends.progress import tell_part
from .parts import Crew, cut
from .repulsion import Repulsion
from .start import SIZE

NEAR, MIDDLE = 0.8, 0.2
"""Shares a and b of near and of mid-near pairs."""

SEPARATING = 0.65
"""Part by which a is larger at a separation of 1."""

EARLY = 4.0
"""Factor of the attraction in early steps."""

EARLY_STEPS, SETTLED = 100, 150
"""Steps with this factor, and the step from which it is 1."""

CHECKED = 50
"""Steps from one look at the objective to the next."""


@dataclass(frozen=True)
class Recipe:
    """What the descent minimises, and when it stops.

    Attributes
    ----------
    separation : float
        s in [0, 1]: 0 looks like t-SNE, 1 like UMAP.
    max_iter : int
        Steps at most.
    tol : float
        It stops when the objective fell by less in `CHECKED` steps.
    first : int
        Number of the first step; `SETTLED` leaves the early steps out.
    flat : bool
        Whether there is one coordinate only.
    """

    separation: float = 0.0
    max_iter: int = 1000
    tol: float = 0.02
    first: int = 0
    flat: bool = False

    @property
    def alpha(self) -> float:
        """Tail α of the kernel (1 + d²/α)^(-α)."""
        return 1 / (1 + self.separation)

    @property
    def total(self) -> float:
        """Sum a + b of the shares when they have settled."""
        return self.near_share(SETTLED) + MIDDLE

    def early(self, t: int) -> float:
        """Return the factor of the attraction at step t."""
        return EARLY ** (1 - self._late(t))

    def near_share(self, t: int) -> float:
        """Return the share of near pairs at step t; that of mid-near ones is fixed."""
        return NEAR * (1 + SEPARATING * self.separation) ** self._late(t)

    @staticmethod
    def _late(t: int) -> float:
        return min(1.0, max(0.0, (t - EARLY_STEPS) / (SETTLED - EARLY_STEPS)))

    @property
    def least_size(self) -> float:
        """Samples whose coordinates vary by less are enlarged to it."""
        return SIZE

    @property
    def middle_share(self) -> float:
        """Share b of mid-near pairs, at all steps."""
        return MIDDLE

    def is_checked(self, done: int) -> bool:
        """Say whether the objective is computed after `done` steps."""
        last = done == self.max_iter
        return self.first + done >= SETTLED and (done % CHECKED == 0 or last)

    def factors(self, done: int, n: int) -> tuple[float, float, float, float]:
        """Return share of near pairs, factor of attraction, rate, momentum of a step.

        Parameters
        ----------
        done : int
            Steps that were taken before.
        n : int
            Number of samples.
        """
        t = self.first + done
        share, early = self.near_share(t), self.early(t)
        return share, early, n / (early * (share + MIDDLE)), self.momentum(t, n)

    def momentum(self, t: int, n: int) -> float:
        """Return the part of the last step that is repeated at step t."""
        if t < 20:
            return 0.5
        return 0.8 if t < SETTLED else float(np.clip(1 - 10 / n**0.5, 0.8, 0.95))


@dataclass(frozen=True)
class Descent:
    """Where the descent ended.

    Attributes
    ----------
    Y : float32 array (n, 2)
        Coordinates.
    Z : float
        Σ_i φ(y_i) - n.
    n_iter : int
        Steps taken.
    converged : bool
        Whether the objective had stopped to fall.
    objective : array
        Its value at step `SETTLED` and then every `CHECKED` steps.
    """

    Y: np.ndarray
    Z: float
    n_iter: int
    converged: bool
    objective: np.ndarray


class _State:
    """Coordinates and what belongs to them, in buffers that steps write to."""

    def __init__(self, start: np.ndarray) -> None:
        self.Y, self.moved = start.copy(), np.empty_like(start)
        self.r = np.empty_like(start)
        self.velocity, self.gain = np.zeros_like(start), np.ones_like(start)
        self.low, self.high = start.min(axis=0), start.max(axis=0)

    def take(self, sums: np.ndarray, flat: bool) -> None:
        """Take the moved samples over, centred; enlarge them if they have collapsed."""
        n = self.Y.shape[0]
        self.Y, self.moved = self.moved, self.Y
        mean = sums[:, :2].sum(axis=0) / n
        # Rows of two are slow to broadcast over: pairs as complex numbers are not.
        self.Y.view(np.complex64)[...] -= np.complex64(complex(*mean))
        self.low = (sums[:, 3:5].min(axis=0) - mean).astype(np.float32)
        self.high = (sums[:, 5:7].max(axis=0) - mean).astype(np.float32)
        squares = sums[:, 2].sum() / n - (mean * mean).sum()
        size = np.sqrt(max(squares, 0.0) / (1 if flat else 2))
        if size < SIZE:
            factor = np.float32(SIZE / max(size, 1e-12))
            for values in (self.Y, self.low, self.high):
                values *= factor
            self.velocity.fill(0)
            self.gain.fill(1)


def descend(
    attraction: Eights,
    start: np.ndarray,
    recipe: Recipe,
    n_jobs: int | None = None,
) -> Descent:
    """Minimise the objective from a start.

    Parameters
    ----------
    attraction : Eights
        Weights of pairs, as `unite` returns them.
    start : float32 array (n, 2)
        Coordinates to begin with.
    recipe : Recipe
        What is minimised.
    n_jobs : int or None
        Number of threads; bits do not depend on it.

    Returns
    -------
    Descent
        Coordinates, and how the descent went.
    """
    return Descent(*take_steps(attraction, start, recipe, n_jobs))


@on_any_device
def take_steps(
    attraction: Eights, start: np.ndarray, recipe: Recipe, n_jobs: int | None
) -> tuple[np.ndarray, float, int, bool, np.ndarray]:
    """Return what `Descent` has, in this order."""
    n = start.shape[0]
    with Crew(n_jobs, n) as crew:
        repulsion = Repulsion(n, recipe.alpha, crew)
        return _run(attraction, _State(start), recipe, repulsion, crew)


def _run(
    edges: Eights,
    state: _State,
    recipe: Recipe,
    repulsion: Repulsion,
    crew: Crew,
) -> tuple[np.ndarray, float, int, bool, np.ndarray]:
    n, slices, alpha = state.Y.shape[0], cut(state.Y.shape[0]), recipe.alpha
    objective: list[float] = []
    weighed = np.nan
    for done in range(recipe.max_iter + 1):
        share, early, rate, momentum = recipe.factors(done, n)
        if share != weighed:
            edges.weigh(share, MIDDLE)
            weighed = share
        Z = repulsion.push(state.Y, state.r, state.low, state.high)
        stopped = False
        if recipe.is_checked(done):
            parts = crew.run(partial(stretch, edges, state.Y, alpha), slices)
            objective.append(alpha * sum(parts) + float(np.log(Z)))
            stopped = len(objective) > 1 and objective[-2] - objective[-1] < recipe.tol
        if done == recipe.max_iter or stopped:
            break
        step = Step(early, 1 / Z, rate, momentum, recipe.flat)
        arrays = state.Y, state.r, state.velocity, state.gain, state.moved
        move = partial(move_samples, edges, arrays, alpha, step)
        state.take(np.stack(crew.run(move, slices)), recipe.flat)
        tell_part("steps", done + 1, recipe.max_iter)
    return state.Y, Z, done, stopped, np.array(objective)
