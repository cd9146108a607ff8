"""A file, a data frame or an array -> the table that is compared, and its rows."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tables import Source, read_source
from ..tables.nested import read_frame
from ..tables.reading import ReadOptions

if TYPE_CHECKING:
    import pandas as pd


def read_data(
    data: Any, target: Any, id: str | None, reading: ReadOptions | None
) -> Source:
    """Return the table with the column of the target."""
    named = target if isinstance(target, str) else None
    if isinstance(data, (str, os.PathLike)):
        source = read_source(data, reading, plain=(named, id))
    else:
        customs = (reading or ReadOptions()).customs()
        found = read_frame(data, customs, plain=(named, id))
        source = Source("data", found.frame, None, found.notes, found.doubts)
    if target is None or named:
        return replace(source, target=named or source.target)
    classes = np.asarray(target)
    if classes.shape != (len(source.frame),):
        raise ValueError(
            f"target must name a column, or have a class for each of the "
            f"{len(source.frame)} samples. Got shape {classes.shape} instead."
        )
    column = "target"
    while column in source.frame.columns:
        column += "_"
    frame = source.frame.assign(**{column: classes})
    return replace(source, frame=frame, target=column)


def draw_rows(
    frame: pd.DataFrame, column: str | None, most: int, remarks: list[str]
) -> np.ndarray:
    """Return the rows that have a target, at most the number that is wanted."""
    rows = np.arange(len(frame))
    if column in frame.columns:
        labelled = frame[column].notna().to_numpy()
        if not labelled.all():
            remarks.append(
                f"{(~labelled).sum()} rows have no value in {column!r} and are left "
                "out."
            )
            rows = rows[labelled]
            if not len(rows):
                raise ValueError(
                    f"no row has a value in {column!r}: name another target, or none."
                )
    if len(rows) > most:
        remarks.append(
            f"{most:,} of {len(rows):,} rows were drawn at random, always the same "
            "ones, to save time; --max-samples (max_samples) takes more."
        )
        drawn = np.random.default_rng(0).permutation(len(rows))[:most]
        rows = rows[np.sort(drawn)]
    return rows


def sample_names(samples: pd.DataFrame | pd.Series) -> list[str]:
    """Return the ids, or the names of rows; numbered rows are counted from 1."""
    if samples.ndim == 1:
        return [str(name) for name in samples]
    if samples.index.dtype.kind == "i":
        return [f"row {position + 1}" for position in samples.index]
    return [str(name) for name in samples.index]
