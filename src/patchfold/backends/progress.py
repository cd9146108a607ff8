"""Progress of work in Python: stages with their times, and what is done of each.

A fit reports its stages (`report`, `begin_stage`), and `threads.py` every block of work
that is done (`watched`). `displays.py` shows it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, TypeVar

from .displays import Calls, Display, Progress, in_notebook, open_display

T = TypeVar("T")

Watcher = Callable[[str, float, float], None]
StageWatcher = Callable[[str, int, int], None]

WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)

_STAGES: ContextVar[StageWatcher | None] = ContextVar("stages", default=None)

_CURRENT: ContextVar[_Reporter | None] = ContextVar("reporter", default=None)


@contextmanager
def report(name: str, verbose: Any) -> Iterator[None]:
    """Report the stages that begin inside, unless a report is on already.

    Parameters
    ----------
    name : str
        Class of the estimator.
    verbose : bool or callable
        False reports nothing, True to the screen, a callable gets `Progress`.

    Examples
    --------
    >>> with report("Model", True):
    ...     begin_stage("neighbours", ["neighbours", "edges"])
    ...     note("2 columns left out")
    ...     begin_stage("edges", ["neighbours", "edges"])
    Model: 2 columns left out
    Model: neighbours (1 of 2), 0.00 s
    Model: edges (2 of 2), 0.00 s
    """
    if not (verbose or callable(verbose)) or _CURRENT.get() is not None:
        yield
        return
    display: Display = Calls(verbose) if callable(verbose) else open_display(name)
    reporter = _Reporter(name, display)
    token = _CURRENT.set(reporter)
    try:
        with watch_blocks(reporter.part, reporter.stage):
            yield
        reporter.end()
    finally:
        _CURRENT.reset(token)
        display.close()


def note(message: str) -> None:
    """Say something where progress is reported, and nothing elsewhere."""
    reporter = _CURRENT.get()
    if reporter is not None:
        reporter.display.show(Progress(reporter.name, message=message))


class _Reporter:
    """Times stages, and tells a display of them."""

    def __init__(self, name: str, display: Display) -> None:
        self.name, self.display = name, display
        self._stage: tuple[str, int, int] | None = None
        self._begin, self._done, self._lock = 0.0, 0.0, Lock()

    def stage(self, name: str, done: int, total: int) -> None:
        """Note that a stage begins, after how many of how many."""
        self.end()
        self._stage = name, done + 1, total
        self._begin, self._done = time.perf_counter(), 0.0
        self._show(0.0)

    def part(self, name: str, done: float, total: float) -> None:
        """Note what is done of the work of a stage."""
        if self._stage is None or total <= 1:
            return
        with self._lock:  # parts are told by threads
            self._done = max(self._done, min(done / total, 0.99))
            self._show(self._done)

    def end(self) -> None:
        """Note that the stage has ended."""
        if self._stage is not None:
            self._show(1.0)
            self._stage = None

    def _show(self, done: float) -> None:
        assert self._stage is not None
        seconds = time.perf_counter() - self._begin
        self.display.show(Progress(self.name, *self._stage, done, seconds))


@contextmanager
def watch_blocks(
    watcher: Watcher, stages: StageWatcher | None = None
) -> Iterator[None]:
    """Call `watcher` after every block: with the module, the blocks done, and all.

    The module is the one that asked for the work. Blocks within a block are not
    reported. `stages` is called when a stage begins: with its name, the number of
    stages done, and that of all.

    Examples
    --------
    >>> from patchfold.backends.threads import BLOCK_BYTES, map_blocks
    >>> with watch_blocks(lambda module, done, total: print(f"{done} of {total}")):
    ...     parts = map_blocks(lambda block: block.stop, 3, BLOCK_BYTES / 2)
    0 of 2
    1 of 2
    2 of 2
    """
    blocks, begun = WATCHER.set(watcher), _STAGES.set(stages)
    try:
        yield
    finally:
        WATCHER.reset(blocks)
        _STAGES.reset(begun)


def begin_stage(name: str, stages: Sequence[str]) -> None:
    """Report to the watcher that a stage of a fit begins."""
    watcher = _STAGES.get()
    if watcher is not None:
        watcher(name, stages.index(name), len(stages))


@contextmanager
def without_progress() -> Iterator[None]:
    """Report no stages: those of a fit inside a fit are not its own."""
    token = _STAGES.set(None)
    try:
        yield
    finally:
        _STAGES.reset(token)


def tell_part(name: str, done: float, total: float) -> None:
    """Report to the watcher how far work is that has no blocks."""
    watcher = WATCHER.get()
    if watcher is not None:
        watcher(name, done, total)


def tell_each(name: str, items: Sequence[T]) -> Iterator[T]:
    """Yield items in turn, and report these to the watcher instead of their blocks.

    Examples
    --------
    >>> from patchfold.backends.threads import BLOCK_BYTES, map_blocks
    >>> with watch_blocks(lambda name, done, total: print(name, done, "of", total)):
    ...     for item in tell_each("letters", "ab"):
    ...         parts = map_blocks(lambda block: block.stop, 3, BLOCK_BYTES / 2)
    letters 0 of 2
    letters 1 of 2
    letters 2 of 2
    """
    for done, item in enumerate(items):
        tell_part(name, done, len(items))
        token = WATCHER.set(None)
        try:
            yield item
        finally:
            WATCHER.reset(token)
    tell_part(name, len(items), len(items))


def watched(
    function: Callable[[slice], T], total: int, watcher: Watcher
) -> Callable[[slice], T]:
    """Return a function that does the same and reports every block that is done."""
    module = getattr(function, "func", function).__module__  # of a partial, its own
    count, lock = itertools.count(1), Lock()
    watcher(module, 0, total)

    def work(block: slice) -> T:
        token = WATCHER.set(None)
        try:
            result = function(block)
        finally:
            WATCHER.reset(token)
        with lock:  # threads tell in order
            watcher(module, next(count), total)
        return result

    return work


@contextmanager
def counted(name: str, what: str) -> Iterator[Callable[[float, float], None]]:
    """Show a bar over pieces of work in a notebook, and nothing elsewhere.

    It lends a function of the pieces that are done, and all there are.
    """
    if not in_notebook():
        yield lambda done, total: None
        return
    display, begin = open_display(name), time.perf_counter()

    def advance(done: float, total: float) -> None:
        seconds = time.perf_counter() - begin
        display.show(Progress(name, what, 1, 1, done / max(total, 1), seconds))

    try:
        yield advance
    finally:
        display.close()
