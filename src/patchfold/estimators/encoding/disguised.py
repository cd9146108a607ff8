"""Texts that look like numbers or dates: they are refused, not taken for categories."""

from __future__ import annotations

import re
from typing import Any

from .months import MONTHS

CURRENCIES = (
    r"[$€£¥₹₽₩₺₪฿]|US\$|R\$|A\$|C\$|kr\.?|zł|Kč|Ft|Fr\.?|"
    r"Rs\.?|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|ZAR|RUB|TRY|MXN"
)
UNITS = (
    r"%|‰|°[CF]?|[kmµun]?g|lbs?|oz|[kcmµn]?m|inch|in|ft|mi|[mc]?l|m[²³23]|[kKMGT]i?B|"
    r"[kMG]?Wh?|[kM]?Hz|[mk]?V|[mk]?A|hrs?|h|min|sec|s|ms|days?|years?|yrs?|bar|[kMh]?Pa|"
    r"k?cal|[km]?J|mph|km/h|m/s|bpm|mmHg|mg/dl|mg/dL|x"
)
"""What stands beside a number, as patterns."""

_NUMERAL = re.compile(
    rf"[-+(\u2212]?(?P<before>{CURRENCIES})? ?[-+\u2212]?"
    r"(\d{1,3}([.,'’ \u00a0\u202f]\d{3})+|\d+)([.,]\d+)?"
    rf"[ \u00a0\u202f]?(?P<behind>{CURRENCIES}|{UNITS})?\)?"
)

_MONTH = rf"(?:{'|'.join(MONTHS)})\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?\.?"
_YEAR = r"(?:1[89]|2[01])\d\d"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[ap]\.?m\.?)?"
_DATE = re.compile(
    r"(\d{4}([-./])\d{1,2}\2\d{1,2}|\d{1,2}([-./])\d{1,2}\3\d{4}|"
    rf"\d{{1,2}}/\d{{1,2}}/\d\d)([ T].*)?|{_CLOCK}|"
    rf"(?:\w+\.?,? )?{_DAY}[ /-]?(?:de )?{_MONTH}[ /-]?(?:de )?(?:{_YEAR}|\d\d)"
    r"([ T:,].*)?|"
    rf"(?:\w+\.?,? )?(?:{_MONTH} {_DAY},?|{_MONTH})[ -]{_YEAR}([ T,].*)?|"
    rf"{_YEAR}[-/ ]?(?:Q[1-4]|W\d\d)|Q[1-4][-/ ]{_YEAR}",
    re.IGNORECASE,
)


def refuse_disguised(name: Any, levels: tuple[Any, ...]) -> None:
    """Raise ValueError for text whose levels are all numbers or all dates.

    Numbers may have one currency or unit beside them. Of one or two levels text is
    taken: as numbers they would be encoded the same.

    Examples
    --------
    >>> refuse_disguised("size", ("3 kg", "4 kg", "5 kg"))
    Traceback (most recent call last):
    ValueError: column 'size' holds numbers as text, such as '3 kg': convert them to ...
    """
    if len(levels) <= 2:
        return
    what = None
    if all(map(_DATE.fullmatch, levels)):
        what = "dates"
    elif _are_numbers(levels):
        what = "numbers"
    if what is not None:
        raise ValueError(
            f"column {name!r} holds {what} as text, such as {levels[0]!r}: convert "
            f"them to {what}, or declare the column a category."
        )


def _are_numbers(levels: tuple[str, ...]) -> bool:
    units = set()
    for level in levels:
        found = _NUMERAL.fullmatch(level)
        if found:
            units |= {found["before"], found["behind"]}
        elif not _is_float(level):
            return False
    return len(units - {None}) <= 1


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
