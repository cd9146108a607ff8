"""A new table -> the features that a fitted encoder knows, and what is new in them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimators.table_encoder import TableEncoder
from .columns import as_category
from .interpretation import as_flags
from .naming import join_names, listed, typed
from .newcomers import Memory, News, count_beyond
from .numbers import as_numbers, is_number
from .numerals import read_numerals

if TYPE_CHECKING:
    import pandas as pd


def match_columns(
    frame: pd.DataFrame, encoder: TableEncoder, memory: Memory | None = None
) -> tuple[pd.DataFrame, News]:
    """Take the columns a fitted encoder knows from a new table.

    Parameters
    ----------
    frame : pandas.DataFrame
        New samples; other columns are ignored.
    encoder : TableEncoder
        Fitted on a data frame.
    memory : Memory or None
        What is known of the training table: missing cells are filled by it, and values
        far outside its range counted. Without it missing cells are refused, unless the
        encoder fills them in.

    Returns
    -------
    features : pandas.DataFrame
        What the encoder can transform. Levels it has never seen are missing.
    news : News
        What is counted.

    Raises
    ------
    ValueError
        If a column is missing, or holds what the encoder cannot take.
    """
    import pandas as pd

    require_columns(encoder, frame.columns)
    memory = memory or Memory()
    numbers, words = split_columns(encoder)
    dates = [n for n, k in _kinds(encoder) if k == "date"]
    _check_dates(frame, numbers, dates)
    flagged = as_flags(frame, numbers)
    _check_numbers(flagged, numbers)
    values = as_numbers(flagged, numbers)
    texts = {name: as_category(frame[name])[0] for name in words}
    table = pd.concat(
        [values, pd.DataFrame(texts, index=frame.index, dtype=object)], axis=1
    )
    gaps = table.isna().sum()
    missing = {str(name): int(count) for name, count in gaps.items() if count}
    news = News(len(frame), missing=missing, **count_beyond(values, memory, numbers))
    if memory.numbers or memory.words:
        usual: dict[str, Any] = dict(zip(words, memory.words, strict=True))
        usual |= dict(zip(numbers, (row[2] for row in memory.numbers), strict=True))
        if encoder.impute is None:
            table = table.fillna({name: usual[name] for name in missing})
    elif encoder.impute is None:
        refuse_missing(missing)
    for name, levels in words.items():
        column = table[name]
        new = column.notna() & ~column.isin(levels)
        if new.any():
            news.unseen[name] = int(new.sum()), sorted(set(column[new]))
            table[name] = column.mask(new)
    for name in dates:
        table[name] = _as_dates(table[name])
    return table[[name for name, _ in _kinds(encoder)]], news


def _kinds(encoder: TableEncoder) -> list[tuple[str, str]]:
    return list(zip(map(str, encoder.feature_names_in_), encoder.kinds_, strict=True))


def split_columns(
    encoder: TableEncoder,
) -> tuple[list[str], dict[str, tuple[Any, ...]]]:
    """Return the numbers that an encoder knows, and its categories with their levels.

    Dates and truth values count as numbers.
    """
    names = [name for name, _ in _kinds(encoder)]
    pairs = list(zip(names, encoder.categories_, strict=True))
    return [n for n, known in pairs if not known], {n: k for n, k in pairs if k}


def _as_dates(days: pd.Series) -> pd.Series:
    """Return days since 1970 as dates, to the microsecond."""
    import pandas as pd

    whole = np.rint(days.to_numpy(dtype=np.float64) * 86_400e6)
    stamps = np.full(len(days), "NaT", dtype="M8[us]")
    present = ~np.isnan(whole)
    stamps[present] = whole[present].astype(np.int64).astype("M8[us]")
    return pd.Series(stamps, index=days.index)


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


def _check_numbers(frame: pd.DataFrame, names: list[str]) -> None:
    """Refuse words among numbers: which words, and how to count them as missing."""
    for name, kind in frame[names].dtypes.items():
        if is_number(kind):
            continue
        texts = frame[name].dropna().astype(str).drop_duplicates()
        values, _ = read_numerals(texts.reset_index(drop=True))
        words = texts[np.isnan(values)].tolist()
        if words:
            raise ValueError(
                f"column {name!r} must have numbers only. Got {listed(words)} instead: "
                "mend these cells, or count them as missing (--missing "
                f"{typed(join_names(words[:8]))})."
            )


def require_columns(encoder: TableEncoder, names: Iterable[str]) -> None:
    """Raise ValueError if a table lacks columns that a fitted encoder knows."""
    known = set(names)
    absent = [name for name in encoder.feature_names_in_ if name not in known]
    if absent:
        raise ValueError(
            f"the model was fitted with columns that are not here: {listed(absent)}."
        )


def refuse_missing(counts: dict[str, int]) -> None:
    """Raise an error that counts the missing cells of each column, if there are any."""
    if counts:
        found = listed([f"{name} {count}" for name, count in counts.items()])
        raise ValueError(
            f"{sum(counts.values())} cells are missing ({found}), and the model was "
            "fitted without any: leave these rows out, or fit it with --impute median."
        )
