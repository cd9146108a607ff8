"""What the user says of the columns of a table, before they are looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Levels = Mapping[Any, Sequence[Any]]


@dataclass(frozen=True)
class Wishes:
    """What is known of columns before they are looked at.

    Attributes
    ----------
    ordered, categories : mapping or None
        Levels by the name or position of a column; in order the first.
    plain : bool
        Whether nothing is shifted or scaled.
    fills : bool
        Whether gaps are filled, by the median or the most frequent level.
    """

    ordered: Levels | None = None
    categories: Levels | None = None
    plain: bool = False
    fills: bool = False

    @property
    def declared(self) -> set[Any]:
        """Columns that hold categories, whatever their cells look like."""
        return {*(self.ordered or ()), *(self.categories or ())}


@dataclass(frozen=True)
class LevelsRule:
    """A mapping of column names or positions to their levels."""

    def accepts(self, value: Any) -> bool:
        """Say whether the value is acceptable."""
        return isinstance(value, Mapping) and all(
            isinstance(name, (str, int)) and _is_order(levels)
            for name, levels in value.items()
        )

    def __str__(self) -> str:
        return "a mapping of column names to lists of all their categories, none twice"


def _is_order(levels: Any) -> bool:
    plain = (str, int, float, bool)
    return (
        isinstance(levels, (list, tuple))
        and len(levels) > 0
        and all(type(level) in plain and level == level for level in levels)
        and len(set(levels)) == len(levels)
    )
