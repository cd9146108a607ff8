"""Lines of a text file around and between the rows that are no samples.

Units below the header, headers that come again, and what stands below the table:
comments, notes and sums. Each is left out, and told.
"""

from __future__ import annotations

import csv
import re
from dataclasses import replace

from .delimited import ABSENT
from .dialect import (
    UNNAMED,
    Dialect,
    begins_as_number,
    number_columns,
    stands_above_numbers,
)
from .interpretation import AMONG_NUMBERS

LAST_BYTES = 2**13
"""The end of a file, in which notes and sums are looked for."""

SUMS = {
    *("total", "totals", "grand total", "subtotal", "sum", "average", "mean"),
    *("gesamt", "summe", "insgesamt", "total general", "somme", "totale", "totaal"),
}
"""Words in a last row that is no sample, in lower case."""

_RULE = re.compile(r"[-=+:\s]*[-=]{2}[-=+:\s]*")


def cut_margins(raw: bytes, dialect: Dialect) -> tuple[bytes, Dialect]:
    r"""Leave out lines that are no samples.

    Parameters
    ----------
    raw : bytes
        The text, in UTF-8.
    dialect : Dialect
        How it is written.

    Returns
    -------
    raw : bytes
        The text without them.
    dialect : Dialect
        The same, and in its notes what was left out.

    Examples
    --------
    >>> from patchfold.tables.dialect import find_dialect
    >>> from patchfold.tables.margins import cut_margins
    >>> raw = b"t,p\ns,kPa\n1,101\n2,102\n\nMeasured in May\n"
    >>> raw, dialect = cut_margins(raw, find_dialect(raw))
    >>> raw[dialect.start :].split(), len(dialect.notes)
    ([b'1,101', b'2,102'], 2)
    """
    if len(dialect.names) < 2 or not dialect.rows:
        return raw, dialect
    raw, dialect = _without_headers(raw, dialect)
    return _without_end(raw, _below_header(raw, dialect))


def _cells(line: str, dialect: Dialect) -> list[str]:
    """Return the cells of a line, without blanks around them."""
    read = csv.reader([line], delimiter=dialect.separator, quotechar=dialect.quote)
    return [cell.strip() for cell in next(read, [])]


def _without_headers(raw: bytes, dialect: Dialect) -> tuple[bytes, Dialect]:
    """Leave out headers that come again, as in files that were joined."""
    start = dialect.start
    line = raw[raw.rfind(b"\n", 0, start - 1) + 1 : start]
    words = _cells(line.decode("utf-8"), dialect)
    again = raw.count(b"\n" + line, start - 1)
    if not again or words != dialect.names:
        return raw, dialect
    rows = [row for row in dialect.rows if [c.strip() for c in row] != words]
    if not stands_above_numbers(words, rows):
        return raw, dialect
    below = raw[start - 1 :].replace(b"\n" + line, b"\n\n")
    many = f"{again:,} lines" if again > 1 else "a line"
    said = f"the header stands again below: {many} skipped"
    notes = [*dialect.notes, said]
    return raw[: start - 1] + below, replace(dialect, rows=rows, notes=notes)


def _below_header(raw: bytes, dialect: Dialect) -> Dialect:
    """Leave out a line of units or dashes; of names, where the header lacks some."""
    first, *rows = dialect.rows
    cells = [cell.strip() for cell in first]
    names, said = dialect.names, "a line below the header was skipped"
    if not any(cells) or not all(map(_RULE.fullmatch, filter(None, cells))):
        if len(cells) != len(names) or not _tells_units(cells, rows):
            return dialect
        upper = ["" if name.startswith(UNNAMED) else name for name in names]
        if len(set(upper)) < len(upper):
            names, said = _joined(upper, cells), "it has two lines of names"
    start = dialect.start
    while not raw[start : raw.find(b"\n", start)].strip():
        start = raw.find(b"\n", start) + 1
    stop = raw.find(b"\n", start) + 1
    line = raw[start:stop].decode("utf-8").strip()
    return replace(
        dialect,
        names=names,
        start=stop,
        above=dialect.above + raw.count(b"\n", dialect.start, stop),
        rows=rows,
        notes=[*dialect.notes, f"{said}: {line[:60]!r}"],
    )


