"""What a method has to be measured against: all features, and a constant guess."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from ..metrics.panels import silhouette
from .folds import Split, predict, score_rows
from .planning import add_classes
from .scoring import Held, Problem, Result, mean_and_error, tell_warnings


def score_references(problem: Problem, n_classes: int) -> list[Result]:
    """Score the encoded features without an embedding, and a guess without features.

    Parameters
    ----------
    problem : Problem
        The table.
    n_classes : int
        Number of classes; 0 if the target is something else.

    Returns
    -------
    list of Result
        "features"; with a target also "guess".
    """
    result = Result(
        "features",
        "All features",
        "no embedding: what the columns themselves allow",
        "reference",
        trustworthiness=1.0,
        continuity=1.0,
        triplets=1.0,
    )
    if problem.task == "none":
        return [replace(result, measure="trustworthiness")]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answers = [
            predict(s.train, s.y_train, s.test, problem.task) for s in problem.splits
        ]
        classes = problem.classes
        width = np.nan if classes is None else silhouette(problem.X, classes)
    told = tell_warnings([(w.category, str(w.message)) for w in caught])
    result = replace(result, silhouette=width, remarks=told)
    what = "largest class" if problem.task == "classes" else "mean"
    guess = Result(
        "guess", f"Guess: the {what}", "no features: what chance allows", "reference"
    )
    guesses = [_guess(split, problem.task) for split in problem.splits]
    return [
        _add_scores(result, answers, problem, n_classes),
        _add_scores(guess, guesses, problem, n_classes),
    ]


def _guess(split: Split, task: str) -> np.ndarray:
    if task == "classes":
        return np.full(len(split.y_test), np.bincount(split.y_train).argmax())
    return np.full(len(split.y_test), split.y_train.mean())


def _add_scores(
    result: Result, answers: list[np.ndarray], problem: Problem, n_classes: int
) -> Result:
    rows = tuple(
        score_rows(split.y_test, answer, problem.task)
        for split, answer in zip(problem.splits, answers, strict=True)
    )
    folds = tuple(float(part.mean()) for part in rows)
    mean, error = mean_and_error(folds)
    result = replace(result, folds=folds, held_out=mean, held_out_error=error)
    result = replace(result, rows=rows)
    if not n_classes:
        return result
    held = [
        Held(None, [], [], answer, part)
        for answer, part in zip(answers, rows, strict=True)
    ]
    return add_classes(result, held, problem, n_classes)
