"""Scores against the number of neighbours -> a drawing in SVG, and its numbers."""

from __future__ import annotations

import numpy as np

from ..record import Findings
from ..scoring import Curve, Result
from .parts import escape

WIDTH, HEIGHT = 720, 320
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 12, 40


def draw_curves(findings: Findings) -> str:
    """Return the section of the curves, empty if there are none."""
    drawn = [(r, r.curve) for r in findings.ranked() if r.curve is not None]
    if not drawn:
        return ""
    what = {"classes": "Held-out accuracy", "numbers": "Held-out R²"}.get(
        findings.task, "Trustworthiness"
    )
    colors = curve_colors([r for r, _ in drawn])
    rows = "".join(
        f"<tr><th scope='row'>{escape(r.title)}</th>"
        f"<td>{', '.join(tell_curve(curve))}</td></tr>"
        for r, curve in drawn
    )
    keys = "".join(
        f"<li><svg viewBox='0 0 28 10' aria-hidden='true' class='{_class(r, colors)}'>"
        f"<path d='M0,5H28'/></svg>{escape(r.title)}</li>"
        for r, _ in drawn
    )
    parts = " Scores of one fold." if findings.task != "none" else ""
    if any(r.kind == "twin" for r, _ in drawn):
        parts += (
            " A dashed line is the same method with Euclidean distances instead of "
            "patches."
        )
    return f"""<section aria-labelledby='sizes'><h2 id='sizes'>{what} against K</h2>
<p class='hint'>K is the number of neighbours.{parts} If you choose K by this drawing,
the score of that K is too good: score it on other rows.</p>
<div class='wide' tabindex='0' role='region' aria-label='Drawing of {what} against K'>
{_chart(drawn, colors, what)}</div><ul class='keys'>{keys}</ul>
<details id='numbers'><summary>The numbers</summary><div class='wide' tabindex='0'>
<table>{rows}</table></div></details></section>"""


def _class(result: Result, colors: dict[str, int]) -> str:
    dash = " dashed" if result.kind == "twin" else ""
    return f"line c{colors[result.name] % 7}{dash}"


def _chart(drawn: list[tuple[Result, Curve]], colors: dict[str, int], what: str) -> str:
    sizes = sorted({size for _, curve in drawn for size in curve.sizes})
    scores = [mean for _, curve in drawn for mean in curve.means if np.isfinite(mean)]
    low, high = (min(scores), max(scores)) if scores else (0.0, 1.0)
    room = max(0.06 * (high - low), 0.005)
    low, high = low - room, high + room
    start, end = np.log(sizes[0]), np.log(sizes[-1])

    def across(size: float) -> float:
        share = (np.log(size) - start) / (end - start) if end > start else 0.5
        return round(LEFT + float(share) * (WIDTH - LEFT - RIGHT), 1)

    def down(score: float) -> float:
        share = (score - low) / (high - low)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    lines = []
    for score in _ticks(low, high):
        y = down(score)
        lines.append(
            f"<path class='grid' d='M{LEFT},{y}H{WIDTH - RIGHT}'/><text x='{LEFT - 8}' "
            f"y='{y + 4}' text-anchor='end'>{score:g}</text>"
        )
    for size in _apart(sizes):
        lines.append(
            f"<text x='{across(size)}' y='{HEIGHT - 18}' text-anchor='middle'>"
            f"{size}</text>"
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    lines.append(f"<text x='{middle}' y='{HEIGHT - 2}' text-anchor='middle'>K</text>")
    for result, curve in drawn:
        points = list(zip(curve.sizes, curve.means, tell_curve(curve), strict=True))
        known = [
            (across(k), down(mean), words)
            for k, mean, words in points
            if np.isfinite(mean)
        ]
        path = "L".join(f"{x},{y}" for x, y, _ in known)
        dots = "".join(
            f"<circle cx='{x}' cy='{y}' r='4'><title>{escape(result.title)}, {words}"
            "</title></circle>"
            for x, y, words in known
        )
        lines.append(
            f"<g class='{_class(result, colors)}'><path d='M{path}'/>{dots}</g>"
        )
    return (
        f"<svg class='chart' viewBox='0 0 {WIDTH} {HEIGHT}' role='img' "
        f"aria-label='{what} against K; the numbers are below'>{''.join(lines)}</svg>"
    )


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers between the ends, about five."""
    step = 10.0 ** np.floor(np.log10((high - low) / 4))
    for factor in (1, 2, 5, 10):
        if (high - low) / (factor * step) <= 6:
            step *= factor
            break
    first, last = np.ceil(low / step), np.floor(high / step)
    return [round(float(k * step), 10) for k in np.arange(first, last + 1)]


def _apart(sizes: list[int]) -> list[int]:
    """Leave out sizes whose numbers would overlap on a logarithmic axis."""
    kept: list[int] = []
    for size in sizes:
        if not kept or size >= 1.3 * kept[-1]:
            kept.append(size)
    return kept


def tell_curve(curve: Curve) -> list[str]:
    """Return each point of a curve in words."""
    return [
        f"K = {size}: {mean:.3f}" + ("" if np.isnan(error) else f" ± {error:.3f}")
        for size, mean, error in zip(
            curve.sizes, curve.means, curve.errors, strict=True
        )
    ]


def curve_colors(results: list[Result]) -> dict[str, int]:
    """Give each curve the number of a colour; a method and its twin share one."""
    colors: dict[str, int] = {}
    for result in sorted(results, key=lambda r: r.kind == "twin"):
        if result.curve is not None and result.name not in colors:
            colors[result.name] = max(colors.values(), default=-1) + 1
            colors.setdefault(result.twin, colors[result.name])
    return colors
