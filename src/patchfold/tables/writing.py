"""A data frame -> a file, whole or not at all; the end of its name says how."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..backends.environment import require_packages
from ..backends.files import MAX_NAME, write_bytes

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = (".csv", ".parquet", ".npy")


def check_ending(path: Path) -> None:
    """Raise an error, before any work, for a name that `write_table` cannot write."""
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"--out must end in {', '.join(ENDINGS)}. Got {path} instead.")
    if path.suffix.lower() == ".parquet":
        require_packages("A Parquet file", ["pyarrow"])
    check_folder(path)


def check_folder(path: Path) -> None:
    """Refuse a path whose folder is not there, or which is a folder itself."""
    length = len(os.fsencode(path.name))
    if length > MAX_NAME:
        raise ValueError(
            f"cannot write a file whose name has {length} bytes: {MAX_NAME} at most. "
            f"It begins with {path.name[:20]!r}."
        )
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder.")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"cannot write {path}: there is no folder {path.parent}.")


def write_table(path: Path, frame: pd.DataFrame, coordinates: list[str]) -> None:
    """Write a table as CSV or Parquet, or its coordinates alone as NPY.

    Parameters
    ----------
    path : Path
        Ends in .csv, .parquet or .npy.
    frame : pandas.DataFrame
        The whole table.
    coordinates : list of str
        Columns of numbers that go into an array.
    """
    check_ending(path)
    buffer = io.BytesIO()
    match path.suffix.lower():
        case ".csv":
            frame.to_csv(buffer, index=False, lineterminator="\n")
        case ".parquet":
            frame.to_parquet(buffer, index=False)
        case _:
            np.save(buffer, frame[coordinates].to_numpy(dtype=np.float64))
    write_bytes(path, buffer.getvalue())
