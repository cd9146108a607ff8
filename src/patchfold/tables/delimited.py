"""Text with a separator -> an Arrow table: PyArrow cuts the cells and finds types."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
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
    *("#NV", "#BEZUG!", "#WERT!", "#ZAHL!", "#NOM?", "#VALEUR!", "#NOMBRE!"),
    *("#N/D", "#¡VALOR!", "#¡DIV/0!", "#¡REF!", "#¡NUM!", "#¿NOMBRE?", "#VALOR!"),
)
"""Words for a missing cell in columns of every kind. Those that begin with # are errors
of Excel in six languages."""

MAX_LEVELS = 10_000
"""Different texts of a column that is held as a dictionary."""

MANY_COLUMNS = 1000
"""From here on one thread is faster: every column is a task of its own."""

PART = 2**24
"""Bytes of lines whose types are found together."""

BLOCK = 2**20
WIDE_BLOCK = 2**23
"""Bytes that are cut at a time, at first; a row must fit."""

_TEXT = re.compile(r" *0\d+|[-+]?\d{16,}|0[xX][\da-fA-F]+")
"""Signs that a number would lose: zeros in front, long identifiers, base 16."""

_LONG = r"^(0|-?[1-9]\d{0,17})$"
"""A whole number that is the same text when it is written again."""

_NUMBER = re.compile(r"[-+]?\d{0,15}\.\d+([eE][-+]?\d+)?")


_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}\.\d{3}")


def parse_csv(rows: bytes | Path, dialect: Dialect, quoted: bool = True) -> Any:
    """Return the rows of a text file.

    Parameters
    ----------
    rows : bytes or Path
        The text, in UTF-8, or the file that holds it. A file is read in blocks, so that
        its text is never in memory as a whole.
    dialect : Dialect
        How it is written.
    quoted : bool
        Whether there is a quotation mark at all: a cell may have line ends then.

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

    texts = find_texts(dialect)
    numbers = _find_numbers(dialect, texts)
    kinds = {str(place): pa.string() for place in texts}
    guessed = {str(place): pa.float64() for place in numbers}
    settings = {
        "null_values": list(ABSENT),
        "strings_can_be_null": True,
        "true_values": [],
        "false_values": [],
        "auto_dict_encode": True,
        "auto_dict_max_cardinality": MAX_LEVELS,
        "decimal_point": "," if dialect.decimal == "," != dialect.separator else ".",
        "column_types": kinds,
    }
    told = dialect, quoted, guessed, settings
    if len(dialect.names) >= MANY_COLUMNS:
        return _read_guessed(rows, *told).rename_columns(dialect.names)
    try:
        table = _read_parts(rows, *told)
    except ValueError:
        if not quoted:
            raise
        table = _read_guessed(rows, *told)  # a mark alone may have cut a cell in two
    return table.rename_columns(dialect.names)


def _read_guessed(
    rows: bytes | Path,
    dialect: Dialect,
    quoted: bool,
    guessed: dict[str, Any],
    settings: dict[str, Any],
) -> Any:
    """Read columns as the types that they seem to have; find these out if some differ.

    That takes PyArrow longer.
    """
    import pyarrow as pa

    kinds = settings["column_types"]
    try:
        told = settings | {"column_types": guessed | kinds}
        return _read(rows, dialect, quoted, **told)
    except pa.ArrowInvalid:
        return _read(rows, dialect, quoted, **settings)


def _read_parts(
    rows: bytes | Path,
    dialect: Dialect,
    quoted: bool,
    guessed: dict[str, Any],
    settings: dict[str, Any],
) -> Any:
    """Read some lines after the others, and settle the type of each column at the end.

    Where PyArrow finds out a type, it keeps the text of the column to the end.
    """
    import pyarrow as pa
    from pyarrow import types

    parts: list[Any] = []
    above = dialect.above
    for text in _cut(rows, dialect.start, dialect.quote.encode() if quoted else b""):
        own = replace(dialect, start=0, above=above)
        above += text.count(b"\n")
        if parts and not text.strip(b"\r\n"):  # no rows; tabs are cells of one
            continue
        part = _read_lines(text, own, quoted, guessed, settings)
        parts.append(_with_whole(part, settings["column_types"]))
        guessed = {f.name: f.type for f in part.schema if types.is_primitive(f.type)}
    columns: dict[str, Any] = {}
    for place in parts[0].column_names:
        chunks = [part.column(place) for part in parts]
        kind = _common_type({chunk.type for chunk in chunks})
        if kind is not None:
            cast = [chunk.cast(kind, safe=False) for chunk in chunks]
            columns[place] = pa.chunked_array([c for t in cast for c in t.chunks], kind)
        else:
            columns[place] = None
    torn = [place for place, column in columns.items() if column is None]
    if torn:
        del parts
        again = _read(rows, dialect, quoted, include_columns=torn, **settings)
        columns |= {place: again.column(place) for place in torn}
    for place in settings["column_types"]:
        if columns[place].type == pa.int64() and not _stay_different(columns[place]):
            columns[place] = columns[place].cast(pa.string())
    return pa.table(columns).unify_dictionaries()


