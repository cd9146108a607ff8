"""A data frame -> features, classes and names of samples: which column is what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .naming import listed, typed
from .numbers import (
    as_block,
    as_number,
    as_numbers,
    check_spread,
    is_number,
    is_plain,
    refuse_dates,
)

if TYPE_CHECKING:
    import pandas as pd

FREE_TEXT = 20
"""A column of words with more levels than this, and a level for every other row, is
taken for names or free text, not for a category."""

MIXED = (10, 3, 0.05)
"""A column with at least so many different numbers, and at most so many different
words in at most such a share of its rows, is numbers with a mistake, no category."""


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
    >>> from patchfold.tables import choose_columns
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
    numbers, categories, left_out = _sort_columns(frame, {*drop, target, id})
    if numbers.empty and not categories:
        raise ValueError("no column is left to embed: all are constant or left out.")
    import pandas as pd

    table = numbers
    if categories:
        words = {name: text for name, (text, _) in categories.items()}
        texts = pd.DataFrame(words, index=frame.index, dtype=object)
        table = pd.concat([numbers, texts], axis=1)
        table = table[[name for name in frame.columns if name in table.columns]]
    if impute is None:
        refuse_missing(table)
    return Columns(
        features=table,
        numbers=tuple(numbers.columns),
        categories=tuple(categories),
        levels={name: levels for name, (_, levels) in categories.items()},
        target=None if target is None else frame[target],
        ids=None if id is None else frame[id],
        left_out=dict.fromkeys(drop, "as asked") | left_out,
    )


def _sort_columns(
    frame: pd.DataFrame, skipped: Collection[str | None]
) -> tuple[pd.DataFrame, dict[str, Any], dict[str, str]]:
    """Return the numbers, the categories with their levels, and what is of no use."""
    import pandas as pd

    kinds = {
        name: kind
        for name, kind in zip(frame.columns, frame.dtypes, strict=True)
        if name not in skipped
    }
    plain = [name for name, kind in kinds.items() if is_plain(kind)]
    block = as_block(frame if len(plain) == frame.shape[1] else frame[plain])
    empty = dict(zip(plain, np.isnan(block.greatest), strict=True))
    constant = dict(zip(plain, block.least == block.greatest, strict=True))
    fault = dict(zip(plain, block.find_faults(spread=True), strict=True))
    others: dict[str, Any] = {}
    categories: dict[str, Any] = {}
    left_out = {}
    for name, kind in kinds.items():
        if name not in empty:
            cells, absent = _cells(frame[name])
            present = cells[~absent]
            empty[name] = not len(present)
            constant[name] = all(cell == present[0] for cell in present)
        if empty[name] or constant[name]:
            left_out[name] = "empty" if empty[name] else "constant"
        elif not is_number(kind):
            categories[name] = as_category(frame[name], name)
        elif fault.get(name, True):
            others[name] = as_number(frame[name], name)
            check_spread(others[name], name)
    kept = np.array([name not in left_out for name in plain], dtype=bool)
    numbers = pd.DataFrame(
        block.values[:, kept],
        index=frame.index,
        columns=[name for name in plain if name not in left_out],
    )
    if others:
        numbers = pd.concat([numbers, pd.DataFrame(others)], axis=1)
        numbers = numbers[[name for name in kinds if name in numbers.columns]]
    return numbers, categories, left_out


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
    features, remarks, imputes = [], [], False
    for kind, steps, columns in encoder.transformers_:
        if kind == "remainder":
            continue
        imputes |= "impute" in steps.named_steps
        names = _names_of(encoder, columns)
        if kind == "numbers":
            features.append(as_numbers(frame, names))
            continue
        texts = {}
        for position, name in enumerate(names):
            texts[name], levels = as_category(frame[name], name, free=True)
            coder = steps.named_steps["encode"]
            new = [word for word in levels if word not in coder.categories_[position]]
            if not new:
                continue
            if coder.handle_unknown == "error":
                raise ValueError(
                    f"column {name!r} has levels the model has not seen: {listed(new)}."
                )
            remarks.append(
                f"column {name!r} has levels the model has not seen, which count as "
                f"none of the known ones: {listed(new)}."
            )
        features.append(pd.DataFrame(texts, index=frame.index, dtype=object))
    table = pd.concat(features, axis=1)
    if not imputes:
        refuse_missing(table)
    return table, remarks


def _names_of(encoder: Any, columns: list[Any]) -> list[str]:
    """Return names of columns: earlier models hold these, later ones positions."""
    names = encoder.feature_names_in_
    return [c if isinstance(c, str) else str(names[c]) for c in columns]


def require_columns(encoder: Any, names: Iterable[str]) -> None:
    """Raise ValueError if a table lacks columns that a fitted encoder knows."""
    known = set(names)
    absent = [name for name in encoder.feature_names_in_ if name not in known]
    if absent:
        raise ValueError(
            f"the model was fitted with columns that are not here: {listed(absent)}."
        )


def as_category(
    column: pd.Series, name: str, *, free: bool = False
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return a column as text, and its levels: as declared, else by value.

    A cell that is missing is NaN. With `free`, text with a level for almost every row
    is taken too.
    """
    from ..datasets._record import order_levels

    refuse_dates(column, name)
    cells, absent = _cells(column)
    text = np.full(len(cells), np.nan, dtype=object)
    present = [str(cell) for cell in cells[~absent]]
    text[~absent] = np.array(present, dtype=object)
    declared = getattr(column, "cat", None)
    if declared is not None:
        levels = tuple(str(level) for level in declared.categories)
    else:
        levels = order_levels(present)
        if not free:
            _refuse_mixed(present, levels, name)
    n_rows = len(present)
    if not free and len(levels) > max(FREE_TEXT, n_rows / 2):
        raise ValueError(
            f"column {name!r} has {len(levels)} different texts in {n_rows} rows: name "
            f"it as what identifies a sample (--id {typed(name)}) or leave it out "
            f"(--drop {typed(name)})."
        )
    return text, levels


