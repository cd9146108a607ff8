"""What the commands share: options, the one line on bad input, the bar."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from os.path import realpath
from pathlib import Path
from typing import Annotated, Any

import typer

Input = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="a table (CSV, Parquet, Feather, ARFF, Excel), - for the standard input, "
        "or a dataset's name",
    ),
]
Target = Annotated[
    str, typer.Option(help="the column of the classes, or of numbers to predict")
]
Drop = Annotated[str, typer.Option(help="columns to leave out, separated by commas")]
Id = Annotated[str, typer.Option(help="the column that names the samples")]
Categories = Annotated[
    str, typer.Option(help="how to turn categories into numbers: one-hot or ordinal")
]
Scale = Annotated[
    bool, typer.Option(help="scale numbers to mean 0 and variance 1, or not")
]
Impute = Annotated[
    str,
    typer.Option(
        help="how to fill missing cells: median fills numbers with the median, "
        "categories with the most frequent one"
    ),
]
Sep = Annotated[
    str, typer.Option(help="separator of a text file; recognised if not given")
]
Decimal = Annotated[str, typer.Option(help="decimal mark: . or ,")]
Encoding = Annotated[
    str, typer.Option(help="encoding of a text file, if it is not recognised")
]
Dates = Annotated[str, typer.Option(help="order in dates like 1/2/2020: dmy or mdy")]
Missing = Annotated[
    str,
    typer.Option(
        help="more words or numbers for a missing cell, separated by commas; NA, NULL "
        "and others are known"
    ),
]
Keep = Annotated[
    str,
    typer.Option(help="columns to use although they are doubted, separated by commas"),
]
Auto = Annotated[
    bool, typer.Option("--auto", help="decide about doubtful columns, and print how")
]
Cluster = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="share the work among the workers of a Dask cluster: address of its "
        "scheduler; local starts workers on this machine",
    ),
]
Device = Annotated[
    str, typer.Option(help="compute with torch on this device: cuda, cuda:1, ...")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="print errors only")]
AsJson = Annotated[bool, typer.Option("--json", help="print what was done as JSON")]


def fail(message: str) -> typer.Exit:
    """Print one line and return the exit to raise: status 2."""
    typer.echo(f"patchfold: {printable(' '.join(message.split()))}", err=True)
    return typer.Exit(2)


def undecided(error: Any) -> typer.Exit:
    """Print what must be decided about columns, and the command that decides it."""
    told = error.tell(decided_command(error.decisions)).splitlines()
    for number, line in enumerate(told):
        typer.echo(printable(line if number else f"patchfold: {line}"), err=True)
    return typer.Exit(2)


TYPED: ContextVar[Sequence[str]] = ContextVar("TYPED", default=())
"""The words of the command that runs."""


def decided_command(decisions: dict[str, Any]) -> str:
    """Return the command that runs, with options that decide what is in doubt."""
    from ..tables.naming import join_names, split_names, typed

    words, added = list(TYPED.get()), []
    for name, value in decisions.items():
        option = f"--{name}"
        said: list[str] = []
        if isinstance(value, list):
            while option in words:
                place = words.index(option)
                said += split_names(words[place + 1])
                del words[place : place + 2]
            for word in [w for w in words if w.startswith(f"{option}=")]:
                said += split_names(word.partition("=")[2])
                words.remove(word)
            value = join_names(dict.fromkeys([*said, *value]))
        added += [option, value]
    place = words.index("--") if "--" in words else len(words)
    words[place:place] = added
    return " ".join(["patchfold", *map(typed, words)])


def printable(text: str) -> str:
    """Write out characters that control a terminal: names come from files."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii")
        for sign in text
    )


def describe(error: BaseException) -> str:
    """Say what went wrong, and with which file."""
    from ..exceptions import MemoryBudgetError

    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, MemoryError) and not isinstance(error, MemoryBudgetError):
        words = f" ({error})" if str(error) else ""
        return (
            f"there is not enough memory{words}: take fewer rows or columns, or a "
            "smaller number of neighbours (--neighbors)."
        )
    return str(error) or type(error).__name__


@contextmanager
def one_line_errors(interrupted: str = "nothing was written") -> Iterator[None]:
    """Turn bad input into one line and status 2, an interrupt into status 130."""
    try:
        yield
    except (ValueError, OSError, ImportError, MemoryError) as error:
        if hasattr(error, "decisions"):
            raise undecided(error) from error
        raise fail(describe(error)) from error
    except KeyboardInterrupt:
        typer.echo(f"interrupted; {interrupted}", err=True)
        raise typer.Exit(130) from None


@contextmanager
def spread_over(cluster: str) -> Iterator[Any]:
    """Spread the work over a cluster, and lend its client; None if none is named."""
    if not cluster:
        yield None
        return
    from ..cluster.connection import spread

    with spread(cluster) as client:
        yield client


def reading_options(
    sep: str, decimal: str, encoding: str, dates: str, missing: str
) -> Any:
    """Return the options of a file that the user has set."""
    from ..tables.naming import split_names
    from ..tables.reading import ReadOptions

    sep = {"tab": "\t", "\\t": "\t"}.get(sep, sep)
    words = split_names(missing)
    return ReadOptions(
        sep or None, encoding or None, decimal or None, dates or None, words
    )


