"""Progress as lines, for where there is no terminal: a log, a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

EARLY = 0.1
"""Before this part is done, the pace does not yet tell the time left."""


class ProgressLines:
    r"""Writes how much is done, and the time left, every few seconds.

    Parameters
    ----------
    what : str
        What is going on.
    every : float, default=5.0
        Seconds between two lines; work that takes less writes none.
    clock : callable, default=time.monotonic
        Returns the time in seconds.
    stream : file, default=None
        Where to write; None is the standard error.

    Examples
    --------
    >>> import io
    >>> times = iter([0.0, 6.0, 7.0, 12.0])
    >>> out = io.StringIO()
    >>> lines = ProgressLines("comparing", clock=lambda: next(times), stream=out)
    >>> lines(0, 80), lines(4, 80), lines(10, 80), lines(20, 80)
    (None, None, None, None)
    >>> print(out.getvalue(), end="")
    comparing: 5 %, 6 s so far
    comparing: 25 %, 12 s so far, about 36 s left
    """

    def __init__(
        self,
        what: str,
        every: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
        stream: TextIO | None = None,
    ) -> None:
        self._what, self._every, self._clock = what, every, clock
        self._stream = stream
        self._start: float | None = None
        self._last: float | None = None

    def __enter__(self) -> ProgressLines:
        return self

    def __exit__(self, *error: Any) -> None:
        """Write nothing more."""

    def __call__(self, done: float, total: float) -> None:
        """Note how much is done of all."""
        now = self._clock()
        if self._start is None or self._last is None:
            self._start = self._last = now
        if now - self._last < self._every or not done:
            return
        self._last = now
        gone = now - self._start
        line = f"{self._what}: {100 * done / total:.0f} %, {gone:.0f} s so far"
        if done >= EARLY * total:
            line += f", about {gone * (total - done) / done:.0f} s left"
        print(line, file=self._stream or sys.stderr, flush=True)
