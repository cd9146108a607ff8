"""Bytes of a text file -> UTF-8, and what was guessed."""

from __future__ import annotations

import re

LOOKED_AT = 2**18
"""Bytes in which zeros are counted."""

_CONTROL = re.compile(rb"[\x80-\x9f]")
"""Bytes that are signs in Windows-1252, and none in Latin-9."""


def to_utf8(raw: bytes, encoding: str | None = None) -> tuple[bytes, list[str]]:
    """Return a text as UTF-8 without lone carriage returns, and what was guessed.

    Without an encoding, marks at the start are trusted, then UTF-8 is tried, then
    Windows-1252, which most other files of Western Europe and America are in.
    """
    notes: list[str] = []
    if encoding is None:
        encoding, notes = _wide_encoding(raw)
    if encoding is not None:
        try:
            raw = raw.decode(encoding).encode("utf-8")
        except LookupError:
            raise ValueError(f"encoding {encoding!r} is not known") from None
        except UnicodeError as error:
            raise ValueError(f"it is no text in {encoding} ({error})") from None
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in raw:
        raise ValueError(
            "it holds NUL bytes, so it is no text in UTF-8: name its encoding "
            "(--encoding)"
        )
    if not raw.isascii():
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raw, name = _western(raw, error)
            notes.append(
                f"it is not in UTF-8, and was read as {name}; --encoding names another "
                "one"
            )
    if b"\r" in raw and raw.count(b"\r") != raw.count(b"\r\n"):
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return raw, notes


def _wide_encoding(raw: bytes) -> tuple[str | None, list[str]]:
    """Return UTF-32 or UTF-16, where marks at the start or zeros say so."""
    if raw[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        return "utf-32", []
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16", []
    start = raw[:LOOKED_AT]
    zeros = [start[place::2].count(0) for place in (0, 1)]
    for place, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        # Half of the bytes of Western text, and none of the others.
        if zeros[place] > 0.4 * len(start) and not zeros[1 - place]:
            return name, [f"it was read as {name}; --encoding names another one"]
    return None, []


def _western(raw: bytes, error: UnicodeDecodeError) -> tuple[bytes, str]:
    """Read Windows-1252, or Latin-9: where that has a euro, it has a sign of no use."""
    has_euro = b"\xa4" in raw and not _CONTROL.search(raw)
    encoding, name = ("cp1252", "Windows-1252")
    if has_euro:
        encoding, name = ("iso8859-15", "ISO-8859-15 (Latin-9)")
    try:
        return raw.decode(encoding).encode("utf-8"), name
    except UnicodeDecodeError:
        raise ValueError(
            f"byte {error.start:,} is {raw[error.start]:#04x}, so it is no text in "
            "UTF-8: name its encoding (--encoding), such as shift_jis, gb18030 or "
            "windows-1251"
        ) from None
