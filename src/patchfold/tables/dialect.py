"""A text file in UTF-8 -> its separator, quotes, header and decimal mark.

The readers that were tried (docs/reading.md) find a separator at best; what they do
not find out, this module does, from the first lines alone.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

SEPARATORS = ("\t", ";", ",", "|")
RARE_SEPARATORS = ("^", "~", "\x01", " ")
"""Tried in this order; the rare ones only where none of the others separates."""

MAX_COLUMNS = 100_000
"""A table with more is refused."""

TOO_WIDE = (
    f"more than {MAX_COLUMNS:,} are not read: leave some out, or give an array to the "
    "estimators in Python"
)

UNNAMED = "Unnamed: "
"""How columns are called that have no name in the header, as pandas does."""

MAX_NAME = 1000
"""Characters in the name of a column; a longer one is no name."""

SAMPLE_LINES = 200
SAMPLE_BYTES = 2**18
"""Lines that are looked at: as many as these bytes hold, and always three."""

_WHOLE = re.compile(r"[-+]?\d+")
_BEGIN = re.compile(r"[-+(]?\W?\s?[.,]?\d")
_FRACTION = re.compile(r"[-+]?\d*[.,]\d+([eE][-+]?\d+)?")
_DECIMAL = {
    mark: re.compile(
        rf"\D*(\d+{mark}(\d{{1,2}}|\d{{4,}})|0{mark}\d+|\d{{1,3}}({group}\d{{3}})+{mark}\d+|"
        rf"\d{{1,3}}({group}\d{{3}}){{2,}})\D*"
    )
    for mark, group in ((",", r"\."), (r"\.", ","))
}
"""Numbers that show their decimal mark."""


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Attributes
    ----------
    separator, quote : str
        Between cells; around a cell that holds a separator.
    names : list of str
        Columns; "Unnamed: 0" where the header has no name, column_1, column_2, ...
        where there is no header.
    start : int
        Byte where the rows begin.
    above : int
        Lines before the rows.
    rows : list of list of str
        The first rows.
    decimal : str or None
        Decimal mark, where the first rows show it.
    notes : list of str
        What is not usual, and what was guessed.
    """

    separator: str
    quote: str
    names: list[str]
    start: int
    above: int
    rows: list[list[str]]
    decimal: str | None
    notes: list[str]


def find_dialect(
    raw: bytes, sep: str | None = None, decimal: str | None = None, tabs: bool = False
) -> Dialect:
    r"""Look at the first lines of a text.

    Parameters
    ----------
    raw : bytes
        The text, in UTF-8.
    sep, decimal : str or None
        What the user says.
    tabs : bool
        Whether the name of the file says that tabs separate.

    Raises
    ------
    ValueError
        If there is no header, or it is none.

    Examples
    --------
    >>> from patchfold.tables.dialect import find_dialect
    >>> found = find_dialect(b"size;hue\n1,5;red\n2;blue\n")
    >>> found.separator, found.names, found.decimal
    (';', ['size', 'hue'], ',')
    """
    lines = _first_lines(raw)
    first, notes = 0, []
    while first < len(lines) and _says_nothing(lines, first):
        first += 1
    if first == len(lines):
        raise ValueError("it is empty")
    declared = re.fullmatch(r"sep=(.)\s*", lines[first])
    if declared:
        sep, first = sep or declared[1], first + 1
    if sep is None:
        sep = _separator(lines[first:], tabs)
    quote = _quote(lines[first:], sep)
    rows = _parse(lines, first, sep, quote)
    if not rows:
        raise ValueError(
            f"the first row has a cell of more than {csv.field_size_limit():,} "
            "characters: is it a table?"
        )
    usual = Counter(len(row.cells) for row in rows).most_common(1)[0][0]
    for _ in range(_lines_above([row.cells for row in rows], usual)):
        skipped = sep.join(rows.pop(0).cells)
        notes.append(f"a line above the header was skipped: {skipped[:60]!r}")
    names = [name.strip() for name in rows[0].cells]
    quoted = all(lines[row.start].startswith(quote) for row in rows[1:])
    if _has_row_names(names, [row.cells for row in rows[1:]], quoted):
        notes.append("the first column has no name: names of rows, as R writes them")
        names = ["", *names]
    others = [row.cells for row in rows[1:] if row.cells != rows[0].cells]
    if not stands_above_numbers(names, others):
        others = [row.cells for row in rows[1:]]  # or the header comes again
    reason = _no_header(names, others)
    if reason:
        notes.append(f"there is no header: {reason}")
        names = [f"column_{n + 1}" for n in range(len(names))]
        above = rows[0].start
    else:
        above = rows.pop(0).stop
    cells = [row.cells for row in rows]
    return Dialect(
        separator=sep,
        quote=quote,
        names=_check_names(names),
        start=sum(len(line.encode("utf-8")) for line in lines[:above]),
        above=above,
        rows=cells,
        decimal=decimal or _decimal(cells),
        notes=notes,
    )


