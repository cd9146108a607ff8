"""A table -> the files that the page of `view` reads: one or two for every column.

A column is numbers (float64, NaN where missing) or words (a code for each row, -1 where
missing, and the list of words). Whole numbers of few values are classes more often than
amounts, and whole numbers that a float64 cannot hold would change: both are words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.files import write_bytes
from ..tables.numbers import as_number

if TYPE_CHECKING:
    import pandas as pd

    from ..records import Neighborhoods

CLASSES = 12
"""Whole numbers of at most this many values are shown as classes."""

LARGEST = 2**53
"""Largest whole number up to which a float64 holds every one."""


def write_files(
    frame: pd.DataFrame,
    coordinates: list[str],
    neighbors: Neighborhoods,
    *,
    title: str,
    folder: Path,
) -> dict[str, Path]:
    """Write what the page asks for.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per sample.
    coordinates : list of str
        Columns to draw.
    neighbors : Neighborhoods
        Nearest samples of every sample.
    title : str
        What the page is called.
    folder : Path
        An existing folder, where the files are written.

    Returns
    -------
    dict of str to Path
        By the paths that the page asks for.
    """
    files: dict[str, Path] = {}

    def write(name: str, content: bytes | np.ndarray) -> str:
        path = folder / name
        data = content if isinstance(content, bytes) else content.tobytes()
        write_bytes(path, data)
        files[f"data/{name}"] = path
        return f"data/{name}"

    drawn = [as_number(frame[name], name).to_numpy("<f8") for name in coordinates]
    near = neighbors.indices.astype("<i4"), neighbors.distances.astype("<f8")
    about = {
        "title": title,
        "rows": len(frame),
        "coordinates": [write(f"xy{k}", part) for k, part in enumerate(drawn)],
        "neighbors": {
            "count": neighbors.indices.shape[1],
            "rows": write("near", near[0]),
            "distances": write("far", near[1]),
        },
        "columns": [
            {
                "name": str(name),
                "kind": "numbers" if words is None else "words",
                "values": write(f"column{place}", values),
                **({"words": write(f"words{place}", words)} if words else {}),
            }
            for place, (name, values, words) in enumerate(_columns(frame))
        ],
    }
    write("table.json", json.dumps(about).encode())
    return files


def _columns(frame: pd.DataFrame) -> Iterator[tuple[Any, np.ndarray, bytes | None]]:
    """Give every column: its name, its numbers or codes, and its words as JSON."""
    for name, column in frame.items():
        if _is_amount(column):
            yield name, column.to_numpy("<f8", na_value=np.nan), None
        else:
            codes, words = _as_words(column)
            yield name, codes, json.dumps(words).encode()


def _is_amount(column: pd.Series) -> bool:
    """Say whether a column is numbers that mean more or less of something."""
    from pandas.api import types

    if types.is_bool_dtype(column) or not types.is_numeric_dtype(column):
        return False
    if types.is_complex_dtype(column):
        return False
    if not types.is_integer_dtype(column):
        return True
    known = column.dropna()
    if not len(known) or max(abs(int(known.min())), abs(int(known.max()))) > LARGEST:
        return False
    return known.nunique() > CLASSES


def _as_words(column: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Return the code of every cell, and the words in order."""
    import pandas as pd
    from pandas.api.types import is_integer_dtype

    if not is_integer_dtype(column):
        column = column.astype(str).astype(object).where(column.notna(), None)
    codes, found = pd.factorize(column, sort=True)
    return codes.astype("<i4"), [str(word) for word in found]
