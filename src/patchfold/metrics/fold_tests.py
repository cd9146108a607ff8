"""Scores of methods on the folds of one table -> which differ from the best.

The folds share training samples, so their differences are not independent. The test
corrects the variance for that, after Nadeau and Bengio.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


def corrected_t_test(differences: Sequence[ArrayLike], test_share: float) -> float:
    """Test whether the mean difference of two methods over folds is 0.

    The variance of the mean is (1/k + n_test/n_train) times the variance of the k
    differences [1]_, where the usual t-test has 1/k. A few folds estimate that variance
    badly, so that even large differences are not sure. Where the differences of single
    rows are known, the variance of a fold's mean is estimated by them too. The larger
    of the two estimates is taken, with its own degrees of freedom: that of the folds
    shows what training samples change. Two or three folds can miss this by chance, so
    that equal methods are called different more often than the p-value says.

    Parameters
    ----------
    differences : sequence of float or array (n_test,)
        Score of one method less that of the other, fold by fold, as a number or row by
        row; two folds or more.
    test_share : float
        Size of a test part divided by that of its training part.

    Returns
    -------
    float
        Two-sided p-value. Degrees of freedom: number of folds less 1 with the variance
        of the folds, number of rows less that of folds with the variance of the rows.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine
       Learning 52, 2003.

    Examples
    --------
    >>> round(corrected_t_test([0.1, 0.12, 0.09, 0.11, 0.1], 0.25), 4)
    0.0002
    >>> corrected_t_test([0.0, 0.0], 1.0)
    1.0
    >>> rows = [[0, 1, 0, 0, 1], [0, 0, 0, 1, 0]]
    >>> round(corrected_t_test(rows, 1.0), 2)
    0.31
    """
    parts = [np.atleast_1d(np.asarray(part, dtype=float)) for part in differences]
    if len(parts) < 2:
        raise ValueError(f"differences must have two folds or more. Got {len(parts)}.")
    means = np.array([part.mean() for part in parts])
    mean, variance = float(means.mean()), float(means.var(ddof=1))
    freedom = len(parts) - 1
    n_spare = sum(part.size for part in parts) - len(parts)
    if n_spare > freedom:
        inside = sum(((part - part.mean()) ** 2).sum() for part in parts) / n_spare
        of_rows = float(np.mean([inside / part.size for part in parts]))
        if of_rows >= variance:
            variance, freedom = of_rows, n_spare
    if variance <= (1e-12 * abs(mean)) ** 2:
        return 1.0 if mean == 0 else 0.0
    error = np.sqrt((1 / len(parts) + test_share) * variance)
    return float(2 * stats.t.sf(abs(mean) / error, freedom))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number by Holm's step-down rule.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    raw = np.asarray(p_values, dtype=float)
    order = np.argsort(raw, kind="stable")
    steps = raw[order] * np.arange(raw.size, 0, -1)
    corrected = np.empty_like(raw)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return [float(value) for value in corrected]


def differ_from_best(
    folds: Mapping[str, Sequence[ArrayLike]], best: str, test_share: float
) -> dict[str, float]:
    """Compare the best method with each of the others, fold by fold.

    Parameters
    ----------
    folds : mapping of str to sequence of float or array (n_test,)
        Scores of each method on the same folds: of the fold, or of each of its rows.
    best : str
        The method the others are compared with.
    test_share : float
        As in `corrected_t_test`.

    Returns
    -------
    dict of str to float
        p-value of every other method, corrected by Holm's rule.

    Examples
    --------
    >>> folds = {"a": [0.9, 0.8], "b": [0.9, 0.8], "c": [0.2, 0.1]}
    >>> differ_from_best(folds, "a", 1.0)
    {'b': 1.0, 'c': 0.0}
    """
    others = [name for name in folds if name != best]
    raw = [
        corrected_t_test(
            [np.subtract(a, b) for a, b in zip(folds[best], folds[name], strict=True)],
            test_share,
        )
        for name in others
    ]
    return dict(zip(others, holm(raw), strict=True))