def _lines_above(rows: list[list[str]], usual: int) -> int:
    """Count the lines of a title: of one cell, or of few above a header of words."""
    padded = _padded_titles(rows)
    if padded:
        return padded
    ones = next((n for n, row in enumerate(rows) if len(row) > 1), len(rows) - 1)
    full = next((n for n, row in enumerate(rows) if len(row) == usual), 0)
    if full <= ones or any(len(row) > usual - 2 for row in rows[:full]):
        return ones if usual > 1 else 0
    header, *below = rows[full : full + 2]
    named = not any(map(_is_number, header))
    return full if named and below and any(map(begins_as_number, below[0])) else ones


def _padded_titles(rows: list[list[str]]) -> int:
    """Count titles that fill the first cell alone, as Excel writes them.

    A full row of words follows, and numbers below it.
    """
    titles = (len(row) > 2 and not any(map(str.strip, row[1:])) for row in rows)
    first = next((n for n, is_title in enumerate(titles) if not is_title), 0)
    named = all(cell.strip() and not begins_as_number(cell) for cell in rows[first])
    below = itertools.chain.from_iterable(rows[first + 1 :])
    return first if named and any(map(begins_as_number, below)) else 0


def begins_as_number(cell: str) -> bool:
    """Say whether a cell begins like a number, an amount or a date."""
    return bool(_BEGIN.match(cell.strip()))


def number_columns(rows: list[list[str]], absent: Collection[str] = ("",)) -> list[int]:
    """Return the columns in which all cells that are there begin like numbers."""
    found = []
    for place, column in enumerate(zip(*rows, strict=False)):
        cells = [cell for cell in column if cell.strip() not in absent]
        if cells and all(map(begins_as_number, cells)):
            found.append(place)
    return found


def stands_above_numbers(names: list[str], rows: list[list[str]]) -> bool:
    """Say whether a row has a word above a column of numbers: it is a header."""
    numbers = number_columns(rows)
    return any(not begins_as_number(names[p]) for p in numbers if p < len(names))


def _is_number(cell: str) -> bool:
    return bool(_WHOLE.fullmatch(cell.strip()) or _FRACTION.fullmatch(cell.strip()))


def _has_row_names(names: list[str], rows: list[list[str]], quoted: bool) -> bool:
    """Say whether every row has a cell more than the header: its name, not a number."""
    return (
        bool(rows)
        and all(len(cells) == len(names) + 1 for cells in rows)
        and any(cells[-1].strip() for cells in rows)
        and (quoted or not any(_is_number(cells[0]) for cells in rows))
        and len({cells[0] for cells in rows}) == len(rows)
    )


def _says_nothing(lines: list[str], place: int) -> bool:
    """Say whether a line is blank or a comment; "#" alone may name a column."""
    line = lines[place]
    if line.isspace() or line[0] != "#":
        return line.isspace()
    sep = line[1:].lstrip(" \"'")[:1]
    below = next((other for other in lines[place + 1 :] if other[0] != "#"), "")
    return sep not in SEPARATORS or line.count(sep) != below.count(sep)


