"""Findings -> one page of HTML that needs nothing else.

The pictures are drawn on canvas by `report.js`, about 400 lines of our own, rather
than by Plotly: a dozen linked panels of 2,000 points are slow in SVG, which the 1 MB
basic bundle is limited to, and the bundle with WebGL has 3.5 MB of script before the
first point.

Names and cells come from the user's file. They reach the page escaped, or as JSON that
the script puts into text nodes only; and the page's policy lets no other script run and
nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from typing import Any

import numpy as np

from .record import Findings
from .scoring import Curve, Result

STEPS = 9999
"""A coordinate is a whole number from 0 to this: finer than any screen."""

FAR = 3.0
"""Farther than this many times the distance that holds 95 % of the samples is far."""

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
        HTML, about 100 bytes a sample and method beside 25 kB.
    """
    here = files(__package__)
    style = (here / "report.css").read_text("utf-8")
    script = (here / "report.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
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
            f"<script type='application/json' id='data'>{_data(findings)}</script>",
            f"<script>{script}</script></body></html>\n",
        ]
    )


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
    panels = "".join(
        f"<figure class='panel'><figcaption><b>{_escape(r.title)}</b> "
        f"<span>{_escape(_caption(r))}</span></figcaption>"
        f"<div class='plot' data-panel='{n}'></div></figure>"
        for n, r in enumerate(_drawn(findings))
    )
    return f"""<h2 id='pictures'>Pictures</h2>
<p>A sample has the same colour and shape everywhere. Point at one to see it in every
picture; draw around some to select them; press a class to hide it.</p>
<div class='bar'><div id='legend' role='group' aria-label='Classes'></div>
<div class='tools'><button id='lasso' aria-pressed='false'>Lasso by touch</button>
<button id='clear' disabled>Clear selection</button>
<output id='selected'></output></div></div>
<noscript><p>The pictures need JavaScript; the tables below do not.</p></noscript>
<div class='panels'>{panels}</div><div id='tip' role='status' hidden></div>"""


def _caption(result: Result) -> str:
    words = []
    if result.kind == "patch" and result.remark.startswith("supervised"):
        words.append("supervised")
    if np.isfinite(result.held_out):
        words.append(f"held-out {result.held_out:.2f}")
    elif np.isfinite(result.trustworthiness):
        words.append(f"trust {result.trustworthiness:.2f}")
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
        f"<td>{_curve_words(curve)}</td></tr>"
        for r, curve in drawn
    )
    return f"""<h2 id='sizes'>{what} against K</h2>
<p>K is the number of neighbours. Solid lines compare patches, dashed ones of the same
colour are their Euclidean twins. Do not pick K by the highest point and quote its
score: a choice needs samples of its own.</p>
<div id='curves' data-what='{what}'></div><ul id='curve-legend'></ul>
<details><summary>The numbers</summary><div class='wide'><table>{rows}</table></div>
</details>"""


def _curve_words(curve: Curve) -> str:
    return ", ".join(
        f"K={size}: {mean:.3f}" + ("" if np.isnan(error) else f" ± {error:.3f}")
        for size, mean, error in zip(
            curve.sizes, curve.means, curve.errors, strict=True
        )
    )


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


def _drawn(findings: Findings) -> list[Result]:
    return [r for r in findings.results if r.name in findings.embeddings]


def _data(findings: Findings) -> str:
    """Return what the script draws, as JSON that cannot end its element."""
    frame = findings.frame.iloc[:, :HOVER_COLUMNS]
    drawn = _drawn(findings)
    colors = _curve_colors(findings.results)
    data: dict[str, Any] = {
        "classes": findings.class_names,
        "labels": None if findings.labels is None else findings.labels.tolist(),
        "ids": findings.ids,
        "columns": [str(name) for name in frame.columns],
        "more": findings.frame.shape[1] - frame.shape[1],
        "cells": [[_cell(value) for value in frame[name]] for name in frame.columns],
        "panels": [
            {"title": r.title, **_placed(r.embedding)}
            for r in drawn
            if r.embedding is not None
        ],
        "curves": [
            {
                "title": r.title,
                "color": colors[r.name],
                "dashed": r.kind == "twin",
                "sizes": r.curve.sizes,
                "means": [round(mean, 4) for mean in r.curve.means],
                "errors": [_finite(error) for error in r.curve.errors],
            }
            for r in findings.results
            if r.curve is not None
        ],
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _placed(embedding: np.ndarray) -> dict[str, Any]:
    """Return positions in a square, both axes on one scale; far samples at its edge."""
    points = np.column_stack([embedding, np.zeros(len(embedding))])[:, :2]
    middle = np.median(points, axis=0)
    distance = np.linalg.norm(points - middle, axis=1)
    near = distance <= FAR * np.quantile(distance, 0.95)
    low, high = points[near].min(axis=0), points[near].max(axis=0)
    side = max(float((high - low).max()), np.finfo(float).tiny)
    scaled = 0.5 + (points - (low + high) / 2) / side
    outside = ((scaled < -1e-9) | (scaled > 1 + 1e-9)).any(axis=1)
    whole = np.rint(np.clip(scaled, 0, 1) * STEPS).astype(int)
    return {
        "x": whole[:, 0].tolist(),
        "y": (STEPS - whole[:, 1]).tolist(),
        "far": np.flatnonzero(outside).tolist(),
    }


def _curve_colors(results: list[Result]) -> dict[str, int]:
    """Give each curve the number of a colour; a method and its twin share one."""
    colors: dict[str, int] = {}
    for result in sorted(results, key=lambda r: r.kind == "twin"):
        if result.curve is not None and result.name not in colors:
            colors[result.name] = max(colors.values(), default=-1) + 1
            colors.setdefault(result.twin, colors[result.name])
    return colors


def _cell(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return "missing" if np.isnan(value) else f"{value:.4g}"
    return str(value)[:60]


def _finite(value: float) -> float | None:
    return round(value, 4) if np.isfinite(value) else None


def _number(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}" if np.isfinite(value) else "–"


def _escape(text: str) -> str:
    # A file's name need not be text: its other bytes cannot be written as UTF-8.
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"), quote=True)
