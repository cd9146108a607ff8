"""Numbers and dates that stand for missing cells: doubted, or counted as such."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .doubts import Doubt
from .naming import join_names, listed

if TYPE_CHECKING:
    import pandas as pd

LEAST_CODE = 99
"""Numbers of nines from here on may be codes: 99, -999, 999.9. A 9 may be anything."""

BESIDE = 3
"""Codes that may stand beside one of nines: 96, 97 and 98 beside 99, of surveys."""

APART = 2.0
"""A code stands apart if it is this many times as far from all else as that is wide."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?")
_YEAR_ENDS = ("-01-01", "-12-31")
"""Dates that may be codes: 9999-12-31, 1900-01-01."""


def is_code(value: float) -> bool:
    """Say whether a number has nines only, as codes for missing cells have."""
    return abs(value) >= LEAST_CODE and not {*f"{abs(value):.15g}"} - {"9", "."}


def doubt_code(values: np.ndarray) -> Doubt | None:
    """Doubt the outermost numbers that look like codes and stand apart."""
    return _doubt(values, is_code, lambda value: f"{value:.15g}")


def doubt_date(days: np.ndarray) -> Doubt | None:
    """Doubt the first and last dates, in days since 1970, in the same way."""
    return _doubt(days, _is_year_end, _as_date)


def _is_year_end(day: float) -> bool:
    return _as_date(day)[4:10] in _YEAR_ENDS


def _as_date(day: float) -> str:
    """Return days since 1970 as a date, with its time to the millisecond if any."""
    moment = np.datetime64(round(day * 86_400e3), "ms")
    shorter = moment.astype("M8[D]"), moment.astype("M8[s]")
    return str(next((short for short in shorter if short == moment), moment))


def _doubt(
    values: np.ndarray, may_be: Callable[[float], bool], tell: Callable[[float], str]
) -> Doubt | None:
    present = values[~np.isnan(values)]
    alone = _alone(present) if may_be is is_code else []
    rest = present[~np.isin(present, alone)]
    far: list[float] = []
    while apart := _stand_apart(rest, may_be):  # within 999 there may be 99
        far += apart
        rest = rest[~np.isin(rest, apart)]
    if not alone and not far:
        return None
    found = [*alone, *far]
    said = [f"{tell(code)} in {int((values == code).sum()):,}" for code in found]
    where = ["alone below 0"] if alone else []
    where += [f"far from {tell(rest.min())} to {tell(rest.max())}"] if far else []
    reason = f"has {listed(said)} of {len(values):,} rows, {' or '.join(where)}"
    return Doubt(reason, "missing", join_names(map(tell, found)))


def _alone(values: np.ndarray) -> list[float]:
    """Return the numbers below 0 if all of them look like codes, and others are not."""
    below = np.unique(values[values < 0])
    some = len(below) > 0 and values.max() >= 0
    codes = [code for start in filter(is_code, below) for code in _run(below, start)]
    return below.tolist() if some and np.isin(below, codes).all() else []


def _run(values: np.ndarray, code: float) -> list[float]:
    """Return a code of nines, and the numbers right beside it, towards 0.

    Examples
    --------
    >>> import numpy as np
    >>> _run(np.array([1.0, 2.0, 97.0, 98.0, 99.0]), 99.0)
    [99.0, 98.0, 97.0]
    """
    run, step = [code], -np.sign(code)
    while len(run) <= BESIDE and run[-1] + step in values:
        run.append(float(run[-1] + step))
    return run


def _stand_apart(values: np.ndarray, may_be: Callable[[float], bool]) -> list[float]:
    """Return the least and greatest values, if they may be codes and stand apart."""
    ends = np.unique([values.min(), values.max()]).tolist()
    has_runs = may_be is is_code
    runs = [_run(values, c) if has_runs else [c] for c in filter(may_be, ends)]
    rest = values[~np.isin(values, [code for run in runs for code in run])]
    if not runs or not len(rest):
        return []
    least, greatest = rest.min(), rest.max()
    return [
        code
        for run in runs
        for code in run
        if max(least - max(run), min(run) - greatest) > APART * (greatest - least) > 0
        and np.isin(values, run).sum() > 1
    ]


def mask_absent(column: pd.Series, words: Sequence[str]) -> tuple[pd.Series, str]:
    """Return numbers or dates without those that stand for missing cells, and which.

    Parameters
    ----------
    column : pandas.Series
        Numbers or dates; truth values stay as they are.
    words : sequence of str
        Words for a missing cell: some may be numbers, or dates of ISO 8601.
    """
    if not words:
        return column, ""
    values, kind = column.to_numpy(), column.dtype.kind
    if kind == "M":  # by NumPy: not every pandas has dates of the year 9999
        values = values.astype("M8[us]")
        dates = filter(_DATE.fullmatch, words)
        found = _parsed(dates, lambda word: np.datetime64(word, "us"))
    elif kind in "iu":  # not as floats: from 2^53 on these are not exact
        ends = np.iinfo(values.dtype)
        found = [n for n in _parsed(words, _whole) if ends.min <= n <= ends.max]
    else:
        found = _parsed(words if kind == "f" else (), float)
    gone = np.isin(values, np.array(found, dtype=values.dtype))
    if not gone.any():
        return column, ""
    said = [_as_word(value) for value in np.unique(values[gone])]
    return column.mask(gone), listed(said)


def _as_word(value: Any) -> str:
    if isinstance(value, np.datetime64):
        return _as_date(value.astype(np.int64) / 86_400e6)
    return str(value) if isinstance(value, np.integer) else f"{value:.15g}"


def _whole(word: str) -> int:
    """Return a word as a whole number: 99, 99.0, 1e3."""
    try:
        return int(word)
    except ValueError:
        if float(word).is_integer():
            return int(float(word))
        raise


def _parsed(words: Iterable[str], parse: Callable[[str], Any]) -> list[Any]:
    """Return the words that can be parsed."""
    found = []
    for word in words:
        try:
            found.append(parse(word))
        except ValueError:
            continue
    return found
