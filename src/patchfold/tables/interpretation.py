"""Columns of text -> numbers, dates and truth values, and what is in doubt."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import dates as calendar
from . import numerals
from .delimited import ABSENT
from .doubts import MIXED, Doubt, doubt_alike, doubt_mixed, spread
from .flags import find_flags
from .gaps import mask_absent
from .naming import listed

if TYPE_CHECKING:
    import pandas as pd

AMONG_NUMBERS = {
    *("-", "--", "---", ".", "..", "none", "missing", "unknown", "n.a.", "n.a", "na"),
    *("nil", "k.a.", "nd", "n.d.", "tbd", "*", "–", "—", "not available"),
}
"""Words for a missing cell among numbers and dates; elsewhere they may be levels."""

CODE_WIDTH = 3
"""Digits from which on zeros in front make a code of a number."""


_LONG = re.compile(r"[-+]?\d{12,}")
"""Whole numbers, some of which may have more digits than a float."""


@dataclass(frozen=True)
class Interpreted:
    """A table with types.

    Attributes
    ----------
    frame : pandas.DataFrame
        Numbers, dates, truth values, declared categories, and words as objects.
    notes : dict of str to str
        How columns were written whose type is not plain to see.
    doubts : dict of str to Doubt
        Columns that could mean something else.
    """

    frame: pd.DataFrame
    notes: dict[str, str]
    doubts: dict[str, Doubt]


@dataclass(frozen=True)
class Customs:
    """How the texts of a table are written, where it is known.

    Attributes
    ----------
    decimal : {".", ","} or None
    dates : {"dmy", "mdy"} or None
    missing : tuple of str
        Words for a missing cell, beside the usual ones.
    likely : {".", ","}
        Decimal mark where neither `decimal` nor the numbers of a column tell.
    codes, kept : tuple of str
        More words for a missing cell, and the columns in which they are none.
    """

    decimal: str | None = None
    dates: str | None = None
    missing: tuple[str, ...] = ()
    likely: str = "."
    codes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value, known in (
            ("decimal", self.decimal, (".", ",")),
            ("dates", self.dates, tuple(calendar.ORDERS)),
        ):
            if value is not None and value not in known:
                words = " or ".join(known)
                raise ValueError(f"{name} must be {words}. Got {value!r} instead.")

    def of(self, column: Any) -> Customs:
        """Return those of one column: its words for a missing cell are in `missing`."""
        if not self.codes or column in self.kept:
            return self
        return replace(self, missing=(*self.missing, *self.codes), codes=())


@dataclass(frozen=True)
class _Read:
    """Different texts of a column as values: one for each text."""

    values: Any
    note: str = ""
    doubt: Doubt | None = None


def interpret(
    frame: pd.DataFrame,
    customs: Customs | None = None,
    *,
    plain: Collection[str | None] = (),
    encoded: Collection[str] = (),
) -> Interpreted:
    """Find out what the columns of text hold.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per sample, each name once. Types that are there are kept.
    customs : Customs or None
        What is known of the texts.
    plain : collection of str
        Columns whose words stay as they are: classes, names of samples.
    encoded : collection of str
        Categorical columns without declared levels.

    Returns
    -------
    Interpreted

    Examples
    --------
    >>> import pandas as pd
    >>> from patchfold.tables.interpretation import interpret
    >>> frame = pd.DataFrame({"price": ["€ 3,50", "€ 12"]})
    >>> frame["day"] = ["31.1.20", "1.2.20"]
    >>> found = interpret(frame)
    >>> found.frame
       price        day
    0    3.5 2020-01-31
    1   12.0 2020-02-01
    >>> found.notes["day"]
    'dates: day, month, year'
    """
    customs = customs or Customs()
    notes: dict[str, str] = {}
    doubts: dict[str, Doubt] = {}
    changed: dict[Any, Any] = {}
    for name, kind in frame.dtypes.items():
        if isinstance(kind, np.dtype) and kind.kind in "biuf":
            unusual = customs.of(name).missing or calendar.NAME.search(str(name))
            if name in plain or not unusual:
                continue
            done = _read_numbers(frame[name], customs.of(name), name)
        elif name in encoded or not isinstance(kind, _categorical()):
            done = _read_column(frame[name], customs.of(name), name, name in plain)
        else:
            continue
        if done is None:
            continue
        changed[name] = done.values
        if done.note:
            notes[name] = done.note
        if done.doubt is not None:
            doubts[name] = done.doubt
    _follow_others(frame, customs, changed, notes, doubts)
    if changed:
        frame = frame.copy(deep=False)
        for name, values in changed.items():
            frame[name] = values
    return Interpreted(frame, notes, doubts)


def _follow_others(
    frame: pd.DataFrame,
    customs: Customs,
    changed: dict[Any, Any],
    notes: dict[str, str],
    doubts: dict[str, Doubt],
) -> None:
    """Read dates in doubt again: in the order that the other dates have."""
    words = {notes[name] for name in notes if name not in doubts}
    orders = [o for o in ("dmy", "mdy") if f"dates: {calendar.ORDERS[o]}" in words]
    unsure = [name for name, doubt in doubts.items() if doubt.option == "dates"]
    for name in unsure if len(orders) == 1 else ():
        sure = replace(customs.of(name), dates=orders[0])
        done = _read_column(frame[name], sure, name, False)
        if done is not None:
            changed[name], notes[name] = done.values, done.note
            doubts[name] = replace(doubts[name], value=orders[0])


def _read_numbers(column: pd.Series, customs: Customs, name: Any) -> _Read | None:
    """Read plain numbers: some may stand for missing cells, or be dates."""
    column, gone = mask_absent(column, customs.missing)
    if calendar.NAME.search(str(name)):
        dates = calendar.read_compact(column)
        if dates is not None:
            return _Read(dates, "dates: year, month, day")
    return _Read(column, _missing(gone)) if gone else None


def _missing(words: str) -> str:
    return f"missing where it says {words}"


def _categorical() -> type:
    import pandas as pd

    return pd.CategoricalDtype


def _read_column(
    column: pd.Series, customs: Customs, name: Any, plain: bool
) -> _Read | None:
    """Read a column that is no plain number; None where it stays as it is."""
    import pandas as pd

    kind = column.dtype.kind
    if kind == "m":
        return _Read(calendar.as_days(column), "times of day or durations, in days")
    if kind == "M":
        return _read_stamps(column, customs)
    if kind in "iuf" and not isinstance(column.dtype, np.dtype):
        return _read_nullable(column, customs, name)
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, levels = column.cat.codes.to_numpy(), column.cat.categories
    elif kind == "O" or isinstance(column.dtype, pd.StringDtype):
        held = _read_objects(column) if kind == "O" else None
        if held is not None:
            return held
        codes, levels = pd.factorize(column.where(column.notna(), None))
    else:
        return None
    words = levels.to_numpy(dtype=object) if hasattr(levels, "to_numpy") else levels
    texts = pd.Series([str(word) for word in words], dtype="str")
    if plain:
        read = _Read(texts.astype(object))
    else:
        counts = np.bincount(codes + 1, minlength=len(texts) + 1)[1:]
        read = _read_texts(texts.str.strip(), counts, customs, str(name))
    values = pd.Series(read.values)
    if (codes < 0).any():  # the last value stands for missing cells, whose code is -1
        values = values.reindex(range(len(texts) + 1))
    values = values.take(codes)
    if values.dtype == "boolean" and not values.isna().any():
        values = values.astype(bool)
    return _Read(values.set_axis(column.index), read.note, read.doubt)


def _read_stamps(column: pd.Series, customs: Customs) -> _Read | None:
    """Read timestamps: some may stand for missing cells, have a zone, or be Arrow's."""
    notes = []
    arrow = getattr(column.dtype, "pyarrow_dtype", None)
    if getattr(column.dtype if arrow is None else arrow, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        notes = ["times in UTC"]
    if arrow is not None:
        column = column.astype("datetime64[us]")
    column, gone = mask_absent(column, customs.missing)
    notes += [_missing(gone)] if gone else []
    unchanged = arrow is None and not notes
    return None if unchanged else _Read(column, "; ".join(notes))


def _read_nullable(column: pd.Series, customs: Customs, name: str) -> _Read:
    """Read numbers that pandas or Arrow holds with a mask, as plain ones."""
    import pandas as pd

    if column.isna().any():
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        values = column.to_numpy()
    plain = pd.Series(values, index=column.index)
    return _read_numbers(plain, customs, name) or _Read(plain)


def _read_objects(column: pd.Series) -> _Read | None:
    """Read a column of Python's objects, unless they are text."""
    import pandas as pd
    from pandas.api.types import infer_dtype

    held = infer_dtype(column, skipna=True)
    if held == "boolean":
        return _Read(column.astype("boolean"))
    if held in ("decimal", "integer", "floating", "mixed-integer-float"):
        return _Read(column.astype("float64"))
    if held in ("date", "datetime", "datetime64"):
        dates = pd.to_datetime(column, errors="coerce", utc=True)
        return _Read(dates.dt.tz_localize(None))
    return None


class _Trial(NamedTuple):
    """Texts read as one kind: NaN where one is none; what is said of it."""

    values: Any
    note: str
    doubt: Doubt | None = None


def _read_texts(
    texts: pd.Series, counts: np.ndarray, customs: Customs, name: str
) -> _Read:
    """Read the different texts of a column, each of which is in `counts` rows."""
    import pandas as pd

    absent = texts.isin([*ABSENT, *customs.missing])
    there = texts[~absent]
    if there.empty:
        return _Read(np.full(len(texts), np.nan))
    words = texts.astype(object).where(~absent, None)
    names = _doubt_names(there, name)
    if names is not None:
        return _Read(words, doubt=names)
    flags = find_flags(there)
    if flags is not None:
        values = flags.astype("boolean").reindex(texts.index)
        return _Read(values, f"truth values: {' and '.join(sorted(set(there)))}")
    some, strange = spread(there), list[str]()
    for attempt in (_as_numbers, _as_dates):
        if len(some) < len(there) and _is_other(attempt(some, customs, name), some):
            continue  # or each of a million names would be looked at
        trial = attempt(there, customs, name)
        if trial is None:
            continue
        left, unusual = there[pd.isna(trial.values)], _unusual(there, trial)
        if len(unusual):
            rows = counts[unusual.index].sum(), counts[there.index].sum()
            what = trial.note.split()[0].rstrip(":")
            doubt = doubt_mixed(what, len(there), unusual.tolist(), *map(int, rows))
            if doubt is None:
                strange = strange or unusual.tolist()
                continue
            return _Read(words, doubt=doubt)
        values, masked = mask_absent(trial.values, customs.missing)
        gone = [*texts[texts.isin(customs.missing)], *left, *filter(None, [masked])]
        note = trial.note
        if gone:
            note += f"; {_missing(listed(gone))}"
        return _Read(values.reindex(texts.index), note, trial.doubt)
    return _Read(words, doubt=doubt_alike(there, name, strange))


def _doubt_names(texts: pd.Series, name: str) -> Doubt | None:
    """Doubt texts that would lose zeros, or become equal, as numbers."""
    import pandas as pd

    coded, said = texts[texts.str.startswith("0")], listed(texts[:2].tolist())
    if coded.str.fullmatch(rf"0\d{{{CODE_WIDTH - 1},}}").any():
        reason = f"has codes with zeros in front ({said})"
    elif not _LONG.fullmatch(texts.iloc[0]) or not texts.str.fullmatch(_LONG).all():
        return None
    elif pd.to_numeric(texts).astype(np.float64).duplicated().any():
        reason = f"has numbers with too many digits to stay different ({said})"
    else:
        return None
    return Doubt(reason, "drop", name, names=True)


def _is_other(trial: _Trial | None, texts: pd.Series) -> bool:
    """Say whether texts are of another kind than they were tried as."""
    return trial is None or len(_unusual(texts, trial)) > MIXED[1]


def _unusual(texts: pd.Series, trial: _Trial) -> pd.Series:
    """Return the texts that are not of a kind, nor words for a missing cell."""
    import pandas as pd

    left = texts[pd.isna(trial.values)]
    return left[~left.str.lower().isin(AMONG_NUMBERS)]


def _as_numbers(texts: pd.Series, customs: Customs, name: str) -> _Trial | None:
    import pandas as pd

    values, style = numerals.read_numerals(texts, customs.decimal, customs.likely)
    if style is None:
        return None
    doubt = None
    if not style.sure:
        reason = "has numbers whose comma or point may be a decimal mark or not"
        doubt = Doubt(
            f"{reason} ({listed(texts[:2].tolist())})", "decimal", style.decimal
        )
    return _Trial(pd.Series(values, index=texts.index), style.describe(), doubt)


def _as_dates(texts: pd.Series, customs: Customs, name: str) -> _Trial | None:
    times = calendar.read_times(texts)
    if times is not None:
        return _Trial(times, "times of day, as parts of a day")
    found = calendar.read_dates(texts, customs.dates)
    if found is None:
        return None
    doubt = None
    if not found.sure:
        reason = "has dates whose day or month may come first"
        doubt = Doubt(f"{reason} ({listed(texts[:2].tolist())})", "dates", "dmy")
    return _Trial(found.values, f"dates: {found.form}", doubt)
