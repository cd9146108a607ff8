"""Scores against the number of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import COLORS, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_neighbors_sweep(
    selection: Any, *, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Draw the scores that `select_n_neighbors` found against the number of neighbours.

    The line is the mean over the folds, the band one standard error of it either way,
    and the mark the best size.

    Parameters
    ----------
    selection : NeighborSelection
        What `patchfold.select_n_neighbors` returned.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.
    title : str, default=None
        Title of the panel.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the new one.
    """
    if ax is None:
        ax = new_axes()
    sizes, mean = selection.n_neighbors, selection.mean_scores
    n_folds = selection.scores.shape[1]
    ax.plot(sizes, mean, color=COLORS[0], marker="o", markersize=4)
    if n_folds > 1:
        error = selection.scores.std(axis=1, ddof=1) / np.sqrt(n_folds)
        band = mean - error, mean + error
        ax.fill_between(sizes, *band, color=COLORS[0], alpha=0.2, linewidth=0)
    best = selection.best_n_neighbors
    ax.plot(best, mean.max(), "o", color=COLORS[1], markersize=8)
    ax.annotate(
        f"K = {best}",
        (best, mean.max()),
        (0, 8),
        textcoords="offset points",
        ha="center",
    )
    ax.margins(y=0.15)
    ax.set(xlabel="n_neighbors", ylabel=selection.scoring)
    if title is not None:
        ax.set_title(title, loc="left")
    return ax
