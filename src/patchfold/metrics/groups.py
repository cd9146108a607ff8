"""What sets a group of samples apart: columns ranked by effect size."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.environment import require_packages

if TYPE_CHECKING:
    import pandas as pd


def describe_group(X: Any, members: Any, *, names: Any = None) -> pd.DataFrame:
    """Rank the columns by how much a group differs from the other samples in them.

    For a group that was seen in an embedding: samples of a cluster, of a selection.
    A column of numbers, dates or durations is compared by Hedges' g, the difference of
    the means in standard deviations, without its bias in small groups. A column of
    words is compared level by level by Cohen's h, the difference of the shares on the
    arcsine scale; the level with the largest one counts. Both are about .2 for a small,
    .5 for a medium and .8 for a large effect.

    Parameters
    ----------
    X : data frame or array-like (n, m)
        Samples in their own units.
    members : array-like
        The group: n truth values, or positions of samples.
    names : sequence of str, default=None
        Names of the columns; None takes those of a frame, or numbers from 1.

    Returns
    -------
    pandas.DataFrame
        A row per column, the largest effect first: "level" (of a column of words),
        "group" and "others" (means, or shares), "effect" and "missing" (cells that were
        left out). NaN where nothing can be compared.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold.metrics import describe_group
    >>> iris = load_iris(as_frame=True)
    >>> found = describe_group(iris.data, iris.target == 0)
    >>> found.index[0], round(float(found["effect"].iloc[0]), 1)
    ('petal length (cm)', -5.0)
    """
    require_packages("describe_group", ["pandas"])
    import pandas as pd

    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    if names is None and not isinstance(X, pd.DataFrame):
        names = [f"column {k + 1}" for k in range(frame.shape[1])]
    if names is not None:
        frame = frame.set_axis([str(name) for name in names], axis=1)
    inside = _check_members(members, len(frame))
    rows = [_describe(frame.iloc[:, k], inside) for k in range(frame.shape[1])]
    columns = ["level", "group", "others", "effect", "missing"]
    index = pd.Index([str(name) for name in frame.columns], name="column")
    table = pd.DataFrame(rows, index=index, columns=columns)
    order = np.argsort(-np.abs(table["effect"].fillna(0).to_numpy()), kind="stable")
    return table.iloc[order]


def _check_members(members: Any, n: int) -> np.ndarray:
    """Return which samples are in the group, as truth values."""
    given = np.asarray(members)
    if given.dtype == bool and given.shape == (n,):
        inside = given
    elif given.ndim == 1 and given.dtype.kind in "iu":
        if given.size and (given.min() < 0 or given.max() >= n):
            raise ValueError(
                f"members must be positions from 0 to {n - 1}. Got {given.min()} to "
                f"{given.max()} instead."
            )
        inside = np.zeros(n, dtype=bool)
        inside[given] = True
    else:
        raise ValueError(
            f"members must be {n} truth values, or positions of samples. Got shape "
            f"{given.shape} of {given.dtype} instead."
        )
    if inside.sum() < 2 or (~inside).sum() < 2:
        raise ValueError(
            "members must leave two samples or more on both sides. Got "
            f"{int(inside.sum())} of {n} instead."
        )
    return inside


def _describe(column: pd.Series, inside: np.ndarray) -> list[Any]:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if column.dtype.type is date:  # Arrow's days, whose mean is no time
        column = column.astype("datetime64[us]")
    known = column.notna().to_numpy()
    missing = int((~known).sum())
    mine, others = column[known & inside], column[known & ~inside]
    if len(mine) < 2 or len(others) < 2:
        return ["", np.nan, np.nan, np.nan, missing]
    if is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype):
        a, b = mine.to_numpy(dtype=float), others.to_numpy(dtype=float)
        return ["", a.mean(), b.mean(), _hedges_g(a, b), missing]
    if column.dtype.kind in "mM":
        return _describe_times(mine, others, missing)
    here, there = mine.astype(str), others.astype(str)
    levels = sorted({*here.unique(), *there.unique()})
    shares = [((here == level).mean(), (there == level).mean()) for level in levels]
    effects = [2 * np.arcsin(np.sqrt(p)) - 2 * np.arcsin(np.sqrt(q)) for p, q in shares]
    best = int(np.argmax(np.abs(effects)))
    return [levels[best], *shares[best], float(effects[best]), missing]


def _describe_times(mine: pd.Series, others: pd.Series, missing: int) -> list[Any]:
    """Compare dates or durations like numbers; the means are given as such."""
    start = mine.min()  # differences of dates have a standard deviation
    a, b = ((part - start).dt.total_seconds().to_numpy() for part in (mine, others))
    means = [part.mean().round("s") for part in (mine, others)]
    return ["", *means, _hedges_g(a, b), missing]


def _hedges_g(a: np.ndarray, b: np.ndarray) -> float:
    freedom = a.size + b.size - 2
    pooled = ((a.size - 1) * a.var(ddof=1) + (b.size - 1) * b.var(ddof=1)) / freedom
    gap = float(a.mean() - b.mean())
    if pooled == 0:
        return 0.0 if gap == 0 else float(np.copysign(np.inf, gap))
    return gap / float(np.sqrt(pooled)) * (1 - 3 / (4 * freedom - 1))
