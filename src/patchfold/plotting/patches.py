"""Patches as ellipses on the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_array

from ..neighbors.choice import find_neighbors, resolve_n_neighbors
from ..patches.covariance import COVARIANCE_RULES
from ..patches.fitting import fit_patches, mean_variance
from ..validation import (
    Float,
    Fraction,
    Integer,
    check_magnitude,
    check_parameter,
)
from ._style import GREY, check_points, group_classes, new_axes, show_legend, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RULES = {
    "n_neighbors": (Integer(1), Fraction()),
    "n_std": Float(0, open_low=True),
    "include_center": bool,
    **COVARIANCE_RULES,
}
"""What the numbers and words among the arguments may be."""

CORNERS = 72
"""Corners of the polygon that stands for an ellipse."""


def plot_patches(
    X: Any,
    labels: Any = None,
    *,
    n_neighbors: int | float = 15,
    samples: Any = 30,
    n_std: float = 1.5,
    components: tuple[int, int] = (0, 1),
    class_names: Any = None,
    ax: Axes | None = None,
    title: str | None = None,
    **settings: Any,
) -> Axes:
    """Draw the patches of some samples: an ellipse where each local Gaussian lies.

    With more than two features, an ellipse shows the covariance of the patch in the two
    features that are drawn.

    Parameters
    ----------
    X : array-like (n_samples, n_features)
        Samples, two features or more.
    labels : array-like (n_samples,), default=None
        Class of every sample, which gives its patch a colour. The number -1 marks an
        unlabelled sample.
    n_neighbors : int or float, default=15
        Neighbours of a sample, itself not counted; a float is a fraction of the
        samples.
    samples : int or array-like of int, default=30
        How many patches to draw, spread over the data, or which ones.
    n_std : float, default=1.5
        Radius of an ellipse in standard deviations.
    components : (int, int), default=(0, 1)
        Features to draw.
    class_names : sequence of str, default=None
        Names for the legend, in the sorted order of the classes; None shows the labels.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.
    title : str, default=None
        Title of the panel.
    **settings
        Other settings of patches, as in the estimators and with their defaults:
        `include_center`, `covariance`, `n_directions`, `shrinkage`, `ridge`.

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
    plot_graph : How much neighbouring patches differ.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> import patchfold as pf
    >>> iris = load_iris()
    >>> ax = pf.plotting.plot_patches(
    ...     iris.data, iris.target, components=(2, 3), ax=Figure().subplots()
    ... )
    >>> sum(len(part.get_paths()) for part in ax.collections[1::2])
    30
    """
    _check(n_neighbors=n_neighbors, n_std=n_std, **settings)
    X = check_array(X, dtype=np.float64, ensure_min_samples=2, input_name="X")
    check_magnitude(X)
    points = check_points(X, components, name="X")
    groups = group_classes(labels, class_names, len(X), name="X")
    chosen = _choose(samples, points)
    found = find_neighbors(X, resolve_n_neighbors(n_neighbors, len(X)))
    patches = fit_patches(
        X[chosen], X, found.indices[chosen], variance=mean_variance(X), **settings
    )
    if ax is None:
        ax = new_axes(points)
    shown = list(components)
    ellipses = n_std * _unit_ellipses(patches.covariance[:, shown][:, :, shown])
    ellipses += patches.mean[:, None, shown]
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    size = float(np.clip(3000 / len(X), 2, 14))
    for rows, name, color, _ in groups:
        dots = GREY if labels is None else color
        x, y = points[rows].T
        ax.scatter(x, y, s=size, color=dots, linewidth=0, alpha=0.7)
        mine = np.isin(chosen, rows)
        ax.add_collection(
            PolyCollection(
                list(ellipses[mine]),
                facecolor=to_rgba(color, 0.15),
                edgecolor=to_rgba(color, 0.9),
                linewidth=1.1,
                label=name,
            )
        )
    tidy(ax)
    if title is not None:
        ax.set_title(title, loc="left")
    if labels is not None:
        show_legend(ax)
    return ax


def _check(**given: Any) -> None:
    """Raise an error for what no patch, or no ellipse, can be made with."""
    for name, value in given.items():
        if name not in RULES:
            raise TypeError(
                f"plot_patches has no argument {name!r}. It has {', '.join(RULES)}."
            )
        check_parameter(name, value, RULES[name], "plot_patches")


def _choose(samples: Any, points: np.ndarray) -> np.ndarray:
    """Return the positions asked for, or that number of positions spread over all."""
    n = len(points)
    if isinstance(samples, int | np.integer):
        check_parameter("samples", samples, Integer(1), "plot_patches")
        return _spread(points, min(int(samples), n))
    chosen = np.asarray(samples)
    if (
        chosen.ndim != 1
        or chosen.dtype.kind not in "iu"
        or not ((chosen >= 0) & (chosen < n)).all()
    ):
        raise ValueError(
            f"samples must be a number of patches, or positions from 0 to {n - 1}. Got "
            f"{samples!r} instead."
        )
    return chosen


def _spread(points: np.ndarray, count: int) -> np.ndarray:
    """Take the sample nearest to the median, then always the one farthest from all."""
    middle = np.median(points, axis=0)
    chosen = [int(np.argmin(((points - middle) ** 2).sum(axis=1)))]
    nearest = np.full(len(points), np.inf)
    while len(chosen) < count:
        gap = ((points - points[chosen[-1]]) ** 2).sum(axis=1)
        nearest = np.minimum(nearest, gap)
        chosen.append(int(np.argmax(nearest)))
    return np.array(chosen)


def _unit_ellipses(covariances: np.ndarray) -> np.ndarray:
    """Return closed polygons (n, corners, 2) one standard deviation from the origin."""
    angle = np.linspace(0, 2 * np.pi, CORNERS)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    variances, axes = np.linalg.eigh(covariances)
    roots = axes * np.sqrt(np.maximum(variances, 0))[:, None, :]
    return np.swapaxes(roots @ circle, 1, 2)
