"""Tables of the study of pictures -> its summary: means, and what labels must do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import fmean

from .documents import Block, Grid, Heading, Paragraph
from .papers import PAPERS
from .tables import DESIGN, FRESH, ResultTable
from .words import method_words, metric_words

STUDY = "pictures"
LABELS, PLAIN = "CAUCHYMAP-LABELS", "CAUCHYMAP"

Rows = dict[str, dict[str, dict[str, float]]]
"""Set -> metric -> method -> value."""


def summarize_pictures(tables: list[ResultTable]) -> Iterator[Block]:
    """Yield the summary of the study of pictures, nothing for tables of other papers.

    Parameters
    ----------
    tables : list of ResultTable
        From `build_tables`.

    Yields
    ------
    Block
        For each group of sets the mean of every metric, sets not used for design
        first; then what a map with labels must do and does.
    """
    mine = [table for table in tables if table.paper == STUDY]
    for sets in (FRESH, DESIGN):
        chosen = [t for t in mine if t.sets == sets and t.protocol == "pictures"]
        yield from _means(chosen, f"Pictures, {sets}")
    for sets in (FRESH, DESIGN):
        chosen = [t for t in mine if t.sets == sets and "labelled" in t.protocol]
        yield from _means(
            [t for t in chosen if t.protocol == "labelled"], f"With labels, {sets}"
        )
        yield from _targets(chosen)


def complete_rows(tables: list[ResultTable]) -> Rows:
    """Return the sets on which every method has every metric, over the same splits.

    A method counts if it has numbers on at least half of the sets.
    """
    values: Rows = {}
    for table in tables:
        for dataset, row in table.scores().items():
            values.setdefault(dataset, {})[_metric(table)] = row
    counts: dict[str, int] = {}
    for metrics in values.values():
        for method in set().union(*metrics.values()):
            counts[method] = counts.get(method, 0) + 1
    methods = {method for method, count in counts.items() if 2 * count >= len(values)}
    names = {_metric(table) for table in tables}
    return {
        dataset: metrics
        for dataset, metrics in values.items()
        if set(metrics) == names
        and all(methods <= set(r) for r in metrics.values())
        and all(len(_splits(t, dataset, methods)) == 1 for t in tables)
    }


def _splits(table: ResultTable, dataset: str, methods: Iterable[str]) -> set[int]:
    """Return how many splits the numbers of these methods on a set are over."""
    return {table.rows[dataset][method].n_splits for method in methods}


def _count_splits(tables: list[ResultTable], rows: Rows) -> str:
    """Say over how many splits of each set the means of tables are."""
    counts: set[int] = set()
    for table in tables:
        for dataset, metrics in rows.items():
            counts |= _splits(table, dataset, metrics[_metric(table)])
    least, most = min(counts), max(counts)
    return f"{least} to {most}" if least < most else f"{most}"


def _metric(table: ResultTable) -> str:
    shuffled = "permuted" in table.protocol
    return f"shuffled {table.metric}" if shuffled else table.metric


def _mean(rows: Rows, metric: str, method: str) -> float:
    return fmean(metrics[metric][method] for metrics in rows.values())


def _means(tables: list[ResultTable], title: str) -> Iterator[Block]:
    rows = complete_rows(tables)
    if not rows:
        return
    listed = next(t for t in PAPERS[STUDY].tables if t.number == tables[0].table)
    metrics = [m for m in listed.metrics if m in {t.metric for t in tables}]
    first = next(iter(rows.values()))
    methods = [m for m in PAPERS[STUDY].methods if m in first[metrics[0]]]
    yield Heading(title)
    words = f"Means over the {len(rows)} sets on which every method has every number."
    if tables[0].protocol == "labelled":
        words += f" Splits of each set: {_count_splits(tables, rows)}."
    if tables[0].sets == DESIGN:
        words += f" Settings of ours were chosen on these: {', '.join(sorted(rows))}."
    yield Paragraph(words)
    lines = [["method", *map(metric_words, metrics)]]
    for method in methods:
        means = [f"{_mean(rows, metric, method):.3f}" for metric in metrics]
        lines.append([method_words(method), *means])
    yield Grid(lines)


def _targets(tables: list[ResultTable]) -> Iterator[Block]:
    """Set what a map with labels must do beside what it did."""
    rows = complete_rows(tables)
    found = {(t.metric, t.protocol) for t in tables}
    methods = {method for table in tables for method in table.methods}
    if not rows or len(found) < 2 or not {LABELS, PLAIN, "SUMAP"} <= methods:
        return
    shuffled = "shuffled training_silhouette"
    if shuffled not in next(iter(rows.values())):
        return
    accuracy, hits = "mean_accuracy_4", "hits_15"
    ours = _mean(rows, accuracy, LABELS)
    gaps = [row[shuffled][LABELS] - row[shuffled][PLAIN] for row in rows.values()]
    silhouettes = [_mean(rows, shuffled, m) for m in (LABELS, PLAIN, "SUMAP")]
    share = _mean(rows, hits, LABELS) / _mean(rows, hits, PLAIN)
    gap = _mean(rows, "training_gap", LABELS)
    ahead = ours - _mean(rows, accuracy, "SUMAP")
    behind = ours - _mean(rows, accuracy, "POSTERIOR")
    shift = fmean(gaps)
    lines = [
        ["what a map with labels must do", "target", "measured", "met"],
        _line("accuracy less PatchPosterior's", ">= -0.010", behind, behind >= -0.01),
        _line("accuracy less supervised UMAP's", ">= 0.015", ahead, ahead >= 0.015),
        _line("hits, share of those without labels", ">= 0.850", share, share >= 0.85),
        _line("training less held-out 7-NN", "<= 0.010", gap, gap <= 0.01),
        _line(
            "shuffled labels: training silhouette less that without labels",
            "within 0.030",
            shift,
            abs(shift) <= 0.03,
        ),
    ]
    yield Grid(lines)
    true = [t for t in tables if t.protocol == "labelled"]
    permuted = [t for t in tables if t.protocol != "labelled"]
    yield Paragraph(
        f"Means over {len(rows)} sets. Splits of each set: "
        f"{_count_splits(true, rows)}, with shuffled labels "
        f"{_count_splits(permuted, rows)}. "
        "With shuffled labels the training silhouette is "
        f"{silhouettes[0]:.3f}, without labels {silhouettes[1]:.3f}, by supervised "
        f"UMAP {silhouettes[2]:.3f}; on single sets it is from {min(gaps):+.3f} to "
        f"{max(gaps):+.3f} off that without labels."
    )


def _line(what: str, target: str, value: float, met: bool) -> list[str]:
    return [what, target, f"{value:+.4f}", "yes" if met else "no"]
