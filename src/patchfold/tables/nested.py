"""Columns whose cells hold lists or records: named, and left out if asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .doubts import Doubt
from .frames import as_frame
from .interpretation import Customs, Interpreted, interpret
from .naming import listed

if TYPE_CHECKING:
    import pandas as pd


def read_frame(
    data: Any,
    customs: Customs | None = None,
    *,
    plain: Collection[str | None] = (),
) -> Interpreted:
    """Find out what the columns of a table of Python hold.

    Parameters
    ----------
    data : data frame or array
        A table of pandas, Polars or Arrow, or an array.
    customs : Customs or None
        What is known of its texts.
    plain : collection of str
        Columns whose words stay as they are: classes, names of samples.

    Returns
    -------
    Interpreted

    Examples
    --------
    >>> import pandas as pd
    >>> from patchfold.tables.nested import read_frame
    >>> found = read_frame(pd.DataFrame({"size": ["1,5", "2"], "tags": [["a"], []]}))
    >>> found.doubts["tags"].reason
    'holds lists or records, not one value'
    """
    frame = as_frame(data)
    held = [name for name in frame if _holds_lists(frame[name])]
    nested = dict.fromkeys(held, "lists or records")
    return interpret_flat(frame, nested, customs, plain=plain)


def interpret_flat(
    frame: pd.DataFrame,
    nested: Mapping[str, str],
    customs: Customs | None = None,
    *,
    plain: Collection[str | None] = (),
    encoded: Collection[str] = (),
) -> Interpreted:
    """Interpret a table without its nested columns, which are doubted.

    Parameters
    ----------
    frame : pandas.DataFrame
        Each name once.
    nested : mapping of str to str
        What the nested columns hold.
    customs, plain, encoded
        As in `interpret`.

    Returns
    -------
    Interpreted
        Nested columns have no cells.
    """
    frame = frame.assign(**dict.fromkeys(nested, np.nan)) if nested else frame
    found = interpret(frame, customs, plain=plain, encoded=encoded)
    doubts = {
        name: Doubt(f"holds {kind}, not one value", "drop", name, firm=True)
        for name, kind in nested.items()
    }
    return replace(found, doubts=found.doubts | doubts)


def refuse_nested(
    doubts: Mapping[str, Doubt], names: Iterable[Any], remedy: str
) -> None:
    """Raise ValueError if one of the columns holds lists or records."""
    found = {name: doubts[name] for name in names if name in doubts}
    firm = [f"{name!r} {doubt.reason}" for name, doubt in found.items() if doubt.firm]
    if firm:
        raise ValueError(f"column {listed(firm)}: {remedy}")


def _holds_lists(column: pd.Series) -> bool:
    """Say whether the first cell that is there holds what cannot be compared."""
    if column.dtype != object:
        return False
    there = column.notna().to_numpy()
    if not there.any():
        return False
    return getattr(column.iloc[int(there.argmax())], "__hash__", None) is None
