"""Features and classes -> numbers: what is done to the columns, and in which words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..datasets._record import order_levels
from ..estimators.table_encoder import TableEncoder
from .columns import Columns

if TYPE_CHECKING:
    import pandas as pd

CATEGORIES = ("one-hot", "ordinal")
IMPUTE = ("median",)


def make_encoder(
    columns: Columns,
    *,
    categories: str = "one-hot",
    scale: bool = True,
    impute: str | None = None,
) -> TableEncoder:
    """Return what turns the features into numbers, not fitted yet.

    Every column counts alike, whatever its kind: see `TableEncoder`.

    Parameters
    ----------
    columns : Columns
        What there is.
    categories : {"one-hot", "ordinal"}, default="one-hot"
        How categories become numbers: a column for each level, or the position of the
        level, scaled like a number, which is what the papers did. Categories that are
        declared as ordered are always positions.
    scale : bool, default=True
        Whether columns are scaled to count alike.
    impute : {"median"} or None, default=None
        "median" fills a missing number with the median of its column, and a missing
        category with the most frequent level.

    Returns
    -------
    TableEncoder
        From a data frame to an array.

    Examples
    --------
    >>> import pandas as pd
    >>> from patchfold.tables import choose_columns, make_encoder
    >>> frame = pd.DataFrame({"size": [1, 2, 3], "hue": ["red", "blue", "red"]})
    >>> columns = choose_columns(frame)
    >>> make_encoder(columns).fit_transform(columns.features).round(2)
    array([[-1.22,  0.71],
           [ 0.  , -1.41],
           [ 1.22,  0.71]])
    """
    for name, value, known in (
        ("categories", categories, CATEGORIES),
        ("impute", impute, (None, *IMPUTE)),
    ):
        if value not in known:
            listed = " or ".join(repr(word) for word in known)
            raise ValueError(f"{name} must be {listed}. Got {value!r} instead.")
    ranked = _ranked(columns, categories)
    levels = {name: list(found) for name, found in columns.levels.items()}
    others = {name: levels[name] for name in levels if name not in ranked}
    return TableEncoder(
        ordered={name: levels[name] for name in ranked} or None,
        categories=others or None,
        scale=scale,
        impute=impute,
    )


def _ranked(columns: Columns, categories: str) -> tuple[str, ...]:
    """Return the categories that become positions of levels."""
    return columns.categories if categories == "ordinal" else columns.ordered


def describe_columns(
    columns: Columns,
    *,
    categories: str = "one-hot",
    scale: bool = True,
) -> list[tuple[str, str, str]]:
    """Say of each column what it is and what was done to it.

    Parameters
    ----------
    columns, categories, scale
        As in `make_encoder`.

    Returns
    -------
    list of (name, kind, done)
        The features, then the target, the id, and what was left out.
    """
    missing = columns.features.isna().sum()
    ranked = _ranked(columns, categories)
    rows = []
    for name in columns.features.columns:
        if name in columns.levels:
            n_levels = len(columns.levels[name])
            kind = f"category, {n_levels} levels"
            done = _one_hot(n_levels, scale)
            if name in ranked:
                done = "position of its level" + (", scaled" if scale else "")
            filling = "most frequent level"
        else:
            kind, done = "number", "scaled to mean 0, variance 1" if scale else "as is"
            if name in columns.dates:
                kind, done = "date", f"days since 1970, {done}"
            filling = "median"
        if missing[name]:
            done += f"; {missing[name]} missing cells filled with the {filling}"
        rows.append((name, kind, done))
    if columns.target is not None:
        classes = columns.target.nunique()
        rows.append((str(columns.target.name), f"target, {classes} classes", "labels"))
    if columns.ids is not None:
        rows.append((str(columns.ids.name), "id", "names the samples"))
    for name, reason in columns.left_out.items():
        rows.append((name, "left out", reason))
    return rows


def _one_hot(n_levels: int, scale: bool) -> str:
    """Say what a category of `n_levels` levels becomes."""
    if not scale:
        return f"one-hot: {n_levels} columns of 0 and 1"
    if n_levels == 2:
        return "one-hot: 1 column, scaled to mean 0, variance 1"
    return f"one-hot: {n_levels} columns, scaled to mean 0, variance 1 together"


def summarize_columns(
    columns: Columns, *, categories: str = "one-hot", scale: bool = True
) -> str:
    """Say in one line what was done to the columns."""
    parts = []
    if columns.numbers:
        done = "scaled" if scale else "as they are"
        plain = len(columns.numbers) - len(columns.dates)
        if plain:
            parts.append(f"{_counted(plain, 'number')} {done}")
        if columns.dates:
            parts.append(f"{_counted(len(columns.dates), 'date')} as days, {done}")
    ranked = len(_ranked(columns, categories))
    for count, word in (
        (len(columns.categories) - ranked, "one-hot"),
        (ranked, "ordinal"),
    ):
        if count:
            done = f"{_counted(count, 'category')} {word}"
            parts.append(done + (", scaled" if scale else ""))
    missing = int(columns.features.isna().sum().sum())
    if missing:
        parts.append(f"{_counted(missing, 'missing cell')} filled in")
    if columns.left_out:
        parts.append(f"left out: {', '.join(columns.left_out)}")
    return "; ".join(parts)


def encode_classes(target: pd.Series | Sequence[Any]) -> tuple[np.ndarray, list[str]]:
    """Turn classes into positions in a list of their names.

    Parameters
    ----------
    target : pandas.Series or sequence
        Classes: words, numbers or truth values. A missing one is an unlabelled sample.

    Returns
    -------
    codes : array of int
        -1 for an unlabelled sample.
    names : list of str
        As declared, else by value; only those that occur.

    Examples
    --------
    >>> from patchfold.tables import encode_classes
    >>> encode_classes(["b", None, "a"])
    (array([ 1, -1,  0]), ['a', 'b'])
    """
    import pandas as pd

    series = pd.Series(target)
    text = series.astype(object).map(_plain, na_action="ignore")
    present = list(text.dropna().unique())
    declared = getattr(series, "cat", None)
    if declared is None:
        names = list(order_levels(present))
    else:
        words = map(_plain, declared.categories)
        names = [word for word in words if word in present]
    return pd.Categorical(text, categories=names).codes.astype(np.int64), names


def _plain(value: Any) -> str:
    """Write 1.0 as 1: a missing cell makes floats of whole numbers."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _counted(count: int, word: str) -> str:
    plural = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    return f"{count:,} {word if count == 1 else plural}"
