"""Text with a separator -> a data frame, with every row as long as the header."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = ",;\t"
MISSING = "?"
"""Means a missing cell in many public sets, beside what pandas takes for one."""

NO_NUMBERS = ("NaN", "nan", "NAN")
"""Mean a missing cell among numbers, but may be words among words."""

MAX_COLUMNS = 100_000
"""A table with more is refused: every column is looked at on its own."""

TOO_WIDE = (
    f"more than {MAX_COLUMNS:,} are not read: leave some out, or give an array to the "
    "estimators in Python"
)

MAX_NAME = 1000
"""Characters in the name of a column; a longer one is no name."""

_BLANK_LINES = re.compile(r"(?:[ \t]*\n)*")


def parse_csv(text: str) -> pd.DataFrame:
    r"""Return the table of a text file whose first row names the columns.

    Parameters
    ----------
    text : str
        The whole file. A header without commas may have semicolons or tabs. Blank
        lines are skipped.

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
    >>> from patchfold.tables.delimited import parse_csv
    >>> parse_csv("size;hue\n1;red\n?;blue")
       size   hue
    0   1.0   red
    1   NaN  blue
    """
    import pandas as pd

    # After an empty line that ends in "\r" alone pandas swallows a separator.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    skipped = _BLANK_LINES.match(text)[0]  # type: ignore[index]  # it always matches
    text = text[len(skipped) :]
    header = text[: text.find("\n") + 1] or text
    separator = max(SEPARATORS, key=header.count)
    names = _header(text, separator)
    _check_lengths(text, len(names), separator, above=skipped.count("\n"))
    frame = pd.read_csv(
        _lines(text), sep=separator, na_values=[MISSING], low_memory=False
    )
    _check_columns(frame, len(names))
    frame.columns = pd.Index(names)  # pandas would call the second of two names x.1
    return frame


def read_rows(text: str, n_columns: int, numbers: Collection[int]) -> pd.DataFrame:
    """Return rows without a header as a table whose columns are numbered.

    Parameters
    ----------
    text : str
        Rows of `n_columns` cells each, separated by commas; "?" is a missing cell.
    n_columns : int
        How many cells a row has.
    numbers : collection of int
        Positions of the columns that hold numbers; the others hold text.

    Returns
    -------
    pandas.DataFrame
        Numbers as floats.
    """
    import pandas as pd

    if not text:
        return pd.DataFrame(columns=range(n_columns))
    missing = {True: [MISSING, *NO_NUMBERS], False: [MISSING]}
    kinds: Any = "float64"
    absent: Any = missing[True]
    if len(numbers) < n_columns:  # what pandas is told of each column takes its time
        kinds = {n: "float64" if n in numbers else "str" for n in range(n_columns)}
        absent = {n: missing[n in numbers] for n in range(n_columns)}
    frame = pd.read_csv(
        _lines(text),
        header=None,
        names=list(range(n_columns)),
        dtype=kinds,
        na_values=absent,
        keep_default_na=False,
        low_memory=False,
    )
    _check_columns(frame, n_columns)
    return frame


def check_length(number: int, length: int, count: int) -> None:
    """Refuse a line that has more or fewer cells than there are columns."""
    if length != count:
        raise ValueError(
            f"line {number} has {length} cells, and there are {count} columns: put "
            "quotes around a cell that holds the separator, and '?' where one is "
            "missing"
        )


def _lines(text: str) -> io.TextIOWrapper:
    """Return text to be read as a file; io.StringIO takes four bytes a character."""
    return io.TextIOWrapper(io.BytesIO(text.encode("utf-8")), "utf-8", newline="\n")


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


def _check_lengths(text: str, count: int, separator: str, *, above: int) -> None:
    """Refuse rows that are shorter or longer than there are columns.

    pandas calls what a shorter row lacks missing, so a few bytes a row could ask for
    any amount of memory; and it takes the first cells of longer rows for their names.
    Where nothing is quoted it is enough to count separators, which is quick. Lines are
    numbered from those `above` the text on.
    """
    blank = " \t\n".replace(separator, "")
    if '"' in text:
        lengths = _quoted_lengths(text, separator, blank)
    else:
        lines = enumerate(_lines(text), start=1)
        lengths = (
            (n, line.count(separator) + 1) for n, line in lines if line.strip(blank)
        )
    for number, length in lengths:
        check_length(above + number, length, count)


def _quoted_lengths(text: str, separator: str, blank: str) -> Iterator[tuple[int, int]]:
    """Yield the number of each row's last line, and its cells."""
    line = ""

    def watched() -> Iterator[str]:
        nonlocal line
        for each in _lines(text):
            line = each
            yield each

    rows = csv.reader(watched(), delimiter=separator)
    for row in rows:
        # By the line, not by its cells: pandas skips blanks, but not quoted ones.
        if line.strip(blank):
            yield rows.line_num, len(row)


def _check_columns(frame: pd.DataFrame, count: int) -> None:
    """Refuse a table that pandas cut into cells in another way than we."""
    import pandas as pd

    if not isinstance(frame.index, pd.RangeIndex) or frame.shape[1] != count:
        raise ValueError("its quotes can be understood in more than one way")
