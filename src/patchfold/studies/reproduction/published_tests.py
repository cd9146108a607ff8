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

from scipy.stats import norm

from ...metrics.rank_tests import friedman, kruskal_wallis, nemenyi


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

PRINTED = {
    ("ELAP", "T1"): {
        "": "5.71e-13",
        "PCA": "0.00166",
        "KPCA": "<1e-3",
        "ISOMAP": "<1e-3",
        "LLE": "<1e-3",
        "HLLE": "<1e-3",
        "LAP": "<1e-3",
    },
    ("ELAP", "T2"): {
        "": "1.91e-12",
        "PCA": "<1e-3",
        "KPCA": "<1e-3",
        "ISOMAP": "<1e-3",
        "LLE": "<1e-3",
        "HLLE": "<1e-3",
        "LAP": "<1e-3",
    },
    ("PELLE", "T1"): {
        "": "1.36e-11",
        "PCA": "<1e-3",
        "ISOMAP": "0.002",
        "LLE": "<1e-3",
        "HLLE": "<1e-3",
        "LTSA": "<1e-3",
        "UMAP": "<1e-3",
    },
    ("KLAP", "T1"): {
        "": "5.74e-24",
        "PCA": "<1e-18",
        "ISOMAP": "<1e-18",
        "TSNE": "<1e-18",
        "UMAP": "<1e-18",
        "SPCA": "3.24e-12",
        "LDA": "0.0003",
    },
    ("KLAP", "T2"): {
        "": "9.51e-19",
        "PCA": "<1e-18",
        "ISOMAP": "<1e-18",
        "TSNE": "4.21e-11",
        "UMAP": "1.11e-15",
        "SPCA": "3.07e-13",
        "LDA": "2.33e-6",
    },
    ("ISOKL", "T1"): {
        "": "7.49e-5",
        "PCA": "4.15e-5",
        "KPCA": "0.0425",
        "ISOMAP": "0.0201",
        "LLE": "2.87e-5",
        "LAP": "0.0046",
    },
    ("ISOKL", "T2+T3"): {
        "": "1.12e-15",
        "PCA": "3.11e-12",
        "KPCA": "1e-18",
        "LLE": "1e-19",
        "LAP": "1e-19",
    },
}
"""p-values in the papers' texts, as printed; the empty name is the test of all."""

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

    @property
    def printed(self) -> str:
        """The p-value in the paper's text, or an empty string."""
        return PRINTED.get((self.paper, self.tables), {}).get(self.method, "")

    @property
    def agrees(self) -> bool:
        """Whether ours is the printed one, to its last digit.

        The papers round that digit or cut the rest off at will. An uncorrected p-value
        is compared as 2(1 - Φ(z)), which loses digits below 1e-12: 1.11e-15 is five
        times the spacing of numbers below 1, doubled, so KLAP's were computed like
        that, and those that it prints as "< 1e-18" are zeros.
        """
        p_value = self.p_value
        if self.test == "uncorrected":
            p_value = 2 * (1 - norm.cdf(norm.isf(p_value / 2)))
        if self.printed.startswith("<"):
            return bool(p_value < float(self.printed[1:]))
        digits, _, exponent = self.printed.partition("e")
        decimals = len(digits.partition(".")[2])
        unit = 10.0 ** (int(exponent or 0) - decimals)
        return bool(abs(p_value - float(self.printed)) < unit)


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
    >>> from patchfold.studies.reproduction.published_tests import published_p_values
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
