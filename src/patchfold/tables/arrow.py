"""An Arrow table -> a data frame whose columns have types that pandas computes with."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def text_columns(schema: Any) -> list[str]:
    """Return the names of the columns of text, also where it is held as dictionary."""
    kinds = {kind for kind in set(schema.types) if _is_text(kind)}
    return [field.name for field in schema if field.type in kinds] if kinds else []


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    held = kind.value_type if types.is_dictionary(kind) else kind
    return bool(
        types.is_string(held) or types.is_large_string(held) or types.is_binary(held)
    )


def to_frame(table: Any) -> pd.DataFrame:
    """Return a table as a data frame.

    Decimals become floats, times of day durations, dates timestamps. What is held as a
    dictionary is categorical.
    """
    import pandas as pd
    import pyarrow as pa
    from pyarrow import types

    unusual = {
        kind
        for kind in set(table.schema.types)
        if types.is_decimal(kind) or types.is_null(kind) or types.is_time(kind)
    }
    names, kinds = table.schema.names, table.schema.types
    for place, kind in enumerate(kinds):
        if kind not in unusual:
            continue
        if types.is_time(kind):
            whole = table.column(place).cast(pa.time64("ns")).cast(pa.int64())
            changed = whole.cast(pa.duration("ns"))
        else:
            changed = table.column(place).cast(pa.float64())
        table = table.set_column(place, names[place], changed)
    frame = table.to_pandas(date_as_object=False)
    for place, kind in enumerate(kinds):
        if kind == pa.bool_() and table.column(place).null_count:
            cells = frame[names[place]].to_numpy(dtype=object)
            frame[names[place]] = pd.array(cells, dtype="boolean")
    return frame


def as_objects(frame: pd.DataFrame, words: Collection[str]) -> pd.DataFrame:
    """Return a data frame with some categorical columns as objects."""
    for name in frame.columns.intersection(list(words)):
        frame[name] = frame[name].astype(object)
    return frame
