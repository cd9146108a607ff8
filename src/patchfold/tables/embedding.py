"""A table -> its embedding as a table, with the pipeline that places new rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from ..estimators.methods import OTHERS, Method, find_method
from . import (
    Columns,
    Source,
    encode_classes,
    make_encoder,
    read_source,
)
from .columns import choose_from
from .encoding import summarize_columns
from .judging import codes_among, holds_classes, is_measurement, rare_classes
from .newcomers import class_columns, remember
from .reading import ReadOptions

if TYPE_CHECKING:
    import pandas as pd


FIRST = "cauchy-map"
"""What embeds if no method is named; with classes to learn from, `FIRST_LABELLED`."""

FIRST_LABELLED = "cauchy-map-labels"


@dataclass(frozen=True)
class Embedded:
    """An embedded table.

    Attributes
    ----------
    frame : pandas.DataFrame
        The id and the target, where there are any, and the coordinates.
    coordinates : list of str
        Columns of the coordinates.
    classes : tuple of (array of int, list of str) or None
        Class of every row, -1 where it has none, and the names of the classes.
    pipeline : Pipeline
        From the columns to the coordinates, fitted.
    about : dict
        What a reader of the saved pipeline has to know.
    encoded : str
        What was done to the columns, in a line.
    seconds : float
        Time of the fit, or of placing.
    remarks : list of str
        Warnings.
    notes : list of str
        How columns were read, and what was decided about them.
    """

    frame: pd.DataFrame
    coordinates: list[str]
    classes: tuple[np.ndarray, list[str]] | None
    pipeline: Pipeline
    about: dict[str, Any]
    encoded: str
    seconds: float
    remarks: list[str]
    notes: list[str] = field(default_factory=list)


def embed_table(
    source: str,
    method: str | None,
    params: Mapping[str, Any],
    *,
    target: str | None = None,
    drop: Iterable[str] = (),
    id: str | None = None,
    categories: str = "one-hot",
    scale: bool = True,
    impute: str | None = None,
    keep: Iterable[str] = (),
    auto: bool = False,
    reading: ReadOptions | None = None,
    fit: Callable[[Any, Any, Any], Any] | None = None,
) -> Embedded:
    """Fit a method on a table.

    Parameters
    ----------
    source : str
        A file, or the name of a dataset.
    method : str or None
        A name of `estimators.methods.METHODS`, other than PCA, t-SNE and UMAP. None is
        CauchyMap, with labels if the target holds classes.
    params : mapping of str to value
        Parameters of its estimator.
    target, drop, id, categories, scale, impute, keep, auto
        What is done to the columns: see `patchfold.tables`.
    reading : ReadOptions, default=None
        What is known of the file.
    fit : callable, default=None
        What fits the estimator to samples and labels in place of its own `fit`.

    Returns
    -------
    Embedded

    Examples
    --------
    >>> from patchfold.tables.embedding import embed_table
    >>> done = embed_table("iris", "isomap-kl", {"n_neighbors": 20})
    >>> list(done.frame.columns), len(done.frame)
    (['target', 'isomap_kl_1', 'isomap_kl_2'], 150)
    """
    chosen = _one_of_ours(method or FIRST)
    reading = reading or ReadOptions()
    read = read_source(source, reading, plain=(target, id))
    target = target or read.target
    if chosen.supervised and target is None:
        raise ValueError(
            f"{chosen.title} is supervised: name the column of the classes (--target)."
        )
    asked = {"drop": drop, "id": id, "impute": impute, "keep": keep, "auto": auto}
    columns = choose_from(read, target=target, **asked)
    chosen, unread = (chosen, []) if method else _begin_with(columns.target)
    encoder = make_encoder(
        columns, categories=categories, scale=scale, impute=columns.impute
    )
    classes = None if columns.target is None else encode_classes(columns.target)
    pipeline = Pipeline([("columns", encoder), ("embedding", _make(chosen, params))])
    labels, known = classes if classes and chosen.supervised else (None, [])
    points, seconds, warned = _fitted(pipeline, columns.features, labels, fit)
    stem = chosen.name.replace("-", "_")
    names = [f"{stem}_{k + 1}" for k in range(points.shape[1])]
    kept = [c for c in (columns.ids, columns.target) if c is not None]
    memory = remember(columns, read, reading, known)
    posterior = getattr(pipeline["embedding"], "posterior_", None)
    about = {"method": chosen.name, "title": chosen.title, "coordinates": names}
    kept += class_columns(posterior, memory, stem)
    return Embedded(
        frame=join_columns(kept, points, names),
        coordinates=names,
        classes=classes,
        pipeline=pipeline,
        about=about | {"table": memory.note()},
        encoded=summarize_columns(columns, categories=categories, scale=scale),
        seconds=seconds,
        remarks=[
            *read.remarks,
            *_judge_target(columns.target, chosen.supervised),
            *warned,
        ],
        notes=[*_notes(read, columns), *unread],
    )


def _begin_with(target: pd.Series | None) -> tuple[Method, list[str]]:
    """Return the method if none is named, and notes on a target that it ignores."""
    if target is None:
        return find_method(FIRST), []
    if holds_classes(target):
        return find_method(FIRST_LABELLED), []
    note = f"the map is drawn without the target {target.name!r}: no classes"
    return find_method(FIRST), [note]


def _one_of_ours(method: str) -> Method:
    chosen = find_method(method)
    if chosen.name in OTHERS:
        raise ValueError(f"{chosen.title} is for `compare`; embed with one of ours.")
    return chosen


def _fitted(
    pipeline: Pipeline,
    features: pd.DataFrame,
    labels: np.ndarray | None,
    fit: Callable[[Any, Any, Any], Any] | None,
) -> tuple[np.ndarray, float, list[str]]:
    """Fit the pipeline; return the coordinates, the seconds, and what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        if fit is None:
            points = pipeline.fit_transform(features, labels)
        else:
            samples = pipeline["columns"].fit_transform(features)
            points = fit(pipeline["embedding"], samples, labels).embedding_
        seconds = time.perf_counter() - start
    return points, seconds, list(dict.fromkeys(str(w.message) for w in caught))


def _judge_target(target: pd.Series | None, supervised: bool) -> list[str]:
    """Say what is odd about a target; of measurements no classes of one row."""
    if target is None:
        return []
    are_classes = supervised or not is_measurement(target)
    found = [codes_among(target), rare_classes(target) if are_classes else ""]
    return [f"the target {str(target.name)!r} has {what}." for what in found if what]


def _notes(read: Source, columns: Columns) -> list[str]:
    """Say how columns were read, and what was decided."""
    used = set(columns.features.columns)
    said = [f"{name}: {note}" for name, note in read.notes.items() if name in used]
    return [*said, *(f"decided: {line}" for line in columns.decided)]


def _make(chosen: Any, params: Mapping[str, Any]) -> Any:
    try:
        return chosen.make(**params)
    except TypeError:
        known = ", ".join(sorted(chosen.make().get_params()))
        wrong = sorted(set(params) - set(chosen.make().get_params()))
        raise ValueError(
            f"{chosen.title} has no parameter {', '.join(wrong)}. It has {known}."
        ) from None


def join_columns(kept: list[Any], points: np.ndarray, names: list[str]) -> pd.DataFrame:
    """Return columns that are kept, with the coordinates beside them."""
    import pandas as pd

    table = pd.DataFrame(points, columns=names)
    return pd.concat(
        [*(column.reset_index(drop=True) for column in kept), table], axis=1
    )
