"""A CSV, Parquet or ARFF file, or the name of a dataset -> a data frame."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.files import read_bytes
from ..backends.memory import require_memory
from ..datasets import DatasetUnavailableError, load
from .arff import parse_arff
from .delimited import MAX_NAME, parse_csv
from .parquet import REMEDY, read_parquet

if TYPE_CHECKING:
    import pandas as pd

BYTES_PER_BYTE = 12
"""What a byte of a text file takes at the peak: empty cells become numbers."""


@dataclass(frozen=True)
class Source:
    """A table and where it came from.

    Attributes
    ----------
    name : str
        The file's name, or the dataset's.
    frame : pandas.DataFrame
        One row per sample.
    target : str or None
        The column of the classes, where the source says so itself.
    """

    name: str
    frame: pd.DataFrame
    target: str | None = None


def read_source(text: str | os.PathLike[str]) -> Source:
    """Read a file, or a dataset of `patchfold.datasets` by its name.

    Parameters
    ----------
    text : str or path-like
        A path, or a name of the catalogue. What exists as a file is a file.

    Returns
    -------
    Source

    Raises
    ------
    ValueError
        If there is neither, or the file cannot be read.

    Examples
    --------
    >>> from patchfold.tables import read_source
    >>> source = read_source("parity5")
    >>> source.frame.shape, source.target
    ((32, 6), 'target')
    """
    path = Path(text)
    if (path.exists() and not path.is_dir()) or _reader(path) is not None:
        return Source(path.name, read_table(path))
    try:
        dataset = load(str(text))
    except (DatasetUnavailableError, ValueError) as error:
        raise ValueError(
            f"{text} is neither a file nor a dataset that can be had. Files end in "
            f"{', '.join(READERS)}; `patchfold datasets` lists the datasets."
        ) from error
    return Source(dataset.name, _dataset_frame(dataset), "target")


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table; the end of its name says how.

    In CSV a header without commas may be separated by semicolons or tabs. A cell that
    is empty, "NA", "?" or the like is missing.

    Parameters
    ----------
    path : path-like
        A file that ends in .csv, .tsv (or either with .gz), .parquet or .arff; or a
        folder of Parquet files, partitioned by columns, whose name ends in .parquet.

    Returns
    -------
    pandas.DataFrame
        Columns of words that declare their levels (ARFF, Parquet) are categorical.

    Raises
    ------
    ValueError
        If it is not a table of that kind, or has no rows or two columns of one name.
    """
    path = Path(path)
    reader = _reader(path)
    if reader is None:
        raise ValueError(f"{path}: the name must end in {', '.join(READERS)}.")
    with name_file(path):
        frame = reader(path)
    if frame.empty:
        raise ValueError(f"{path} has no rows or no columns.")
    frame.columns = frame.columns.map(str)
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise ValueError(f"{path} has more than one column named {twice[0]!r}.")
    return frame.reset_index(drop=True)


@contextmanager
def name_file(path: Path) -> Iterator[None]:
    """Turn what goes wrong with a file into a ValueError that names it, in one line."""
    try:
        yield
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist.") from None
    except OSError as error:
        words = error.strerror or _first_line(error)
        raise ValueError(f"{path} cannot be read: {words}.") from None
    except MemoryError as error:
        words = str(error) or "there is not enough memory"
        raise ValueError(f"{path} cannot be read: {words.rstrip('.')}.") from None
    except Exception as error:  # pandas and pyarrow raise anything on nonsense
        raise ValueError(f"{path} cannot be read: {_first_line(error)}.") from error


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines() or [""]
    words = lines[0].strip().rstrip(".")[:MAX_NAME]
    if isinstance(error, (ValueError, OSError, csv.Error)) and words:
        return words
    return f"{type(error).__name__} {words}".strip()


def _reader(path: Path) -> Callable[[Path], pd.DataFrame] | None:
    name = path.name.lower()
    return next((read for end, read in READERS.items() if name.endswith(end)), None)


def _read_text(path: Path) -> str:
    raw = read_bytes(path)
    require_memory(
        BYTES_PER_BYTE * len(raw),
        f"a table of {len(raw):,} bytes",
        REMEDY,
    )
    if b"\0" in raw:
        raise ValueError(
            "it holds NUL bytes, so it is no text in UTF-8; save it as such"
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"byte {error.start:,} is {raw[error.start]:#04x}, so it is no text in "
            "UTF-8; save it as such"
        ) from None


def _read_csv(path: Path) -> pd.DataFrame:
    return parse_csv(_read_text(path))


def _read_arff(path: Path) -> pd.DataFrame:
    return parse_arff(_read_text(path))


READERS = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".tsv": _read_csv,
    ".tsv.gz": _read_csv,
    ".parquet": read_parquet,
    ".arff": _read_arff,
}


def _dataset_frame(dataset: Any) -> pd.DataFrame:
    """Give a dataset's codes their words back."""
    import pandas as pd

    columns = {}
    for j, name in enumerate(dataset.feature_names):
        column = dataset.data[:, j]
        if dataset.categorical[j]:
            codes = np.nan_to_num(column, nan=-1.0).astype(int)
            columns[name] = pd.Categorical.from_codes(codes, list(dataset.levels[name]))
        else:
            columns[name] = column
    columns["target"] = pd.Categorical.from_codes(
        dataset.target, list(dataset.target_names)
    )
    return pd.DataFrame(columns)
