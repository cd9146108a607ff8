"""Pictures of embeddings, in matplotlib. Functions take an `ax` and return it.

Matplotlib is optional and imported only when something is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

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
)
"""Told apart with any common colour blindness (after Okabe and Ito)."""

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
"""7 and 8 have no common divisor: so many classes before a look repeats."""

GREY = "#B8B8B8"

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
    points = _check_points(embedding, components)
    groups = _group(labels, class_names, len(points))
    if ax is None:
        ax = _new_axes()
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
    _tidy(ax)
    if not shown.all():
        _note(ax, f"{(~shown).sum()} far away, not shown")
    if title is not None:
        ax.set_title(title, loc="left")
    if legend and labels is not None:
        ax.legend(frameon=False, handletextpad=0.2)
    return ax


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
        What is written at the first and the last sample; None counts them.
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
    points = _check_points(points, (0, 1))
    order = np.asarray(order)
    n = len(points)
    if order.shape != (n,) or not np.array_equal(np.sort(order), np.arange(n)):
        raise ValueError(
            f"order must have each of the positions 0 to {n - 1} once. Got "
            f"{order.size} entries instead: pass the argsort of a coordinate."
        )
    if ax is None:
        ax = _new_axes()
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
    _tidy(ax)
    if title is not None:
        ax.set_title(title, loc="left")
    return ax


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
        ax = _new_axes()
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


def _name_end(ax: Axes, text: str, place: np.ndarray, *, upper: bool) -> None:
    """Write above a point of the upper half, or below one of the lower half."""
    ax.annotate(
        text,
        (place[0], place[1]),
        (0, 6 if upper else -6),
        textcoords="offset points",
        ha="center",
        va="bottom" if upper else "top",
        size="small",
        weight="bold",
        bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1},
    )


def _check_points(embedding: Any, components: tuple[int, int]) -> np.ndarray:
    embedding = np.asarray(embedding, dtype=float)
    if embedding.ndim != 2 or embedding.shape[0] == 0 or embedding.shape[1] < 2:
        raise ValueError(
            "embedding must have one row per sample and two columns or more. Got shape "
            f"{embedding.shape} instead: embed with n_components=2."
        )
    if len(components) != 2 or not all(
        -embedding.shape[1] <= c < embedding.shape[1] for c in components
    ):
        raise ValueError(
            f"components must name two of the {embedding.shape[1]} columns of "
            f"embedding. Got {components!r} instead."
        )
    points = embedding[:, list(components)]
    if not np.isfinite(points).all():
        bad = int((~np.isfinite(points).all(axis=1)).sum())
        raise ValueError(f"embedding has {bad} rows that are not finite numbers.")
    return points


def _group(
    labels: Any, class_names: Any, n_samples: int
) -> list[tuple[np.ndarray, str | None, str, str]]:
    """Return rows, name, colour and marker of every class, in drawing order."""
    if labels is None:
        return [(np.arange(n_samples), None, COLORS[0], "o")]
    labels = np.asarray(labels)
    if labels.shape != (n_samples,):
        raise ValueError(
            f"labels must have one entry for each of the {n_samples} rows of embedding."
            f" Got shape {labels.shape} instead."
        )
    unlabelled = np.zeros(n_samples, dtype=bool)
    if np.issubdtype(labels.dtype, np.number):
        unlabelled = labels == -1
    classes = np.unique(labels[~unlabelled])
    if len(classes) > MAX_CLASSES:
        raise ValueError(
            f"labels has {len(classes)} distinct values, and at most {MAX_CLASSES} can "
            "be told apart in a picture. Are they measurements rather than classes?"
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


def _far(points: np.ndarray) -> np.ndarray:
    distances = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    return distances > FAR * np.quantile(distances, 0.95)


def check_matplotlib() -> None:
    """Raise an ImportError that says how to get matplotlib, if it is not there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'Pictures need matplotlib: pip install "patchfold[plot]".'
        ) from error


def _new_axes() -> Axes:
    check_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(5, 5), layout="constrained")[1]


def _tidy(ax: Axes) -> None:
    """Give the panel one scale, a light frame and no ticks."""
    ax.set(xticks=[], yticks=[])
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.06)
    for spine in ax.spines.values():
        spine.set(color="#D0D0D0", linewidth=0.8)


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
