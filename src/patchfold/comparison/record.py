"""What was measured and of what: the record a report is made from."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from ..backends.environment import describe_speed, installed_version
from .scoring import Result

if TYPE_CHECKING:
    import pandas as pd

PACKAGES = (
    "patchfold",
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "plotly",
    "umap-learn",
)
"""Whose versions a record has, beside Python's."""

NEEDED = ("pandas", "plotly")
"""Packages of the extra `cli` without which nothing can be compared."""


@dataclass(frozen=True, repr=False)
class Findings:
    """Every method's scores and pictures of one table.

    Attributes
    ----------
    name : str
        What was compared on.
    results : list of Result
        One for each method that was run, then the references and controls.
    labels : array of int (n,) or None
        Class of every sample that was used, as a position in `class_names`.
    class_names : list of str
        Names of the classes.
    ids : list of str
        Names of the samples that were used.
    frame : pandas.DataFrame
        Their columns, as they were.
    columns : list of (str, str, str)
        Each column: its name, what it is, what was done to it.
    remarks : list of str
        What else a reader has to know.
    n_splits : int
        Parts that were held out one after the other; 0 without classes.
    versions : dict of str to str
        Of Python and the packages.
    command : str
        What repeats it.
    """

    name: str
    results: list[Result]
    labels: np.ndarray | None
    class_names: list[str]
    ids: list[str]
    frame: pd.DataFrame
    columns: list[tuple[str, str, str]]
    remarks: list[str]
    n_splits: int
    versions: dict[str, str]
    command: str

    @property
    def embeddings(self) -> dict[str, np.ndarray]:
        """Coordinates of every sample, by the method's name."""
        return {
            r.name: r.embedding
            for r in self.results
            if r.embedding is not None and r.kind != "control"
        }


def check_installed() -> None:
    """Raise ImportError, with the extra to install, where a comparison cannot run."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ImportError(
            f'compare needs {" and ".join(missing)}: pip install "patchfold[cli]".'
        )


def installed_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages, and what decides the speed."""
    found = {name: installed_version(name) for name in PACKAGES}
    return {
        "Python": platform.python_version(),
        **{name: version for name, version in found.items() if version},
        **describe_speed(),
    }
