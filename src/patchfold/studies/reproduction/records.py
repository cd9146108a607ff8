"""Run records in a CSV file: appended whole, kept from two writers, read back safely.

A task writes all its records in one go, and each says how many there are. A file that
was cut off in the middle of a write loses that one task when it is opened again, and
nothing else.
"""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from ...backends.files import remove_litter, write_text


class ResultsLockedError(OSError):
    """Another run is writing to the same folder."""


@dataclass(frozen=True)
class TaskKey:
    """What identifies a run: the same key is never run twice into one file."""

    paper: str
    dataset: str
    method: str
    protocol: str
    variant: str
    split: int


@dataclass(frozen=True)
class Record:
    """One number that a run measured, or the reason why there is none.

    Attributes
    ----------
    paper, table, dataset, method, metric : str
        Which published number this stands beside.
    value : float or None
        What we measured.
    published : float or None
        What the paper printed.
    protocol, variant : str
        How it was measured, and by which version of the method.
    n_neighbors : int or None
        The neighbourhood size that was chosen.
    seconds : float
        Time of the whole task.
    status : str
        "ok", "no data", "not installed: ...", "left out: ..." or "failed: ...".
    split : int
        Which train/test split.
    note : str
        Warnings the run gave, in short.
    version : str
        Version of patchfold.
    task_size : int
        How many records the task wrote.
    """

    paper: str
    table: str
    dataset: str
    method: str
    metric: str
    value: float | None
    published: float | None
    protocol: str
    variant: str
    n_neighbors: int | None
    seconds: float | None
    status: str
    split: int = 0
    note: str = ""
    version: str = ""
    task_size: int = 1

    @property
    def key(self) -> TaskKey:
        """The task this record belongs to."""
        return TaskKey(
            self.paper,
            self.dataset,
            self.method,
            self.protocol,
            self.variant,
            self.split,
        )


COLUMNS = tuple(field.name for field in fields(Record))
_INTEGERS = {"n_neighbors", "split", "task_size"}
_FLOATS = {"value", "published", "seconds"}


def read_records(path: Path) -> list[Record]:
    """Read the records of all tasks that were written whole.

    Parameters
    ----------
    path : Path
        A results file; one that does not exist holds nothing.

    Returns
    -------
    list of Record

    Raises
    ------
    ValueError
        If it is no results file: it is then left as it is.
    """
    rows = _rows(path) if path.exists() else []
    records = [record for row in rows if (record := _parse(row)) is not None]
    counts: dict[TaskKey, int] = {}
    for record in records:
        counts[record.key] = counts.get(record.key, 0) + 1
    return [record for record in records if counts[record.key] == record.task_size]


def _rows(path: Path) -> list[dict[Any, Any]]:
    raw = path.read_bytes()
    try:
        whole = raw[: raw.rfind(b"\n") + 1].decode("utf-8")
        reader = csv.DictReader(io.StringIO(whole, newline=""))
        rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(
            f"{path} is damaged ({error}); move it away, or choose another folder."
        ) from error
    if whole and tuple(reader.fieldnames or ()) != COLUMNS:
        raise ValueError(
            f"{path} does not have the columns of a results file; move it away, or "
            "choose another folder."
        )
    return rows


def _parse(row: dict[Any, Any]) -> Record | None:
    """Return a row as a record, or None if it is not whole."""
    values = dict(row)
    if None in values or None in values.values():
        return None
    try:
        for name in _INTEGERS:
            values[name] = int(row[name]) if row[name] else None
        for name in _FLOATS:
            values[name] = float(row[name]) if row[name] else None
    except ValueError:
        return None
    return Record(**values)


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Replace a results file, whole or not at all."""
    write_text(path, _as_text(records, header=True))


def _as_text(records: Iterable[Record], *, header: bool) -> str:
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(asdict(record) for record in records)
    return buffer.getvalue()


class RecordFile:
    """A results file that one process at a time may append to.

    Used as a context manager. Opening takes the lock and drops what an interrupted
    write left behind.

    Parameters
    ----------
    path : Path
        The file; its folder must exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: list[Record] = []
        self._lock: IO[str] | None = None
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self._lock = open(self.path.with_suffix(".lock"), "w", encoding="utf-8")
        try:
            self._take_lock(self._lock)
            remove_litter(self.path)
            self._reopen(read_records(self.path))
        except BaseException:
            self._lock.close()
            raise
        return self

    def _take_lock(self, lock: IO[str]) -> None:
        try:
            _lock(lock)
        except (BlockingIOError, PermissionError) as error:
            raise ResultsLockedError(
                f"another run is writing to {self.path.parent}; wait for it to end, "
                "or give this one a folder of its own."
            ) from error

    def _reopen(self, records: list[Record]) -> None:
        """Replace the file, then go on appending to it."""
        if self._file is not None:
            self._file.close()
        self.records = records
        write_records(self.path, records)
        # Without a buffer: what a failed write left in one would be written later.
        self._file = open(self.path, "ab", buffering=0)  # noqa: SIM115

    def append(self, records: list[Record]) -> None:
        """Write the records of one task and see them to the disk, or write nothing."""
        assert self._file is not None, "open the file with a `with` statement"
        size = os.fstat(self._file.fileno()).st_size
        content = _as_text(records, header=False).encode("utf-8")
        try:
            while content:
                content = content[self._file.write(content) :]
            os.fsync(self._file.fileno())
        except BaseException as error:
            os.ftruncate(self._file.fileno(), size)
            if isinstance(error, OSError):
                name = os.fspath(self.path)
                raise OSError(error.errno, error.strerror, name) from error
            raise
        self.records.extend(records)

    def drop(self, keys: set[TaskKey]) -> None:
        """Forget the records of some tasks, so that they can be run again."""
        kept = [record for record in self.records if record.key not in keys]
        if len(kept) < len(self.records):
            self._reopen(kept)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for file in (self._file, self._lock):
            if file is not None:
                file.close()


def _lock(file: IO[str]) -> None:
    """Lock a file until it is closed; BlockingIOError or PermissionError if it is."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
