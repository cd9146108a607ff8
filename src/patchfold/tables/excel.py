"""A sheet of Excel or OpenDocument -> a data frame."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from ..backends.files import check_growth

if TYPE_CHECKING:
    import pandas as pd

FIRST_ROWS = 50
"""Rows in which the header is looked for."""

MAX_SHOWN = 60
"""Characters of a row that is skipped, in what is said of it."""


def read_excel(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read the first sheet of a workbook, and say if there are others.

    By calamine, which is compiled and reads all kinds of workbooks.
    """
    import pandas as pd

    if path.exists() and not path.is_file():
        raise ValueError("it is not a file")
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            grown = sum(part.file_size for part in archive.infolist())
        check_growth(path.stat().st_size, grown, "save it as CSV")
    try:
        with pd.ExcelFile(path, engine="calamine") as book:
            names = book.sheet_names
            above = _rows_above(book) if names else []
            frame = pd.read_excel(book, skiprows=len(above)) if names else None
    except ImportError:
        raise ValueError(
            'Excel needs python-calamine: pip install "patchfold[excel]"'
        ) from None
    if frame is None:
        return pd.DataFrame(), []
    notes = [f"a row above the header was skipped: {row!r}" for row in above if row]
    if len(names) > 1:
        notes.append(f"the first of {len(names)} sheets was read, {names[0]!r}")
    return frame, notes


def _rows_above(book: pd.ExcelFile) -> list[str]:
    """Return what stands above the header: titles, dates, empty rows.

    The header is the first row with more than half as many cells as any of the first
    rows, or one cell less: indices have no name.
    """
    import pandas as pd

    start = pd.read_excel(book, header=None, nrows=FIRST_ROWS, dtype=object)
    filled = start.notna().sum(axis=1).to_numpy()
    most = filled.max(initial=0)
    fits = (filled > 0) & ((2 * filled > most) | (filled >= most - 1))
    count = int(fits.argmax()) if most else 0
    rows = (start.iloc[row].dropna() for row in range(count))
    return [" ".join(map(str, row))[:MAX_SHOWN] for row in rows]
