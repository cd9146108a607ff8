"""Cases -> a CSV file that keeps what was run: a study that is stopped goes on."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows kept so far."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def run_missing(
    path: Path,
    fields: tuple[str, ...],
    cases: Iterable[Row],
    score: Callable[..., list[Row]],
) -> None:
    """Score the cases that the file does not hold, and add their rows to it.

    Parameters
    ----------
    path : Path
        The file.
    fields : tuple of str
        Its columns; the first are those that tell cases apart.
    cases : iterable of tuples
        Values of those first columns.
    score : callable
        Takes them, returns whole rows; none is kept unless all are there.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(",".join(fields) + "\n", encoding="utf-8")
    kept = [tuple(row.values()) for row in read(path)]
    for case in cases:
        key = tuple(map(str, case))
        if not any(row[: len(key)] == key for row in kept):
            rows = score(*case)
            with path.open("a", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(rows)
