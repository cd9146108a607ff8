"""What shows progress: a bar, lines or calls.

In a terminal Rich or tqdm draws a bar, whichever is installed. In a notebook the output
of the cell has one, which needs no widgets. A line for each finished stage is printed
everywhere.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol


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


class Calls:
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
        from tqdm import tqdm

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


class _CellBar:
    """A bar in the output of a notebook's cell, below the lines of finished stages.

    The output is replaced at each step: a notebook keeps its last state only.
    """

    def __init__(self, name: str) -> None:
        from IPython.display import display

        self._lines: list[str] = []
        self._drawn = 0.0
        self._output = display(_as_text(name), raw=True, display_id=True)

    def show(self, step: Progress) -> None:
        """Draw the bar, unless that was done a moment ago; add a line for a stage."""
        now = time.perf_counter()
        has_ended = bool(step.message) or step.done == 1
        if has_ended:
            self._lines.append(str(step))
        if has_ended or now - self._drawn > _PAUSE:
            self._drawn = now
            self._draw(step)

    def _draw(self, step: Progress) -> None:
        lines = list(self._lines)
        if step.stage and step.done < 1:
            part = round(_WIDTH * (step.number - 1 + step.done) / step.n_stages)
            lines.append(f"[{'#' * part}{'.' * (_WIDTH - part)}] {step}")
        self._output.update(_as_text("\n".join(lines)), raw=True)

    def close(self) -> None:
        """Take the bar away."""
        self._output.update(_as_text("\n".join(self._lines)), raw=True)


def _as_text(words: str) -> dict[str, str]:
    return {"text/plain": words}


_PAUSE = 0.1
"""Seconds between two drawings of a bar in a notebook."""

_WIDTH = 30
"""Marks of that bar."""


def in_notebook() -> bool:
    """Say whether the code runs in a cell of a Jupyter notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def open_display(name: str) -> Display:
    """Return what shows progress here: a bar where one can be drawn, else lines."""
    if in_notebook():
        return _CellBar(name)
    if sys.stdout.isatty():
        if find_spec("rich") is not None:
            return _RichBar(name)
        if find_spec("tqdm") is not None:
            return _TqdmBar(name)
    return _Lines()