def _cells(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of a column as objects, and which of them are missing."""
    import pandas as pd

    cells = column.to_numpy(dtype=object)
    return cells, pd.isna(cells)


def _refuse_mixed(text: list[str], levels: tuple[str, ...], name: str) -> None:
    """Refuse numbers with a few words among them, which would be levels in silence."""
    import pandas as pd

    fewest, most, share = MIXED
    if len(levels) < fewest:
        return
    named = pd.Series(levels)
    words = named[pd.to_numeric(named, errors="coerce").isna()].tolist()
    if len(levels) - len(words) < fewest or len(words) > most:
        return
    rows = sum(map(set(words).__contains__, text))
    if 0 < rows <= share * len(text):
        raise ValueError(
            f"column {name!r} has numbers, and in {rows} of {len(text)} rows "
            f"{listed(words)}: write a number there, or nothing if it is missing, "
            f"or leave the column out (--drop {typed(name)})."
        )


def refuse_missing(features: pd.DataFrame) -> None:
    """Raise an error that counts the missing cells of each column, if there are any."""
    counts = features.isna().sum()
    counts = counts[counts > 0]
    if len(counts):
        found = [f"{name} {count}" for name, count in counts.items()]
        raise MissingValuesError(
            f"{counts.sum()} cells are missing ({listed(found)}): fill them in with "
            "impute='median' (--impute median), or leave the columns out (--drop)."
        )


def _check_names(
    frame: pd.DataFrame, target: str | None, drop: tuple[str, ...], id: str | None
) -> None:
    roles = [("target", target), ("id", id), *(("drop", name) for name in drop)]
    for role, name in roles:
        if name is not None and name not in frame.columns:
            raise ValueError(
                f"{role}: there is no column {name!r}. There are "
                f"{listed(list(frame.columns)) or 'none'}."
            )
    if target is not None and target == id:
        raise ValueError(f"column {target!r} cannot be both the target and the id.")
