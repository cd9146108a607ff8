"""Columns of numbers -> floats: all at once, and what is refused.

A table may have as many as 100,000 columns, and a pandas object for each of them
takes a hundred times as long as the numbers themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..validation import LARGEST
from .dates import as_days
from .naming import listed

if TYPE_CHECKING:
    import pandas as pd

PLAIN = "biuf"
"""Kinds of NumPy's types that become floats without a look at each cell."""


@dataclass(frozen=True)
class Block:
    """Columns of numbers side by side.

    Attributes
    ----------
    values : array of shape (n_rows, n_columns)
        NaN where a cell is missing.
    least, greatest : array of shape (n_columns,)
        Of each column; NaN where all cells are missing.
    """

    values: np.ndarray
    least: np.ndarray
    greatest: np.ndarray

    def find_faults(self, *, spread: bool) -> np.ndarray:
        """Tell which columns `as_number` refuses; with `spread`, `check_spread` too."""
        sizes = np.maximum(np.abs(self.least), np.abs(self.greatest))
        faults = sizes > LARGEST
        if spread:
            with np.errstate(invalid="ignore"):  # infinite cells are a fault already
                widths = self.greatest - self.least
            faults |= (widths > 0) & (widths < 1 / LARGEST)
        return faults


def is_number(kind: Any) -> bool:
    """Tell whether a column of this type holds numbers, truth values or dates."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(kind) or is_bool_dtype(kind) or kind.kind in "mM")


def is_plain(kind: Any) -> bool:
    """Tell whether columns of this type can go into a `Block`."""
    return isinstance(kind, np.dtype) and kind.kind in PLAIN


def as_block(frame: pd.DataFrame) -> Block:
    """Return columns of plain numbers as floats, with their least and greatest."""
    values = frame.to_numpy(dtype=np.float64)
    # Not nanmin and nanmax: they copy the values, and warn of empty columns.
    return Block(values, np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0))


def as_numbers(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Return columns as floats, NaN where missing, or refuse the first that cannot be.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per sample.
    names : list of str
        Which columns.

    Returns
    -------
    pandas.DataFrame
        Those columns, in this order.

    Raises
    ------
    ValueError
        As `as_number` does.
    """
    import pandas as pd

    taken = frame[names]
    plain = np.array([is_plain(kind) for kind in taken.dtypes], dtype=bool)
    block = as_block(taken if plain.all() else taken.loc[:, plain])
    values = np.empty(taken.shape)
    values[:, plain] = block.values
    faults = ~plain
    faults[plain] = block.find_faults(spread=False)
    for place in np.flatnonzero(faults).tolist():
        values[:, place] = as_number(taken.iloc[:, place], names[place])
    return pd.DataFrame(values, index=frame.index, columns=taken.columns)


def as_number(column: pd.Series, name: str) -> pd.Series:
    """Return a column as floats, NaN where missing; dates as days."""
    import pandas as pd

    if column.dtype.kind in "mM":
        return pd.Series(as_days(column), index=column.index)
    try:
        values = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
    except (ValueError, TypeError):
        text = column.dropna().astype(str)
        words = text[pd.to_numeric(text, errors="coerce").isna()]
        raise ValueError(
            f"column {name!r} must have numbers only. Got {listed(words[:1].tolist())}"
            f"{f' and {len(words) - 1} more' if len(words) > 1 else ''} instead."
        ) from None
    fault = find_fault(values, spread=False)
    if fault:
        infinite = "; count them as missing (--missing inf,-inf)"
        cure = infinite if "infinite" in fault else ""
        raise ValueError(f"column {name!r} {fault}{cure}.")
    return pd.Series(values, index=column.index)


def find_fault(values: np.ndarray, *, spread: bool) -> str:
    """Say why a column of floats cannot be used; nothing if it can.

    With `spread`, numbers are refused whose squared differences are all 0.
    """
    infinite = int(np.isinf(values).sum())
    if infinite:
        return f"has {infinite} infinite cells"
    largest = float(np.nanmax(np.abs(values), initial=0))
    if largest > LARGEST:
        return (
            f"has a value of size {largest:.3g}, and more than {LARGEST:g} cannot be "
            "squared: write it in another unit"
        )
    if spread and not np.isnan(values).all():
        widest = float(np.nanmax(values) - np.nanmin(values))
        if 0 < widest < 1 / LARGEST:
            return (
                f"varies by {widest:.3g} at most, and less than {1 / LARGEST:g} is 0 "
                "when squared: write it in another unit"
            )
    return ""