def check_out(folder: Path) -> None:
    """Refuse, before any work is done, a folder that could not be made."""
    for path in (folder, *folder.parents):
        if path.is_dir():
            return
        if path.exists():
            raise ValueError(f"--out must be a folder. {path} is a file.")


def check_nothing_is_lost(source: str, *places: Path | None) -> None:
    """Refuse to write one file over another that the same command reads or writes."""
    taken = [realpath(source)] if Path(source).exists() else []
    for path in filter(None, places):
        if realpath(path) in taken:
            raise ValueError(
                f"{path} is named twice, and would be lost: write to another name or "
                "folder."
            )
        taken.append(realpath(path))


def check_jobs(n_jobs: int) -> None:
    """Raise an error for a number of jobs that joblib does not take."""
    if n_jobs == 0:
        raise ValueError("--n-jobs must not be 0; -1 uses every core. Got 0.")


def tell(quiet: bool, as_json: bool, record: dict[str, Any], lines: list[str]) -> None:
    """Print what was done: as JSON, in words, or not at all."""
    if as_json:
        typer.echo(json.dumps(record, default=str))
    elif not quiet:
        for line in lines:
            typer.echo(printable(line))


class Progress:
    """A bar with the time left on a terminal, nothing elsewhere.

    Used as a context manager; it lends a function of (done, total), and of how much
    the piece is that comes next: 1 if nothing is said. Whole numbers are shown as they
    are, others, of weighed pieces, in percent.

    Parameters
    ----------
    quiet : bool
        Whether to draw nothing on a terminal too.
    what : str, default=""
        What is going on, written before the bar.
    timed : bool, default=True
        Whether what is done tells how long the rest takes.
    """

    def __init__(self, quiet: bool, what: str = "", *, timed: bool = True) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        from ._columns import Done, Pace, TimeLeft

        self._bar = Progress(
            *([TextColumn("{task.description}", markup=False)] if what else []),
            BarColumn(),
            Done(),
            TimeElapsedColumn(),
            TimeLeft(),
            console=Console(stderr=True),
            disable=quiet or not sys.stderr.isatty(),
        )
        self._what, self._in_stages = what, False
        self._whole = self._add(what, Pace() if timed else None)
        self._part: Any = None

    def _add(self, what: str, pace: Any) -> Any:
        self._bar.add_task(what, total=None, pace=pace)
        return self._bar.tasks[-1]

    def __enter__(self) -> Callable[..., None]:
        if not self._bar.disable:
            self._bar.start()
        return partial(self._advance, self._whole)

    def stage(self, what: str, done: int, total: int) -> None:
        """Show which stage of the work begins, after how many of how many.

        It has a line of its own, at first with no more than a clock.
        """
        self._in_stages = True
        name = f"{self._what}, part {done + 1} of {total}"
        self._bar.update(self._whole.id, description=name)
        self._advance(self._whole, done, total)
        self._end_part()
        self._part = self._add(what, None)

    def part(self, what: str, done: float, total: float) -> None:
        """Show a part of the work on a line of its own until it is done.

        If it is a part of a stage, it is shown on the line of that.
        """
        from ._columns import Pace

        if self._part is None:
            self._part = self._add(what, None)
        if done >= total:
            if self._in_stages:
                self._part.total = None  # what follows is not told in parts
            else:
                self._end_part()
            return
        if self._part.total is None or done == 0:
            self._bar.update(self._part.id, description=what, pace=Pace())
        self._advance(self._part, done, total)

    def _end_part(self) -> None:
        if self._part is not None:
            self._bar.remove_task(self._part.id)
            self._part = None

    def _advance(
        self, task: Any, done: float, total: float, piece: float = 1.0
    ) -> None:
        pace = task.fields["pace"]
        if pace is not None:
            pace.hear(self._bar.get_time(), done, total, piece)
        self._bar.update(task.id, completed=done, total=total)

    def __exit__(self, *error: object) -> None:
        self._end_part()
        self._bar.update(self._whole.id, description=self._what)
        if not self._bar.disable:  # or older versions of rich write an empty line
            self._bar.stop()


PARTS = {
    "cell_search": "neighbours",
    "exact": "neighbours",
    "neighbors": "neighbours",
    "radius": "neighbours",
    "connectivity": "joining pieces",
    "moments": "patches",
    "fitting": "patches",
    "store": "patches",
    "kl": "patches",
    "table": "edges",
    "paths": "paths",
    "mds": "coordinates",
    "eigenvectors": "eigenvectors",
    "kernel_ridge": "kernel scores",
    "local": "patch scores",
    "patch scores": "patch scores",
    "marginal": "marginal scores",
    "pooled": "pooled scores",
}
"""Names that are shown for modules that report their progress."""


@contextmanager
def show_parts(bar: Progress) -> Iterator[None]:
    """Show on a bar which stage of a fit runs, and how far its parts are."""
    from ..backends.progress import watch_blocks

    with watch_blocks(partial(_show_part, bar), bar.stage):
        yield


def _show_part(bar: Progress, module: str, done: float, total: float) -> None:
    """Name the part of the work by the module that does it."""
    name = PARTS.get(module.rpartition(".")[2])
    if name is not None and (total > 1 or module == name):
        bar.part(name, done, total)
