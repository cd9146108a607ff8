"""Which columns moved a row: an additive decomposition of its class scores.

The score of a class is its log odds before classes are compared: the sum of all
contributions and the offset. Columns are taken over from a background row to the row,
one by one in a random order, and the change of the score is the column's part. The mean
over orders and background rows is an estimate of the Shapley value [1]_. Whatever the
orders, the parts sum exactly to the score of the row less the mean score of the
background rows, as the steps of every order do.

.. [1] E. Štrumbelj, I. Kononenko, "Explaining prediction models and individual
   predictions with feature contributions", Knowl. Inf. Syst. 41, 2014.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..backends.environment import require_packages
from ..patches.sparse_space import find_sparse_space
from .model import PosteriorModel
from .rows import spread_rows
from .sparse_columns import N_ORDERS, Score, draw_orders, share_sparse, sparse_medians

if TYPE_CHECKING:
    import pandas as pd

N_ROWS = 12
"""Rows of a class that are explained, spread over it."""

SHOWN = 8
"""Columns that are named in words."""


@dataclass(frozen=True, repr=False)
class ColumnEffects:
    """What every column added to the score of every class.

    `baseline + effects.sum(axis=0) + left_out` is the score: the log odds of the
    classes before they are compared.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns.
    values : array (m,)
        Their values in the row; for a class, the means of the rows that were explained.
        NaN where they are missing. Dates and categories of a frame are text: for a
        class, the mean date, and the most frequent category of these rows, or the
        level nearest to the mean rank if categories are ordered.
    typical : array (m,)
        Their medians in the training rows; of categories the most frequent, or the
        level nearest to the median rank if they are ordered.
    classes : array (C,)
        Class labels.
    of : int
        The class that is spoken of: the likeliest, or the one asked for.
    effects : array (m, C)
        What each column adds to the score of each class.
    baseline : array (C,)
        Mean score of the background rows.
    left_out : array (C,)
        What a training row loses as it is left out of its own class; 0 for a new row.
    n_rows : int
        Rows that were explained; their mean is given.
    """

    columns: tuple[str, ...]
    values: np.ndarray
    typical: np.ndarray
    classes: np.ndarray
    of: int
    effects: np.ndarray
    baseline: np.ndarray
    left_out: np.ndarray
    n_rows: int

    @property
    def score(self) -> np.ndarray:
        """The score of every class, (C,)."""
        return self.baseline + self.effects.sum(axis=0) + self.left_out

    @property
    def frame(self) -> pd.DataFrame:
        """A row per column: value, typical value, effect on each class.

        The column with the largest effect is first.
        """
        require_packages("frame", ["pandas"])
        import pandas as pd

        table = pd.DataFrame({"value": self.values, "typical": self.typical})
        for c, label in enumerate(self.classes):
            table[f"effect on {label}"] = self.effects[:, c]
        table.index = pd.Index(self.columns, name="column")
        return table.iloc[self.order()]

    def order(self) -> np.ndarray:
        """Return the columns, that with the largest effect on the class first."""
        return np.argsort(-np.abs(self.effects[:, self.of]), kind="stable")

    def shown(self, column: int) -> str:
        """Return a column's value as text."""
        return _in_words(self.values[column])

    def usual(self, column: int) -> str:
        """Return what is typical of a column as text; a number is called a median."""
        value = self.typical[column]
        return f"{'typical' if isinstance(value, str) else 'median'} {_in_words(value)}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Show the first line and the frame in a notebook."""
        head = html.escape(str(self).partition("\n")[0])
        return f"<p>{head}</p>{self.frame.to_html(float_format='{:.3g}'.format)}"

    def __str__(self) -> str:
        """List the columns that moved the score of the class most."""
        c = self.of
        rows = "this row" if self.n_rows == 1 else f"{self.n_rows} rows of it, mean"
        lines = [
            f"class {self.classes[c]}: score {self.score[c]:+.2f} ({rows}), "
            f"{self.baseline[c]:+.2f} of a typical row"
        ]
        width = max(map(len, self.columns))
        order = self.order()
        for f in order[:SHOWN]:
            lines.append(
                f"  {self.effects[f, c]:+.2f}  {self.columns[f]:<{width}}  "
                f"{self.shown(f)} ({self.usual(f)})"
            )
        if order.size > SHOWN:
            rest = self.effects[order[SHOWN:], c].sum()
            lines.append(f"  {rest:+.2f}  {name_rest(order.size - SHOWN)}")
        if self.left_out[c]:
            lines.append(f"  {self.left_out[c]:+.2f}  left out of its own class")
        return "\n".join(lines)


