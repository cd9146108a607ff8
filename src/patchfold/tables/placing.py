"""A table and a saved pipeline -> the places of its rows in the embedding."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from ..backends.backend import NUMPY, Backend
from ..estimators.table_encoder import TableEncoder
from . import encode_classes, match_columns, read_source
from .doubts import Doubt
from .embedding import Embedded, join_columns
from .former import renew
from .matching import split_columns
from .models.saving import ModelFileError, about_model, load_model
from .nested import refuse_nested
from .newcomers import (
    Memory,
    class_columns,
    count_far,
    name_strangers,
    nearness,
    recall,
)
from .reading import ReadOptions

if TYPE_CHECKING:
    import pandas as pd

BATCH = 10_000
"""Samples that are placed at a time if progress is shown."""


class Fitted(NamedTuple):
    """What `patchfold embed --model` wrote.

    Attributes
    ----------
    pipeline : Pipeline
        From columns to coordinates.
    about : dict
        What is said of it.
    memory : Memory
        What is known of the table that it was fitted on.
    """

    pipeline: Pipeline
    about: dict[str, Any]
    memory: Memory

    @property
    def stem(self) -> str:
        """How the names of its columns begin."""
        return _stem(self.about)


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
    fitted = load_pipeline(model)
    pipeline, about, memory = fitted
    estimator = pipeline["embedding"]
    if not backend.is_numpy:
        pipeline.steps[-1] = "embedding", backend.copy_model(estimator)
    roles = (id or memory.id, target or memory.target)
    reading = memory.complete(reading or ReadOptions())
    read = read_source(source, reading, plain=roles)
    for name in filter(None, (id, target)):
        if name not in read.frame.columns:
            raise ValueError(f"there is no column {name!r} in {read.name}.")
    known = pipeline["columns"].feature_names_in_
    refuse_nested(read.doubts, known, "the model needs one.")
    features, news = match_columns(read.frame, pipeline["columns"], memory)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        points = _place(pipeline, features, progress)
        seconds = time.perf_counter() - start
        samples = pipeline["columns"].transform(features)
        far = count_far(samples, estimator, nearness(estimator))
        classes = class_columns(predict_classes(fitted, samples), memory, fitted.stem)
    there = [name for name in roles if name and name in read.frame.columns]
    kept = [*(read.frame[name] for name in there), *classes]
    target = roles[1] if roles[1] in there else None
    names = list(about["coordinates"])
    return Embedded(
        frame=join_columns(kept, points, names),
        coordinates=names,
        classes=encode_classes(read.frame[target]) if target else None,
        pipeline=pipeline,
        about=about,
        encoded="columns as in the model",
        seconds=seconds,
        notes=[f"{name}: {note}" for name, note in read.notes.items() if name in known],
        remarks=[
            *read.remarks,
            *name_strangers(read.frame.columns, pipeline["columns"], memory),
            *_tell_doubts(read.doubts, pipeline["columns"]),
            *replace(news, **far).told(),
            *dict.fromkeys(str(w.message) for w in caught),
        ],
    )


def _tell_doubts(doubts: Mapping[str, Doubt], encoder: TableEncoder) -> list[str]:
    """Say which numbers and dates of the model were read in one of two ways."""
    return [
        f"column {name!r} {doubt.reason}: --{doubt.option} says which."
        for name, doubt in doubts.items()
        if doubt.option in ("dates", "decimal") and name in encoder.feature_names_in_
    ]


def predict_classes(fitted: Fitted, samples: np.ndarray) -> np.ndarray | None:
    """Return the probabilities of classes, of an estimator that tells them."""
    estimator = fitted.pipeline["embedding"]
    if not fitted.memory.classes or not hasattr(estimator, "predict_proba"):
        return None
    return estimator.predict_proba(samples)


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


def load_pipeline(model: Any) -> Fitted:
    """Read a pipeline that `patchfold embed --model` wrote, and what is said of it.

    An encoder of an earlier version is brought to the form of today.

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
    try:
        pipeline, memory = _renewed(pipeline, about)
    except ValueError as error:
        raise ModelFileError(f"{model} is damaged: {error}.") from None
    if not _is_embedding(pipeline, about):
        raise ModelFileError(f"{model} says it is a pipeline of `embed`, but is none.")
    return Fitted(pipeline, about, memory)


def _renewed(pipeline: Any, about: dict[str, Any]) -> tuple[Any, Memory]:
    """Return a pipeline whose encoder is a TableEncoder, and what it remembers."""
    steps = pipeline.steps if isinstance(pipeline, Pipeline) else []
    if [name for name, _ in steps] != ["columns", "embedding"]:
        return None, Memory()
    encoder, note = steps[0][1], about.get("table")
    usual: dict[str, Any] = {}
    if not isinstance(encoder, TableEncoder):
        dates = note.get("dates") if isinstance(note, dict) else ()
        encoder, usual = renew(encoder, dates if isinstance(dates, list) else ())
        pipeline = Pipeline([("columns", encoder), steps[1]])
    elif not hasattr(encoder, "feature_names_in_"):
        return None, Memory()
    numbers, words = split_columns(encoder)
    if note is not None:
        return pipeline, recall(note, numbers, list(words))
    everything = (float("-inf"), float("inf"))
    return pipeline, Memory(
        numbers=tuple((*everything, usual[name]) for name in numbers if name in usual),
        words=tuple(usual[name] for name in words if name in usual),
    )


def _stem(about: Mapping[str, Any]) -> str:
    """Return how the names of coordinates begin, after the method."""
    return str(about.get("method")).replace("-", "_")


def _is_embedding(pipeline: Any, about: dict[str, Any]) -> bool:
    """Say whether a pipeline has the form of those that `embed_table` fits."""
    if pipeline is None:
        return False
    encoder, estimator = pipeline["columns"], pipeline["embedding"]
    stem = _stem(about)
    names = [f"{stem}_{k + 1}" for k in range(getattr(estimator, "n_components", 0))]
    return (
        type(about.get("title")) is str
        and stem.isidentifier()
        and about["coordinates"] == names
        and encoder.distance == "euclidean"
        and "duration" not in encoder.kinds_  # `embed` makes days of them
        and encoder._width == getattr(estimator, "n_features_in_", None)
    )
