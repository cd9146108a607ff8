"""A table of pandas, Polars or Arrow, or an array -> a data frame of pandas."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from ..estimators.encoding.reading import table_kind
from .arrow import to_frame
from .naming import listed

if TYPE_CHECKING:
    import pandas as pd


def as_frame(data: Any) -> pd.DataFrame:
    """Return a table as a data frame whose columns have texts as names, each once.

    Days of Arrow, in pandas too, become timestamps.

    Raises
    ------
    ValueError
        If it is empty, or two columns have one name.

    Examples
    --------
    >>> from patchfold.tables.frames import as_frame
    >>> as_frame([[1.0, 2.0]]).columns.tolist()
    ['0', '1']
    """
    import pandas as pd

    kind = table_kind(data)
    if kind == "polars":
        data = _from_polars(data)
    elif kind == "arrow":
        import pyarrow as pa

        is_table = isinstance(data, pa.Table)
        data = to_frame(data if is_table else pa.Table.from_batches([data]))
    frame = pd.DataFrame(data)
    if frame.columns.nlevels > 1:
        frame = frame.set_axis(
            [" ".join(map(str, name)).strip() for name in frame], axis=1
        )
    frame = frame.rename(columns=str)
    if frame.empty:
        raise ValueError("the table has no rows or no columns.")
    twice = frame.columns[frame.columns.duplicated()].unique()
    if len(twice):
        raise ValueError(
            "each column must have a name of its own. More than one is named "
            f"{listed([repr(name) for name in twice])}."
        )
    days = [name for name, kind in frame.dtypes.items() if kind.type is date]
    return frame.astype(dict.fromkeys(days, "datetime64[us]")) if days else frame


def _from_polars(table: Any) -> pd.DataFrame:
    """Return a table of Polars, whose Enum says nothing of an order: all have one."""
    import polars as pl

    frame = to_frame(table.to_arrow())
    for name, kind in table.schema.items():
        if kind == pl.Enum:
            frame[name] = frame[name].cat.as_unordered()
    return frame
