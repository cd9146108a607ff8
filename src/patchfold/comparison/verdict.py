"""Scores -> an answer: which method shows the table best, and can that be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..metrics.fold_tests import corrected_t_test, differ_from_best
from .preparing import find_far_rows
from .record import Findings
from .scoring import Result

ALPHA = 0.05
"""Methods differ from the best if the corrected p-value is below this."""

SHOWN = 4
"""Most methods that a sentence names; the others are counted."""

GAP = 0.02
"""A difference of two scores that is worth a word."""

UNSEEN = 5e-4
"""A smaller one rounds to nothing, however sure it is."""


@dataclass(frozen=True)
class Verdict:
    """The answer.

    Attributes
    ----------
    best : tuple of str
        Names of the best method and of those next to it that cannot be told from it. A
        method below one that is surely behind is not among them.
    p_values : dict of str to float
        Of every other method: how likely such a difference from the best is by chance,
        corrected by Holm's rule.
    sentences : tuple of str
        Two sentences: the best, and how sure that is.
    reasons : tuple of (str, str)
        What speaks for the answer ("good") and what to be careful about ("careful").
    """

    best: tuple[str, ...]
    p_values: dict[str, float]
    sentences: tuple[str, ...]
    reasons: tuple[tuple[str, str], ...]


def judge(findings: Findings) -> Verdict:
    """Compare the best method with the others, and return the verdict.

    Parameters
    ----------
    findings : Findings
        What was measured.

    Returns
    -------
    Verdict
        Without sentences if no method has a score.
    """
    scored = [r for r in findings.ranked() if np.isfinite(r.primary) and not r.failure]
    if not scored:
        return Verdict((), {}, ("No method could be scored here.",), ())
    best = scored[0]
    p_values = _p_values(scored)
    behind = [r for r in scored[1:] if p_values.get(r.name, 0.0) < ALPHA]
    n_tied = scored.index(behind[0]) if behind else len(scored)
    n_tied = min(n_tied, _n_above_guess(findings, scored))
    tied = scored[:n_tied]
    unsure = [r for r in scored[n_tied:] if r not in behind]
    sure = _say_sure(findings, tied, behind, unsure)
    sentences = (_say_best(findings, tied, len(scored)), sure)
    if findings.task == "none":
        sentences = (sentences[0], f"{sentences[1]} {_say_order(best, scored)}")
    reasons = [
        *_weigh_references(findings, best),
        *_weigh_method(findings, best),
        *_weigh_rows(findings),
    ]
    return Verdict(
        tuple(r.name for r in tied), p_values, sentences, tuple(filter(None, reasons))
    )


def _n_above_guess(findings: Findings, scored: list[Result]) -> int:
    """Count the methods that score more than a guess, if the best surely does."""
    guess = next((r for r in findings.results if r.name == "guess"), None)
    if guess is None or not _beats(scored[0], guess):
        return len(scored)
    return sum(r.primary > guess.primary for r in scored)


def _p_values(scored: list[Result]) -> dict[str, float]:
    """Return the corrected p-values of all methods against the first."""
    length = len(scored[0].folds)
    if length < 2:
        return {r.name: 1.0 for r in scored[1:]}
    tested = [r for r in scored if len(r.folds) == length]
    folds = {r.name: r.rows if _by_rows(tested) else r.folds for r in tested}
    return differ_from_best(folds, scored[0].name, 1 / (length - 1))


def _by_rows(results: Sequence[Result]) -> bool:
    """Say whether results can be compared row by row."""
    return all(len(r.rows) == len(r.folds) for r in results)


def _say_best(findings: Findings, tied: list[Result], n_scored: int) -> str:
    best = tied[0]
    what = {
        "classes": f"classifies {_part(best.primary)} of the held-out rows correctly",
        "numbers": f"predicts held-out rows with R² = {best.primary:.2f}",
        "none": f"keeps neighbours best, with trustworthiness {best.primary:.3f}",
    }[findings.task]
    where = "" if findings.task == "none" else " by their neighbours in its picture"
    sure = _error(best, findings.task)
    if n_scored == 1:
        return f"{best.title} {what}{where}{sure}; there is nothing to compare it with."
    if len(tied) == 1:
        if findings.task == "none":
            return f"{best.title} {what}{sure}."
        target = f"“{findings.target}”" if findings.target else "the target"
        return f"{best.title} shows {target} best: it {what}{where}{sure}."
    if findings.task == "none":
        what = f"keeps neighbours with trustworthiness {best.primary:.3f}"
    return (
        f"{_listed([r.title for r in tied])} cannot be told apart; {best.title}, the "
        f"first, {what}{where}{sure}."
    )


def _say_sure(
    findings: Findings,
    tied: list[Result],
    behind: list[Result],
    unsure: list[Result],
) -> str:
    n_folds = len(tied[0].folds)
    over = f"the rows of {n_folds} folds" if _by_rows(tied) else f"{n_folds} folds"
    how = f"paired over {over}, corrected t-test with Holm's rule"
    if behind:
        nearest = behind[0]
        others = len(behind) - 1
        more = f" and {others} more" if others else ""
        lead = tied[0].primary - nearest.primary
        gap = _gap(findings, lead) + (", too little to see" if lead < UNSEEN else "")
        who = "It" if len(tied) == 1 else tied[0].title
        said = f"{who} is ahead of {nearest.title} (by {gap}){more} ({how}, 5%)."
    else:
        said = f"No method is surely behind ({how}, 5%)."
    if unsure:
        vary = "scores" if len(unsure) == 1 else "score"
        vary += " lower too" if behind else " lower"
        vary += ", but too unevenly over the folds to be sure."
        said += f" {_listed([r.title for r in unsure])} {vary}"
    return said


def _say_order(best: Result, scored: list[Result]) -> str:
    most = max(scored, key=lambda r: np.nan_to_num(r.triplets, nan=-1.0))
    if not np.isfinite(best.triplets) or not np.isfinite(most.triplets):
        return ""
    if most.triplets - best.triplets > GAP:
        return (
            f"For large distances look at {most.title}: it keeps {most.triplets:.0%} "
            f"of random triplets in order, {best.title} {best.triplets:.0%}."
        )
    return (
        f"{best.title} also keeps large distances as well as any: "
        f"{best.triplets:.0%} of random triplets are in order."
    )


def _weigh_references(findings: Findings, best: Result) -> list[tuple[str, str]]:
    """Compare the best method with all features, a guess, and shuffled labels."""
    by_name = {r.name: r for r in findings.results}
    said = []
    guess, features = by_name.get("guess"), by_name.get("features")
    if guess is not None and np.isfinite(guess.primary):
        shown = _shown(findings, guess)
        if _beats(best, guess):
            far = "far " if best.primary - guess.primary > 0.2 else ""
            said.append(("good", f"It is {far}better than a guess ({shown})."))
        else:
            said.append(
                (
                    "careful",
                    f"It is not surely better than a guess ({shown}): do not read the "
                    "target into any of the pictures.",
                )
            )
    if features is not None and np.isfinite(features.held_out):
        lost = features.held_out - best.primary
        text = f"All features, without a picture, reach {_shown(findings, features)}"
        if lost > GAP:
            said.append(
                (
                    "careful",
                    f"{text}: two dimensions lose {_gap(findings, lost)}. Predict from "
                    "the table, not from the picture.",
                )
            )
        else:
            end = "little is lost" if lost > -GAP else "the picture does better"
            said.append(("good", f"{text}: {end}."))
    control = by_name.get(f"{best.name}-permuted")
    if control is not None and guess is not None and np.isfinite(control.held_out):
        leaks = control.held_out - guess.primary > 0.1
        text = f"With shuffled labels {best.title} reaches {_shown(findings, control)}"
        if leaks:
            said.append(("careful", f"{text}, more than a guess: labels leak."))
        else:
            like = control.held_out > guess.primary
            than = "about as a guess does" if like else "no more than a guess does"
            said.append(("good", f"{text}, {than}: labels do not leak."))
    return said


def _beats(best: Result, guess: Result) -> bool:
    if len(best.folds) < 2 or len(best.folds) != len(guess.folds):
        return best.primary > guess.primary
    by_rows = _by_rows((best, guess))
    pairs = zip(*((r.rows if by_rows else r.folds) for r in (best, guess)), strict=True)
    p = corrected_t_test(
        [np.subtract(*pair) for pair in pairs], 1 / (len(best.folds) - 1)
    )
    return best.primary > guess.primary and p < ALPHA


def _weigh_method(findings: Findings, best: Result) -> list[tuple[str, str]]:
    """Say what is known of the best method's own picture."""
    said = []
    if best.curve is not None and len(best.curve.means) > 1:
        low, high = min(best.curve.means), max(best.curve.means)
        steady = high - low <= 2.5 * GAP
        change = f"{high - low:.2f}" if high - low >= 5e-3 else "less than 0.01"
        sizes = f"{best.curve.sizes[0]} to {best.curve.sizes[-1]} neighbours"
        where = "" if findings.task == "none" else " on one fold"
        said.append(
            (
                "good" if steady else "careful",
                f"With {sizes} its score changes by {change}{where}: the choice "
                f"matters {'little' if steady else 'here'}.",
            )
        )
    if best.recalls:
        said.append(_weigh_classes(findings, best))
    if np.isfinite(best.trustworthiness):
        trust = f"trustworthiness {best.trustworthiness:.2f}"
        if best.trustworthiness >= 0.9:
            text = f"Near in its picture is mostly near in the table ({trust})."
            said.append(("good", text))
        else:
            text = f"Near in its picture is often not near in the table ({trust})."
            groups = "groups" if findings.task == "none" else "classes"
            said.append(("careful", f"{text} Read {groups}, not single neighbours."))
    said += [
        ("careful", f"Its picture {why}.")
        for why in (best.hides, best.flatters.replace("its picture", "it"))
        if why
    ]
    return said


