"""Two or three coordinates of an embedding, coloured by classes or by numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import (
    MARKERS,
    check_points,
    coordinates_of,
    group_classes,
    is_measurement,
    new_axes,
    new_solid_axes,
    shade_classes,
    show_bar,
    show_legend,
    tidy,
)
from .density import draw_density

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAR = 3.0
"""Farther than this many times the distance that holds 95 % of the samples is far."""

MANY = 20_000
"""Beyond this many samples their density is drawn, and not each of them."""

SEEN = 8.0
"""Area of a marker, in points², from which a white edge leaves something of it."""

ENDS = 0.02, 0.98
"""Colours of numbers run between these quantiles."""


def plot_embedding(
    embedding: Any,
    labels: Any = None,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    components: tuple[int, ...] = (0, 1),
    class_names: Any = None,
    legend: bool = True,
    annotate: bool = False,
    size: float | None = None,
    zoom: bool = False,
    label: str = "",
) -> Axes:
    """Draw two or three coordinates of an embedding, coloured by classes or numbers.

    Both axes have the same scale, so that distances on the page are distances in the
    embedding. They have no ticks, as the coordinates have no unit. With more than
    20,000 samples the density is drawn, as pixels: colour is the class or the mean
    number, and strength is the count on a logarithmic scale.

    Parameters
    ----------
    embedding : fitted estimator or array-like (n_samples, n_components)
        An estimator with `embedding_`, or coordinates, two columns or more.
    labels : array-like (n_samples,), default=None
        Class of every sample: numbers or strings. The number -1 marks an unlabelled
        sample, which is drawn grey, beneath the others. Numbers with more than 88
        distinct values, or more than 10 if they have fractions, are measurements: they
        are coloured by a scale, with a bar.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.
    title : str, default=None
        Title of the panel.
    components : tuple of int, default=(0, 1)
        Columns of `embedding` to draw; three of them make a picture in 3-D, whose `ax`
        must have ``projection="3d"``.
    class_names : sequence of str, default=None
        Names for the legend, in the sorted order of the classes; None shows the labels.
    legend : bool, default=True
        Whether to draw a legend, or a bar, if there are labels.
    annotate : bool, default=False
        Whether to write the name of each class at its middle, in place of a legend.
    size : float, default=None
        Area of a marker in points²; None suits the number of samples.
    zoom : bool, default=False
        Whether to leave out samples that lie more than three times as far from the
        median as 95 % of all do, so that the others can be seen; how many is written
        in a corner.
    label : str, default=""
        Label of the colour bar of measurements.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the new one.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the arguments do not fit each other.

    See Also
    --------
    interactive : The same by Plotly; it shows the row under the pointer.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> import patchfold as pf
    >>> from patchfold.plotting import plot_embedding
    >>> X, y = load_wine(return_X_y=True)
    >>> model = pf.isomap_kl(n_neighbors=20).fit(scale(X))
    >>> ax = plot_embedding(model, y, ax=Figure().subplots(), title="ISOMAP-KL")
    >>> ax.get_title(loc="left")
    'ISOMAP-KL'
    """
    points = check_points(coordinates_of(embedding), components, most=3)
    n, solid = len(points), points.shape[1] == 3
    values = _read_numbers(labels, n)
    groups = [] if values is not None else group_classes(labels, class_names, n)
    if ax is None:
        ax = new_solid_axes() if solid else new_axes(points)
    shown = ~_far(points) if zoom else np.ones(n, dtype=bool)
    if n > MANY and not solid:
        groups = shade_classes(groups)
        drawn = draw_density(ax, points, groups, values, shown, ENDS)
    elif values is not None:
        drawn = _draw_numbers(ax, points, values, shown, _size(size, n))
    else:
        drawn = _draw_classes(ax, points, groups, shown, _size(size, n))
    if not shown.all() and not solid:
        _note(ax, f"{(~shown).sum()} far away, not shown")
    if title is not None:
        ax.set_title(title, loc="left")
    _frame(ax, solid)
    if values is not None and legend:
        show_bar(ax, drawn, label, "both")
    if values is None and labels is not None:
        if annotate:
            _write_names(ax, points, groups)
        elif legend:
            # Matplotlib does not see pixels, nor depth.
            show_legend(ax, beside=solid or n > MANY, handletextpad=0.2)
    return ax


def _read_numbers(labels: Any, n: int) -> np.ndarray | None:
    """Return the labels if they are measurements, None if they are classes."""
    if labels is None or not is_measurement(labels):
        return None
    values = np.asarray(labels, dtype=float)
    if values.shape != (n,):
        raise ValueError(
            f"labels must have one entry for each of the {n} rows of embedding. Got "
            f"shape {values.shape} instead."
        )
    return values


def _frame(ax: Any, solid: bool) -> None:
    if solid:
        ax.set(xticklabels=[], yticklabels=[], zticklabels=[], aspect="equal")
    else:
        tidy(ax)


def _size(size: float | None, n_samples: int) -> float:
    return float(np.clip(6000 / n_samples, 3, 40)) if size is None else size


def _draw_classes(
    ax: Any, points: np.ndarray, groups: list[Any], shown: np.ndarray, size: float
) -> Any:
    drawn = None
    for rows, name, color, marker in groups:
        drawn = ax.scatter(
            *points[rows[shown[rows]]].T,
            s=size * MARKERS[marker],
            marker=marker,
            color=color,
            alpha=0.8,
            edgecolor="white" if size >= SEEN else "none",
            linewidth=0.02 * size,
            label=name,
        )
    return drawn


def _draw_numbers(
    ax: Any, points: np.ndarray, values: np.ndarray, shown: np.ndarray, size: float
) -> Any:
    known = np.isfinite(values)
    if not known.all():
        rest = points[shown & ~known]
        ax.scatter(*rest.T, s=size, color="#B8B8B8", linewidth=0)
    low, high = np.quantile(values[known], ENDS)
    return ax.scatter(
        *points[shown & known].T,
        c=values[shown & known],
        s=size,
        cmap="viridis",
        vmin=low,
        vmax=high,
        alpha=0.9,
        linewidth=0,
    )


def _write_names(ax: Any, points: np.ndarray, groups: list[Any]) -> None:
    """Write the name of each class where most of its samples are."""
    from matplotlib.patheffects import withStroke

    low, high = points.min(axis=0), points.max(axis=0)
    cells = np.minimum((points - low) / np.maximum(high - low, 1e-300) * 10, 9).astype(
        int
    )
    for rows, name, color, _ in groups:
        if name is None:
            continue
        found, which = np.unique(cells[rows], axis=0, return_inverse=True)
        most = found[np.bincount(which.ravel()).argmax()]
        near = (np.abs(cells[rows] - most) <= 1).all(axis=1)
        middle = np.median(points[rows[near]], axis=0)
        text = ax.text(
            *middle,
            name,
            ha="center",
            va="center",
            weight="bold",
            size="large",
            color=color,
        )
        text.set_parse_math(False)
        text.set_path_effects([withStroke(linewidth=3, foreground="white")])


def _far(points: np.ndarray) -> np.ndarray:
    distances = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    return distances > FAR * np.quantile(distances, 0.95)


def _note(ax: Axes, text: str) -> None:
    """Write in the lower right corner, inside the frame."""
    ax.annotate(
        text,
        (1, 0),
        (-6, 6),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        size="medium",
        color="#666666",
    )
