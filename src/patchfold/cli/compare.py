"""`patchfold compare`: every method on a table, in one page."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._lines import ProgressLines
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
    check_jobs,
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
Methods = Annotated[
    str,
    typer.Option(
        help="names separated by commas; any scikit-learn transformer by its dotted "
        "name, such as pacmap.PaCMAP; defaults stands for the methods that run if none "
        "is named"
    ),
]
Neighbors = Annotated[
    int, typer.Option(min=1, help="number of neighbours of every method")
]
Splits = Annotated[
    int, typer.Option(min=2, help="number of folds; each is held out once")
]
Sweep = Annotated[bool, typer.Option(help="score other numbers of neighbours too")]
MaxSamples = Annotated[
    int, typer.Option(min=10, help="most rows to use; of more, a random part")
]
Groups = Annotated[
    bool, typer.Option("--groups", help="colour by groups that HDBSCAN finds")
]
Jobs = Annotated[
    int | None, typer.Option(help="number of processes; one for each core if not given")
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
    groups: Groups = False,
    n_jobs: Jobs = None,
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
    """Say which method shows a table best, and whether to trust that.

    Writes report.html, which opens anywhere, also offline, and scores.csv.
    """
    with one_line_errors():
        from ..comparison import compare as run
        from ..tables.naming import split_names

        check_out(out)
        check_nothing_is_lost(source, out / "scores.csv", out / "report.html")
        if n_jobs is not None:
            check_jobs(n_jobs)
        with spread_over(cluster), _progress(quiet or as_json) as advance:
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
                groups=groups,
                n_jobs=n_jobs,
                progress=advance,
            )
        found = replace(found, command=shlex.join(["patchfold", *sys.argv[1:]]))
        written = _write(found, out)
    lines = [*_answer(found), "", *_table(found), "", f"wrote {', '.join(written)}"]
    tell(quiet, as_json, _record(found, source, written), lines)


def _write(found: Comparison, out: Path) -> list[str]:
    """Write the page and the scores, both made before the first is written."""
    from ..backends.files import write_text

    page, table = found.to_html(), found.scores.to_csv(lineterminator="\n")
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "scores.csv", table)
    write_text(out / "report.html", page)
    return [str(out / "report.html"), str(out / "scores.csv")]


def _record(found: Comparison, source: str, written: list[str]) -> dict[str, Any]:
    """Return what `--json` prints."""
    return {
        "input": source,
        "n_given": found.n_given,
        "n_samples": len(found.ids),
        "verdict": list(found.verdict.sentences),
        "best": list(found.verdict.best),
        "scores": _records(found),
        "warnings": found.remarks,
        "written": written,
    }


def _progress(quiet: bool) -> Any:
    """Return a bar on a terminal, else lines now and then."""
    if quiet or sys.stderr.isatty():
        return Progress(quiet, "comparing")
    return ProgressLines("comparing")


def _answer(found: Comparison) -> list[str]:
    """Return the verdict, then what to be careful about."""
    given = f" of {found.n_given:,} given" if found.n_given != len(found.ids) else ""
    careful = [text for level, text in found.verdict.reasons if level == "careful"]
    return [
        f"{found.name}: {len(found.ids):,} rows{given}",
        *found.verdict.sentences,
        *(f"! {text}" for text in (*careful, *found.remarks)),
    ]


def _records(found: Comparison) -> list[dict[str, object]]:
    table = found.scores.reset_index()
    return table.astype(object).where(table.notna(), None).to_dict("records")


TABLES = {
    "classes": (
        ("held_out", "held-out"),
        ("balanced", "balanced"),
        ("macro_f1", "F1"),
        ("silhouette", "silhouette"),
    ),
    "numbers": (("held_out", "R²"),),
    "none": (),
}
"""Columns of the printed table before those that all tables have."""

KEPT = (("trustworthiness", "trust"), ("continuity", "cont."), ("triplets", "triplets"))


def _table(found: Comparison) -> list[str]:
    """Return the scores, the best first; * marks the best and its equals."""
    fields = (*TABLES[found.task], *KEPT)
    apart = [r for r in found.results if r.kind in ("reference", "control")]
    width = 4 + max(len(result.title) for result in found.results)
    head = "".join(f"{label:>{_wide(k)}}" for k, (_, label) in enumerate(fields))
    lines = [f"{'method':<{width}}{head}{'seconds':>10}"]
    for r in (*found.ranked(), *apart):
        mark = "*" if r.name in found.verdict.best else " "
        cells = "".join(
            f"{_score(r, field, k == 0):>{_wide(k)}}"
            for k, (field, _) in enumerate(fields)
        )
        told = f"failed: {r.failure}" if r.failure else cells
        seconds = "" if r.failure else f"{_number(r.seconds, 2):>10}"
        lines.append(f"{mark} {r.title:<{width - 2}}{told}{seconds}")
    return lines


def _wide(column: int) -> int:
    return 11 if column else 17


def _score(result: Any, field: str, is_first: bool) -> str:
    text = _number(getattr(result, field), 3)
    if is_first and result.error == result.error and text != "–":
        text += f" ± {result.error:.3f}"
    return text


def _number(value: float, digits: int) -> str:
    return "–" if value != value else f"{value:.{digits}f}"
