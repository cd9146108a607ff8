"""An embedding -> a page in the browser: its columns, and the nearest samples.

The page (`page/`) is our own and draws by WebGL. It needs no network, no package beside
those that read tables, and no code that is compiled in the browser, so its policy
allows none.
"""

from __future__ import annotations

import tempfile
import webbrowser
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..backends.progress import begin_stage
from ..neighbors.choice import find_neighbors
from ..tables import choose_columns, make_encoder, read_source, read_table
from ..tables.naming import coordinate_columns
from ..tables.numbers import as_number
from ._page_data import write_files
from ._page_server import PageServer, files_below

if TYPE_CHECKING:
    import pandas as pd

    from ..records import Neighborhoods

PAGE = Path(__file__).with_name("page")
"""The folder of the page's files."""

STAGES = ("columns", "neighbours")
"""Stages of making the table, for the progress bar."""


@dataclass(frozen=True)
class Viewed:
    """What a page shows.

    Attributes
    ----------
    title : str
        Name of the embedding's file.
    frame : pandas.DataFrame
        One row per sample.
    coordinates : list of str
        Columns to draw.
    neighbors : Neighborhoods
        Nearest samples of every sample.
    """

    title: str
    frame: pd.DataFrame
    coordinates: list[str]
    neighbors: Neighborhoods


def make_table(
    embedding: str,
    data: str | None = None,
    *,
    id: str | None = None,
    drop: Iterable[str] = (),
    coordinates: tuple[str, str] | None = None,
    n_neighbors: int = 15,
) -> Viewed:
    """Join an embedding and the columns it was made from, and find neighbours.

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
    Viewed
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
        columns = choose_columns(frame[own], drop=drop, impute="median", auto=True)
        points = make_encoder(columns, impute="median").fit_transform(columns.features)
    begin_stage("neighbours", STAGES)
    neighbors = find_neighbors(points, min(n_neighbors, len(frame) - 1), n_jobs=-1)
    return Viewed(Path(embedding).name, frame, names, neighbors)


def serve(viewed: Viewed, *, port: int, browser: bool) -> None:
    """Show a table until the user interrupts it.

    Parameters
    ----------
    viewed : Viewed
        As `make_table` makes it.
    port : int
        Where; another one is taken if it is in use.
    browser : bool
        Whether to open the page.
    """
    page = dict(files_below(PAGE))
    with tempfile.TemporaryDirectory() as folder, suppress(KeyboardInterrupt):
        data = write_files(
            viewed.frame,
            viewed.coordinates,
            viewed.neighbors,
            title=viewed.title,
            folder=Path(folder),
        )
        with PageServer(page | {"": page["index.html"]} | data, port) as server:
            address = server.address
            n = len(viewed.frame)
            print(f"{n:,} samples at {address}; Ctrl-C ends it", flush=True)
            if browser:  # it waits, as the port is open already
                webbrowser.open(address)
            server.serve_forever()


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
