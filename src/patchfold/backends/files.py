"""Files: read within bounds, written whole or not at all."""

from __future__ import annotations

import glob
import gzip
import hashlib
import io
import os
import secrets
import zlib
from pathlib import Path

MAX_RATIO = 100
"""A compressed file may grow by this factor. Tables of numbers grow by 2 to 20; the
densest gzip file, which holds nothing but one byte over and over, by 1030."""

FREE_BYTES = 64 * 2**20
"""So much may come out of any compressed file, however small it is."""

MAX_NAME = 255
"""Bytes in the name of a file, on the usual file systems."""

_CHUNK = 2**20
_RANDOM = 16


class FileTooLargeError(ValueError):
    """A compressed file holds far more than its size suggests."""


def read_bytes(path: Path) -> bytes:
    """Return what a file holds, decompressed if its name ends in .gz.

    Parameters
    ----------
    path : Path
        A file. Devices and pipes, which may never end, are refused.

    Returns
    -------
    bytes

    Raises
    ------
    FileTooLargeError
        If decompression gives more than `MAX_RATIO` times the size, and more than
        `FREE_BYTES`.
    ValueError
        If it is no file, or no gzip file.
    OSError
        If it cannot be read.
    """
    if path.exists() and not path.is_file():
        raise ValueError("it is not a file")
    if not path.name.lower().endswith(".gz"):
        return path.read_bytes()
    size, held = path.stat().st_size, io.BytesIO()
    try:
        with gzip.open(path) as file:
            while part := file.read(_CHUNK):
                held.write(part)
                check_growth(size, held.tell(), "decompress it first (gunzip)")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"it is not gzip, or damaged ({error})") from error
    return held.getvalue()


def check_growth(size: int, grown: int, remedy: str) -> None:
    """Raise ValueError if a file of `size` bytes claims more than it can hold.

    Parameters
    ----------
    size : int
        Bytes of the file.
    grown : int
        Bytes that come out of it, as far as they are known.
    remedy : str
        What to do where the file can be trusted.

    Raises
    ------
    FileTooLargeError
    """
    limit = max(FREE_BYTES, MAX_RATIO * size)
    if grown > limit:
        raise FileTooLargeError(
            f"its {size:,} bytes decompress to more than {limit:,}; if you know where "
            f"it comes from, {remedy}"
        )


def write_text(path: Path, text: str) -> None:
    """Replace a text file, encoded as UTF-8."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file: written beside it, flushed to the disk, then renamed over it.

    Parameters
    ----------
    path : Path
        The file; its folder must exist. A link is replaced, too: the file that it
        points to stays as it is.
    content : bytes
        What it shall hold.

    Raises
    ------
    OSError
        Naming `path`. What was there before is still there, and nothing else.
    """
    beside = path.with_name(f"{_beside(path)}{secrets.token_hex(_RANDOM // 2)}")
    try:
        # Not tempfile: its files are readable by their owner alone.
        with open(beside, "xb") as file:
            try:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                os.replace(beside, path)
            except BaseException:
                beside.unlink(missing_ok=True)  # an interrupt may come after the rename
                raise
    except OSError as error:
        # The user knows the file by its own name.
        reason = error.strerror or str(error)
        raise OSError(error.errno, reason, os.fspath(path)) from error


def remove_litter(path: Path) -> None:
    """Remove what writers of `path` left beside it when they were killed.

    Only for who knows that no other process is writing it now.
    """
    pattern = glob.escape(_beside(path)) + "[0-9a-f]" * _RANDOM
    for beside in path.parent.glob(pattern):
        beside.unlink(missing_ok=True)


def _beside(path: Path) -> str:
    """Return how the names begin under which `path` is written.

    A name that leaves no room for what is added is replaced by its checksum.
    """
    raw = os.fsencode(path.name)
    if len(raw) + _RANDOM + 2 <= MAX_NAME:
        return f".{path.name}."
    return f".{hashlib.sha256(raw).hexdigest()}."
