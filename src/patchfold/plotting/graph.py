"""The neighbour graph, its edges coloured by dissimilarity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..backends.backend import NUMPY
from ._style import check_points, coordinates_of, new_axes, show_bar, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENDS = 0.02, 0.98
"""Colours run between these quantiles: few huge values must not fade the others."""

LIGHTEST = 0.08
"""Where the colour map starts, so that no edge is too light to be seen on white."""

MANY = 5000
"""With more edges than this a vector file keeps them as pixels."""


def plot_graph(
    graph: Any,
    points: Any = None,
    *,
    components: tuple[int, int] = (0, 1),
    ax: Axes | None = None,
    title: str | None = None,
    label: str = "dissimilarity",
    colorbar: bool = True,
) -> Axes:
    """Draw a neighbour graph: dark edges join neighbours whose patches differ.

    Edges are drawn in the order of their dissimilarity, the largest on top. Draw
    `plot_embedding` on the same axes to mark classes.

    Parameters
    ----------
    graph : fitted estimator or sparse array (n_samples, n_samples)
        An estimator with `graph_`, or the dissimilarity of every edge. A stored zero is
        an edge; of the two entries of an edge the upper one counts.
    points : array-like (n_samples, n_columns), default=None
        Where the samples are; two columns or more. None takes the `embedding_` of the
        estimator; the samples themselves show the graph on their features.
    components : (int, int), default=(0, 1)
        Columns of `points` to draw.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.
    title : str, default=None
        Title of the panel.
    label : str, default="dissimilarity"
        Label of the colour bar.
    colorbar : bool, default=True
        Whether to draw one. Colours run from the 2nd to the 98th percentile of the
        dissimilarities; an end of the bar is pointed if edges lie beyond it.

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
    >>> from sklearn.datasets import load_iris
    >>> import patchfold as pf
    >>> X = load_iris().data
    >>> model = pf.isomap_kl(n_neighbors=40).fit(X)
    >>> ax = pf.plotting.plot_graph(model.graph_, X, ax=Figure().subplots(), label="KL")
    >>> len(ax.collections[0].get_segments()) == model.graph_.nnz // 2
    True
    """
    if hasattr(graph, "graph_"):
        points = coordinates_of(graph) if points is None else points
        graph = NUMPY.bring(graph.graph_)
    points = check_points(points, components, name="points")
    source, target, lengths = _edges(graph, len(points))
    if ax is None:
        ax = new_axes(points)
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection
    from matplotlib.colors import ListedColormap, Normalize

    order = np.argsort(lengths, kind="stable")
    low, high = np.quantile(lengths, ENDS) if lengths.size else (0.0, 1.0)
    lines = LineCollection(
        list(np.stack([points[source], points[target]], axis=1)[order]),
        array=lengths[order],
        cmap=ListedColormap(colormaps["viridis_r"](np.linspace(LIGHTEST, 1, 256))),
        norm=Normalize(low, high),
        linewidth=float(np.clip(1500 / max(lengths.size, 1), 0.3, 1.2)),
        alpha=0.8,
        zorder=0.5,  # a later scatter lies above
        rasterized=lengths.size > MANY,
    )
    ax.add_collection(lines)
    size = float(np.clip(1200 / len(points), 1, 12))
    x, y = points.T
    ax.scatter(x, y, s=size, color="#333333", linewidth=0, zorder=0.6)
    tidy(ax)
    if colorbar:
        _draw_colorbar(ax, lines, label, beyond=(lengths < low, lengths > high))
    if title is not None:
        ax.set_title(title, loc="left")
    return ax


def _edges(graph: Any, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both ends and the length of every edge, each edge once."""
    if not sp.issparse(graph) or graph.shape != (n, n):
        found = f"shape {graph.shape}" if sp.issparse(graph) else type(graph).__name__
        raise ValueError(
            f"graph must be a sparse array with a row and a column for each of the {n} "
            f"points. Got {found} instead: pass graph_ of a fitted estimator."
        )
    entries = graph.tocoo()
    upper = entries.row < entries.col
    return entries.row[upper], entries.col[upper], entries.data[upper]


def _draw_colorbar(
    ax: Axes, lines: Any, label: str, beyond: tuple[np.ndarray, np.ndarray]
) -> None:
    ends = {(False, False): "neither", (True, False): "min", (False, True): "max"}
    extend = ends.get((bool(beyond[0].any()), bool(beyond[1].any())), "both")
    show_bar(ax, lines, label, extend)
