"""Kinds of rows of the bench, and how each is timed and judged."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .measure import Measurement, measure, measure_recall, measure_stages

FLOOR = "the machine's floor"
"""What stages are compared with: flops and bytes over the peaks of the machine."""

MEMORY = 16 * 2**30
"""Peak memory that a growth row may reach."""


@dataclass(frozen=True)
class Row:
    """What every row has.

    Attributes
    ----------
    what : str
        The row's name.
    lasts : (float, float)
        Seconds of the row, processes and data included, in a full and in a quick run on
        the two cores of docs/performance.md. Elsewhere only their shares mean
        something, and outside the tables nothing.
    """

    what: str
    lasts: tuple[float, float] = field(default=(0.0, 0.0), kw_only=True)

    def left_out(self, quick: bool) -> str:
        """Say why the row is not run; nothing if it is."""
        return ""

    def expected(self, quick: bool) -> float:
        """Return the seconds that the row lasts, if it is run at all."""
        return 0.0 if self.left_out(quick) else self.lasts[quick]


@dataclass(frozen=True)
class Versus(Row):
    """Ours against a peer on the same data.

    Attributes
    ----------
    ours, peer : str
        Tasks.
    n : int
        Samples.
    target : float
        Largest ratio of our time to theirs.
    quick : int or None
        Samples in a quick run; None leaves the row out of it.
    repeats : int
        Runs of each, in turns.
    needs : str
        A package the peer is from, where it is optional.
    recall : float or None
        Least share of the true neighbours that our search must find, where it is not
        exact.
    """

    ours: str
    peer: str
    n: int
    target: float
    quick: int | None
    repeats: int = 1
    needs: str = ""
    recall: float | None = None

    def left_out(self, quick: bool) -> str:
        """Say why the row is not run; nothing if it is."""
        if quick and self.quick is None:
            return "left out of a quick run"
        if self.needs and importlib.util.find_spec(self.needs) is None:
            return f"{self.needs} is not installed"
        return ""


@dataclass(frozen=True)
class Limit(Row):
    """Ours against the clock: at most this many seconds."""

    task: str
    seconds: float
    repeats: int = 5
    n: int = 1
    quick: int = 1


@dataclass(frozen=True)
class Growth(Row):
    """The same task at several sizes: the exponent between the last two is judged.

    Attributes
    ----------
    task : str
        What is run.
    sizes, quick : tuple of int
        Numbers of samples, in a full and in a quick run.
    target : float
        Largest exponent.
    repeats : int
        Runs at each size, the best of which counts.
    """

    task: str
    sizes: tuple[int, ...]
    target: float
    quick: tuple[int, ...]
    repeats: int = 2


@dataclass(frozen=True)
class Stages(Row):
    """The stages of a fit beside the machine's floor, in one thread; not judged.

    Attributes
    ----------
    n, quick : int
        Samples, in a full and in a quick run.
    """

    n: int
    quick: int


@dataclass(frozen=True)
class Result:
    """One line of the table, as it is printed and written.

    Attributes
    ----------
    what, peer : str
        What was timed, and against what: a peer, itself, or a number of seconds.
    n : int
        Samples.
    ours_s, peer_s : float or None
        Seconds by the clock.
    ratio, cpu_ratio : float or None
        Ours over theirs, by the clock and in processor time; of a growth row, the
        exponents.
    target : float
        The most it may be; 0 where nothing is judged.
    verdict : str
        "met", "not met", or why there is none.
    """

    what: str
    peer: str
    n: int
    ours_s: float | None
    peer_s: float | None
    ratio: float | None
    cpu_ratio: float | None
    target: float
    verdict: str


def compare(row: Versus, *, quick: bool = False, n_jobs: int = -1) -> Result:
    """Time one row; a run that fails is a verdict, not the end."""
    n = row.quick if quick and row.quick else row.n

    def without(reason: str) -> Result:
        return Result(row.what, row.peer, n, None, None, None, None, row.target, reason)

    reason = row.left_out(quick)
    if reason:
        return without(reason)
    recall = 1.0
    try:
        ours, peer = measure(
            [(row.ours, n), (row.peer, n)], repeats=row.repeats, n_jobs=n_jobs
        )
        if row.recall is not None:
            recall = measure_recall(n, n_jobs=n_jobs)
    except RuntimeError as error:
        return without(f"failed: {error}")
    ratio = ours.seconds / peer.seconds
    met = ratio <= row.target and recall >= (row.recall or 0)
    found = "" if row.recall is None else f"; recall {recall:.3f}"
    return Result(
        row.what,
        row.peer,
        n,
        ours.seconds,
        peer.seconds,
        ratio,
        max(ours.cpu_seconds, 0.01) / max(peer.cpu_seconds, 0.01),
        row.target,
        ("met" if met else "not met") + found,
    )


def time_limit(row: Limit, *, quick: bool = False, n_jobs: int = -1) -> Result:
    """Time a task that has no peer but the clock."""
    seconds, n = None, row.quick if quick else row.n
    try:
        (took,) = measure([(row.task, n)], repeats=row.repeats, n_jobs=n_jobs)
        seconds = took.seconds
        verdict = "met" if seconds <= row.seconds else "not met"
    except RuntimeError as error:
        verdict = f"failed: {error}"
    return Result(
        row.what, "seconds", n, seconds, None, None, None, row.seconds, verdict
    )


def time_stages(row: Stages, *, quick: bool = False) -> list[Result]:
    """Time the stages of a fit; a ratio is the time over the floor."""
    n = row.quick if quick else row.n
    try:
        found = measure_stages(n, n)
    except RuntimeError as error:
        failure = f"failed: {error}"
        return [Result(row.what, FLOOR, n, None, None, None, None, 0, failure)]
    return [
        Result(f"stage: {name}", FLOOR, n, took, floor, None, took / floor, 0, "")
        for name, took, floor in found
    ]


def grow(
    row: Growth, *, quick: bool = False, n_jobs: int = -1
) -> Iterator[Measurement | str]:
    """Time a task at each of its sizes; if one fails, yield why and stop."""
    for n in row.quick if quick else row.sizes:
        try:
            yield measure([(row.task, n)], repeats=row.repeats, n_jobs=n_jobs)[0]
        except RuntimeError as error:
            yield f"failed at n={n}: {error}"
            return


def judge(row: Growth, points: list[Measurement], failure: str = "") -> Result:
    """Return the exponent between the last two sizes as a line of the table."""
    if failure or len(points) < 2:
        return Result(
            row.what, "itself", 0, None, None, None, None, row.target, failure
        )
    small, large = points[-2:]
    peak = large.peak_bytes
    exponent = _exponent(small, large, lambda m: m.seconds)
    verdict = "met" if exponent <= row.target and peak < MEMORY else "not met"
    return Result(
        row.what,
        f"itself at {small.n:,}",
        large.n,
        large.seconds,
        small.seconds,
        exponent,
        _exponent(small, large, lambda m: m.cpu_seconds),
        row.target,
        f"{verdict}; peak {peak / 2**30:.1f} GiB",
    )


def _exponent(
    small: Measurement, large: Measurement, of: Callable[[Measurement], float]
) -> float:
    # The clock of processor time ticks in hundredths of a second.
    ratio = max(of(large), 0.01) / max(of(small), 0.01)
    return math.log(ratio) / math.log(large.n / small.n)
