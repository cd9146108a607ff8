"""Slices of samples, run in threads that last for a fit.

How samples are cut depends on their number only, so that sums over slices have the same
bits for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from types import TracebackType
from typing import Self, TypeVar

from ...backends.threads import count_threads

T = TypeVar("T")

LEAST = 4096
"""Samples of a slice at least: fewer are done before another thread has begun."""

MOST = 16
"""Slices at most."""


def cut(n: int, most: int = MOST) -> list[slice]:
    """Cut n samples into slices of nearly equal length.

    Examples
    --------
    >>> cut(5)
    [slice(0, 5, None)]
    >>> len(cut(10_000)), len(cut(1_000_000)), len(cut(1_000_000, 4))
    (2, 16, 4)
    """
    count = min(max(1, n // LEAST), most)
    ends = [n * part // count for part in range(count + 1)]
    return [slice(*pair) for pair in pairwise(ends)]


class Crew:
    """Threads that run a function on slices; use it in a `with` statement.

    The thread that asks is one of them: it takes slices, as the others do, until none
    is left. To hand every slice over, and wait, would take a good part of a step.
    """

    def __init__(self, n_jobs: int | None, n_samples: int) -> None:
        self.n_threads = min(count_threads(n_jobs), len(cut(n_samples)))
        others = self.n_threads - 1
        self._pool = ThreadPoolExecutor(others) if others > 0 else None

    def run(self, function: Callable[[slice], T], slices: list[slice]) -> list[T]:
        """Return the results of a function on slices, in their order."""
        if self._pool is None or len(slices) == 1:
            return [function(rows) for rows in slices]
        left, results = list(enumerate(slices))[::-1], {}

        def work() -> None:
            while left:
                try:
                    number, rows = left.pop()
                except IndexError:  # another thread was faster
                    return
                results[number] = function(rows)

        others = min(self.n_threads, len(slices)) - 1
        tasks = [self._pool.submit(work) for _ in range(others)]
        try:
            work()
        finally:
            left.clear()
            wait(tasks)
        for task in tasks:
            task.result()
        return [results[number] for number in range(len(slices))]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