def _read_lines(
    text: bytes,
    dialect: Dialect,
    quoted: bool,
    guessed: dict[str, Any],
    settings: dict[str, Any],
) -> Any:
    """Read a part, and raise ValueError if it ends within a cell.

    PyArrow ends that cell there. So a row of empty cells is put below, if quotation
    marks are about: it is found again unless it became text of that cell.
    """
    told = dialect, quoted, guessed, settings
    if dialect.quote.encode() not in text or not text.endswith(b"\n"):
        return _read_guessed(text, *told)
    empty = 2 * dialect.quote + dialect.separator * (len(dialect.names) - 1)
    table = _read_guessed(text + empty.encode() + b"\n", *told)
    if any(column[-1].is_valid for column in table.columns):
        raise ValueError("a part of the text ends within a cell")
    return table.slice(0, table.num_rows - 1)


def _with_whole(table: Any, texts: Iterable[str]) -> Any:
    """Return a table in which texts that are whole numbers of 18 digits are numbers.

    As text, each cell would be looked at. No digit or sign is lost: they can be texts
    again.
    """
    import pyarrow as pa
    from pyarrow import compute

    for place in texts:
        column = table[place]
        is_long = compute.match_substring_regex(column, _LONG)
        if compute.all(is_long, min_count=1).as_py():
            position = table.schema.get_field_index(place)
            table = table.set_column(position, place, column.cast(pa.int64()))
    return table


def _stay_different(column: Any) -> bool:
    """Say whether no two whole numbers are the same float."""
    import pyarrow as pa
    from pyarrow import compute

    floats = column.cast(pa.float64(), safe=False)
    return compute.count_distinct(floats) == compute.count_distinct(column)


def _cut(rows: bytes | Path, start: int, quote: bytes) -> Iterator[bytes]:
    """Cut a text, or the file that holds it, at ends of lines that are outside quotes.

    There the number of quotation marks is even; without `quote` all lines are.
    """
    with rows.open("rb") if isinstance(rows, Path) else io.BytesIO(rows) as file:
        file.seek(start)
        while part := file.read(PART) + file.readline():
            odd, more = bool(quote) and part.count(quote) % 2, []
            while odd and (line := file.readline()):
                more.append(line)
                odd = (odd + line.count(quote)) % 2
            yield b"".join([part, *more])


def _common_type(kinds: set[Any]) -> Any:
    """Return the type that all parts of a column have; None if some must be read again.

    As numbers or dates, cells have lost what they were as words.
    """
    import pyarrow as pa
    from pyarrow import types

    found = {kind for kind in kinds if not types.is_null(kind)} or kinds
    if len(found) == 1:
        return found.pop()
    if found == {pa.int64(), pa.float64()}:
        return pa.float64()
    words = all(types.is_dictionary(kind) or types.is_string(kind) for kind in found)
    return pa.string() if words else None


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
    """Return the columns that are fractions by the first rows, but for texts."""
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
        '"' in text,
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


def _read(rows: bytes | Path, dialect: Dialect, quoted: bool, **conversion: Any) -> Any:
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
    all_bytes = rows.stat().st_size if isinstance(rows, Path) else len(rows)
    size, most = WIDE_BLOCK if many else BLOCK, all_bytes - dialect.start + 1
    parsing = csv.ParseOptions(
        delimiter=dialect.separator,
        quote_char=dialect.quote,
        newlines_in_values=quoted,
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
            with _open(rows, dialect.start) as file:
                return csv.read_csv(file, reading, parsing, converting)
        except pa.ArrowInvalid as error:
            if wrong:
                text, length = wrong[0]
                raw = rows.read_bytes() if isinstance(rows, Path) else rows
                row = re.compile(rb"^%b\r?$" % re.escape(text.encode("utf-8")), re.M)
                found = row.search(raw, dialect.start)
                place = found.start() if found else dialect.start
                line = raw.count(b"\n", dialect.start, place) + dialect.above + 1
                check_length(line, length, count)
            if "straddling" not in str(error) or size >= most:
                raise
            size *= 16


def _open(rows: bytes | Path, start: int) -> Any:
    """Open a text, or the file that holds it, where the rows begin."""
    import pyarrow as pa

    if not isinstance(rows, Path):
        return pa.BufferReader(pa.py_buffer(rows).slice(start))
    file = pa.OSFile(str(rows))
    file.seek(start)
    return file
