"""What the pictures share: colours, the frame, and the check of what is drawn."""

from __future__ import annotations

from collections import Counter
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.backend import NUMPY
from ..graph.labels import sortable_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#4D4D4D",
    "#882255",
    "#999933",
    "#332288",
    "#7A4B1E",
)
"""The first seven can be told apart with any common colour blindness (after Okabe and
Ito), the others by their markers."""

MARKERS = {
    "o": 1.0,
    "^": 1.1,
    "s": 0.85,
    "D": 0.7,
    "v": 1.1,
    "P": 1.15,
    "X": 1.15,
    "*": 1.7,
}
"""Marker shapes, each with the area that makes it look as large as a disc."""

MAX_CLASSES = len(COLORS) * len(MARKERS)
"""Most classes that look different: 11 and 8 have no common divisor."""

SHADES = (0.0, -0.5, 0.5, -0.2, 0.2, -0.35, 0.35, -0.65)
"""How far the colours of each further round of classes go to black, or to white.

Any two of the 88 colours, and grey, are .06 apart in RGB or more.
"""

FEW_NUMBERS = 10
"""Fractions with more distinct values than this are measurements."""

GREY = "#B8B8B8"

WIDTH = 5.5
"""Width of a new figure, in inches."""

LEGEND_SIZE = 30.0
"""Least area of a mark in a legend, in points²."""

MANY_NAMES = 12
"""Most names of a legend within the panel; more stand beside it."""

LINE_HEIGHT = 0.16
"""Height of a line of the legend beside the panel, in inches."""

SHAPES = 0.5, 1.2
"""Its height, at least and at most, in units of the width."""


def coordinates_of(source: Any) -> Any:
    """Return the embedding of a fitted model, anything else as it is."""
    found = getattr(source, "embedding_", None)
    if found is None and hasattr(source, "fit"):
        raise ValueError(
            f"{type(source).__name__} has no embedding_: fit it first, or pass "
            "coordinates."
        )
    return source if found is None else NUMPY.bring(found)


