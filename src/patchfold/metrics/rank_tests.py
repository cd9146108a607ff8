"""Scores of methods on many datasets -> mean ranks, tests and p-values.

A score table is a pandas DataFrame (rows are datasets, columns are methods) or a
mapping from dataset to method to score. A dataset that lacks the score of any method
cannot be ranked: it is dropped, and every result says how many were.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from .fold_tests import holm

FRIEDMAN_VARIANTS = ("chi2", "iman_davenport")
NEMENYI_VARIANTS = ("friedman", "kruskal_wallis", "uncorrected")


class _Complete(NamedTuple):
    methods: tuple[str, ...]
    values: np.ndarray
    n_dropped: int


@dataclass(frozen=True)
class MeanRanks:
    """Mean rank of every method, 1 being the best.

    Attributes
    ----------
    ranks : dict of str to float
        Method -> mean rank, in the order of the table; equal scores share their ranks.
    n_datasets, n_dropped : int
        Datasets that counted, and incomplete ones that did not.
    """

    ranks: dict[str, float]
    n_datasets: int
    n_dropped: int


@dataclass(frozen=True)
class OmnibusTest:
    """Whether the methods differ at all.

    Attributes
    ----------
    statistic, p_value : float
        The test's statistic, and how often chance gives one as large.
    n_datasets, n_dropped : int
        Datasets that counted, and incomplete ones that did not.
    """

    statistic: float
    p_value: float
    n_datasets: int
    n_dropped: int


@dataclass(frozen=True)
class PairwiseTest:
    """Which methods differ.

    Attributes
    ----------
    p_values : dict of str to dict of str to float
        Method -> other method -> p-value.
    n_datasets, n_dropped : int
        Datasets that counted, and incomplete ones that did not.
    """

    p_values: dict[str, dict[str, float]]
    n_datasets: int
    n_dropped: int


def mean_ranks(scores: Any, *, higher_is_better: bool = True) -> MeanRanks:
    """Rank the methods on each dataset, and average.

    Parameters
    ----------
    scores : DataFrame or mapping
        Score table.
    higher_is_better : bool, default=True
        False ranks the lowest score first.

    Returns
    -------
    MeanRanks

    Examples
    --------
    >>> from patchfold.metrics.rank_tests import mean_ranks
    >>> scores = {"iris": {"PCA": 0.9, "LDA": 0.9, "UMAP": 0.8},
    ...           "wine": {"PCA": 0.9, "LDA": 1.0, "UMAP": 0.7},
    ...           "zoo": {"PCA": 0.8, "UMAP": 0.9}}
    >>> mean_ranks(scores)
    MeanRanks(ranks={'PCA': 1.75, 'LDA': 1.25, 'UMAP': 3.0}, n_datasets=2, n_dropped=1)
    """
    methods, values, n_dropped = _complete(scores)
    ranks = _rank(values if higher_is_better else -values).mean(axis=0)
    return MeanRanks(_named(methods, ranks), len(values), n_dropped)


def friedman(scores: Any, *, variant: str = "chi2") -> OmnibusTest:
    """Test whether all methods are equally good, by their ranks on each dataset.

    Parameters
    ----------
    scores : DataFrame or mapping
        Score table of three methods or more.
    variant : {"chi2", "iman_davenport"}, default="chi2"
        "chi2" is Friedman's statistic, corrected for ties. "iman_davenport" is the
        less conservative F statistic of Iman and Davenport [1]_, not corrected for
        ties; it is what the ISOMAP-KL paper calls Friedman.

    Returns
    -------
    OmnibusTest

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets",
       JMLR 7, 2006.

    Examples
    --------
    >>> from patchfold.metrics.rank_tests import friedman
    >>> scores = {name: {"PCA": 0.1, "LDA": 0.2, "UMAP": 0.3} for name in "abcde"}
    >>> result = friedman(scores)
    >>> round(result.statistic, 3), round(result.p_value, 4)
    (10.0, 0.0067)
    """
    _check_word("variant", variant, FRIEDMAN_VARIANTS)
    _, values, n_dropped = _complete(scores)
    n, k = values.shape
    if k < 3:
        raise ValueError(
            f"scores must have three methods or more for Friedman's test. Got {k}: "
            "compare two with wilcoxon_holm."
        )
    if not np.ptp(values, axis=1).any():
        return OmnibusTest(0.0, 1.0, n, n_dropped)
    if variant == "chi2":
        statistic, p_value = stats.friedmanchisquare(*values.T)
    else:
        ranks = _rank(values).mean(axis=0)
        # Rounded once: the order of the methods changes no digit.
        squares = math.fsum(ranks**2) - k * (k + 1) ** 2 / 4
        chi2 = 12 * n / (k * (k + 1)) * squares
        rest = n * (k - 1) - chi2
        statistic = (n - 1) * chi2 / rest if rest > 0 else np.inf
        p_value = stats.f.sf(statistic, k - 1, (k - 1) * (n - 1))
    return OmnibusTest(float(statistic), float(p_value), n, n_dropped)


def kruskal_wallis(scores: Any) -> OmnibusTest:
    """Test whether all methods are equally good, by ranks over all scores together.

    It ignores that scores of one dataset belong together, which is why it sees less
    than Friedman's test does; the KLAP paper uses it.

    Parameters
    ----------
    scores : DataFrame or mapping
        Score table of two methods or more.

    Returns
    -------
    OmnibusTest

    Examples
    --------
    >>> from patchfold.metrics.rank_tests import kruskal_wallis
    >>> scores = {name: {"PCA": 0.1, "LDA": 0.2, "UMAP": 0.3} for name in "abcde"}
    >>> round(kruskal_wallis(scores).p_value, 5)
    0.00091
    """
    _, values, n_dropped = _complete(scores)
    if not np.ptp(values):
        return OmnibusTest(0.0, 1.0, len(values), n_dropped)
    statistic, p_value = stats.kruskal(*values.T)
    return OmnibusTest(float(statistic), float(p_value), len(values), n_dropped)


def nemenyi(scores: Any, *, variant: str = "friedman") -> PairwiseTest:
    """Compare all pairs of methods by their mean ranks, with scikit-posthocs.

    Parameters
    ----------
    scores : DataFrame or mapping
        Score table.
    variant : {"friedman", "kruskal_wallis", "uncorrected"}, default="friedman"
        "friedman" is Nemenyi's test on ranks per dataset, "kruskal_wallis" that on
        ranks over all scores together (both by the studentized range).
        "uncorrected" compares ranks per dataset by a normal distribution, with **no
        correction for the number of pairs** (Siegel and Castellan): it is what the
        ISOMAP-KL and KLAP papers print as Nemenyi's, and it errs more often than its
        level says.

    Returns
    -------
    PairwiseTest

    Raises
    ------
    ImportError
        If scikit-posthocs is not installed.

    Examples
    --------
    >>> from patchfold.metrics.rank_tests import nemenyi
    >>> scores = {name: {"PCA": 0.1, "LDA": 0.2, "UMAP": 0.3} for name in "abcde"}
    >>> round(nemenyi(scores).p_values["UMAP"]["PCA"], 4)
    0.0045
    """
    _check_word("variant", variant, NEMENYI_VARIANTS)
    methods, values, n_dropped = _complete(scores)
    posthocs = _scikit_posthocs()
    if variant == "friedman":
        matrix = posthocs.posthoc_nemenyi_friedman(values)
    elif variant == "kruskal_wallis":
        matrix = posthocs.posthoc_nemenyi(values.T.tolist(), dist="tukey")
    else:
        matrix = posthocs.posthoc_siegel_friedman(values)
    p_values = {
        method: _named(methods, row, but=method)
        for method, row in zip(methods, np.asarray(matrix), strict=True)
    }
    return PairwiseTest(p_values, len(values), n_dropped)


def wilcoxon_holm(scores: Any, reference: str) -> PairwiseTest:
    """Compare one method with each of the others by Wilcoxon's signed ranks.

    The p-values are two-sided and corrected for the number of comparisons by Holm's
    step-down rule. Datasets where two methods tie say nothing about the two.

    Parameters
    ----------
    scores : DataFrame or mapping
        Score table.
    reference : str
        The method the others are compared with.

    Returns
    -------
    PairwiseTest
        With one row, that of `reference`.

    Examples
    --------
    >>> from patchfold.metrics.rank_tests import wilcoxon_holm
    >>> scores = {n: {"PCA": n / 9, "LDA": n / 8, "UMAP": n / 7} for n in range(1, 7)}
    >>> wilcoxon_holm(scores, "PCA").p_values
    {'PCA': {'LDA': 0.0625, 'UMAP': 0.0625}}
    """
    methods, values, n_dropped = _complete(scores)
    _check_word("reference", reference, methods)
    others = [method for method in methods if method != reference]
    own = values[:, methods.index(reference)]
    raw = [_signed_ranks(values[:, methods.index(method)] - own) for method in others]
    corrected = holm(raw)
    p_values = {reference: _named(others, corrected)}
    return PairwiseTest(p_values, len(values), n_dropped)


def critical_difference(
    n_methods: int, n_datasets: int, *, alpha: float = 0.05
) -> float:
    """Return by how much mean ranks must differ for Nemenyi's test to notice.

    Parameters
    ----------
    n_methods, n_datasets : int
        Size of the complete score table.
    alpha : float, default=0.05
        Level of significance.

    Returns
    -------
    float
        q √(k(k + 1) / 6n), q being the studentized range of k means divided by √2.

    Examples
    --------
    >>> from patchfold.metrics.rank_tests import critical_difference
    >>> round(critical_difference(4, 14), 2)  # Demšar (2006), section 3.2.4
    1.25
    """
    if n_methods < 2 or n_datasets < 1:
        raise ValueError(
            "n_methods must be at least 2 and n_datasets at least 1. Got "
            f"{n_methods!r} and {n_datasets!r} instead."
        )
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1. Got {alpha!r} instead.")
    q = stats.studentized_range.isf(alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def _complete(scores: Any) -> _Complete:
    """Return methods, scores of complete datasets, and how many datasets were not."""
    if hasattr(scores, "columns"):
        methods = tuple(scores.columns)
        values = np.asarray(scores, dtype=float)
    elif isinstance(scores, Mapping):
        methods = tuple(dict.fromkeys(m for row in scores.values() for m in row))
        values = np.array(
            [[row.get(m, np.nan) for m in methods] for row in scores.values()],
            dtype=float,
        ).reshape(len(scores), len(methods))
    else:
        raise TypeError(
            "scores must be a pandas DataFrame (rows are datasets, columns are methods)"
            " or a mapping from dataset to method to score. Got "
            f"{type(scores).__name__} instead."
        )
    complete = ~np.isnan(values).any(axis=1)
    n, k = complete.sum(), len(methods)
    if n < 2 or k < 2:
        raise ValueError(
            "scores must have two methods or more, and two datasets or more with a "
            f"score of every method. Got {k} methods and {n} such datasets (of "
            f"{len(values)}): leave out the methods whose scores are missing."
        )
    return _Complete(methods, values[complete], int(len(values) - n))


def _rank(values: np.ndarray) -> np.ndarray:
    """Rank the methods of every dataset, the highest score first."""
    return stats.rankdata(-values, axis=1)


def _signed_ranks(differences: np.ndarray) -> float:
    if not differences.any():
        return 1.0
    return float(stats.wilcoxon(differences).pvalue)


def _named(methods: Any, values: Any, but: str | None = None) -> dict[str, float]:
    pairs = zip(methods, values, strict=True)
    return {method: float(value) for method, value in pairs if method != but}


def _check_word(name: str, word: str, allowed: tuple[str, ...]) -> None:
    if word not in allowed:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, allowed))}. Got {word!r} "
            "instead."
        )


def _scikit_posthocs() -> Any:
    try:
        return import_module("scikit_posthocs")
    except ImportError as error:
        raise ImportError(
            'Nemenyi\'s test needs scikit-posthocs: pip install "patchfold[eval]".'
        ) from error
