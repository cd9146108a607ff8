"""Write a file whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Replace a text file, encoded as UTF-8."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file: written beside it, flushed to the disk, then renamed over it."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    # Not tempfile: its files are readable by their owner alone.
    with open(beside, "xb") as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise
