"""The command line, one module per command: parse, call the package, print.

Bad input ends with exit status 2 and one line; an interrupted run with 130, and what
was finished is kept. Commands import what they need when they run, so that `--help`
does not wait for it.
"""

from __future__ import annotations

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
for command in (
    embed.embed,
    compare.compare,
    view.view,
    reproduce.reproduce,
    datasets.datasets,
    bench.bench,
):
    app.command()(command)


def main() -> None:
    """Run the command line."""
    app()