def _no_header(names: list[str], rows: list[list[str]]) -> str:
    """Say why the first row is no header; nothing if it may be one.

    Whole numbers are names if they rise, or are years that fall. Words are cells if
    they are found again in columns of several words: all of them, or any one beside
    whole numbers.
    """
    if any(_FRACTION.fullmatch(name) for name in names):
        return "the first row has numbers"
    columns = itertools.zip_longest(*rows, fillvalue="")
    known = [{cell.strip() for cell in cells} for cells in columns]
    known += [set()] * (len(names) - len(known))
    words = [
        name in cells and len(cells - {""}) > 1
        for name, cells in zip(names, known, strict=False)
        if name and not _WHOLE.fullmatch(name)
    ]
    numbers = [int(name) for name in names if _WHOLE.fullmatch(name)]
    rising = all(a < b for a, b in itertools.pairwise(numbers))
    falling = all(a > b for a, b in itertools.pairwise(numbers))
    years = falling and all(1000 <= number < 3000 for number in numbers)
    if numbers and (any(words) or not (rising or years)):
        return "the first row has numbers"
    if not numbers and len(names) > 1 and len(words) == len(names) and all(words):
        return "the first row has cells that are found again below"
    return ""


class _Row(NamedTuple):
    """Cells of a row, its first line, and the line after it."""

    cells: list[str]
    start: int
    stop: int


def _first_lines(raw: bytes) -> list[str]:
    """Return the first lines, with their ends."""
    lines: list[str] = []
    start = 0
    while start < len(raw) and len(lines) < SAMPLE_LINES:
        if start > SAMPLE_BYTES and len(lines) >= 3:
            break
        stop = raw.find(b"\n", start) + 1 or len(raw)
        lines.append(raw[start:stop].decode("utf-8"))
        start = stop
    return lines


def _parse(lines: list[str], first: int, sep: str, quote: str) -> list[_Row]:
    """Cut lines into cells; blank ones are left out, and so is a row without an end."""
    read = csv.reader(
        lines[first:],
        delimiter=sep,
        quotechar=quote,
        skipinitialspace=sep == " ",
    )
    rows, start = [], first
    try:
        for cells in read:
            stop = first + read.line_num
            if any(line.strip(" \r\n") for line in lines[start:stop]):
                rows.append(_Row(cells, start, stop))
            start = stop
    except csv.Error:  # a cell without end, or too long: another separator, perhaps
        pass
    return rows


def _separator(lines: list[str], tabs: bool) -> str:
    """Return the separator that cuts most lines into the same number of cells."""
    best, share = "", 0.0
    for sep in ("\t",) if tabs else (*SEPARATORS, *RARE_SEPARATORS):
        counts = Counter(len(row.cells) for row in _parse(lines, 0, sep, '"'))
        usual, often = counts.most_common(1)[0] if counts else (1, 0)
        part = often / max(counts.total(), 1)
        if sep in RARE_SEPARATORS and best:
            break
        if usual > 1 and part > share:
            best, share = sep, part
    if share > 0.6:
        return best
    return max("," if not tabs else "\t", *SEPARATORS, key=lines[0].count)


def _quote(lines: list[str], sep: str) -> str:
    """Return the quotation mark: single where cells stand in such, and no other."""
    cells = [cell.strip() for line in lines for cell in line.split(sep)]
    begun = sum(cell[:1] == "'" for cell in cells)
    ended = sum(cell[-1:] == "'" for cell in cells)
    double = any(cell[:1] == '"' for cell in cells)
    return "'" if 0 < begun == ended and not double else '"'


def _check_names(names: list[str]) -> list[str]:
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"it has {len(names):,} columns, and {TOO_WIDE}")
    longest = max(map(len, names))
    if longest > MAX_NAME:
        raise ValueError(
            f"the name of a column has {longest:,} characters: is the first row a "
            "header?"
        )
    return [name or f"{UNNAMED}{place}" for place, name in enumerate(names)]


def _decimal(rows: list[list[str]]) -> str | None:
    """Return the decimal mark that the first rows show, if they show one alone."""
    cells = {cell for row in rows for cell in row}
    shown = [mark for mark, form in _DECIMAL.items() if any(map(form.fullmatch, cells))]
    return shown[0][-1] if len(shown) == 1 else None
