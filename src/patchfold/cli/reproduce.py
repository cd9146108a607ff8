"""`patchfold reproduce`: a paper's tables and figures, run again."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._shared import (
    Cluster,
    Progress,
    Quiet,
    check_jobs,
    check_out,
    one_line_errors,
    spread_over,
)

if TYPE_CHECKING:
    from ..studies.reproduction.records import Record, TaskKey

Paper = Annotated[
    str,
    typer.Option(
        help="elap, pelle, klap, isomap-kl, cauchy; or our own studies: honest, "
        "pictures"
    ),
]
Out = Annotated[Path, typer.Option(help="folder for results.csv and the report")]
Number = Annotated[
    str, typer.Option(help="number of a table of the paper; all if not given")
]
Datasets = Annotated[
    str,
    typer.Option("--datasets", help="names, separated by commas; all if not given"),
]
Methods = Annotated[
    str, typer.Option(help="names, separated by commas; all if not given")
]
Protocol = Annotated[
    str,
    typer.Option(
        help="published, honest, permuted, noise or outliers; for pictures: pictures "
        "or labelled; the paper's own if not given"
    ),
]
Splits = Annotated[
    int, typer.Option(min=1, help="number of train/test splits (honest protocols)")
]
Variant = Annotated[
    str,
    typer.Option(
        help="follow the equations, or the released scripts: equations or released"
    ),
]
Figures = Annotated[
    bool,
    typer.Option("--figures", help="draw the paper's figures instead of its tables"),
]
Jobs = Annotated[int, typer.Option(help="number of processes; -1 for every core")]


def reproduce(
    paper: Paper,
    out: Out,
    table: Number = "",
    names: Datasets = "",
    methods: Methods = "",
    protocol: Protocol = "",
    splits: Splits = 10,
    variant: Variant = "equations",
    figures: Figures = False,
    n_jobs: Jobs = 1,
    cluster: Cluster = "",
    quiet: Quiet = False,
) -> None:
    """Run a paper's tables or figures again, beside the printed numbers.

    Finished runs are kept: after an interrupt, the same command continues.
    """
    with one_line_errors("what was finished is kept"):
        from ..comparison.record import installed_versions
        from ..studies.reproduction.documents import Command
        from ..studies.reproduction.figures import figures_of, run_figures
        from ..studies.reproduction.records import read_records
        from ..studies.reproduction.report import write_report
        from ..studies.reproduction.runner import RESULTS, run_tasks

        check_out(out)
        check_jobs(n_jobs)
        tasks = _tasks(paper, table, names, methods, protocol, splits, variant)
        if figures and not figures_of(paper):
            raise ValueError(f"--figures: {paper} has none; leave it out.")
        jobs = None if cluster else n_jobs
        with spread_over(cluster), Progress(quiet) as advance:
            if figures:
                run_figures(figures_of(paper), out, n_jobs=jobs, progress=advance)
                records = read_records(out / RESULTS)
            else:
                records = run_tasks(tasks, out, n_jobs=jobs, progress=advance)
        command = shlex.join(["patchfold", *sys.argv[1:]])
        write_report(records, out, Command(command, installed_versions()))
    if quiet:
        return
    if not figures:
        _tell_lost(tasks, records)
    made = "figures" if figures else RESULTS
    typer.echo(f"wrote {out / made}, {out / 'report.md'}, report.html")


def _tasks(
    paper: str,
    table: str,
    names: str,
    methods: str,
    protocol: str,
    splits: int,
    variant: str,
) -> list[TaskKey]:
    """List the runs that are asked for; say what there is where a name is unknown."""
    from ..studies.reproduction.methods import VARIANTS
    from ..studies.reproduction.papers import PAPERS
    from ..studies.reproduction.protocols import PROTOCOLS
    from ..studies.reproduction.runner import list_tasks
    from ..tables.naming import split_names

    _check_known("--paper", paper, PAPERS)
    protocol = protocol or PAPERS[paper].protocol
    _check_known("--protocol", protocol, PROTOCOLS)
    _check_known("--variant", variant, VARIANTS)
    if table:
        _check_known("--table", table, [t.number for t in PAPERS[paper].tables])
    return list_tasks(
        paper,
        tables=(table,) if table else (),
        datasets=split_names(names),
        methods=split_names(methods),
        protocols=PROTOCOLS[protocol],
        n_splits=splits,
        variants=("equations", "released") if variant == "released" else (variant,),
    )


def _check_known(option: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise ValueError(f"{option} must be one of {', '.join(known)}. Got {value!r}.")


def _tell_lost(tasks: list[TaskKey], records: list[Record]) -> None:
    """Count the runs that have no numbers: a failure is a record, not the end."""
    asked = set(tasks)
    status = {r.key: r.status.partition(":")[0] for r in records if r.key in asked}
    lost = Counter(word for word in status.values() if word != "ok")
    if lost:
        listed = ", ".join(f"{count} {word}" for word, count in lost.items())
        typer.echo(
            f"of {len(asked)} runs: {listed}; the column status says why", err=True
        )
