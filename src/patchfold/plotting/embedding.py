"""Two coordinates of an embedding, a colour and a marker per class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import MARKERS, check_points, group_classes, new_axes, show_legend, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAR = 3.0
"""Far away: so many times the distance within which 95 % of the samples lie."""


def plot_embedding(
    embedding: Any,
    labels: Any = None,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    components: tuple[int, int] = (0, 1),
    class_names: Any = None,
    legend: bool = True,
    size: float | None = None,
    zoom: bool = False,
) -> Axes:
    """Draw two coordinates of an embedding, a colour and a marker per class.

    Both axes have one scale, so that distances on the page are distances in the
    embedding, and no ticks, as the coordinates have no unit.

    Parameters
    ----------
    embedding : array-like (n_samples, n_components)
        Coordinates, two columns or more.
    labels : array-like (n_samples,), default=None
        Class of every sample: numbers or strings. The number -1 marks an unlabelled
        sample, which is drawn grey, beneath the others.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.
    title : str, default=None
        Title of the panel.
    components : (int, int), default=(0, 1)
        Columns of `embedding` to draw.
    class_names : sequence of str, default=None
        Names for the legend, in the sorted order of the classes; None shows the labels.
    legend : bool, default=True
        Whether to draw a legend, if there are labels.
    size : float, default=None
        Area of a marker in points²; None suits the number of samples.
    zoom : bool, default=False
        Whether to leave out samples that lie more than three times as far from the
        median as 95 % of all do, so that the others can be seen; how many is written
        in a corner.

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

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> import patchfold as pf
    >>> from patchfold.plotting import plot_embedding
    >>> X, y = load_wine(return_X_y=True)
    >>> embedding = pf.isomap_kl(n_neighbors=20).fit_transform(scale(X))
    >>> ax = plot_embedding(embedding, y, ax=Figure().subplots(), title="ISOMAP-KL")
    >>> ax.get_title(loc="left")
    'ISOMAP-KL'
    """
    points = check_points(embedding, components)
    groups = group_classes(labels, class_names, len(points))
    if ax is None:
        ax = new_axes(points)
    if size is None:
        size = float(np.clip(6000 / len(points), 3, 40))
    shown = ~_far(points) if zoom else np.ones(len(points), dtype=bool)
    for rows, name, color, marker in groups:
        x, y = points[rows[shown[rows]]].T
        ax.scatter(
            x,
            y,
            s=size * MARKERS[marker],
            marker=marker,
            color=color,
            alpha=0.8,
            edgecolor="white",
            linewidth=0.02 * size,
            label=name,
        )
    tidy(ax)
    if not shown.all():
        _note(ax, f"{(~shown).sum()} far away, not shown")
    if title is not None:
        ax.set_title(title, loc="left")
    if legend and labels is not None:
        show_legend(ax, handletextpad=0.2)
    return ax


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
        size="small",
        color="#666666",
    )
