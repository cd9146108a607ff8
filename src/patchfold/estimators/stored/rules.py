"""Fitted attributes: what each must be, and the compact form it has in a model file.

An estimator declares `_fitted_rules`, a mapping from the name of an attribute to its
rule, beside its `_parameter_rules`. A rule packs the attribute for a file, and unpacks
what a file holds: type, shape, range and finite values are checked on the way. Shapes
are given in named sizes ("samples", "features", ...): a name has one value in a model.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from ...backends.native.graph import mirror_edges
from ...backends.structure import check_structure

Sizes = dict[str, int]

MISSING = object()
"""Stands for an attribute that is not there."""


class FittedError(ValueError):
    """A part of a model is invalid; the message names the part."""


class FittedRule(Protocol):
    """The rule of an attribute."""

    def pack(self, value: Any) -> Any:
        """Return the attribute as it is written."""
        ...

    def unpack(self, name: str, value: Any, sizes: Sizes) -> Any:
        """Return the attribute, checked; raise FittedError."""
        ...


def pack_state(rules: dict[str, FittedRule], state: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes that have a rule, as they are written."""
    return {
        name: rule.pack(state[name]) for name, rule in rules.items() if name in state
    }


def unpack_state(
    rules: dict[str, FittedRule], state: dict[str, Any], sizes: Sizes
) -> dict[str, Any]:
    """Return the attributes that a file holds, each checked by its rule.

    Parameters
    ----------
    rules : dict
        Rules by the name of the attribute, in the order they are checked in.
    state : dict
        What the file holds.
    sizes : dict
        Sizes that are known; those that the attributes settle are added.

    Raises
    ------
    FittedError
        Naming the first attribute that is missing, unknown or wrong.
    """
    unknown = sorted(str(name) for name in state if name not in rules)
    if unknown:
        raise FittedError(f"{', '.join(unknown)} is not an attribute that it has")
    found = {}
    for name, rule in rules.items():
        value = rule.unpack(name, state.get(name, MISSING), sizes)
        if value is not MISSING:
            found[name] = value
    return found


def _refuse(name: str, wanted: str, value: Any) -> FittedError:
    found = "nothing" if value is MISSING else type(value).__name__
    if isinstance(value, np.ndarray):
        found = f"an array of {value.dtype} with shape {value.shape}"
    elif isinstance(value, (bool, int, float, str)):
        found = repr(value)[:60]
    return FittedError(f"{name} must be {wanted}. It is {found}")


@dataclass(frozen=True)
class _Array:
    """An array; `shape` has numbers, or names of sizes."""

    shape: tuple[int | str, ...]

    def _fit(self, name: str, value: Any, sizes: Sizes, kind: str) -> np.ndarray:
        wanted = f"{kind} of shape {self._words(sizes)}"
        fits = isinstance(value, np.ndarray) and value.ndim == len(self.shape)
        if not fits:
            raise _refuse(name, wanted, value)
        for size, length in zip(self.shape, value.shape, strict=True):
            known = size if isinstance(size, int) else sizes.setdefault(size, length)
            if length != known:
                raise _refuse(name, wanted, value)
        return value

    def _words(self, sizes: Sizes) -> str:
        known = {size: f"{size}={number}" for size, number in sizes.items()}
        return f"({', '.join(known.get(str(size), str(size)) for size in self.shape)})"


@dataclass(frozen=True)
class Numbers(_Array):
    """Floats in double precision, finite unless `any_value`, within two bounds."""

    low: float = -np.inf
    high: float = np.inf
    any_value: bool = False

    def pack(self, value: Any) -> Any:
        """Return the array in double precision; that of a tensor may be single."""
        return in_double_precision(value)

    def unpack(self, name: str, value: Any, sizes: Sizes) -> np.ndarray:
        """Check the array."""
        array = self._fit(name, value, sizes, "an array of float64")
        if array.dtype != np.float64:
            raise _refuse(name, "an array of float64", array)
        if not self.any_value:
            check_finite(name, array, self.low, self.high)
        return array


def in_double_precision(value: Any) -> Any:
    """Return an array of floats in double precision, anything else as it is."""
    is_float = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return value.astype(np.float64, copy=False) if is_float else value


