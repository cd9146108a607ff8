"""Where an embedding can be trusted: false neighbours, and edges that are stretched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..metrics.topology import sample_trustworthiness
from ..neighbors.choice import find_neighbors
from ._style import check_points, coordinates_of, new_axes, show_bar, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LIGHTEST = 0.85
"""Where the colour map ends, so that no sample is too light to be seen on white."""

MOST_EDGES = 60_000
"""Edges that are drawn at most, the most stretched ones."""


def plot_trustworthiness(
    X: Any,
    embedding: Any,
    *,
    n_neighbors: int = 5,
    components: tuple[int, int] = (0, 1),
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw where trustworthiness is lost: dark samples have false neighbours.

    Parameters
    ----------
    X : array-like (n_samples, n_features)
        Samples, scaled as they were for the embedding.
    embedding : fitted estimator or array-like (n_samples, n_components)
        Their coordinates.
    n_neighbors : int, default=5
        Size of a neighbourhood.
    components : (int, int), default=(0, 1)
        Columns of `embedding` to draw.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.
    title : str, default=None
        Title of the panel; None writes the mean.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the new one.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> import patchfold as pf
    >>> X = load_iris().data
    >>> model = pf.CauchyMap().fit(X)
    >>> ax = pf.plotting.plot_trustworthiness(X, model, ax=Figure().subplots())
    >>> ax.get_title(loc="left").startswith("trustworthiness 0.9")
    True
    """
    coordinates = coordinates_of(embedding)
    points = check_points(coordinates, components)
    trust = sample_trustworthiness(X, coordinates, n_neighbors=n_neighbors)
    if ax is None:
        ax = new_axes(points)
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    order = np.argsort(-trust, kind="stable")  # the worst are on top
    x, y = points[order].T
    drawn = ax.scatter(
        x,
        y,
        c=trust[order],
        s=float(np.clip(6000 / len(points), 3, 40)),
        cmap=ListedColormap(colormaps["inferno"](np.linspace(0, LIGHTEST, 256))),
        vmin=min(0.8, float(np.quantile(trust, 0.02))),
        vmax=1.0,
        linewidth=0,
        rasterized=len(points) > MOST_EDGES // 3,
    )
    tidy(ax)
    show_bar(ax, drawn, "trustworthiness of a sample", "min")
    mean = f"trustworthiness {trust.mean():.3f}"
    ax.set_title(mean if title is None else title, loc="left")
    return ax


def plot_stretch(
    X: Any,
    embedding: Any,
    *,
    n_neighbors: int = 5,
    components: tuple[int, int] = (0, 1),
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw which edges are stretched: neighbours that the embedding tears apart.

    An edge joins a sample with one of its nearest neighbours in `X`. Its stretch is its
    length in the embedding divided by that in `X`, in units of the median of all edges.

    Parameters
    ----------
    X : array-like (n_samples, n_features)
        Samples, scaled as they were for the embedding.
    embedding : fitted estimator or array-like (n_samples, n_components)
        Their coordinates.
    n_neighbors : int, default=5
        Edges of a sample.
    components : (int, int), default=(0, 1)
        Columns of `embedding` to draw.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.
    title : str, default=None
        Title of the panel; None says how many edges are stretched tenfold.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the new one.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> import patchfold as pf
    >>> X = load_iris().data
    >>> ax = pf.plotting.plot_stretch(X, 2 * X[:, :2], ax=Figure().subplots())
    >>> ax.get_title(loc="left")
    '0 % of edges are stretched tenfold'
    """
    coordinates = np.asarray(coordinates_of(embedding), dtype=float)
    points = check_points(coordinates, components)
    source, target, stretch = stretch_of_edges(X, coordinates, n_neighbors)
    if ax is None:
        ax = new_axes(points)
    from matplotlib.collections import LineCollection

    order = np.argsort(stretch, kind="stable")[-MOST_EDGES:]
    lines = LineCollection(
        list(np.stack([points[source], points[target]], axis=1)[order]),
        array=np.log10(stretch[order]),
        cmap="coolwarm",
        clim=(-1, 1),
        linewidth=float(np.clip(3000 / max(order.size, 1), 0.4, 1.4)),
        rasterized=order.size > MOST_EDGES // 12,
    )
    ax.add_collection(lines)
    size = float(np.clip(1200 / len(points), 1, 12))
    x, y = points.T
    ax.scatter(x, y, s=size, color="#333333", linewidth=0)
    tidy(ax)
    show_bar(ax, lines, "stretch of an edge, log10", "both")
    torn = f"{(stretch > 10).mean():.0%} of edges are stretched tenfold"
    ax.set_title(torn.replace("%", " %") if title is None else title, loc="left")
    return ax


def stretch_of_edges(
    X: Any, embedding: np.ndarray, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both ends of every edge, and its stretch; edges of no length are left out.

    Examples
    --------
    >>> X = np.arange(4.0)[:, None] ** 2
    >>> source, target, stretch = stretch_of_edges(X, 3 * X, 1)
    >>> stretch.tolist()
    [1.0, 1.0, 1.0]
    """
    X = np.asarray(X, dtype=float)
    near = find_neighbors(X, min(n_neighbors, len(X) - 1)).indices
    source, target = np.repeat(np.arange(len(X)), near.shape[1]), near.ravel()
    pairs = np.unique(np.sort(np.column_stack([source, target]), axis=1), axis=0)
    before = np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)
    after = np.linalg.norm(embedding[pairs[:, 0]] - embedding[pairs[:, 1]], axis=1)
    kept = (before > 0) & (after > 0)
    ratio = after[kept] / before[kept]
    middle = float(np.median(ratio)) if ratio.size else 1.0
    return pairs[kept, 0], pairs[kept, 1], ratio / middle
