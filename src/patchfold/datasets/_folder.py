"""Datasets from a folder of CSV files, with or without an index and level orders.

NAME.csv.gz or NAME.csv: a header, one row per sample, the last column called `target`.
Optional beside them: `categories.json` ({name: {column: [levels in order]}}) and
`index.csv` (columns name, n_samples, n_features, n_classes, categorical_columns; more
are allowed). Only the standard library and NumPy are needed to read them.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.files import read_bytes
from ._record import Dataset, as_number, order_levels
from ._registry import is_name

SUFFIXES = (".csv.gz", ".csv")
_ABSENT_NUMBERS = {"?", "na", "nan"}
_UNREADABLE = (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error)
_LONGEST_HEADER = 2**20


def names_in(folder: Path) -> list[str]:
    """Return the names of the CSV files in `folder` that are not the index."""
    names = {
        path.name.removesuffix(suffix)
        for path in folder.iterdir()
        for suffix in SUFFIXES
        if path.name.endswith(suffix)
    }
    return sorted(
        name
        for name in names - {"index"}
        if is_name(name) and (path := find_file(folder, name)) and _ends_in_target(path)
    )


def find_file(folder: Path, name: str) -> Path | None:
    """Return the file of `name` in `folder`: NAME.csv.gz before NAME.csv, or None."""
    for suffix in SUFFIXES:
        path = folder / f"{name}{suffix}"
        if path.is_file():
            return path
    return None


def read(folder: Path, name: str) -> Dataset | None:
    """Return the dataset `name` of `folder`, or None if it has no such file.

    A column listed in `categories.json` or in the index is categorical. For a set that
    is in the index every other column must be numeric; without an index row a column
    is numeric if all its cells are, and a categorical one otherwise. Empty cells are
    missing; in a numeric column so are "?", "NA" and "NaN".
    """
    path = find_file(folder, name)
    if path is None:
        return None
    header, rows = _read_table(path)
    index = _index_row(folder, name)
    levels = _levels(folder, name)
    unknown = sorted(set(levels) - set(header))
    if unknown:
        raise ValueError(f"categories.json: {name} has no column {unknown[0]!r}.")
    listed = set((index or {}).get("categorical_columns", "").split(";")) | set(levels)

    columns = list(zip(*rows, strict=True))
    data = np.empty((len(rows), len(header) - 1))
    used: dict[str, tuple[str, ...]] = {}
    for j, column in enumerate(header[:-1]):
        numbers = None if column in listed else _numbers(columns[j])
        if numbers is None:
            if index is not None and column not in listed:
                _refuse_text(path, column, columns[j])
            used[column] = levels.get(column) or order_levels(_present(columns[j]))
            numbers = _codes(path, column, columns[j], used[column])
        data[:, j] = numbers
    classes = levels.get("target") or order_levels(_present(columns[-1]))
    target = _codes(path, "target", columns[-1], classes)
    dataset = Dataset(
        name=name,
        data=data,
        target=np.nan_to_num(target, nan=-1.0).astype(np.int64),
        feature_names=tuple(header[:-1]),
        target_names=classes,
        categorical=np.array([column in used for column in header[:-1]]),
        source="folder",
        description=_describe(path, index),
        levels=used,
    )
    if index is not None:
        _check_counts(dataset, index, path)
    return dataset


def _ends_in_target(path: Path) -> bool:
    try:
        opener: Any = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8-sig", newline="") as lines:
            header: list[str] = next(csv.reader([lines.readline(_LONGEST_HEADER)]), [])
    except _UNREADABLE:
        return True  # let load() say what is wrong with it
    return bool(header) and header[-1] == "target"


def _read_table(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        text = read_bytes(path).decode("utf-8-sig")
        table = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    except (*_UNREADABLE, ValueError) as error:
        raise ValueError(f"{path} cannot be read as CSV: {error}") from error
    if len(table) < 2:
        raise ValueError(f"{path} needs a header and at least one row.")
    header, *rows = table
    if header[-1] != "target" or len(header) < 2:
        raise ValueError(
            f"{path} needs at least one feature and a last column named 'target'; "
            f"its last column is named {header[-1]!r}."
        )
    if len(set(header)) < len(header):
        twice = next(column for column in header if header.count(column) > 1)
        raise ValueError(f"{path} has more than one column named {twice!r}.")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise ValueError(
                f"{path}: row {number} has {len(row)} cells, the header {len(header)}."
            )
    return header, rows


def _is_absent(cell: str) -> bool:
    return not cell or cell.isspace()


def _present(cells: Iterable[str]) -> list[str]:
    return [cell for cell in set(cells) if not _is_absent(cell)]


def _numbers(cells: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the cells as numbers, NaN where missing, or None if one is no number."""
    values = [
        np.nan
        if _is_absent(cell) or cell.strip().lower() in _ABSENT_NUMBERS
        else as_number(cell)
        for cell in cells
    ]
    return None if None in values else np.array(values, dtype=float)


def _refuse_text(path: Path, column: str, cells: Sequence[str]) -> None:
    for number, cell in enumerate(cells, start=1):
        if _numbers([cell]) is None:
            raise ValueError(
                f"{path}: row {number} of column {column!r} holds {cell!r}, which is "
                "no number, and index.csv does not list the column as categorical."
            )


def _codes(
    path: Path, column: str, cells: Sequence[str], levels: tuple[str, ...]
) -> NDArray[np.float64]:
    code = {level: float(position) for position, level in enumerate(levels)}
    out = np.empty(len(cells))
    for i, cell in enumerate(cells):
        if cell in code:
            out[i] = code[cell]
        elif _is_absent(cell):
            out[i] = np.nan
        else:
            raise ValueError(
                f"{path}: row {i + 1} of column {column!r} holds {cell!r}, which is "
                f"not among its levels in categories.json: {', '.join(levels)}."
            )
    return out


def _index_row(folder: Path, name: str) -> dict[str, str] | None:
    path = folder / "index.csv"
    if not path.is_file():
        return None
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except _UNREADABLE as error:
        raise ValueError(f"{path} cannot be read as CSV: {error}") from error
    return next((_texts(row) for row in rows if row.get("name") == name), None)


def _texts(row: dict[Any, Any]) -> dict[str, str]:
    return {key: value for key, value in row.items() if isinstance(value, str)}


def _levels(folder: Path, name: str) -> dict[str, tuple[str, ...]]:
    path = folder / "categories.json"
    if not path.is_file():
        return {}
    try:
        columns = json.loads(path.read_text(encoding="utf-8-sig")).get(name, {})
        return {column: tuple(map(str, order)) for column, order in columns.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise ValueError(
            f"{path} must map names to columns to lists of levels: {error}"
        ) from error


def _check_counts(dataset: Dataset, index: dict[str, str], path: Path) -> None:
    found = {
        "n_samples": dataset.data.shape[0],
        "n_features": dataset.data.shape[1],
        "n_classes": len(np.unique(dataset.target[dataset.target >= 0])),
    }
    for column, count in found.items():
        if index.get(column, "") not in ("", str(count)):
            raise ValueError(
                f"{path} has {column} = {count}, but index.csv beside it says "
                f"{index[column]}: the file or its row in the index is wrong."
            )


def _describe(path: Path, index: dict[str, str] | None) -> str:
    parts = [f"Read from {path.name}."]
    if index is not None:
        if index.get("source"):
            parts.append(f"Original source: {index['source']}.")
        if index.get("fidelity"):
            parts.append(f"Fidelity: {index['fidelity']}.")
        if index.get("notes"):
            parts.append(f"Notes: {index['notes']}")
    return " ".join(parts)
