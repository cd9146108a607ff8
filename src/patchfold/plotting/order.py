"""Samples of the plane, joined in the order of a 1-D embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import check_points, new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_order(
    points: Any,
    order: Any,
    *,
    ends: tuple[str, str] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw samples of the plane, joined in the order a 1-D embedding gives them.

    Colours run from dark to light along the way.

    Parameters
    ----------
    points : array-like (n_samples, 2)
        Where the samples are.
    order : array-like (n_samples,)
        The samples' positions in `points`, from one end of the embedding to the other.
    ends : (str, str), default=None
        Labels of the first and the last sample; None numbers them.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.
    title : str, default=None
        Title of the panel.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the new one.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If `order` does not have every sample once.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import patchfold as pf
    >>> from patchfold.plotting import plot_order
    >>> points, _ = pf.datasets.make_shape("C")
    >>> order = pf.cauchy(n_components=1).fit_transform(points)[:, 0].argsort()
    >>> ax = plot_order(points, order, ax=Figure().subplots(), title="C")
    >>> [text.get_text() for text in ax.texts]
    ['1', '57']
    """
    points = check_points(points, (0, 1), name="points")
    order = np.asarray(order)
    n = len(points)
    if order.shape != (n,) or not np.array_equal(np.sort(order), np.arange(n)):
        raise ValueError(
            f"order must have each of the positions 0 to {n - 1} once. Got "
            f"{order.size} entries instead: pass the argsort of a coordinate."
        )
    if ax is None:
        ax = new_axes(points)
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    way = points[order]
    low, high = points.min(axis=0), points.max(axis=0)
    colors = colormaps["viridis"](np.linspace(0, 0.88, n))
    steps = np.stack([way[:-1], way[1:]], axis=1)
    ax.add_collection(LineCollection(list(steps), colors=colors[:-1], linewidth=1.2))
    size = float(np.clip(1200 / n, 8, 40))
    ax.scatter(
        way[:, 0], way[:, 1], s=size, c=colors, edgecolor="white", linewidth=0.4
    ).set_zorder(2)
    for text, place in zip(ends or ("1", str(n)), (way[0], way[-1]), strict=True):
        _name_end(ax, text, place, upper=place[1] > (low + high)[1] / 2)
    # One scale for both axes makes matplotlib cut margins, but not the limits of data.
    room = 0.08 * (high - low).max()
    ax.update_datalim([low - room, high + room])
    tidy(ax)
    if title is not None:
        ax.set_title(title, loc="left")
    return ax


def _name_end(ax: Axes, text: str, place: np.ndarray, *, upper: bool) -> None:
    """Write above a point of the upper half, or below one of the lower half."""
    ax.annotate(
        text,
        (place[0], place[1]),
        (0, 6 if upper else -6),
        textcoords="offset points",
        ha="center",
        va="bottom" if upper else "top",
        size="medium",
        weight="bold",
        bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1},
    )
