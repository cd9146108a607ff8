"""Columns as they were read -> what is learned of them: `fit` of TableEncoder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...validation import LARGEST
from .layout import Learned, Unknown, blocks, check_sizes
from .reading import NUMBERS, Column
from .wishes import Wishes

MOST_LEVELS, FREE_TEXT = 1000, 20
"""Most levels of a category. More than the second, and than half of the rows, are names
or free text."""


def learn(
    columns: Iterable[Column], wishes: Wishes
) -> tuple[tuple[Learned, ...], list[np.ndarray]]:
    """Learn the columns of a table; return that, and their values as `read` does.

    Parameters
    ----------
    columns : iterable of Column
        As read.
    wishes : Wishes
        What is known of them already.
    """
    found, values = [], []
    orders = dict(wishes.ordered or {})
    lists = dict(wishes.categories or {})
    for place, column in enumerate(columns):
        order = orders.pop(column.name, orders.pop(place, None))
        levels = lists.pop(column.name, lists.pop(place, None))
        if order is not None and levels is not None:
            raise ValueError(
                f"column {column.name!r} is named in ordered and in categories: leave "
                "it out of one of them."
            )
        known, numbers = _begin(column, order, levels, wishes.fills)
        found.append(known)
        values.append(numbers)
    for name, rest in (("ordered", orders), ("categories", lists)):
        if rest:
            names = ", ".join(map(str, rest))
            raise ValueError(f"{name} names columns that X does not have: {names}.")
    check_sizes(found, values)
    _add_moments(found, values, wishes.fills)
    if wishes.plain:
        found = [replace(column, plain=True, scale=1.0) for column in found]
    return tuple(found), values


def _begin(
    column: Column,
    order: Sequence[Any] | None,
    levels: Sequence[Any] | None,
    fills: bool,
) -> tuple[Learned, np.ndarray]:
    """Learn all of a category, and of another column its kind."""
    if order is not None or column.kind == "ordered":
        order = tuple(column.levels if order is None else order)
        return _match(column, "ordered", order, "ordered")
    if levels is not None:
        known, codes = _match(column, "category", tuple(levels), "categories")
        return _with_shares(known, codes, fills), codes
    if column.kind == "empty" or not column.values.size:
        return _empty(column)
    if column.kind == "category":
        return _learn_category(column, fills)
    return Learned(column.name, column.kind), column.values


def _empty(column: Column) -> tuple[Learned, np.ndarray]:
    gaps = np.full(column.values.size, np.nan)
    return Learned(column.name, "empty", missing=1.0), gaps


def _match(
    column: Column, kind: str, given: tuple[Any, ...], parameter: str
) -> tuple[Learned, np.ndarray]:
    """Find the cells of a column among levels that were given."""
    levels = tuple(_plain(level, column.name) for level in given)
    known, unknown = Learned(column.name, kind, levels=levels), Unknown()
    codes = known.read(column, unknown)
    if unknown.counts:
        raise ValueError(
            f"{parameter} does not list a category of column {column.name!r}: "
            f"{unknown.counts[column.name][1]!r}. Add it."
        )
    return known, codes


def _learn_category(column: Column, fills: bool) -> tuple[Learned, np.ndarray]:
    """Keep the levels that occur, with their shares."""
    counts = np.bincount(column.values + 1, minlength=len(column.levels) + 1)[1:]
    kept = np.flatnonzero(counts)
    if not kept.size:
        return _empty(column)
    if kept.size > min(MOST_LEVELS, max(FREE_TEXT, column.values.size / 2)):
        raise ValueError(
            f"column {column.name!r} has {kept.size} categories in "
            f"{column.values.size} rows: it names rows, and tells nothing about which "
            "are alike. Leave it out, or list its levels in categories."
        )
    place = np.full(counts.size + 1, np.nan)
    place[kept] = np.arange(kept.size)
    codes = place[column.values]  # the last is that of -1, a gap
    levels = tuple(_plain(column.levels[k], column.name) for k in kept)
    return _with_shares(
        Learned(column.name, "category", levels=levels), codes, fills
    ), codes


def _with_shares(known: Learned, codes: np.ndarray, fills: bool) -> Learned:
    """Return a category with the shares of its levels; gaps count if filled."""
    present = codes[~np.isnan(codes)].astype(np.int64)
    counts = np.bincount(present, minlength=len(known.levels)).astype(np.float64)
    gaps, fill = codes.size - present.size, float("nan")
    if fills and present.size:
        fill = float(np.argmax(counts))
        counts[int(fill)] += gaps
    shares = counts / max(counts.sum(), 1.0)
    center, scale = 0.0, 1.0
    if counts.max() < counts.sum():
        scale = np.sqrt(1 - shares @ shares)
    if len(known.levels) == 2:
        center = shares[1]
        scale /= np.sqrt(2) if counts.max() < counts.sum() else 1.0
    return replace(
        known,
        center=float(center),
        scale=float(scale),
        shares=tuple(shares.tolist()),
        missing=float(gaps / max(codes.size, 1)),
        fill=fill,
    )


def _plain(level: Any, name: Any) -> Any:
    """Return a level as a plain Python value."""
    value = level.item() if isinstance(level, np.generic) else level
    if type(value) in (str, int, float, bool):
        return value
    raise TypeError(
        f"column {name!r} has a category of type {type(value).__name__}: categories "
        "are text, numbers or booleans. Convert them, in pandas for example by "
        "column.cat.rename_categories(str)."
    )


def _add_moments(
    found: list[Learned], values: Sequence[np.ndarray], fills: bool
) -> None:
    """Add mean, deviation and range of the present values of numbers and ranks."""
    kinds = (*NUMBERS, "ordered")
    places = [j for j, column in enumerate(found) if column.kind in kinds]
    for group, block in blocks(values, places):
        gaps = np.isnan(block)
        for row in np.flatnonzero(gaps.all(axis=1)):
            name = found[group[row]].name
            found[group[row]] = Learned(name, "empty", missing=1.0)
        rows = np.flatnonzero(~gaps.all(axis=1))
        if not rows.size:
            continue
        columns = [found[group[row]] for row in rows]
        block, missing = block[rows], gaps[rows].mean(axis=1)
        fill = np.full(rows.size, np.nan)
        if fills:
            fill = _usual(block, columns)
            block = np.where(gaps[rows], fill[:, None], block)
        moments = np.column_stack([_moments(block), missing, fill]).tolist()
        for row, column, numbers in zip(rows, columns, moments, strict=True):
            found[group[row]] = _with_moments(column, *numbers)


def _usual(block: np.ndarray, columns: Sequence[Learned]) -> np.ndarray:
    """Return the median of each row of a block, and the most frequent of ranks."""
    usual = np.nanmedian(block, axis=1)
    for row, column in enumerate(columns):
        if column.kind == "ordered":
            ranks = block[row][~np.isnan(block[row])].astype(np.int64)
            usual[row] = np.bincount(ranks).argmax()
    return usual


def _moments(block: np.ndarray) -> np.ndarray:
    """Return mean, deviation, least and greatest of rows of a block, without gaps."""
    gaps = np.isnan(block)
    found = np.empty((len(block), 4))
    whole = ~gaps.any(axis=1)
    for row in np.flatnonzero(~whole):
        found[row] = _moments(block[row][~gaps[row]][None])[0]
    if whole.any():
        part = block if whole.all() else block[whole]
        found[whole, 0] = center = part.mean(axis=1)
        found[whole, 2], found[whole, 3] = part.min(axis=1), part.max(axis=1)
        part = part - center[:, None]
        found[whole, 1] = np.sqrt(np.mean(np.square(part, out=part), axis=1))
    return found


def _with_moments(
    known: Learned,
    center: float,
    deviation: float,
    low: float,
    high: float,
    missing: float,
    fill: float,
) -> Learned:
    span = high - low
    if span and span < 1 / LARGEST:
        raise ValueError(
            f"column {known.name!r} varies by {span:.3g}, and squares of less than "
            f"{1 / LARGEST:g} are 0: scale it."
        )
    is_ordered = known.kind == "ordered"
    return Learned(
        known.name,
        known.kind,
        center=center if span else low,
        scale=(deviation if span else 1.0) or 1.0,
        low=0.0 if is_ordered else low,
        span=float(max(len(known.levels) - 1, 0)) if is_ordered else span,
        levels=known.levels,
        missing=missing,
        fill=fill,
    )
