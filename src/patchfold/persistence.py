"""Fitted models in files: written by skops, with the version that wrote them.

Unlike a pickle, such a file runs no code of its own when it is read: it may only name
types, and only those of NumPy, SciPy, scikit-learn and patchfold are taken.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ._files import write_bytes
from ._version import __version__

FORMAT = 1
"""Counts the ways in which fitted models were laid out. A version reads its own and
older ones."""

_NOTE = "patchfold.json"
_OURS = ("patchfold.", "scipy.sparse.")


class ModelFileError(ValueError):
    """A file that cannot be read as a fitted model; the message says why."""


def save_model(model: Any, path: str | os.PathLike[str], **about: Any) -> None:
    """Write a fitted estimator or pipeline to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        One of patchfold or scikit-learn, or a `Pipeline` of them.
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
    buffer = io.BytesIO(_skops().dumps(model))
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
    about_model(path)
    data = Path(path).read_bytes()
    skops = _skops()
    found = skops.get_untrusted_types(data=data)
    unknown = sorted(
        name for name in set(found) - set(trusted) if not name.startswith(_OURS)
    )
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
        If it is no model file, or one of a newer format.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            note = json.loads(archive.read(_NOTE))
        written = int(note["format"])
    except FileNotFoundError:
        raise ModelFileError(f"{path} does not exist.") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from None
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError) as error:
        raise ModelFileError(
            f"{path} is not a model that patchfold saved, or it is damaged."
        ) from error
    if written > FORMAT:
        raise ModelFileError(
            f"{path} was written by patchfold {note.get('version')}, which is newer "
            f"than this one ({__version__}): update patchfold to read it."
        )
    return note


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            'Model files need skops: pip install "patchfold[cli]".'
        ) from error
    return skops.io
