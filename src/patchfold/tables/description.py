"""A data frame -> a data frame that says what its columns are."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..backends.environment import require_packages
from .columns import check_names
from .decisions import UndecidedColumnsError
from .judging import codes_among, is_measurement, judge_columns, rare_classes
from .nested import read_frame, refuse_nested
from .reading import read_source

if TYPE_CHECKING:
    import pandas as pd


def describe(
    data: Any,
    target: str | None = None,
    *,
    id: str | None = None,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
) -> pd.DataFrame:
    """Say what the columns of a table are, and what must be decided about them.

    Parameters
    ----------
    data : data frame, array, path or str
        A table of pandas, Polars or Arrow, a file, or the name of a dataset.
    target : str, default=None
        The column of the classes.
    id : str, default=None
        The column that names the samples.
    drop, keep : iterable of str
        Columns to leave out, and columns to use whatever they look like.

    Returns
    -------
    pandas.DataFrame
        A row for each column: its `kind`, cells that are `missing`, how it was read
        (`note`), what is wrong with it (`problem`), and one way to decide that
        (`decision`), as an argument of `patchfold.compare`. Both are empty if nothing
        must be decided.

    Examples
    --------
    >>> import pandas as pd
    >>> import patchfold as pf
    >>> frame = pd.DataFrame({"price": ["3,50 €", "12,00 €", None], "unit": "kg"})
    >>> pf.tables.describe(frame)[["kind", "missing", "decision"]]
                kind  missing         decision
    column
    price     number        1  impute='median'
    unit    constant        0
    """
    require_packages("describe", ["pandas"])
    import pandas as pd

    drop, keep = tuple(drop), tuple(keep)
    if isinstance(data, (str, os.PathLike)):
        found: Any = read_source(data, plain=(target, id))
        target = target or found.target
    else:
        found = read_frame(data, plain=(target, id))
    frame = found.frame
    check_names(frame, target, drop, id, keep)
    refuse_nested(found.doubts, {target, id}, "it cannot be target or id.")
    findings = judge_columns(
        frame,
        skipped={target, id, *drop},
        keep=keep,
        named=id is not None,
        doubts=found.doubts,
    )
    rows = {}
    for finding in findings:
        gaps = {finding.column: finding.missing} if finding.missing else {}
        if finding.kind in ("constant", "empty"):
            gaps = {}
        error = UndecidedColumnsError([finding] if finding.doubt else [], gaps)
        note = found.notes.get(finding.column, "")
        problem = " ".join(error.problems)
        rows[finding.column] = [
            finding.kind,
            finding.missing,
            note,
            problem,
            error.arguments(),
        ]
    for name, kind in (
        (target, "target"),
        (id, "id"),
        *((n, "left out") for n in drop),
    ):
        if name is not None:
            missing = int(frame[name].isna().sum())
            problem = codes_among(frame[name]) if kind == "target" else ""
            if kind == "target" and not is_measurement(frame[name]):
                problem = problem or rare_classes(frame[name])
            rows[name] = [kind, missing, found.notes.get(name, ""), problem, ""]
    heads = ["kind", "missing", "note", "problem", "decision"]
    order = [name for name in frame.columns if name in rows]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=heads).loc[order]
    return table.rename_axis("column")
