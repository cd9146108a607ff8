"""A data frame -> what each column is, and what must be decided about it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .dialect import UNNAMED
from .doubts import Doubt
from .gaps import doubt_code, doubt_date, is_code
from .naming import listed
from .numbers import as_block, as_number, find_fault, is_number, is_plain

if TYPE_CHECKING:
    import pandas as pd

FREE_TEXT = 20
"""A column of words with more levels than this, and a level for every other row, is
taken for names or free text, not for a category."""

LONG_TEXT = 30
"""Characters of a text, on average, from which on it is no name but free text."""

FEW_ROWS = 20
"""Below this, numbers in order are no row counter, and different ones no identifier."""

MAX_CLASSES = 56
"""Most classes that a picture can tell apart."""

FEW_NUMBERS = 10
"""A target of fractions with more distinct values than this is a measurement."""

LONG_NUMBER = 1e15
"""Whole numbers from here on that differ in each row name something: cards, posts."""

EXACT = 2**53
"""From here on, different whole numbers may be the same float."""

_ID = re.compile(
    r"(?i:(^|[\W_])(id|ids|uuid|guid|key|nr|no|number|num|index|idx|row|rowid|serial)$)"
    r"|[a-z]I[Dd]$|^(?i:(id|row|index|unnamed)([\W_]|$))"
)
"""Names of columns that identify samples."""

_WORD = re.compile(r"[!-~]+")
"""Texts that are names, however long: UUIDs, hashes, addresses."""


@dataclass(frozen=True)
class Finding:
    """What is known of a column.

    Attributes
    ----------
    column : str
        Its name.
    kind : str
        "number", "date", "truth value", "category", "text", "constant", "empty", or
        "nested": lists or records.
    missing, distinct : int
        Cells that are missing; different ones among the others, -1 where all are
        numbers, whose different ones are not counted.
    doubt : Doubt or None
        What must be decided: by which option of the commands, and its value.
    """

    column: str
    kind: str
    missing: int
    distinct: int
    doubt: Doubt | None = None


def judge_columns(
    frame: pd.DataFrame,
    *,
    skipped: Collection[str | None] = (),
    keep: Collection[str] = (),
    named: bool = False,
    doubts: Mapping[str, Doubt] | None = None,
) -> list[Finding]:
    """Say what the columns are, and which of them cannot be used as they are.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per sample, with types (`interpret`).
    skipped : collection of str
        Columns that are no features.
    keep : collection of str
        Columns to use whatever they look like.
    named : bool
        Whether samples have names already.
    doubts : mapping of str to Doubt
        What was in doubt when the columns were read.

    Returns
    -------
    list of Finding
        In the order of the columns.
    """
    kinds = {
        name: kind
        for name, kind in zip(frame.columns, frame.dtypes, strict=True)
        if name not in skipped
    }
    plain = [name for name, kind in kinds.items() if is_plain(kind)]
    found = dict(_judge_numbers(frame, plain, keep))
    for name, kind in kinds.items():
        if name not in found:
            judge = _judge_other if is_number(kind) else _judge_words
            found[name] = judge(frame[name], name, name in keep)
    for name, doubt in (doubts or {}).items():
        known = found.get(name)
        if known is not None and doubt.firm:
            found[name] = Finding(name, "nested", 0, 0, doubt)
            continue
        ignored = doubt.option in ("drop", "missing") and name in keep
        if (
            known is not None
            and known.kind not in ("constant", "empty")
            and not ignored
        ):
            is_name = known.doubt is not None and known.doubt.option == "id"
            better = is_name and doubt.names
            found[name] = known if better else _with_doubt(known, doubt)
    findings = [found[name] for name in kinds]
    return _one_identifier(findings, named)


def _with_doubt(finding: Finding, doubt: Doubt | None) -> Finding:
    return Finding(
        finding.column, finding.kind, finding.missing, finding.distinct, doubt
    )


def _one_identifier(findings: list[Finding], named: bool) -> list[Finding]:
    """Let one column at most name the samples: the others are to be left out."""
    result = []
    for finding in findings:
        doubt = finding.doubt
        if doubt is not None and doubt.option == "id":
            if named:
                doubt = Doubt(doubt.reason, "drop", doubt.value)
            named = True
            finding = _with_doubt(finding, doubt)
        result.append(finding)
    return result


def _judge_numbers(
    frame: pd.DataFrame, names: list[str], keep: Collection[str]
) -> Iterable[tuple[str, Finding]]:
    """Judge columns of plain numbers, all at once."""
    block = as_block(frame if len(names) == frame.shape[1] else frame[names])
    n = len(frame)
    empty = np.isnan(block.greatest)
    constant = block.least == block.greatest
    faults = block.find_faults(spread=True)
    missing = np.isnan(block.values).sum(axis=0)
    with np.errstate(invalid="ignore"):
        ordered = (block.greatest - block.least == n - 1) & (missing == 0)
    flags = [kind.kind == "b" for kind in frame[names].dtypes]
    for place, name in enumerate(names):
        doubt, kind = None, "truth value" if flags[place] else "number"
        values = block.values[:, place]
        least, greatest = float(block.least[place]), float(block.greatest[place])
        long = greatest >= EXACT
        if empty[place] or constant[place]:
            kind = "empty" if empty[place] else "constant"
        if faults[place]:
            doubt = _doubt_fault(values, name)
        elif name not in keep and (kind == "number" or long):
            if is_code(least) or is_code(greatest):
                doubt = doubt_code(values)
            if doubt is None and (
                ordered[place] or least >= LONG_NUMBER or _ID.search(name)
            ):
                exact = frame[name].to_numpy() if long else values
                doubt = _identifies(exact, name, bool(ordered[place]))
        yield name, Finding(name, kind, int(missing[place]), -1, doubt)


def _doubt_fault(values: np.ndarray, name: str) -> Doubt | None:
    """Doubt numbers that cannot be computed with."""
    fault = find_fault(values, spread=True)
    if fault and np.isinf(values).any():
        return Doubt(fault, "missing", "inf,-inf", firm=True)
    return Doubt(fault, "drop", name, firm=True) if fault else None


def _identifies(values: np.ndarray, name: str, ordered: bool) -> Doubt | None:
    """Doubt whole numbers that count the rows, or are different in each of them."""
    unnamed, n = name.startswith(UNNAMED), len(values)
    if n < (3 if unnamed else FEW_ROWS):
        return None
    if ordered and (np.diff(values) == 1).all():
        if unnamed:
            return Doubt("counts the rows: the index of df.to_csv", "drop", name)
        return Doubt("counts the rows", "drop", name)
    whole = bool((values == np.floor(values)).all())
    named = _ID.search(name) or values.min() >= LONG_NUMBER
    if whole and len(np.unique(values)) == n and named:
        return Doubt(f"has another whole number in each of {n:,} rows", "id", name)
    return None


def _judge_other(column: pd.Series, name: str, keep: bool) -> Finding:
    """Judge numbers that are no plain array, truth values and dates."""
    from pandas.api.types import is_bool_dtype

    values = _floats(column, name)
    missing = int(np.isnan(values).sum())
    kind = "date" if column.dtype.kind == "M" else "number"
    kind = "truth value" if is_bool_dtype(column.dtype) else kind
    least, greatest = np.fmin.reduce(values), np.fmax.reduce(values)
    if missing == len(values) or least == greatest:
        kind = "empty" if missing == len(values) else "constant"
        return Finding(name, kind, missing, -1)
    doubt = _doubt_fault(values, name)
    if kind == "date" and not keep:
        doubt = doubt or doubt_date(values)
    return Finding(name, kind, missing, -1, doubt)


def _floats(column: pd.Series, name: str) -> np.ndarray:
    if column.dtype.kind in "mM":
        return as_number(column, name).to_numpy()
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _judge_words(column: pd.Series, name: str, keep: bool) -> Finding:
    """Judge a column of words."""
    counts = column.astype(object).value_counts()
    n_rows, n_levels = int(counts.sum()), len(counts)
    missing = len(column) - n_rows
    if n_levels < 2:
        return Finding(name, "constant" if n_levels else "empty", missing, n_levels)
    if keep or n_levels <= max(FREE_TEXT, n_rows / 2):
        return Finding(name, "category", missing, n_levels)
    texts = [str(text) for text in counts.index[:1000]]
    length = sum(map(len, texts)) / len(texts)
    reason = f"has {n_levels:,} different texts in {n_rows:,} rows"
    if length > LONG_TEXT and not all(map(_WORD.fullmatch, texts)):
        return Finding(
            name, "text", missing, n_levels, Doubt(f"{reason}: free text", "drop", name)
        )
    option = "id" if n_levels == len(column) else "drop"
    return Finding(name, "text", missing, n_levels, Doubt(reason, option, name))


def rare_classes(target: pd.Series) -> str:
    """Say which classes have one row; nothing if none has."""
    counts = target.value_counts(sort=False)  # in their order
    alone = counts[counts == 1].index
    if not len(alone):
        return ""
    if len(alone) == len(counts):
        return "no class of two rows"
    many = f"{len(alone)} classes" if len(alone) > 1 else "a class"
    return f"{many} of one row: {listed([str(name) for name in alone])}"


def codes_among(target: pd.Series) -> str:
    """Say which numbers of a target look like codes for missing values, if any do."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    kind = target.dtype
    if not is_numeric_dtype(kind) or is_bool_dtype(kind) or target.isna().all():
        return ""
    found = doubt_code(target.to_numpy(dtype=np.float64, na_value=np.nan))
    cure = "leave these rows out if that stands for missing values"
    return f"{found.reason.removeprefix('has ')}: {cure}" if found else ""


def is_measurement(target: pd.Series) -> bool:
    """Say whether a target is numbers on a scale, and not classes."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if is_bool_dtype(target.dtype) or not is_numeric_dtype(target.dtype):
        return False
    values = np.unique(target.dropna().to_numpy(dtype=float))
    are_counts = bool((values == np.floor(values)).all())
    return values.size > (MAX_CLASSES if are_counts else FEW_NUMBERS)


def holds_classes(target: pd.Series) -> bool:
    """Say whether a target is classes that a method can learn from.

    There are two to `MAX_CLASSES` of them, and two of them have two rows or more.

    Examples
    --------
    >>> import pandas as pd
    >>> from patchfold.tables.judging import holds_classes
    >>> holds_classes(pd.Series(["a", "b", "a", "b"]))
    True
    >>> holds_classes(pd.Series([1.5, 2.5, 2.25] * 10 + list(range(8))))
    False
    """
    counts = target.value_counts()
    return (
        not is_measurement(target)
        and 2 <= len(counts) <= MAX_CLASSES
        and int((counts > 1).sum()) >= 2
    )
