"""Fitted models in files: written by skops, with the version that wrote them.

Unlike a pickle, such a file runs no code of its own when it is read: it may only name
types, and only those that patchfold's own files have (`schema.py`). What it holds of a
model is checked as a whole, shapes and ranges against each other, and the rest is
computed again (`estimators/stored`, `encoders.py`).
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from sklearn import __version__ as _sklearn_version
from sklearn.base import BaseEstimator

from ... import estimators
from ...backends.files import write_bytes
from ...backends.version import __version__
from ...estimators.stored.model import FITTED, StoredModel, saving
from ...estimators.stored.rules import FittedError
from .archive import read_parts
from .encoders import ENCODERS, LEFT_OUT, pack, remake
from .format_1 import OLD_ATTRIBUTES, OLD_NAMES, RECORD_ATTRIBUTES, mark_stages, upgrade
from .schema import Cleaner, Node, objects_in, value_node

FORMAT = 2
"""Counts the ways in which fitted models were laid out. A version reads its own and
older ones.

1: all attributes of a fit, as objects.
2: parameters and the attributes of `_fitted_rules`; what follows from them is computed
   again.
"""

_ESTIMATORS: tuple[type[StoredModel], ...] = tuple(
    getattr(estimators, name) for name in estimators.__all__
)
_LONGEST = 1000
"""Most letters of a reason in an error message."""

_VERSION = r"\d{1,9}\.\d{1,9}(\.[\w.+-]{0,40})?"
_NOTE, _SCHEMA = "patchfold.json", "schema.json"
_PROTOCOL = 2
"""The oldest layout of skops that patchfold has written."""


class ModelFileError(ValueError):
    """A file that cannot be read as a fitted model; one line says why."""

    def __init__(self, message: str) -> None:
        super().__init__(_one_line(message))


def save_model(model: Any, path: str | os.PathLike[str], **about: Any) -> None:
    """Write a fitted estimator or pipeline to a file, completely or not at all.

    Parameters
    ----------
    model : estimator
        One of patchfold or scikit-learn, or a `Pipeline` of them. Tensors on a device
        are written as NumPy arrays.
    path : path-like
        The file; by custom it ends in .skops.
    **about
        Further notes to write, as JSON; `about_model` reads them.

    Raises
    ------
    ValueError
        If it is not fitted, or `load_model` would not read it: encoders may have the
        options that are listed in docs/model_files.md.

    Examples
    --------
    >>> import tempfile, patchfold as pf
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = pf.isomap_kl().fit(X[::2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pf.save_model(model, f"{folder}/iris.skops")
    ...     again = pf.load_model(f"{folder}/iris.skops")
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    with saving():
        parts = read_parts(_skops().dumps(pack(model)))
    schema = json.loads(parts.pop(_SCHEMA))
    cleaner = Cleaner(parts, _classes(FORMAT, ()), {})
    note = {"format": FORMAT, "version": __version__, **about}
    try:
        content = _archive(schema, cleaner, parts, note)
        parts.clear()  # it takes memory, and is in the content
        foreign = _foreign_names(content, cleaner)
        _build(content, cleaner.known | foreign, foreign, FORMAT, whole=False)
    except FittedError as error:
        raise ValueError(
            f"no model file can hold this {type(model).__name__}: {error}. "
            "docs/model_files.md lists what it may be made of."
        ) from error
    write_bytes(Path(path), content)


def load_model(path: str | os.PathLike[str], *, trusted: Iterable[str] = ()) -> Any:
    """Read a model that `save_model` wrote.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : iterable of str
        Full names of types from elsewhere that the file may use: a callable
        dissimilarity of your own, or other estimators of scikit-learn in a pipeline.
        Their content is not checked: name them only if you know where the file comes
        from.

    Returns
    -------
    estimator
        Fitted.

    Raises
    ------
    ModelFileError
        If it is not a model file, a newer version of patchfold wrote it, it names types
        that are not trusted, or its content is no valid model.

    Notes
    -----
    Neighbours, patches and shortest paths are not in the file: they are computed again,
    which takes as long as these stages of `fit`. A neighbour search of your own (a KNN
    transformer) is fitted again too: give it a `random_state`.
    """
    parts, note = _open(path)
    trusted = frozenset(trusted)
    moved: dict[str, str] = {}
    _skops()  # where it is missing, that is no fault of the file
    try:
        schema = json.loads(parts.pop(_SCHEMA))
        if note["format"] == 1:
            moved = OLD_NAMES
            mark_stages(schema)
        cleaner = Cleaner(parts, _classes(note["format"], trusted), moved)
        data = _archive(schema, cleaner, parts)
        foreign = _foreign_names(data, cleaner)
        if foreign <= trusted:
            return _build(data, cleaner.known | foreign, trusted, note["format"])
    except FittedError as error:
        raise _damaged(path, str(error)) from error
    except Exception as error:  # skops and json raise anything on nonsense
        raise _damaged(path, f"{type(error).__name__}: {error}") from error
    unknown = _shortened(", ".join(sorted(foreign - trusted)))
    raise ModelFileError(
        f"{path} uses types that patchfold does not know: {unknown}. If you know where "
        "the file comes from, name them in `trusted`."
    )


def _foreign_names(data: bytes, cleaner: Cleaner) -> set[str]:
    """Return names that only the user can allow; skops makes up some of methods."""
    if not cleaner.foreign:
        return set()
    found = set(_skops().get_untrusted_types(data=data))
    return cleaner.foreign | (found - cleaner.known)


def _build(
    data: bytes,
    names: Collection[str],
    trusted: Collection[str],
    written: int,
    *,
    whole: bool = True,
) -> Any:
    """Build the objects of a schema that was made anew, check and complete them.

    Only types of these names are built. Objects of those that are `trusted` are taken
    as they are. Estimators of ours are only checked unless they shall be `whole`.
    """
    try:
        built = _skops().loads(data, trusted=sorted(names))
        model = _complete(built, trusted, written, whole)
    except FittedError:
        raise
    except RecursionError as error:
        raise FittedError("its parts are nested too deeply") from error
    except Exception as error:  # skops again
        raise FittedError(f"{type(error).__name__}: {error}") from error
    if not isinstance(model, BaseEstimator):
        raise FittedError(f"it holds a {type(model).__name__}, no estimator")
    return model


def _complete(value: Any, trusted: Collection[str], written: int, whole: bool) -> Any:
    """Return a value in which every estimator is checked and completed."""
    if isinstance(value, list | tuple):
        parts = [_complete(part, trusted, written, whole) for part in value]
        return parts if type(value) is list else tuple(parts)
    if type(value) is dict:
        return {key: _complete(value[key], trusted, written, whole) for key in value}
    if not isinstance(value, BaseEstimator):
        return value
    if isinstance(value, StoredModel):
        try:
            if written == 1:
                upgrade(value)
            value._complete(whole=whole)
        except FittedError as error:
            raise FittedError(f"{type(value).__name__}: {error}") from error
        return value
    for name, part in list(vars(value).items()):
        vars(value)[name] = _complete(part, trusted, written, whole)
    return value if _full_name(type(value)) in trusted else remake(value)


def _classes(written: int, trusted: Collection[str]) -> dict[str, Collection[str]]:
    """Return the classes of objects that a file may hold, and their attributes."""
    classes: dict[str, Collection[str]] = {**ENCODERS, LEFT_OUT: ()}
    for kind in _ESTIMATORS:
        fitted = {FITTED}
        if written == 1:
            fitted = {*kind._fitted_rules, *OLD_ATTRIBUTES}
        classes[_full_name(kind)] = {*kind._parameter_rules, *fitted}
    if written == 1:
        classes.update(dict.fromkeys(OLD_NAMES.values(), RECORD_ATTRIBUTES))
    return {name: classes[name] for name in classes if name not in trusted}


def _archive(
    schema: Any,
    cleaner: Cleaner,
    parts: dict[str, bytes],
    note: dict[str, Any] | None = None,
) -> bytes:
    """Return a file of a schema that is made anew, and the parts that it uses."""
    clean: Node = cleaner.clean(schema)
    protocol = schema.get("protocol")
    if type(protocol) is not int or protocol < _PROTOCOL:
        raise FittedError(f"{_SCHEMA} has the protocol {protocol!r}")
    for node in objects_in(clean):
        # What scikit-learn wrote is made again: its version does not matter.
        if f"{node['__module__']}.{node['__class__']}" in ENCODERS:
            attributes = node["content"]
            if "_sklearn_version" not in attributes["content"]:
                kinds = attributes["key_types"]["content"]
                attributes["key_types"]["content"] = [*kinds, kinds[0]]
                attributes["content"]["_sklearn_version"] = value_node(_sklearn_version)
    clean |= {"protocol": protocol, "_skops_version": schema.get("_skops_version")}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(cleaner.used):
            archive.writestr(name, parts[name])
        archive.writestr(_SCHEMA, json.dumps(clean, separators=(",", ":")))
        if note is not None:
            archive.writestr(_NOTE, json.dumps(note))
    return buffer.getvalue()


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def about_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what is written down beside a model, without loading it.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    dict
        "format", "version" and what `save_model` was given.

    Raises
    ------
    ModelFileError
        If it is no model file, or one of a newer version.
    """
    return _open(path)[1]


def _content(path: str | os.PathLike[str]) -> bytes:
    if Path(path).exists() and not Path(path).is_file():
        raise ModelFileError(f"{path} is not a file.")
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise ModelFileError(f"{path} does not exist.") from None
    except (OSError, MemoryError) as error:
        why = getattr(error, "strerror", "it is too large for the memory")
        raise ModelFileError(f"{path} cannot be read: {why}.") from None


def _open(
    path: str | os.PathLike[str],
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return the parts of a file, and what is written down in it."""
    data = _content(path)
    try:
        parts = read_parts(data)
        note = json.loads(parts.pop(_NOTE))
        written, version = _written_by(note)
    except FittedError as error:
        raise _damaged(path, str(error)) from error
    except Exception as error:  # zipfile and json raise anything on nonsense
        raise _damaged(path, f"{type(error).__name__}: {error}") from error
    if written > FORMAT or version > _release(__version__):
        raise ModelFileError(
            f"{path} was written by patchfold {note['version']}, which is newer "
            f"than this one ({__version__}): update patchfold to read it."
        )
    return parts, note


def _written_by(note: Any) -> tuple[int, tuple[int, ...]]:
    """Return format and version of what wrote a file."""
    if not isinstance(note, dict):
        raise FittedError(f"{_NOTE} must hold an object")
    if re.search("[\ud800-\udfff]", json.dumps(note, ensure_ascii=False)):
        raise FittedError(f"{_NOTE} has half a letter, which no text can hold")
    written, version = note.get("format"), note.get("version")
    if type(written) is not int or written < 1:
        raise FittedError(f"{_NOTE} has the format {str(written)[:20]!r}")
    if not isinstance(version, str) or not re.fullmatch(_VERSION, version):
        raise FittedError(f"{_NOTE} has the version {str(version)[:20]!r}")
    return written, _release(version)


def _release(version: str) -> tuple[int, ...]:
    """Return major and minor number; what follows them changes no file."""
    return tuple(int(number) for number in version.split(".")[:2])


def _one_line(words: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in words).split())


def _shortened(words: str) -> str:
    """Return words that a file may have chosen, of bounded length."""
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."


def _damaged(path: str | os.PathLike[str], why: str) -> ModelFileError:
    return ModelFileError(
        f"{path} is not a model that patchfold saved, or it is damaged: "
        f"{_shortened(why).rstrip('.')}."
    )


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            'Model files need skops: pip install "patchfold[cli]".'
        ) from error
    return skops.io
