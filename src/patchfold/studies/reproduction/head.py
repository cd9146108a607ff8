"""Tables and rankings -> the head of a report: what is claimed, what came out, why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ...datasets import catalogue
from .claims import CLAIMS, page_address
from .documents import Answer, Block, Grid, Heading, Items, Link, Paragraph
from .papers import PAPERS
from .rankings import Ranking
from .records import Record
from .tables import ResultTable
from .words import method_words, metric_words, setting_words


def report_title(papers: Iterable[str]) -> str:
    """Return the title of a report on some papers."""
    names = sorted(papers)
    if len(names) != 1:
        return "Published tables, run again"
    paper = PAPERS[names[0]]
    return paper.title or f"{method_words(paper.own[0])}: published tables, run again"


def answer_first(tables: list[ResultTable], rankings: list[Ranking]) -> Iterator[Block]:
    """Yield, for each paper, the claim, what came out, and why they differ.

    Parameters
    ----------
    tables : list of ResultTable
        From `build_tables`.
    rankings : list of Ranking
        From `rank_tables`.

    Yields
    ------
    Block
    """
    papers = list(dict.fromkeys(table.paper for table in tables))
    for name in papers:
        own = [ranking for ranking in rankings if ranking.paper == name]
        mine = [table for table in tables if table.paper == name]
        claim = CLAIMS.get(name)
        question = "Does it come out again?" if claim else "What came out?"
        first, rest = _tell(mine, own)
        yield Answer(question, first, rest)
        if claim:
            yield Heading("The claim")
            yield Paragraph(f"{claim.claim} ({claim.work}.)")
        if claim or any(table.has_print for table in mine):
            yield from _summary(mine)
        if claim:
            yield Heading("Why the numbers differ")
            yield Items(claim.reasons)
            yield Link("The method's page", claim.page, page_address(claim.page))


def _tell(tables: list[ResultTable], rankings: list[Ranking]) -> tuple[str, str]:
    """Return the answer in a sentence, and what else must be known."""
    ranked = [r for r in _in_order(rankings) if r.ours is not None]
    rows = [item for table in tables for item in table.scores().items()]
    n_asked, n_sets = len({d for d, _ in rows}), len({d for d, row in rows if row})
    if not ranked:
        if not n_sets:
            return "Nothing was measured: no set is at hand.", ""
        words = f"{n_sets} {'set is' if n_sets == 1 else 'sets are'} too few to rank"
        return f"{words} the methods.", "The tables below have every number."
    first, *others = ranked
    same = [
        other
        for other in others
        if (other.metric, other.table, other.sets)
        == (first.metric, first.table, first.sets)
    ]
    kinds = {_kind(other): other for other in reversed(same)}
    rest = [
        _rank_words(kinds[kind]) for kind in kinds if kind != _kind(first)
    ]  # of each kind of run, the first
    few = []
    if n_sets < n_asked / 2:
        few = [
            f"Only {n_sets} of the {n_asked} sets were run: with all of them the order "
            "may differ."
        ]
    said = [*few, *_gap_words(tables, first), *sorted(rest)]
    return _rank_words(first), " ".join(said)


def _kind(ranking: Ranking) -> tuple[bool, bool]:
    return "permuted" in ranking.protocol, "published" in ranking.protocol


def _gap_words(tables: list[ResultTable], ranking: Ranking) -> Iterator[str]:
    """Say how far the paper's own method is from print in the table that is ranked."""
    for table in tables:
        if (table.table, table.metric, table.protocol, table.variant) == (
            *(ranking.table, ranking.metric, ranking.protocol, ranking.variant),
        ):
            gap = table.mean_absolute_error(ranking.reference)
            if gap is not None:
                yield f"On average it is {gap[0]:.3f} from print, over {gap[1]} sets."


def _rank_words(ranking: Ranking) -> str:
    ours, method = ranking.ours, ranking.reference
    assert ours is not None
    place = sorted(ours.ranks.values()).index(ours.ranks[method]) + 1
    words = (
        f"{_setting(ranking).capitalize()}, {method_words(method)} is number {place} "
        f"of {len(ours.ranks)} by {metric_words(ranking.metric)} (mean rank "
        f"{ours.ranks[method]:.1f} over {len(ours.scores)} rows"
    )
    if ranking.printed is not None:
        words += f"; the printed numbers give {ranking.printed.ranks[method]:.1f}"
    return f"{words})."