def _weigh_rows(findings: Findings) -> list[tuple[str, str]]:
    """Say that no row is far from the others; rows that are have their own remark."""
    if findings.distances is None or find_far_rows(findings.distances).size:
        return []
    return [("good", "No row is far from the others.")]


def _weigh_classes(findings: Findings, best: Result) -> tuple[str, str]:
    recalls = np.array(best.recalls)
    assert findings.labels is not None
    counts = np.bincount(findings.labels, minlength=recalls.size)
    weakest = int(np.nanargmin(recalls))
    if recalls[weakest] >= 0.9:
        return "good", f"Of every class at least {recalls[weakest]:.0%} are found."
    part = f"{recalls[weakest]:.0%}" if recalls[weakest] > 0 else "none"
    text = (
        f"Its weakest class is “{findings.class_names[weakest]}”: {part} of its "
        f"{counts[weakest]:,} rows are found."
    )
    if best.mistaken and best.mistaken[weakest][1]:
        other, count = best.mistaken[weakest]
        text += f" {count:,} are taken for “{findings.class_names[other]}”."
    lost = [findings.class_names[c] for c in np.flatnonzero(recalls < 0.5)]
    if len(lost) > 1:
        names = _listed([f"“{name}”" for name in lost])
        text += (
            f" In {len(lost)} of the {recalls.size} classes less than half of the rows "
            f"are found: {names}."
        )
    rivals = [r for r in findings.ranked() if np.isfinite(r.balanced)]
    fair = max(rivals, key=lambda r: r.balanced)
    if fair.balanced - best.balanced > GAP:
        text += (
            f" By balanced accuracy {fair.title} is ahead ({fair.balanced:.3f} against "
            f"{best.balanced:.3f})."
        )
        return "careful", text
    return ("good" if recalls[weakest] >= 0.5 else "careful"), text


def _part(value: float) -> str:
    return f"{value:.1%}"


def _error(result: Result, task: str) -> str:
    error = result.error
    if not np.isfinite(error):
        return ""
    if task == "classes":
        return f" (± {100 * error:.1f} points)"
    return f" (± {error:.3f})" if error >= UNSEEN else " (± less than 0.001)"


def _shown(findings: Findings, result: Result) -> str:
    """Return a score in the units of the verdict: percent of rows, or R²."""
    if findings.task == "classes":
        return _part(result.held_out)
    return f"R² = {round(result.held_out, 2) + 0.0:.2f}"  # never -0.00


def _gap(findings: Findings, difference: float) -> str:
    """Return a difference of two scores: points of percent for classes."""
    if findings.task == "classes":
        return f"{100 * difference:.1f} points"
    return f"{difference:.3f}" if difference >= UNSEEN else "less than 0.001"


def _listed(words: Sequence[str]) -> str:
    if len(words) > SHOWN:
        rest = len(words) - SHOWN + 1
        words = [*words[: SHOWN - 1], f"{rest} others"]
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} and {words[-1]}"
