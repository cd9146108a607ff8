"""An embedding -> Embedding Atlas: one table with the columns and the neighbours.

Embedding Atlas is optional and imported only when something is shown. It is driven
through its own command line, which is what it documents.
"""

from __future__ import annotations

import json
import socket
import tempfile
import threading
import time
import webbrowser
from collections.abc import Iterable
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._blocks import begin_stage
from .embedding import coordinate_columns
from .neighbors import find_neighbors
from .tabular import choose_columns, make_encoder, read_source, read_table
from .tabular.numbers import as_number

if TYPE_CHECKING:
    import pyarrow as pa

HOST = "localhost"
"""The page is for this machine alone."""

NEIGHBORS = "__neighbors"
"""The page does not list a column whose name begins so."""

FILE_NAME = "FILE_NAME"
"""The page adds this column: here, the same temporary file for every sample."""

STAGES = ("columns", "neighbours")
"""What making the table takes: who watches it is told when each begins."""

PATIENCE = 120
"""Seconds to wait for the page before the browser is opened."""


def make_table(
    embedding: str,
    data: str | None = None,
    *,
    id: str | None = None,
    drop: Iterable[str] = (),
    coordinates: tuple[str, str] | None = None,
    n_neighbors: int = 15,
) -> tuple[pa.Table, list[str]]:
    """Join an embedding, the columns it was made from, and who is near whom.

    Parameters
    ----------
    embedding : str
        A CSV or Parquet file with coordinates.
    data : str, default=None
        The table it was made from. Neighbours are then found in its columns, encoded
        and scaled, without those the embedding's file has too (the id, the target);
        without it they are neighbours in the picture.
    id : str, default=None
        A column of both by which they are joined; None joins row by row.
    drop : iterable of str
        Columns of `data` that neighbours must not depend on.
    coordinates : (str, str), default=None
        Columns to draw; None finds those that `patchfold embed` writes.
    n_neighbors : int, default=15
        Neighbours of a sample to show.

    Returns
    -------
    table : pyarrow.Table
        One row per sample; `__neighbors` has their rows and distances.
    coordinates : list of str
        Columns to draw.
    """
    import pandas as pd

    begin_stage("columns", STAGES)
    frame = read_table(embedding)
    if coordinates is None:
        names = coordinate_columns(frame)
    else:
        names = list(coordinates)
        for name in names:
            if name not in frame.columns:
                raise ValueError(f"there is no column {name!r} in {embedding}.")
    if len(frame) < 2:
        raise ValueError(f"{embedding} must have two rows or more. Got {len(frame)}.")
    drawn = pd.DataFrame({name: as_number(frame[name], name) for name in names})
    absent = int(drawn.isna().any(axis=1).sum())
    if absent:
        raise ValueError(
            f"{absent} samples of {embedding} have no coordinate in {names[0]!r} or "
            f"{names[1]!r}: leave these rows out."
        )
    points = drawn.to_numpy()
    if data is not None:
        known = list(frame.columns)
        frame = _join(frame, read_source(data).frame, id)
        own = [name for name in frame.columns if name not in known]
        columns = choose_columns(frame[own], drop=drop, impute="median")
        points = make_encoder(columns, impute="median").fit_transform(columns.features)
    if NEIGHBORS in frame.columns:
        raise ValueError(
            f"there is a column {NEIGHBORS!r} already, and the neighbours go there: "
            "give it another name."
        )
    begin_stage("neighbours", STAGES)
    return _with_neighbors(frame, points, min(n_neighbors, len(frame) - 1)), names


