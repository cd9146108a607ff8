"""A Parquet file, or a folder of them -> a data frame, whole or block by block."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..backends.backend import require_memory
from ..backends.files import check_growth
from .arrow import text_columns, to_frame
from .dialect import MAX_COLUMNS, MAX_NAME, TOO_WIDE
from .naming import LONGEST_WORD, listed

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

BYTES_PER_CELL = 8
"""What a number takes in memory."""

REMEDY = "Cut it into parts, or give arrays to the estimators in Python."

MAX_FILES = 10_000
"""Files and folders in a folder of Parquet files."""


@dataclass(frozen=True)
class Contents:
    """What Parquet files say of themselves.

    Attributes
    ----------
    files : list of Path
        In the order in which their rows follow each other.
    groups : list of list of int
        Rows of each row group of each file.
    schema : pyarrow.Schema
        Columns of every file.
    words : list of str
        Columns of text.
    nested : dict of str to str
        Columns of lists or records, and their types.
    """

    files: list[Path]
    groups: list[list[int]]
    schema: Any
    words: list[str]
    nested: dict[str, str] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return sum(map(sum, self.groups))


@dataclass(frozen=True)
class Run:
    """Consecutive rows of one row group of a file: from `start`, before `stop`."""

    file: str
    group: int
    start: int
    stop: int


def look_at(path: Path) -> Contents:
    """Read what Parquet files say of themselves, and refuse what they cannot hold."""
    pq = _pyarrow()
    files, groups, schemas, size, grown = _files(path), [], [], 0, 0
    for file in files:
        about = pq.read_metadata(file)
        parts = [about.row_group(g) for g in range(about.num_row_groups)]
        schemas.append(about.schema.to_arrow_schema())
        groups.append([part.num_rows for part in parts])
        if min(groups[-1], default=0) < 0 or sum(groups[-1]) != about.num_rows:
            raise ValueError(
                f"it says that it has {about.num_rows} rows, and its parts "
                f"{sum(groups[-1])}: it is damaged"
            )
        size += file.stat().st_size
        grown += sum(max(part.total_byte_size, 0) for part in parts)
    words, nested = _check_columns(schemas)
    contents = Contents(files, groups, schemas[0], words, nested)
    width = max(sum(map(_width, schema.types)) for schema in schemas)
    check_growth(size, grown + contents.n_rows * width, "write it as CSV")
    return contents


def read_parquet(path: Path) -> tuple[pd.DataFrame, list[str], dict[str, str]]:
    """Read a file, or a folder that is partitioned by values of columns.

    Returns
    -------
    frame : pandas.DataFrame
    words : list of str
        Columns of text, which are categorical.
    nested : dict of str to str
        Columns of lists or records, which have no cells, and their types.
    """
    contents = look_at(path)
    cells = contents.n_rows * len(contents.schema)
    require_memory(BYTES_PER_CELL * cells, f"a table of {cells:,} cells", REMEDY)
    # As dictionaries, or a long text that stands in every row would be copied to each.
    held = _pyarrow().ParquetDataset(path, read_dictionary=contents.words)
    names = held.schema.names
    flat = [name for name in names if name not in contents.nested]
    if not flat:
        raise ValueError(_told(contents.nested))
    table = held.read(
        columns=flat if contents.nested else None, use_pandas_metadata=True
    )
    frame = _with_empty(to_frame(table), names, contents.nested)
    return frame, contents.words, contents.nested


def read_feather(path: Path) -> tuple[pd.DataFrame, list[str], dict[str, str]]:
    """Read a Feather file; returns as `read_parquet` does."""
    _pyarrow()
    import pyarrow as pa

    if path.exists() and not path.is_file():
        raise ValueError("it is not a file")
    batches, size, grown = [], path.stat().st_size, 0
    with pa.memory_map(str(path)) as mapped, pa.ipc.open_file(mapped) as file:
        _, nested = _check_columns([file.schema])
        for number in range(file.num_record_batches):
            batches.append(file.get_batch(number))
            grown += batches[-1].nbytes
            check_growth(size, grown, "write it as CSV")
            batches[-1].validate(full=True)
        table = pa.Table.from_batches(batches, file.schema)
    flat = table.drop_columns(list(nested)) if nested else table
    if not flat.num_columns:
        raise ValueError(_told(nested))
    frame = _with_empty(to_frame(flat), table.column_names, nested)
    return frame, text_columns(table.schema), nested


def _with_empty(
    frame: pd.DataFrame, names: list[str], nested: Collection[str]
) -> pd.DataFrame:
    """Add the nested columns, without cells, in their places; an index is no column."""
    if not nested:
        return frame
    return frame.reindex(columns=[n for n in names if n in nested or n in frame])


def cut_rows(contents: Contents, length: int) -> list[list[Run]]:
    """Cut all rows into parts of `length`, the last one of what is left.

    Parameters
    ----------
    contents : Contents
        What there is.
    length : int
        Rows of a part, 1 or more.

    Returns
    -------
    list of list of Run
        The parts, in order; each a few runs of rows that follow each other.

    Examples
    --------
    >>> two = Contents([Path("a"), Path("b")], [[3], [2]], None, [])
    >>> [[(run.file, run.start, run.stop) for run in part] for part in cut_rows(two, 4)]
    [[('a', 0, 3), ('b', 0, 1)], [('b', 1, 2)]]
    """
    parts: list[list[Run]] = []
    room = 0
    for file, groups in zip(contents.files, contents.groups, strict=True):
        for group, n_rows in enumerate(groups):
            start = 0
            while start < n_rows:
                if not room:
                    parts.append([])
                    room = length
                stop = min(n_rows, start + room)
                parts[-1].append(Run(str(file), group, start, stop))
                room -= stop - start
                start = stop
    return parts


def read_runs(
    runs: Sequence[Run], columns: list[str], words: list[str], length: int
) -> Iterator[pa.Table]:
    """Read some columns of runs of rows, in tables of `length` rows.

    No more than such a table is held, and of a row group a page of each column.

    Parameters
    ----------
    runs : sequence of Run
        Which rows.
    columns, words : list of str
        Which columns; which of all columns hold text.
    length : int
        Rows of a table; the last has what is left.

    Yields
    ------
    pyarrow.Table
        Text as dictionaries.
    """
    import pyarrow as pa

    waiting: list[Any] = []
    room = length
    for batch in itertools.chain.from_iterable(
        _read_run(run, columns, words, length) for run in runs
    ):
        while batch.num_rows:
            waiting.append(batch.slice(0, room))
            room -= waiting[-1].num_rows
            batch = batch.slice(waiting[-1].num_rows)
            if not room:
                yield pa.Table.from_batches(waiting)
                waiting, room = [], length
    if waiting:
        yield pa.Table.from_batches(waiting)


def _read_run(
    run: Run, columns: list[str], words: list[str], length: int
) -> Iterator[Any]:
    """Read one run. What stands before it in its row group is read and passed by."""
    seen = 0
    with _pyarrow().ParquetFile(run.file, read_dictionary=words) as file:
        for batch in file.iter_batches(
            length, row_groups=[run.group], columns=columns, use_threads=False
        ):
            first, last = run.start - seen, run.stop - seen
            seen += batch.num_rows
            if last <= 0:
                return
            if first < batch.num_rows:
                first = max(first, 0)
                yield batch.slice(first, last - first)


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise ValueError(
            "Parquet and Feather need pyarrow: pip install pyarrow"
        ) from None
    return pq


def _files(path: Path) -> list[Path]:
    """Return a file, or those of a folder that is partitioned by values of columns."""
    if not path.is_dir():
        if path.exists() and not path.is_file():
            raise ValueError("it is not a file")
        return [path]
    found = list(itertools.islice(path.rglob("*"), MAX_FILES + 1))
    if len(found) > MAX_FILES:
        raise ValueError(f"the folder holds more than {MAX_FILES:,} files and folders")
    if any(f.is_symlink() or not (f.is_file() or f.is_dir()) for f in found):
        raise ValueError("the folder holds links, pipes or devices, not only files")
    files = [
        file
        for file in sorted(found)
        if file.is_file()
        # What begins so is about the table, and pyarrow skips it.
        and not any(part[0] in "._" for part in file.relative_to(path).parts)
    ]
    if not files:
        raise ValueError("the folder holds no Parquet files")
    return files


def _width(kind: Any) -> int:
    """Return the bytes that a cell of an Arrow type takes."""
    from pyarrow import types

    if types.is_integer(kind) or types.is_floating(kind):
        return int(kind.bit_width) // 8
    return 1 if types.is_boolean(kind) else BYTES_PER_CELL


def _check_columns(schemas: list[Any]) -> tuple[list[str], dict[str, str]]:
    """Check that it is a table of samples; return columns of text, and nested ones."""
    from pyarrow import types

    schema = schemas[0]
    if len(schema) > MAX_COLUMNS:
        raise ValueError(f"it has {len(schema):,} columns, and {TOO_WIDE}")
    if any(len(name) > MAX_NAME for name in schema.names):
        raise ValueError(f"the name of a column has more than {MAX_NAME:,} characters")
    # pyarrow would call missing what a file lacks of the first one's columns.
    if any(other.names != schema.names for other in schemas):
        raise ValueError("the files in the folder have different columns")
    nested = {f.name: _shown(f.type) for f in schema if types.is_nested(f.type)}
    kinds = (types.is_string, types.is_large_string, types.is_binary)
    words = [f.name for f in schema if any(is_kind(f.type) for is_kind in kinds)]
    return words, nested


def _shown(kind: Any) -> str:
    """Return the name of a nested type, cut if it is long."""
    name = str(kind)
    return name if len(name) <= LONGEST_WORD else f"{name[:LONGEST_WORD]}..."


def _told(nested: Mapping[str, str]) -> str:
    held = listed([f"column {name!r} holds {kind}" for name, kind in nested.items()])
    return f"{held}, not one value, and there is no other column"
