"""Progress of work in Python: stages with their times, on a bar, in lines or by calls.

A bar is drawn by Rich or tqdm, whichever is installed, in a terminal or a notebook. A
line for each finished stage is printed everywhere.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Lock
from typing import Any, Protocol

from .threads import watch_blocks


@dataclass(frozen=True)
class Progress:
    """How far a fit is; what a callable `verbose` gets.

    Attributes
    ----------
    estimator : str
        Class of the estimator.
    stage : str
        The stage that runs.
    number, n_stages : int
        Its number, from 1, and how many there are.
    done : float
        Part of the stage that is done, from 0 to 1; 1 when it has ended.
    seconds : float
        Time since the stage began.
    message : str
        Something to say, such as what columns were encoded; no stage runs then.
    """

    estimator: str
    stage: str = ""
    number: int = 0
    n_stages: int = 0
    done: float = 0.0
    seconds: float = 0.0
    message: str = ""

    def __str__(self) -> str:
        if self.message:
            return f"{self.estimator}: {self.message}"
        place = f"{self.stage} ({self.number} of {self.n_stages})"
        if self.done == 1:
            return f"{self.estimator}: {place}, {self.seconds:.2f} s"
        return f"{self.estimator}: {place}, {100 * self.done:.0f} %"


class Display(Protocol):
    """What shows progress."""

    def show(self, step: Progress) -> None:
        """Show how far the work is."""
        ...

    def close(self) -> None:
        """End."""
        ...


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
    >>> from patchfold.backends.threads import begin_stage
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
    display: Display = _Calls(verbose) if callable(verbose) else open_display(name)
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


class _Calls:
    """Gives every step to a callable."""

    def __init__(self, call: Callable[[Progress], Any]) -> None:
        self.show = call

    def close(self) -> None:
        """Nothing is to be ended."""


class _Lines:
    """Prints a line for each stage that has ended."""

    def show(self, step: Progress) -> None:
        """Print the line."""
        if step.message or step.done == 1:
            print(step, flush=True)

    def close(self) -> None:
        """Nothing is to be ended."""


class _RichBar:
    """A bar of Rich: all stages together, and the one that runs beside it."""

    def __init__(self, name: str) -> None:
        from rich import progress

        self._bar = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TimeElapsedColumn(),
            transient=True,
        )
        self._task = self._bar.add_task(name, total=None)
        self._bar.start()

    def show(self, step: Progress) -> None:
        """Move the bar; print a line for a stage that has ended."""
        if step.message or step.done == 1:
            self._bar.console.print(str(step), markup=False, highlight=False)
        if step.stage:
            self._bar.update(
                self._task,
                description=f"{step.estimator}: {step.stage}",
                completed=step.number - 1 + step.done,
                total=step.n_stages,
            )

    def close(self) -> None:
        """Take the bar away."""
        self._bar.stop()


class _TqdmBar:
    """A bar of tqdm."""

    def __init__(self, name: str) -> None:
        from tqdm.auto import tqdm

        self._bar = tqdm(total=1.0, desc=name, leave=False, bar_format=_TQDM)

    def show(self, step: Progress) -> None:
        """Move the bar; print a line for a stage that has ended."""
        if step.message or step.done == 1:
            self._bar.write(str(step))
        if step.stage:
            self._bar.set_description_str(
                f"{step.estimator}: {step.stage}", refresh=False
            )
            self._bar.n = (step.number - 1 + step.done) / step.n_stages
            self._bar.refresh()

    def close(self) -> None:
        """Take the bar away."""
        self._bar.close()


_TQDM = "{desc} {percentage:3.0f}%|{bar}| {elapsed}"


def in_notebook() -> bool:
    """Say whether the code runs in a cell of a Jupyter notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def open_display(name: str) -> Display:
    """Return what shows progress here: a bar where one can be drawn, else lines."""
    if in_notebook() or sys.stdout.isatty():
        if find_spec("rich") is not None:
            return _RichBar(name)
        if find_spec("tqdm") is not None:
            return _TqdmBar(name)
    return _Lines()


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