def _in_words(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return "missing" if np.isnan(value) else f"{value:.4g}"


def name_rest(count: int) -> str:
    """Return the words for the columns that are not listed one by one."""
    return "1 other column" if count == 1 else f"{count} other columns"


def explain_columns(
    model: PosteriorModel,
    rows: np.ndarray,
    own: list[int | None],
    *,
    classes: np.ndarray,
    names: tuple[str, ...],
    of: int | None = None,
) -> ColumnEffects:
    """Share the scores of rows out among the columns.

    Parameters
    ----------
    model : PosteriorModel
        The fitted scores.
    rows : array or csr_array (q, m)
        Rows whose mean is explained.
    own : list of int or None
        The labelled training row that each of them is, if any.
    classes : array (C,)
        Class labels.
    names : tuple of str
        Names of the columns.
    of : int, default=None
        The class to speak of; None for the likeliest.

    Returns
    -------
    ColumnEffects
    """
    X, _ = model.scores.rows
    singles = [rows[k : k + 1] for k in range(rows.shape[0])]
    share = share_sparse if sp.issparse(X) else _shapley
    background = _background(X)
    parts = [share(partial(_scores, model), row, background) for row in singles]
    effects = np.mean([effect for effect, _ in parts], axis=0)
    baseline = np.mean([base for _, base in parts], axis=0)
    final = np.mean(
        [_final(model, r, o) for r, o in zip(singles, own, strict=True)], axis=0
    )
    as_new = np.mean([_scores(model, row)[0] for row in singles], axis=0)
    return ColumnEffects(
        columns=names,
        values=_of_known(np.mean, rows, np.nan),
        typical=sparse_medians(X) if sp.issparse(X) else _of_known(np.median, X),
        classes=classes,
        of=int(np.argmax(final)) if of is None else of,
        effects=effects,
        baseline=baseline,
        left_out=final - as_new,
        n_rows=len(singles),
    )


def choose_class_rows(model: PosteriorModel, code: int) -> np.ndarray:
    """Return some labelled rows of a class, spread over it: their positions."""
    X, codes = model.scores.rows
    members = np.flatnonzero(codes == code)
    return members[spread_rows(_dense(X[members], X), N_ROWS)]


def _background(X: Any) -> Any:
    """Return the rows that a row is compared with."""
    return X[spread_rows(_dense(X, X), N_ORDERS // 2)]


def _dense(rows: Any, X: Any) -> np.ndarray:
    """Return rows without gaps; sparse ones by coordinates, at the same distances."""
    if sp.issparse(rows):
        return find_sparse_space(rows, always=True).samples
    gaps = np.isnan(rows)
    return np.where(gaps, _of_known(np.median, X), rows) if gaps.any() else rows


def _of_known(measure: Any, X: np.ndarray, none: float = 0.0) -> np.ndarray:
    """Return a measure of the known values of every column; `none` without any."""
    if sp.issparse(X):
        return np.asarray(X.mean(axis=0)).ravel()
    known = ~np.isnan(X)
    if known.all():
        return measure(X, axis=0)
    columns = zip(X.T, known.T, strict=True)
    return np.array([measure(x[seen]) if seen.any() else none for x, seen in columns])


def name_columns(estimator: Any, n_columns: int) -> tuple[str, ...]:
    """Return the names of an estimator's columns, or numbers from 1."""
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    if len(names) != n_columns:
        return tuple(f"column {k + 1}" for k in range(n_columns))
    return tuple(names)


def _scores(model: PosteriorModel, rows: Any) -> np.ndarray:
    """Return the scores of new rows, (q, C): log odds before classes are compared."""
    return model.of(rows).contributions.sum(axis=0) + model.stack.offsets


def _final(model: PosteriorModel, row: Any, own: int | None) -> np.ndarray:
    if own is None:
        return _scores(model, row)[0]
    evidence = model.left_out([own])
    return evidence.contributions[:, 0].sum(axis=0) + model.stack.offsets


def _shapley(
    score: Score, row: np.ndarray, background: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the part of every column (m, C), and the mean background score (C,)."""
    m = row.size
    orders = draw_orders(m)
    start = background[np.arange(len(orders)) % len(background)]
    # Step s of an order has the row's values in its first s columns.
    place = np.argsort(orders, axis=1)
    taken = place[:, None, :] < np.arange(m + 1)[None, :, None]
    mixed = np.where(taken, row[0], start[:, None, :])
    scores = score(mixed.reshape(-1, m)).reshape(len(orders), m + 1, -1)
    steps = np.diff(scores, axis=1)
    effects = np.take_along_axis(steps, place[:, :, None], axis=1).mean(axis=0)
    return effects, scores[:, 0].mean(axis=0)
