"""A data frame -> features, classes and names of samples: which column is what."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import LARGEST

if TYPE_CHECKING:
    import pandas as pd

FREE_TEXT = 20
"""A column of words with more levels than this, and a level for every other row, is
taken for names or free text, not for a category."""

MIXED = (10, 3, 0.05)
"""A column with at least so many different numbers, and at most so many different
words in at most such a share of its rows, is numbers with a mistake, no category."""

LONGEST_WORD = 60
"""Characters of a name or level that a message shows."""


class MissingValuesError(ValueError):
    """Cells are missing, and nothing was said about filling them in."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table by what they are for.

    Attributes
    ----------
    features : pandas.DataFrame
        Numbers as floats, categories as text; constant columns are left out.
    numbers, categories : tuple of str
        The names of both kinds.
    levels : mapping of str to tuple of str
        Levels of each category, in the order they are declared, else by value.
    target : pandas.Series or None
        Classes, as they are in the table.
    ids : pandas.Series or None
        Names of the samples.
    left_out : mapping of str to str
        Columns that are not used, and why.
    """

    features: pd.DataFrame
    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]]
    target: pd.Series | None
    ids: pd.Series | None
    left_out: Mapping[str, str]


def choose_columns(
    frame: pd.DataFrame,
    *,
    target: str | None = None,
    drop: Iterable[str] = (),
    id: str | None = None,
    impute: str | None = None,
) -> Columns:
    """Tell features from the target, the names of samples, and what is of no use.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per sample.
    target : str, default=None
        The column of the classes.
    drop : iterable of str
        Columns to leave out.
    id : str, default=None
        The column that names the samples.
    impute : {"median"} or None, default=None
        Whether missing cells will be filled in; with None they are refused.

    Returns
    -------
    Columns

    Raises
    ------
    MissingValuesError
        If feature cells are missing and `impute` is None; it counts them by column.
    ValueError
        If a column does not exist, or is neither numbers nor categories.

    Examples
    --------
    >>> import pandas as pd
    >>> from patchfold.tabular import choose_columns
    >>> frame = pd.DataFrame({"size": [1, 2, 4], "hue": ["red", "blue", "red"],
    ...                       "unit": "cm", "kind": ["a", "b", "b"]})
    >>> columns = choose_columns(frame, target="kind")
    >>> columns.numbers, columns.categories, columns.left_out
    (('size',), ('hue',), {'unit': 'constant'})
    """
    drop = tuple(drop)
    _check_names(frame, target, drop, id)
    if len(frame) < 2:
        raise ValueError(f"a table must have two rows or more. Got {len(frame)}.")
    left_out = dict.fromkeys(drop, "as asked")
    numbers, categories, features = [], [], {}
    levels: dict[str, tuple[str, ...]] = {}
    for name in frame.columns:
        if name in (*drop, target, id):
            continue
        column = frame[name]
        present = column.dropna()
        if present.empty or (present == present.iloc[0]).all():
            left_out[name] = "empty" if present.empty else "constant"
        elif _is_number(column):
            features[name] = as_number(column, name)
            _check_spread(features[name], name)
            numbers.append(name)
        else:
            features[name], levels[name] = as_category(column, name)
            categories.append(name)
    if not features:
        raise ValueError("no column is left to embed: all are constant or left out.")
    import pandas as pd

    table = pd.DataFrame(features)
    if impute is None:
        refuse_missing(table)
    return Columns(
        features=table,
        numbers=tuple(numbers),
        categories=tuple(categories),
        levels=levels,
        target=None if target is None else frame[target],
        ids=None if id is None else frame[id],
        left_out=left_out,
    )


def match_columns(frame: pd.DataFrame, encoder: Any) -> tuple[pd.DataFrame, list[str]]:
    """Take the columns a fitted encoder knows from a new table.

    Parameters
    ----------
    frame : pandas.DataFrame
        New samples; other columns are ignored.
    encoder : ColumnTransformer
        As `make_encoder` makes it, fitted.

    Returns
    -------
    features : pandas.DataFrame
        What the encoder can transform.
    remarks : list of str
        Levels it has never seen, which become none of the known ones.

    Raises
    ------
    ValueError
        If a column is missing, or holds what the encoder cannot take.
    """
    import pandas as pd

    require_columns(encoder, frame.columns)
    features, remarks, imputes = {}, [], False
    for kind, steps, names in encoder.transformers_:
        imputes |= kind != "remainder" and "impute" in steps.named_steps
        for position, name in enumerate(names if kind != "remainder" else ()):
            if kind == "numbers":
                features[name] = as_number(frame[name], name)
                continue
            features[name], levels = as_category(frame[name], name, free=True)
            coder = steps.named_steps["encode"]
            new = [word for word in levels if word not in coder.categories_[position]]
            if not new:
                continue
            if coder.handle_unknown == "error":
                raise ValueError(
                    f"column {name!r} has levels the model has not seen: "
                    f"{_listed(new)}."
                )
            remarks.append(
                f"column {name!r} has levels the model has not seen, which count as "
                f"none of the known ones: {_listed(new)}."
            )
    table = pd.DataFrame(features)
    if not imputes:
        refuse_missing(table)
    return table, remarks


def require_columns(encoder: Any, names: Iterable[str]) -> None:
    """Raise ValueError if a table lacks columns that a fitted encoder knows."""
    known = set(names)
    absent = [name for name in encoder.feature_names_in_ if name not in known]
    if absent:
        raise ValueError(
            f"the model was fitted with columns that are not here: {_listed(absent)}."
        )


def as_number(column: pd.Series, name: str) -> pd.Series:
    """Return a column as floats, NaN where missing."""
    import pandas as pd

    _refuse_dates(column, name)
    try:
        values = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
    except (ValueError, TypeError):
        text = column.dropna().astype(str)
        words = text[pd.to_numeric(text, errors="coerce").isna()]
        raise ValueError(
            f"column {name!r} must have numbers only. Got {_listed(words[:1].tolist())}"
            f"{f' and {len(words) - 1} more' if len(words) > 1 else ''} instead."
        ) from None
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise ValueError(
            f"column {name!r} has {infinite} infinite cells; leave it out (--drop)."
        )
    largest = float(np.nanmax(np.abs(values), initial=0))
    if largest > LARGEST:
        raise ValueError(
            f"column {name!r} has a value of size {largest:.3g}, and more than "
            f"{LARGEST:g} cannot be squared: write it in another unit, or leave it "
            "out (--drop)."
        )
    return pd.Series(values, index=column.index)


def _check_spread(values: pd.Series, name: str) -> None:
    """Refuse numbers that differ, but whose squared differences are all 0."""
    widest = float(values.max() - values.min())
    if 0 < widest < 1 / LARGEST:
        raise ValueError(
            f"column {name!r} varies by {widest:.3g} at most, and less than "
            f"{1 / LARGEST:g} is 0 when squared: write it in another unit, or leave "
            "it out (--drop)."
        )


def as_category(
    column: pd.Series, name: str, *, free: bool = False
) -> tuple[pd.Series, tuple[str, ...]]:
    """Return a column as text, and its levels: as declared, else by value.

    With `free`, text with a level for almost every row is taken too.
    """
    from ..datasets._record import order_levels

    _refuse_dates(column, name)
    text = column.astype(object).map(str, na_action="ignore")
    declared = getattr(column, "cat", None)
    if declared is not None:
        levels = tuple(str(level) for level in declared.categories)
    else:
        levels = order_levels(list(text.dropna().unique()))
        if not free:
            _refuse_mixed(text.dropna(), levels, name)
    n_rows = int(text.notna().sum())
    if not free and len(levels) > max(FREE_TEXT, n_rows / 2):
        raise ValueError(
            f"column {name!r} has {len(levels)} different texts in {n_rows} rows: name "
            f"it as what identifies a sample (--id {_typed(name)}) or leave it out "
            f"(--drop {_typed(name)})."
        )
    return text, levels


def _refuse_dates(column: pd.Series, name: str) -> None:
    if column.dtype.kind in "mM":
        raise ValueError(
            f"column {name!r} has dates; leave it out (--drop {_typed(name)}) or turn "
            "it into a number."
        )


def _refuse_mixed(text: pd.Series, levels: tuple[str, ...], name: str) -> None:
    """Refuse numbers with a few words among them, which would be levels in silence."""
    import pandas as pd

    named = pd.Series(levels)
    words = named[pd.to_numeric(named, errors="coerce").isna()].tolist()
    rows = int(text.isin(words).sum())
    fewest, most, share = MIXED
    if len(levels) - len(words) < fewest or len(words) > most:
        return
    if 0 < rows <= share * len(text):
        raise ValueError(
            f"column {name!r} has numbers, and in {rows} of {len(text)} rows "
            f"{_listed(words)}: write a number there, or nothing if it is missing, "
            f"or leave the column out (--drop {_typed(name)})."
        )


def refuse_missing(features: pd.DataFrame) -> None:
    """Raise an error that counts the missing cells of each column, if there are any."""
    counts = features.isna().sum()
    counts = counts[counts > 0]
    if len(counts):
        listed = [f"{name} {count}" for name, count in counts.items()]
        raise MissingValuesError(
            f"{counts.sum()} cells are missing ({_listed(listed)}): fill them in with "
            "impute='median' (--impute median), or leave the columns out (--drop)."
        )


def _is_number(column: pd.Series) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return is_numeric_dtype(column.dtype) or is_bool_dtype(column.dtype)


def _check_names(
    frame: pd.DataFrame, target: str | None, drop: tuple[str, ...], id: str | None
) -> None:
    roles = [("target", target), ("id", id), *(("drop", name) for name in drop)]
    for role, name in roles:
        if name is not None and name not in frame.columns:
            raise ValueError(
                f"{role}: there is no column {name!r}. There are "
                f"{_listed(list(frame.columns)) or 'none'}."
            )
    if target is not None and target == id:
        raise ValueError(f"column {target!r} cannot be both the target and the id.")


def _listed(words: list[str]) -> str:
    shown = ", ".join(_shown(word) for word in words[:8])
    return shown if len(words) <= 8 else f"{shown} and {len(words) - 8} more"


def _shown(word: str) -> str:
    """Return a word of a file in one line, and not too much of it."""
    short = word if len(word) <= LONGEST_WORD else f"{word[:LONGEST_WORD]}..."
    return short if short.isprintable() else repr(short)


def _typed(name: str) -> str:
    """Return a name as it is typed in a shell."""
    return shlex.quote(name) if name.isprintable() else repr(name)
