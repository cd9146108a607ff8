"""Columns beside a bar: how much is done, and the time left."""

from __future__ import annotations

from datetime import timedelta

from rich.progress import ProgressColumn, Task
from rich.text import Text


class Pace:
    """How long work takes, counted from the first report.

    Examples
    --------
    >>> pace = Pace()
    >>> pace.hear(0, 0, 10, 1)
    >>> pace.hear(30, 3, 10, 1)
    >>> pace.left(30), pace.left(34), pace.left(99)
    (70.0, 66.0, 60.0)
    """

    def __init__(self) -> None:
        self._start: tuple[float, float] | None = None

    def hear(self, now: float, done: float, total: float, piece: float) -> None:
        """Take the work that is done, all work, and the size of the next piece."""
        if self._start is None:
            self._start = now, done  # what an earlier run did is no work of this one
        self._told, self._done, self._total, self._piece = now, done, total, piece

    def left(self, now: float) -> float | None:
        """Return the seconds left; None as long as nothing is done.

        They count down while a piece lasts, but not into those that follow it.
        """
        if self._start is None or self._done <= self._start[1]:
            return None
        each = (self._told - self._start[0]) / (self._done - self._start[1])
        gone = min(now - self._told, self._piece * each)
        return (self._total - self._done) * each - gone


class Done(ProgressColumn):
    """Pieces, or percent where they are weighed; nothing where the total is unknown."""

    def render(self, task: Task) -> Text:
        """Return it as text."""
        if task.total is None:
            return Text("")
        if isinstance(task.total, float):
            words = f"{task.percentage:.0f} %"
        else:
            words = f"{task.completed:.0f}/{task.total:.0f}"
        return Text(words, style="progress.download", justify="right")


class TimeLeft(ProgressColumn):
    """The time left by a task's pace; nothing where it has none."""

    def render(self, task: Task) -> Text:
        """Return it as text."""
        pace = task.fields["pace"]
        if pace is None or task.total is None:
            return Text("")
        left = pace.left(task.get_time())
        words = "-:--:--" if left is None else str(timedelta(seconds=round(left)))
        return Text(words, style="progress.remaining")
