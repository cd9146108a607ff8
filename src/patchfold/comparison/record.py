"""What was measured and of what: the record a report is made from."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..backends.environment import describe_speed, installed_version, require_packages
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
    "openTSNE",
)
"""Whose versions a record has, beside Python's."""

NEEDED = ("pandas",)
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
        Folds; each part is held out once.
    versions : dict of str to str
        Of Python and the packages.
    command : str
        What repeats it.
    n_given : int
        Rows of the table as it was given; 0 if that is not known.
    target : str
        Name of the target, or "".
    values : array (n,) or None
        The target, if it is a measurement.
    groups : array of int (n,) or None
        Groups that HDBSCAN found, as positions in `group_names`.
    group_names : list of str
        Names of the groups.
    distances : array (n,) or None
        Distance of every sample to its tenth neighbour in the encoded columns.
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
    n_given: int = 0
    target: str = ""
    values: np.ndarray | None = None
    groups: np.ndarray | None = None
    group_names: list[str] = field(default_factory=list)
    distances: np.ndarray | None = None

    @property
    def task(self) -> str:
        """What the target is: "classes", "numbers", or "none"."""
        if self.labels is not None:
            return "classes"
        return "none" if self.values is None else "numbers"

    @property
    def embeddings(self) -> dict[str, np.ndarray]:
        """Coordinates of every sample, by the method's name."""
        return {
            r.name: r.embedding
            for r in self.results
            if r.embedding is not None and r.kind != "control"
        }

    def ranked(self) -> list[Result]:
        """Return the methods, the best first; those without a score come last."""
        own = [r for r in self.results if r.kind not in ("reference", "control")]
        return sorted(own, key=lambda r: -np.nan_to_num(r.primary, nan=-np.inf))


def check_installed() -> None:
    """Raise ImportError, with the extra to install, where a comparison cannot run."""
    require_packages("compare", NEEDED)


def installed_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages, and what decides the speed."""
    found = {name: installed_version(name) for name in PACKAGES}
    return {
        "Python": platform.python_version(),
        **{name: version for name, version in found.items() if version},
        **describe_speed(),
    }
