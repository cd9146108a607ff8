"""A saved pipeline and a Parquet file of any size -> a folder of coordinates.

A task places one part of the rows, block after block, and writes one file, whole or not
at all. The folder gets its name when all of its files are there; until then it is kept
beside, and the same command goes on where it was ended.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from ..backends.files import remove_litter, write_bytes, write_text
from ..backends.memory import BYTES_PER_EDGE
from ..backends.version import __version__
from ..exceptions import ClusterError
from ..tables.embedding import load_pipeline
from ..tables.matching import match_columns, require_columns
from ..tables.parquet import Contents, Run, cut_rows, frame_of, look_at, read_runs
from ..tables.reading import name_file
from .placing import in_one_thread
from .tasks import run_tasks

BLOCK_BYTES = 2**27
"""What placing one block of rows may take."""

MOST_ROWS = 32_768
"""Rows of a block, however few features they have."""

FEWEST_ROWS = 256
"""Rows of a block, however many features they have."""

BLOCKS = 4
"""Blocks of a part."""

MANIFEST = "_patchfold.json"
"""What a folder's parts are of. Readers of Parquet pass by what begins so."""


@dataclass(frozen=True)
class Placed:
    """What was placed, and how.

    Attributes
    ----------
    n_rows, n_parts, n_kept : int
        Rows, files they are in, and how many of these were there before.
    seconds : float
        Time it took.
    pipeline : Pipeline
        The model.
    about : dict
        What is said of it.
    remarks : list of str
        Warnings.
    """

    n_rows: int
    n_parts: int
    n_kept: int
    seconds: float
    pipeline: Pipeline
    about: dict[str, Any]
    remarks: list[str]


@dataclass(frozen=True)
class _Job:
    """What every task needs."""

    pipeline: Pipeline
    coordinates: list[str]
    kept: list[str]
    words: list[str]
    length: int
    folder: str


