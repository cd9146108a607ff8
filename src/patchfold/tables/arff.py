"""ARFF text -> a data frame: header and quotes by hand, then comma-separated rows.

Not SciPy's reader: its patterns take time that grows with the square of a line's
length, it makes every cell of a column as wide as the longest level, and it knows
neither text nor levels beyond ASCII.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from .delimited import check_length, read_rows
from .dialect import MAX_COLUMNS, MAX_NAME, TOO_WIDE
from .plain_rows import read_plain_rows

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = ("numeric", "real", "int")
"""How a kind of numbers begins: "integer" and "real[0,1]" are met, too."""

_QUOTED = r"""'((?:[^'\\]|\\.|'')*)'|"((?:[^"\\]|\\.|"")*)\""""
_NAME = re.compile(rf"""{_QUOTED}|([^\s,{{}}'"]+)""")
_LEVEL = re.compile(rf"\s*(?:(?:{_QUOTED})\s*(?=[,}}])|([^,}}]*))([,}}])")
_CELL = {
    sign: re.compile(rf" *(?:(?:{_QUOTED}) *(?={sign}|$)|([^{sign}]*))({sign}|$)")
    for sign in ",\t"
}
_ESCAPED = {sign: re.compile(rf"\\(.)|{sign}({sign})") for sign in "'\""}

_DATES = {
    "yyyy": "%Y",
    "yy": "%y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
}


