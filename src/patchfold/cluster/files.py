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
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from ..backends.backend import BYTES_PER_EDGE
from ..backends.files import remove_litter, write_bytes, write_text
from ..backends.version import __version__
from ..exceptions import ClusterError
from ..tables.arrow import as_objects, to_frame
from ..tables.interpretation import Customs, interpret
from ..tables.matching import match_columns, require_columns, split_columns
from ..tables.newcomers import (
    MOST_PAIRS,
    News,
    class_columns,
    count_far,
    name_strangers,
    nearness,
)
from ..tables.parquet import Contents, Run, cut_rows, look_at, read_runs
from ..tables.placing import Fitted, load_pipeline, predict_classes
from ..tables.reading import ReadOptions, name_file
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
    """What every task needs.

    `limit` is how far from its nearest training sample a row may be, and `n_rows` how
    many rows there are.
    """

    fitted: Fitted
    customs: Customs
    kept: list[str]
    words: list[str]
    length: int
    folder: str
    limit: float | None
    n_rows: int


def _require_names(
    wanted: Iterable[str | None], names: list[str], source: Path
) -> None:
    for name in wanted:
        if name and name not in names:
            raise ValueError(f"there is no column {name!r} in {source}.")


def place_file(
    source: str | os.PathLike[str],
    model: str | os.PathLike[str],
    out: str | os.PathLike[str],
    client: Any,
    *,
    target: str | None = None,
    id: str | None = None,
    reading: ReadOptions | None = None,
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
        Columns to keep beside the coordinates; None keeps those of the training table.
    reading : ReadOptions or None
        How text is written: decimal mark, order of dates, words for missing cells.
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
    fitted = load_pipeline(model)
    pipeline, about, memory = fitted
    contents = _look_at(source)
    names = contents.schema.names
    _require_names((id, target), names, source)
    _refuse_nested(contents, [*pipeline["columns"].feature_names_in_, id, target])
    roles = (id or memory.id, target or memory.target)
    kept = [name for name in roles if name and name in names]
    require_columns(pipeline["columns"], names)
    customs = memory.complete(reading or ReadOptions()).customs()
    length = _rows_at_once(pipeline["embedding"])
    parts = cut_rows(contents, BLOCKS * length)
    kinds = [kept, *vars(customs).values()]
    folder = _open_folder(out, _describe(contents, model, kinds, length))
    job = _Job(
        fitted._replace(pipeline=in_one_thread(pipeline)),
        customs,
        kept,
        contents.words,
        length,
        str(folder.absolute()),
        nearness(pipeline["embedding"]),
        contents.n_rows,
    )
    missing = [n for n in range(len(parts)) if not (folder / _name(n)).exists()]
    n_kept = done = len(parts) - len(missing)
    if progress is not None:
        progress(done, len(parts))
    news, caught = News(0), dict[int, list[str]]()
    pieces = [(n, n * BLOCKS * length, parts[n]) for n in missing]
    for place, (found, told) in run_tasks(client, _place_part, job, pieces):
        news += found
        caught[place] = told
        done += 1
        if progress is not None:
            progress(done, len(parts))
    _close_folder(folder, out, len(parts))
    # Parts end in any order; the remarks are in that of the rows.
    warned = dict.fromkeys(text for place in sorted(caught) for text in caught[place])
    return Placed(
        contents.n_rows,
        len(parts),
        n_kept,
        time.perf_counter() - start,
        pipeline,
        about,
        [*name_strangers(names, pipeline["columns"], memory), *news.told(), *warned],
    )


def _refuse_nested(contents: Contents, wanted: Iterable[Any]) -> None:
    for name in wanted:
        if name in contents.nested:
            kind = contents.nested[name]
            raise ValueError(f"column {name!r} holds {kind}, not one value.")


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


def _describe(contents: Contents, model: Any, kept: list[Any], length: int) -> str:
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


def _place_part(job: _Job, piece: tuple[int, int, list[Run]]) -> tuple[News, list[str]]:
    """Place one part and write its file; return what is new in it, and the warnings.

    A piece is the number of the part, the number of its first row, and where it is.
    """
    import pyarrow.parquet as pq

    number, first, runs = piece
    encoder = job.fitted.pipeline["columns"]
    wanted = [*dict.fromkeys([*encoder.feature_names_in_, *job.kept])]
    sink, writer, news = io.BytesIO(), None, News(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for table in read_runs(runs, wanted, job.words, job.length):
            last = first + table.num_rows
            try:
                block, found = _place_block(table, job)
            except ValueError as error:
                raise ValueError(
                    f"rows {first + 1:,} to {last:,} cannot be placed: {error}"
                ) from error
            writer = writer or pq.ParquetWriter(sink, block.schema)
            writer.write_table(block)
            news += found
            first = last
    assert writer is not None  # no part is empty
    writer.close()
    write_bytes(Path(job.folder) / _name(number), sink.getvalue())
    return news, [str(warning.message) for warning in caught]


def _place_block(table: Any, job: _Job) -> tuple[Any, News]:
    """Return what is kept of a block and its coordinates, and what is new in it."""
    import pyarrow as pa

    (pipeline, about, memory), encoder = job.fitted, job.fitted.pipeline["columns"]
    features, news = match_columns(_read_texts(table, job), encoder, memory)
    samples = encoder.transform(features)
    points = pipeline["embedding"].transform(samples)
    most = MOST_PAIRS * len(samples) // job.n_rows
    far = count_far(samples, pipeline["embedding"], job.limit, most)
    columns = {}
    for name in job.kept:
        column = table.column(name)
        if name in job.words:  # was read as a dictionary
            column = column.cast(column.type.value_type)
        columns[name] = column
    for series in class_columns(
        predict_classes(job.fitted, samples), memory, job.fitted.stem
    ):
        columns[str(series.name)] = pa.array(series)
    for k, name in enumerate(about["coordinates"]):
        columns[name] = pa.array(points[:, k])
    return pa.table(columns), replace(news, **far)


def _read_texts(table: Any, job: _Job) -> Any:
    """Return a block as a data frame, in which texts are what they were in training.

    A column of categories stays one, whatever its words in this block look like.
    """
    frame = to_frame(table)
    _, words = split_columns(job.fitted.pipeline["columns"])
    found = interpret(frame, job.customs, plain=job.kept, encoded=job.words).frame
    texts = as_objects(frame, job.words)
    for name in words:
        if found[name].dtype.kind in "biufmM" or str(found[name].dtype) == "boolean":
            found[name] = texts[name]
    return found
