"""Bad and unusual input, case by case: what is passed, and what is to happen.

`test_bad_input.py` tries every case on every estimator, and writes the page
docs/bad_input.md from this table.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import load_iris

from helpers.estimators import ESTIMATORS, SUPERVISED

try:
    import polars as pl
except ImportError:  # then its cases are skipped
    pl = None

GRAPHS = tuple(name for name in ESTIMATORS if name != "PatchPosterior")

X = load_iris().data[::3].copy()
y = load_iris().target[::3].copy()
N, M = X.shape


@dataclass(frozen=True)
class Case:
    """One input.

    Attributes
    ----------
    name : str
        As the page calls it.
    X, y : Any
        What is passed to `fit`.
    params : dict
        Parameters of the estimator.
    queries : Any
        What is passed to `transform`; by default `X`.
    error : tuple of str
        Words that the error must have. Empty: it works, and all coordinates are finite.
    differs : dict of str to tuple of str
        The same for the estimators where something else happens.
    ignored_by : tuple of str
        Estimators that have no such parameter.
    needs : str
        A package without which it is skipped.
    """

    name: str
    X: Any = field(default_factory=X.copy)
    y: Any = field(default_factory=y.copy)
    params: dict[str, Any] = field(default_factory=dict)
    queries: Any = None
    error: tuple[str, ...] = ()
    differs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ignored_by: tuple[str, ...] = ()
    needs: str = ""

    def words(self, estimator: str) -> tuple[str, ...]:
        """Return the words of the error that the estimator is to raise, if any."""
        return self.differs.get(estimator, self.error)


def _changed(place: tuple[int, int], value: Any, dtype: Any = float) -> np.ndarray:
    out = X.astype(dtype)
    out[place] = value
    return out


def _read_only() -> np.ndarray:
    out = X.copy()
    out.flags.writeable = False
    return out


def _memory_map() -> np.ndarray:
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file, X)
        file.flush()
        return np.load(file.name, mmap_mode="r")  # outlives the name of its file


def _polars(name: str, change: Callable[[Any], Any], error: tuple[str, ...]) -> Case:
    frame = None if pl is None else change(pl.DataFrame(X, schema=list("abcd")))
    differs = TAKES_GAPS if error == GAP else {}
    return Case(name, frame, error=error, differs=differs, needs="polars")


def _only(names: tuple[str, ...], words: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(names, words)


NOT_NUMBERS = ("X", "numbers", "encode")
FEW = ("n_components=2", "n_samples=2")
NO_SPREAD = {"PatchProjection": ("n_components=2", "directions", "lower")}
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
TOO_LARGE = ("X", "scale")
TEXT = ("'b'", "numbers as text", "convert")
ROWS = ("'b'", "names rows", "Leave it out")
IDS = [f"row {row}" for row in range(N)]
GAP = ("X", "NaN")
TAKES_GAPS: dict[str, tuple[str, ...]] = {"PatchPosterior": ()}
DATES = ("X", "numbers", "dates or times")
NAMES = ("Feature names", "string")
LEVELS = pd.Categorical(np.where(X[:, 1] > 3, "wide", "narrow"))
STEPS = pd.Categorical(X[:, 1].round())
MONTHS = pd.date_range("2026-01-01", periods=N)
HOLE = pd.DataFrame(np.arange(N * M).reshape(N, M) == 7, columns=FRAME.columns)

SAMPLES = [
    Case("NaN in a cell", _changed((3, 1), np.nan), error=GAP, differs=TAKES_GAPS),
    Case("infinity in a cell", _changed((3, 1), np.inf), error=("X", "infinity")),
    Case(
        "None in a cell",
        _changed((3, 1), None, object),
        error=GAP,
        differs=TAKES_GAPS,
    ),
    Case("complex numbers", X + 0j, error=("Complex data not supported",)),
    Case("strings", np.full((N, M), "a"), error=NOT_NUMBERS),
    Case("numbers as strings", X.astype(str)),
    Case("numbers as objects", X.astype(object)),
    Case("objects", np.full((N, M), {}, dtype=object), error=NOT_NUMBERS),
    Case("no samples", X[:0], y[:0], error=("0 sample",)),
    Case(
        "one sample",
        X[:1],
        y[:1],
        error=("1 sample", "minimum of 2"),
        differs={"PatchPosterior": ("two classes", "1 class")},
    ),
    Case(
        "two samples",
        X[::30],
        y[::30],
        error=FEW,
        differs={"PatchPosterior": (), "CauchyMap": ()},
    ),
    Case("three samples", X[::20], y[::20]),
    Case("one feature", X[:, :1], differs=NO_SPREAD),
    Case("no features", X[:, :0], error=("0 feature",)),
    Case("one dimension", X[:, 0], error=("Expected 2D array", "Reshape")),
    Case("three dimensions", X[None], error=("dim 3",)),
    Case("all rows equal", np.ones((N, M)), differs=NO_SPREAD),
    Case("constant columns", np.hstack([X, np.ones((N, 2))])),
    Case("rows in pairs", np.repeat(X[::2], 2, axis=0), np.repeat(y[::2], 2)),
    Case("rows in tens", np.repeat(X[::10], 10, axis=0), np.repeat(y[::10], 10)),
    Case("scales 1e12 apart", X * [1, 1e6, 1, 1e-6]),
    Case(
        "values near the largest",
        X * 1e300,
        error=TOO_LARGE,
        differs={"PatchPosterior": ()},
    ),
    Case(
        "values near the smallest",
        X * 1e-300,
        error=TOO_LARGE,
        differs={"PatchPosterior": ()},
    ),
    Case("large values", X * 1e140),
    Case("small values", X * 1e-140),
    Case("sparse", sp.csr_matrix(X)),
    Case("float32", X.astype(np.float32)),
    Case("float16", X.astype(np.float16)),
    Case("integers", np.round(10 * X).astype(int)),
    Case("booleans", X.mean(axis=0) < X),
    Case("Fortran order", np.asfortranarray(X)),
    Case("not contiguous", np.repeat(X, 2, axis=1)[:, ::2]),
    Case("read-only", _read_only()),
    Case("memory map", _memory_map()),
    Case("list of lists", X.tolist(), y.tolist()),
    Case("dates", np.arange(N * M).reshape(N, M).astype("M8[D]"), error=DATES),
    Case("pandas frame", FRAME, pd.Series(y)),
    Case("pandas, a categorical column of numbers", FRAME.assign(b=STEPS)),
    Case("pandas, a categorical column of words", FRAME.assign(b=LEVELS)),
    Case("pandas, a column of words", FRAME.assign(b=LEVELS.astype(str))),
    Case("pandas, numbers as text", FRAME.assign(b=FRAME.b.astype(str)), error=TEXT),
    Case("pandas, a different word in each row", FRAME.assign(b=IDS), error=ROWS),
    Case("pandas, numbers as objects", FRAME.astype(object)),
    Case(
        "pandas, None in a cell",
        FRAME.astype(object).mask(HOLE, None),
        error=GAP,
        differs=TAKES_GAPS,
    ),
    Case("pandas, nullable numbers", FRAME.astype("Float64")),
    Case("pandas, nullable integers", (10 * FRAME).round().astype("Int64")),
    Case(
        "pandas, NA in a cell",
        FRAME.astype("Float64").mask(HOLE),
        error=GAP,
        differs=TAKES_GAPS,
    ),
    Case("pandas, Arrow columns", FRAME.astype("float64[pyarrow]")),
    Case("pandas, a column of dates", FRAME.assign(b=MONTHS)),
    Case("pandas, a column of words and gaps", FRAME.mask(HOLE).assign(b=LEVELS)),
    Case("pandas, sparse columns", FRAME.astype(pd.SparseDtype(float, 0))),
    Case("pandas, some names no words", FRAME.rename(columns={"a": 1}), error=NAMES),
    _polars("polars frame", lambda frame: frame, ()),
    _polars("polars, single precision", lambda frame: frame.cast(pl.Float32), ()),
    _polars("polars, integers", lambda frame: (10 * frame).cast(pl.Int32), ()),
    _polars(
        "polars, null in a cell",
        lambda frame: frame.with_columns(pl.Series("b", [None, *frame["b"][1:]])),
        GAP,
    ),
    _polars(
        "polars, a column of words",
        lambda frame: frame.with_columns(b=pl.lit("wide")),
        (),
    ),
    _polars(
        "polars, a categorical column",
        lambda frame: frame.with_columns(b=pl.lit("wide").cast(pl.Categorical)),
        (),
    ),
    _polars(
        "polars, a column of dates",
        lambda frame: frame.with_columns(b=pl.date(2026, 11, 15)),
        (),
    ),
    _polars("polars, lazy", lambda frame: frame.lazy(), ("X", "X.collect()")),
]

QUERIES = [
    Case("fewer features", queries=X[:, :3], error=("3 features", "expecting 4")),
    Case("NaN", queries=_changed((3, 1), np.nan), error=GAP, differs=TAKES_GAPS),
    Case("no samples", queries=X[:0], error=("0 sample",)),
    Case("one sample", queries=X[:1] + 0.01),
    Case("sparse", queries=sp.csr_matrix(X)),
    Case("far away", queries=X + 1e6),
    Case("float32", queries=X.astype(np.float32)),
    Case(
        "other feature names",
        X=FRAME,
        queries=FRAME.rename(columns={"a": "z"}),
        error=("feature names", "z"),
    ),
    Case(
        "feature names in another order",
        X=FRAME,
        queries=FRAME[["d", "c", "b", "a"]],
        error=("feature names", "order"),
    ),
]


def _sizes(value: Any, *, works_for: tuple[str, ...] = ()) -> Case:
    return Case(
        f"n_neighbors={value!r}",
        params={"n_neighbors": value},
        error=("n_neighbors", repr(value)),
        differs=_only(works_for, ()),
    )


PARAMETERS = [
    _sizes(0),
    _sizes(-1),
    _sizes(N, works_for=tuple(ESTIMATORS)),
    _sizes(1.5),
    _sizes(0.0),
    _sizes(0.5, works_for=GRAPHS),
    _sizes(float("nan")),
    _sizes("ten"),
    _sizes(True),
    Case("n_components=0", params={"n_components": 0}, error=("n_components", "0")),
    Case(
        "n_components as large as n",
        params={"n_components": N},
        error=("n_components=50",),
    ),
    *(
        Case(
            f"{name}={value!r}",
            params={name: value},
            error=(name, repr(value)),
            ignored_by=("klap", "PatchPosterior", *others),
        )
        for name, value, *others in (
            ("radius", -1.0, "CauchyMap"),
            ("dissimilarity", "bures"),
        )
    ),
]

_NAMES = np.array(["setosa", "versicolor", "virginica"])
_PARTLY = np.where(np.arange(N) % 3 == 0, -1, _NAMES[y].astype(object))
_TUPLES = np.empty(N, dtype=object)
_TUPLES[:] = [("iris", int(label)) for label in y]
_WITHOUT_SOME = np.where(np.arange(N) % 7 == 0, None, y.astype(object))


def _labels(name: str, labels: Any, *error: str, **differs: tuple[str, ...]) -> Case:
    return Case(name, y=labels, differs={**_only(SUPERVISED, error), **differs})


LABELS = [
    _labels("too few labels", y[:-1], "49", "50"),
    _labels("one class", np.zeros(N, int), klap=(), PatchPosterior=("two classes",)),
    _labels("none labelled", np.full(N, -1), klap=(), PatchPosterior=("two classes",)),
    _labels("some labelled", np.where(np.arange(N) % 3 == 0, y, -1)),
    _labels("strings", _NAMES[y]),
    _labels("whole floats", y.astype(float)),
    _labels("any floats", X[:, 0] + 0.05, "continuous"),
    _labels("None among them", _WITHOUT_SOME, "y", "missing", "-1"),
    _labels("NaN among them", np.where(np.arange(N) % 7 == 0, np.nan, y), "y", "NaN"),
    _labels("tuples", _TUPLES),
    _labels("words, and -1 where unlabelled", _PARTLY),
    _labels("None", None, "y", "None", CauchyMap=()),
    _labels("two columns", np.column_stack([y, y]), "y", "1d"),
]

TABLES = {
    "Samples passed to `fit`": SAMPLES,
    "Samples passed to `transform`": QUERIES,
    "Parameters": PARAMETERS,
    "Labels": LABELS,
}
