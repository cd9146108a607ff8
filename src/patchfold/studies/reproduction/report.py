"""Records and figures -> report.md and report.html: measured beside printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ...backends.files import write_bytes, write_text
from ...plotting import plot_critical_difference
from .documents import (
    Block,
    Command,
    Grid,
    Heading,
    Image,
    Items,
    Paragraph,
    as_markdown,
)
from .figure_plots import as_png, caption, draw_figure, figure_title
from .figure_records import FigureRecord, figure_path, read_figure
from .figures import FIGURES
from .head import answer_first, missing_parts, place_words, report_title
from .page import as_html
from .papers import PAPERS, Published, published_numbers
from .picture_summary import summarize_pictures
from .published_tests import published_p_values
from .rankings import MIN_ROWS, Ranking, RankTests, group_tables, rank_tables
from .records import Record
from .tables import Cell, ResultTable, average_tables, build_tables
from .words import POST_HOC, TESTS, method_words, setting_words

PROTOCOL_WORDS = {
    "published": "All samples embedded together, K by its score on the test half.",
    "honest": (
        "Fitted on the training half, K by cross-validation inside it, test half "
        "placed by transform; mean and standard error over the splits."
    ),
    "pictures": (
        "All samples drawn together without labels, every method with its defaults; "
        "classifiers on one half of the picture, seconds of processor time."
    ),
    "labelled": (
        "Fitted on the training half with its labels, test half placed by transform; "
        "mean and standard error over the splits. Hits, and what begins with "
        "training, are of the training picture."
    ),
}


def write_report(
    records: Iterable[Record], folder: Path, repeat: Command | None = None
) -> None:
    """Write `report.md` and `report.html`, each whole or not at all.

    Figures that the folder holds are drawn, into figures/NAME.png and into the page.

    Parameters
    ----------
    records : iterable of Record
        What was measured.
    folder : Path
        Where the report goes.
    repeat : Command, default=None
        The command that was given, and the versions of packages.
    """
    kept = [read_figure(folder, name) for name in FIGURES]
    figures = [record for record in kept if record is not None]
    blocks = build_report(records, figures, published_numbers())
    if repeat is not None:
        blocks.append(repeat)
    for block in blocks:
        if isinstance(block, Image) and block.file:
            write_bytes(folder / block.file, block.png)
    write_text(folder / "report.md", as_markdown(blocks))
    write_text(folder / "report.html", as_html(blocks))


def build_report(
    records: Iterable[Record], figures: Iterable[FigureRecord], published: Published
) -> list[Block]:
    """Return the report, a function of what is given and of nothing else.

    Parameters
    ----------
    records : iterable of Record
        What was measured, in any order.
    figures : iterable of FigureRecord
        What was drawn.
    published : Published
        The printed numbers, for the papers' own tests.

    Returns
    -------
    list of Block
    """
    kept = list(records)
    drawn = list(figures)
    tables = build_tables(kept)
    rankings = rank_tables(tables)
    papers = {table.paper for table in tables}
    shown = papers | {FIGURES[figure.name].paper for figure in drawn}
    return [
        Heading(report_title(shown), 1),
        *answer_first(tables, rankings),
        *summarize_pictures(tables),
        *missing_parts(kept),
        *_figures(drawn),
        *_rankings(rankings),
        *_printed_tests(papers, published),
        *_averages(tables, published),
        *_tables(tables),
    ]


def protocol_words(protocol: str) -> str:
    """Say in a sentence how a protocol scores."""
    kind = protocol.removeprefix("permuted ")
    base, _, worse = kind.partition(" ")
    words = PROTOCOL_WORDS[base]
    if worse:
        words += f" The training half has {worse}, the test half is as it was."
    if kind != protocol:
        words += " All labels are shuffled first: the control for leaks."
    return words


def _figures(figures: Iterable[FigureRecord]) -> Iterator[Block]:
    for n, record in enumerate(figures):
        if not n:
            yield Heading("Figures")
        title = figure_title(record)
        yield Heading(title, 3)
        if record.status == "ok":
            file = figure_path(Path(), record.name, ".png").as_posix()
            yield Image(title, as_png(draw_figure(record)), file)
        said = caption(record)
        yield Paragraph(f"The paper: {said.claim}.")
        yield Paragraph(said.how)
        yield Items(said.found)


def _rankings(rankings: list[Ranking]) -> Iterator[Block]:
    if rankings:
        yield Heading("Rankings")
        yield Paragraph(
            "Mean ranks over the sets (1 is best), of ours and of the printed numbers "
            "on the same sets. A p-value compares a method with the paper's own. In a "
            "diagram, bars join methods that Nemenyi's test cannot tell apart. A row "
            "is a set. If a paper tests tables together, a row is a set and a "
            "classifier: such rows are not independent, and their p-values are too "
            "small."
        )
    for ranking in rankings:
        yield Heading(place_words(ranking), 3, folded=True)
        if ranking.ours is None:
            complete = ranking.n_rows - ranking.n_incomplete
            yield Paragraph(
                f"Not ranked: complete sets: {complete}, needed: {MIN_ROWS}."
                + _left_out(ranking)
            )
            continue
        yield Paragraph(_tests_text("Ours", ranking.ours) + _left_out(ranking))
        if ranking.printed is not None:
            yield Paragraph(_tests_text("Printed", ranking.printed))
        yield _ranks_grid(ranking, ranking.ours)
        yield _diagram(ranking, ranking.ours)


def _tests_text(whose: str, tests: RankTests) -> str:
    every = [
        ("Friedman χ²", tests.friedman),
        ("Kruskal-Wallis H", tests.kruskal_wallis),
    ]
    found = "; ".join(f"{n} {t.statistic:.2f}, p = {t.p_value:.3g}" for n, t in every)
    cd = f"critical difference {tests.critical_difference:.2f} at the level .05"
    return f"{whose}, {len(tests.scores)} rows: {found}; {cd}."


def _left_out(ranking: Ranking) -> str:
    text = ""
    if ranking.n_incomplete:
        text += f" Rows without a number of every method: {ranking.n_incomplete}."
    if ranking.left_out:
        reasons = [
            f"{method_words(method)} ({why})"
            for method, why in ranking.left_out.items()
        ]
        text += f" Left out: {', '.join(reasons)}."
    return text


def _ranks_grid(ranking: Ranking, ours: RankTests) -> Grid:
    columns = [("ours", ours)]
    if ranking.printed is not None:
        columns.append(("printed", ranking.printed))
    head = ["method"]
    for whose, _ in columns:
        against = f"p against {method_words(ranking.reference)}, {whose}"
        head += [f"mean rank, {whose}", f"mean, {whose}"]
        head += [f"Nemenyi {against}", f"Wilcoxon-Holm {against}"]
    lines = [head]
    for method in sorted(ours.ranks, key=ours.ranks.__getitem__):
        line = [method_words(method)]
        for _, tests in columns:
            pair = (tests.nemenyi[ranking.reference], tests.wilcoxon)
            line += [f"{tests.ranks[method]:.2f}", f"{tests.means[method]:.3f}"]
            line += [f"{p[method]:.3g}" if method in p else "" for p in pair]
        lines.append(line)
    return Grid(lines)


def _diagram(ranking: Ranking, ours: RankTests) -> Image:
    from matplotlib.figure import Figure

    height = 1.2 + 0.2 * len(ours.ranks)
    picture = Figure(figsize=(7.2, height), dpi=110, layout="constrained")
    plot_critical_difference(
        {
            row: {method_words(method): score for method, score in scores.items()}
            for row, scores in ours.scores.items()
        },
        higher_is_better=ranking.higher_is_better,
        ax=picture.subplots(),
    )
    return Image(f"Mean ranks, {place_words(ranking)}", as_png(picture))


def _printed_tests(papers: set[str], published: Published) -> Iterator[Block]:
    """Set the p-values in the papers' texts beside those of their printed numbers."""
    labels = {PAPERS[name].label: name for name in papers}
    columns = ("seed", "table", "dataset", "method", "metric", "value")
    rows = [
        dict(zip(columns, (*place, str(value)), strict=True))
        for place, value in published.values.items()
        if place[0] in labels
    ]
    lines = [["table", "test", "against", "in the text", "from its table", "agree"]]
    for found in published_p_values(rows):
        if not found.printed:
            continue
        agree = "yes"
        if not found.agrees:
            factor = found.p_value / float(found.printed.lstrip("<"))
            agree = f"no, {factor:.2g} times the printed"
        table = f"Table {found.tables.replace('T', '')}"
        if len(papers) > 1:
            table = f"{labels[found.paper]}, {table.lower()}"
        test = (POST_HOC if found.method else TESTS)[found.test]
        ours = f"{found.p_value:.3g}"
        against = method_words(found.method)
        lines.append([table, test, against, found.printed, ours, agree])
    if len(lines) > 1:
        yield Heading("The papers' own p-values")
        yield Paragraph(
            "Computed from all numbers that the papers print, by the test that comes "
            "closest to what they call Friedman, Kruskal-Wallis and Nemenyi."
        )
        yield Grid(lines)


