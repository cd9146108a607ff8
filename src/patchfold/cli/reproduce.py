"""`patchfold reproduce`: a paper's tables and figures, run again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from ._shared import Progress, describe, fail, split_names


def reproduce(
    paper: Annotated[
        str,
        typer.Option(help="elap, pelle, klap, isomap-kl, cauchy, or honest: our own"),
    ],
    out: Annotated[Path, typer.Option(help="folder for results.csv and the report")],
    table: Annotated[str, typer.Option(help="its number; all if not given")] = "",
    names: Annotated[
        str, typer.Option("--datasets", help="names, with commas; all if not given")
    ] = "",
    methods: Annotated[
        str, typer.Option(help="names, with commas; all if not given")
    ] = "",
    protocol: Annotated[
        str,
        typer.Option(
            help="published, honest, permuted, noise or outliers; as the paper did "
            "if not given"
        ),
    ] = "",
    splits: Annotated[
        int, typer.Option(min=1, help="train/test splits of an honest protocol")
    ] = 10,
    variant: Annotated[str, typer.Option(help="equations or released")] = "equations",
    figures: Annotated[
        bool, typer.Option("--figures", help="the paper's figures, not its tables")
    ] = False,
    n_jobs: Annotated[int, typer.Option(help="processes; -1 for every core")] = 1,
    quiet: Annotated[bool, typer.Option(help="no progress bar, no summary")] = False,
) -> None:
    """Run a paper's tables, or figures, again and set ours beside what it printed.

    Finished runs are kept: interrupt it, start it again, and it goes on.
    """
    from ..evaluation.figures import figures_of, run_figures
    from ..evaluation.methods import VARIANTS
    from ..evaluation.papers import PAPERS
    from ..evaluation.protocols import PROTOCOLS
    from ..evaluation.records import ResultsLockedError, read_records
    from ..evaluation.report import write_report
    from ..evaluation.runner import RESULTS, list_tasks, run_tasks

    _check_known("--paper", paper, PAPERS)
    protocol = protocol or PAPERS[paper].protocol
    _check_known("--protocol", protocol, PROTOCOLS)
    _check_known("--variant", variant, VARIANTS)
    if figures and not figures_of(paper):
        raise fail(f"--figures: {paper} has none; leave it out.")
    if table:
        _check_known("--table", table, [t.number for t in PAPERS[paper].tables])
    try:
        tasks = list_tasks(
            paper,
            tables=(table,) if table else (),
            datasets=split_names(names),
            methods=split_names(methods),
            protocols=PROTOCOLS[protocol],
            n_splits=splits,
            variants=("equations", "released") if variant == "released" else (variant,),
        )
        with Progress(quiet) as advance:
            if figures:
                run_figures(figures_of(paper), out, n_jobs=n_jobs, progress=advance)
                records = read_records(out / RESULTS)
            else:
                records = run_tasks(tasks, out, n_jobs=n_jobs, progress=advance)
        write_report(records, out)
    except (ValueError, OSError, MemoryError, ResultsLockedError) as error:
        raise fail(describe(error)) from error
    except KeyboardInterrupt:
        typer.echo("interrupted; what was finished is kept", err=True)
        raise typer.Exit(130) from None
    if not quiet:
        made = "figures" if figures else RESULTS
        typer.echo(f"wrote {out / made}, {out / 'report.md'}, report.html")


def _check_known(option: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise fail(f"{option} must be one of {', '.join(known)}. Got {value!r}.")
