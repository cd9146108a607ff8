"""Findings -> one page of HTML that needs nothing else.

Plotly draws the pictures. Its script travels in the page, packed: 4.8 MB are 2 MB, and
the browser unpacks them. The data are packed with it. What can do without pictures, the
tables above all, is plain HTML.

Names and cells come from the user's file. They reach the page escaped, or as JSON that
`report.js` puts into text nodes only, never into Plotly's labels, which are read as a
kind of HTML; and the page's policy lets no script run but these two and nothing be
fetched.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import html
import json
from importlib.resources import files
from typing import Any

import numpy as np

from .figure import (
    COLORS,
    draw_curves,
    draw_embeddings,
    drawn_results,
    load_plotly,
    place_samples,
    tell_curve,
)
from .record import Findings
from .scoring import Result

DARK = ("#4DA3DB", "#F08A4B", "#35C49A", "#E3A1C6", "#F0BC42", "#9AD0F5", "#C4C7CC")
"""What `COLORS` are on a dark page."""

HOVER_COLUMNS = 12
"""So many columns of a sample are shown under the pointer."""

HEADINGS = (
    ("method", "Method", ""),
    ("silhouette", "Silhouette", "How well the classes hold together; of all samples"),
    ("held_out", "Held-out accuracy", "On samples not in the fit; ± standard error"),
    ("trust", "Trustworthiness", "Share of embedded neighbours that are true ones"),
    ("seconds", "Seconds", "One fit on all samples"),
    ("k", "K", "Neighbours"),
)


def build_page(findings: Findings) -> str:
    """Return the report.

    Parameters
    ----------
    findings : Findings
        What was measured.

    Returns
    -------
    str
        HTML, about 20 bytes a sample and method beside 2 MB. The same findings make the
        same page.
    """
    here = files(__package__)
    style = (here / "report.css").read_text("utf-8")
    script = (here / "report.js").read_text("utf-8")
    packed, digest = _packed_plotly()
    # Plotly adds styles of its own, and Plotly 6 tries a picture of one pixel when it
    # starts. Its WebGL part compiles the code that feeds the shaders with `Function`,
    # which is eval: only these two scripts can call it, and neither does so with
    # anything from the user's file.
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'unsafe-eval' '{_digest(script)}' '{digest}'"
    )
    title = _escape(f"patchfold: methods compared on {findings.name}")
    return "\n".join(
        [
            "<!doctype html>",
            "<html lang='en'><head><meta charset='utf-8'>",
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            "<meta name='viewport' content='width=device-width, initial-scale=1'>",
            f"<title>{title}</title><style>{style}</style></head><body>",
            _opening(findings),
            _pictures(findings),
            _table(findings),
            _curves(findings),
            _columns(findings),
            _remarks(findings),
            _repeat(findings),
            f"<script type='text/plain' id='data'>{_pack(_data(findings))}</script>",
            f"<script type='text/plain' id='plotly'>{packed}</script>",
            f"<script>{script}</script></body></html>\n",
        ]
    )


@functools.cache
def _packed_plotly() -> tuple[str, str]:
    """Return Plotly's script packed, and the digest that lets it run."""
    script = load_plotly("offline").get_plotlyjs()
    return _pack(script), _digest(script)


def _pack(text: str) -> str:
    """Return what the browser's DecompressionStream turns back into the text."""
    packed = gzip.compress(text.encode("utf-8"), mtime=0)
    return base64.b64encode(packed).decode()


