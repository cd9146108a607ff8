"""The papers' printed scores -> the p-values their own tests give on them.

Which test a paper names and which one gives its printed p-values are two things. Found
by trying, and settled by the printed digits:

* ELAP and PELLE: Friedman's chi-square and Nemenyi's test, as they say.
* ISOMAP-KL: its "Friedman" is the F statistic of Iman and Davenport, and its "Nemenyi"
  is not corrected for the number of comparisons.
* KLAP: Kruskal-Wallis as it says, but its "Nemenyi" is the same uncorrected one, on
  ranks per dataset, not on those of Kruskal and Wallis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .stats import friedman, kruskal_wallis, nemenyi


@dataclass(frozen=True)
class PaperTests:
    """Which tests a paper made on which of its tables.

    Attributes
    ----------
    paper : str
        As in `published.csv`, "ELAP".
    tables : tuple of str
        Its tables that are tested together, ("T1",).
    own : str
        The method the others are compared with.
    omnibus : {"friedman", "iman_davenport", "kruskal_wallis"}
        The test of all methods.
    post_hoc : {"friedman", "uncorrected"}
        Variant of `nemenyi`.
    """

    paper: str
    tables: tuple[str, ...]
    own: str
    omnibus: str
    post_hoc: str


PAPER_TESTS = (
    PaperTests("ELAP", ("T1",), "ELAP", "friedman", "friedman"),
    PaperTests("ELAP", ("T2",), "ELAP", "friedman", "friedman"),
    PaperTests("PELLE", ("T1",), "PELLE", "friedman", "friedman"),
    PaperTests("KLAP", ("T1",), "KLAP", "kruskal_wallis", "uncorrected"),
    PaperTests("KLAP", ("T2",), "KLAP", "kruskal_wallis", "uncorrected"),
    PaperTests("ISOKL", ("T1",), "ISOMAP-KL", "iman_davenport", "uncorrected"),
    PaperTests("ISOKL", ("T2", "T3"), "ISOMAP-KL", "iman_davenport", "uncorrected"),
)

OMNIBUS = {
    "friedman": friedman,
    "iman_davenport": lambda scores: friedman(scores, variant="iman_davenport"),
    "kruskal_wallis": kruskal_wallis,
}


@dataclass(frozen=True)
class PublishedPValue:
    """One p-value computed from a paper's printed scores.

    Attributes
    ----------
    paper : str
        As in `published.csv`.
    tables : str
        Its tables, "T1" or "T2+T3".
    test : str
        The test of all methods, or the variant of `nemenyi`.
    method : str
        The method the paper's own is compared with; empty for a test of all.
    p_value : float
        Ours.
    n_datasets, n_dropped : int
        Rows of the tables that counted, and incomplete ones that did not.
    """

    paper: str
    tables: str
    test: str
    method: str
    p_value: float
    n_datasets: int
    n_dropped: int


def published_p_values(rows: Iterable[Mapping[str, str]]) -> list[PublishedPValue]:
    """Rerun the papers' tests on their printed scores.

    Parameters
    ----------
    rows : iterable of mappings
        Rows of `published.csv`, as `csv.DictReader` gives them, with the keys seed,
        table, dataset, metric, method and value. In tables with several metrics, each
        metric of a dataset is a row of the test.

    Returns
    -------
    list of PublishedPValue
        For each of `PAPER_TESTS` that has rows: the test of all methods, then one
        comparison per other method.

    Raises
    ------
    ImportError
        If scikit-posthocs is not installed.

    Examples
    --------
    >>> from patchfold.evaluation.published_tests import published_p_values
    >>> rows = [
    ...     {"seed": "ELAP", "table": "T1", "dataset": dataset, "metric": "silhouette",
    ...      "method": method, "value": value}
    ...     for dataset in "abcdefgh"
    ...     for method, value in [("PCA", "0.1"), ("LAP", "0.2"), ("ELAP", "0.3")]
    ... ]
    >>> for found in published_p_values(rows):
    ...     print(found.test, found.method, f"{found.p_value:.2g}")
    friedman  0.00034
    friedman PCA 0.00019
    friedman LAP 0.11
    """
    scores: dict[tuple[str, str], dict[tuple[str, str], dict[str, float]]] = {}
    for row in rows:
        table = scores.setdefault((row["seed"], row["table"]), {})
        line = table.setdefault((row["dataset"], row["metric"]), {})
        line[row["method"]] = float(row["value"])
    found = []
    for tests in PAPER_TESTS:
        merged = {
            (table, *line): methods
            for table in tests.tables
            for line, methods in scores.get((tests.paper, table), {}).items()
        }
        if merged:
            found += _run(tests, merged)
    return found


def _run(
    tests: PaperTests, scores: Mapping[tuple[str, str, str], Mapping[str, float]]
) -> list[PublishedPValue]:
    tables = "+".join(tests.tables)
    every = OMNIBUS[tests.omnibus](scores)
    counts = (every.n_datasets, every.n_dropped)
    pairs = nemenyi(scores, variant=tests.post_hoc).p_values[tests.own]
    p_values = [(tests.omnibus, "", every.p_value)]
    p_values += [(tests.post_hoc, method, p) for method, p in pairs.items()]
    return [PublishedPValue(tests.paper, tables, *p, *counts) for p in p_values]
