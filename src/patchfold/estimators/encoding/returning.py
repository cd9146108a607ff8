"""Columns of values -> a table of pandas, Polars, Arrow or NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from .layout import Learned

_MICROSECONDS = 86_400_000_000
"""In a day."""


def make_table(
    table: str, names: list[str], known: Sequence[Learned], values: list[np.ndarray]
) -> Any:
    """Return a table of a kind that `table_kind` names, or an array.

    Parameters
    ----------
    table : {"pandas", "polars", "arrow", "array"}
        What is made.
    names : list of str
        Of the columns.
    known : sequence of Learned
        Kinds and levels.
    values : list of float array (n,)
        Numbers, ranks or codes; NaN is a gap.
    """
    if table == "array":
        if all(column.kind in ("number", "empty") for column in known):
            return np.column_stack(values)
        parts = [_objects(c, v) for c, v in zip(known, values, strict=True)]
        out = np.empty((values[0].size, len(parts)), dtype=object)
        for place, part in enumerate(parts):
            out[:, place] = part
        return out
    module = import_module({"arrow": "pyarrow"}.get(table, table))
    make = {"pandas": _series, "polars": _polars, "arrow": _arrow}[table]
    columns = [make(module, c, v) for c, v in zip(known, values, strict=True)]
    if table == "pandas":
        frame = module.concat(columns, axis=1)
        return frame.set_axis(names, axis=1)
    if table == "polars":
        pairs = zip(names, columns, strict=True)
        return module.DataFrame([column.alias(name) for name, column in pairs])
    return module.table(columns, names=names)


def _times(column: Learned, values: np.ndarray) -> np.ndarray:
    """Return days as dates or durations of NumPy."""
    gaps = np.isnan(values)
    whole = np.rint(np.where(gaps, 0, values) * _MICROSECONDS).astype(np.int64)
    out = whole.astype("M8[us]" if column.kind == "date" else "m8[us]")
    out[gaps] = "NaT"
    return out


def _objects(column: Learned, values: np.ndarray) -> np.ndarray:
    """Return values as objects, None where there are none."""
    if column.kind in ("date", "duration"):
        return _times(column, values).astype(object)
    levels: Sequence[Any] = column.levels
    if column.kind == "boolean":
        levels = (False, True)
    if not levels:
        numbers = values.astype(object)
        numbers[np.isnan(values)] = None
        return numbers
    out = np.full(values.size, None, dtype=object)
    present = ~np.isnan(values)
    table = np.empty(len(levels), dtype=object)
    table[:] = levels
    out[present] = table[values[present].astype(np.int64)]
    return out


def _series(pd: Any, column: Learned, values: np.ndarray) -> Any:
    if column.levels:
        codes = np.where(np.isnan(values), -1, values).astype(np.int64)
        ordered = column.kind == "ordered"
        made = pd.Categorical.from_codes(codes, list(column.levels), ordered=ordered)
        return pd.Series(made)
    if column.kind in ("date", "duration"):
        return pd.Series(_times(column, values))
    if column.kind == "boolean":
        objects = _objects(column, values)
        return pd.Series(objects, dtype="boolean" if None in objects else bool)
    return pd.Series(values)


def _polars(pl: Any, column: Learned, values: np.ndarray) -> Any:
    if column.kind in ("date", "duration"):
        return pl.Series(_times(column, values))
    if column.kind in ("number", "empty"):
        return pl.Series(values).fill_nan(None)
    return pl.Series(_objects(column, values).tolist())


def _arrow(pa: Any, column: Learned, values: np.ndarray) -> Any:
    if column.kind in ("date", "duration"):
        return pa.array(_times(column, values))
    if column.kind in ("number", "empty"):
        return pa.array(values, mask=np.isnan(values))
    return pa.array(_objects(column, values).tolist())
