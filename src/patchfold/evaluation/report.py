"""Tables -> report.md and report.html: what was measured, beside what was printed."""

from __future__ import annotations

import html
from collections.abc import Iterable
from pathlib import Path

from .._files import write_text
from .papers import PAPERS
from .records import Record
from .tables import Cell, ResultTable, build_tables

PROTOCOL_WORDS = {
    "published": "All samples embedded together, K by its score on the test half.",
    "honest": (
        "Fitted on the training half, K by cross-validation inside it, test half "
        "placed by transform; mean and standard error over the splits."
    ),
    "permuted published": "As published, with shuffled labels: the control for leaks.",
    "permuted honest": "As honest, with shuffled labels: the control for leaks.",
}


def write_report(records: Iterable[Record], folder: Path) -> None:
    """Write `report.md` and `report.html`, each whole or not at all."""
    tables = build_tables(records)
    write_text(folder / "report.md", as_markdown(tables))
    write_text(folder / "report.html", as_html(tables))


def _title(table: ResultTable) -> str:
    return (
        f"{table.paper} table {table.table}: {table.metric} "
        f"({table.protocol}, {table.variant})"
    )


def _cell_text(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.value is None:
        ours = cell.status
    else:
        ours = f"{cell.value:.3f}"
        if cell.error is not None:
            ours += f" ± {cell.error:.3f}"
        if cell.n_neighbors is not None:
            ours += f" (K={cell.n_neighbors})"
    return ours if cell.published is None else f"{ours} [{cell.published:.3f}]"


def _grid(table: ResultTable) -> list[list[str]]:
    """Return the cells of a table as text, with headings and the mean difference."""
    lines = [["dataset", *table.methods]]
    for dataset, row in table.rows.items():
        lines.append([dataset, *(_cell_text(row.get(m)) for m in table.methods)])
    errors = [table.mean_absolute_error(method) for method in table.methods]
    if any(errors):
        texts = [f"{e[0]:.3f} over {e[1]}" if e else "" for e in errors]
        lines.append(["mean absolute difference", *texts])
    return lines


def _summary(tables: list[ResultTable]) -> list[list[str]]:
    """Return how far each paper's own methods are from what it printed."""
    lines = [["table", "protocol", "variant", "method", "mean absolute difference"]]
    for table in tables:
        for method in table.methods:
            error = table.mean_absolute_error(method)
            if method in PAPERS[table.paper].own and error is not None:
                name = f"{table.paper} {table.table}, {table.metric}"
                gap = f"{error[0]:.3f} over {error[1]} sets"
                lines.append([name, table.protocol, table.variant, method, gap])
    return lines


def _markdown_table(lines: list[list[str]]) -> str:
    head, *body = lines
    rows = [head, ["---"] * len(head), *body]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in escaped) + "\n"


def as_markdown(tables: list[ResultTable]) -> str:
    """Return the report as Markdown."""
    parts = [
        "# Published tables, run again\n",
        _markdown_table(_summary(tables)),
        "Below: ours, and [as printed] beside it.\n",
    ]
    for table in tables:
        parts.append(f"## {_title(table)}\n\n{PROTOCOL_WORDS[table.protocol]}\n")
        parts.append(_markdown_table(_grid(table)))
    return "\n".join(parts)


STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 1.5rem auto; max-width: 80rem;
       padding: 0 1rem; }
div { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; }
th, td { border-bottom: 1px solid #8884; padding: .3rem .6rem; text-align: left;
         white-space: nowrap; }
"""


def as_html(tables: list[ResultTable]) -> str:
    """Return the report as one page that needs nothing else."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>Published tables, run again</title><style>{STYLE}</style></head>",
        "<body><h1>Published tables, run again</h1>",
        _html_table(_summary(tables)),
        "<p>Below: ours, and [as printed] beside it.</p>",
    ]
    for table in tables:
        parts.append(f"<h2>{html.escape(_title(table))}</h2>")
        parts.append(f"<p>{html.escape(PROTOCOL_WORDS[table.protocol])}</p>")
        parts.append(_html_table(_grid(table)))
    parts.append("</body></html>")
    return "\n".join(parts)


def _html_table(lines: list[list[str]]) -> str:
    kinds = ["th", *["td"] * (len(lines) - 1)]
    rows = [
        "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in line)
        for kind, line in zip(kinds, lines, strict=True)
    ]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return f"<div><table>{body}</table></div>"
