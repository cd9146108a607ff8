"""The command line, one module per command: parse, call the package, print.

Bad input ends with exit status 2 and one line; an interrupted run with 130, and what
was finished is kept. Commands import what they need when they run, so that `--help`
does not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

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


def main() -> None:
    """Run the command line."""
    app()
