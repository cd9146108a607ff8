"""The command line, one module per command: parse, call the package, print.

Bad input ends with exit status 2 and one line; an interrupted run with 130, and what
was finished is kept. Commands import what they need when they run, so that `--help`
does not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Annotated

import typer

from . import bench, compare, datasets, embed, reproduce, view
from ._usage import OneLineGroup

app = typer.Typer(
    cls=OneLineGroup,
    help="Manifold learning that compares neighbourhoods, not points.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from ..backends.environment import version_lines

        typer.echo(version_lines())
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="print the version and what decides the speed",
            callback=_show_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Manifold learning that compares neighbourhoods, not points."""


commands: list[Callable[..., None]] = [
    embed.embed,
    compare.compare,
    view.view,
    datasets.datasets,
]
if find_spec("patchfold.studies"):
    commands += [reproduce.reproduce, bench.bench]
for command in commands:
    app.command()(command)
