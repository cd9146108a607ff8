"""Findings -> what the script of the page draws, as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tables.judging import MAX_CLASSES
from ..figure import COLORS, SYMBOLS
from ..placing import STEPS, place_samples
from ..preparing import FAR, NO_GROUP
from ..record import Findings

if TYPE_CHECKING:
    import pandas as pd

DARK = ("#4DA3DB", "#F08A4B", "#35C49A", "#E3A1C6", "#F0BC42", "#9AD0F5", "#C4C7CC")
"""What `COLORS` are on a dark page."""

MAX_CELLS = 400_000
"""Cells of the table that travel in the page; later columns are left out."""

LONGEST = 60
"""Most letters of a cell that are shown."""

DISTANCE = "distance to 10th neighbour"
"""Column of what `find_far` measures."""

MISSING = "missing"
"""What a missing cell of words is shown as."""


def page_data(findings: Findings) -> str:
    """Return what the script shows, as JSON.

    The columns are the target, groups, those of the table, then the distance to the
    tenth neighbour. A column is a number
    (with its values), a category (levels, and a code for each row), or text. Numbers
    are exact. Dates are numbers of days since 1970, shown as days or to the second.
    """
    columns = [*_special(findings), *_columns(findings), *_measured(findings)]
    ranked = [r for r in findings.ranked() if r.name in findings.embeddings]
    panels = []
    for result in ranked:
        assert result.embedding is not None
        placed, far = place_samples(result.embedding)
        panels.append(
            {
                "x": placed[:, 0].tolist(),
                "y": placed[:, 1].tolist(),
                "far": np.flatnonzero(far).tolist(),
            }
        )
    n_columns = findings.frame.shape[1]
    used = sum(column.get("place") is not None for column in columns)
    data: dict[str, Any] = {
        "name": findings.name,
        "ids": findings.ids,
        "columns": columns,
        "colour": _first_colour(findings, columns),
        "more": n_columns - used,
        "panels": panels,
        "steps": STEPS,
        "light": COLORS,
        "dark": DARK,
        "symbols": SYMBOLS,
    }
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def _first_colour(findings: Findings, columns: list[dict[str, Any]]) -> int:
    """Return the column the pictures are first coloured by, -1 for none."""
    if findings.task != "none" or findings.groups is not None:
        return 0
    spoken = [k for k, c in enumerate(columns) if c["kind"] == "category"]
    return next(iter(spoken), -1)


def _special(findings: Findings) -> list[dict[str, Any]]:
    """Return the target and the groups as columns."""
    place = None
    if findings.target in findings.frame.columns:
        place = findings.frame.columns.get_loc(findings.target)
    made = []
    name = findings.target or "class"
    if findings.labels is not None:
        made.append(_category(name, findings.labels, findings.class_names, place))
    elif findings.values is not None:
        made.append(_number(name, findings.values, place))
    if findings.groups is not None:
        made.append(
            _category(
                "groups (HDBSCAN)",
                findings.groups,
                findings.group_names,
                None,
                NO_GROUP,
            )
        )
    return made


def _measured(findings: Findings) -> list[dict[str, Any]]:
    """Return the distance to the tenth neighbour as a column, to four digits.

    The top of its scale is where rows begin to be far.
    """
    if findings.distances is None:
        return []
    digits = np.array([float(f"{value:.4g}") for value in findings.distances])
    top = FAR * float(np.median(digits))
    return [{**_number(DISTANCE, digits, None), "top": top}]


def _columns(findings: Findings) -> list[dict[str, Any]]:
    n_kept = max(1, MAX_CELLS // max(1, len(findings.ids)))
    frame = findings.frame.iloc[:, :n_kept]
    return [
        _column(frame.iloc[:, place], place)
        for place, name in enumerate(frame.columns)
        if findings.task == "none" or str(name) != findings.target
    ]


def _column(series: pd.Series, place: int) -> dict[str, Any]:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    name = str(series.name)
    if is_numeric_dtype(series.dtype) and not is_bool_dtype(series.dtype):
        values = series.to_numpy(dtype=float, na_value=np.nan)
        if np.iscomplexobj(series.to_numpy()) is False:
            return _number(name, values, place)
    if series.dtype.kind == "M":
        return _dates(name, series, place)
    words = [
        MISSING if lacks else str(value)[:LONGEST]
        for value, lacks in zip(series.astype(object), series.isna(), strict=True)
    ]
    levels = sorted(set(words), key=lambda level: (level == MISSING, level))
    if len(levels) <= MAX_CLASSES:
        where = {level: code for code, level in enumerate(levels)}
        codes = np.array([where[w] for w in words])
        return _category(name, codes, levels, place, MISSING)
    return {"name": name, "kind": "text", "values": words, "place": place}


def _dates(name: str, series: pd.Series, place: int) -> dict[str, Any]:
    """Describe a column of dates, in local time."""
    clock = series.dt.tz_localize(None).to_numpy().astype("M8[us]")
    days = clock.astype(float) / 86_400e6
    days[np.isnat(clock)] = np.nan
    known = days[np.isfinite(days)]
    shown = "day" if (known == np.floor(known)).all() else "second"
    return {**_number(name, days, place), "dates": shown}


def _number(name: str, values: np.ndarray, place: int | None) -> dict[str, Any]:
    cells = [
        None if not np.isfinite(v) else int(v) if v == int(v) and abs(v) < 2**53 else v
        for v in values.tolist()
    ]
    return {"name": name, "kind": "number", "values": cells, "place": place}


def _category(
    name: str,
    codes: np.ndarray,
    levels: list[str],
    place: int | None,
    grey: str | None = None,
) -> dict[str, Any]:
    """Describe a column of classes; the last is grey if this is its name."""
    kept = {"name": name, "kind": "category", "place": place}
    if levels and levels[-1] == grey:
        kept["grey"] = len(levels) - 1
    return {**kept, "levels": levels, "codes": np.asarray(codes).tolist()}