def check_finite(
    name: str, array: np.ndarray, low: float = -np.inf, high: float = np.inf
) -> None:
    """Raise FittedError for numbers that are not finite, or beyond a bound."""
    if not np.isfinite(array).all():
        raise FittedError(f"{name} has numbers that are not finite")
    if array.size and not low <= array.min() <= array.max() <= high:
        raise FittedError(
            f"{name} has numbers that are not within {low:g} and {high:g}"
        )


@dataclass(frozen=True)
class Whole(_Array):
    """Integers from `low` to less than `below`: a number, or the name of a size.

    With `ascending`, each is larger than the one before.
    """

    low: int = 0
    below: int | str = 2**62
    ascending: bool = False

    def pack(self, value: Any) -> Any:
        """Return the array in 32 bits where they are enough."""
        return narrow(value)

    def unpack(self, name: str, value: Any, sizes: Sizes) -> np.ndarray:
        """Check the array, and return it in 64 bits."""
        array = self._fit(name, value, sizes, "an array of integers")
        if array.dtype.kind != "i":
            raise _refuse(name, "an array of integers", array)
        below = self.below if isinstance(self.below, int) else sizes[self.below]
        if array.size and not self.low <= array.min() <= array.max() < below:
            raise FittedError(
                f"{name} has integers that are not within {self.low} and {below - 1}"
            )
        if self.ascending and (array[1:] <= array[:-1]).any():
            raise FittedError(f"{name} does not ascend")
        return array.astype(np.int64)


def narrow(value: np.ndarray) -> np.ndarray:
    """Return integers in 32 bits where they are enough."""
    if value.size and not -(2**31) <= value.min() <= value.max() < 2**31:
        return value
    return value.astype(np.int32)


@dataclass(frozen=True)
class Number:
    """One finite float from `low` to `high`; with `open_low`, above `low`."""

    low: float = -np.inf
    open_low: bool = False
    high: float = 1e308

    def pack(self, value: Any) -> Any:
        """Return the number."""
        return float(value)

    def unpack(self, name: str, value: Any, sizes: Sizes) -> float:
        """Check the number."""
        real = isinstance(value, float | int) and not isinstance(value, bool)
        number = float(value) if real and abs(value) <= self.high else np.nan
        if not (number > self.low if self.open_low else number >= self.low):
            sign = ">" if self.open_low else ">="
            wanted = f"a number {sign} {self.low:g} and <= {self.high:g}"
            raise _refuse(name, wanted, value)
        return number


@dataclass(frozen=True)
class Count:
    """One integer from `low` to `high`: numbers, or names of sizes."""

    low: int | str = 0
    high: int | str = 2**62

    def pack(self, value: Any) -> Any:
        """Return the integer."""
        return int(value)

    def unpack(self, name: str, value: Any, sizes: Sizes) -> int:
        """Check the integer."""
        low, high = (
            bound if isinstance(bound, int) else sizes[bound]
            for bound in (self.low, self.high)
        )
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not low <= value <= high:
            raise _refuse(name, f"an integer from {low} to {high}", value)
        return value


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def pack(self, value: Any) -> Any:
        """Return True or False."""
        return bool(value)

    def unpack(self, name: str, value: Any, sizes: Sizes) -> bool:
        """Check that it is True or False."""
        if not isinstance(value, bool):
            raise _refuse(name, "True or False", value)
        return value


@dataclass(frozen=True)
class Words(_Array):
    """Strings, in an array of objects."""

    def pack(self, value: Any) -> Any:
        """Return the array as it is."""
        return value

    def unpack(self, name: str, value: Any, sizes: Sizes) -> np.ndarray:
        """Check the array."""
        array = self._fit(name, value, sizes, "an array of strings")
        if array.dtype != object or not all(type(word) is str for word in array.flat):
            raise _refuse(name, "an array of strings", value)
        return array


@dataclass(frozen=True)
class Labels(_Array):
    """Classes: numbers, strings or truth values, none twice."""

    def pack(self, value: Any) -> Any:
        """Return the array as it is."""
        return value

    def unpack(self, name: str, value: Any, sizes: Sizes) -> np.ndarray:
        """Check the array."""
        array = self._fit(name, value, sizes, "an array of labels")
        plain = (bool, int, float, str)
        if array.dtype.kind not in "biufUO" or (
            array.dtype == object and not all(type(word) in plain for word in array)
        ):
            raise _refuse(name, "an array of labels", value)
        if len({repr(label) for label in array.tolist()}) < array.size:
            raise FittedError(f"{name} has a label twice")
        return array


