"""Scores of methods on the folds of one table -> which differ from the best.

The folds share training samples, so their differences are not independent. The test
corrects the variance for that, after Nadeau and Bengio.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats


def corrected_t_test(differences: Sequence[float], test_share: float) -> float:
    """Test whether the mean difference of two methods over folds is 0.

    The variance of the mean is (1/k + n_test/n_train) times the variance of the k
    differences [1]_, where the usual t-test has 1/k.

    Parameters
    ----------
    differences : sequence of float
        Score of one method less that of the other, fold by fold; two or more.
    test_share : float
        Size of a test part divided by that of its training part.

    Returns
    -------
    float
        Two-sided p-value, with k - 1 degrees of freedom.

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
    """
    values = np.asarray(differences, dtype=float)
    if values.size < 2:
        raise ValueError(f"differences must have two folds or more. Got {values.size}.")
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    if variance <= (1e-12 * abs(mean)) ** 2:
        return 1.0 if mean == 0 else 0.0
    error = np.sqrt((1 / values.size + test_share) * variance)
    return float(2 * stats.t.sf(abs(mean) / error, values.size - 1))


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
    folds: Mapping[str, Sequence[float]], best: str, test_share: float
) -> dict[str, float]:
    """Compare the best method with each of the others, fold by fold.

    Parameters
    ----------
    folds : mapping of str to sequence of float
        Scores of each method on the same folds.
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
    own = np.asarray(folds[best], dtype=float)
    others = [name for name in folds if name != best]
    raw = [corrected_t_test(own - np.asarray(folds[n]), test_share) for n in others]
    return dict(zip(others, holm(raw), strict=True))
