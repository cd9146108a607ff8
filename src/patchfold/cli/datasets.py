"""`patchfold datasets`: the papers' sets, and where they are."""

from __future__ import annotations

import sys


def datasets() -> None:
    """List the papers' datasets: sizes, tables that use them, where to find them."""
    from rich.console import Console
    from rich.table import Table

    from ..datasets import catalogue

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
