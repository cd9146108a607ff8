"""`patchfold bench`: our time beside that of others, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._shared import Progress, Quiet, one_line_errors


def bench(
    out: Annotated[Path, typer.Option(help="folder for the tables and the picture")],
    quick: Annotated[
        bool, typer.Option("--quick", help="smaller sizes, under two minutes")
    ] = False,
    n_jobs: Annotated[int, typer.Option(help="threads; -1 for every core")] = -1,
    quiet: Quiet = False,
) -> None:
    """Time patchfold beside scikit-learn and UMAP on the same data, in one run.

    Without --quick it takes half an hour or so and up to 8 GiB of memory.
    """
    from ..bench.report import format_table, run_bench

    with one_line_errors():
        out.mkdir(parents=True, exist_ok=True)
        with Progress(quiet, "bench") as advance:
            results = run_bench(out, quick=quick, n_jobs=n_jobs, progress=advance)
    if not quiet:
        typer.echo(format_table(results))
        typer.echo(f"wrote {out / 'bench.md'}, bench.csv, growth.csv, growth.png")
