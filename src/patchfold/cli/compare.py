"""`patchfold compare`: every method on a table, in one page."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._shared import (
    AsJson,
    Auto,
    Categories,
    Cluster,
    Dates,
    Decimal,
    Drop,
    Encoding,
    Id,
    Impute,
    Input,
    Keep,
    Missing,
    Progress,
    Quiet,
    Scale,
    Sep,
    Target,
    check_nothing_is_lost,
    check_out,
    one_line_errors,
    reading_options,
    spread_over,
    tell,
)

if TYPE_CHECKING:
    from ..comparison import Comparison


Out = Annotated[Path, typer.Option(help="folder for report.html and scores.csv")]
Methods = Annotated[str, typer.Option(help="names, with commas; all if not given")]
Neighbors = Annotated[int, typer.Option(min=1, help="of every method")]
Splits = Annotated[int, typer.Option(min=2, help="parts, each held out once")]
Sweep = Annotated[bool, typer.Option(help="score other numbers of neighbours too")]
MaxSamples = Annotated[
    int, typer.Option(min=10, help="draw so many from a larger table")
]


def compare(
    source: Input,
    out: Out,
    target: Target = "",
    drop: Drop = "",
    id: Id = "",
    methods: Methods = "",
    neighbors: Neighbors = 20,
    splits: Splits = 5,
    sweep: Sweep = True,
    max_samples: MaxSamples = 2000,
    categories: Categories = "one-hot",
    scale: Scale = True,
    impute: Impute = "",
    keep: Keep = "",
    auto: Auto = False,
    sep: Sep = "",
    decimal: Decimal = "",
    encoding: Encoding = "",
    dates: Dates = "",
    missing: Missing = "",
    cluster: Cluster = "",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Run the recipes, their Euclidean twins, PCA, t-SNE and UMAP side by side.

    Writes report.html, which opens anywhere, also offline, and scores.csv.
    """
    with one_line_errors():
        from ..backends.files import write_text
        from ..comparison import compare as run
        from ..comparison.figure import load_plotly
        from ..tables.naming import split_names

        load_plotly("offline")  # its absence is told before the work, not after
        check_out(out)
        check_nothing_is_lost(source, out / "scores.csv", out / "report.html")
        bar = Progress(quiet or as_json, "comparing")
        with spread_over(cluster), bar as advance:
            found = run(
                source,
                target or None,
                methods=split_names(methods) or None,
                n_neighbors=neighbors,
                drop=split_names(drop),
                id=id or None,
                categories=categories,
                scale=scale,
                impute=impute or None,
                keep=split_names(keep),
                auto=auto,
                reading=reading_options(sep, decimal, encoding, dates, missing),
                n_splits=splits,
                sweep=sweep,
                max_samples=max_samples,
                progress=advance,
            )
        found = replace(found, command=shlex.join(["patchfold", *sys.argv[1:]]))
        page, table = found.to_html(), found.scores.to_csv(lineterminator="\n")
        out.mkdir(parents=True, exist_ok=True)
        write_text(out / "scores.csv", table)
        write_text(out / "report.html", page)
    written = [str(out / "report.html"), str(out / "scores.csv")]
    record = {
        "input": source,
        "n_samples": len(found.ids),
        "scores": _records(found),
        "warnings": found.remarks,
        "written": written,
    }
    lines = [*_table(found), *found.remarks, f"wrote {', '.join(written)}"]
    tell(quiet, as_json, record, lines)


def _records(found: Comparison) -> list[dict[str, object]]:
    table = found.scores.reset_index()
    return table.astype(object).where(table.notna(), None).to_dict("records")


def _table(found: Comparison) -> list[str]:
    width = 2 + max(len(result.title) for result in found.results)
    head = f"{'silhouette':>10}{'held-out':>17}{'trust':>8}{'seconds':>10}"
    lines = [f"{'method':<{width}}{head}"]
    for r in found.results:
        held_out = _number(r.held_out, 3)
        if r.held_out == r.held_out:
            held_out += f" ± {r.held_out_error:.3f}"
        cells = f"{_number(r.silhouette, 3):>10}{held_out:>17}"
        cells += f"{_number(r.trustworthiness, 3):>8}{_number(r.seconds, 2):>10}"
        told = f"failed: {r.failure}" if r.failure else cells
        lines.append(f"{r.title:<{width}}{told}")
    return lines


def _number(value: float, digits: int) -> str:
    return "–" if value != value else f"{value:.{digits}f}"
