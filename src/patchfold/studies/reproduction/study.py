"""The honest study's records as rows of the papers' tables.

The study runs every method on every set by most of the papers' metrics, so that most of
their tables under an honest protocol need no runs of their own. What it lacks is run
under the paper's name: four of the eight classifiers of ISOMAP-KL's tables 2 and 3, and
what only Cauchy's table has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from .papers import PAPERS, Published
from .records import Record

STUDY = "honest"


def as_paper_records(
    records: Iterable[Record], published: Published
) -> Iterator[Record]:
    """Give the study's records the places in the papers' tables that they fill.

    Parameters
    ----------
    records : iterable of Record
        Those of other papers are passed over.
    published : Published
        The printed numbers, to stand beside them.

    Yields
    ------
    Record
        One for each printed table that has the set, the method and the metric.
    """
    papers = [paper for paper in PAPERS.values() if paper.protocol == "published"]
    tables_of = cache(lambda dataset: [(p, p.tables_of(dataset)) for p in papers])
    for record in records:
        if record.paper != STUDY:
            continue
        for paper, tables in tables_of(record.dataset):
            for table in tables:
                if record.method in paper.methods and record.metric in table.metrics:
                    yield replace(
                        record,
                        paper=paper.name,
                        table=table.number,
                        published=published.value(
                            paper, table, record.dataset, record.method, record.metric
                        ),
                    )
