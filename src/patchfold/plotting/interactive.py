"""A Plotly figure of an embedding that shows the row under the pointer."""

from __future__ import annotations

import html
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import (
    COLORS,
    check_points,
    coordinates_of,
    group_classes,
    is_measurement,
    shade_classes,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

SHOWN = 15
"""Columns of a row that are shown under the pointer."""

SYMBOLS = (
    "circle",
    "triangle-up",
    "square",
    "diamond",
    "triangle-down",
    "cross",
    "x",
    "star",
)
"""Shapes of classes; with the 11 colours, 88 classes look different."""

MANY = 20_000
"""More samples are tiny circles without shapes: each class has a colour of its own."""

SOLID_SYMBOLS = (
    "circle",
    "square",
    "diamond",
    "cross",
    "x",
    "circle-open",
    "square-open",
    "diamond-open",
)
"""Those that Plotly has in 3-D."""

ROOM = 1.4
"""Length of the longest side in 3-D, in Plotly's unit: all of it is seen."""

THINNEST = 0.02
"""Length of a side in 3-D at least, in that of the longest."""

SOLID_SHARE = 0.45
"""Size of a mark in 3-D, in that of one in the plane: Plotly draws them larger."""


def interactive(
    embedding: Any,
    frame: Any = None,
    *,
    color: Any = None,
    components: tuple[int, ...] = (0, 1),
    title: str = "",
) -> go.Figure:
    """Draw an embedding as a Plotly figure that shows rows under the pointer.

    Parameters
    ----------
    embedding : fitted estimator or array-like (n_samples, n_components)
        An estimator with `embedding_`, or coordinates, two columns or more.
    frame : data frame, default=None
        Rows of the samples; the first 15 columns are shown under the pointer.
    color : str or array-like (n_samples,), default=None
        A column of `frame`, or the values themselves: classes, or a measurement.
    components : tuple of int, default=(0, 1)
        Columns of `embedding` to draw; three of them make a picture in 3-D.
    title : str, default=""
        Title of the figure.

    Returns
    -------
    plotly.graph_objects.Figure
        A trace for each class, or one with a colour bar; `customdata` is the position
        of the sample.

    See Also
    --------
    plot_embedding : The same by matplotlib, for print.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import patchfold as pf
    >>> iris = load_iris(as_frame=True)
    >>> model = pf.CauchyMap().fit(iris.data)
    >>> figure = pf.plotting.interactive(model, iris.frame, color="target")
    >>> [trace.name for trace in figure.data]
    ['0', '1', '2']
    """
    points = check_points(coordinates_of(embedding), components, most=3)
    n = len(points)
    if frame is not None and len(frame) != n:
        raise ValueError(
            f"frame must have a row for each of the {n} samples. Got {len(frame)}."
        )
    name, values = _read_color(color, frame)
    try:
        graph = import_module("plotly.graph_objects")
    except ImportError as error:
        raise ImportError(
            'interactive needs Plotly: pip install "patchfold[cli]".'
        ) from error
    words = _describe_rows(frame, n)
    figure = graph.Figure()
    solid = points.shape[1] == 3
    for rows, look in _looks(values, name, n, solid):
        axes = dict(zip("xyz", points[rows].T, strict=False))
        kind = graph.Scatter3d if solid else graph.Scattergl
        figure.add_trace(
            kind(
                **axes,
                mode="markers",
                customdata=rows,
                hovertext=words[rows],
                hoverinfo="text",
                **look,
            )
        )
    hidden = {"showticklabels": False, "zeroline": False, "title": ""}
    if solid:
        axes = {f"{axis}axis": hidden for axis in "xyz"}
        spans = np.ptp(points, axis=0)
        shares = np.maximum(spans / (spans.max() or 1.0), THINNEST)
        sides = dict(zip("xyz", ROOM * shares, strict=True))
        figure.update_scenes(aspectmode="manual", aspectratio=sides, **axes)
    else:
        figure.update_xaxes(**hidden).update_yaxes(**hidden, scaleanchor="x")
    return figure.update_layout(
        template="plotly_white",
        title=_escape(title),
        font={"size": 14},
        legend={"title": _escape(name), "itemsizing": "constant"},
        margin={"l": 20, "r": 20, "t": 50 if title else 20, "b": 20},
    )


def _read_color(color: Any, frame: Any) -> tuple[str, Any]:
    """Return a name and the values that colour the samples."""
    if color is None:
        return "", None
    if not isinstance(color, str):
        return "", np.asarray(color)
    if frame is None or color not in frame.columns:
        raise ValueError(f"color must be a column of frame. Got {color!r} instead.")
    return color, np.asarray(frame[color])


def _looks(
    values: Any, name: str, n: int, solid: bool
) -> list[tuple[np.ndarray, dict[str, Any]]]:
    """Return the rows of every trace, and how it looks."""
    size = float(np.clip(10 * np.sqrt(180 / n), 3, 9)) * (SOLID_SHARE if solid else 1)
    symbols: tuple[str, ...] = SOLID_SYMBOLS if solid else SYMBOLS
    if values is not None and is_measurement(values):
        bar = {"title": _escape(name)}
        marker = {
            "color": values,
            "colorscale": "Viridis",
            "colorbar": bar,
            "size": size,
        }
        return [(np.arange(n), {"marker": marker, "name": ""})]
    looks = []
    groups = group_classes(values, None, n)
    if n > MANY:
        groups, symbols = shade_classes(groups), ("circle",)
    for code, (rows, label, color, _) in enumerate(groups):
        symbol = symbols[code % len(symbols)]
        marker = {"color": color or COLORS[0], "symbol": symbol, "size": size}
        named = {"name": _escape(label or ""), "showlegend": label is not None}
        looks.append((rows, {"marker": {**marker, "opacity": 0.85}, **named}))
    return looks


def _describe_rows(frame: Any, n: int) -> np.ndarray:
    """Return what is shown of every row; names and cells are escaped."""
    if frame is None:
        return np.array([f"sample {k}" for k in range(n)], dtype=object)
    names = [_escape(str(name)) for name in frame.columns[:SHOWN]]
    cells = [[_cell(v) for v in frame.iloc[:, k]] for k in range(len(names))]
    rows = []
    for k, index in enumerate(frame.index):
        lines = [f"<b>{_escape(str(index))}</b>"]
        lines += [
            f"{name}: {column[k]}" for name, column in zip(names, cells, strict=True)
        ]
        rows.append("<br>".join(lines))
    return np.array(rows, dtype=object)


def _cell(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    return _escape(str(value)[:60])


def _escape(text: str) -> str:
    """Return words that Plotly shows as they are."""
    return html.escape(text, quote=False).replace("$", "&#36;")
