"""A data frame -> features, classes and names of samples: which column is what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .decisions import (
    READING,
    MissingValuesError,
    UndecidedColumnsError,
    decide,
    tell_decisions,
)
from .doubts import Doubt
from .interpretation import Customs, interpret
from .judging import Finding, judge_columns
from .naming import listed
from .nested import refuse_nested
from .numbers import as_numbers

if TYPE_CHECKING:
    import pandas as pd

    from .reading import Source

UNUSED = ("constant", "empty", "nested")
NUMBERS = ("number", "date", "truth value")
"""Kinds of findings: of no use, and numbers."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table by what they are for.

    Attributes
    ----------
    features : pandas.DataFrame
        Numbers as floats, dates as such, categories as text; constant columns are left
        out.
    numbers, categories : tuple of str
        The names of both kinds; dates count as numbers.
    dates : tuple of str
        Numbers that are dates: they become days since 1970.
    ordered : tuple of str
        Categories whose levels are declared to be in order.
    levels : mapping of str to tuple of str
        Levels of each category, in the order they are declared, else by value.
    target : pandas.Series or None
        Classes, as they are in the table.
    ids : pandas.Series or None
        Names of the samples.
    left_out : mapping of str to str
        Columns that are not used, and why.
    impute : str or None
        Whether missing cells are filled in.
    decided : list of str
        What was decided about columns because it was asked for (`auto`).
    reading : mapping
        The part of it that says how the table is read: `missing`, `dates`, `decimal`;
        `kept` are the columns in which what is `missing` is none.
    """

    features: pd.DataFrame
    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]]
    target: pd.Series | None
    ids: pd.Series | None
    left_out: Mapping[str, str]
    impute: str | None = None
    decided: Sequence[str] = ()
    dates: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)

    def take(self, rows: np.ndarray) -> Columns:
        """Return the same columns with some of the rows."""
        return replace(
            self,
            features=self.features.iloc[rows],
            target=None if self.target is None else self.target.iloc[rows],
            ids=None if self.ids is None else self.ids.iloc[rows],
        )


def choose_columns(
    frame: pd.DataFrame,
    *,
    target: str | None = None,
    drop: Iterable[str] = (),
    id: str | None = None,
    impute: str | None = None,
    keep: Iterable[str] = (),
    auto: bool = False,
    doubts: Mapping[str, Doubt] | None = None,
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
    keep : iterable of str
        Columns to use as they are, whatever they look like.
    auto : bool, default=False
        Whether to decide what would be refused: row counters, identifiers and free
        text are left out, missing cells filled in.
    doubts : mapping of str to Doubt
        What was in doubt when the table was read (`Source.doubts`).

    Returns
    -------
    Columns

    Raises
    ------
    UndecidedColumnsError
        If something must be decided about columns; it lists all of it.
    MissingValuesError
        If that is missing cells alone; it counts them by column.
    ValueError
        If a column does not exist, or none is left.

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
    drop, keep = tuple(drop), tuple(keep)
    check_names(frame, target, drop, id, keep)
    if len(frame) < 2:
        raise ValueError(f"a table must have two rows or more. Got {len(frame)}.")
    refuse_nested(doubts or {}, {target, id}, "it cannot be target or id.")
    judge = partial(judge_columns, keep=keep, named=id is not None, doubts=doubts)
    findings = judge(frame, skipped={*drop, target, id})
    undecided = [finding for finding in findings if finding.doubt is not None]
    left_out = dict.fromkeys(drop, "as asked")
    decided: list[str] = []
    decisions: dict[str, Any] = {}
    if auto and undecided:
        given = {*drop, target, id}
        frame, decisions, decided = _decide(frame, undecided, given, keep)
        reasons = {f.column: f.doubt.reason for f in undecided if f.doubt}
        left_out |= {name: reasons[name] for name in decisions.get("drop", ())}
        id = decisions.get("id", id)
        findings = judge(frame, skipped={*left_out, target, id})
    used = [f for f in findings if f.kind not in UNUSED]
    gaps = {f.column: f.missing for f in used if f.missing and f.column not in left_out}
    if auto and gaps and impute is None:
        impute = "median"
        decided.append(f"{sum(gaps.values())} missing cells filled in")
    _refuse_undecided([] if auto else undecided, used, gaps, impute)
    left_out |= {f.column: f.kind for f in findings if f.kind in UNUSED}
    if not used:
        raise ValueError("no column is left to embed: all are constant or left out.")
    numbers = [f.column for f in used if f.kind in NUMBERS]
    dates = [f.column for f in used if f.kind == "date"]
    words = {
        f.column: as_category(frame[f.column]) for f in used if f.kind not in NUMBERS
    }
    return Columns(
        features=_features(frame, [f.column for f in used], numbers, dates, words),
        numbers=tuple(numbers),
        categories=tuple(words),
        levels={name: levels for name, (_, levels) in words.items()},
        target=None if target is None else frame[target],
        ids=None if id is None else frame[id],
        left_out=left_out,
        impute=impute,
        decided=decided,
        dates=tuple(dates),
        ordered=tuple(n for n in words if getattr(frame[n].dtype, "ordered", False)),
        reading={k: decisions[k] for k in (*READING, "kept") if k in decisions},
    )


def _decide(
    frame: pd.DataFrame,
    undecided: Sequence[Finding],
    given: Collection[str | None],
    keep: Sequence[str],
) -> tuple[pd.DataFrame, dict[str, Any], list[str]]:
    """Decide what is undecided; return the table, the decisions, and lines on them.

    A code for a missing cell counts in all columns but those that are `given` (target,
    id, dropped) or kept without a doubt.
    """
    decisions = decide(undecided)
    doubted = {finding.column for finding in undecided}
    decisions["kept"] = tuple(name for name in keep if name not in doubted)
    out = {*given, *decisions["kept"], *decisions.get("drop", ()), decisions.get("id")}
    others = [name for name in frame if name not in out]
    frame, told = _with_missing(frame, others, decisions, doubted)
    return frame, decisions, [*tell_decisions(undecided), *told]


def _refuse_undecided(
    undecided: Sequence[Finding],
    used: Sequence[Finding],
    gaps: Mapping[str, int],
    impute: str | None,
) -> None:
    """Raise an error that lists all decisions, if there are any."""
    if undecided:
        decisions = decide(undecided)
        gone = {*decisions.get("drop", ()), decisions.get("id")}
        others = any(finding.column not in gone for finding in used)
        raise UndecidedColumnsError(
            undecided, {} if impute else gaps, filled=impute is not None, others=others
        )
    if gaps and impute is None:
        raise MissingValuesError([], gaps)


def choose_from(source: Source, **told: Any) -> Columns:
    """Choose from what was read; errors say what is unusual about the file, too."""
    try:
        return choose_columns(source.frame, doubts=source.doubts, **told)
    except UndecidedColumnsError as error:
        error.remarks = source.remarks
        raise


def _with_missing(
    frame: pd.DataFrame,
    names: list[str],
    decisions: Mapping[str, Any],
    doubted: Collection[str],
) -> tuple[pd.DataFrame, list[str]]:
    """Read columns again in which some words are missing cells.

    What is returned, too, says where there are such cells in columns without a doubt.
    """
    words = tuple(decisions.get("missing", ()))
    if not words:
        return frame, []
    read = interpret(frame[names], Customs(missing=words)).frame
    gained = read.isna().sum() - frame[names].isna().sum()
    also = [f"{n} {k:,}" for n, k in gained.items() if k and n not in doubted]
    told = [f"cells of other columns that became missing by this: {listed(also)}"]
    return frame.assign(**{name: read[name] for name in names}), told if also else []


def _features(
    frame: pd.DataFrame,
    names: list[str],
    numbers: list[str],
    dates: list[str],
    words: Mapping[str, Any],
) -> pd.DataFrame:
    """Return the features: numbers as floats, dates as such, categories as text."""
    import pandas as pd

    table = as_numbers(frame, numbers)
    if not words and not dates:
        return table
    texts = {name: text for name, (text, _) in words.items()}
    parts = [
        table.drop(columns=dates),
        frame[dates],
        pd.DataFrame(texts, index=frame.index, dtype=object),
    ]
    return pd.concat(parts, axis=1)[names]


def as_category(column: pd.Series) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return a column as text, NaN where missing, and its levels.

    Levels are in the order they are declared, else by value.
    """
    from ..datasets._record import order_levels

    cells, absent = _cells(column)
    text = np.full(len(cells), np.nan, dtype=object)
    present = [str(cell) for cell in cells[~absent]]
    text[~absent] = np.array(present, dtype=object)
    declared = getattr(column, "cat", None)
    if declared is not None:
        return text, tuple(str(level) for level in declared.categories)
    return text, order_levels(present)


def _cells(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of a column as objects, and which of them are missing."""
    import pandas as pd

    cells = column.to_numpy(dtype=object)
    return cells, pd.isna(cells)


def check_names(
    frame: pd.DataFrame,
    target: str | None,
    drop: tuple[str, ...],
    id: str | None,
    keep: tuple[str, ...],
) -> None:
    """Raise ValueError if a column that is named does not exist."""
    lists = {"target": [target], "id": [id], "drop": drop, "keep": keep}
    known = set(frame.columns)
    for role, names in lists.items():
        for name in names:
            if name is not None and name not in known:
                raise ValueError(
                    f"{role}: there is no column {name!r}. There are "
                    f"{listed(list(frame.columns)) or 'none'}."
                )
    if target is not None and target == id:
        raise ValueError(f"column {target!r} cannot be both the target and the id.")
