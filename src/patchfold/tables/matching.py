"""A new table -> the features that a fitted encoder knows, and what is new in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimators.table_encoder import TableEncoder
from .columns import as_category
from .flags import TRUE_FALSE, as_flags
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
    kinds = {name: kind for name, kind in _kinds(encoder) if name not in words}
    flagged = as_flags(frame, numbers)
    _check_kinds(frame, flagged, kinds)
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
    for name in [name for name, kind in kinds.items() if kind == "date"]:
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


def _check_kinds(
    frame: pd.DataFrame, flagged: pd.DataFrame, kinds: Mapping[str, str]
) -> None:
    """Raise one error for all columns without the numbers or dates of the model.

    Words among numbers may be counted as missing.
    """
    wrong, absent, ways = [], [], []
    for name, kind in kinds.items():
        column = flagged[name]
        is_date = frame[name].dtype.kind == "M"
        if kind == "date":
            if not is_date and column.notna().any():
                got = str(frame[name].dropna().iloc[0])
                wrong.append(f"column {name!r} must have dates. Got {got!r}")
                ways = ["say how dates are written (--dates)"]
        elif is_date:
            wrong.append(f"column {name!r} must have numbers only. Got dates")
        elif not is_number(column.dtype):
            words = _strange_words(frame[name])
            wrong += [f"column {name!r} must have numbers only. Got {listed(words)}"]
            absent += words[:8]
    if wrong:
        if absent:
            said = typed(join_names(dict.fromkeys(absent)))
            ways = [f"count words as missing (--missing {said})", *ways]
        or_else = f", or {' or '.join(ways)}" if ways else ""
        raise ValueError(f"{'; '.join(wrong)} instead: mend these cells{or_else}.")


def _strange_words(column: pd.Series) -> list[str]:
    """Return the words of a column that are no numbers; no truth values, if others."""
    texts = column.dropna().astype(str).drop_duplicates()
    values, _ = read_numerals(texts.reset_index(drop=True))
    words = texts[np.isnan(values)].tolist()
    known = {word for pair in TRUE_FALSE for word in pair}
    return [word for word in words if word.lower() not in known] or words


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
