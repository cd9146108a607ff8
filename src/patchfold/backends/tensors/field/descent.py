"""Attraction and a start on a device -> coordinates: the steps of CauchyMap.

What a step needs stays on the device. The host looks at the samples now and then: it
chooses the grid, and checks the objective.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backend import Array
from ...progress import tell_part
from . import kernels
from .steps import Steps

LOOK = 10
"""Steps at most from one look of the host to the next."""


def take_steps(
    attraction: Any, start: Array, recipe: Any, n_jobs: int | None
) -> tuple[Array, float, int, bool, np.ndarray]:
    """Minimise the objective; return what `Descent` has.

    Parameters
    ----------
    attraction : Attraction
        Weights of pairs.
    start : tensor (n, 2)
        Coordinates to begin with.
    recipe : Recipe
        What is minimised.
    n_jobs : int or None
        Not used.
    """
    steps = _make_steps(attraction, start.float(), recipe)
    objective: list[float] = []
    done, stopped = 0, False
    while True:
        steps.choose_grid()
        is_last = done == recipe.max_iter
        if is_last or recipe.is_checked(done):
            Z = steps.push()
        if recipe.is_checked(done):
            share = recipe.factors(done, start.shape[0])[0]
            objective.append(recipe.alpha * steps.stretch(share) + float(np.log(Z)))
            stopped = len(objective) > 1 and objective[-2] - objective[-1] < recipe.tol
        if is_last or stopped:
            return steps.Y, Z, done, stopped, np.array(objective)
        done = steps.advance(done, _until_look(recipe, done))
        tell_part("steps", done, recipe.max_iter)


def _make_steps(attraction: Any, start: Array, recipe: Any) -> Steps:
    if not kernels.can_run(start):
        return Steps(attraction, start, recipe)
    from .fused import FusedSteps

    return FusedSteps(attraction, start, recipe)


def _until_look(recipe: Any, done: int) -> int:
    """Return how many steps the host may leave the device alone for."""
    for more in range(1, LOOK):
        if recipe.is_checked(done + more) or done + more == recipe.max_iter:
            return more
    return LOOK
