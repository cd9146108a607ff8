"""TableEncoder in files: what is written of it, and how it is checked.

The levels of all columns are one text in JSON: a list for each column.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...validation import LARGEST
from ..encoding.layout import KINDS, Learned
from .model import StoredModel
from .rules import (
    MISSING,
    Count,
    FittedError,
    FittedRule,
    MayLack,
    Numbers,
    Sizes,
    Words,
)

MOST_LEVELS = 10**6
"""Levels of a category in a file at most."""

FAR = 4 * LARGEST
"""No mean, scale or range of a column is larger."""

TABLES = ("array", "pandas", "polars", "arrow")
_NUMBERS = ("center", "scale", "low", "span", "missing")
_LATER = ("plain", "fill")
"""What is learned of every column; and what earlier files do not have."""


@dataclass(frozen=True)
class Text:
    """Text."""

    def pack(self, value: Any) -> Any:
        """Return the text."""
        return value

    def unpack(self, name: str, value: Any, sizes: Sizes) -> str:
        """Check that it is text."""
        if type(value) is not str:
            raise FittedError(f"{name} must be text")
        return value


@dataclass(frozen=True)
class Names:
    """Names of columns, one text in JSON: a file has no part for each of them."""

    def pack(self, value: Any) -> str:
        """Return the names as text."""
        return json.dumps(value.tolist())

    def unpack(self, name: str, value: Any, sizes: Sizes) -> np.ndarray:
        """Check the names; files of earlier versions have an array."""
        if type(value) is str:
            try:
                value = np.array(json.loads(value), dtype=object)
            except (ValueError, RecursionError) as error:
                raise FittedError(f"{name} is no JSON") from error
        return Words(("columns",)).unpack(name, value, sizes)


@dataclass(frozen=True)
class WithGaps:
    """Numbers, NaN where there are none: a rule for their shape."""

    shape: tuple[Any, ...]

    def pack(self, value: Any) -> Any:
        """Return the array."""
        return value

    def unpack(self, name: str, value: Any, sizes: Sizes) -> np.ndarray:
        """Check the array."""
        rule = Numbers(self.shape, any_value=True)
        array = rule.unpack(name, value, sizes)
        if np.isinf(array).any() or not array.size:
            raise FittedError(f"{name} has infinity, or no rows")
        return array


@dataclass(frozen=True)
class FittedTable:
    """What `TableEncoder` keeps of the table that it was fitted to.

    Attributes
    ----------
    columns : tuple of Learned
        What was learned of every column.
    kind : str
        What the table was: an array, or of which library.
    rows : array (n_samples, n_columns) or None
        Its rows, each column from 0 to 1 or in codes; only for Gower's distance.
    """

    columns: tuple[Learned, ...]
    kind: str
    rows: Any = None


class StoredEncoder(StoredModel):
    """The part of `TableEncoder` that deals with model files."""

    distance: str
    n_features_in_: int
    kinds_: tuple[str, ...]
    _fitted: FittedTable

    _fitted_rules: ClassVar[dict[str, FittedRule]] = {
        "n_features_in_": Count(1, 1_000_000),
        "feature_names_in_": MayLack(Names()),
        "_kind_names": Text(),
        "_levels": Text(),
        "_numbers": Numbers(("columns", len(_NUMBERS)), low=-FAR, high=FAR),
        "_shares": Numbers(("levels",), low=0.0, high=1.0),
        "_later": MayLack(WithGaps(("columns", len(_LATER)))),
        "_rows": MayLack(WithGaps(("samples", "columns"))),
        "_table": Text(),
    }
    _made_again: ClassVar[frozenset[str]] = frozenset({"_fitted", "kinds_"})
    _later_parameters: ClassVar[dict[str, Any]] = {
        "categories": None,
        "scale": True,
        "impute": None,
    }

    def _packed(self, state: dict[str, Any]) -> dict[str, Any]:
        fitted = state.get("_fitted")
        if fitted is None:
            return super()._packed(state)
        columns = fitted.columns
        shares = [share for column in columns for share in column.shares]
        numbers, later = (
            np.array([[getattr(column, name) for name in names] for column in columns])
            for names in (_NUMBERS, _LATER)
        )
        learned = {
            "_kind_names": json.dumps([column.kind for column in columns]),
            "_levels": json.dumps([list(column.levels) for column in columns]),
            "_numbers": numbers.astype(np.float64),
            "_later": later.astype(np.float64),
            "_shares": np.array(shares, dtype=np.float64),
            "_table": fitted.kind,
        }
        if fitted.rows is not None:
            learned["_rows"] = fitted.rows
        return super()._packed({**state, **learned})

    def _make_again(self, sizes: Sizes) -> None:
        stored, count = vars(self), self.n_features_in_
        kinds = _list(stored.pop("_kind_names"), "_kind_names", count)
        levels = _list(stored.pop("_levels"), "_levels", count)
        numbers, shares = stored.pop("_numbers"), stored.pop("_shares")
        later = stored.pop("_later", np.tile([0.0, np.nan], (count, 1)))
        table, rows = stored.pop("_table"), stored.pop("_rows", None)
        if sizes["columns"] != count or table not in TABLES:
            raise FittedError(f"n_features_in_ must be {sizes['columns']}")
        names = stored.get("feature_names_in_", range(count))
        columns, place = [], 0
        for j in range(count):
            found = _levels(levels[j], kinds[j], j)
            width = len(found) if kinds[j] == "category" else 0
            parts = dict(zip(_NUMBERS, numbers[j].tolist(), strict=True))
            parts |= {"plain": bool(later[j, 0]), "fill": float(later[j, 1])}
            own = tuple(shares[place : place + width].tolist())
            column = Learned(names[j], kinds[j], levels=found, shares=own, **parts)
            _check(column, j, width)
            columns.append(column)
            place += width
        if place != shares.size:
            raise FittedError("_shares does not fit the levels")
        self._check_rows(columns, rows)
        self._keep(FittedTable(tuple(columns), table, rows))

    def _check_rows(self, columns: list[Learned], rows: Any) -> None:
        """Check the rows of Gower's distance: codes of categories, else from 0 to 1."""
        if (rows is None) != (self.distance == "euclidean"):
            raise FittedError("_rows are those of distance='gower', and of no other")
        if rows is None:
            return
        if rows.shape[1] != len(columns):
            raise FittedError("_rows must have the columns of the table")
        for column, values in zip(columns, rows.T, strict=True):
            found = values[~np.isnan(values)]
            is_category = column.kind == "category"
            high = len(column.levels) - 1 if is_category else 1.0
            whole = not is_category or (found == np.rint(found)).all()
            if found.size and not (whole and 0 <= found.min() <= found.max() <= high):
                raise FittedError("_rows has values that no row can have")

    def _keep(self, fitted: FittedTable) -> None:
        """Keep what was learned, and show the kinds of columns."""
        self._fitted = fitted
        self.kinds_ = tuple(column.kind for column in fitted.columns)