def _digest(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _opening(findings: Findings) -> str:
    n = len(findings.ids)
    words = f"{n:,} samples"
    if findings.labels is not None:
        largest = np.bincount(findings.labels).max() / n
        words += (
            f", {len(findings.class_names)} classes; always guessing the largest "
            f"class is right for {largest:.3f} of them"
        )
    return f"<h1>{_escape(findings.name)}</h1><p class='lead'>{words}.</p>"


def _pictures(findings: Findings) -> str:
    n = len(findings.ids)
    panels = "".join(_panel(result, n) for result in drawn_results(findings))
    return f"""<section><h2 id='pictures'>Pictures</h2>
<p>A sample has the same colour and shape everywhere. Point at one to see it in every
picture. Press Lasso and draw around some to select them, or Zoom and draw a box to see
it larger; two clicks go back. Press a class to hide it.</p>
<div class='bar'><div id='legend' role='group' aria-label='Classes'></div>
<div class='tools'><button data-drag='lasso'>Lasso</button>
<button data-drag='zoom'>Zoom</button>
<button id='clear' disabled>Clear selection</button>
<output id='selected'></output></div></div>
<noscript><p>The pictures need JavaScript; the tables below do not.</p></noscript>
<p id='wait' role='status' hidden>The pictures are being unpacked …</p>
<div id='panels'>{panels}<div id='points'></div></div></section>
<div id='tip' role='status' hidden></div>"""


def _panel(result: Result, n_samples: int) -> str:
    title = _escape(result.title)
    return (
        f"<figure class='panel'><figcaption><b>{title}</b> "
        f"<span>{_escape(_caption(result))}</span></figcaption><div class='plot' "
        f"role='img' aria-label='{title}: {n_samples} samples in two dimensions'>"
        "<i class='ring' hidden></i></div></figure>"
    )


def _caption(result: Result) -> str:
    assert result.embedding is not None
    words = []
    if result.kind == "patch" and result.remark.startswith("supervised"):
        words.append("supervised")
    if np.isfinite(result.held_out):
        words.append(f"held-out {result.held_out:.2f}")
    elif np.isfinite(result.trustworthiness):
        words.append(f"trust {result.trustworthiness:.2f}")
    n_far = place_samples(result.embedding)[1].sum()
    if n_far:
        words.append(f"{n_far} far away, open at the edge")
    return ", ".join(words)


def _table(findings: Findings) -> str:
    head = "".join(
        f"<th aria-sort='none' title='{_escape(words)}'><button>{label}</button></th>"
        for _, label, words in HEADINGS
    )
    body = "".join(_row(result) for result in findings.results)
    return f"""<h2 id='scores'>Scores</h2><div class='wide'><table id='scores-table'>
<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>
<p>{_explanation(findings)}</p>"""


def _row(result: Result) -> str:
    name = f"<b>{_escape(result.title)}</b>"
    if result.failure:
        name += f"<small>failed: {_escape(result.failure)}</small>"
    elif result.remark:
        name += f"<small>{_escape(result.remark)}</small>"
    accuracy = _number(result.held_out)
    if np.isfinite(result.held_out_error):
        accuracy += f" <span class='error'>± {result.held_out_error:.3f}</span>"
    cells = [
        (result.silhouette, _number(result.silhouette)),
        (result.held_out, accuracy),
        (result.trustworthiness, _number(result.trustworthiness)),
        (result.seconds, _number(result.seconds, 2)),
        (result.n_neighbors or np.nan, str(result.n_neighbors or "–")),
    ]
    tds = "".join(
        f"<td data-value='{'' if np.isnan(value) else repr(float(value))}'>{text}</td>"
        for value, text in cells
    )
    key = _escape(result.title.lower())
    first = f"<th scope='row' data-value='{key}'>{name}</th>"
    return f"<tr class='{result.kind}'>{first}{tds}</tr>"


def _explanation(findings: Findings) -> str:
    trust = "Trustworthiness is that of 5 neighbours, in the encoded columns."
    if findings.labels is None:
        return trust
    return (
        "Silhouette: of the classes in the picture of all samples; a supervised method "
        "has seen them. Held-out accuracy: the samples are cut into "
        f"{findings.n_splits} parts; columns are encoded and the method is fitted "
        "without the part, <code>transform</code> places it, and the 7 nearest "
        "training samples classify it; ± is the standard error over the parts. " + trust
    )


def _curves(findings: Findings) -> str:
    drawn = [(r, r.curve) for r in findings.results if r.curve is not None]
    if not drawn:
        return ""
    what = "Held-out accuracy" if findings.labels is not None else "Trustworthiness"
    rows = "".join(
        f"<tr><th scope='row'>{_escape(r.title)}</th>"
        f"<td>{', '.join(tell_curve(curve))}</td></tr>"
        for r, curve in drawn
    )
    return f"""<h2 id='sizes'>{what} against K</h2>
<p>K is the number of neighbours. Solid lines compare patches, dashed ones of the same
colour are their Euclidean twins. Do not pick K by the highest point and quote its
score: a choice needs samples of its own.</p>
<div id='curves' role='img' aria-label='{what} against K'></div>
<details id='numbers'><summary>The numbers</summary><div class='wide'>
<table>{rows}</table></div></details>"""


def _columns(findings: Findings) -> str:
    rows = "".join(
        "<tr>" + "".join(f"<td>{_escape(cell)}</td>" for cell in row) + "</tr>"
        for row in findings.columns
    )
    return (
        "<h2 id='columns'>What was done to the columns</h2><div class='wide'><table>"
        "<thead><tr><th>column</th><th>what it is</th><th>what was done</th></tr>"
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _remarks(findings: Findings) -> str:
    said: dict[str, list[str]] = {remark: [] for remark in findings.remarks}
    for result in findings.results:
        for remark in result.remarks:
            said.setdefault(remark, []).append(result.title)
    if not said:
        return ""
    items = []
    for remark, who in said.items():
        whose = f"<b>{_escape(', '.join(who))}:</b> " if who else ""
        items.append(f"<li>{whose}{_escape(remark)}</li>")
    return f"<h2 id='warnings'>Warnings</h2><ul>{''.join(items)}</ul>"


def _repeat(findings: Findings) -> str:
    versions = ", ".join(f"{name} {v}" for name, v in findings.versions.items())
    return (
        "<h2 id='repeat'>To repeat it</h2>"
        f"<pre><code>{_escape(findings.command)}</code></pre>"
        f"<p>{_escape(versions)}.</p>"
    )


def _data(findings: Findings) -> str:
    """Return what the script shows, as JSON."""
    frame = findings.frame.iloc[:, :HOVER_COLUMNS]
    data: dict[str, Any] = {
        "classes": findings.class_names,
        "labels": None if findings.labels is None else findings.labels.tolist(),
        "ids": findings.ids,
        "columns": [str(name) for name in frame.columns],
        "more": findings.frame.shape[1] - frame.shape[1],
        "cells": [[_cell(value) for value in frame[name]] for name in frame.columns],
        "dark": dict(zip(COLORS, DARK, strict=True)),
        "points": _bare_points(findings),
        "curves": json.loads(draw_curves(findings).to_json()),
    }
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def _bare_points(findings: Findings) -> dict[str, Any]:
    """Return the figure without words: titles, classes and hover are the page's."""
    figure = draw_embeddings(findings)
    figure.update_traces(name=None, hovertext=None, hoverinfo="none")
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False, scaleanchor=None)  # the page's boxes are square
    figure.update_layout(showlegend=False).layout.annotations = ()
    return json.loads(figure.to_json())


def _cell(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return "missing" if np.isnan(value) else f"{value:.4g}"
    return str(value)[:60]


def _number(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}" if np.isfinite(value) else "–"


def _escape(text: str) -> str:
    # A file's name need not be text: its other bytes cannot be written as UTF-8.
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"), quote=True)
