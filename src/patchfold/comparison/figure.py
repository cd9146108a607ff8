"""Findings -> Plotly figures: samples as every method places them; scores against K.

One figure holds every method's picture, as a browser keeps about 16 WebGL contexts and
a figure takes three. The points are WebGL, not SVG: a lasso on 13 pictures of 2,000
samples is answered in a third of the time, even where software stands in for the
graphics card, and the first drawing is no slower. Where there is no WebGL, the page
draws the same traces as SVG.

Plotly reads names as a kind of HTML, and what is between dollars as a formula. Names
from the user's file are escaped.
"""

from __future__ import annotations

import html
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from .record import Findings
from .scoring import Curve, Result

if TYPE_CHECKING:
    import plotly.graph_objects as go

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B97A00", "#3B8FC4", "#4D4D4D")
"""Told apart without colour vision, on white."""

SYMBOLS = {
    "circle": 1.0,
    "triangle-up": 1.35,
    "square": 0.95,
    "diamond": 1.05,
    "triangle-down": 1.35,
    "cross": 1.2,
    "x": 1.15,
    "star": 1.45,
}
"""Shapes of the classes, and how much larger each must be to look as large as a circle.

There is one more than colours, so that both repeat together only after 56 classes.
"""

STEPS = 9999
"""A coordinate is a whole number from 0 to this: finer than any screen."""

FAR = 3.0
"""Farther than this many times the distance that holds 95 % of the samples is far."""

WIDE = 4
"""So many pictures are side by side."""

SIDE = 240
"""Height of a picture in a notebook, in pixels."""


def load_plotly(module: str) -> Any:
    """Return one of Plotly's modules."""
    try:
        return import_module(f"plotly.{module}")
    except ImportError as error:
        raise ImportError(
            'The pictures of compare need Plotly: pip install "patchfold[cli]".'
        ) from error


def drawn_results(findings: Findings) -> list[Result]:
    """Return the results that have a picture, in the order of the pictures."""
    return [r for r in findings.results if r.name in findings.embeddings]


def draw_embeddings(findings: Findings) -> go.Figure:
    """Draw the samples as every method places them.

    Parameters
    ----------
    findings : Findings
        What was measured.

    Returns
    -------
    plotly.graph_objects.Figure
        A subplot for each method, with a trace for each class in the order of
        `class_names`; `customdata` is the number of the sample. Coordinates are those
        of `place_samples`; open symbols at the edge are samples far outside.
    """
    drawn = drawn_results(findings)
    figure, places = _make_grid([result.title for result in drawn])
    names = findings.class_names or ["all samples"]
    codes = np.zeros(len(findings.ids)) if findings.labels is None else findings.labels
    members = [np.flatnonzero(codes == code) for code in range(len(names))]
    words = np.array([escape_words(name) for name in findings.ids], dtype=object)
    for number, result in enumerate(drawn):
        assert result.embedding is not None
        placed, far = place_samples(result.embedding)
        for code, (name, samples) in enumerate(zip(names, members, strict=True)):
            trace = {
                "type": "scattergl",
                "mode": "markers",
                "x": placed[samples, 0],
                "y": placed[samples, 1],
                "customdata": samples.astype(np.int32),
                "name": escape_words(name),
                "legendgroup": str(code),
                "showlegend": number == 0,
                "hoverinfo": "text+name",
                "hovertext": words[samples],
                "marker": _marker(code, far[samples], len(findings.ids)),
                "selected": {"marker": {"opacity": 0.9}},
                "unselected": {"marker": {"opacity": 0.12}},
            }
            figure.add_trace(trace, *places[number])
    return figure.update_layout(showlegend=findings.labels is not None)


