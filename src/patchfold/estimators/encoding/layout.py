"""What is known of the columns of a table, and the numbers that each becomes.

Every column counts alike: the mean squared distance of two of its present cells is 2,
whatever its kind. A number, a date in days or the rank of an ordered category has its
mean subtracted and is divided by its standard deviation. The dummies of a category with
shares p_k become (dummy_k - p_k) / √(1 - Σp_k²): their variances add up to 1. Of two
levels, that is the z-score of one dummy. A gap is at 0, the mean of its column.

A plain column is neither shifted nor scaled; its gaps are at the mean all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...validation import LARGEST
from .reading import NUMBERS, Column

KINDS = (*NUMBERS, "category", "ordered", "empty")

CELLS = 2**22
"""Cells of columns that are worked on together."""


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
        Mean of its numbers, ranks or dummy, which is subtracted, and what divides them.
    low, span : float
        Smallest number or rank, and the distance to the largest: Gower's distance.
    levels : tuple
        Levels of a category.
    shares : tuple of float
        Their shares of the present cells.
    missing : float
        Share of cells that are missing.
    plain : bool
        Whether nothing is subtracted; a category then has a dummy for each level.
    fill : float
        Number, rank or code that a gap is taken for; NaN if it is the mean.
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
    plain: bool = False
    fill: float = float("nan")

    @property
    def has_dummies(self) -> bool:
        """Whether it becomes a column for each level."""
        return self.kind == "category" and (self.plain or len(self.levels) > 2)

    @property
    def has_gaps(self) -> bool:
        """Whether some, not all, of its cells were missing in `fit`."""
        return 0 < self.missing < 1

    @property
    def shift(self) -> float:
        """What is subtracted from its numbers, ranks or dummy."""
        return 0.0 if self.plain else self.center

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


def blocks(
    values: Sequence[np.ndarray], places: Sequence[int]
) -> Iterator[tuple[list[int], np.ndarray]]:
    """Yield columns some at a time, as rows of an array, with their places.

    A table may have 100,000 columns, and a call of NumPy for each takes seconds.
    """
    length = values[0].size if values else 0
    step = max(1, CELLS // max(length, 1))
    for start in range(0, len(places), step):
        group = list(places[start : start + step])
        yield group, np.array([values[place] for place in group], dtype=np.float64)


def check_sizes(known: Sequence[Learned], values: Sequence[np.ndarray]) -> None:
    """Raise an error for infinite numbers, and for those with infinite squares."""
    places = [j for j, column in enumerate(known) if column.kind in NUMBERS]
    for group, block in blocks(values, places):
        sizes = np.fmax.reduce(np.abs(block), axis=1, initial=0.0)
        for row in np.flatnonzero(sizes > LARGEST)[:1].tolist():
            name, largest = known[group[row]].name, float(sizes[row])
            if np.isinf(largest):
                raise ValueError(f"column {name!r} has infinity: correct these cells.")
            raise ValueError(
                f"column {name!r} has a value of size {largest:.3g}, and squares of "
                f"more than {LARGEST:g} overflow: scale it."
            )


def encode(
    known: Sequence[Learned],
    values: Sequence[np.ndarray],
    *,
    keeps_gaps: bool = False,
) -> np.ndarray:
    """Turn values, as `read` returns them, into numbers (n, width).

    Gaps are at the mean, or where they are filled; NaN where they are to be kept.
    """
    n = values[0].size if values else 0
    starts = np.cumsum([0, *(column.width for column in known)])
    out = np.empty((n, int(starts[-1])))
    single = []
    for place, column in enumerate(known):
        if column.has_dummies:
            block = out[:, starts[place] : starts[place + 1]]
            block[:] = _dummies(column, values[place], keeps_gaps)
        elif column.kind == "empty":
            out[:, starts[place]] = np.nan if keeps_gaps else 0.0
        else:
            single.append(place)
    for group, block in blocks(values, single):
        columns = [known[place] for place in group]
        shift, scale = (
            np.array([getattr(column, name) for column in columns])[:, None]
            for name in ("shift", "scale")
        )
        if not keeps_gaps:
            _fill(block, columns)
        block -= shift
        block /= scale
        out[:, starts[group]] = block.T
    return out


def _fill(block: np.ndarray, columns: Sequence[Learned]) -> None:
    """Put gaps at the mean of their column, or at what they are filled with."""
    gaps = np.isnan(block)
    for row in np.flatnonzero(gaps.any(axis=1)).tolist():
        column = columns[row]
        filled = column.center if np.isnan(column.fill) else column.fill
        block[row, gaps[row]] = filled


def _dummies(column: Learned, codes: np.ndarray, keeps_gaps: bool) -> np.ndarray:
    """Return the dummies of a category, shifted and scaled."""
    shares = np.asarray(column.shares)
    if not keeps_gaps and not np.isnan(column.fill):
        codes = np.where(np.isnan(codes), column.fill, codes)
    out = np.zeros((codes.size, shares.size))
    rows = np.flatnonzero(~np.isnan(codes))
    out[rows, codes[rows].astype(np.int64)] = 1.0
    gaps = np.isnan(codes)
    out[gaps] = np.nan if keeps_gaps else shares
    if not column.plain:
        out -= shares
    out /= column.scale
    return out


def decode(column: Learned, numbers: np.ndarray) -> np.ndarray:
    """Return values of one column from its numbers (n, width): codes of categories."""
    if column.kind == "empty":
        return np.full(numbers.shape[0], np.nan)
    if column.has_dummies:
        shift = 0.0 if column.plain else np.asarray(column.shares)
        dummies = numbers * column.scale + shift
        return np.argmax(dummies, axis=1).astype(np.float64)
    values = numbers[:, 0] * column.scale + column.shift
    if column.kind == "boolean":
        return np.clip(np.rint(values), 0, 1)
    if column.levels:
        return np.clip(np.rint(values), 0, len(column.levels) - 1)
    return values


def tell(known: Sequence[Learned], width: int, where: str) -> str:
    """Say in one line what columns are and become, and where gaps are."""
    kinds = [column.kind for column in known]
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    parts = [f"{count} {_named(kind, count)}" for kind, count in counts.items()]
    gaps = sum(column.has_gaps for column in known)
    missing = f"; gaps in {gaps} of them are {where}" if gaps else ""
    return f"{', '.join(parts)} encoded as {width} numbers{missing}"


def _named(kind: str, count: int) -> str:
    word = {"ordered": "ordered category", "empty": "empty column"}.get(kind, kind)
    if count == 1:
        return word
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
