"""What is learned of the columns of a table, and the numbers that each becomes.

Every column counts alike: the mean squared distance of two of its present cells is 2,
whatever its kind. A number, a date in days or the rank of an ordered category has its
mean subtracted and is divided by its standard deviation. The dummies of a category with
shares p_k become (dummy_k - p_k) / √(1 - Σp_k²): their variances add up to 1. Of two
levels, that is the z-score of one dummy. A gap is at 0, the mean of its column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...validation import LARGEST
from .reading import NUMBERS, Column

MOST_LEVELS, FREE_TEXT = 1000, 20
"""Most levels of a category. More than the second, and than half of the rows, are names
or free text."""

KINDS = (*NUMBERS, "category", "ordered", "empty")


@dataclass(frozen=True)
class Learned:
    """What is known of one column.

    Attributes
    ----------
    name : str or int
        Its name, or its position.
    kind : str
        One of `KINDS`.
    center, scale : float
        What is subtracted from its numbers, ranks or dummy, and what divides them.
    low, span : float
        Smallest number or rank, and the distance to the largest: Gower's distance.
    levels : tuple
        Levels of a category.
    shares : tuple of float
        Their shares of the present cells.
    missing : float
        Share of cells that are missing.
    """

    name: Any
    kind: str
    center: float = 0.0
    scale: float = 1.0
    low: float = 0.0
    span: float = 0.0
    levels: tuple[Any, ...] = ()
    shares: tuple[float, ...] = ()
    missing: float = 0.0

    @property
    def has_dummies(self) -> bool:
        """Whether it becomes a column for each level."""
        return self.kind == "category" and len(self.levels) > 2

    @property
    def width(self) -> int:
        """Number of columns it becomes."""
        return len(self.levels) if self.has_dummies else 1

    def names_out(self, name: str) -> list[str]:
        """Name the columns it becomes."""
        if self.has_dummies:
            return [f"{name}_{level}" for level in self.levels]
        if self.kind == "category":
            return [f"{name}_{self.levels[-1]}"]
        return [name]

    def read(self, column: Column, unknown: Unknown) -> np.ndarray:
        """Return the numbers, ranks or codes of a column, NaN where there are none.

        Raises
        ------
        TypeError
            If it is of another kind than in `fit`.
        """
        if column.kind == "empty" or self.kind == "empty":
            return np.full(column.values.shape, np.nan)
        if self.kind in ("category", "ordered"):
            return self._match(column, unknown)
        same = column.kind == self.kind or {column.kind, self.kind} == {*NUMBERS[:2]}
        if not same:
            raise TypeError(
                f"column {self.name!r} held {self.kind}s in fit, and holds "
                f"{_plural(column.kind)} now: convert it."
            )
        _check_size(column)
        return column.values

    def _match(self, column: Column, unknown: Unknown) -> np.ndarray:
        known = {level: place for place, level in enumerate(self.levels)}
        if column.is_category:
            levels, codes = column.levels, column.values
        elif column.kind in NUMBERS[:2]:
            present = ~np.isnan(column.values)
            values, inverse = np.unique(column.values[present], return_inverse=True)
            levels, codes = tuple(values.tolist()), np.full(present.size, -1)
            codes[present] = inverse
        else:
            raise TypeError(
                f"column {self.name!r} held categories in fit, and holds "
                f"{_plural(column.kind)} now: convert it."
            )
        table = np.array([known.get(level, -1) for level in levels] + [-1])
        found = table[codes]
        lost = (found < 0) & (codes >= 0)
        if lost.any():
            first = levels[codes[np.flatnonzero(lost)[0]]]
            unknown.counts[self.name] = int(lost.sum()), first
        return np.where(found < 0, np.nan, found)


@dataclass(frozen=True)
class Unknown:
    """Cells with a category that `fit` did not see: by column, count and an example."""

    counts: dict[Any, tuple[int, Any]] = field(default_factory=dict)

    def words(self) -> str:
        """Say how many there are, and where."""
        total = sum(count for count, _ in self.counts.values())
        places = ", ".join(
            f"{count} in {name!r} (such as {level!r})"
            for name, (count, level) in list(self.counts.items())[:5]
        )
        more = len(self.counts) - 5
        rest = f", and more in {more} other columns" if more > 0 else ""
        cells = (
            "1 cell has a category" if total == 1 else f"{total} cells have categories"
        )
        return f"{cells} that fit did not see, taken for gaps: {places}{rest}."


def _plural(kind: str) -> str:
    return {"category": "categories", "ordered": "categories"}.get(kind, f"{kind}s")


def _check_size(column: Column) -> None:
    if np.isinf(column.values).any():
        raise ValueError(f"column {column.name!r} has infinity: correct these cells.")
    largest = float(np.nanmax(np.abs(column.values), initial=0.0))
    if largest > LARGEST:
        raise ValueError(
            f"column {column.name!r} has a value of size {largest:.3g}, and squares of "
            f"more than {LARGEST:g} are no numbers any more: scale it."
        )


def learn(
    columns: Iterable[Column], ordered: Mapping[Any, Sequence[Any]] | None
) -> tuple[tuple[Learned, ...], list[np.ndarray]]:
    """Learn the columns of a table; return that, and their values as `read` does.

    Parameters
    ----------
    columns : iterable of Column
        As read.
    ordered : mapping or None
        Levels in order, by the name or position of the column.
    """
    found, values = [], []
    orders = dict(ordered or {})
    for place, column in enumerate(columns):
        order = orders.pop(column.name, orders.pop(place, None))
        known, numbers = _learn(column, order)
        found.append(known)
        values.append(numbers)
    if orders:
        names = ", ".join(map(str, orders))
        raise ValueError(f"ordered names columns that X does not have: {names}.")
    return tuple(found), values


def _learn(column: Column, order: Sequence[Any] | None) -> tuple[Learned, np.ndarray]:
    if order is not None:
        return _learn_ordered(column, tuple(order))
    if column.kind == "ordered":
        return _learn_ordered(column, column.levels)
    values = column.values
    if column.kind == "empty" or not values.size:
        return Learned(column.name, "empty", missing=1.0), np.full(values.size, np.nan)
    if column.kind == "category":
        return _learn_category(column)
    _check_size(column)
    return _with_moments(Learned(column.name, column.kind), values), values


def _learn_ordered(column: Column, order: tuple[Any, ...]) -> tuple[Learned, Any]:
    levels = tuple(_plain(level, column.name) for level in order)
    known = Learned(column.name, "ordered", levels=levels)
    unknown = Unknown()
    ranks = known.read(column, unknown)
    if unknown.counts:
        raise ValueError(
            f"ordered does not list a category of column {column.name!r}: "
            f"{unknown.counts[column.name][1]!r}. Add it."
        )
    known = _with_moments(known, ranks)
    range_of_ranks = {"low": 0.0, "span": float(max(len(order) - 1, 0))}
    return Learned(**{**vars(known), **range_of_ranks}), ranks


def _learn_category(column: Column) -> tuple[Learned, np.ndarray]:
    """Keep the levels that occur, with their shares."""
    counts = np.bincount(column.values + 1, minlength=len(column.levels) + 1)
    gaps, counts = counts[0], counts[1:]
    kept = np.flatnonzero(counts)
    if not kept.size:
        empty = np.full(column.values.size, np.nan)
        return Learned(column.name, "empty", missing=1.0), empty
    if kept.size > min(MOST_LEVELS, max(FREE_TEXT, column.values.size / 2)):
        raise ValueError(
            f"column {column.name!r} has {kept.size} categories in "
            f"{column.values.size} rows: it names rows, and tells nothing about which "
            "are alike. Leave it out."
        )
    shares = counts[kept] / counts.sum()
    place = np.full(counts.size + 1, np.nan)
    place[kept] = np.arange(kept.size)
    codes = place[column.values]  # the last is that of -1, a gap
    scale = float(np.sqrt(1 - shares @ shares)) if kept.size > 1 else 1.0
    known = Learned(
        column.name,
        "category",
        scale=scale,
        levels=tuple(_plain(column.levels[k], column.name) for k in kept),
        shares=tuple(shares.tolist()),
        missing=float(gaps / column.values.size),
    )
    if kept.size > 2:
        return known, codes
    two = {"center": float(shares[1:].sum()), "scale": scale / np.sqrt(kept.size)}
    return Learned(**{**vars(known), **two}), codes


def _plain(level: Any, name: Any) -> Any:
    """Return a level as a plain Python value."""
    value = level.item() if isinstance(level, np.generic) else level
    if type(value) in (str, int, float, bool):
        return value
    raise TypeError(
        f"column {name!r} has a category of type {type(value).__name__}: categories "
        "are text, numbers or booleans. Convert it."
    )


def _with_moments(known: Learned, values: np.ndarray) -> Learned:
    """Return what is known, with mean, deviation and range of the present values."""
    present = values[~np.isnan(values)]
    missing = 1 - present.size / values.size
    if not present.size:
        return Learned(known.name, "empty", missing=1.0)
    low, high = float(present.min()), float(present.max())
    center, span = float(present.mean()), high - low
    deviation = float(np.sqrt(np.mean((present - center) ** 2))) if span else 1.0
    if span and span < 1 / LARGEST:
        raise ValueError(
            f"column {known.name!r} varies by {span:.3g}, and squares of less than "
            f"{1 / LARGEST:g} are 0: scale it."
        )
    moments = {
        "center": center if span else low,
        "scale": deviation or 1.0,
        "low": low,
        "span": span,
        "missing": missing,
    }
    return Learned(**{**vars(known), **moments})


def encode(
    known: Sequence[Learned], values: Sequence[np.ndarray], gap: float = 0.0
) -> np.ndarray:
    """Turn values, as `read` returns them, into numbers (n, width); gaps are `gap`."""
    n = values[0].size if values else 0
    out = np.full((n, sum(column.width for column in known)), gap)
    start = 0
    for column, numbers in zip(known, values, strict=True):
        present = ~np.isnan(numbers)
        if column.has_dummies:
            block = out[:, start : start + column.width]
            block[present] = -np.asarray(column.shares)
            rows = np.flatnonzero(present)
            block[rows, numbers[present].astype(np.int64)] += 1
            block /= column.scale
        elif column.kind != "empty":
            shifted = (numbers - column.center) / column.scale
            np.copyto(out[:, start], shifted, where=present)
        start += column.width
    return out


def decode(column: Learned, numbers: np.ndarray) -> np.ndarray:
    """Return values of one column from its numbers (n, width): codes of categories."""
    if column.kind == "empty":
        return np.full(numbers.shape[0], np.nan)
    if column.has_dummies:
        dummies = numbers * column.scale + np.asarray(column.shares)
        return np.argmax(dummies, axis=1).astype(np.float64)
    values = numbers[:, 0] * column.scale + column.center
    if column.kind == "boolean":
        return np.clip(np.rint(values), 0, 1)
    if column.levels:
        return np.clip(np.rint(values), 0, len(column.levels) - 1)
    return values
