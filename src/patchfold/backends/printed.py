"""Keep a line that a C library prints from the user: its error says it already.

SuperLU prints where memory ends, and cannot be told not to. File descriptor 2 belongs
to the process, with its bars, warnings and threads, so it stays as it is; only C's
variable `stderr` is set, which the manual of the GNU C library allows. With another C
library nothing is done, and the line is printed.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

_lock = threading.Lock()
_users = 0


@contextmanager
def without_lines(pattern: bytes) -> Iterator[None]:
    """Drop lines that C code prints as errors, and pass the others on at the end.

    Parameters
    ----------
    pattern : bytes
        A regular expression of the whole line. If blocks in several threads overlap,
        the pattern of the last to end counts.
    """
    global _users
    with _lock:
        stream = _memory_stream()
        _users += 1
        if stream is not None and _users == 1:
            stream.begin()
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if stream is not None and not _users:
                stream.end(re.compile(pattern))


@cache
def _memory_stream() -> _MemoryStream | None:
    """Return the one stream of this process; None if there can be none."""
    libc = _gnu_libc()
    if libc is None:
        return None
    stream = _MemoryStream(libc)
    return stream if stream.handle else None


class _MemoryStream:
    """A C stream into memory that can take the place of `stderr`.

    It is never closed: a thread that has read the variable just before it is set back
    may still write to the stream.
    """

    def __init__(self, libc: Any) -> None:
        self._libc = libc
        self._text, self._length = ctypes.c_void_p(), ctypes.c_size_t()
        libc.open_memstream.restype = ctypes.c_void_p
        self.handle = libc.open_memstream(
            ctypes.byref(self._text), ctypes.byref(self._length)
        )
        self._variable = ctypes.c_void_p.in_dll(libc, "stderr")
        self._former = self._variable.value

    def begin(self) -> None:
        self._former, self._variable.value = self._variable.value, self.handle

    def end(self, pattern: re.Pattern[bytes]) -> None:
        self._variable.value = self._former
        said = self._take()
        lines = said.splitlines(keepends=True)
        rest = [line for line in lines if not pattern.fullmatch(line.rstrip())]
        if rest:
            with suppress(OSError):  # closed, as it may be in a service
                os.write(2, b"".join(rest))

    def _take(self) -> bytes:
        """Return what was written, and begin anew."""
        stream = ctypes.c_void_p(self.handle)
        self._libc.flockfile(stream)
        try:
            self._libc.fflush(stream)
            said = ctypes.string_at(self._text, self._length.value)
            self._libc.fseek(stream, ctypes.c_long(0), 0)
        finally:
            self._libc.funlockfile(stream)
        return said


def _gnu_libc() -> Any:
    """Return the C library if it is GNU's: others keep `stderr` where it is fixed."""
    try:
        if os.confstr("CS_GNU_LIBC_VERSION") is None:
            return None
    except (AttributeError, ValueError, OSError):
        return None
    return ctypes.CDLL(None)
