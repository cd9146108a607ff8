"""A CSV, Parquet or ARFF file, or the name of a dataset -> a data frame."""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..datasets import DatasetUnavailableError, load

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = ",;\t"
MISSING = "?"
"""Means a missing cell in many public sets, beside what pandas takes for one."""


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
    >>> from patchfold.tabular import read_source
    >>> source = read_source("parity5")
    >>> source.frame.shape, source.target
    ((32, 6), 'target')
    """
    path = Path(text)
    if path.exists() or _reader(path) is not None:
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
        A file that ends in .csv, .tsv (or either with .gz), .parquet or .arff.

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
    try:
        frame = reader(path)
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist.") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, ArithmeticError, StopIteration, NotImplementedError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"{path} cannot be read: {first.rstrip('.')}.") from error
    if frame.empty:
        raise ValueError(f"{path} has no rows or no columns.")
    frame.columns = frame.columns.map(str)
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise ValueError(f"{path} has more than one column named {twice[0]!r}.")
    return frame.reset_index(drop=True)


def _reader(path: Path) -> Callable[[Path], pd.DataFrame] | None:
    name = path.name.lower()
    return next((read for end, read in READERS.items() if name.endswith(end)), None)


def _read_csv(path: Path) -> pd.DataFrame:
    import pandas as pd

    raw = path.read_bytes()
    if path.name.lower().endswith(".gz"):
        raw = gzip.decompress(raw)
    text = raw.decode("utf-8-sig")
    header = text.partition("\n")[0]
    separator = max(SEPARATORS, key=header.count)
    names = next(csv.reader([header.rstrip("\r")], delimiter=separator), [])
    frame = pd.read_csv(io.StringIO(text), sep=separator, na_values=[MISSING])
    if len(names) == frame.shape[1]:
        frame.columns = names  # pandas would call the second of two equal names x.1
    return frame


def _read_parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(path)
    except ImportError:
        raise ValueError(
            'Parquet needs pyarrow: pip install "patchfold[cli]"'
        ) from None


def _read_arff(path: Path) -> pd.DataFrame:
    import pandas as pd
    from scipy.io.arff import loadarff

    data, meta = loadarff(path)
    columns = {}
    for name in meta.names():
        kind, levels = meta[name]
        if kind == "nominal":
            words = np.char.decode(data[name].astype(bytes), "utf-8")
            known = [word if word != MISSING else None for word in words]
            columns[name] = pd.Categorical(known, categories=list(levels))
        else:
            columns[name] = data[name]
    return pd.DataFrame(columns)


READERS = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".tsv": _read_csv,
    ".tsv.gz": _read_csv,
    ".parquet": _read_parquet,
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
