"""The small tables of `tests/tables/corpus`, and what a reader should find in each.

`benchmarks/readers.py` scores readers by them; `tests/tables/test_wild_tables.py` holds
ours to them. `expected.json` has the kind and the cells of every column, and in
`options` what the user says of a file where it cannot be known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parents[1] / "tables" / "corpus"


@dataclass(frozen=True)
class Wild:
    """One file.

    Attributes
    ----------
    path : Path
        Where it is; its ending says what it is.
    columns : mapping of str to (kind, cells)
        What is to be found: "number", "date", "flag" (truth values) or "words", and
        the cells, None where one is missing. Cells of a kind that ends in "repeated"
        are pairs (count, cell).
    options : mapping of str to str
        Arguments of `read_table`.
    """

    path: Path
    columns: Mapping[str, tuple[str, list[Any]]]
    options: Mapping[str, str]


def wild_tables() -> dict[str, Wild]:
    """Return the files by name."""
    said = json.loads((CORPUS / "expected.json").read_text("utf-8"))
    return {
        name: Wild(CORPUS / name, facts["columns"], facts.get("options", {}))
        for name, facts in said.items()
    }


def differs(frame: Any, columns: Mapping[str, tuple[str, list[Any]]]) -> str:
    """Say how a data frame differs from what a file holds; nothing if it does not."""
    if not _same_names(list(map(str, frame.columns)), list(columns)):
        return f"columns {list(frame.columns)}, not {list(columns)}"
    for place, (name, (kind, cells)) in enumerate(columns.items()):
        column = frame.iloc[:, place]
        if kind.endswith(" repeated"):
            kind = kind.removesuffix(" repeated")
            cells = [cell for count, cell in cells for _ in range(count)]
        if len(column) != len(cells):
            return f"{len(column)} rows, not {len(cells)}"
        if kind_of(column) != kind:
            return f"{name}: {column.dtype}, no {kind}"
        found = _plain(column, kind)
        if not all(map(_equal, found, cells)):
            return f"{name}: {found[:5]}, not {cells[:5]}"
    return ""


def _same_names(found: list[str], wanted: list[str]) -> bool:
    """Compare names; where a file gives none, any will do."""
    return len(found) == len(wanted) and all(
        name == other or other.startswith(("Unnamed: ", "column_"))
        for name, other in zip(found, wanted, strict=True)
    )


def kind_of(column: Any) -> str:
    """Return the kind of a column of pandas."""
    from pandas.api import types

    if types.is_bool_dtype(column.dtype):
        return "flag"
    if types.is_datetime64_any_dtype(column.dtype):
        return "date"
    return "number" if types.is_numeric_dtype(column.dtype) else "words"


def _plain(column: Any, kind: str) -> list[Any]:
    import pandas as pd

    if kind == "date" and column.dt.tz is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return [None if pd.isna(cell) else cell for cell in column.astype(object)]


def _equal(found: Any, wanted: Any) -> bool:
    import pandas as pd

    if found is None or wanted is None:
        return found is wanted
    if isinstance(found, pd.Timestamp):
        return bool(found == pd.Timestamp(wanted))
    if isinstance(wanted, str | bool):
        return bool(found == wanted)
    return abs(float(found) - wanted) <= 1e-12 * abs(wanted)
