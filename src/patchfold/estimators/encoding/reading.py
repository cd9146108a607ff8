"""Tables of pandas, Polars, Arrow or NumPy -> columns, each of one known kind.

A column is read as numbers with NaN where a cell is missing, or as codes of levels with
-1 there. Text that looks like numbers or dates is refused, not guessed at.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_array

from .disguised import refuse_disguised

NUMBERS = ("number", "boolean", "date", "duration")
"""Kinds that are read as numbers: dates and durations in days. A time of day is the
duration since midnight."""

DAY = np.timedelta64(1, "D")


@dataclass(frozen=True)
class Column:
    """A column as it was read.

    Attributes
    ----------
    name : str or int
        Its name, or its position where it has none.
    kind : str
        "number", "boolean", "date", "duration", "category", "ordered" or "empty".
    values : float array (n,) or int array (n,)
        Numbers, NaN where a cell is missing; of categories, positions in `levels`, -1
        where a cell is missing.
    levels : tuple
        Levels of a category, as declared; else those that occur, sorted.
    """

    name: Any
    kind: str
    values: np.ndarray
    levels: tuple[Any, ...] = ()

    @property
    def is_category(self) -> bool:
        """Whether it has levels."""
        return self.kind in ("category", "ordered")


def table_kind(X: Any) -> str | None:
    """Return "pandas", "polars" or "arrow" of a data frame, and None of anything else.

    Examples
    --------
    >>> import pandas as pd
    >>> table_kind(pd.DataFrame({"a": [1]})), table_kind([[1]])
    ('pandas', None)
    """
    place = type(X).__module__.split(".")[0], type(X).__name__
    return {
        ("pandas", "DataFrame"): "pandas",
        ("polars", "DataFrame"): "polars",
        ("pyarrow", "Table"): "arrow",
        ("pyarrow", "RecordBatch"): "arrow",
    }.get(place)


def read_columns(X: Any, declared: Collection[Any] = ()) -> Iterator[Column]:
    """Read a table column by column.

    Parameters
    ----------
    X : pandas, Polars or Arrow table, or array-like (n, m)
        Samples.
    declared : collection of str and int
        Names or positions of columns that are known to hold categories: text in them
        may look like numbers or dates.

    Raises
    ------
    TypeError
        If a column holds what is neither numbers, categories nor dates.
    """
    read = {"pandas": _pandas, "polars": _polars, "arrow": _arrow}.get(
        table_kind(X) or "", _array
    )
    return read(X, set(declared))


def _numbers(name: Any, values: Any, kind: str = "number") -> Column:
    return Column(name, kind, np.asarray(values, dtype=np.float64))


def _days(name: Any, values: np.ndarray) -> Column:
    """Read dates or durations of NumPy: NaT is a missing cell."""
    kind = "date" if values.dtype.kind == "M" else "duration"
    gaps = np.isnat(values)
    since = values - np.datetime64(0, "D") if kind == "date" else values
    return Column(name, kind, np.where(gaps, np.nan, since / DAY))


def _category(
    name: Any, codes: Any, levels: Sequence[Any], *, ordered: bool = False
) -> Column:
    kind = "ordered" if ordered else "category"
    return Column(name, kind, np.asarray(codes, dtype=np.int64), tuple(levels))


def _refuse(name: Any, what: str) -> TypeError:
    return TypeError(
        f"column {name!r} holds {what}, and TableEncoder takes numbers, categories, "
        "booleans, dates, times of day and durations: convert it, or leave it out."
    )


def _pandas(X: Any, declared: set[Any]) -> Iterator[Column]:
    """Read numbers in one block, which is fast for many columns, and others by name."""
    plain = [isinstance(kind, np.dtype) and kind.kind in "iuf" for kind in X.dtypes]
    block = X.iloc[:, np.flatnonzero(plain)].to_numpy(dtype=np.float64)
    numbers = iter(block.T)
    for place, name in enumerate(X.columns):
        if plain[place]:
            yield _numbers(name, next(numbers))
        else:
            text = not declared & {name, place}
            yield _series(name, X.iloc[:, place], text)


def _series(name: Any, series: Any, text: bool) -> Column:
    import pandas as pd

    kind, types = series.dtype, pd.api.types
    if isinstance(kind, pd.ArrowDtype):
        held = sys.modules["pyarrow"].array(series.array)
        return _chunks(name, _chunked(held), text)
    if isinstance(kind, pd.CategoricalDtype):
        codes, levels = series.cat.codes.to_numpy(), kind.categories.tolist()
        return _category(name, codes, levels, ordered=bool(kind.ordered))
    if isinstance(kind, (pd.PeriodDtype, pd.IntervalDtype)) or kind.kind == "c":
        raise _refuse(name, str(kind))
    if types.is_bool_dtype(kind):
        return _numbers(name, series.to_numpy(float, na_value=np.nan), "boolean")
    if types.is_numeric_dtype(kind):
        return _numbers(name, series.to_numpy(np.float64, na_value=np.nan))
    if types.is_datetime64_any_dtype(kind):
        if getattr(kind, "tz", None) is not None:
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return _days(name, series.to_numpy())
    if types.is_timedelta64_dtype(kind):
        return _days(name, series.to_numpy())
    return read_objects(name, series.to_numpy(dtype=object), text=text)


def _polars(X: Any, declared: set[Any]) -> Iterator[Column]:
    pl = sys.modules["polars"]
    for place, series in enumerate(X.get_columns()):
        name, kind = series.name, series.dtype
        if kind == pl.Boolean:
            values = series.cast(pl.Float64).to_numpy()
            yield _numbers(name, values, "boolean")
        elif kind.is_numeric():
            yield _numbers(name, series.cast(pl.Float64).to_numpy())
        elif kind in (pl.Date, pl.Datetime, pl.Duration):
            yield _days(name, series.to_numpy())
        elif kind == pl.Time:
            yield _days(name, series.to_physical().cast(pl.Duration("ns")).to_numpy())
        elif kind in (pl.Categorical, pl.Enum):
            words = read_objects(name, series.cast(pl.String).to_list(), text=False)
            yield _category(name, words.values, words.levels)
        elif kind in (pl.String, pl.Object, pl.Null):
            text = not declared & {name, place}
            yield read_objects(name, series.to_list(), text=text)
        else:
            raise _refuse(name, str(kind))


def _arrow(X: Any, declared: set[Any]) -> Iterator[Column]:
    for place, name in enumerate(X.column_names):
        column = _chunked(X.column(place))
        yield _chunks(name, column, not declared & {name, place})


def _chunked(column: Any) -> Any:
    """Return an array of Arrow, as those of a batch are, in chunks."""
    if hasattr(column, "chunks"):
        return column
    return sys.modules["pyarrow"].chunked_array([column])


def _chunks(name: Any, column: Any, text: bool) -> Column:
    pa = sys.modules["pyarrow"]
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        column = column.unify_dictionaries()
        chunks = column.chunks
        levels = chunks[0].dictionary.to_pylist() if chunks else []
        codes = [chunk.indices.fill_null(-1).to_numpy() for chunk in chunks]
        joined = np.concatenate([np.empty(0, np.int64), *codes])
        return _category(name, joined, levels, ordered=kind.ordered)
    if types.is_boolean(kind):
        values = column.cast(pa.uint8()).cast(pa.float64()).to_numpy()
        return _numbers(name, values, "boolean")
    if any(test(kind) for test in (types.is_integer, types.is_floating)):
        return _numbers(name, column.cast(pa.float64(), safe=False).to_numpy())
    if types.is_decimal(kind):
        return _numbers(name, column.cast(pa.float64(), safe=False).to_numpy())
    if types.is_date(kind) or types.is_timestamp(kind):
        unit = pa.timestamp("us")
        return _days(name, column.cast(unit, safe=False).to_numpy())
    if types.is_duration(kind):
        return _days(name, column.cast(pa.duration("us"), safe=False).to_numpy())
    if types.is_time(kind):
        whole = column.cast(pa.time64("ns")).cast(pa.int64())
        return _days(name, whole.cast(pa.duration("ns")).to_numpy())
    if types.is_null(kind) or "string" in str(kind):
        return read_objects(name, column.to_pylist(), text=text)
    raise _refuse(name, str(kind))


def _array(X: Any, declared: set[Any]) -> Iterator[Column]:
    """Read an array; of a list, text and numbers stay apart."""
    if not hasattr(X, "dtype"):
        plain = np.asarray(X)
        X = plain if plain.dtype.kind in "biufcmM" else np.asarray(X, dtype=object)
    kept = {"dtype": None, "ensure_all_finite": False}
    if getattr(X, "dtype", None) is not None and X.dtype.kind in "mM":
        X = np.asarray(X)
        check_array(X.astype(np.int64), **kept)  # the same errors for its shape
        yield from (_days(j, X[:, j]) for j in range(X.shape[1]))
        return
    X = check_array(X, **kept)
    if X.dtype.kind in "biuf":
        yield from (_numbers(j, X[:, j]) for j in range(X.shape[1]))
    elif X.dtype.kind == "U" or X.dtype == object:
        objects = X.astype(object)
        for j in range(X.shape[1]):
            yield read_objects(j, objects[:, j], text=j not in declared)
    else:
        raise _refuse(0, str(X.dtype))


def read_objects(name: Any, values: Sequence[Any], *, text: bool = True) -> Column:
    """Read Python objects: all numbers, all booleans, all dates, or all text.

    Parameters
    ----------
    name : str or int
        Of the column.
    values : sequence
        None, NaN, NA and NaT are missing cells.
    text : bool, default=True
        Whether text that looks like numbers or dates is refused. Of one or two
        levels it is taken: as numbers they would be encoded the same.
    """
    place: dict[Any, int] = {}
    try:
        codes = np.array([place.setdefault(v, len(place)) for v in values], dtype=int)
    except TypeError:
        raise _refuse(name, "objects that cannot be compared") from None
    found = [value for value in place if not _is_gap(value)]
    code = {value: j for j, value in enumerate(_in_order(name, found))}
    table = np.array([code.get(value, -1) for value in place], dtype=np.int64)
    codes, levels = (table[codes] if codes.size else codes), tuple(code)
    kind = _kind_of(name, levels)
    if kind in ("empty", "category"):
        if kind == "category" and text:
            refuse_disguised(name, levels)
        return Column(name, kind, codes, levels)
    if kind in ("date", "duration"):
        unit = "datetime64[us]" if kind == "date" else "timedelta64[us]"
        numbers = _days(name, np.array([_naive(v) for v in levels], dtype=unit)).values
    else:
        numbers = np.array([float(value) for value in levels])
    return Column(name, kind, np.where(codes < 0, np.nan, numbers[codes]))


def _is_gap(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Real | Decimal | np.generic) and bool(value != value)


def _in_order(name: Any, found: list[Any]) -> list[Any]:
    try:
        return sorted(found)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in found})
        what = f"a mixture of {' and '.join(kinds)}"
        if kinds in (["time"], ["datetime"]):
            what = f"{kinds[0]}s with an offset from UTC and others without one"
        raise _refuse(name, what) from None


_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("category", (str,)),
    ("boolean", (bool, np.bool_)),
    ("number", (Real, Decimal, np.number)),
    ("date", (date, np.datetime64)),
    ("duration", (timedelta, np.timedelta64, time)),
)


def _kind_of(name: Any, levels: tuple[Any, ...]) -> str:
    if not levels:
        return "empty"
    for kind, types in _KINDS:
        if all(isinstance(value, types) for value in levels):
            return kind
    kinds = sorted({type(value).__name__ for value in levels})
    raise _refuse(name, " and ".join(kinds))


def _naive(value: Any) -> Any:
    """Return a date without its zone, in UTC; of a time of day, what is since 0:00."""
    if isinstance(value, time):
        ahead = value.utcoffset() or timedelta()
        return datetime.combine(date.min, value, tzinfo=None) - datetime.min - ahead
    if getattr(value, "tzinfo", None) is None:
        return value
    return value.astimezone(UTC).replace(tzinfo=None)