@dataclass(frozen=True)
class OrNone:
    """What a rule takes, or None."""

    rule: FittedRule

    def pack(self, value: Any) -> Any:
        """Pack by the rule."""
        return None if value is None else self.rule.pack(value)

    def unpack(self, name: str, value: Any, sizes: Sizes) -> Any:
        """Unpack by the rule."""
        return None if value is None else self.rule.unpack(name, value, sizes)


@dataclass(frozen=True)
class MayLack:
    """What a rule takes, or no attribute at all."""

    rule: FittedRule

    def pack(self, value: Any) -> Any:
        """Pack by the rule."""
        return self.rule.pack(value)

    def unpack(self, name: str, value: Any, sizes: Sizes) -> Any:
        """Unpack by the rule."""
        return MISSING if value is MISSING else self.rule.unpack(name, value, sizes)


@dataclass(frozen=True)
class Record:
    """A frozen record of ours: one rule for each of its parts."""

    kind: type
    rules: dict[str, FittedRule]

    def pack(self, value: Any) -> Any:
        """Return the parts in a dict."""
        return {
            name: rule.pack(getattr(value, name)) for name, rule in self.rules.items()
        }

    def unpack(self, name: str, value: Any, sizes: Sizes) -> Any:
        """Check the parts, and return the record."""
        if not isinstance(value, dict):
            raise _refuse(name, "a dict", value)
        rules = {f"{name}.{part}": rule for part, rule in self.rules.items()}
        parts = {f"{name}.{part}": content for part, content in value.items()}
        found = unpack_state(rules, parts, sizes)
        known = {field.name for field in fields(self.kind)}
        plain = {part.removeprefix(f"{name}."): found[part] for part in found}
        return self.kind(**{part: plain[part] for part in plain if part in known})


@dataclass(frozen=True)
class Matrix:
    """A sparse matrix (samples, samples), without stored NaN or infinity.

    Written as the number of entries in each row, their columns and their values. Of a
    `symmetric` one, with nothing on its diagonal, only entries right of the diagonal
    are written.
    """

    symmetric: bool = False
    low: float = -np.inf

    def pack(self, value: Any) -> Any:
        """Return counts, columns and values in a dict."""
        if not sp.issparse(value) or value.format != "csr":
            return value
        check_structure(value, "a matrix")  # SciPy skips parts of it without entries
        value.check_format(full_check=True)
        if not value.has_canonical_format:
            value = value.copy()
            value.sum_duplicates()
        counts, column, data = np.diff(value.indptr), value.indices, value.data
        if self.symmetric:
            row = np.repeat(np.arange(counts.size), counts)
            right = column > row
            counts = np.bincount(row[right], minlength=counts.size)
            column, data = column[right], data[right]
        return {
            "counts": narrow(counts),
            "columns": narrow(column),
            "values": in_double_precision(data),
        }

    def unpack(self, name: str, value: Any, sizes: Sizes) -> Any:
        """Check the parts, and return the matrix."""
        if not isinstance(value, dict):
            raise _refuse(name, "a sparse matrix", value)
        rules: dict[str, FittedRule] = {
            f"{name}.counts": Whole(("samples",), below=2**31),
            f"{name}.columns": Whole((f"entries of {name}",), below="samples"),
            f"{name}.values": Numbers((f"entries of {name}",), low=self.low),
        }
        parts = {f"{name}.{part}": content for part, content in value.items()}
        counts, column, data = unpack_state(rules, parts, sizes).values()
        n = sizes["samples"]
        if counts.sum() != column.size:
            raise FittedError(
                f"{name}.counts must sum to the {column.size} entries. Its sum is "
                f"{counts.sum()}"
            )
        row = np.repeat(np.arange(n), counts)
        right = column > row if self.symmetric else True
        same_row = row[1:] == row[:-1]
        if not np.all(right) or (column[1:] <= column[:-1])[same_row].any():
            raise FittedError(f"{name}.columns does not ascend in each row")
        if self.symmetric:
            return mirror_edges(n, row, column, data)
        pointer = np.concatenate([[0], np.cumsum(counts)])
        return sp.csr_array((data, column, pointer), shape=(n, n))
