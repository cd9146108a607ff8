"""A table -> its embedding as a table, with the pipeline that places new samples."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from ..backends.backend import NUMPY, Backend
from ..estimators.methods import OTHERS, Method, find_method
from . import (
    Columns,
    Source,
    choose_columns,
    encode_classes,
    make_encoder,
    match_columns,
    read_source,
)
from .encoding import is_encoder, summarize_columns
from .judging import rare_classes
from .matching import KINDS, encoder_parts
from .models.saving import ModelFileError, about_model, load_model
from .newcomers import (
    Memory,
    class_columns,
    far_rows,
    name_strangers,
    one_warning,
    recall,
    remember,
)
from .reading import ReadOptions

if TYPE_CHECKING:
    import pandas as pd


BATCH = 10_000
"""Samples that are placed at a time where somebody watches."""


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
    method: str,
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
    method : str
        A name of `estimators.methods.METHODS`, other than PCA, t-SNE and UMAP.
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
    chosen = _one_of_ours(method)
    reading = reading or ReadOptions()
    read = read_source(source, reading, plain=(target, id))
    target = target or read.target
    if chosen.supervised and target is None:
        raise ValueError(
            f"{chosen.title} is supervised: name the column of the classes (--target)."
        )
    columns = choose_columns(
        read.frame,
        target=target,
        drop=drop,
        id=id,
        impute=impute,
        keep=keep,
        auto=auto,
        doubts=read.doubts,
    )
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
        frame=_joined(kept, points, names),
        coordinates=names,
        classes=classes,
        pipeline=pipeline,
        about=about | {"table": memory.note()},
        encoded=summarize_columns(columns, categories=categories, scale=scale),
        seconds=seconds,
        remarks=[*read.remarks, *_rare(columns.target), *warned],
        notes=_notes(read, columns),
    )


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


def _rare(target: pd.Series | None) -> list[str]:
    """Say which classes have one row."""
    if target is None:
        return []
    alone = rare_classes(target)
    return [f"the target {str(target.name)!r} has {alone}."] if alone else []


def _notes(read: Source, columns: Columns) -> list[str]:
    """Say how columns were read, and what was decided."""
    used = set(columns.features.columns)
    said = [f"{name}: {note}" for name, note in read.notes.items() if name in used]
    return [*said, *(f"decided: {line}" for line in columns.decided)]


def place_table(
    source: str,
    model: Any,
    *,
    target: str | None = None,
    id: str | None = None,
    reading: ReadOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
    backend: Backend = NUMPY,
) -> Embedded:
    """Place the samples of a table in the embedding of a saved pipeline.

    Parameters
    ----------
    source : str
        A file, or the name of a dataset. Needs the columns of the training table.
    model : path-like
        What `patchfold embed --model` wrote.
    target, id : str, default=None
        Columns to keep beside the coordinates. No class is ever used.
    reading : ReadOptions, default=None
        What is known of the file.
    progress : callable, default=None
        Called with the samples that are placed, and all there are; they are then placed
        some thousands at a time.
    backend : Backend, default=NUMPY
        Where they are placed.

    Returns
    -------
    Embedded
    """
    pipeline, about = load_pipeline(model)
    memory = model_memory(pipeline, about)
    estimator = pipeline["embedding"]
    if not backend.is_numpy:
        pipeline.steps[-1] = "embedding", backend.copy_model(estimator)
    roles = (id or memory.id, target or memory.target)
    reading = memory.complete(reading or ReadOptions())
    read = read_source(source, reading, plain=roles)
    for name in filter(None, (id, target)):
        if name not in read.frame.columns:
            raise ValueError(f"there is no column {name!r} in {read.name}.")
    known = memory if "table" in about else None
    features, remarks = match_columns(read.frame, pipeline["columns"], known)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        points = _place(pipeline, features, progress)
        seconds = time.perf_counter() - start
        samples = pipeline["columns"].transform(features)
        remarks += far_rows(samples, estimator)
        posterior = None
        if memory.classes and hasattr(estimator, "predict_proba"):
            posterior = pipeline["embedding"].predict_proba(samples)
    names = list(about["coordinates"])
    there = [name for name in roles if name and name in read.frame.columns]
    kept = [read.frame[name] for name in there]
    kept += class_columns(posterior, memory, about["method"].replace("-", "_"))
    target = roles[1] if roles[1] in there else None
    return Embedded(
        frame=_joined(kept, points, names),
        coordinates=names,
        classes=encode_classes(read.frame[target]) if target else None,
        pipeline=pipeline,
        about=about,
        encoded="columns as in the model",
        seconds=seconds,
        remarks=[
            *read.remarks,
            *name_strangers(read.frame, pipeline["columns"], memory),
            *one_warning(len(read.frame), remarks),
            *dict.fromkeys(str(w.message) for w in caught),
        ],
    )


def _place(
    pipeline: Pipeline,
    features: pd.DataFrame,
    progress: Callable[[int, int], None] | None,
) -> np.ndarray:
    if progress is None:
        return pipeline.transform(features)
    n, parts = len(features), []
    for start in range(0, n, BATCH):
        parts.append(pipeline.transform(features.iloc[start : start + BATCH]))
        progress(min(start + BATCH, n), n)
    return np.concatenate(parts)


def load_pipeline(model: Any) -> tuple[Pipeline, dict[str, Any]]:
    """Read a pipeline that `patchfold embed --model` wrote, and what is said of it.

    Raises
    ------
    ModelFileError
        If the file holds anything else.
    """
    about = about_model(model)
    if "coordinates" not in about:
        raise ModelFileError(
            f"{model} holds no pipeline of `patchfold embed --model`, only an "
            "estimator: load it with patchfold.load_model."
        )
    pipeline = load_model(model)
    if not _is_embedding(pipeline, about):
        raise ModelFileError(f"{model} says it is a pipeline of `embed`, but is none.")
    try:
        model_memory(pipeline, about)
    except ValueError as error:
        raise ModelFileError(f"{model} is damaged: {error}.") from None
    return pipeline, about


def model_memory(pipeline: Pipeline, about: dict[str, Any]) -> Memory:
    """Return what a pipeline knows of its training table; older files know nothing."""
    if "table" not in about:
        return Memory()
    parts = encoder_parts(pipeline["columns"])
    held = [parts[kind][1] if kind in parts else [] for kind in KINDS]
    return recall(about["table"], *held)


def _is_embedding(pipeline: Any, about: dict[str, Any]) -> bool:
    """Say whether a pipeline has the form of those that `embed_table` fits."""
    if not isinstance(pipeline, Pipeline) or len(pipeline.steps) != 2:
        return False
    (first, encoder), (last, estimator) = pipeline.steps
    if (first, last) != ("columns", "embedding") or not is_encoder(encoder):
        return False
    names, count = about["coordinates"], getattr(estimator, "n_components", None)
    words = [about.get("method"), about.get("title")]
    listed = isinstance(names, list) and len(set(map(str, names))) == len(names)
    width = max(part.stop for part in encoder.output_indices_.values())
    return (
        listed
        and all(type(word) is str for word in [*names, *words])
        and len(names) == count
        and width == getattr(estimator, "n_features_in_", None)
    )


def coordinate_columns(frame: pd.DataFrame) -> list[str]:
    """Return the first two coordinates in a table that `embed` wrote.

    Examples
    --------
    >>> import pandas as pd
    >>> from patchfold.tables.embedding import coordinate_columns
    >>> coordinate_columns(pd.DataFrame(columns=["kind", "elap_1", "elap_2"]))
    ['elap_1', 'elap_2']
    """
    for name in reversed(frame.columns):
        first = re.fullmatch(r"(.+)_1", str(name))
        if first and f"{first[1]}_2" in frame.columns:
            return [str(name), f"{first[1]}_2"]
    raise ValueError(
        "no two columns are named as coordinates (NAME_1 and NAME_2): name them "
        "(--x and --y)."
    )


def _make(chosen: Any, params: Mapping[str, Any]) -> Any:
    try:
        return chosen.make(**params)
    except TypeError:
        known = ", ".join(sorted(chosen.make().get_params()))
        wrong = sorted(set(params) - set(chosen.make().get_params()))
        raise ValueError(
            f"{chosen.title} has no parameter {', '.join(wrong)}. It has {known}."
        ) from None


def _joined(kept: list[Any], points: np.ndarray, names: list[str]) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame(points, columns=names)
    return pd.concat(
        [*(column.reset_index(drop=True) for column in kept), table], axis=1
    )
