"""Dates and times as people write them -> timestamps, and timestamps -> days.

ISO 8601 in CSV PyArrow has read before; here are local orders of day, month and year,
names of months, and times of day.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..estimators.encoding.months import MONTHS

if TYPE_CHECKING:
    import pandas as pd

ORDERS = {"dmy": "day, month, year", "mdy": "month, day, year", "ymd": "year first"}
"""Orders of day, month and year."""

SAMPLE = 100
"""Texts in which names of months are looked for."""

_NUMERIC = (
    r"(?P<one>\d{1,4})(?P<sign>[-./])(?P<two>\d{1,2})[-./](?P<three>\d{1,4})"
    r"(?:[T, ]+(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d(?:\.\d+)?))?"
    r" ?(?P<half>[AaPp]\.?[Mm]\.?)?)?"
)
_NAMED = (
    *("%d %b %Y", "%b %d, %Y", "%b %d %Y", "%d-%b-%Y", "%d-%b-%y", "%d %b %y"),
    *("%d. %b %Y", "%b %Y", "%b-%Y", "%Y %b %d", "%Y-%b-%d", "%d/%b/%Y"),
    *(
        "%a, %d %b %Y %H:%M:%S",
        "%a, %d %b %Y",
        "%A, %d %b %Y",
        "%A, %b %d, %Y",
        "%d %b %Y %H:%M:%S",
    ),
    *("%d %b %Y %H:%M", "%a %b %d %H:%M:%S %Y", "%b %d, %Y %H:%M"),
    *("%b %d, %Y %I:%M %p", "%d %b %Y %I:%M %p", "%d-%b-%Y %H:%M:%S"),
    *("%d%b%Y", "%d%b%Y:%H:%M:%S", "%d%b%Y %H:%M:%S"),
)
"""Orders of a name and numbers; months have been cut to three letters before."""

_LETTER = r"[^\W\d_]"
_MONTH = re.compile(
    rf"(?<!{_LETTER})({'|'.join(MONTHS)})(?!{_LETTER})\.?", re.IGNORECASE
)
_NTH = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b", re.IGNORECASE)
_ISO = re.compile(r"\d{4}-\d\d|\d{8}T\d{4}")
_YEAR = r"(?:1[89]|2[01])\d\d"
_WEEK = rf"{_YEAR}-?W\d\d(?:-?[1-7])?"
_MONTH_YEAR = rf"(?P<month>0?[1-9]|1[0-2])[-/](?P<year>{_YEAR})"
_QUARTER = (
    rf"(?P<before>{_YEAR})[-/ ]?Q(?P<quarter>[1-4])|"
    rf"Q(?P<last>[1-4])[-/ ](?P<behind>{_YEAR})"  # Q12020 may be any code
)

_TIME = (
    r"(?:(?P<days>\d+) days?,? ?)?(?P<hour>\d{1,4}):(?P<minute>[0-5]\d)"
    r"(?::(?P<second>[0-5]\d(?:\.\d+)?))?(?: ?(?P<half>[AaPp]\.?[Mm]\.?))?"
)
_ZONE = re.compile(
    r"(?P<time>:\d\d(?:\.\d+)?(?: ?[AaPp]\.?[Mm]\.?)?) ?"
    r"(?:(?:GMT|UTC|Z)(?: ?(?P<hours>[-+]\d{1,2})(?::?(?P<minutes>\d\d))?)?|"
    r"(?P<east>[-+]\d\d)(?P<rest>\d\d))(?= \d{4}$|$)"
)
"""The end of a time, and its zone; a year may follow. 10:00-11:00 has none."""

_SHORT = "|".join(sorted({short.lower() for short in MONTHS.values()}))
LIKE = re.compile(
    rf"(?i:{_SHORT})[a-z]*\.?[-/ ']\d{{1,4}}\b.*|"
    r"(?i:mon|tue|wed|thu|fri|sat|sun),? .*\d|"
    r"(?:Q[1-4]|H[12])[-/ ']\d\d\b.*|FY ?\d\d.*|P(?:T?\d+[YMWDHS])+|"
    r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}\b.*|\d{1,2}\.? \w{3,} \d{2,4}|"
    r"\w{3,} \d{1,2},? \d{4}|\d{4}-\d\d-\d\d.*|\d{1,4}:\d\d(:\d\d.*)?"
)
"""Texts that look like a date."""

NAME = re.compile(r"date|datum|day|fecha|data|jour|tag|_dt|dt_", re.IGNORECASE)
"""Names of columns in which 20200131 is a date."""


class Dates(NamedTuple):
    """Texts as timestamps, NaT where one is no date; how they are written.

    `sure` says whether the texts show the order of day, month and year.
    """

    values: pd.Series
    form: str
    sure: bool = True


def read_dates(texts: pd.Series, order: str | None = None) -> Dates | None:
    """Return texts as timestamps; None where none is a date.

    Parameters
    ----------
    texts : pandas.Series
        Different texts, without blanks around them.
    order : {"dmy", "mdy", "ymd"} or None
        Order of day, month and year, where it is known.

    Returns
    -------
    Dates or None
    """
    texts, offsets = _split_zones(texts)
    found = _read_local(texts, order)
    if found is None or offsets is None:
        return found
    return Dates(found.values - offsets, f"{found.form}, in UTC", found.sure)


def _split_zones(texts: pd.Series) -> tuple[pd.Series, pd.Series | None]:
    """Take zones from behind times, as offsets; None if there is none."""
    import pandas as pd

    texts = texts.str.replace(r"(:\d\d),(?=\d+$)", r"\1.", regex=True)
    if _ISO.match(texts.iloc[0]):  # pandas reads their zones
        return texts.str.replace(r"(?<=\d) ?(?:UTC|GMT)$", "Z", regex=True), None
    parts = texts.str.extract(_ZONE)
    if parts["time"].isna().all():
        return texts, None
    west = [parts[name].str.startswith("-", na=False) for name in ("hours", "east")]
    numbers = parts.drop(columns="time").apply(pd.to_numeric)
    hours = numbers["hours"].fillna(numbers["east"]).fillna(0)
    minutes = numbers["minutes"].fillna(numbers["rest"]).fillna(0)
    ahead = np.where(west[0] | west[1], -1, 1)
    offsets = pd.to_timedelta(hours * 60 + ahead * minutes, unit="min")
    return texts.str.replace(_ZONE, r"\g<time>", regex=True), offsets


def _read_local(texts: pd.Series, order: str | None) -> Dates | None:
    """Read texts without zones, but for those of ISO 8601."""
    import pandas as pd

    first = texts.iloc[0]
    parts = texts.str.extract(f"^{_NUMERIC}$")
    if parts["one"].notna().any():
        return _ordered(parts, order)
    if _ISO.match(first):
        iso = pd.to_datetime(texts, format="ISO8601", errors="coerce", utc=True)
        if iso.notna().any():
            return Dates(iso.dt.tz_localize(None), "ISO 8601")
    if re.fullmatch(_WEEK, first):
        return _read_weeks(texts)
    if re.fullmatch(_QUARTER, first):
        return _read_quarters(texts)
    if re.fullmatch(_MONTH_YEAR, first):
        numbers = texts.str.extract(f"^{_MONTH_YEAR}$").apply(pd.to_numeric)
        days = pd.to_datetime(numbers.assign(day=1), errors="coerce")
        return Dates(days, "month, year")
    return _read_names(texts)


def _read_names(texts: pd.Series) -> Dates | None:
    """Read dates with names of months: in the form that the first of them has."""
    import pandas as pd

    first = next((text for text in texts[:SAMPLE] if _MONTH.search(text)), None)
    if first is None:
        return None
    first = _short_months(pd.Series([first]))[0]
    for form in _NAMED:
        if not pd.isna(pd.to_datetime(first, format=form, errors="coerce")):
            short = _short_months(texts)
            dates = pd.to_datetime(short, format=form, errors="coerce")
            return Dates(dates, "names of months")
    return None


def _short_months(texts: pd.Series) -> pd.Series:
    """Cut names of months to three letters, 1st to 1, and "3 de mayo" to "3 May"."""
    plain = texts.str.replace(r" de (?=\w)", " ", regex=True)
    cut = plain.str.replace(_MONTH, lambda m: MONTHS[m[1].lower()], regex=True)
    return cut.str.replace(_NTH, "", regex=True)


def _read_weeks(texts: pd.Series) -> Dates:
    """Read weeks of ISO 8601, such as 2020-W05, as their Mondays."""
    import pandas as pd

    plain = texts.where(texts.str.fullmatch(_WEEK)).str.replace("-", "", regex=False)
    plain = plain.where(plain.str.len() > 7, plain + "1")
    return Dates(pd.to_datetime(plain, format="%GW%V%u", errors="coerce"), "weeks")


def _read_quarters(texts: pd.Series) -> Dates:
    """Read quarters of a year, such as 2020-Q3, as their first days."""
    import pandas as pd

    parts = texts.str.extract(f"^(?:{_QUARTER})$")
    numbers = {
        "year": pd.to_numeric(parts["before"].fillna(parts["behind"])),
        "month": pd.to_numeric(parts["quarter"].fillna(parts["last"])) * 3 - 2,
        "day": 1,
    }
    return Dates(pd.to_datetime(pd.DataFrame(numbers), errors="coerce"), "quarters")


def _ordered(parts: pd.DataFrame, order: str | None) -> Dates | None:
    """Put numbers into years, months and days: by the order in which all are dates."""
    there = parts["one"].notna()
    lengths = parts.loc[there, ["one", "three"]].apply(lambda c: c.str.len())
    orders = ["ymd"] if (lengths["one"] == 4).all() else ["dmy", "mdy"]
    if (parts["sign"] == ".").any() and "dmy" in orders:
        orders = ["dmy"]
    if order in ("dmy", "mdy") and "dmy" in orders:
        orders = [order]
    made = {}
    for each in orders:
        dates = _assemble(parts, each)
        if dates[there].notna().all():
            made[each] = dates
    if not made:
        return None
    chosen, dates = next(iter(made.items()))
    sure = len(made) == 1 or made["dmy"].equals(made["mdy"])
    return Dates(dates, ORDERS[chosen], sure)


def _assemble(parts: pd.DataFrame, order: str) -> pd.Series:
    import pandas as pd

    named = dict(zip(order, ("one", "two", "three"), strict=True))
    numbers = {
        word: pd.to_numeric(parts[named[word[0]]]) for word in ("year", "month", "day")
    }
    year = numbers["year"]
    length = parts[named["y"]].str.len()
    short = length == 2
    numbers["year"] = year.mask(short, year + np.where(year < 70, 2000, 1900))
    numbers["year"] = numbers["year"].where(length.isin([2, 4]))
    dates = pd.to_datetime(pd.DataFrame(numbers), errors="coerce")
    hours = _hours(parts)
    hours = hours.where(hours < 24).where(parts["hour"].notna(), 0)
    times = pd.to_timedelta(hours, unit="h").dt.round("us").dt.as_unit("us")
    return dates.dt.as_unit("us") + times


def _hours(parts: pd.DataFrame) -> pd.Series:
    import pandas as pd

    hour, minute, second = (
        pd.to_numeric(parts[name]) for name in ("hour", "minute", "second")
    )
    if "half" in parts:
        late = parts["half"].str.lower().str.startswith("p")
        halved = parts["half"].notna()
        twelve = (hour % 12 + np.where(late.eq(True), 12, 0)).where(hour <= 12)
        hour = hour.where(~halved, twelve)
    hours = hour + minute / 60 + second.fillna(0) / 3600
    return hours


def read_times(texts: pd.Series) -> pd.Series | None:
    """Return times and durations as parts of a day; None where not all are such.

    Of hours and minutes alone, 24 hours and more are none: a score, perhaps.
    """
    import pandas as pd

    parts = texts.str.extract(f"^{_TIME}$")
    hours = _hours(parts)
    long = (hours >= 24) & parts["second"].isna()
    if hours.isna().any() or long.any():
        return None
    return hours / 24 + pd.to_numeric(parts["days"]).fillna(0)


def read_compact(column: pd.Series) -> pd.Series | None:
    """Return whole numbers such as 20200131 as dates; None where one is none."""
    import pandas as pd

    there = column.dropna()
    if there.empty or not there.between(19000101, 21001231).all():
        return None
    text = there.astype(np.int64).astype(str)
    dates = pd.to_datetime(text, format="%Y%m%d", errors="coerce")
    return dates.reindex(column.index) if dates.notna().all() else None


def as_days(column: pd.Series) -> np.ndarray:
    """Return timestamps or durations as days: since 1970 the first, NaN where missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from patchfold.tables.dates import as_days
    >>> as_days(pd.Series(pd.to_datetime(["1970-01-02 12:00", None])))
    array([1.5, nan])
    """
    import pandas as pd

    if column.dtype.kind == "M":
        stamps = pd.to_datetime(column, utc=True).dt.tz_localize(None)
        column = stamps - pd.Timestamp(0).as_unit(stamps.dt.unit)
    # In its own unit: nanoseconds would not reach the year 9999.
    day = pd.Timedelta(days=1).as_unit(column.dt.unit)
    return (column / day).to_numpy(dtype=np.float64)
