"""Effects of encoded columns -> effects of the columns of the frame that was given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...posterior.columns import ColumnEffects
from .layout import Learned, decode
from .returning import make_table

DAYS_APART = 10
"""Dates that span as many days are given as days, others to the second."""

DIGITS = 14
"""Digits that scaling and back leave as they are: of a number, or of a larger mean."""


def in_given_columns(
    effects: ColumnEffects, known: Sequence[Learned], names: Sequence[str]
) -> ColumnEffects:
    """Add up the effects of the numbers that each column became.

    Parameters
    ----------
    effects : ColumnEffects
        Of the encoded columns.
    known : sequence of Learned
        What is known of the given columns.
    names : sequence of str
        Their names.

    Returns
    -------
    ColumnEffects
        With values in the units of the frame: numbers, or text for categories and
        dates. The sum of the effects is the same.
    """
    widths = [column.width for column in known]
    starts = np.cumsum([0, *widths[:-1]])
    places = [slice(a, a + width) for a, width in zip(starts, widths, strict=True)]
    values, typical = [], []
    for column, place in zip(known, places, strict=True):
        values.append(_value(column, effects.values[place]))
        usual = _value(column, effects.typical[place])
        if column.has_dummies:  # whose medians say nothing
            usual = str(column.levels[int(np.argmax(column.shares))])
        typical.append(usual)
    return replace(
        effects,
        columns=tuple(names),
        values=_array(values),
        typical=_array(typical),
        effects=np.add.reduceat(effects.effects, starts, axis=0),
    )


def _value(column: Learned, numbers: np.ndarray) -> float | str:
    """Return what a column's numbers stand for; NaN for a gap."""
    if np.isnan(numbers).any():
        return float("nan")
    found = decode(column, numbers[None, :])
    if column.kind in ("number", "empty"):
        return _round(float(found[0]), column.shift)
    if column.kind in ("date", "duration"):
        per_day = 1 if column.span >= DAYS_APART else 86_400
        found = np.rint(found * per_day) / per_day
    (told,) = make_table("array", [""], [column], [found])[0]
    return str(told).removesuffix(" 00:00:00").removesuffix(", 0:00:00")


def _round(number: float, shift: float) -> float:
    """Return a number without the rounding errors of scaling and back."""
    size = max(abs(number), abs(shift))
    if size == 0 or np.isnan(size):
        return number
    return round(number, DIGITS - 1 - int(np.floor(np.log10(size)))) + 0.0  # no -0.0


def _array(values: list[float | str]) -> np.ndarray:
    """Return an array of numbers, or of objects where some are text."""
    kind: Any = object if any(isinstance(value, str) for value in values) else float
    return np.array(values, dtype=kind)