def _tells_units(cells: list[str], rows: list[list[str]]) -> bool:
    """Say whether the first row has words above two columns of numbers or more.

    Not where they are words for missing cells, or others of its words come again.
    """
    rows = [row for row in rows if len(row) == len(cells)]
    if len(rows) < 2 or any(map(begins_as_number, cells)):
        return False
    numbers = number_columns(rows, ABSENT)
    units = [c for place, c in enumerate(cells) if c and place in numbers]
    if len(units) < 2 or any(c in ABSENT or c.lower() in AMONG_NUMBERS for c in units):
        return False
    columns = list(zip(*rows, strict=False))
    others = [p for p in range(min(len(cells), len(columns))) if p not in numbers]
    return not any(cells[p] and cells[p] in map(str.strip, columns[p]) for p in others)


def _joined(upper: list[str], lower: list[str]) -> list[str]:
    """Join two lines of names; a name above stands for the blanks behind it."""
    names, last = [], ""
    for place, (above, below) in enumerate(zip(upper, lower, strict=True)):
        last = above or last
        names.append(f"{last} {below}".strip() or f"{UNNAMED}{place}")
    return names


def _without_end(raw: bytes, dialect: Dialect) -> tuple[bytes, Dialect]:
    """Leave out comments, notes below a blank line or in parentheses, and a sum."""
    start = max(dialect.start, len(raw) - LAST_BYTES)
    start = start if start == dialect.start else raw.find(b"\n", start) + 1
    if not start:
        return raw, dialect
    lines = raw[start:].decode("utf-8").splitlines(keepends=True)
    stop = _end_of_rows(lines, dialect)
    below = [line.strip() for line in lines[stop:] if line.strip()]
    notes = list(dialect.notes)
    if below:
        many = f"{len(below)} lines" if len(below) > 1 else "a line"
        was = "were" if len(below) > 1 else "was"
        notes.append(f"{many} below the table {was} skipped: {below[0][:60]!r}")
    while stop and not lines[stop - 1].strip():
        stop -= 1
    if stop and _is_sum(lines[stop - 1], raw, dialect):
        stop -= 1
        line = lines[stop].strip()
        notes.append(f"the last row was skipped, which is a sum: {line[:60]!r}")
    if len(notes) == len(dialect.notes):
        return raw, dialect
    kept = sum(len(line.encode("utf-8")) for line in lines[:stop])
    rows = dialect.rows
    if start == dialect.start:
        rows = rows[: sum(bool(line.strip()) for line in lines[:stop])]
    return raw[: start + kept], replace(dialect, rows=rows, notes=notes)


def _end_of_rows(lines: list[str], dialect: Dialect) -> int:
    """Return the first of the lines that stand below the rows."""
    stop = len(lines)
    for place in reversed(range(len(lines))):
        line = lines[place].strip()
        count = line.count(dialect.separator)
        if dialect.quote in line:
            break
        is_comment = line.startswith("#") and count != len(dialect.names) - 1
        if is_comment or not line or (line[0] == "(" and line[-1] == ")" and not count):
            stop = place
        elif count or dialect.separator == " " or begins_as_number(line):
            break
    return stop


def _is_sum(line: str, raw: bytes, dialect: Dialect) -> bool:
    """Say whether a row begins with a word such as total, which is in no other row."""
    cells = _cells(line, dialect)
    words = [cell for cell in cells if cell.rstrip(" :").lower() in SUMS]
    return (
        len(words) == 1
        and len(cells) == len(dialect.names)
        and any(map(begins_as_number, cells))
        and raw.count(words[0].encode("utf-8"), dialect.start) == 1
    )
