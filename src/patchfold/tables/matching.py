"""A new table -> the features that a fitted encoder knows."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .columns import as_category
from .interpretation import as_flags
from .naming import listed
from .newcomers import Memory, far_values, fill_gaps
from .numbers import as_numbers

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("numbers", "categories")
"""Parts of an encoder."""


def match_columns(
    frame: pd.DataFrame, encoder: Any, memory: Memory | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """Take the columns a fitted encoder knows from a new table.

    Parameters
    ----------
    frame : pandas.DataFrame
        New samples; other columns are ignored.
    encoder : ColumnTransformer
        As `make_encoder` makes it, fitted.
    memory : Memory or None
        What is known of the training table: missing cells are filled by it, and values
        far outside its range counted. Without it missing cells are refused, unless the
        encoder fills them in.

    Returns
    -------
    features : pandas.DataFrame
        What the encoder can transform.
    remarks : list of str
        Levels it has never seen, which become none of the known ones, and what
        `memory` tells.

    Raises
    ------
    ValueError
        If a column is missing, or holds what the encoder cannot take.
    """
    import pandas as pd

    require_columns(encoder, frame.columns)
    parts = encoder_parts(encoder)
    dates = () if memory is None else memory.dates
    features, remarks = [], []
    if "numbers" in parts:
        names = parts["numbers"][1]
        if memory is not None:
            _check_dates(frame, names, dates)
        features.append(as_numbers(as_flags(frame, names), names))
    if "categories" in parts:
        steps, names = parts["categories"]
        texts = {}
        for position, name in enumerate(names):
            texts[name], levels = as_category(frame[name])
            coder = steps.named_steps["encode"]
            known = set(coder.categories_[position])
            new = [word for word in levels if word not in known]
            remarks += _new_levels(texts[name], name, new, coder.handle_unknown)
        features.append(pd.DataFrame(texts, index=frame.index, dtype=object))
    table = pd.concat(features, axis=1)
    if memory is not None:
        held = [parts[kind][1] if kind in parts else [] for kind in KINDS]
        table, filled = fill_gaps(table, memory, *held)
        remarks += [*filled, *far_values(table, memory, held[0])]
    elif not any("impute" in steps.named_steps for steps, _ in parts.values()):
        refuse_missing(table)
    return table, remarks


def _new_levels(
    texts: np.ndarray, name: str, new: list[str], handling: str
) -> list[str]:
    """Say which levels are new; refuse them where codes are positions of levels."""
    rows = int(np.isin(texts.astype(str), new).sum()) if new else 0
    if not rows:
        return []
    if handling == "error":
        raise ValueError(
            f"column {name!r} has levels the model has not seen: {listed(new)}."
        )
    many = f"{rows:,} rows have" if rows > 1 else "1 row has"
    return [
        f"{many} levels of {name!r} that the model has not seen, which count as none "
        f"of the known ones ({listed(new)})"
    ]


def _check_dates(frame: pd.DataFrame, names: list[str], dates: Collection[str]) -> None:
    """Refuse dates where the model was fitted with numbers, and the other way round."""
    known = set(dates)
    for name, kind in frame[names].dtypes.items():
        if kind.kind == "M" and name not in known:
            raise ValueError(
                f"column {name!r} must have numbers only. Got dates instead."
            )
    for name in known:
        column = frame[name]
        if column.dtype.kind != "M" and column.notna().any():
            raise ValueError(
                f"column {name!r} must have dates. Got {str(column.dropna().iloc[0])!r}"
                " instead."
            )


def encoder_parts(encoder: Any) -> dict[str, tuple[Any, list[str]]]:
    """Return the steps and the columns of each kind that a fitted encoder has."""
    return {
        kind: (steps, _names_of(encoder, columns))
        for kind, steps, columns in encoder.transformers_
        if kind in KINDS
    }


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


def refuse_missing(features: pd.DataFrame) -> None:
    """Raise an error that counts the missing cells of each column, if there are any."""
    counts = features.isna().sum()
    counts = counts[counts > 0]
    if len(counts):
        found = listed([f"{name} {count}" for name, count in counts.items()])
        raise ValueError(
            f"{counts.sum()} cells are missing ({found}), and the model was fitted "
            "without any: leave these rows out, or fit it with --impute median."
        )