def check_points(
    table: Any, components: tuple[int, ...], *, name: str = "embedding", most: int = 2
) -> np.ndarray:
    """Return two columns of a table, or up to `most`; errors call it by `name`."""
    try:
        table = np.asarray(table, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a table of numbers: {error}.") from error
    if table.ndim != 2 or table.shape[0] == 0 or table.shape[1] < 2:
        remedy = ": embed with n_components=2" if name == "embedding" else ""
        raise ValueError(
            f"{name} must have one row per sample and two columns or more. Got shape "
            f"{table.shape} instead{remedy}."
        )
    shown = list(components) if np.iterable(components) else [components]
    if not 2 <= len(shown) <= most or not all(
        isinstance(c, Integral) and -table.shape[1] <= c < table.shape[1] for c in shown
    ):
        raise ValueError(
            f"components must name two{' or three' if most > 2 else ''} of the "
            f"{table.shape[1]} columns of {name}. Got "
            f"{components!r} instead."
        )
    points = table[:, shown]
    if not np.isfinite(points).all():
        bad = int((~np.isfinite(points).all(axis=1)).sum())
        raise ValueError(f"{name} has {bad} rows with numbers that are not finite.")
    return points


def is_measurement(labels: Any) -> bool:
    """Say whether labels are numbers on a scale, and not classes."""
    values = np.asarray(labels)
    if values.dtype.kind not in "iuf" or values.ndim != 1:
        return False
    known = values[np.isfinite(values)]
    whole = bool((known == np.floor(known)).all())
    return np.unique(known).size > (MAX_CLASSES if whole else FEW_NUMBERS)


def group_classes(
    labels: Any, class_names: Any, n_samples: int, *, name: str = "embedding"
) -> list[tuple[np.ndarray, str | None, str, str]]:
    """Return rows, name, colour and marker of every class, in drawing order.

    Errors call the table of the samples by `name`.
    """
    if labels is None:
        return [(np.arange(n_samples), None, COLORS[0], "o")]
    labels = np.asarray(labels)
    if labels.shape != (n_samples,):
        raise ValueError(
            f"labels must have one entry for each of the {n_samples} rows of {name}. "
            f"Got shape {labels.shape} instead."
        )
    labels, unlabelled = sortable_labels(labels, "labels")
    classes = np.unique(labels[~unlabelled])
    if len(classes) > MAX_CLASSES:
        raise ValueError(
            f"labels has {len(classes)} distinct values, and at most {MAX_CLASSES} can "
            "be told apart in a picture: group them, or leave labels out."
        )
    names = list(map(str, classes if class_names is None else class_names))
    if len(names) != len(classes):
        raise ValueError(
            f"class_names must name the {len(classes)} classes of labels. Got "
            f"{len(names)} names instead."
        )
    markers = list(MARKERS)
    groups: list[tuple[np.ndarray, str | None, str, str]] = [
        (
            np.flatnonzero(labels == value),
            names[c],
            COLORS[c % len(COLORS)],
            markers[c % len(markers)],
        )
        for c, value in enumerate(classes)
    ]
    if unlabelled.any():
        groups.insert(0, (np.flatnonzero(unlabelled), "unlabelled", GREY, "o"))
    return groups


def shade_classes(groups: list[Any]) -> list[Any]:
    """Return rows, name, colour and marker of every class, each colour only once.

    For pictures without markers, which tell classes of one colour apart elsewhere.
    """
    rounds: Counter[str] = Counter()
    shaded = []
    for rows, name, color, _ in groups:
        share = SHADES[rounds[color]]
        rounds[color] += 1
        rgb = np.frombuffer(bytes.fromhex(color[1:]), dtype=np.uint8)
        mixed = np.rint((1 - abs(share)) * rgb + 255 * max(share, 0.0))
        shaded.append((rows, name, f"#{mixed.astype(np.uint8).tobytes().hex()}", "s"))
    return shaded


def check_matplotlib() -> None:
    """Raise an ImportError that says how to get matplotlib, if it is not there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'Pictures need matplotlib: pip install "patchfold[plot]".'
        ) from error


def new_axes(points: np.ndarray | None = None) -> Axes:
    """Return the axes of a new figure, of the shape of the points it is to hold."""
    check_matplotlib()
    import matplotlib.pyplot as plt

    width, height = (1.0, 1.0) if points is None else np.ptp(points, axis=0)
    shape = float(np.clip(height / width if width > 0 else 1.0, *SHAPES))
    return plt.subplots(figsize=(WIDTH, WIDTH * shape), layout="constrained")[1]


def new_solid_axes() -> Axes:
    """Return the axes of a new figure in three dimensions."""
    check_matplotlib()
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(WIDTH, WIDTH), layout="constrained")
    return figure.add_subplot(projection="3d")


def show_bar(ax: Axes, drawn: Any, label: str, extend: str = "neither") -> None:
    """Add a colour bar beside the panel."""
    bar = ax.figure.colorbar(
        drawn, ax=ax, label=label, extend=extend, shrink=0.6, aspect=25, pad=0.02
    )
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, labelsize="medium")


def tidy(ax: Axes) -> None:
    """Give the panel one scale, a light frame and no ticks."""
    ax.set(xticks=[], yticks=[])
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.06)
    for spine in ax.spines.values():
        spine.set(color="#D0D0D0", linewidth=0.8)


def show_legend(ax: Axes, *, beside: bool = False, **settings: Any) -> None:
    """Add a legend; names of classes are words, also where they have dollar signs.

    Marks that are tiny in the picture are large enough here to see colour and shape.
    Many names stand beside the panel, in columns that are as high as it is; a few only
    where matplotlib finds no free place within it (`beside`).
    """
    from matplotlib.collections import PathCollection

    n_names = len(ax.get_legend_handles_labels()[1])
    if beside or n_names > MANY_NAMES:
        settings |= {"loc": "upper left", "bbox_to_anchor": (1, 1)}
    if n_names > MANY_NAMES:
        height = ax.get_window_extent().height / ax.figure.dpi
        n_lines = max(MANY_NAMES, int(height / LINE_HEIGHT))
        settings |= {"ncols": -(-n_names // n_lines), "columnspacing": 0.8}
        settings["fontsize"] = "small"
    legend = ax.legend(frameon=False, **settings)
    for text in legend.get_texts():
        text.set_parse_math(False)
    for handle in legend.legend_handles:
        if isinstance(handle, PathCollection):
            handle.set_sizes(np.maximum(handle.get_sizes(), LEGEND_SIZE))
