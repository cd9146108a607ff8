"""Text with a separator -> an Arrow table: PyArrow cuts the cells and finds types."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from .dialect import Dialect

if TYPE_CHECKING:
    import pandas as pd

MISSING = "?"
"""Means a missing cell in many public sets."""

ABSENT = (
    *("", MISSING, "NA", "N/A", "n/a", "<NA>", "NaN", "nan", "-nan", "-NaN", "NULL"),
    *("null", "None", "\\N", "#N/A", "#N/A N/A", "#NA", "#DIV/0!", "#REF!", "#VALUE!"),
    *("#NUM!", "#NAME?", "#NULL!", "(null)", "(NULL)", "<null>", "<NULL>", "[NULL]"),
    *("Null", "NaT", "<NA>"),
)
"""Words for a missing cell in columns of every kind."""

MAX_LEVELS = 10_000
"""Different texts of a column that is held as a dictionary."""

MANY_COLUMNS = 1000
"""From here on one thread is faster: every column is a task of its own."""

BLOCK = 2**20
WIDE_BLOCK = 2**23
"""Bytes that are cut at a time, at first; a row must fit."""

_TEXT = re.compile(r" *0\d+|[-+]?\d{16,}|0[xX][\da-fA-F]+")
"""Signs that a number would lose: zeros in front, long identifiers, base 16."""

_NUMBER = re.compile(r"[-+]?\d{0,15}\.\d+([eE][-+]?\d+)?")


_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}\.\d{3}")


def parse_csv(raw: bytes, dialect: Dialect) -> Any:
    """Return the rows of a text file.

    Parameters
    ----------
    raw : bytes
        The file, in UTF-8.
    dialect : Dialect
        How it is written.

    Returns
    -------
    pyarrow.Table
        Numbers, ISO dates, times, and text; text as dictionaries unless almost every
        cell differs.

    Raises
    ------
    ValueError
        If a row has more or fewer cells than there are columns.
    """
    import pyarrow as pa

    if not dialect.rows and not raw[dialect.start :].strip():
        return pa.table({})
    texts = find_texts(dialect)
    numbers = _find_numbers(dialect, texts)
    raw, dialect = single_blanks(raw, dialect)
    read = partial(
        _read,
        raw,
        dialect,
        null_values=list(ABSENT),
        strings_can_be_null=True,
        true_values=[],
        false_values=[],
        auto_dict_encode=True,
        auto_dict_max_cardinality=MAX_LEVELS,
        decimal_point="," if dialect.decimal == "," != dialect.separator else ".",
    )
    kinds = {str(place): pa.string() for place in texts}
    guessed = kinds | {str(place): pa.float64() for place in numbers}
    try:
        table = read(column_types=guessed)
    except pa.ArrowInvalid:
        table = read(column_types=kinds)
    return table.rename_columns(dialect.names)


def single_blanks(raw: bytes, dialect: Dialect) -> tuple[bytes, Dialect]:
    """Return a text with one blank between two cells, where blanks separate cells."""
    if dialect.separator != " ":
        return raw, dialect
    lines = raw[dialect.start :].splitlines()
    raw = b"\n".join(b" ".join(line.split()) for line in lines)
    return raw, replace(dialect, start=0)


def find_texts(dialect: Dialect) -> list[int]:
    """Return the columns that must be text by the first rows."""
    columns = list(zip(*dialect.rows, strict=False))
    texts = [p for p, cells in enumerate(columns) if any(map(_TEXT.fullmatch, cells))]
    if dialect.separator == ";" and dialect.decimal is None:
        texts += [p for p, cells in enumerate(columns) if _may_be_thousands(cells)]
    return texts


def _find_numbers(dialect: Dialect, texts: Collection[int]) -> list[int]:
    """Return the columns that are fractions by the first rows, but for texts.

    Where PyArrow finds out a type, it keeps the text of the column to the end.
    """
    columns = list(zip(*dialect.rows, strict=False))
    others = set(range(len(columns))).difference(texts)
    return [p for p in sorted(others) if all(map(_is_number, columns[p]))]


def _may_be_thousands(cells: tuple[str, ...]) -> bool:
    """Say whether every number is written like 1.234: PyArrow would read a fraction."""
    present = [cell.strip() for cell in cells if cell.strip()]
    return bool(present) and all(map(_THOUSANDS.fullmatch, present))


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


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
    import pyarrow as pa

    names = [str(place) for place in range(n_columns)]
    if not text:
        return pd.DataFrame(columns=range(n_columns))
    kinds = {
        name: pa.float64() if place in numbers else pa.string()
        for place, name in enumerate(names)
    }
    frame = _read(
        text.encode("utf-8"),
        Dialect(",", '"', names, 0, 0, [], None, []),
        null_values=[MISSING],
        strings_can_be_null=True,
        column_types=kinds,
    ).to_pandas()
    return frame.set_axis(range(n_columns), axis=1)


def check_length(number: int, length: int, count: int) -> None:
    """Refuse a line that has more or fewer cells than there are columns."""
    if length != count:
        unnamed = " Names of rows, as R writes them, need a name in the header, too."
        raise ValueError(
            f"line {number} has {length} cells, and there are {count} columns: put "
            "quotes around a cell that holds the separator, and '?' where one is "
            "missing; or name the sign that separates (--sep)."
            f"{unnamed if length == count + 1 else ''}"
        )


def _read(raw: bytes, dialect: Dialect, **conversion: Any) -> Any:
    """Cut the rows; columns are named by their places."""
    import pyarrow as pa
    from pyarrow import csv

    wrong: list[tuple[str, int]] = []

    def judge(row: Any) -> str:
        if not row.text.strip():
            return "skip"
        wrong.append((row.text, row.actual_columns))
        return "error"

    count = len(dialect.names)
    many = count >= MANY_COLUMNS
    size, most = WIDE_BLOCK if many else BLOCK, len(raw) - dialect.start + 1
    parsing = csv.ParseOptions(
        delimiter=dialect.separator,
        quote_char=dialect.quote,
        newlines_in_values=raw.find(dialect.quote.encode(), dialect.start) >= 0,
        invalid_row_handler=judge,
    )
    converting = csv.ConvertOptions(check_utf8=False, **conversion)
    while True:
        reading = csv.ReadOptions(
            use_threads=not many,
            block_size=min(size, most),
            column_names=[str(place) for place in range(count)],
        )
        try:
            return csv.read_csv(
                pa.BufferReader(pa.py_buffer(raw).slice(dialect.start)),
                reading,
                parsing,
                converting,
            )
        except pa.ArrowInvalid as error:
            if wrong:
                text, length = wrong[0]
                place = raw.find(text.encode("utf-8"), dialect.start)
                line = raw.count(b"\n", dialect.start, place) + dialect.above + 1
                check_length(line, length, count)
            if "straddling" not in str(error) or size >= most:
                raise
            size *= 16
