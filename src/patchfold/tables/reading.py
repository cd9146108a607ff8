"""A file, or the name of a dataset -> a data frame with types."""

from __future__ import annotations

import csv
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..backends.backend import require_memory
from ..backends.environment import require_packages
from ..backends.files import read_bytes, write_bytes
from ..datasets import DatasetUnavailableError, load
from .arff import parse_arff
from .arrow import text_columns, to_frame
from .delimited import parse_csv, single_blanks
from .dialect import MAX_NAME, UNNAMED, find_dialect
from .doubts import Doubt
from .encodings import to_utf8
from .endings import find_ending, refuse_ending, refuse_no_text, refuse_packed
from .excel import read_excel
from .interpretation import Customs
from .margins import cut_margins
from .naming import listed
from .nested import interpret_flat, refuse_nested
from .parquet import REMEDY, read_feather, read_parquet
from .plain_rows import read_plain

if TYPE_CHECKING:
    import pandas as pd

BYTES_PER_BYTE = 12
"""What a byte of a text file takes at the peak: empty cells become numbers."""

STANDARD_INPUT = "-"

NO_CELLS = "it has no rows or no columns"


@dataclass(frozen=True)
class ReadOptions:
    """What the user says of a file; what is None is found out.

    Attributes
    ----------
    sep : str or None
        Between cells of text.
    encoding : str or None
        Of text.
    decimal : {".", ","} or None
        Decimal mark.
    dates : {"dmy", "mdy"} or None
        Order of day, month and year in dates such as 01/02/2020.
    missing : tuple of str
        Words for a missing cell, beside the usual ones.
    codes, kept : tuple of str
        More such words, and the columns in which they are none.
    """

    sep: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    dates: str | None = None
    missing: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.sep is not None and len(self.sep) != 1:
            raise ValueError(f"sep must be one character. Got {self.sep!r} instead.")
        self.customs()

    def customs(self, decimal: str | None = None, likely: str = ".") -> Customs:
        """Return what texts are like; the marks count where nothing is said of them."""
        missing = tuple(self.missing)
        mark = self.decimal or decimal
        return Customs(mark, self.dates, missing, likely, self.codes, self.kept)


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
    notes : dict of str to str
        How columns were written whose type is not plain to see.
    doubts : dict of str to Doubt
        Columns that could mean something else.
    remarks : list of str
        What is unusual about the file.
    """

    name: str
    frame: pd.DataFrame
    target: str | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    doubts: Mapping[str, Doubt] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


class _Raw(NamedTuple):
    """What a reader found.

    `encoded` are categorical columns whose levels are not declared, `texts` columns
    that are declared as text, `nested` columns without cells, and what they held.
    """

    frame: pd.DataFrame
    encoded: Collection[str] = ()
    texts: Collection[str] = ()
    decimal: str | None = None
    likely: str = "."
    remarks: Sequence[str] = ()
    nested: Mapping[str, str] = {}


def read_source(
    text: str | os.PathLike[str],
    options: ReadOptions | None = None,
    *,
    plain: Collection[str | None] = (),
) -> Source:
    """Read a file, or a dataset of `patchfold.datasets` by its name.

    Parameters
    ----------
    text : str or path-like
        A path, or a name of the catalogue. What exists as a file is a file. "-" is
        the standard input.
    options : ReadOptions or None
        What is known of the file.
    plain : collection of str
        Columns whose words stay as they are: classes, names of samples.

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
    options = options or ReadOptions()
    if text == STANDARD_INPUT:
        return _read_standard_input(options, plain)
    path = Path(text)
    if (path.exists() and not path.is_dir()) or _reader(path) is not None:
        return _read_file(path, path, options, plain)
    try:
        dataset = load(str(text))
    except (DatasetUnavailableError, ValueError) as error:
        raise ValueError(
            f"{text} is neither a file nor a dataset that is known. Files end in "
            f"{', '.join(READERS)}; `patchfold datasets` lists the datasets."
        ) from error
    return Source(dataset.name, _dataset_frame(dataset), "target")


def read_table(
    path: str | os.PathLike[str],
    *,
    sep: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    dates: str | None = None,
    missing: Sequence[str] | str = (),
) -> pd.DataFrame:
    """Read a table; the end of its name says how.

    Separators, quotes, encodings, decimal commas, thousands marks, currencies, local
    dates, truth values in words and words for missing cells are recognised.

    Parameters
    ----------
    path : path-like
        A file that ends in .csv, .tsv or .txt (or these with .gz), .parquet, .feather,
        .arff, .xlsx, .xls or .ods; or a folder of Parquet files, partitioned by
        columns, whose name ends in .parquet.
    sep, encoding, decimal, dates, missing
        As in `ReadOptions`: they overrule what would be recognised.

    Returns
    -------
    pandas.DataFrame
        Columns of words that declare their levels (ARFF, Parquet) are categorical.

    Raises
    ------
    ValueError
        If it is not a table of that kind, or has no rows or two columns of one name.
    """
    require_packages("read_table", ["pandas"])
    words = (missing,) if isinstance(missing, str) else tuple(missing)
    options = ReadOptions(sep, encoding, decimal, dates, words)
    source = _read_file(Path(path), Path(path), options, ())
    with name_file(Path(path)):
        remedy = "write the file without such columns, or flat"
        refuse_nested(source.doubts, source.frame.columns, remedy)
    return source.frame


