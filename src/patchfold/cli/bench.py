"""`patchfold bench`: our time beside that of others, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._shared import (
    Device,
    Progress,
    Quiet,
    check_jobs,
    check_out,
    one_line_errors,
)


def bench(
    out: Annotated[Path, typer.Option(help="folder for the tables and the picture")],
    quick: Annotated[
        bool, typer.Option("--quick", help="use smaller sizes: about two minutes")
    ] = False,
    only: Annotated[
        str, typer.Option(help="run only rows whose name contains this text")
    ] = "",
    n_jobs: Annotated[
        int, typer.Option(help="number of threads; -1 for every core")
    ] = -1,
    device: Device = "",
    quiet: Quiet = False,
) -> None:
    """Time patchfold beside scikit-learn and UMAP on the same data, in one run.

    Without --quick it takes about half an hour and up to 8 GiB of memory. With --device
    it times fits on that device instead: up to a million samples, a minute or two.
    """
    with one_line_errors("what was timed is kept"):
        from ..backends.backend import find_backend
        from ..studies.bench.report import format_table, run_bench, run_device_bench

        check_out(out)
        check_jobs(n_jobs)
        backend = find_backend(device)
        out.mkdir(parents=True, exist_ok=True)
        written = "bench.md, bench.csv, growth.csv, growth.png"
        with Progress(quiet, "bench") as advance:
            if device:
                results = run_device_bench(
                    out, backend, quick=quick, only=only, progress=advance
                )
                written = "device.md, device.csv"
            else:
                results = run_bench(
                    out, quick=quick, only=only, n_jobs=n_jobs, progress=advance
                )
    if not quiet:
        typer.echo(format_table(results))
        typer.echo(f"wrote {out / written}")
