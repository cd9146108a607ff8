"""Fitted models in files: written by skops, with the version that wrote them.

Unlike a pickle, such a file runs no code of its own when it is read: it may only name
types. Those of NumPy, SciPy and scikit-learn that skops trusts are taken, and the
classes that patchfold's models are made of. A file can ask for any name that is trusted
to be called, so ours are taken as objects whose attributes are filled in, never as
functions, and never as classes to be constructed.
"""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from ._files import check_growth, write_bytes
from ._homes import bring_here
from ._version import __version__

FORMAT = 1
"""Counts the ways in which fitted models were laid out. A version reads its own and
older ones."""

_NOTE = "patchfold.json"
_OURS = tuple(
    f"{__package__}.{part}"
    for part in (
        "_native",
        "_types",
        "cell_search",
        "estimators.",
        "on_demand",
        "patches",
        "posterior.",
        "solvers.",
        "span",
    )
)
"""Where the classes are that fitted models consist of."""

_SPARSE = ("csr_array", "csr_matrix")
_OTHER_COLUMNS = "sklearn.compose._column_transformer._RemainderColsList"
"""A list in which scikit-learn 1.6 has the columns that an encoder leaves out."""


class ModelFileError(ValueError):
    """A file that cannot be read as a fitted model; the message says why."""


def save_model(model: Any, path: str | os.PathLike[str], **about: Any) -> None:
    """Write a fitted estimator or pipeline to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        One of patchfold or scikit-learn, or a `Pipeline` of them. What is on a device
        is written as NumPy arrays.
    path : path-like
        The file; by custom it ends in .skops.
    **about
        What else to write down, as JSON; `about_model` reads it.

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
    buffer = io.BytesIO(_skops().dumps(bring_here(model)))
    note = {"format": FORMAT, "version": __version__, **about}
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(_NOTE, json.dumps(note))
    write_bytes(Path(path), buffer.getvalue())


def load_model(path: str | os.PathLike[str], *, trusted: Iterable[str] = ()) -> Any:
    """Read a model that `save_model` wrote.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : iterable of str
        Full names of types from elsewhere that the file may use, such as a callable
        dissimilarity of your own.

    Returns
    -------
    estimator
        Fitted.

    Raises
    ------
    ModelFileError
        If it is no such file, a newer version of patchfold wrote it, or it names types
        that are not trusted.
    """
    data = _content(path)
    _read_note(path, data)
    skops = _skops()
    try:
        found = skops.get_untrusted_types(data=data)
        called = set(_called(_check_parts(data)))
    except Exception as error:  # skops, zipfile and json raise anything on nonsense
        raise _damaged(path) from error
    names = {name for name in found if name in called or not _is_ours(name)}
    unknown = sorted(names - set(trusted))
    if unknown:
        raise ModelFileError(
            f"{path} uses types that patchfold does not know: {', '.join(unknown)}. If "
            "you know where the file comes from, name them in `trusted`."
        )
    try:
        return skops.loads(data, trusted=found)
    except (ImportError, AttributeError) as error:
        raise ModelFileError(
            f"{path} cannot be read by patchfold {__version__}: {error}."
        ) from error
    except Exception as error:
        raise _damaged(path) from error


def _is_ours(name: str) -> bool:
    """Say whether a name is that of a class that models are made of.

    Only modules that are loaded are looked at: a file cannot have others imported.
    """
    import scipy.sparse

    sparse = {_full_name(getattr(scipy.sparse, word)) for word in _SPARSE}
    if name in {*sparse, _OTHER_COLUMNS}:
        return True
    module, _, last = name.rpartition(".")
    if not module.startswith(_OURS):
        return False
    import_module(f"{__package__}.estimators")  # and with them all their parts
    kind = getattr(sys.modules.get(module), last, None)
    return isinstance(kind, type) and _full_name(kind) == name


def _check_parts(data: bytes) -> Any:
    """Return the schema of a file; refuse sparse matrices that grow beyond reason."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for part in archive.infolist():
            if part.filename.endswith(".npz"):
                with zipfile.ZipFile(io.BytesIO(archive.read(part))) as arrays:
                    grown = sum(inner.file_size for inner in arrays.infolist())
                check_growth(part.file_size, grown, "make it again")
        return json.loads(archive.read("schema.json"))


def _called(schema: Any) -> Iterator[str]:
    """Yield our names that a schema wants called, rather than filled in."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            module, kind = str(node.get("__module__")), node.get("__loader__")
            if module.split(".")[0] == __package__ and kind != "ObjectNode":
                yield f"{module}.{node.get('__class__')}"


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
    return _read_note(path, _content(path))


def _content(path: str | os.PathLike[str]) -> bytes:
    if Path(path).exists() and not Path(path).is_file():
        raise ModelFileError(f"{path} is not a file.")
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise ModelFileError(f"{path} does not exist.") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from None


def _read_note(path: str | os.PathLike[str], data: bytes) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
            # Ours are stored as they are: nothing may grow when it is read.
            if sum(part.file_size for part in parts) > len(data):
                raise zipfile.BadZipFile("compressed")
            note = json.loads(archive.read(_NOTE))
        written, version = int(note["format"]), _release(note["version"])
    except Exception as error:
        raise _damaged(path) from error
    if written > FORMAT or version > _release(__version__):
        raise ModelFileError(
            f"{path} was written by patchfold {note['version']}, which is newer "
            f"than this one ({__version__}): update patchfold to read it."
        )
    return note


def _release(version: str) -> tuple[int, ...]:
    """Return major and minor number; what follows them changes no file."""
    return tuple(int(number) for number in version.split(".")[:2])


def _damaged(path: str | os.PathLike[str]) -> ModelFileError:
    return ModelFileError(
        f"{path} is not a model that patchfold saved, or it is damaged."
    )


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            'Model files need skops: pip install "patchfold[cli]".'
        ) from error
    return skops.io
