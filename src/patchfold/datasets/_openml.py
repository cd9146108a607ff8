"""Datasets from OpenML by name and version, kept on disk, with a checksum.

The download itself, and its cache, are scikit-learn's `fetch_openml`, asked for the
"liac-arff" parser without a frame: that way keeps the order in which a categorical
column declares its levels, which the frames of current releases do not, and needs no
pandas. At the first fetch the sha256 of the parsed content is written beside the cache;
every later load must give the same one. That detects a copy that changed since then; it
says nothing about the first copy, for which no independent checksum is at hand.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.files import write_text
from ._record import Dataset, DatasetChangedError, DatasetShapeWarning, order_levels
from ._registry import Entry

_TIMEOUT_SECONDS = 20.0


class FetchError(Exception):
    """OpenML did not give the dataset; the cause is chained."""


def cache_folder() -> Path:
    """Return where downloads are kept: PATCHFOLD_CACHE, else the user's cache."""
    chosen = os.environ.get("PATCHFOLD_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "patchfold"


def is_cached(entry: Entry) -> bool:
    """Return whether `entry` was fetched into the cache before."""
    return _checksum_file(entry).is_file()


def read(entry: Entry) -> Dataset:
    """Return the set of `entry` from the cache or the network, content verified.

    Raises
    ------
    FetchError
        If it cannot be downloaded or parsed.
    DatasetChangedError
        If its content is not what was recorded at the first fetch.
    """
    try:
        with _patience():
            bunch = _fetch(entry)
        dataset = _from_bunch(entry, bunch)
    except (OSError, ValueError, HTTPException) as error:
        raise FetchError(f"{type(error).__name__}: {error}") from error
    _verify(entry, dataset)
    _compare_counts(entry, dataset)
    return dataset


def checksum(dataset: Dataset) -> str:
    """Return the sha256 of names, levels, codes and numbers, in hexadecimal digits."""
    head = [
        dataset.data.shape,
        dataset.feature_names,
        dataset.target_names,
        dataset.categorical.tolist(),
        sorted(dataset.levels.items()),
    ]
    digest = hashlib.sha256(json.dumps(head).encode())
    one_nan = np.where(np.isnan(dataset.data), np.nan, dataset.data)
    digest.update(np.ascontiguousarray(one_nan, dtype="<f8").tobytes())
    digest.update(np.ascontiguousarray(dataset.target, dtype="<i8").tobytes())
    return digest.hexdigest()


def _fetch(entry: Entry) -> Any:
    from sklearn import datasets

    return datasets.fetch_openml(
        entry.openml_name,
        version=entry.openml_version,
        data_home=str(cache_folder()),
        cache=True,
        as_frame=False,
        parser="liac-arff",
        n_retries=1,
    )


@contextlib.contextmanager
def _patience() -> Iterator[None]:
    """Bound how long a silent network is waited for, and do not chat about retries.

    `fetch_openml` takes no timeout, so the default of new sockets is set meanwhile.
    """
    before = socket.getdefaulttimeout()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A network error occurred")
        socket.setdefaulttimeout(_TIMEOUT_SECONDS if before is None else before)
        try:
            yield
        finally:
            socket.setdefaulttimeout(before)


def _from_bunch(entry: Entry, bunch: Any) -> Dataset:
    data = bunch.data.toarray() if hasattr(bunch.data, "toarray") else bunch.data
    names = tuple(map(str, bunch.feature_names))
    levels = {
        str(column): tuple(map(str, order))
        for column, order in (bunch.categories or {}).items()
        if column in names
    }
    target, classes = _classes(bunch.target)
    return Dataset(
        name=entry.name,
        data=np.array(data, dtype=float),
        target=target,
        feature_names=names,
        target_names=classes,
        categorical=np.array([column in levels for column in names], dtype=bool),
        source="OpenML",
        description=(
            f"OpenML {entry.openml_name}, version {entry.openml_version}.\n\n"
            f"{bunch.DESCR}"
        ),
        levels=levels,
    )


def _classes(target: Any) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Code the classes as a folder would: numeric order, else alphabetical."""
    if target is None or np.ndim(target) != 1:
        raise ValueError("the set does not have exactly one target column")
    absent = np.array([value is None or value != value for value in target])
    texts = [
        str(int(value))
        if isinstance(value, float) and value.is_integer()
        else str(value)
        for value in target[~absent]
    ]
    classes = order_levels(texts)
    code = {name: position for position, name in enumerate(classes)}
    out = np.full(len(target), -1, dtype=np.int64)
    out[~absent] = [code[text] for text in texts]
    return out, classes


def _checksum_file(entry: Entry) -> Path:
    name = f"{entry.openml_name.lower()}-v{entry.openml_version}.sha256"
    return cache_folder() / "openml-checksums" / name


def _verify(entry: Entry, dataset: Dataset) -> None:
    path = _checksum_file(entry)
    found = checksum(dataset)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, found + "\n")
        return
    recorded = path.read_text(encoding="ascii", errors="replace").strip()
    if recorded != found:
        raise DatasetChangedError(
            f"OpenML {entry.openml_name} version {entry.openml_version}: the content "
            f"has sha256 {found}, but {recorded} was recorded in {path} when it was "
            f"first fetched. The cached copy is damaged, or the source changed. To "
            f"accept the new content, remove that file; to fetch anew, remove "
            f"{cache_folder() / 'openml'} too."
        )


def _compare_counts(entry: Entry, dataset: Dataset) -> None:
    known = (entry.n_samples, entry.n_features, entry.n_classes)
    found = (*dataset.data.shape, len(dataset.target_names))
    if any(k is not None and k != f for k, f in zip(known, found, strict=True)):
        warnings.warn(
            f"OpenML's {entry.openml_name} version {entry.openml_version} has "
            "{} samples, {} features and {} classes; ".format(*found)
            + "the copy in the catalogue has {}, {} and {}. ".format(*known)
            + "Numbers of the papers' tables may not be comparable.",
            DatasetShapeWarning,
            stacklevel=5,
        )