def _make_grid(titles: list[str]) -> tuple[go.Figure, list[tuple[int, int]]]:
    """Return an empty figure with square subplots, and each one's row and column."""
    wide = max(1, min(WIDE, len(titles)))
    places = [(n // wide + 1, n % wide + 1) for n in range(len(titles))]
    high = places[-1][0] if places else 1
    empty = wide * high - max(1, len(titles))
    cells: list[dict[str, Any] | None] = [{}] * (wide * high - empty) + [None] * empty
    figure = load_plotly("subplots").make_subplots(
        high,
        wide,
        specs=[cells[row * wide :][:wide] for row in range(high)],
        subplot_titles=[escape_words(title) for title in titles],
        horizontal_spacing=0.02,
        vertical_spacing=0.15 / high,
    )
    edge = STEPS // 25  # room for symbols whose middle is on the edge
    look = {
        "range": [-edge, STEPS + edge],
        "showgrid": False,
        "showticklabels": False,
        "ticks": "",
        "zeroline": False,
        "linecolor": "#b8bec6",
        "mirror": True,
    }
    figure.update_xaxes(**look).update_yaxes(**look)
    for axis in figure.select_yaxes():
        axis.scaleanchor = axis.anchor
    figure.update_layout(
        template="none",
        hovermode="closest",
        hoverdistance=14,
        legend={"itemsizing": "constant"},
        height=SIDE * high + 60,
        margin={"l": 10, "r": 10, "t": 40, "b": 10},
    )
    return figure, places


def _marker(code: int, far: np.ndarray, n_samples: int) -> dict[str, Any]:
    symbol = _symbol(code)
    size = float(np.clip(10 * np.sqrt(180 / n_samples), 4, 8))
    return {
        "color": COLORS[code % len(COLORS)],
        "symbol": np.where(far, f"{symbol}-open", symbol) if far.any() else symbol,
        "size": round(size * SYMBOLS[symbol], 2),
        "opacity": 0.85,
        "line": {
            "width": np.where(far, 1.5, 0.5) if far.any() else 0.5,
            "color": "white",
        },
    }


def _symbol(number: int) -> str:
    return list(SYMBOLS)[number % len(SYMBOLS)]


def place_samples(embedding: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Put samples into a square, both axes on one scale; far ones at its edge.

    Parameters
    ----------
    embedding : array (n, d)
        Coordinates; the first two are taken, and zeros for a second that is not there.

    Returns
    -------
    placed : array of int16 (n, 2)
        Whole numbers from 0 to `STEPS`.
    far : array of bool (n,)
        Which samples are outside the square.
    """
    points = np.column_stack([embedding, np.zeros(len(embedding))])[:, :2]
    middle = np.median(points, axis=0)
    distance = np.linalg.norm(points - middle, axis=1)
    near = distance <= FAR * np.quantile(distance, 0.95)
    low, high = points[near].min(axis=0), points[near].max(axis=0)
    side = float((high - low).max()) or float(distance.max()) or 1.0
    scaled = 0.5 + (points - (low + high) / 2) / side
    far = ((scaled < -1e-9) | (scaled > 1 + 1e-9)).any(axis=1)
    return np.rint(np.clip(scaled, 0, 1) * STEPS).astype(np.int16), far


def draw_curves(findings: Findings) -> go.Figure:
    """Draw the score of every method against the number of neighbours.

    Parameters
    ----------
    findings : Findings
        What was measured.

    Returns
    -------
    plotly.graph_objects.Figure
        A trace for each method that has a curve; `customdata` says a point in words.
    """
    figure = load_plotly("graph_objects").Figure()
    colors = _curve_colors(findings.results)
    curves = [(r, r.curve) for r in findings.results if r.curve is not None]
    for number, (result, curve) in enumerate(curves):
        twin = result.kind == "twin"
        symbol = _symbol(number)
        color = COLORS[colors[result.name] % len(COLORS)]
        errors = np.nan_to_num(curve.errors)
        figure.add_scatter(
            x=curve.sizes,
            y=curve.means,
            customdata=[f"{result.title}, {words}" for words in tell_curve(curve)],
            name=escape_words(result.title),
            mode="lines+markers",
            line={"width": 2, "dash": "dash" if twin else "solid"},
            marker={
                "color": color,
                "symbol": f"{symbol}-open" if twin else symbol,
                "size": round(8 * SYMBOLS[symbol], 2),
            },
            error_y={"array": errors, "visible": bool(errors.any()), "thickness": 1},
            hoverinfo="none",
        )
    return figure.update_layout(
        template="none",
        hovermode="closest",
        showlegend=True,
        xaxis={
            "type": "log",
            "title": {"text": "K, the number of neighbours"},
            "tickvals": _apart({size for _, curve in curves for size in curve.sizes}),
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={"zeroline": False},
    )


def tell_curve(curve: Curve) -> list[str]:
    """Return each point of a curve in words."""
    return [
        f"K = {size}: {mean:.3f}" + ("" if np.isnan(error) else f" ± {error:.3f}")
        for size, mean, error in zip(
            curve.sizes, curve.means, curve.errors, strict=True
        )
    ]


def _curve_colors(results: list[Result]) -> dict[str, int]:
    """Give each curve the number of a colour; a method and its twin share one."""
    colors: dict[str, int] = {}
    for result in sorted(results, key=lambda r: r.kind == "twin"):
        if result.curve is not None and result.name not in colors:
            colors[result.name] = max(colors.values(), default=-1) + 1
            colors.setdefault(result.twin, colors[result.name])
    return colors


def _apart(sizes: set[int]) -> list[int]:
    """Leave out sizes whose numbers would overlap on a phone's logarithmic axis."""
    kept: list[int] = []
    for size in sorted(sizes):
        if not kept or size >= 2 * kept[-1]:
            kept.append(size)
    return kept


def escape_words(text: str) -> str:
    """Return words that Plotly shows as they are."""
    return html.escape(text, quote=False).replace("$", "&#36;")
