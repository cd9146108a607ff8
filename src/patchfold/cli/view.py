"""`patchfold view`: an embedding in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from ._shared import Drop, Id, Progress, one_line_errors, show_parts


def view(
    embedding: Annotated[
        str, typer.Argument(help="file that `embed` wrote: .csv or .parquet")
    ],
    data: Annotated[
        str, typer.Option(help="table it was made from, to show its columns")
    ] = "",
    id: Id = "",
    drop: Drop = "",
    x: Annotated[str, typer.Option(help="column of the first coordinate")] = "",
    y: Annotated[str, typer.Option(help="column of the second coordinate")] = "",
    neighbors: Annotated[
        int, typer.Option(min=1, help="number of nearest samples to show for one")
    ] = 15,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="port of the page")
    ] = 5055,
    browser: Annotated[bool, typer.Option(help="open the page in a browser")] = True,
) -> None:
    """Open an embedding in the browser, up to a million samples.

    Point at a sample to see its row; click it to see its nearest samples. Colour by a
    column, search, filter, select with a lasso, and save the selection. The page is
    served on this machine only, at an address with a secret word, until you press
    Ctrl-C. It cannot change your files.
    """
    with one_line_errors():
        from ..tables.naming import split_names
        from ._viewing import make_table, serve

        if x == y != "" or bool(x) != bool(y):
            raise ValueError(
                f"--x and --y must be two columns, or none. Got {x!r} and {y!r}."
            )
        bar = Progress(False, "view", timed=False)
        with bar, show_parts(bar):
            viewed = make_table(
                embedding,
                data or None,
                id=id or None,
                drop=split_names(drop),
                coordinates=(x, y) if x or y else None,
                n_neighbors=neighbors,
            )
        serve(viewed, port=port, browser=browser)
