"""New rows for a saved pipeline: what it remembers of its table, and what is new."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimators.stored.model import StoredModel
from ..neighbors.choice import find_query_neighbors
from .naming import listed
from .numbers import as_numbers

if TYPE_CHECKING:
    import pandas as pd

    from .columns import Columns
    from .reading import ReadOptions, Source

BEYOND = 0.5
"""A value is far outside where it is beyond the training range by this part of it."""

APART = 2.0
"""A row is far away where its nearest training sample is this many times farther than
any training sample is from its own nearest one."""

MOST_PAIRS = 10**9
"""Pairs of new and training samples that are compared to tell which rows are far."""


@dataclass(frozen=True)
class Memory:
    """What a saved pipeline knows of the table it was fitted on.

    Attributes
    ----------
    id, target : str or None
        The columns of the names of samples and of the classes.
    ignored : tuple of str
        Columns that were left out.
    dates : tuple of str
        Columns of dates.
    numbers : tuple of (float, float, float)
        Least and greatest value and median of each number, in the encoder's order.
    words : tuple of str
        Most frequent level of each category, in the encoder's order.
    order, decimal : str or None
        Order of day, month and year, and decimal mark.
    missing : tuple of str
        Words for a missing cell.
    codes, kept : tuple of str
        More of them, that were decided, and the columns in which they are none.
    classes : tuple of str
        Names of the classes that the estimator was fitted on.
    """

    id: str | None = None
    target: str | None = None
    ignored: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    numbers: tuple[tuple[float, float, float], ...] = ()
    words: tuple[str, ...] = ()
    order: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def note(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)

    def complete(self, options: ReadOptions) -> ReadOptions:
        """Return what is known of a file with what is remembered."""
        return replace(
            options,
            decimal=options.decimal or self.decimal,
            dates=options.dates or self.order,
            missing=tuple(dict.fromkeys([*self.missing, *options.missing])),
            codes=self.codes,
            kept=self.kept,
        )


def remember(
    columns: Columns, read: Source, options: ReadOptions, classes: Sequence[str] = ()
) -> Memory:
    """Return what a pipeline must know of its table to take other ones."""
    decided = columns.reading
    features = columns.features
    values = as_numbers(features, list(columns.numbers)).to_numpy()
    ranges = np.empty((values.shape[1], 3))
    if values.size:
        ranges[:, 0] = np.fmin.reduce(values)
        ranges[:, 1] = np.fmax.reduce(values)
        ranges[:, 2] = np.nanmedian(values, axis=0)
    orders = {
        {"day": "dmy", "month": "mdy"}.get(note.removeprefix("dates: ").split(",")[0])
        for note in read.notes.values()
        if note.startswith("dates: ")
    } - {None}
    return Memory(
        id=None if columns.ids is None else str(columns.ids.name),
        target=None if columns.target is None else str(columns.target.name),
        ignored=tuple(columns.left_out),
        dates=columns.dates,
        numbers=tuple(map(tuple, ranges.tolist())),
        words=tuple(str(features[name].mode()[0]) for name in columns.categories),
        order=options.dates or (orders.pop() if len(orders) == 1 else None),
        decimal=options.decimal or decided.get("decimal"),
        missing=tuple(dict.fromkeys(options.missing)),
        classes=tuple(classes),
        codes=tuple(decided.get("missing", ())),
        kept=tuple(decided.get("kept", ())),
    )


def recall(note: Any, numbers: Sequence[str], words: Sequence[str]) -> Memory:
    """Return what a file remembers, checked; raise ValueError if it is nonsense.

    Parameters
    ----------
    note : dict
        As `Memory.note` returned it, from a file.
    numbers, words : sequence of str
        Columns of the encoder.
    """
    if isinstance(note, Mapping):  # earlier files have none of these
        note = {"codes": [], "kept": [], **note}
    if not isinstance(note, Mapping) or set(note) != set(Memory.__dataclass_fields__):
        raise ValueError("what it says of its table is not complete")
    single = [note[name] for name in ("id", "target", "order", "decimal")]
    named = ("ignored", "dates", "words", "missing", "classes", "codes", "kept")
    lists = {name: note[name] for name in named}
    if not all(value is None or type(value) is str for value in single):
        raise ValueError("what it says of its table are no names")
    for value in lists.values():
        if type(value) is not list or not all(type(word) is str for word in value):
            raise ValueError("what it says of its table are no lists of names")
    ranges = note["numbers"]
    right = type(ranges) is list and all(
        type(row) is list
        and len(row) == 3
        and all(
            type(cell) in (int, float) and abs(cell) <= sys.float_info.max
            for cell in row
        )
        for row in ranges
    )
    if not right or (len(ranges), len(lists["words"])) != (len(numbers), len(words)):
        raise ValueError("what it says of its table does not fit its columns")
    orders, marks = (None, "dmy", "mdy", "ymd"), (None, ".", ",")
    if note["order"] not in orders or note["decimal"] not in marks:
        raise ValueError("what it says of dates and numbers is not known")
    made: dict[str, Any] = {name: tuple(value) for name, value in lists.items()}
    made["numbers"] = tuple(map(tuple, ranges))
    return Memory(**{**note, **made})


@dataclass
class News:
    """What is new in rows that a model has not seen.

    Attributes
    ----------
    n_rows : int
        How many rows there are.
    unseen : dict of str to (int, list of str)
        By column, cells with levels that the model does not know, and these levels.
    missing, beyond : dict of str to int
        By column, missing cells, and values far outside the training range.
    n_beyond : int
        Rows with such values.
    n_far, n_looked : int
        Rows without a training sample near, and rows that were looked at for that.
    """

    n_rows: int
    unseen: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    beyond: dict[str, int] = field(default_factory=dict)
    n_beyond: int = 0
    n_far: int = 0
    n_looked: int = 0

    def __add__(self, other: News) -> News:
        unseen = dict(self.unseen)
        for name, (count, levels) in other.unseen.items():
            before, known = unseen.get(name, (0, []))
            unseen[name] = before + count, sorted({*known, *levels})
        return News(
            self.n_rows + other.n_rows,
            unseen,
            _added(self.missing, other.missing),
            _added(self.beyond, other.beyond),
            self.n_beyond + other.n_beyond,
            self.n_far + other.n_far,
            self.n_looked + other.n_looked,
        )

    def told(self) -> list[str]:
        """Return one warning that counts all of it, or none."""
        said = [
            f"{_rows(count)} levels of {name!r} that the model has not seen, which "
            f"count as missing ({listed(levels)})"
            for name, (count, levels) in sorted(
                self.unseen.items(), key=lambda item: (-item[1][0], item[0])
            )
        ]
        if self.missing:
            count = sum(self.missing.values())
            many = (
                f"{count:,} missing cells were" if count > 1 else "a missing cell was"
            )
            said.append(
                f"{many} filled with the training table's median or mode "
                f"({_counts(self.missing)})"
            )
        if self.n_beyond:
            said.append(
                f"{_rows(self.n_beyond)} values far outside the training range "
                f"({_counts(self.beyond)})"
            )
        if self.n_far:
            some = self.n_looked < self.n_rows
            part = f" ({self.n_looked:,} were looked at)" if some else ""
            said.append(
                f"{_rows(self.n_far)} no training sample near{part}: the nearest is "
                f"more than {APART:g} times as far as any training sample's nearest "
                "other one"
            )
        return [f"of {self.n_rows:,} new rows: {'; '.join(said)}."] if said else []


def _added(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    names = dict.fromkeys([*left, *right])
    return {name: left.get(name, 0) + right.get(name, 0) for name in names}


def _counts(found: Mapping[str, int]) -> str:
    """Name the columns, those with most cells first: parts may come in any order."""
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return listed([f"{name} {count}" for name, count in ranked])


def _rows(count: int) -> str:
    return f"{count:,} rows have" if count > 1 else "1 row has"


def count_beyond(
    features: pd.DataFrame, memory: Memory, numbers: list[str]
) -> dict[str, Any]:
    """Count values far outside the training range, and rows with any: for `News`."""
    if not numbers or not memory.numbers:
        return {}
    values = features[numbers].to_numpy(dtype=np.float64)
    least, greatest, _ = np.array(memory.numbers).T
    room = BEYOND * (greatest - least)
    beyond = (values < least - room) | (values > greatest + room)
    counts = beyond.sum(axis=0)
    found = {numbers[k]: int(counts[k]) for k in np.flatnonzero(counts)}
    return {"beyond": found, "n_beyond": int(beyond.any(axis=1).sum())}


def nearness(estimator: Any) -> float | None:
    """Return how far from its nearest training sample a row may be.

    None of an estimator that does not keep these samples (PatchProjection).
    """
    training = training_samples(estimator)
    if training is None or len(training) < 3:
        return None
    some = _evenly(len(training), MOST_PAIRS // 10 // len(training))
    search = find_query_neighbors(training[some], training, 1, own=some)
    return APART * float(search.distances.max())


def count_far(
    samples: np.ndarray, estimator: Any, limit: float | None, most: int = MOST_PAIRS
) -> dict[str, Any]:
    """Count rows that are far from every training sample: for `News`.

    Parameters
    ----------
    samples : array (n, m)
        Rows, encoded.
    estimator : estimator
        Which has the training samples.
    limit : float or None
        As `nearness` returns it.
    most : int
        Pairs of rows and training samples to look at.
    """
    training = training_samples(estimator)
    if limit is None or training is None:
        return {}
    rows = _evenly(len(samples), most // len(training))
    nearest = find_query_neighbors(samples[rows], training, 1).distances
    return {"n_far": int((nearest > limit).sum()), "n_looked": len(rows)}


def _evenly(n: int, most: int) -> np.ndarray:
    """Return evenly spaced positions below n."""
    return np.unique(np.linspace(0, n - 1, min(n, max(most, 1000))).astype(int))


def training_samples(estimator: Any) -> np.ndarray | None:
    """Return the training samples of an estimator; None where it does not keep them."""
    if not isinstance(estimator, StoredModel):
        return None
    found = estimator._training_samples()
    return found if isinstance(found, np.ndarray) and found.ndim == 2 else None


def name_strangers(names: Collection[str], encoder: Any, memory: Memory) -> list[str]:
    """Name columns that the model does not know, and an id that is not here."""
    known = {*encoder.feature_names_in_, *memory.ignored, memory.id, memory.target}
    others = [name for name in names if name not in known]
    said = []
    if others:
        said.append(
            f"columns that the model does not know are ignored: {listed(others)}."
        )
    if memory.id is not None and memory.id not in names:
        said.append(f"there is no column {memory.id!r}, which named the samples.")
    return said


def class_columns(posterior: Any, memory: Memory, stem: str) -> list[pd.Series]:
    """Return the predicted class and the probability of each, as columns."""
    import pandas as pd

    if posterior is None or len(memory.classes) != posterior.shape[1]:
        return []
    found = np.array(memory.classes, dtype=object)[np.argmax(posterior, axis=1)]
    columns = [pd.Series(found, name=f"{stem}_class")]
    for k, name in enumerate(memory.classes):
        columns.append(pd.Series(posterior[:, k], name=f"{stem}_probability_{name}"))
    return columns
