"""The command line: parse, call the functions of the package, print.

Bad input ends with exit status 2 and one line; an interrupted run with 130, and what
was finished is kept.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Manifold learning that compares neighbourhoods, not points.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _fail(message: str) -> typer.Exit:
    typer.echo(f"patchfold: {message}", err=True)
    return typer.Exit(2)


@app.command()
def datasets() -> None:
    """List the papers' datasets: size, the tables that use them, where they are."""
    from rich.console import Console
    from rich.table import Table

    from .datasets import catalogue

    table = Table(box=None, pad_edge=False)
    for heading in ("name", "n", "m", "classes", "tables", "source"):
        justify = "right" if heading in ("n", "m", "classes") else "left"
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in catalogue():
        counts = (row.n_samples, row.n_features, row.n_classes)
        table.add_row(
            row.name,
            *("" if count is None else str(count) for count in counts),
            ", ".join(row.tables),
            row.source,
        )
    width = None if sys.stdout.isatty() else 140
    Console(width=width).print(table)


@app.command()
def reproduce(
    paper: Annotated[str, typer.Option(help="elap, pelle, klap, isomap-kl or cauchy")],
    out: Annotated[Path, typer.Option(help="folder for results.csv and the report")],
    table: Annotated[str, typer.Option(help="its number; all if not given")] = "",
    names: Annotated[
        str, typer.Option("--datasets", help="names, with commas; all if not given")
    ] = "",
    protocol: Annotated[
        str, typer.Option(help="published, honest or permuted")
    ] = "published",
    variant: Annotated[str, typer.Option(help="equations or released")] = "equations",
    n_jobs: Annotated[int, typer.Option(help="processes; -1 for every core")] = 1,
    quiet: Annotated[bool, typer.Option(help="no progress bar, no summary")] = False,
) -> None:
    """Run a paper's tables again and print ours beside the published numbers.

    Finished runs are kept: interrupt it, start it again, and it goes on.
    """
    from .evaluation.methods import VARIANTS
    from .evaluation.papers import PAPERS
    from .evaluation.records import ResultsLockedError
    from .evaluation.report import write_report
    from .evaluation.runner import list_tasks, run_tasks

    protocols = {
        "published": ("published",),
        "honest": ("honest",),
        "permuted": ("permuted published", "permuted honest"),
    }
    for option, value, known in (
        ("--paper", paper, tuple(PAPERS)),
        ("--protocol", protocol, tuple(protocols)),
        ("--variant", variant, VARIANTS),
    ):
        if value not in known:
            raise _fail(f"{option} must be one of {', '.join(known)}. Got {value!r}.")
    numbers = [t.number for t in PAPERS[paper].tables]
    if table and table not in numbers:
        raise _fail(f"--table must be one of {', '.join(numbers)}. Got {table!r}.")
    try:
        tasks = list_tasks(
            paper,
            tables=(table,) if table else (),
            datasets=tuple(name.strip() for name in names.split(",") if name.strip()),
            protocols=protocols[protocol],
            variants=("equations", "released") if variant == "released" else (variant,),
        )
        with _progress(quiet) as advance:
            records = run_tasks(tasks, out, n_jobs=n_jobs, progress=advance)
        write_report(records, out)
    except (ValueError, OSError, ResultsLockedError) as error:
        raise _fail(str(error)) from error
    except KeyboardInterrupt:
        typer.echo("interrupted; what was finished is kept", err=True)
        raise typer.Exit(130) from None
    if not quiet:
        typer.echo(f"wrote {out / 'results.csv'}, {out / 'report.md'}, report.html")


class _progress:
    """A bar with the time left on a terminal, nothing elsewhere."""

    def __init__(self, quiet: bool) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._bar = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            disable=quiet or not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("runs", total=None)

    def __enter__(self):  # type: ignore[no-untyped-def]
        self._bar.start()
        return lambda done, total: self._bar.update(
            self._task, completed=done, total=total
        )

    def __exit__(self, *error: object) -> None:
        self._bar.stop()


def main() -> None:
    """Run the command line."""
    app()
