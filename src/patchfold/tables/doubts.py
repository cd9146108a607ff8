"""What is in doubt about a column of text: a few words among numbers, numbers alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import dates as calendar
from . import numerals
from .naming import join_names, listed

if TYPE_CHECKING:
    import pandas as pd

MANY_TEXTS = 10_000
"""Of more different texts, this many are looked at first."""

MIXED = (10, 3, 0.5)
"""A column with at least this many different numbers, and at most this many different
words in at most this share of its rows, is numbers with gaps or mistakes."""

LIMITS = 0.05
"""The same, where one of the words holds a number: <0.5 is more than a gap."""


@dataclass(frozen=True)
class Doubt:
    """What must be decided about a column.

    Attributes
    ----------
    reason : str
        What was found.
    option, value : str
        The option of the commands that decides it, and its value; words for missing
        cells are a list with commas.
    firm : bool
        Whether the column cannot be used as it is at all.
    names : bool
        Whether it may name the samples, if it differs in each row.
    """

    reason: str
    option: str
    value: str
    firm: bool = False
    names: bool = False


def spread(texts: pd.Series) -> pd.Series:
    """Return some of very many texts, the first one among them."""
    return texts.iloc[:: -(-len(texts) // MANY_TEXTS)]


def doubt_mixed(
    what: str, n_texts: int, words: list[str], n_rows: int, n_all: int
) -> Doubt | None:
    """Doubt numbers or dates with a few words among them."""
    fewest, most, share = MIXED
    if any(map(numerals.LIKE.match, words)):
        share = LIMITS
    if n_texts - len(words) < fewest or len(words) > most or n_rows > share * n_all:
        return None
    reason = f"has {what}, and in {n_rows:,} of {n_all:,} rows {listed(words)}"
    return Doubt(reason, "missing", join_names(words))


def doubt_alike(texts: pd.Series, name: str, strange: list[str]) -> Doubt | None:
    """Doubt words that look like numbers or dates, and cannot be read as such.

    `strange` are those among them that are none, if the others are.
    """
    texts = spread(texts)
    for form, what in ((calendar.LIKE, "dates"), (numerals.LIKE, "numbers")):
        alike = texts.str.match(form)
        if alike.mean() >= 0.5:
            shown = listed(strange[:2] or texts[alike][:2].tolist())
            some = "not all cells are such" if strange else "is none"
            return Doubt(f"looks like {what}, but {some} ({shown})", "drop", name)
    return None
