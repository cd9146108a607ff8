"""A sheet of Excel or OpenDocument -> a data frame."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

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
    """Return what stands above the header: titles, dates, empty rows."""
    import pandas as pd

    start = pd.read_excel(book, header=None, nrows=FIRST_ROWS, dtype=object)
    rows = (start.iloc[row].dropna() for row in range(_find_header(start)))
    return [" ".join(map(str, row))[:MAX_SHOWN] for row in rows]


def _find_header(start: pd.DataFrame) -> int:
    """Return which of the first rows is the header.

    It is the first wide one, with two exceptions. A title may be as wide: it fills the
    first cells alone, and a full row of words follows. And a header may lack many
    names: it is a row of words with gaps, right above a wide row with numbers.
    """
    there = start.notna().to_numpy()
    filled = there.sum(axis=1)
    if not filled.any():
        return 0
    texts = start.map(lambda cell: isinstance(cell, str)).to_numpy().sum(axis=1)
    words = (filled > 0) & (texts == filled)
    row, width = _first_wide(filled)
    full = next((k for k in range(row + 1, len(filled)) if filled[k] == width), row)
    samples = ~words & (filled > 1)
    # Samples below, and none between, tell a header from a sample of words.
    if filled[row] < width and words[full] and not samples[row + 1 : full].any():
        is_title = there[row, : filled[row]].all() and samples[full:].any()
        return full if is_title else row
    above = row - 1
    if row and not words[row] and words[above] and filled[above] > 1:
        return row if there[above, : filled[above]].all() else above
    return row


def _first_wide(filled: np.ndarray) -> tuple[int, int]:
    """Return the first row with more than half as many cells as any, or one cell less.

    Indices have no name. The second number is how many cells a row has at most. A row
    alone below others that are as wide as what follows is a note: it does not count.
    """
    most = int(filled.max())
    row = int(((filled > 0) & ((2 * filled > most) | (filled >= most - 1))).argmax())
    above = filled[:row].max(initial=0)
    if above > 1 and filled[row + 1 :].max(initial=0) <= above:
        return _first_wide(np.where(np.arange(len(filled)) == row, 0, filled))
    return row, most
