"""Numbers as people write them -> floats: marks, signs, currencies, units, percent.

Texts that are plain numbers PyArrow has read before; here are those that no reader
takes. How a column is written is learned from some of its texts, and applied to all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..estimators.encoding.disguised import CURRENCIES, UNITS

if TYPE_CHECKING:
    import pandas as pd

SAMPLE = 2000
"""Texts that are looked at to learn how numbers are written."""

_SPACES = "[ \u00a0\u2009\u202f]"
_NUMERAL = re.compile(
    rf"\(?[-+]?(?P<before>{CURRENCIES})?{_SPACES}*\(?[-+]?"
    rf"(?P<digits>\d(?:[\d.,'’_]|{_SPACES}(?=\d))*|[.,]\d+)(?P<power>[eE][-+]?\d+)?"
    rf"{_SPACES}*(?P<behind>{CURRENCIES}|{UNITS})?[-)]?"
)
LIKE = re.compile(
    r"(?![0-9A-Fa-f]{8}-|[0-9A-Fa-f]{24})"
    r"(?:(?i:ca|circa|approx|about|over|under)\.? )?"
    rf"[-+(]?\s*(?:\W|[<>]=|=\"|{CURRENCIES})?\s*\(?[-+]?[.,]?[\d½¼¾⅓⅔]"
)
"""How a text begins that looks like a number, and is no UUID or hash."""


@dataclass(frozen=True)
class Style:
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal : str
        Decimal mark.
    group : str
        Pattern of what stands between thousands; empty if nothing does.
    unit : str
        Currency, unit or percent sign beside every number; empty if there is none.
    sure : bool
        Whether the texts show which mark is which.
    """

    decimal: str
    group: str
    unit: str
    sure: bool = True

    def describe(self) -> str:
        """Say what is unusual."""
        said = ["decimal commas"] if self.decimal == "," else []
        said += ["thousands marks"] if self.group else []
        said += [f"{self.unit!r} beside them"] if self.unit else []
        return f"numbers with {', '.join(said)}" if said else "numbers as text"


def read_numerals(
    texts: pd.Series, decimal: str | None = None, likely: str = "."
) -> tuple[np.ndarray, Style | None]:
    """Return texts as floats, NaN where one is no number.

    Parameters
    ----------
    texts : pandas.Series
        Different texts, without blanks around them.
    decimal : {".", ","} or None
        The decimal mark, where it is known from elsewhere.
    likely : {".", ","}, default="."
        The decimal mark where the texts do not show it: 1,234 alone may be both.

    Returns
    -------
    values : array of float
    style : Style or None
        None if no text is a number, or they are written in ways that contradict.

    Examples
    --------
    >>> import pandas as pd
    >>> from patchfold.tables.numerals import read_numerals
    >>> values, style = read_numerals(pd.Series(["€ 1.234,50", "€ 3", "none"]))
    >>> values
    array([1234.5,    3. ,    nan])
    >>> style.describe()
    "numbers with decimal commas, thousands marks, '€' beside them"
    """
    nothing = np.full(len(texts), np.nan)
    every = max(1, len(texts) // SAMPLE)
    clean = texts.str.replace("\u2212", "-", regex=False)
    found = [m for m in map(_NUMERAL.fullmatch, clean.iloc[::every]) if m]
    if not found:
        return nothing, None
    style = _learn(found, decimal, likely)
    if style is None:
        return nothing, None
    return _apply(clean, style), style


def _learn(
    found: list[re.Match[str]], decimal: str | None, likely: str
) -> Style | None:
    """Find out what the marks are; None where numbers contradict each other."""
    units = {m["before"] or m["behind"] or "" for m in found} - {""}
    roles = [_role(match["digits"], match["power"]) for match in found]
    shown = {mark for mark, _, _ in roles} - {""}
    groups = {mark for _, marks, _ in roles for mark in marks}
    doubtful = {mark for _, _, mark in roles} - {""}
    if len(units) > 1 or len(shown) > 1 or shown & groups:
        return None
    sure = not doubtful or bool(shown or decimal or doubtful & groups)
    if shown:
        mark = shown.pop()
    elif decimal and decimal not in groups:
        mark = decimal
    else:
        mark = likely if likely not in groups else ",."[likely == ","]
    groups |= doubtful - {mark}
    pattern = "|".join(sorted(map(re.escape, groups)))
    return Style(mark, pattern, units.pop() if units else "", sure)


def _role(digits: str, power: str | None) -> tuple[str, list[str], str]:
    """Return the decimal mark of a number, its thousands marks, and a doubtful one.

    A number with a power of ten has no thousands marks: 1,234E+05.
    """
    groups = re.findall(rf"['’_]|{_SPACES}", digits)
    marks = [mark for mark in ",." if mark in digits]
    if len(marks) == 2:
        last, other = sorted(marks, key=digits.rfind, reverse=True)
        return last, [*groups, other], ""
    if not marks:
        return "", groups, ""
    if digits.count(marks[0]) > 1:
        return "", [*groups, *marks], ""
    if not power and re.fullmatch(rf"[1-9]\d{{0,2}}[{marks[0]}]\d{{3}}", digits):
        return "", groups, marks[0]
    return marks[0], groups, ""


def _apply(texts: pd.Series, style: Style) -> np.ndarray:
    """Read all texts that are written in a style."""
    import pandas as pd

    whole = r"\d+"
    if style.group:
        whole = rf"(?:\d{{1,3}}(?:(?:{style.group})\d{{3}})+|\d+)"
        if "," in style.group:  # as in India, too
            whole = rf"(?:{whole}|\d{{1,2}}(?:,\d\d)+,\d{{3}})"
    unit = rf"(?:{re.escape(style.unit)})?" if style.unit else ""
    mark = re.escape(style.decimal)
    number = rf"(?:{whole}(?:{mark}\d*)?|{mark}\d+)(?:[eE][-+]?\d+)?"
    form = rf"\(?[-+]?{unit}{_SPACES}*\(?[-+]?{number}{_SPACES}*{unit}[-)]?"
    valid = texts.str.fullmatch(form).to_numpy(dtype=bool)
    # A minus behind is one of an amount; 1995- and 2- may be periods, codes or grades.
    valid = valid & ~texts.str.fullmatch(r"[^.,]*-").to_numpy(dtype=bool)
    kept = texts[valid]
    negative = kept.str.contains(r"\(|-$").to_numpy(dtype=bool)
    if style.unit:
        kept = kept.str.replace(style.unit, "", regex=False)
    kept = kept.str.replace(rf"[()]|-$|{_SPACES}", "", regex=True)
    if style.group:
        kept = kept.str.replace(style.group, "", regex=True)
    kept = kept.str.replace(style.decimal, ".", regex=False)
    values = np.full(len(texts), np.nan)
    numbers = pd.to_numeric(kept, errors="coerce").to_numpy(dtype=np.float64)
    values[valid] = np.where(negative, -np.abs(numbers), numbers)
    return values
