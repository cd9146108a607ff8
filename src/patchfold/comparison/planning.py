"""A method and a table -> pieces of work; their outcomes -> a result.

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
from .choosing import WEIGHTS, compiles
from .folds import find_mistaken, score_classes
from .hiding import find_flattery
from .scoring import (
    SWEPT,
    Curve,
    Held,
    Problem,
    Result,
    can_hold_out,
    hold_out,
    mean_and_error,
    measure_picture,
    tell_warnings,
)

CONTROL_FOLDS = 2
"""Folds of a control: it need not be precise."""


@dataclass(frozen=True)
class Plan:
    """The work for one method, in independent pieces.

    Attributes
    ----------
    result : Result
        What is known before anything is measured.
    calls : list of callable
        The picture, which makes a `Result`; then one `Held` for each split.
    weights : list of float
        Time of each call, relative to that of most methods.
    together : bool
        Whether one process should run all: the package compiles itself in each.
    """

    result: Result
    calls: list[Callable[[], Any]]
    weights: list[float]
    together: bool = False


@dataclass(frozen=True)
class Outcome:
    """The result of a call: a value, or why there is none; and warnings."""

    value: Any
    failure: str
    caught: list[tuple[type[Warning], str]]


def plan(method: Method, problem: Problem, kind: str, n_folds: int = 0) -> Plan:
    """List what has to be measured: the picture of all samples, then each fold.

    Parameters
    ----------
    method : Method
        What to run.
    problem : Problem
        On what.
    kind : str
        Kind of the result.
    n_folds : int, default=0
        Folds to score, the first ones; 0 for all.

    Returns
    -------
    Plan
    """
    measure = "trustworthiness" if problem.task == "none" else "held_out"
    result = Result(
        method.name,
        method.title,
        method.remark,
        kind,
        method.twin,
        measure,
        supervised=method.supervised,
    )
    bare = replace(problem, splits=[])
    calls: list[Callable[[], Any]] = [partial(measure_picture, method, bare, result)]
    # What a fold needs of the problem, without the samples of the others.
    light = replace(bare, X=problem.X[:0], y=None)
    fewest = min((len(split.train) for split in problem.splits), default=0)
    for number, split in enumerate(problem.splits[: n_folds or None]):
        swept = problem.sweep and problem.task != "none" and number < SWEPT
        settings = replace(light, sweep=swept)
        calls.append(partial(hold_out, method, settings, split, fewest))
    weight = WEIGHTS.get(method.name, 1.0)
    held = weight if can_hold_out(method, problem) else 0.0
    weights = [weight, *[held] * (len(calls) - 1)]
    return Plan(result, calls, weights, compiles(method))


def plan_control(method: Method, problem: Problem) -> Plan:
    """Plan a supervised method under shuffled labels, to show whether labels leak."""
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
        title=f"{method.title}, labels shuffled",
        remark="control: what is left when the labels mean nothing",
        twin="",
    )
    return plan(control, shuffled, "control", CONTROL_FOLDS)


def run_calls(calls: Sequence[Callable[[], Any]]) -> list[Outcome]:
    """Run some calls of a plan one after the other; an error ends none of the others.

    Linear algebra runs on one thread: other calls use the other cores.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        return [_run_call(call) for call in calls]


def _run_call(call: Callable[[], Any]) -> Outcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value, failure = None, ""
        try:
            value = call()
        except (ValueError, TypeError, ArithmeticError, MemoryError, ImportError) as e:
            failure = (str(e).splitlines() or [type(e).__name__])[0]
    return Outcome(value, failure, [(w.category, str(w.message)) for w in caught])


def conclude(
    planned: Plan, outcomes: Sequence[Outcome], problem: Problem, n_classes: int
) -> Result:
    """Put together the outcomes of a plan, in their order.

    Parameters
    ----------
    planned : Plan
        What was run.
    outcomes : sequence of Outcome
        One for each of its calls.
    problem : Problem
        On what.
    n_classes : int
        Number of classes; 0 if the target is something else.

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
    folds = tuple(
        part.scores[part.sizes.index(part.own) if part.own else 0] for part in held
    )
    result = replace(result, folds=folds, curve=result.curve or _curve(held))
    if problem.task == "none":
        return result
    mean, error = mean_and_error(folds)
    rows = tuple(part.rows for part in held)
    result = replace(result, held_out=mean, held_out_error=error, rows=rows)
    if not n_classes:
        return result
    result = add_classes(result, held, problem, n_classes)
    if result.supervised and result.kind != "control":
        assert result.embedding is not None
        assert problem.classes is not None
        flatters = find_flattery(result.embedding, problem.classes, mean)
        result = replace(result, flatters=flatters)
    return result


def _curve(held: Sequence[Held]) -> Curve | None:
    """Return the means along the sizes, over the folds that have all sizes."""
    swept = [part for part in held if len(part.sizes) > 1]
    if not swept:
        return None
    columns = zip(*(part.scores for part in swept), strict=True)
    pairs = [mean_and_error(column) for column in columns]
    return Curve(swept[0].sizes, [mean for mean, _ in pairs], [e for _, e in pairs])


def add_classes(
    result: Result, held: Sequence[Held], problem: Problem, n_classes: int
) -> Result:
    """Add balanced accuracy, macro F1, recalls and mistakes of all held-out samples."""
    pairs = [
        (split.y_test, part.predicted)
        for split, part in zip(problem.splits, held, strict=False)
    ]
    y = np.concatenate([true for true, _ in pairs])
    predicted = np.concatenate([said for _, said in pairs])
    balanced, macro_f1, recalls = score_classes(y, predicted, n_classes)
    mistaken = find_mistaken(y, predicted, n_classes)
    result = replace(result, recalls=recalls, mistaken=mistaken)
    return replace(result, balanced=balanced, macro_f1=macro_f1)
