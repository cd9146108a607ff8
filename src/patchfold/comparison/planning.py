"""A method and a table -> pieces of work, and from what they came to a result.

The pieces do not need each other, so they may be done anywhere and in any order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..estimators.methods import Method
from .scoring import (
    Curve,
    Problem,
    Result,
    hold_out,
    mean_and_error,
    measure_picture,
    tell_warnings,
)


@dataclass(frozen=True)
class Plan:
    """What there is to do for one method, in pieces that do not need each other.

    Attributes
    ----------
    result : Result
        What is known before anything is measured.
    calls : list of callable
        The picture, which makes a `Result`; then one `Held` for each split.
    """

    result: Result
    calls: list[Callable[[], Any]]


@dataclass(frozen=True)
class Outcome:
    """What a piece came to: a value, or why there is none; and warnings."""

    value: Any
    failure: str
    caught: list[tuple[type[Warning], str]]


def plan(method: Method, problem: Problem, kind: str) -> Plan:
    """Say what has to be measured: all samples' picture, then each part held out.

    Parameters
    ----------
    method : Method
        What to run.
    problem : Problem
        On what.
    kind : str
        Kind of the result.

    Returns
    -------
    Plan
    """
    result = Result(method.name, method.title, method.remark, kind, method.twin)
    calls: list[Callable[[], Any]] = [
        partial(measure_picture, method, replace(problem, splits=[]), result)
    ]
    fewest = min((len(split.train) for split in problem.splits), default=0)
    for split in problem.splits:
        settings = (fewest, problem.n_neighbors, problem.sweep)
        calls.append(partial(hold_out, method, split, *settings))
    return Plan(result, calls)


def plan_control(method: Method, problem: Problem) -> Plan:
    """Plan a supervised method under shuffled labels: what leaks, shows here."""
    assert problem.y is not None
    rng = np.random.default_rng(0)
    splits = [
        replace(s, y_train=rng.permutation(s.y_train), y_test=rng.permutation(s.y_test))
        for s in problem.splits
    ]
    shuffled = replace(
        problem, y=rng.permutation(problem.y), splits=splits, sweep=False
    )
    control = replace(
        method,
        name=f"{method.name}-permuted",
        title=f"{method.title}, labels permuted",
        remark="control: what is left when the labels mean nothing",
        twin="",
    )
    return plan(control, shuffled, "control")


def run_call(call: Callable[[], Any]) -> Outcome:
    """Run one piece of a plan, whatever happens."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value, failure = None, ""
        try:
            value = call()
        except (ValueError, ArithmeticError, MemoryError, ImportError) as error:
            failure = (str(error).splitlines() or [type(error).__name__])[0]
    return Outcome(value, failure, [(w.category, str(w.message)) for w in caught])


def conclude(planned: Plan, outcomes: Sequence[Outcome]) -> Result:
    """Put together what the pieces of a plan came to, in their order.

    Returns
    -------
    Result
        With `failure` set if one of them failed.
    """
    told = tell_warnings(
        [warning for outcome in outcomes for warning in outcome.caught]
    )
    failure = next((outcome.failure for outcome in outcomes if outcome.failure), "")
    picture, *held = (outcome.value for outcome in outcomes)
    result = replace(picture or planned.result, failure=failure, remarks=told)
    if failure or not held:
        return result
    if held[0] is None:
        return replace(result, remark=f"{result.remark}; cannot place new samples")
    own, sizes = held[0].own, held[0].sizes
    columns = zip(*(part.accuracies for part in held), strict=True)
    pairs = [mean_and_error(column) for column in columns]
    mean, error = pairs[sizes.index(own) if own else 0]
    curve = None
    if len(sizes) > 1:
        curve = Curve(sizes, [pair[0] for pair in pairs], [pair[1] for pair in pairs])
    return replace(result, held_out=mean, held_out_error=error, curve=curve)
