"""Text with a separator -> a data frame, with every row as long as the header."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = ",;\t"
MISSING = "?"
"""Means a missing cell in many public sets, beside what pandas takes for one."""

MAX_COLUMNS = 100_000
"""A table with more is refused: every column is looked at on its own."""

TOO_WIDE = (
    f"more than {MAX_COLUMNS:,} are not read: leave some out, or give an array to the "
    "estimators in Python"
)

MAX_NAME = 1000
"""Characters in the name of a column; a longer one is no name."""


@dataclass(frozen=True)
class Layout:
    """How rows are written that have no header of their own.

    Attributes
    ----------
    n_columns : int
        How many cells a row has.
    quote : str
        What stands around a cell that holds a comma.
    numbers : tuple of int
        Positions of the columns that hold numbers; the others hold text.
    """

    n_columns: int
    quote: str
    numbers: tuple[int, ...]


def parse_csv(text: str) -> pd.DataFrame:
    r"""Return the table of a text file whose first row names the columns.

    Parameters
    ----------
    text : str
        The whole file. A header without commas may have semicolons or tabs.

    Returns
    -------
    pandas.DataFrame
        Columns are numbers where all cells are, else text.

    Raises
    ------
    ValueError
        If a row has more or fewer cells than the header, or the header is none.

    Examples
    --------
    >>> from patchfold.tabular.delimited import parse_csv
    >>> parse_csv("size;hue\n1;red\n?;blue")
       size   hue
    0   1.0   red
    1   NaN  blue
    """
    import pandas as pd

    text = text.lstrip("\r\n")
    header = text[: text.find("\n") + 1] or text
    separator = max(SEPARATORS, key=header.count)
    names = _header(text, separator)
    _check_lengths(text, len(names), separator)
    frame = pd.read_csv(
        _lines(text), sep=separator, na_values=[MISSING], low_memory=False
    )
    _check_columns(frame, len(names))
    frame.columns = pd.Index(names)  # pandas would call the second of two names x.1
    return frame


def read_rows(text: str, layout: Layout) -> pd.DataFrame:
    """Return rows without a header as a table whose columns are numbered.

    Parameters
    ----------
    text : str
        Rows, separated by commas; "?" is a missing cell.
    layout : Layout
        What they hold.

    Returns
    -------
    pandas.DataFrame
        Numbers as floats, text without the space around it.
    """
    import pandas as pd

    count = layout.n_columns
    if not text:
        return pd.DataFrame(columns=range(count))
    _check_lengths(text, count, ",", quote=layout.quote, escape="\\")
    numbers = set(layout.numbers)
    frame = pd.read_csv(
        _lines(text),
        header=None,
        names=list(range(count)),
        dtype={n: "float64" if n in numbers else "str" for n in range(count)},
        na_values=[MISSING],
        keep_default_na=False,
        skipinitialspace=True,
        quotechar=layout.quote,
        escapechar="\\",
        low_memory=False,
    )
    _check_columns(frame, count)
    for position in set(range(count)) - numbers:
        frame[position] = frame[position].str.strip()
    return frame


def _lines(text: str, newline: str | None = "") -> io.TextIOWrapper:
    """Return text to be read as a file; io.StringIO takes four bytes a character."""
    return io.TextIOWrapper(io.BytesIO(text.encode("utf-8")), "utf-8", newline=newline)


def _header(text: str, separator: str) -> list[str]:
    """Return the names of the columns; one that is quoted may hold a line's end."""
    names = next(csv.reader(_lines(text), delimiter=separator), [])
    if not names:
        raise ValueError("it is empty")
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"it has {len(names):,} columns, and {TOO_WIDE}")
    longest = max(map(len, names))
    if longest > MAX_NAME:
        raise ValueError(
            f"the name of a column has {longest:,} characters: is the first row a "
            "header?"
        )
    return names


def _check_lengths(
    text: str, count: int, separator: str, *, quote: str = '"', escape: str = ""
) -> None:
    """Refuse rows that are shorter or longer than there are columns.

    pandas calls what a shorter row lacks missing, so a few bytes a row could ask for
    any amount of memory; and it takes the first cells of longer rows for their names.
    Where nothing is quoted it is enough to count separators, which is quick.
    """
    if quote in text or (escape and escape in text):
        rows = csv.reader(
            _lines(text),
            delimiter=separator,
            quotechar=quote,
            escapechar=escape or None,
        )
        lengths = ((rows.line_num, len(row)) for row in rows if row)
    else:
        lines = enumerate(_lines(text, newline=None), start=1)
        lengths = ((n, line.count(separator) + 1) for n, line in lines if line != "\n")
    for number, length in lengths:
        if length != count:
            raise ValueError(
                f"line {number} has {length} cells, and there are {count} columns"
            )


def _check_columns(frame: pd.DataFrame, count: int) -> None:
    """Refuse a table that pandas cut into cells in another way than we."""
    import pandas as pd

    if not isinstance(frame.index, pd.RangeIndex) or frame.shape[1] != count:
        raise ValueError("its quotes can be understood in more than one way")
