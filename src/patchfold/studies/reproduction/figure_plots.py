"""A figure's record -> its picture and its caption, and nothing else is looked at."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting import check_matplotlib, plot_embedding, plot_order
from .figure_records import FigureRecord, Panel
from .figures import FIGURES
from .papers import PAPERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

WIDTHS = {1: 5.0, 2: 4.6, 3: 3.9}
"""Inches of a panel by the number of panels in a row; of more, each gets 3.4."""

DPI = 120
FACTS = {
    "silhouette": "silhouette",
    "accuracy_1nn": "1-NN",
    "mean_accuracy_4": "accuracy",
}
"""How the scores of classes are called in a picture."""

MEANING = {
    "accuracy_1nn": (
        "1-NN is the share of samples whose nearest neighbour in the picture is of "
        "their class."
    ),
    "mean_accuracy_4": "Accuracy is the mean of 4 classifiers on the test half.",
    "inversions": "Inversions are pairs of points in the wrong order.",
}


def figure_title(record: FigureRecord) -> str:
    """Return which figure of which paper this is."""
    figure = FIGURES[record.name]
    label = PAPERS[figure.paper].own[0]
    return f"{label} figure {figure.number}: {figure.subject}"


@dataclass(frozen=True)
class Caption:
    """What a figure's paper claims, how ours was made, and what each panel shows."""

    claim: str
    how: str
    found: tuple[str, ...]


def caption(record: FigureRecord) -> Caption:
    """Say how a figure was made, what its paper claims, and what ours shows.

    Parameters
    ----------
    record : FigureRecord
        The figure.

    Returns
    -------
    Caption
        Every number in it is of the record.
    """
    figure = FIGURES[record.name]
    how = [f"{figure.protocol[:1].upper()}{figure.protocol[1:]}."]
    if record.status != "ok":
        return Caption(figure.claim, how[0], (f"Ours: {record.status}.",))
    # A stable sort: curves and cities, which have no silhouette, keep their order.
    panels = sorted(record.panels, key=lambda p: -p.facts.get("silhouette", np.inf))
    how += [
        words
        for fact, words in MEANING.items()
        if any(fact in panel.facts for panel in panels)
    ]
    if any(panel.printed for panel in panels):
        how.append("In brackets, what the paper's table prints.")
    found = tuple(f"{_name(panel)}: {_facts(panel, ', ')}" for panel in panels)
    return Caption(figure.claim, " ".join(how), found)


def _name(panel: Panel) -> str:
    return f"{panel.title}, {panel.settings}" if panel.settings else panel.title


def _facts(panel: Panel, gap: str) -> str:
    """Write what was measured in a panel, with the printed numbers in brackets."""
    if panel.status != "ok":
        return panel.status
    texts = []
    for fact, value in panel.facts.items():
        if fact == "kilometres":
            first, last = _ends(panel)
            texts.append(f"{value:,.0f} km from {first} to {last}")
        elif fact == "inversions":
            texts.append(f"{value:.0f} inversions")
        else:
            printed = panel.printed.get(fact)
            beside = "" if printed is None else f" [{printed:.3f}]"
            texts.append(f"{FACTS[fact]} {value:.3f}{beside}")
    return gap.join(texts)


def _ends(panel: Panel) -> tuple[str, str]:
    first, last = (panel.names[panel.labels[panel.order[i]]] for i in (0, -1))
    return first, last


def draw_figure(record: FigureRecord) -> Picture:
    """Draw a figure.

    Parameters
    ----------
    record : FigureRecord
        With the status "ok".

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    check_matplotlib()
    from matplotlib.figure import Figure as Picture

    columns = min(FIGURES[record.name].columns, len(record.panels))
    rows = -(-len(record.panels) // columns)
    width = WIDTHS.get(columns, 3.4)
    size = (columns * width, rows * (width * _flatness(record) + 0.5) + 0.7)
    picture = Picture(figsize=size, dpi=DPI, facecolor="white", layout="constrained")
    grid = picture.subplots(rows, columns, squeeze=False)
    for ax in grid.flat[len(record.panels) :]:
        ax.axis("off")
    for ax, panel in zip(grid.flat, record.panels, strict=False):
        _draw_panel(ax, panel, width)
    picture.suptitle(figure_title(record), x=0.01, ha="left", size=14, weight="bold")
    _add_legend(picture, grid.flat[0], columns)
    return picture


def _flatness(record: FigureRecord) -> float:
    """Return the height of a panel in units of its width; a map is not square."""
    maps = [np.ptp(p.points, axis=0) for p in record.panels if p.order.size]
    flat = [height / width for width, height in maps if width > height]
    return max(min(flat), 0.5) if len(flat) == len(record.panels) else 0.85


def as_png(picture: Picture) -> bytes:
    """Return a picture as the bytes of a PNG file."""
    buffer = io.BytesIO()
    picture.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _draw_panel(ax: Axes, panel: Panel, width: float) -> None:
    """Draw one panel, with what was measured above it."""
    if panel.status != "ok":
        ax.set(xticks=[], yticks=[])
        ax.text(0.5, 0.5, panel.status, ha="center", va="center", wrap=True, size=9)
    elif panel.order.size:
        ends = _ends(panel) if panel.names else None
        plot_order(panel.points, panel.order, ends=ends, ax=ax)
    else:
        names = [panel.names[c] for c in np.unique(panel.labels)]
        plot_embedding(
            panel.points,
            panel.labels,
            class_names=names,
            legend=False,
            zoom=True,
            size=float(np.clip(2800 * width / len(panel.points), 4.5, 45)),
            ax=ax,
        )
    ax.set_title(panel.title, loc="left", size=11, weight="bold", pad=19)
    ax.set_title(panel.settings, loc="right", size=9, color="#666666", pad=19)
    above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
    if panel.status == "ok":
        text = _facts(panel, "   ")
        ax.annotate(
            text, (0, 1), (0, 6), size=8.5, color="#333333", **above
        ).set_in_layout(False)


def _add_legend(picture: Picture, ax: Axes, columns: int) -> None:
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        picture.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=min(len(labels), 6 * columns),
            frameon=False,
            markerscale=1.8,
            handletextpad=0.1,
            columnspacing=1.2,
        )
