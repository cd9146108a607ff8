"""Text with a separator -> a data frame, where PyArrow is not installed.

`patchfold view` needs no more: PyArrow would be a third of its environment. The columns
are those that `delimited` finds, in several times its time.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from .delimited import ABSENT, MISSING, check_length, find_texts
from .dialect import UNNAMED, Dialect

if TYPE_CHECKING:
    import pandas as pd

_WHOLE = re.compile(r" *-?\d{1,18} *", re.ASCII)
_FLOAT = {
    mark: re.compile(
        rf" *-?((\d+{sign}?\d*|{sign}\d+)(e[-+]?\d+)?|inf(inity)?) *",
        re.ASCII | re.IGNORECASE,
    )
    for mark, sign in ((".", r"\."), (",", ","))
}
"""Numbers by their decimal mark."""

_ABSENT = frozenset(ABSENT)


def read_plain(raw: bytes, dialect: Dialect) -> pd.DataFrame:
    r"""Return the rows of a text file.

    Parameters
    ----------
    raw : bytes
        The file, in UTF-8.
    dialect : Dialect
        How it is written.

    Returns
    -------
    pandas.DataFrame
        Numbers, and text as objects. Columns without name and cells are left out.

    Raises
    ------
    ValueError
        If a row has more or fewer cells than there are columns.

    Examples
    --------
    >>> from patchfold.tables.dialect import find_dialect
    >>> from patchfold.tables.plain_rows import read_plain
    >>> raw = b"size;hue\n1,5;red\nNA;blue\n"
    >>> read_plain(raw, find_dialect(raw))
       size   hue
    0   1.5   red
    1   NaN  blue
    """
    import pandas as pd

    texts = find_texts(dialect)
    mark = "," if dialect.decimal == "," != dialect.separator else "."
    columns, names = [], []
    for place, cells in enumerate(_split(raw, dialect)):
        held = [None if cell in _ABSENT else cell for cell in cells]
        if dialect.names[place].startswith(UNNAMED) and not any(
            cell is not None for cell in held
        ):
            continue  # separators at the ends of lines
        names.append(dialect.names[place])
        columns.append(
            pd.Series(held, dtype=object)
            if place in texts
            else pd.Series(_as_numbers(held, mark))
        )
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    return frame.set_axis(names, axis=1)


def read_plain_rows(
    text: str, n_columns: int, numbers: Collection[int]
) -> pd.DataFrame:
    """Return rows without a header; the arguments are those of `read_rows`."""
    import pandas as pd

    names = [str(place) for place in range(n_columns)]
    dialect = Dialect(",", '"', names, 0, 0, [], None, [])
    columns = {}
    for place, cells in enumerate(_split(text.encode("utf-8"), dialect)):
        held = [None if cell == MISSING else cell for cell in cells]
        columns[place] = pd.Series(held, dtype=object)
        if place in numbers:
            known = _as_numbers(held, ".")
            if known.dtype == object:
                there = [cell for cell in held if cell is not None]
                wrong = next(c for c in there if not _FLOAT["."].fullmatch(c))
                raise ValueError(f"column #{place}: invalid value '{wrong}'")
            columns[place] = pd.Series(known, dtype=np.float64)
    return pd.DataFrame(columns, columns=range(n_columns))


def _split(raw: bytes, dialect: Dialect) -> list[tuple[str, ...]]:
    """Cut the rows into cells, and return these by columns."""
    count, rows = len(dialect.names), []
    text = io.StringIO(raw[dialect.start :].decode("utf-8"), newline="")
    read = csv.reader(text, delimiter=dialect.separator, quotechar=dialect.quote)
    for cells in read:
        if len(cells) != count:
            if not "".join(cells).strip():
                continue
            check_length(dialect.above + read.line_num, len(cells), count)
        rows.append(cells)
    return list(zip(*rows, strict=True)) or [()] * count


def _as_numbers(cells: list[str | None], mark: str) -> np.ndarray:
    """Return cells as whole numbers or floats, if all that are there are such."""
    there = [cell for cell in cells if cell is not None]
    if there and len(there) == len(cells) and all(map(_WHOLE.fullmatch, there)):
        return np.array(there, dtype=object).astype(np.int64)
    if not all(map(_FLOAT[mark].fullmatch, there)):
        return np.array(cells, dtype=object)
    return np.array(
        [np.nan if cell is None else float(cell.replace(",", ".")) for cell in cells]
    )