def serve(table: Any, coordinates: list[str], *, port: int, browser: bool) -> None:
    """Show a table until the user interrupts it.

    Parameters
    ----------
    table : pyarrow.Table
        As `make_table` makes it.
    coordinates : list of str
        Columns to draw.
    port : int
        Where; another one is taken if it is in use.
    browser : bool
        Whether to open the page.
    """
    atlas = _atlas()
    port = _free_port(port)
    url = f"http://{HOST}:{port}"
    print(f"{table.num_rows:,} samples at {url}; Ctrl-C ends it", flush=True)
    if browser:
        threading.Thread(target=_open, args=(port, url), daemon=True).start()
    with tempfile.TemporaryDirectory() as folder, suppress(KeyboardInterrupt):
        file = Path(folder) / "embedding.parquet"
        write_for_page(table, file)
        own = FILE_NAME in table.column_names
        styles = {} if own else {FILE_NAME: {"display": "hidden"}}
        options = {
            "--x": coordinates[0],
            "--y": coordinates[1],
            "--neighbors": NEIGHBORS,
            "--state": json.dumps({"columnStyles": styles}),
            "--host": HOST,
            "--port": str(port),
        }
        words = [word for pair in options.items() for word in pair]
        with redirect_stdout(StringIO()):  # it prints the table and a banner
            atlas.main([str(file), *words], standalone_mode=False)


def _join(frame: Any, data: Any, id: str | None) -> Any:
    """Add the columns of the data that the embedding's file does not have."""
    if id is None:
        if len(frame) != len(data):
            raise ValueError(
                f"the embedding has {len(frame)} rows and the data {len(data)}: name "
                "the column that both have for a sample (--id)."
            )
        others = [name for name in data.columns if name not in frame.columns]
        return frame.join(data[others])
    for what, table in (("the embedding", frame), ("the data", data)):
        if id not in table.columns:
            raise ValueError(f"--id: there is no column {id!r} in {what}.")
        if table[id].duplicated().any():
            raise ValueError(f"--id: column {id!r} of {what} has a name twice.")
    others = [name for name in data.columns if name not in frame.columns]
    joined = frame.merge(data[[id, *others]], on=id, how="left", indicator="found here")
    lost = int((joined.pop("found here") != "both").sum())
    if lost:
        raise ValueError(f"{lost} samples of the embedding are not in the data.")
    return joined


def _with_neighbors(frame: Any, points: np.ndarray, count: int) -> Any:
    """Append the neighbours as lists, built from flat arrays: rows may be millions."""
    import pyarrow as pa

    found = find_neighbors(points, count, n_jobs=-1)
    starts = pa.array(np.arange(0, len(frame) * count + 1, count, dtype=np.int32))
    lists = [
        pa.ListArray.from_arrays(starts, pa.array(flat.ravel()))
        for flat in (found.indices.astype(np.int64), found.distances)
    ]
    struct = pa.StructArray.from_arrays(lists, names=["ids", "distances"])
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return table.append_column(NEIGHBORS, struct)


def write_for_page(table: Any, file: Path) -> None:
    """Write a table so that pandas reads the neighbours without making objects.

    Embedding Atlas reads the file with pandas and hands it to DuckDB, which takes
    forty times as long over a dictionary for every sample as over Arrow's arrays.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = table.column_names.index(NEIGHBORS)
    column = table.column(NEIGHBORS)
    kind = _stays_in_arrow(column.type)
    marked = [pa.ExtensionArray.from_storage(kind, part) for part in column.chunks]
    table = table.set_column(place, NEIGHBORS, pa.chunked_array(marked, kind))
    pq.write_table(table, file)


def _stays_in_arrow(storage: Any) -> Any:
    """Return a type of the same values that pandas has no objects for."""
    import pandas as pd
    import pyarrow as pa

    class StaysInArrow(pa.ExtensionType):
        def __init__(self, storage: Any) -> None:
            super().__init__(storage, "patchfold.stays_in_arrow")

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage: Any, _: bytes) -> Any:
            return cls(storage)

        def to_pandas_dtype(self) -> Any:
            return pd.ArrowDtype(self.storage_type)

    kind = StaysInArrow(storage)
    with suppress(pa.ArrowKeyError):  # known from an earlier table
        pa.register_extension_type(kind)
    return kind


def _free_port(wanted: int) -> int:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, wanted))
        except OSError:
            probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _open(port: int, url: str) -> None:
    """Open the page once it answers."""
    for _ in range(10 * PATIENCE):
        with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            webbrowser.open(url)
            return
        time.sleep(0.1)


def _atlas() -> Any:
    try:
        from embedding_atlas.cli import main
    except ImportError as error:
        raise ImportError(
            'view needs Embedding Atlas: pip install "patchfold[view]".'
        ) from error
    return main
