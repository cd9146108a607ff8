"""An embedding -> Embedding Atlas: one table with the columns and the neighbours.

Of Embedding Atlas only the built page is used, which asks for a table and for a
description of its columns, as in a folder that `embedding-atlas --export-application`
writes. We serve these ourselves: its own server lets every page of the web ask.
"""

from __future__ import annotations

import importlib.util
import json
import tempfile
import webbrowser
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.threads import begin_stage
from ..neighbors.choice import find_neighbors
from ..tables import choose_columns, make_encoder, read_source, read_table
from ..tables.embedding import coordinate_columns
from ..tables.numbers import as_number
from ._page_server import PageServer, files_below

if TYPE_CHECKING:
    import pyarrow as pa

NEIGHBORS = "__neighbors"
"""The page does not list a column whose name begins so."""

ROW = "__row_index__"
"""The column of the numbers of the rows."""

PAGE_VERSIONS = ">=0.26,<0.27"
"""Whose page asks for what `write_data` gives."""

STAGES = ("columns", "neighbours")
"""What making the table takes: who watches it is told when each begins."""


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
    page = dict(files_below(find_page()))
    with tempfile.TemporaryDirectory() as folder, suppress(KeyboardInterrupt):
        files = page | {"": page["index.html"]} | write_data(table, coordinates, folder)
        with PageServer(files, port) as server:
            address = server.address
            print(
                f"{table.num_rows:,} samples at {address}; Ctrl-C ends it", flush=True
            )
            if browser:  # it waits, as the port is open already
                webbrowser.open(address)
            server.serve_forever()


def find_page() -> Path:
    """Return the folder of Embedding Atlas's built page.

    The package itself is not imported: of what it needs the page needs nothing.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    found = importlib.util.find_spec("embedding_atlas")
    for place in (found and found.submodule_search_locations) or ():
        page = Path(place) / "static"
        if (page / "index.html").is_file():
            return page
    raise ImportError(
        'view needs the page of Embedding Atlas: pip install "patchfold[view]", or, '
        'without the models that it can use, pip install --no-deps "embedding-atlas'
        f'{PAGE_VERSIONS}".'
    )


def write_data(table: Any, coordinates: list[str], folder: str) -> dict[str, Any]:
    """Return what the page asks for: the table, in a file, and what its columns are.

    The page reads the file once, into a database of its own in the browser.

    Parameters
    ----------
    table : pyarrow.Table
        As `make_table` makes it.
    coordinates : list of str
        Columns to draw.
    folder : str
        Where the file is written.

    Returns
    -------
    dict of str to Path or bytes
        By the paths that the page asks for.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = ROW
    while number in table.column_names:
        number = f"_{number}"
    rows = pa.array(np.arange(table.num_rows, dtype=np.int32))
    file = Path(folder) / "dataset.parquet"
    pq.write_table(table.append_column(number, rows), file)
    x, y = coordinates
    columns = {"id": number, "projection": {"x": x, "y": y}, "neighbors": NEIGHBORS}
    about = {
        "props": {"data": columns},
        "isStatic": True,
        "database": {"type": "wasm", "load": True},
    }
    return {
        "data/metadata.json": json.dumps(about).encode(),
        "data/dataset.parquet": file,
    }


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