def _list(text: str, name: str, count: int) -> list[Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FittedError(f"{name} is no JSON") from error
    if not isinstance(found, list) or len(found) != count:
        raise FittedError(f"{name} must be a list with an entry for each column")
    return found


def _levels(found: Any, kind: Any, place: int) -> tuple[Any, ...]:
    """Return the levels of a column, checked against its kind."""
    name = f"_levels[{place}]"
    if not isinstance(kind, str) or kind not in KINDS:
        raise FittedError(f"_kind_names[{place}] is no kind of column")
    plain = (str, int, float, bool)
    if not isinstance(found, list) or any(type(level) not in plain for level in found):
        raise FittedError(f"{name} must be a list of text and numbers")
    if any(isinstance(level, float) and not math.isfinite(level) for level in found):
        raise FittedError(f"{name} has numbers that are not finite")
    if len(set(found)) < len(found):
        raise FittedError(f"{name} has a level twice")
    has_levels = kind in ("category", "ordered")
    if bool(found) != has_levels or len(found) > MOST_LEVELS:
        raise FittedError(f"{name} has {len(found)} levels of a column of kind {kind}")
    return tuple(found)


def _check(column: Learned, place: int, width: int) -> None:
    """Refuse numbers that make infinity of numbers up to 1e150, or no scale."""
    if len(column.shares) != width:
        raise FittedError("_shares does not fit the levels")
    name = f"_numbers[{place}]"
    if not 0 <= column.missing <= 1 or column.span < 0 or not column.scale > 0:
        raise FittedError(f"{name} has a share, range or scale that cannot be")
    if not math.isnan(column.fill):
        places = range(len(column.levels))
        if (column.levels and column.fill not in places) or abs(column.fill) > LARGEST:
            raise FittedError(f"_later[{place}] fills gaps with what cannot be")
    tiny = 0 < column.span < 1 / LARGEST
    if tiny or not math.isfinite((LARGEST + abs(column.center)) / column.scale):
        raise FittedError(f"{name} makes infinity of numbers up to {LARGEST:g}")


@dataclass(frozen=True)
class Encoder:
    """The encoder of an estimator: `TableEncoder` for Euclidean distance.

    It makes as many numbers of a row as the samples have features.
    """

    def pack(self, value: Any) -> Any:
        """Return the encoder: it packs itself."""
        return value

    def unpack(self, name: str, value: Any, sizes: Sizes) -> Any:
        """Check and complete the encoder."""
        if value is MISSING:
            return MISSING
        if not isinstance(value, StoredEncoder):
            raise FittedError(f"{name} must be a TableEncoder")
        value._complete()
        width = value._width  # type: ignore[attr-defined]
        if value.distance != "euclidean" or width != sizes.get("features"):
            raise FittedError(
                f"{name} makes {width} numbers of a row, and samples have "
                f"{sizes.get('features')}"
            )
        return value


def check_columns(model: Any, features: int, sizes: Sizes) -> None:
    """Refuse another number of columns than samples, or the encoder, have."""
    encoder = vars(model).get("encoder_")
    wanted = features if encoder is None else encoder.n_features_in_
    if {model.n_features_in_, sizes.get("columns", wanted)} != {wanted}:
        raise FittedError(f"n_features_in_ must be {wanted}")
