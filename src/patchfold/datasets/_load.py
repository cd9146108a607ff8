"""`load` and `catalogue`: which source gives a dataset, asked in a fixed order."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from . import _bundled, _folder, _openml, _registry, _rules
from ._record import Dataset, DatasetUnavailableError


@dataclass(frozen=True)
class CatalogueRow:
    """What is known of a dataset before it is loaded.

    Parameters
    ----------
    name : str
        The name for `load`.
    n_samples, n_features, n_classes : int or None
        None where no copy was at hand to count.
    tables : tuple of str
        The papers' tables that use it, as "ELAP-T1"; empty for a set of your own.
    source : str
        Where `load` would take it from: "folder", "rule", "scikit-learn", "OpenML
        cache", "OpenML" (needs the network) or "no data".
    openml : str
        OpenML name and version, as "kc1 v1"; empty where there is none.
    """

    name: str
    n_samples: int | None
    n_features: int | None
    n_classes: int | None
    tables: tuple[str, ...]
    source: str
    openml: str


def load(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
) -> Dataset:
    """Load a dataset of the papers, or one of your own, by name.

    The sources are asked in this order, and the first that has the set gives it:

    1. a folder: `data_home`, else the one the environment variable PATCHFOLD_DATA
       names. A file there wins over every other source, so your copy is used;
    2. a rule, for parity5, mux6, monks-problems-1, tic-tac-toe, balance-scale and
       corral: the rows of the papers' copies, in their order;
    3. scikit-learn, for iris, wine and digits;
    4. OpenML, by the version the papers used, kept in a cache on disk
       (PATCHFOLD_CACHE, else the user's cache folder) and verified by checksum.

    Parameters
    ----------
    name : str
        A name of `catalogue`, in any case, or that of a file in the folder.
    data_home : path-like, default=None
        A folder with NAME.csv.gz or NAME.csv, last column `target`, and optionally
        `index.csv` and `categories.json`. Replaces PATCHFOLD_DATA.
    download : bool, default=True
        Whether the network may be used. A set already in the cache needs none.

    Returns
    -------
    Dataset
        Categories as codes in the order of their levels, numbers as they are,
        **missing cells as NaN**; `Dataset.filled` codes them as the papers did.
        Nothing is scaled: the papers z-score every column next.

    Raises
    ------
    ValueError
        If the name could leave the folder, or a file contradicts its description.
    FileNotFoundError
        If `data_home` is not a folder.
    DatasetUnavailableError
        If no source has the set.

    Examples
    --------
    >>> from patchfold.datasets import load
    >>> board = load("tic-tac-toe")
    >>> board.data.shape, board.target_names
    ((958, 9), ('negative', 'positive'))
    >>> load("Iris").target_names
    ('setosa', 'versicolor', 'virginica')
    """
    entry = _registry.find(_registry.check_name(name))
    folder = _data_folder(data_home)
    canonical = name if entry is None else entry.name
    if folder is not None and folder.is_dir():
        for candidate in dict.fromkeys((name, canonical)):
            found = _folder.read(folder, candidate)
            if found is not None:
                return found
    found = _rules.generate(canonical) or _bundled.read(canonical)
    if found is not None:
        return found
    return _from_openml(name, entry, folder, download)


def catalogue(*, data_home: str | os.PathLike[str] | None = None) -> list[CatalogueRow]:
    """List every set the papers name, and those of your folder, without loading any.

    Parameters
    ----------
    data_home : path-like, default=None
        As in `load`.

    Returns
    -------
    list of CatalogueRow
        The papers' sets by name, then other sets of the folder.

    Examples
    --------
    >>> from patchfold.datasets import catalogue
    >>> rows = {row.name: row for row in catalogue()}
    >>> rows["parity5"].n_samples, rows["parity5"].tables
    (32, ('ELAP-T1', 'ELAP-T2', 'PELLE-T1'))
    >>> rows["kc3"].openml
    'kc3 v1'
    """
    folder = _data_folder(data_home)
    in_folder = set()
    if folder is not None and folder.is_dir():
        in_folder = set(_folder.names_in(folder))
    rows = []
    for entry in _registry.entries():
        version = f"{entry.openml_name} v{entry.openml_version}"
        rows.append(
            CatalogueRow(
                name=entry.name,
                n_samples=entry.n_samples,
                n_features=entry.n_features,
                n_classes=entry.n_classes,
                tables=entry.tables,
                source="folder" if entry.name in in_folder else _source(entry),
                openml=version if entry.openml_name else "",
            )
        )
    others = sorted(in_folder - {entry.name for entry in _registry.entries()})
    rows += [CatalogueRow(n, None, None, None, (), "folder", "") for n in others]
    return rows


def _source(entry: _registry.Entry) -> str:
    if entry.builtin:
        return entry.builtin
    if not entry.openml_name:
        return "no data"
    return "OpenML cache" if _openml.is_cached(entry) else "OpenML"


def _data_folder(data_home: str | os.PathLike[str] | None) -> Path | None:
    if data_home is not None:
        folder = Path(data_home).expanduser()
        if not folder.is_dir():
            raise FileNotFoundError(f"data_home is not a folder: {folder}")
        return folder
    named = os.environ.get("PATCHFOLD_DATA")
    return Path(named).expanduser() if named else None


def _from_openml(
    name: str, entry: _registry.Entry | None, folder: Path | None, download: bool
) -> Dataset:
    if entry is None:
        guesses = _registry.similar(name)
        hint = f"; did you mean {' or '.join(guesses)}?" if guesses else ""
        reason = f"it is not in the catalogue{hint}"
    elif not entry.openml_name:
        reason = "no OpenML version of it is known"
    elif not download and not _openml.is_cached(entry):
        reason = "it is not in the cache and download=False"
    else:
        try:
            return _openml.read(entry)
        except _openml.FetchError as error:
            raise DatasetUnavailableError(
                _unavailable(name, entry, folder, f"the fetch failed ({error})")
            ) from error
    raise DatasetUnavailableError(_unavailable(name, entry, folder, reason))


def _unavailable(
    name: str, entry: _registry.Entry | None, folder: Path | None, reason: str
) -> str:
    """Say in one line what was tried and the three ways to supply the set."""
    file = entry.name if entry is not None else name
    if folder is None:
        state = "not set now"
    elif folder.is_dir():
        state = f"no such file in {folder} now"
    else:
        state = f"{folder} is not a folder now"
    if entry is not None and entry.openml_name:
        remote = f"{entry.openml_name} version {entry.openml_version}"
    else:
        remote = "only for sets the catalogue gives an OpenML version"
    return (
        f"dataset {name!r} cannot be had. Three ways to supply it: "
        f"(1) set PATCHFOLD_DATA to a folder with {file}.csv or {file}.csv.gz, last "
        f"column 'target' ({state}); "
        f"(2) pass such a folder as data_home=...; "
        f"(3) fetch it from OpenML, {remote}, with a network connection or a filled "
        f"PATCHFOLD_CACHE ({reason})."
    )
