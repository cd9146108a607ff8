"""Findings -> a Plotly figure: samples as every method places them.

One figure holds every method's picture, as a browser keeps about 16 WebGL contexts and
a figure takes three.

Plotly reads names as a kind of HTML, and what is between dollars as a formula. Names
from the user's file are escaped.
"""

from __future__ import annotations

import html
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from .placing import STEPS, place_samples
from .record import Findings
from .scoring import Result

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

WIDE = 4
"""Pictures side by side."""

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


def escape_words(text: str) -> str:
    """Return words that Plotly shows as they are."""
    return html.escape(text, quote=False).replace("$", "&#36;")
