"""Results -> files: a table in Markdown, records in CSV, a picture of growth."""

from __future__ import annotations

import csv
import io
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from ...backends.backend import Backend
from ...backends.environment import speed_line
from ...backends.files import write_bytes, write_text
from .catalogue import GROWTH, KIND_ROWS, LIMITS, STAGES, VERSUS
from .device import ROWS, describe_device, time_row
from .measure import Measurement
from .rows import (
    Growth,
    Limit,
    Result,
    Row,
    Stages,
    Versus,
    compare,
    grow,
    judge,
    time_limit,
    time_stages,
)

Progress = Callable[[float, float, float], None]

R = TypeVar("R", bound=Row)


def run_bench(
    out: Path,
    *,
    quick: bool = False,
    only: str = "",
    n_jobs: int = -1,
    progress: Progress = lambda done, total, coming: None,
) -> list[Result]:
    """Run the table and write `bench.csv`, `growth.csv`, `bench.md` and `growth.png`.

    Parameters
    ----------
    out : Path
        An existing folder. Its files are replaced whole, after every row.
    quick : bool
        Smaller sizes, and rows that take minutes left out.
    only : str
        Run the rows whose name contains this text, in any case.
    n_jobs : int
        Threads, ours and the peers'.
    progress : callable
        Called with the seconds expected of the rows that are done, of all, and of the
        row that comes.

    Returns
    -------
    list of Result
    """
    conditions = describe_machine(quick, n_jobs)
    results: list[Result] = []
    points: list[Measurement] = []
    rows: tuple[Versus | Limit | Growth | Stages, ...]
    rows = (*VERSUS, *KIND_ROWS, *LIMITS, *GROWTH, *STAGES)
    for row in _told(_pick(rows, only), quick, progress):
        if isinstance(row, Versus):
            results.append(compare(row, quick=quick, n_jobs=n_jobs))
        elif isinstance(row, Limit):
            results.append(time_limit(row, quick=quick, n_jobs=n_jobs))
        elif isinstance(row, Stages):
            results += time_stages(row, quick=quick)
        else:
            points += _grow(row, results, quick=quick, n_jobs=n_jobs)
        _write_tables(out, results, points, conditions)
    _write_picture(out, points)
    return results


def _grow(
    row: Growth, results: list[Result], *, quick: bool, n_jobs: int
) -> list[Measurement]:
    """Return the times of a task that grows; add the verdict, where there is one."""
    curve: list[Measurement] = []
    failure = ""
    for point in grow(row, quick=quick, n_jobs=n_jobs):
        if isinstance(point, str):
            failure = point
        else:
            curve.append(point)
    if row.what:
        results.append(judge(row, curve, failure))
    return curve


def _pick(rows: Sequence[R], only: str) -> Sequence[R]:
    """Return the rows whose name contains a text; all if it is empty."""
    picked = [row for row in rows if only.lower() in row.what.lower()]
    if not picked:
        names = "; ".join(row.what for row in rows if row.what)
        raise ValueError(f"only={only!r} is in the name of no row. They are: {names}.")
    return picked


def _told(rows: Sequence[R], quick: bool, progress: Progress) -> Iterator[R]:
    """Give the rows one after another, and tell how much of their time has passed."""
    shares = [row.expected(quick) for row in rows]
    total = float(sum(shares))
    for done, row in enumerate(rows):
        progress(sum(shares[:done]), total, shares[done])
        yield row
    progress(total, total, 0.0)


def run_device_bench(
    out: Path,
    backend: Backend,
    *,
    quick: bool = False,
    only: str = "",
    progress: Progress = lambda done, total, coming: None,
) -> list[Result]:
    """Time fits on a device, and write `device.csv` and `device.md`.

    Parameters
    ----------
    out : Path
        An existing folder.
    backend : Backend
        The device.
    quick : bool
        Smaller sizes.
    only : str
        Run the rows whose name contains this text, in any case.
    progress : callable
        Called with the seconds expected of the rows that are done, of all, and of the
        row that comes.

    Returns
    -------
    list of Result
    """
    results: list[Result] = []
    for row in _told(_pick(ROWS, only), quick, progress):
        results.append(time_row(row, backend, n=row.quick if quick else row.n))
        write_text(out / "device.csv", _as_csv(Result, results))
        text = f"# Speed\n\n{describe_device(backend)}\n\n{format_table(results)}\n"
        write_text(out / "device.md", text)
    return results


