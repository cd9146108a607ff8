"""Encoders of scikit-learn from a file -> the same, fitted anew from what they learned.

Fitted encoders have private attributes that must agree with each other: one-hot
columns, for example, are written into memory by counts that the encoder holds. So an
encoder is not taken as it is in a file. The numbers and words that it learned are read
and checked, and a new one is fitted to a row that is made of them. Files are therefore
also read by other versions of scikit-learn than the one that wrote them.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from ...estimators.stored.output import OUTPUT, pack_output, unpack_output
from ...estimators.stored.rules import (
    MISSING,
    Count,
    FittedError,
    Flag,
    Labels,
    Numbers,
    OrNone,
    Sizes,
    Words,
)
from ...validation import LARGEST

_LEARNED: dict[type, tuple[str, ...]] = {
    Pipeline: (),
    ColumnTransformer: ("transformers_",),
    StandardScaler: ("mean_", "var_", "scale_", "n_samples_seen_"),
    SimpleImputer: ("statistics_",),
    OneHotEncoder: ("categories_",),
    OrdinalEncoder: ("categories_",),
    FunctionTransformer: (),
}
_COMMON = ("n_features_in_", "feature_names_in_", OUTPUT)


def parameters_of(kind: type) -> tuple[str, ...]:
    """Return the names of the parameters of an estimator."""
    return tuple(inspect.signature(kind).parameters)


ENCODERS: dict[str, frozenset[str]] = {
    f"{kind.__module__}.{kind.__qualname__}": frozenset(
        {*parameters_of(kind), *learned, *_COMMON} - {"transformers"}
    )
    for kind, learned in _LEARNED.items()
}
"""Full names of the encoders that are read, and the attributes that are. Those before
the fit (`transformers`) are not: they follow from those after it."""

LEFT_OUT = "sklearn.compose._column_transformer._RemainderColsList"
"""What has the columns that an encoder leaves out, in scikit-learn 1.6. They follow
from the others, so no attribute is read of it."""


def pack(model: Any) -> Any:
    """Return a fitted model to write: of encoders only what is read again.

    Names and places of columns become one text in JSON. In a list of them, skops would
    write a node of the schema for each, and take longer for 100,000 than a fit.
    """
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    if kind not in ENCODERS:
        return model
    packed = object.__new__(type(model))
    state = {key: vars(model)[key] for key in vars(model) if key in ENCODERS[kind]}
    if isinstance(model, Pipeline):
        state["steps"] = [(name, pack(step)) for name, step in model.steps]
    if "transformers_" in state:
        state["transformers_"] = [
            (name, pack(part), _packed(columns))
            for name, part, columns in model.transformers_
        ]
    if "feature_names_in_" in state:
        state["feature_names_in_"] = _packed(model.feature_names_in_.tolist())
    vars(packed).update(state, **pack_output(vars(model)))
    return packed


def _packed(columns: Any) -> Any:
    """Return names or places as text; anything else as it is."""
    if isinstance(columns, list) and {type(c) for c in columns} <= {str, int}:
        return json.dumps(columns)
    return columns


def _unpacked(columns: Any) -> Any:
    return json.loads(columns) if type(columns) is str else columns


def remake(encoder: Any) -> Any:
    """Return an encoder that knows what the given one learned.

    Parameters
    ----------
    encoder : estimator
        One of the encoders that `patchfold embed` builds, its parts made again already;
        of any other kind, it is returned as it is.

    Returns
    -------
    estimator
        Fitted.

    Raises
    ------
    FittedError
        If what it learned is no valid state.
    """
    make = _MAKERS.get(type(encoder))
    if make is None:
        return encoder
    name = type(encoder).__name__
    try:
        names = vars(encoder).get("feature_names_in_")
        if type(names) is str:
            encoder.feature_names_in_ = np.array(_unpacked(names), dtype=object)
        made = make(encoder)
        with np.errstate(all="ignore"):
            if not np.isfinite(_largest(made, LARGEST)):
                raise FittedError(f"it makes infinity of numbers up to {LARGEST:g}")
        vars(made).update(unpack_output(vars(encoder)))
        return made
    except FittedError as error:
        raise FittedError(f"{name}: {error}") from error
    except Exception as error:  # scikit-learn's checks, and anything of any type
        raise FittedError(f"{name} cannot be made again: {error}") from error


def _largest(encoder: Any, size: float) -> float:
    """Return a bound of what an encoder makes of numbers up to a size."""
    if isinstance(encoder, Pipeline):
        for _, step in encoder.steps:
            size = _largest(step, size)
    elif isinstance(encoder, ColumnTransformer):
        size = max((_largest(part, size) for _, part, _ in _parts(encoder)), default=0)
    elif isinstance(encoder, StandardScaler):
        shift = 0.0 if encoder.mean_ is None else np.abs(encoder.mean_)
        scale = 1.0 if encoder.scale_ is None else encoder.scale_
        size = float(np.max((size + shift) / scale))
    elif isinstance(encoder, SimpleImputer) and encoder.statistics_.dtype != object:
        size = max(size, float(np.abs(encoder.statistics_).max()))
    elif isinstance(encoder, OneHotEncoder | OrdinalEncoder):
        size = float(max(level.size for level in encoder.categories_))
    return size


MOST_COLUMNS = 1_000_000
"""Columns of an encoder in a file at most: a row of them is made on loading."""


def _new(encoder: Any, **changed: Any) -> Any:
    """Return an unfitted encoder with the same parameters.

    Those that the version that wrote the file did not have are left at their defaults.
    """
    state, names = {**vars(encoder), **changed}, parameters_of(type(encoder))
    return type(encoder)(**{name: state[name] for name in names if name in state})


def _require(encoder: Any, **wanted: Any) -> None:
    """Refuse parameters whose fitted state is not read."""
    for name, value in wanted.items():
        found = getattr(encoder, name, value)
        if type(found) is not type(value) or found != value:
            raise FittedError(f"{name} must be {value!r}. It is {str(found)[:60]!r}")


def _sizes(encoder: Any) -> Sizes:
    state = vars(encoder)
    given = state.get("n_features_in_", MISSING)
    count = Count(1, MOST_COLUMNS).unpack("n_features_in_", given, {})
    sizes = {"features": count}
    if "feature_names_in_" in state:
        Words(("features",)).unpack(
            "feature_names_in_", state["feature_names_in_"], sizes
        )
    return sizes


def _with_names(fitted: Any, encoder: Any) -> Any:
    if "feature_names_in_" in vars(encoder):
        fitted.feature_names_in_ = encoder.feature_names_in_
    return fitted


def _scaler(encoder: StandardScaler) -> StandardScaler:
    sizes, state = _sizes(encoder), vars(encoder)
    rules = {
        "mean_": OrNone(Numbers(("features",))),
        "var_": OrNone(Numbers(("features",), low=0.0)),
        "scale_": OrNone(Numbers(("features",), low=1e-300)),
    }
    found = {
        name: rule.unpack(name, state.get(name, MISSING), sizes)
        for name, rule in rules.items()
    }
    fitted = _new(encoder).fit(np.zeros((1, sizes["features"])))
    for name, value in found.items():
        if (value is None) != (getattr(fitted, name) is None):
            raise FittedError(f"{name} does not fit with_mean and with_std")
        setattr(fitted, name, value)
    seen = state.get("n_samples_seen_")
    if type(seen) is int or isinstance(seen, np.integer):
        fitted.n_samples_seen_ = seen
    return _with_names(fitted, encoder)


def _imputer(encoder: SimpleImputer) -> SimpleImputer:
    _require(encoder, add_indicator=False)
    row = _filling(encoder)
    fitted = _new(encoder).fit(row[None])
    if fitted.statistics_.tolist() != row.tolist():
        raise FittedError("statistics_ has missing values")
    return _with_names(fitted, encoder)


def _filling(encoder: SimpleImputer) -> np.ndarray:
    sizes = _sizes(encoder)
    values = vars(encoder).get("statistics_", MISSING)
    plain = values.ravel().tolist() if isinstance(values, np.ndarray) else [""]
    if all(isinstance(value, int | float) for value in plain):  # or objects of these
        return Numbers(("features",)).unpack(
            "statistics_", values.astype(np.float64), sizes
        )
    return Words(("features",)).unpack("statistics_", values, sizes)


def _coder(encoder: Any) -> Any:
    _require(encoder, min_frequency=None, max_categories=None, drop=None)
    levels = _levels(encoder)
    _check_codes(encoder, levels)
    given = vars(encoder).get("categories")
    automatic = isinstance(given, str) and given == "auto"
    numbers = all(level.dtype.kind in "iuf" for level in levels)
    kind = np.result_type(*levels) if numbers else object
    first = np.array([level[0] for level in levels], dtype=kind)
    fitted = _new(encoder, categories=levels).fit(first[None])
    if automatic:
        fitted.categories = "auto"
    return _with_names(fitted, encoder)


def _check_codes(encoder: Any, levels: list[np.ndarray]) -> None:
    """Refuse numbers that the levels do not fit in, and those for no level at all."""
    state, rule = vars(encoder), Count(-MOST_COLUMNS, MOST_COLUMNS)
    kind = np.dtype(state.get("dtype", np.float64))
    is_ordinal = isinstance(encoder, OrdinalEncoder)
    codes = [max(level.size for level in levels) if is_ordinal else 1]
    unknown = state.get("unknown_value")
    if unknown is not None:
        codes.append(rule.unpack("unknown_value", unknown, {}))
    nan = any(value != value for level in levels for value in level.tolist())
    if is_ordinal and nan:
        missing = state.get("encoded_missing_value", MISSING)
        codes.append(rule.unpack("encoded_missing_value", missing, {}))
    if kind.kind not in "biuf" or [int(kind.type(code)) for code in codes] != codes:
        raise FittedError(f"dtype={kind} cannot hold {codes}")


def _levels(encoder: Any) -> list[np.ndarray]:
    """Return the levels of each column, checked."""
    sizes, found = _sizes(encoder), vars(encoder).get("categories_")
    if not isinstance(found, list) or len(found) != sizes["features"]:
        raise FittedError("categories_ must have a list for each column")
    checked = []
    for place, levels in enumerate(found):
        rule = Labels((f"levels of column {place}",))
        checked.append(rule.unpack(f"categories_[{place}]", levels, sizes))
        if not levels.size:
            raise FittedError(f"categories_[{place}] is empty")
    return checked


def _keeper(encoder: FunctionTransformer) -> FunctionTransformer:
    _require(encoder, func=None, inverse_func=None, kw_args=None)
    row = np.zeros((1, _sizes(encoder)["features"]))
    return _with_names(_new(encoder).fit(row), encoder)


def _pipeline(encoder: Pipeline) -> Pipeline:
    _require(encoder, memory=None)
    steps = vars(encoder).get("steps")
    if not isinstance(steps, list) or not steps:
        raise FittedError("steps must be a list")
    made = []
    for step in steps:
        if not isinstance(step, tuple | list) or len(step) != 2:
            raise FittedError("a step must be a name and an estimator")
        if type(step[0]) is not str or not hasattr(step[1], "transform"):
            raise FittedError("a step must be a name and an estimator")
        made.append((step[0], step[1]))
    return _new(encoder, steps=made)


def _columns(encoder: ColumnTransformer) -> ColumnTransformer:
    """Fit anew, to one row, what transforms columns by their names or places."""
    _require(encoder, remainder="drop", transformer_weights=None)
    for name in ("verbose", "verbose_feature_names_out"):
        Flag().unpack(name, vars(encoder).get(name, True), {})
    sizes = _sizes(encoder)
    names = list(vars(encoder).get("feature_names_in_", range(sizes["features"])))
    if len(set(names)) != len(names):
        raise FittedError("feature_names_in_ has a name twice")
    row: dict[Any, Any] = dict.fromkeys(names, 0.0)
    parts = []
    by_place = dict(enumerate(names))
    for name, made, columns in _parts(encoder):
        listed = [by_place.get(column, column) for column in columns]
        if not set(listed) <= set(names):
            raise FittedError(f"{name} has columns that are not known")
        row.update(zip(listed, _row_of(made, len(columns)), strict=True))
        parts.append((name, FrozenEstimator(made), columns))
    fitted = _new(encoder, transformers=parts, verbose=False, n_jobs=None)
    fitted.fit(_table(row))
    thawed = {name: (name, held.estimator, columns) for name, held, columns in parts}
    fitted.transformers = list(thawed.values())
    fitted.verbose = vars(encoder).get("verbose", False)
    fitted.transformers_ = [thawed.get(part[0], part) for part in fitted.transformers_]
    return fitted


def _table(row: dict[Any, Any]) -> Any:
    """Return one row as the kind of table that it came from."""
    if all(type(name) is int for name in row):
        return np.array([list(row.values())], dtype=object)
    import pandas as pd

    values = list(row.values())
    if all(type(value) is float for value in values):  # one block of all columns
        return pd.DataFrame(np.array([values]), columns=list(row))
    return pd.DataFrame({name: [value] for name, value in row.items()})


def _parts(encoder: ColumnTransformer) -> list[tuple[str, Any, list[Any]]]:
    """Return name, transformer and columns of each part but what is left out."""
    found = vars(encoder).get("transformers_")
    if not isinstance(found, list):
        raise FittedError("transformers_ must be a list")
    parts = []
    for part in found:
        if not isinstance(part, tuple | list) or len(part) != 3:
            raise FittedError("transformers_ must have a name, transformer and columns")
        name, transformer, columns = part
        if name == "remainder":
            continue
        columns = _unpacked(columns)
        listed = isinstance(columns, list) and {type(c) for c in columns} <= {str, int}
        if type(name) is not str or not listed or not hasattr(transformer, "transform"):
            raise FittedError(
                "transformers_ must have a name, a transformer, and the columns in a "
                "list of names or places"
            )
        parts.append((name, transformer, columns))
    return parts


def _row_of(encoder: Any, count: int) -> list[Any]:
    """Return a row that an encoder can transform."""
    if isinstance(encoder, Pipeline):
        return _row_of(encoder.steps[0][1], count)
    if isinstance(encoder, SimpleImputer):
        return list(encoder.statistics_)
    if isinstance(encoder, OneHotEncoder | OrdinalEncoder):
        return [levels[0] for levels in encoder.categories_]
    return [0.0] * count


_MAKERS: dict[type, Callable[[Any], Any]] = {
    Pipeline: _pipeline,
    ColumnTransformer: _columns,
    StandardScaler: _scaler,
    SimpleImputer: _imputer,
    OneHotEncoder: _coder,
    OrdinalEncoder: _coder,
    FunctionTransformer: _keeper,
}