def _in_order(rankings: Iterable[Ranking]) -> list[Ranking]:
    """Sort rankings: the paper's own tables, script and metric first."""

    def key(ranking: Ranking) -> tuple[object, ...]:
        paper = PAPERS[ranking.paper]
        metrics = [m for t in paper.tables for m in t.metrics]
        place = metrics.index(ranking.metric) if ranking.metric in metrics else 0
        asked = paper.protocol
        return (
            ranking.protocol != asked,
            "permuted" in ranking.protocol,
            ranking.table,
            place,
            ranking.variant != "released",
            ranking.protocol,
        )

    return sorted(rankings, key=key)


def _run_order(table: ResultTable) -> tuple[object, ...]:
    """Sort tables: as the paper did it first, shuffled labels last."""
    asked = PAPERS[table.paper].protocol
    shuffled = "permuted" in table.protocol
    return (table.table, table.metric, shuffled, table.protocol != asked, table.variant)


def _setting(place: Ranking | ResultTable) -> str:
    return setting_words(place.protocol, place.variant, _has_scripts(place.paper))


def _has_scripts(paper: str) -> bool:
    from .methods import RELEASED

    return bool({*PAPERS[paper].own} & {*RELEASED}) and PAPERS[paper].label != "HONEST"


def _summary(tables: list[ResultTable]) -> Iterator[Block]:
    """Set the paper's number of its own methods beside ours, a line for each table."""
    head = ["table", "method", "how it was run", "printed mean", "our mean"]
    lines = [[*head, "mean absolute difference", "sets"]]
    for table in sorted(tables, key=_run_order):
        for method in table.methods:
            found = table.means_beside_print(method)
            if method not in PAPERS[table.paper].own or found is None:
                continue
            gap, n_sets = table.mean_absolute_error(method) or (0.0, 0)
            name = f"Table {table.table}: {metric_words(table.metric)}"
            texts = [f"{value:.3f}" for value in (*found, gap)]
            lines.append(
                [name, method_words(method), _setting(table), *texts, str(n_sets)]
            )
    if len(lines) > 1:
        yield Heading("The claim beside ours")
        yield Paragraph("Means over the sets that have both numbers.")
        yield Grid(lines)


def missing_parts(records: Iterable[Record]) -> Iterator[Block]:
    """Say which sets are not at hand and where each could come from; and packages.

    Parameters
    ----------
    records : iterable of Record
        What was measured, or why not.

    Yields
    ------
    Block
        Nothing if all is there.
    """
    listed = list(records)
    absent = sorted({r.dataset for r in listed if r.status == "no data"})
    lacking = Counter(
        f"{method_words(r.method)}: {r.status}"
        for r in {r.key: r for r in listed}.values()
        if r.status.startswith("not installed")
    )
    if not absent and not lacking:
        return
    yield Heading("What is missing")
    if absent:
        known = {row.name: row.openml for row in catalogue()}
        count = "1 set is" if len(absent) == 1 else f"{len(absent)} sets are"
        yield Paragraph(
            f"{count} not on this machine. Sets of OpenML are downloaded if there is "
            "a network. You can also put a set into a folder: name it NAME.csv.gz, "
            "with the last column target, and set PATCHFOLD_DATA=FOLDER. Then run "
            "the command again: finished runs are kept."
        )
        lines = [["set", "where it could come from"]]
        for name in absent:
            source = known.get(name, "")
            where = f"OpenML, {source}" if source else "a file of your own"
            lines.append([name, where])
        yield Grid(lines)
    if lacking:
        yield Items(tuple(f"{what} ({n} runs)" for what, n in lacking.items()))


def place_words(place: Ranking | ResultTable) -> str:
    """Return which table of which paper, what it measures and how it was run."""
    where = f"Table {place.table}"  # of our own studies, which the page is named after
    if place.paper in CLAIMS:
        where = f"{method_words(PAPERS[place.paper].own[0])}, table {place.table}"
    how = ", ".join(filter(None, (_setting(place), place.sets)))
    return f"{where}: {metric_words(place.metric)} ({how})"