def _averages(tables: list[ResultTable], published: Published) -> Iterator[Block]:
    """Derive the tables of averages from those that a paper tests together."""
    for group in group_tables(tables):
        first = group[0]
        averages = average_tables(group)
        if len(group) < 2 or not any(a.n_cells for a in averages.values()):
            continue
        paper = PAPERS[first.paper]
        numbers = " and ".join(dict.fromkeys(table.table for table in group))
        how = setting_words(first.protocol, first.variant, has_scripts=False)
        yield Heading(f"{method_words(paper.own[0])}, table 4: averages ({how})")
        yield Paragraph(
            f"Mean and standard deviation of all accuracies of tables {numbers} where "
            "both numbers are there; last, as table 4 prints them, over all cells."
        )
        lines = [["method", "cells", "ours", "printed, same cells", "printed"]]
        for method, average in averages.items():
            key = (paper.label, "T4", "(all of t2 and t3)", method)
            whole = [
                published.values.get((*key, f"accuracy_{part}_all"))
                for part in ("mean", "sd")
            ]
            pairs = (average.ours, average.printed, whole if all(whole) else None)
            texts = ["" if p is None else f"{p[0]:.3f} ± {p[1]:.3f}" for p in pairs]
            lines.append([method_words(method), str(average.n_cells), *texts])
        yield Grid(lines)


def _tables(tables: list[ResultTable]) -> Iterator[Block]:
    for n, table in enumerate(tables):
        if not n:
            yield Heading("Every number")
        yield Heading(place_words(table), 3, folded=True)
        beside = " Ours [as printed]." if table.has_print else ""
        yield Paragraph(f"{protocol_words(table.protocol)}{beside}")
        lines = [["dataset", *map(method_words, table.methods)]]
        for dataset, row in table.rows.items():
            lines.append([dataset, *(_cell_text(row.get(m)) for m in table.methods)])
        errors = [table.mean_absolute_error(method) for method in table.methods]
        if any(errors):
            texts = [f"{e[0]:.3f} over {e[1]}" if e else "" for e in errors]
            lines.append(["mean absolute difference", *texts])
        yield Grid(lines)


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
        if cell.status != "ok":
            ours += f" ({cell.status} on other splits)"
    return ours if cell.published is None else f"{ours} [{cell.published:.3f}]"