def describe_machine(quick: bool, n_jobs: int) -> str:
    """Say on what, with what and under which load the run began."""
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn")
    )
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    kind = "A quick run" if quick else "A full run"
    return (
        f"{kind} on {os.cpu_count()} cores ({platform.machine()}), n_jobs={n_jobs}, "
        f"load {load} at its start; Python {platform.python_version()}, {packages}; "
        f"{speed_line()}."
    )


def format_table(results: Iterable[Result]) -> str:
    """Return the table in Markdown.

    Examples
    --------
    >>> row = Result("elap", "umap", 100, 1.0, 4.0, 0.25, None, 0.4, "met")
    >>> print(format_table([row]))
    | what | n | against | ours, s | peer, s | ratio | in CPU time | target | |
    | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |
    | elap | 100 | umap | 1.00 | 4.00 | 0.250 | | 0.4 | met |
    """
    lines = [
        "| what | n | against | ours, s | peer, s | ratio | in CPU time | target | |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in results:
        cells = (
            row.what,
            f"{row.n:,}" if row.n > 1 else "",
            row.peer,
            _number(row.ours_s, ".2f" if (row.ours_s or 1) >= 0.1 else ".2g"),
            _number(row.peer_s, ".2f" if (row.peer_s or 1) >= 0.1 else ".2g"),
            _number(row.ratio, ".3g" if (row.ratio or 1) < 0.01 else ".3f"),
            _number(row.cpu_ratio, ".3g" if (row.cpu_ratio or 1) < 0.01 else ".3f"),
            f"{row.target:g}" if row.target else "",
            row.verdict,
        )
        lines.append(
            "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"
        )
    return "\n".join(lines)


def _number(value: float | None, how: str) -> str:
    return "" if value is None else format(value, how)


def _write_tables(
    out: Path, results: list[Result], points: list[Measurement], conditions: str
) -> None:
    write_text(out / "bench.csv", _as_csv(Result, results))
    write_text(out / "growth.csv", _as_csv(Measurement, points))
    text = (
        f"# Speed\n\n{conditions}\n\nA ratio is our time over the peer's on the same "
        "data in the same process; of a growth row, against itself, the exponent of "
        "n; of a row in seconds there is none. Recall is the share of the true "
        "neighbours that were found. By the clock, and in processor time of all "
        "threads. A stage is compared with what its flops and bytes would take at the "
        "measured peaks of one core, in processor time of one thread.\n\n"
        f"{format_table(results)}\n"
    )
    write_text(out / "bench.md", text)


def _as_csv(kind: type, records: Iterable[Result | Measurement]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, [field.name for field in fields(kind)])
    writer.writeheader()
    writer.writerows(asdict(record) for record in records)
    return file.getvalue()


def _write_picture(out: Path, points: list[Measurement]) -> None:
    """Draw time and peak memory against n, both axes logarithmic."""
    from matplotlib.figure import Figure

    from ...plotting import COLORS

    figure = Figure(figsize=(9, 4), layout="constrained")
    time, memory = figure.subplots(1, 2)
    tasks = dict.fromkeys(point.task for point in points)
    for task, color in zip(tasks, COLORS, strict=False):
        curve = [point for point in points if point.task == task]
        sizes = [point.n for point in curve]
        style = {"marker": "o", "color": color, "label": task}
        time.loglog(sizes, [point.seconds for point in curve], **style)
        memory.loglog(sizes, [point.peak_bytes / 2**30 for point in curve], **style)
    time.set(xlabel="samples n", ylabel="seconds")
    memory.set(xlabel="samples n", ylabel="peak memory of the process, GiB")
    if points:
        figure.legend(
            *time.get_legend_handles_labels(), loc="outside upper center", ncols=3
        )
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=150)
    write_bytes(out / "growth.png", picture.getvalue())
