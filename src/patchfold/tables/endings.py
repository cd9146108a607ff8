"""How files begin, and how their names should end; what is refused for either."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

MAGIC = {
    b"PAR1": ".parquet",
    b"ARROW1": ".feather",
    b"PK\x03\x04": ".zip",
    b"\xd0\xcf\x11\xe0": ".xls",
    b"\x1f\x8b": ".csv.gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
}
"""How files begin that are no text, and how their names should end."""

PACKED = {".zip": "unzip", ".bz2": "bunzip2", ".xz": "unxz", ".zst": "unzstd"}
"""Endings of packed files that are not read, and what unpacks them."""

_BINARY = re.compile(rb"[\x00\x02-\x08\x0e-\x1f]")
"""Bytes of no text; a column may be named BZh or PAR1."""

_ARFF = re.compile(rb"(?is)\s*(%[^\n]*\n\s*)*@relation")


def find_ending(data: bytes) -> str:
    """Say how the name of a file should end that holds this; ".csv" for other text."""
    if _ARFF.match(data[: 2**16]):
        return ".arff"
    if not _BINARY.search(data[:1000]):
        return ".csv"
    found = (end for start, end in MAGIC.items() if data.startswith(start))
    ending = next(found, ".csv")
    return _archive(data) if ending == ".zip" else ending


def _archive(data: bytes) -> str:
    """Tell workbooks of Excel and OpenDocument from other zip archives."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile:
        return ".xlsx"  # whose reader says what is wrong with it
    known = {"[Content_Types].xml": ".xlsx", "mimetype": ".ods"}
    return next((end for name, end in known.items() if name in names), ".zip")


def refuse_ending(called: Path, known: Iterable[str]) -> NoReturn:
    """Raise the error for a file whose name has no known ending."""
    ending = called.suffix.lower()
    remedy = "rename a file of text to end in .txt"
    if ending in PACKED:
        remedy = f"unpack it first ({PACKED[ending]})"
    raise ValueError(f"{called}: the name must end in {', '.join(known)}; {remedy}.")


def refuse_packed(ending: str) -> None:
    """Raise ValueError if files that end so are packed in a way that is not read."""
    if ending in PACKED:
        raise ValueError(f"it is packed: unpack it first ({PACKED[ending]})")


def refuse_no_text(data: bytes) -> None:
    """Raise ValueError if what should be text is a file of another kind."""
    ending = find_ending(data)
    refuse_packed(ending)
    if ending != ".csv":
        what = "ARFF" if ending == ".arff" else "no text"
        raise ValueError(f"it is {what}: rename it to end in {ending}")