@dataclass(frozen=True)
class _Attribute:
    """A column as it is declared.

    `levels` are those of a nominal one; dates have a format in the letters of
    strftime, and as it is written.
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    dates: str = "ISO8601"
    written: str = "ISO 8601 (yyyy-MM-dd'T'HH:mm:ss)"


def parse_arff(text: str) -> pd.DataFrame:
    """Return the table of an ARFF file.

    Parameters
    ----------
    text : str
        The whole file. Attributes may be numbers, nominal, strings or dates; rows
        must not be sparse.

    Returns
    -------
    pandas.DataFrame
        Nominal columns are categorical, levels in the order they are declared.

    Raises
    ------
    ValueError
        With the line that cannot be read.

    Examples
    --------
    >>> from patchfold.tables.arff import parse_arff
    >>> parse_arff('''@relation pets
    ... @attribute weight numeric
    ... @attribute kind {cat, dog}
    ... @data
    ... 4.5, cat
    ... ?, dog''')
       weight kind
    0     4.5  cat
    1     NaN  dog
    """
    import pandas as pd

    attributes, rows, lines = _split(text)
    count = len(attributes)
    numbers = {n for n, a in enumerate(attributes) if a.kind == "number"}
    frame = _read_numbers(_comma_separated(rows, lines, count), attributes, numbers)
    for position, attribute in enumerate(attributes):
        if attribute.kind == "number":
            continue
        cells = frame.iloc[:, position]
        if attribute.kind == "date":
            frame[position] = _as_dates(cells, attribute, lines)
        elif attribute.kind == "nominal":
            unknown = cells[cells.notna() & ~cells.isin(list(attribute.levels))]
            if len(unknown):
                raise ValueError(
                    f"line {lines[unknown.index[0]]} has {unknown.iloc[0][:60]!r} in "
                    f"{attribute.name!r}, which is none of its declared levels"
                )
            frame[position] = pd.Categorical(cells, categories=list(attribute.levels))
    frame.columns = pd.Index([attribute.name for attribute in attributes])
    return frame


def _read_numbers(
    text: str, attributes: list[_Attribute], numbers: set[int]
) -> pd.DataFrame:
    """Read the rows, or say which cell is no number."""
    try:
        plain = find_spec("pyarrow") is None
        return (read_plain_rows if plain else read_rows)(text, len(attributes), numbers)
    except ValueError as error:
        told = re.search(r"column #(\d+): .*invalid value '(.*)'", str(error))
        if told is None:
            raise
        name = attributes[int(told[1])].name
        raise ValueError(
            f"there is {told[2][:60]!r} in {name[:60]!r}, which is declared as a number"
        ) from None


def _split(text: str) -> tuple[list[_Attribute], list[str], array[int]]:
    """Return the attributes, the rows, and the numbers of their lines."""
    attributes: list[_Attribute] = []
    # Not splitlines(): to it a line ends at signs that a text may hold.
    lines = enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1)
    for number, line in lines:
        line = line.strip()
        keyword = line[:10].lower()
        if keyword == "@attribute":
            attributes.append(_attribute(line[10:], number))
            if len(attributes) > MAX_COLUMNS:
                raise ValueError(f"it has too many columns; {TOO_WIDE}")
        elif keyword.split()[:1] == ["@data"]:
            break
        elif line and not line.startswith("%") and not keyword.startswith("@relation"):
            raise ValueError(f"line {number} of the header is {line[:60]!r}")
    if not attributes:
        raise ValueError("it has no @attribute before @data")
    rows, numbers = [], array("q")
    for number, line in lines:
        if (row := line.strip()) and row[0] != "%":
            rows.append(row)
            numbers.append(number)
    if rows and rows[0].startswith("{"):
        raise ValueError("its rows are sparse ({position value, ...}); write them out")
    return attributes, rows, numbers


def _attribute(text: str, number: int) -> _Attribute:
    name = _NAME.match(text.lstrip())
    if name is None or name.end() > MAX_NAME:
        raise ValueError(
            f"line {number} declares an attribute without a name, or one of more than "
            f"{MAX_NAME:,} characters"
        )
    called, kind = _plain(name), text.lstrip()[name.end() :].strip()
    word = kind[:10].lower()
    if word.startswith(NUMBERS):
        return _Attribute(called, "number")
    if word.startswith("string"):
        return _Attribute(called, "text")
    if word.startswith("date"):
        return _Attribute(called, "date", (), *_date_format(kind[4:], called, number))
    levels = _levels(kind)
    if levels and len(set(levels)) == len(levels):
        return _Attribute(called, "nominal", tuple(levels))
    raise ValueError(
        f"line {number} declares {called[:60]!r} as {kind[:60]!r}, which is "
        "neither a number, nor text, nor a date, nor a list of different levels"
    )


def _levels(kind: str) -> list[str]:
    """Return the text in braces; empty if they are not closed, or not the last."""
    levels, place, sign = [], 1, "," if kind.startswith("{") else ""
    while sign == ",":
        level = _LEVEL.match(kind, place)
        if level is None:
            return []
        place, sign = level.end(), level[4]
        if level[3] is None or level[3].strip():
            levels.append(_plain(level))
    if len(levels) == 1 and not any(sign in kind[:place] for sign in ",'\""):
        levels = levels[0].split()  # {a b c}: without a comma, blanks stand between
    rest = kind[place:].lstrip()
    return levels if not rest or rest.startswith("%") else []


def _date_format(text: str, name: str, number: int) -> tuple[str, ...]:
    """Turn Java's letters into those of strftime; nothing where none are written."""
    quoted = re.match(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s%]\S*))""", text)
    if quoted is None:
        return ()
    written = next(group for group in quoted.groups() if group is not None)
    pieces = re.split("'([^']*)'", written)  # every other one stands for itself
    letters = re.compile("|".join(_DATES))
    if re.search("[a-zA-Z%']", letters.sub("", "".join(pieces[::2]))):
        raise ValueError(
            f"line {number} declares {name[:60]!r} as date {written[:60]!r}, a format "
            f"that is not known (only {', '.join(_DATES)} are); declare it as string, "
            "and leave it out (--drop)"
        )
    pieces[::2] = [letters.sub(lambda m: _DATES[m[0]], part) for part in pieces[::2]]
    return "".join(pieces), repr(written[:60])


def _as_dates(cells: pd.Series, attribute: _Attribute, lines: array[int]) -> pd.Series:
    """Return a column of dates, or refuse the first cell that is none."""
    import pandas as pd

    dates = pd.to_datetime(cells, format=attribute.dates, errors="coerce")
    wrong = cells[cells.notna() & dates.isna()]
    if len(wrong):
        raise ValueError(
            f"line {lines[wrong.index[0]]} has {wrong.iloc[0][:60]!r} in "
            f"{attribute.name!r}, which is declared as date {attribute.written}; write "
            "'?' if it is missing, or declare the column as string and leave it out "
            "(--drop)"
        )
    return dates


def _comma_separated(rows: list[str], lines: array[int], count: int) -> str:
    """Write rows anew: no blanks around cells, and doubled quotes where they need any.

    Rows whose cells are plain, which are most, stay as they are.
    """
    sign = "\t" if rows and "\t" in rows[0] and "," not in rows[0] else ","
    written = []
    for number, row in zip(lines, rows, strict=True):
        if "'" in row or '"' in row:
            cells = _cells(row, sign)
        elif sign == "\t" or " " in row or "\t" in row:
            cells = [cell.strip() for cell in row.split(sign)]
        else:
            check_length(number, row.count(",") + 1, count)
            written.append(row)
            continue
        check_length(number, len(cells), count)
        written.append(",".join(map(_protected, cells)))
    return "\n".join(written)


def _cells(row: str, sign: str) -> list[str]:
    """Return the cells of a row; one that begins with a quote sign may hold `sign`."""
    cells, place = [], 0
    while True:
        cell = _CELL[sign].match(row, place)
        assert cell is not None  # a cell may be empty
        cells.append(_plain(cell))
        place = cell.end()
        if not cell[4]:
            return cells


def _protected(cell: str) -> str:
    """Put quotes around a cell that pandas would cut, or skip as a blank line."""
    if cell.strip() and "," not in cell and '"' not in cell:
        return cell
    return '"' + cell.replace('"', '""') + '"'


def _plain(match: re.Match[str]) -> str:
    """Return a word without its quotes, or without the blanks around it."""
    if match[1] is not None:
        return _ESCAPED["'"].sub(r"\1\2", match[1])
    if match[2] is not None:
        return _ESCAPED['"'].sub(r"\1\2", match[2])
    return match[3].strip()
