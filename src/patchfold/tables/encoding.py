"""Features and classes -> numbers: what is done to the columns, and in which words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from ..datasets._record import order_levels
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
) -> ColumnTransformer:
    """Return what turns the features into numbers, not fitted yet.

    Numbers are scaled to mean 0 and variance 1. A category becomes a column of 0 and 1
    for each level, not scaled: two different levels are then √2 apart, which is the
    root mean square distance of two samples in a scaled number, so each column counts
    the same. As "ordinal" it becomes the position of its level, scaled like a number,
    which is what the papers did.

    Parameters
    ----------
    columns : Columns
        What there is.
    categories : {"one-hot", "ordinal"}, default="one-hot"
        How categories become numbers.
    scale : bool, default=True
        Whether numbers and positions of levels are scaled.
    impute : {"median"} or None, default=None
        "median" fills a missing number with the median of its column, and a missing
        category with the most frequent level.

    Returns
    -------
    ColumnTransformer
        From a data frame to an array. A new level of a one-hot category is none of
        the known ones.

    Examples
    --------
    >>> import pandas as pd
    >>> from patchfold.tables import choose_columns, make_encoder
    >>> frame = pd.DataFrame({"size": [1, 2, 3], "hue": ["red", "blue", "red"]})
    >>> columns = choose_columns(frame)
    >>> make_encoder(columns).fit_transform(columns.features).round(2)
    array([[-1.22,  0.  ,  1.  ],
           [ 0.  ,  1.  ,  0.  ],
           [ 1.22,  0.  ,  1.  ]])
    """
    for name, value, known in (
        ("categories", categories, CATEGORIES),
        ("impute", impute, (None, *IMPUTE)),
    ):
        if value not in known:
            listed = " or ".join(repr(word) for word in known)
            raise ValueError(f"{name} must be {listed}. Got {value!r} instead.")
    levels = [
        np.array(columns.levels[name], dtype=object) for name in columns.categories
    ]
    last = ("scale", StandardScaler()) if scale else ("keep", FunctionTransformer())
    numbers: list[tuple[str, Any]] = [last]
    if categories == "one-hot":
        coder = OneHotEncoder(
            categories=levels, handle_unknown="ignore", sparse_output=False
        )
        words: list[tuple[str, Any]] = [("encode", coder)]
    else:
        words = [("encode", OrdinalEncoder(categories=levels)), last]
    if impute is not None:
        numbers.insert(0, ("impute", SimpleImputer(strategy="median")))
        words.insert(0, ("impute", SimpleImputer(strategy="most_frequent")))
    # By position: of names scikit-learn looks for each in a list of all.
    place = columns.features.columns.get_indexer
    parts = [
        ("numbers", Pipeline(numbers), place(list(columns.numbers)).tolist()),
        ("categories", Pipeline(words), place(list(columns.categories)).tolist()),
    ]
    return ColumnTransformer(
        [part for part in parts if part[2]],
        sparse_threshold=0,
        verbose_feature_names_out=False,
    )


def is_encoder(encoder: Any) -> bool:
    """Say whether something fitted has the form that `make_encoder` gives."""
    if not isinstance(encoder, ColumnTransformer):
        return False
    parts = [part for part in encoder.transformers_ if part[0] != "remainder"]
    kinds = {"numbers": None, "categories": (OneHotEncoder, OrdinalEncoder)}
    for name, steps, _ in parts:
        if name not in kinds or not isinstance(steps, Pipeline):
            return False
        coders, coder = kinds[name], steps.named_steps.get("encode")
        if coders is not None and not isinstance(coder, coders):
            return False
    return bool(parts)


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
    rows = []
    for name in columns.features.columns:
        if name in columns.levels:
            n_levels = len(columns.levels[name])
            kind = f"category, {n_levels} levels"
            done = f"one-hot: {n_levels} columns of 0 and 1"
            if categories == "ordinal":
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
    if columns.categories:
        done = f"{_counted(len(columns.categories), 'category')} {categories}"
        parts.append(done + (", scaled" if categories == "ordinal" and scale else ""))
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
