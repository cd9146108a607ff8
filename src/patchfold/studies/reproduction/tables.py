"""Records -> tables: ours beside the published number, with the difference.

Everything here is a function of the records alone: run twice, it gives the same text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, stdev

from .papers import PAPERS
from .records import Record

FRESH, DESIGN = "sets not used for design", "sets used for design"


@dataclass(frozen=True)
class Cell:
    """What is known of one method on one set under one protocol.

    Attributes
    ----------
    value : float or None
        Mean over the splits.
    error : float or None
        Its standard error, where there are several splits.
    published : float or None
        The printed number.
    n_neighbors : int or None
        The size behind the number, where there is one split.
    status : str
        "ok", or why there is no number.
    n_splits : int
        How many splits the mean is over.
    """

    value: float | None
    error: float | None
    published: float | None
    n_neighbors: int | None
    status: str
    n_splits: int


@dataclass(frozen=True)
class ResultTable:
    """One printed table under one protocol and variant.

    Attributes
    ----------
    paper, table, metric, protocol, variant : str
        What it is.
    methods : tuple of str
        Columns, the paper's own method last.
    rows : dict
        Dataset -> method -> Cell.
    sets : str
        Which sets it has, where those that served for design stand apart: `FRESH` or
        `DESIGN`; else "".
    """

    paper: str
    table: str
    metric: str
    protocol: str
    variant: str
    methods: tuple[str, ...]
    rows: dict[str, dict[str, Cell]]
    sets: str = ""

    def mean_absolute_error(self, method: str) -> tuple[float, int] | None:
        """Return the mean distance of ours from the published, and over how many."""
        gaps = [
            abs(cell.value - cell.published)
            for row in self.rows.values()
            if (cell := row.get(method)) is not None
            and cell.value is not None
            and cell.published is not None
        ]
        return (fmean(gaps), len(gaps)) if gaps else None

    @property
    def has_print(self) -> bool:
        """Whether any number of it was printed."""
        cells = (cell for row in self.rows.values() for cell in row.values())
        return any(cell.published is not None for cell in cells)

    def means_beside_print(self, method: str) -> tuple[float, float] | None:
        """Return the means of print and of ours, over the sets that have both."""
        pairs = [
            (cell.published, cell.value)
            for row in self.rows.values()
            if (cell := row.get(method)) is not None
            and cell.value is not None
            and cell.published is not None
        ]
        if not pairs:
            return None
        printed, ours = (fmean(values) for values in zip(*pairs, strict=True))
        return printed, ours

    def scores(self) -> dict[str, dict[str, float]]:
        """Return ours alone: dataset -> method -> value, where there is one."""
        return {
            dataset: {
                method: cell.value
                for method, cell in row.items()
                if cell.value is not None
            }
            for dataset, row in self.rows.items()
        }


def build_tables(records: Iterable[Record]) -> list[ResultTable]:
    """Gather records into tables.

    The baselines have one variant only; they stand in the released table too.

    Parameters
    ----------
    records : iterable of Record
        In any order.

    Returns
    -------
    list of ResultTable
        Sorted by paper, table, sets, metric, protocol and variant: sets that served for
        the design of a method come after the others.
    """
    cells: dict[tuple[str, ...], dict[str, dict[str, list[Record]]]] = {}
    for record in records:
        sets = _sets_of(record)
        place = (record.paper, record.table, sets, record.metric, record.protocol)
        variants = [record.variant]
        if record.method not in PAPERS[record.paper].own:
            variants = ["equations", "released"]
        for variant in variants:
            rows = cells.setdefault((*place, variant), {})
            rows.setdefault(record.dataset, {}).setdefault(record.method, []).append(
                record
            )
    tables = []
    for where, rows in sorted(cells.items()):
        paper_name, number, sets, metric, protocol, variant = where
        paper = PAPERS[paper_name]
        present = {method for row in rows.values() for method in row}
        if variant == "released" and not present & set(paper.own):
            continue
        tables.append(
            ResultTable(
                paper_name,
                number,
                metric,
                protocol,
                variant,
                methods=tuple(m for m in paper.methods if m in present),
                rows={
                    dataset: {method: _cell(group) for method, group in row.items()}
                    for dataset, row in sorted(rows.items())
                },
                sets=sets,
            )
        )
    return tables


def _sets_of(record: Record) -> str:
    """Tell which of a table's two parts a record belongs to, if it has parts."""
    tables = PAPERS[record.paper].tables
    design = next((t.design for t in tables if t.number == record.table), ())
    if not design:
        return ""
    return DESIGN if record.dataset in design else FRESH


def _cell(records: list[Record]) -> Cell:
    values = [record.value for record in records if record.value is not None]
    statuses = sorted({record.status for record in records} - {"ok"})
    several = len(records) > 1
    return Cell(
        value=fmean(values) if values else None,
        error=stdev(values) / len(values) ** 0.5 if len(values) > 1 else None,
        published=records[0].published,
        n_neighbors=None if several else records[0].n_neighbors,
        status="; ".join(statuses) or ("ok" if values else "not defined"),
        n_splits=len(values),
    )


@dataclass(frozen=True)
class Average:
    """Mean and standard deviation of a method's accuracies over several tables.

    Attributes
    ----------
    ours, printed : tuple of (float, float) or None
        Mean and standard deviation over the cells that have both numbers.
    n_cells : int
        How many there are.
    """

    ours: tuple[float, float] | None
    printed: tuple[float, float] | None
    n_cells: int


def average_tables(tables: Iterable[ResultTable]) -> dict[str, Average]:
    """Average every method over the cells of all tables.

    Table 4 of the ISOMAP-KL paper is this, over its tables 2 and 3.

    Parameters
    ----------
    tables : iterable of ResultTable
        Tables of one paper, protocol and variant.

    Returns
    -------
    dict of str to Average
        Method -> averages, in the order of the columns.
    """
    cells: dict[str, list[tuple[float, float]]] = {}
    for table in tables:
        for row in table.rows.values():
            for method in table.methods:
                cell = row.get(method)
                pairs = cells.setdefault(method, [])
                if cell and cell.value is not None and cell.published is not None:
                    pairs.append((cell.value, cell.published))
    averages = {}
    for method, pairs in cells.items():
        ours = printed = None
        if len(pairs) > 1:
            ours, printed = ((fmean(v), stdev(v)) for v in zip(*pairs, strict=True))
        averages[method] = Average(ours, printed, len(pairs))
    return averages
