"""ARFF text -> a data frame: the header by hand, the rows as comma-separated ones.

Not SciPy's reader: its patterns take time that grows with the square of a line's
length, it makes every cell of a column as wide as the longest level, and it knows
neither text nor levels beyond ASCII.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .delimited import MAX_COLUMNS, MAX_NAME, TOO_WIDE, Layout, read_rows

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = ("numeric", "real", "integer")
WORDS = ("string", "date")
_WORD = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,{}'"]+)""")
_ESCAPED = re.compile(r"\\(.)")


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
    >>> from patchfold.tabular.arff import parse_arff
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

    attributes, rows = _split(text)
    frame = read_rows(
        "\n".join(rows),
        Layout(
            len(attributes),
            quote="'" if any("'" in row for row in rows) else '"',
            numbers=tuple(n for n, (_, kind) in enumerate(attributes) if kind == []),
        ),
    )
    for position, (name, levels) in enumerate(attributes):
        if not levels:
            continue
        cells = frame.iloc[:, position]
        unknown = cells[cells.notna() & ~cells.isin(levels)]
        if len(unknown):
            raise ValueError(
                f"row {unknown.index[0] + 1} has {unknown.iloc[0][:60]!r} in {name!r}, "
                "which is none of its declared levels"
            )
        frame[frame.columns[position]] = pd.Categorical(cells, categories=levels)
    frame.columns = pd.Index([name for name, _ in attributes])
    return frame


def _split(text: str) -> tuple[list[tuple[str, list[str] | None]], list[str]]:
    """Return name and levels of every attribute, and the rows.

    The levels of a number are [], those of text None.
    """
    attributes: list[tuple[str, list[str] | None]] = []
    # Not splitlines(): to it a line ends at signs that a text may hold.
    lines = iter(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    for number, line in enumerate(lines, start=1):
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
    rows = [row for line in lines if (row := line.strip()) and row[0] != "%"]
    if rows and rows[0].startswith("{"):
        raise ValueError("its rows are sparse ({position value, ...}); write them out")
    return attributes, rows


def _attribute(text: str, number: int) -> tuple[str, list[str] | None]:
    name = _WORD.match(text.lstrip())
    if name is None or name.end() > MAX_NAME:
        raise ValueError(
            f"line {number} declares an attribute without a name, or one of more than "
            f"{MAX_NAME:,} characters"
        )
    kind = text.lstrip()[name.end() :].strip()
    word = kind.split(None, 1)[0].lower() if kind else ""
    if word in NUMBERS:
        return _plain(name), []
    if word in WORDS:
        return _plain(name), None
    if kind.startswith("{") and kind.endswith("}"):
        levels = [_plain(level) for level in _WORD.finditer(kind[1:-1])]
        if levels and len(set(levels)) == len(levels):
            return _plain(name), levels
    raise ValueError(
        f"line {number} declares {_plain(name)[:60]!r} as {kind[:60]!r}, which is "
        "neither a number, nor text, nor a list of different levels"
    )


def _plain(match: re.Match[str]) -> str:
    """Return a word without its quotes."""
    quoted = match[1] if match[1] is not None else match[2]
    return match[3] if quoted is None else _ESCAPED.sub(r"\1", quoted)
