"""A table of pandas, Polars or Arrow, or an array -> a data frame of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..estimators.encoding.reading import table_kind
from .arrow import to_frame
from .naming import listed

if TYPE_CHECKING:
    import pandas as pd


def as_frame(data: Any) -> pd.DataFrame:
    """Return a table as a data frame whose columns have texts as names, each once.

    Raises
    ------
    ValueError
        If it is empty, two columns have one name, or cells hold lists.

    Examples
    --------
    >>> from patchfold.tables.frames import as_frame
    >>> as_frame([[1.0, 2.0]]).columns.tolist()
    ['0', '1']
    """
    import pandas as pd

    kind = table_kind(data)
    if kind == "polars":
        data = to_frame(data.to_arrow())
    elif kind == "arrow":
        import pyarrow as pa

        is_table = isinstance(data, pa.Table)
        data = to_frame(data if is_table else pa.Table.from_batches([data]))
    frame = pd.DataFrame(data).rename(columns=str)
    if frame.empty:
        raise ValueError("the table has no rows or no columns.")
    twice = frame.columns[frame.columns.duplicated()].unique()
    if len(twice):
        raise ValueError(
            "each column must have a name of its own. More than one is named "
            f"{listed([repr(name) for name in twice])}."
        )
    held = [name for name in frame if _holds_lists(frame[name])]
    if held:
        raise ValueError(
            f"the cells of {listed([repr(name) for name in held])} hold lists, not "
            "one value: leave such columns out, or flatten them."
        )
    return frame


def _holds_lists(column: pd.Series) -> bool:
    """Say whether the first cell that is there holds what cannot be compared."""
    if column.dtype != object:
        return False
    there = column.notna().to_numpy()
    if not there.any():
        return False
    return getattr(column.iloc[int(there.argmax())], "__hash__", None) is None