def _read_file(
    path: Path, called: Path, options: ReadOptions, plain: Collection[str | None]
) -> Source:
    """Read a file that the user knows by another name, perhaps."""
    reader = _reader(path)
    if reader is None:
        refuse_ending(called, READERS)
    with name_file(called):
        raw = reader(path, options)
        frame = raw.frame
        if frame.empty:
            raise ValueError(NO_CELLS)
        frame.columns = [
            str(name) or f"{UNNAMED}{place}" for place, name in enumerate(frame)
        ]
        twice = frame.columns[frame.columns.duplicated()]
        if len(twice):
            names = listed([repr(name) for name in dict.fromkeys(twice)])
            raise ValueError(
                f"it has more than one column named {names}: give each its own name, "
                "or write a header if the first row is none"
            )
        customs = options.customs(raw.decimal, raw.likely)
        found = interpret_flat(
            frame.reset_index(drop=True),
            raw.nested,
            customs,
            plain={*plain, *raw.texts},
            encoded=raw.encoded,
        )
    remarks = [f"{called.name}: {remark}." for remark in raw.remarks]
    return Source(called.name, found.frame, None, found.notes, found.doubts, remarks)


def _read_standard_input(options: ReadOptions, plain: Collection[str | None]) -> Source:
    """Read what is piped in; its first bytes say what it is."""
    called = Path(STANDARD_INPUT)
    with name_file(called):
        data = sys.stdin.buffer.read()
        ending = find_ending(data)
        refuse_packed(ending)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"input{ending}"
        write_bytes(path, data)
        return _read_file(path, called, options, plain)


@contextmanager
def name_file(path: Path) -> Iterator[None]:
    """Turn an error about a file into a ValueError of one line that names it."""
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


def _reader(path: Path) -> Callable[[Path, ReadOptions], _Raw] | None:
    name = path.name.lower()
    return next((read for end, read in READERS.items() if name.endswith(end)), None)


def _read_bytes(path: Path) -> bytes:
    raw = read_bytes(path)
    require_memory(
        BYTES_PER_BYTE * len(raw),
        f"a table of {len(raw):,} bytes",
        REMEDY,
    )
    return raw


def _read_csv(path: Path, options: ReadOptions) -> _Raw:
    held = _read_bytes(path)
    refuse_no_text(held)
    raw, remarks = to_utf8(held, options.encoding)
    tabs = ".tsv" in path.name.lower()
    dialect = find_dialect(raw, options.sep, options.decimal, tabs)
    raw, dialect = cut_margins(raw, dialect)
    # A comma between cells leaves the point as decimal mark.
    decimal = "." if dialect.separator == "," else dialect.decimal
    likely = "," if dialect.separator == ";" else "."
    remarks = [*remarks, *dialect.notes]
    if not dialect.rows and not raw[dialect.start :].strip():
        raise ValueError(NO_CELLS)
    raw, dialect = single_blanks(raw, dialect)
    if find_spec("pyarrow") is None:
        return _Raw(read_plain(raw, dialect), (), (), decimal, likely, remarks)
    quoted = raw.find(dialect.quote.encode(), dialect.start) >= 0
    # A text that needed no change is read once more, in blocks: all of it takes more
    # memory than its numbers.
    packed = path.name.lower().endswith(".gz")
    rows = path if raw is held and not packed else raw
    del raw, held
    table = parse_csv(rows, dialect, quoted)
    for name in [name for name in table.column_names if name.startswith(UNNAMED)]:
        if table[name].null_count == table.num_rows:
            table = table.drop_columns(name)  # separators at the ends of lines
    words = text_columns(table.schema)
    return _Raw(to_frame(table), words, (), decimal, likely, remarks)


def _read_arff(path: Path, options: ReadOptions) -> _Raw:
    raw, remarks = to_utf8(_read_bytes(path), options.encoding)
    frame = parse_arff(raw.decode("utf-8"))
    texts = frame.select_dtypes(["object", "string"]).columns
    return _Raw(frame, texts=texts, remarks=remarks)


def _read_parquet(path: Path, options: ReadOptions) -> _Raw:
    frame, words, nested = read_parquet(path)
    return _Raw(frame, words, nested=nested)


def _read_feather(path: Path, options: ReadOptions) -> _Raw:
    frame, words, nested = read_feather(path)
    return _Raw(frame, words, nested=nested)


def _read_excel(path: Path, options: ReadOptions) -> _Raw:
    frame, remarks = read_excel(path)
    return _Raw(frame, remarks=remarks)


READERS = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".tsv": _read_csv,
    ".tsv.gz": _read_csv,
    ".txt": _read_csv,
    ".txt.gz": _read_csv,
    ".parquet": _read_parquet,
    ".feather": _read_feather,
    ".arff": _read_arff,
    ".xlsx": _read_excel,
    ".xls": _read_excel,
    ".ods": _read_excel,
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