def place_file(
    source: str | os.PathLike[str],
    model: str | os.PathLike[str],
    out: str | os.PathLike[str],
    client: Any,
    *,
    target: str | None = None,
    id: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Placed:
    """Place the rows of a Parquet file, or of a folder of them, out of core.

    Parameters
    ----------
    source : path-like
        Parquet with the columns of the training table; a folder's files follow each
        other by name, as pandas reads them. Every worker must be able to read it.
    model : path-like
        What `patchfold embed --model` wrote.
    out : path-like
        A folder to make, whose name ends in .parquet. Its files, part.00000.parquet and
        so on, are the rows in their order; pandas and Dask read it as one table. On a
        disk that all workers write to.
    client : dask.distributed.Client
        Of the cluster.
    target, id : str or None
        Columns to keep beside the coordinates.
    progress : callable or None
        Called with the parts that are done, and all there are.

    Returns
    -------
    Placed

    Raises
    ------
    ValueError
        If a file cannot be read, or `out` is there and holds something else.
    ClusterError
        If the workers cannot do it.
    """
    start = time.perf_counter()
    source, out = Path(source), Path(out)
    pipeline, about = load_pipeline(model)
    contents = _look_at(source)
    kept = [name for name in (id, target) if name]
    for name in kept:
        if name not in contents.schema.names:
            raise ValueError(f"there is no column {name!r} in {source}.")
    require_columns(pipeline["columns"], contents.schema.names)
    length = _rows_at_once(pipeline["embedding"])
    parts = cut_rows(contents, BLOCKS * length)
    note = _describe(contents, model, kept, length)
    folder = _open_folder(out, note)
    job = _Job(
        in_one_thread(pipeline),
        list(about["coordinates"]),
        kept,
        contents.words,
        length,
        str(folder.absolute()),
    )
    missing = [n for n in range(len(parts)) if not (folder / _name(n)).exists()]
    n_kept = done = len(parts) - len(missing)
    if progress is not None:
        progress(done, len(parts))
    remarks: dict[str, None] = {}
    pieces = [(n, n * BLOCKS * length, parts[n]) for n in missing]
    for _, told in run_tasks(client, _place_part, job, pieces):
        remarks.update(dict.fromkeys(told))
        done += 1
        if progress is not None:
            progress(done, len(parts))
    _close_folder(folder, out, len(parts))
    return Placed(
        contents.n_rows,
        len(parts),
        n_kept,
        time.perf_counter() - start,
        pipeline,
        about,
        list(remarks),
    )


def _look_at(source: Path) -> Contents:
    if not source.name.lower().endswith(".parquet"):
        raise ValueError(
            f"{source} is not read block by block: its name must end in .parquet. "
            "Write it as Parquet, or leave out --cluster."
        )
    with name_file(source):
        contents = look_at(source.absolute())
        if any("=" in file.parent.name for file in contents.files):
            raise ValueError(
                "its files are in folders by the values of columns; give one of them"
            )
    if not contents.n_rows:
        raise ValueError(f"{source} has no rows or no columns.")
    return contents


def _rows_at_once(embedding: Any) -> int:
    """Return how many rows are placed together; a matter of the model alone."""
    m = int(embedding.n_features_in_)
    k = int(getattr(embedding, "n_neighbors_", None) or 15)
    patch = 4 * m * m if k + 1 > m else 3 * (k + 1) * m
    fitting = BLOCK_BYTES // (BYTES_PER_EDGE * k + 8 * patch)
    return min(MOST_ROWS, max(FEWEST_ROWS, fitting))


def _describe(contents: Contents, model: Any, kept: list[str], length: int) -> str:
    """Write down what the parts are of: other parts must not be mixed with them."""
    facts = [(file, file.stat()) for file in contents.files]
    note = {
        "version": __version__,
        "model": hashlib.sha256(Path(model).read_bytes()).hexdigest(),
        "files": [[str(file), fact.st_size, fact.st_mtime_ns] for file, fact in facts],
        "kept": kept,
        "rows_at_once": length,
    }
    return json.dumps(note, indent=1)


def _open_folder(out: Path, note: str) -> Path:
    """Return the folder where parts are collected, or where they all are."""
    beside = out.with_name(f"{out.name}.partial")
    for folder in (out, beside):
        if not folder.exists():
            continue
        said = folder / MANIFEST
        if not said.is_file() or said.read_text("utf-8") != note:
            raise ValueError(
                f"{folder} is there, and not of this table, this model and these "
                "columns: remove it, or give --out another name."
            )
        return folder
    beside.mkdir()
    write_text(beside / MANIFEST, note)
    return beside


def _close_folder(folder: Path, out: Path, n_parts: int) -> None:
    """Give a folder that is complete its name."""
    for number in range(n_parts):
        path = folder / _name(number)
        if not path.exists():
            raise ClusterError(
                f"{path} was written by a worker and is not here: --out must be on a "
                "disk that all workers share."
            )
        remove_litter(path)
    if folder != out:
        os.replace(folder, out)


def _name(number: int) -> str:
    return f"part.{number:05d}.parquet"


def _place_part(job: _Job, piece: tuple[int, int, list[Run]]) -> list[str]:
    """Place one part and write its file; return the warnings.

    A piece is the number of the part, the number of its first row, and where it is.
    """
    import pyarrow.parquet as pq

    number, first, runs = piece
    encoder = job.pipeline["columns"]
    wanted = [*dict.fromkeys([*encoder.feature_names_in_, *job.kept])]
    sink, writer, remarks = io.BytesIO(), None, []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for table in read_runs(runs, wanted, job.words, job.length):
            last = first + table.num_rows
            try:
                features, told = match_columns(frame_of(table, job.words), encoder)
                points = job.pipeline.transform(features)
            except ValueError as error:
                raise ValueError(
                    f"rows {first + 1:,} to {last:,} cannot be placed: {error}"
                ) from error
            block = _table(table, points, job)
            writer = writer or pq.ParquetWriter(sink, block.schema)
            writer.write_table(block)
            remarks += told
            first = last
    assert writer is not None  # no part is empty
    writer.close()
    write_bytes(Path(job.folder) / _name(number), sink.getvalue())
    return [*remarks, *(str(warning.message) for warning in caught)]


def _table(read: Any, points: Any, job: _Job) -> Any:
    """Put the kept columns, as they were, beside the coordinates."""
    import pyarrow as pa

    columns = {}
    for name in job.kept:
        column = read.column(name)
        if name in job.words:  # was read as a dictionary
            column = column.cast(column.type.value_type)
        columns[name] = column
    for k, name in enumerate(job.coordinates):
        columns[name] = pa.array(points[:, k])
    return pa.table(columns)
