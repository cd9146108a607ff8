"""The catalogue: every set the five papers name, and what is known without data.

`registry.csv` has one row per set. Counts are empty where no copy was at hand to count;
`tables` are PAPER-Tn marks; `builtin` is "rule" or "scikit-learn"; `openml_version` is
the version the papers' scripts ask for, else the first one with the right classes.
"""

from __future__ import annotations

import csv
import difflib
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ .+-]*")
_LONGEST_NAME = 128


@dataclass(frozen=True)
class Entry:
    """One row of the registry; None where the papers and our copies do not say."""

    name: str
    n_samples: int | None
    n_features: int | None
    n_classes: int | None
    tables: tuple[str, ...]
    builtin: str
    openml_name: str
    openml_version: int | None
    aliases: tuple[str, ...]


def check_name(name: str) -> str:
    """Return `name` if it can be a dataset's name: one path component, no tricks.

    Raises
    ------
    ValueError
        If it is empty, too long, holds a path separator or "..", or starts with a
        character other than a letter, a digit or an underscore.
    """
    if not isinstance(name, str):
        raise TypeError(
            f"a dataset's name must be a string. Got {type(name).__name__} instead."
        )
    if not is_name(name):
        raise ValueError(
            "a dataset's name must be 1 to 128 letters, digits, spaces or any of "
            "'_.+-', begin with a letter, a digit or '_', and hold no '..' and no "
            f"path separator. Got {name[: _LONGEST_NAME + 1]!r} instead."
        )
    return name


def is_name(text: str) -> bool:
    """Return whether a text can be a dataset's name, as `check_name` says."""
    fits = len(text) <= _LONGEST_NAME and ".." not in text
    return fits and _NAME.fullmatch(text) is not None


@lru_cache(maxsize=1)
def entries() -> tuple[Entry, ...]:
    """Return all rows of the registry, ordered by name."""
    table = resources.files(__package__).joinpath("registry.csv")
    lines = table.read_text(encoding="utf-8").splitlines()
    return tuple(_entry(row) for row in csv.DictReader(lines))


def find(name: str) -> Entry | None:
    """Return the entry called `name`, in any case or by an alias, or None."""
    return _by_key().get(name.lower())


def similar(name: str) -> list[str]:
    """Return up to three names of the registry that `name` may have meant."""
    return difflib.get_close_matches(name.lower(), [e.name for e in entries()])


@lru_cache(maxsize=1)
def _by_key() -> dict[str, Entry]:
    keys = {alias: entry for entry in entries() for alias in entry.aliases}
    return keys | {entry.name: entry for entry in entries()}


def _entry(row: dict[str, str]) -> Entry:
    def count(column: str) -> int | None:
        return int(row[column]) if row[column] else None

    return Entry(
        name=row["name"],
        n_samples=count("n_samples"),
        n_features=count("n_features"),
        n_classes=count("n_classes"),
        tables=tuple(row["tables"].split(";")),
        builtin=row["builtin"],
        openml_name=row["openml_name"],
        openml_version=count("openml_version"),
        aliases=tuple(filter(None, row["aliases"].split(";"))),
    )
