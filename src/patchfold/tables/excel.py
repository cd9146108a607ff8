"""A sheet of Excel or OpenDocument -> a data frame."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from ..backends.files import check_growth

if TYPE_CHECKING:
    import pandas as pd


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
            frame = pd.read_excel(book) if names else pd.DataFrame()
    except ImportError:
        raise ValueError(
            'Excel needs python-calamine: pip install "patchfold[excel]"'
        ) from None
    others = [f"the first of {len(names)} sheets was read, {names[0]!r}"]
    return frame, others if len(names) > 1 else []
