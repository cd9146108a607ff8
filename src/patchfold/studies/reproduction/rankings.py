"""Tables -> rankings: mean ranks and tests, of ours and of the printed numbers.

A row of a ranking is a dataset or, where a paper tests several tables together, a
dataset and a classifier. Only rows with a number of every ranked method count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean

from ...metrics.rank_tests import (
    OmnibusTest,
    critical_difference,
    friedman,
    kruskal_wallis,
    mean_ranks,
    nemenyi,
    wilcoxon_holm,
)
from .papers import PAPERS
from .published_tests import PAPER_TESTS
from .tables import Cell, ResultTable

MIN_METHODS, MIN_ROWS = 3, 5
"""Fewer are not ranked: no test could tell them apart."""

LOWER_IS_BETTER = ("violations", "seconds", "training_gap")

Scores = dict[str, dict[str, float]]


@dataclass(frozen=True)
class RankTests:
    """Ranks and tests on a complete score table.

    Attributes
    ----------
    scores : dict
        Row -> method -> score.
    ranks : dict of str to float
        Method -> mean rank, 1 being the best.
    friedman, kruskal_wallis : OmnibusTest
        Whether the methods differ at all.
    nemenyi : dict of str to dict of str to float
        Method -> other method -> p-value.
    wilcoxon : dict of str to float
        Method -> p-value of its signed ranks against the reference, Holm-corrected.
    means : dict of str to float
        Method -> mean score.
    critical_difference : float
        Of mean ranks, at the level .05.
    """

    scores: Scores
    ranks: dict[str, float]
    friedman: OmnibusTest
    kruskal_wallis: OmnibusTest
    nemenyi: dict[str, dict[str, float]]
    wilcoxon: dict[str, float]
    means: dict[str, float]
    critical_difference: float


@dataclass(frozen=True)
class Ranking:
    """The methods of a table, or of tables tested together, in order.

    Attributes
    ----------
    paper, table, metric, protocol, variant : str
        What is ranked; `table` may be "2+3".
    reference : str
        The method the others are compared with: the paper's own, if it is ranked.
    ours : RankTests or None
        None where too little is there.
    printed : RankTests or None
        The same rows and methods as `ours`, where all have printed numbers. A control
        with permuted labels has nothing printed beside it.
    left_out : dict of str to str
        Method -> why it is not ranked.
    n_rows, n_incomplete : int
        Rows with any number, and those that lack one of a ranked method.
    sets : str
        Which sets, as in `ResultTable`.
    """

    paper: str
    table: str
    metric: str
    protocol: str
    variant: str
    reference: str
    ours: RankTests | None
    printed: RankTests | None
    left_out: dict[str, str]
    n_rows: int
    n_incomplete: int
    sets: str = ""

    @property
    def higher_is_better(self) -> bool:
        """Whether the largest number has rank 1."""
        return self.metric not in LOWER_IS_BETTER


def rank_tables(tables: Iterable[ResultTable]) -> list[Ranking]:
    """Rank the methods of every table that has at least three of them.

    Parameters
    ----------
    tables : iterable of ResultTable
        From `build_tables`.

    Returns
    -------
    list of Ranking

    Raises
    ------
    ImportError
        If scikit-posthocs is not installed.
    """
    return [
        _rank(group)
        for group in group_tables(tables)
        if len({method for table in group for method in table.methods}) >= MIN_METHODS
    ]


def group_tables(tables: Iterable[ResultTable]) -> Iterator[list[ResultTable]]:
    """Group the tables that a paper tests as one; all others stay alone.

    Parameters
    ----------
    tables : iterable of ResultTable
        From `build_tables`.

    Yields
    ------
    list of ResultTable
    """
    groups: dict[tuple[str, ...], list[ResultTable]] = {}
    for table in tables:
        number, metric = table.table, table.metric
        for tests in PAPER_TESTS:
            several = len(tests.tables) > 1 and f"T{number}" in tests.tables
            if several and tests.paper == PAPERS[table.paper].label:
                number, metric = "+".join(t[1:] for t in tests.tables), "accuracy"
                break
        key = (table.paper, number, table.sets, metric, table.protocol, table.variant)
        groups.setdefault(key, []).append(table)
    yield from groups.values()


def _rank(group: list[ResultTable]) -> Ranking:
    first = group[0]
    together = len(group) > 1
    cells = {
        f"{dataset}, {table.metric}" if together else dataset: row
        for table in group
        for dataset, row in table.rows.items()
    }
    methods = list(dict.fromkeys(method for table in group for method in table.methods))
    begun = {
        name: row
        for name, row in cells.items()
        if any(cell.value is not None for cell in row.values())
    }
    paper = PAPERS[first.paper]
    left_out = {m: why for m, why in paper.unranked.items() if m in methods}
    rest = [method for method in methods if method not in left_out]
    left_out |= _left_out(rest, begun or cells)
    ranked = [method for method in methods if method not in left_out]
    values = _complete(begun, ranked, "value")
    printed = _complete({name: begun[name] for name in values}, ranked, "published")
    higher = first.metric not in LOWER_IS_BETTER
    reference = next((m for m in (*paper.own, *ranked) if m in ranked), "")
    return Ranking(
        first.paper,
        "+".join(dict.fromkeys(table.table for table in group)),
        "accuracy" if together else first.metric,
        first.protocol,
        first.variant,
        reference=reference,
        ours=_test(values, reference, higher),
        printed=None
        if "permuted" in first.protocol
        else _test(printed, reference, higher),
        left_out=left_out,
        n_rows=len(begun),
        n_incomplete=len(begun) - len(values),
        sets=first.sets,
    )


def _complete(
    rows: dict[str, dict[str, Cell]], methods: list[str], number: str
) -> Scores:
    """Keep the rows where every method has the number, "value" or "published".

    Means over different splits cannot be compared: such a row is not complete either.
    """
    scores = {
        name: {m: getattr(row[m], number) for m in methods if m in row}
        for name, row in rows.items()
        if len({row[m].n_splits for m in methods if m in row}) == 1
    }
    return {
        name: row
        for name, row in scores.items()
        if len(row) == len(methods) and None not in row.values()
    }


def _left_out(methods: list[str], rows: dict[str, dict[str, Cell]]) -> dict[str, str]:
    """Name the methods without a number on most rows, with the commonest reason."""
    reasons = {}
    for method in methods:
        cells = [row[method] for row in rows.values() if method in row]
        there = sum(cell.value is not None for cell in cells)
        if 2 * there >= len(rows) and there:
            continue
        absent = Counter(cell.status for cell in cells if cell.value is None)
        absent["not run"] += len(rows) - len(cells)
        why = absent.most_common(1)[0][0].removeprefix("left out: ")
        reasons[method] = f"{why}; {there} of {len(rows)} numbers" if there else why
    return reasons


def _test(scores: Scores, reference: str, higher_is_better: bool) -> RankTests | None:
    methods = next(iter(scores.values()), {})
    if len(scores) < MIN_ROWS or len(methods) < MIN_METHODS:
        return None
    return RankTests(
        scores,
        mean_ranks(scores, higher_is_better=higher_is_better).ranks,
        friedman(scores),
        kruskal_wallis(scores),
        nemenyi(scores).p_values,
        wilcoxon_holm(scores, reference).p_values[reference],
        {m: fmean(row[m] for row in scores.values()) for m in methods},
        critical_difference(len(methods), len(scores)),
    )
