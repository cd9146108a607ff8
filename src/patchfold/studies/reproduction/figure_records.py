"""What a figure of a paper shows, kept in one JSON file per figure.

A file is written whole or not at all, so a figure is either there or still to be made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...backends.files import write_text

FOLDER = "figures"
"""Where the files lie, in the folder of the results."""

DIGITS = 6
"""Significant digits of a kept coordinate: more than a picture can show."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One method in one figure.

    Attributes
    ----------
    method : str
        As in the tables, "ELAP".
    variant : str
        "equations", "released", or "" for a baseline.
    settings : str
        What else it hangs on: "K=2", "permuted labels".
    status : str
        "ok", or why there is nothing to see.
    points : array (n, 2)
        Where the samples are drawn.
    labels : array (n,) of int
        Position of each in `names`; of length 0 where they have none.
    names : list of str
        Classes, or the samples' own names.
    order : array (n,) of int
        The samples in the order of a 1-D embedding, which are then joined by a line;
        of length 0 for a 2-D embedding.
    facts : dict of str to float
        What was measured.
    printed : dict of str to float
        What the paper prints for some of the facts.
    note : str
        Warnings the run gave, in short.
    """

    method: str
    variant: str = ""
    settings: str = ""
    status: str = "ok"
    points: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    labels: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))
    names: list[str] = field(default_factory=list)
    order: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))
    facts: dict[str, float] = field(default_factory=dict)
    printed: dict[str, float] = field(default_factory=dict)
    note: str = ""

    @property
    def title(self) -> str:
        """The method, and its variant if it has one."""
        return f"{self.method} ({self.variant})" if self.variant else self.method


@dataclass(frozen=True, eq=False)
class FigureRecord:
    """A figure: its panels, or the reason why there are none.

    Attributes
    ----------
    name : str
        A name of `figures.FIGURES`.
    status : str
        "ok" or "no data".
    panels : tuple of Panel
        In reading order.
    version : str
        Version of patchfold that made it.
    """

    name: str
    status: str
    panels: tuple[Panel, ...] = ()
    version: str = ""


def write_figure(record: FigureRecord, folder: Path) -> None:
    """Keep a figure in `folder`/figures/NAME.json.

    Parameters
    ----------
    record : FigureRecord
        The figure.
    folder : Path
        Where the results are.
    """
    content = {
        "name": record.name,
        "status": record.status,
        "version": record.version,
        "panels": [_as_json(panel) for panel in record.panels],
    }
    path = figure_path(folder, record.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(content, ensure_ascii=False) + "\n")


def read_figure(folder: Path, name: str) -> FigureRecord | None:
    """Read a figure back, or return None if it has not been made.

    Parameters
    ----------
    folder : Path
        Where the results are.
    name : str
        The figure.

    Returns
    -------
    FigureRecord or None
    """
    path = figure_path(folder, name)
    if not path.exists():
        return None
    content = json.loads(path.read_text(encoding="utf-8"))
    panels = tuple(_from_json(panel) for panel in content["panels"])
    return FigureRecord(content["name"], content["status"], panels, content["version"])


def figure_path(folder: Path, name: str, suffix: str = ".json") -> Path:
    """Return where a figure's record, or its picture, is kept."""
    return folder / FOLDER / f"{name}{suffix}"


def _as_json(panel: Panel) -> dict[str, Any]:
    points = [[float(f"{v:.{DIGITS}g}") for v in point] for point in panel.points]
    arrays = {"labels": panel.labels.tolist(), "order": panel.order.tolist()}
    return {**vars(panel), "points": points, **arrays}


def _from_json(content: dict[str, Any]) -> Panel:
    arrays = {
        "points": np.array(content["points"], dtype=float).reshape(-1, 2),
        "labels": np.array(content["labels"], dtype=int),
        "order": np.array(content["order"], dtype=int),
    }
    return Panel(**{**content, **arrays})
