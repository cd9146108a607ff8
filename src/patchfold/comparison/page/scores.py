"""The table of scores, the references under it, and the recall of each class."""

from __future__ import annotations

import numpy as np

from ..record import Findings
from ..scoring import Result
from ..verdict import Verdict
from .parts import escape
from .sections import badge

Heading = tuple[str, str, str]
Scale = tuple[float, float, float]

KEPT: tuple[Heading, ...] = (
    ("trustworthiness", "Trust\u00adworthiness", "Neighbours shown are true ones"),
    ("continuity", "Continuity", "True neighbours are shown near"),
    ("triplets", "Triplets", "Order of distances kept; chance is 0.5"),
)
COST: tuple[Heading, ...] = (
    ("seconds", "Seconds", "One fit on all rows, without compilation"),
    ("n_neighbors", "K", "Neighbours"),
)
HEADINGS: dict[str, tuple[Heading, ...]] = {
    "classes": (
        ("held_out", "Held-out accuracy", "On rows not in the fit; ± standard error"),
        ("balanced", "Balanced accuracy", "Mean recall of the classes"),
        ("macro_f1", "Macro F1", "Mean F1 of the classes"),
        ("silhouette", "Silhouette", "How well classes hold together"),
        *KEPT,
        *COST,
    ),
    "numbers": (
        ("held_out", "Held-out R²", "On rows not in the fit; ± standard error"),
        *KEPT,
        *COST,
    ),
    "none": (*KEPT, *COST),
}

WIDTH = 120
"""Width of the scale in front of the first score, in pixels."""


def show_scores(findings: Findings, verdict: Verdict) -> str:
    """Return the scores, best first; references stand apart."""
    task = findings.task
    own, apart = (
        findings.ranked(),
        [r for r in findings.results if r.kind in ("reference", "control")],
    )
    headings = [h for h in HEADINGS[task] if _is_measured([*own, *apart], h[0])]
    if not headings:
        headings = list(HEADINGS[task][:1])
    scale = _scale([*own, *apart])
    body = "".join(_row(r, headings, verdict, scale) for r in own)
    below = "".join(_row(r, headings, verdict, scale) for r in apart)
    title = "<th aria-sort='none'><button>Method</button></th>"
    head = title + "".join(
        f"<th aria-sort='{'descending' if k == 0 else 'none'}' title='{escape(words)}'>"
        f"<button>{label}</button></th>"
        for k, (_, label, words) in enumerate(headings)
    )
    if below:
        below = (
            "<tbody class='apart'><tr><th class='group' scope='rowgroup' "
            f"colspan='{len(headings) + 1}'>References, not methods</th></tr>"
            f"{below}</tbody>"
        )
    return f"""<section aria-labelledby='scores'><h2 id='scores'>Scores</h2>
<div class='wide' tabindex='0' role='region' aria-label='Table of scores'>
<table id='scores-table'><thead><tr>{head}</tr></thead><tbody>{body}</tbody>{below}
</table></div><p class='hint'>{_legend(verdict, scale)}</p></section>"""


def _legend(verdict: Verdict, scale: Scale) -> str:
    words = "Higher is better, except for seconds. Press a heading to sort."
    if np.isfinite(scale[2]):
        words = f"The line across a scale is the guess. {words}"
    if len(verdict.best) < 2:
        return words
    return (
        "<span class='badge best'>best</span> has the highest score; "
        f"<span class='badge'>≈ best</span> cannot be told apart from it. {words}"
    )


def _is_measured(results: list[Result], field: str) -> bool:
    """Say whether a column has a value in any row: no column stays empty."""
    values = [getattr(r, field) for r in results if not r.failure]
    return any(value is not None and np.isfinite(value) for value in values)


def _scale(results: list[Result]) -> Scale:
    """Return the ends of the scale of the first score, and the guess on it."""
    values = [r.primary for r in results if np.isfinite(r.primary)]
    if not values:
        return 0.0, 1.0, np.nan
    low, high = max(min(values), -0.2), max(values)
    room = max(0.05 * (high - low), 0.01)
    guess = next((r.primary for r in results if r.name == "guess"), np.nan)
    return low - room, min(high + room, 1.0), guess


def _row(
    result: Result,
    headings: list[Heading],
    verdict: Verdict,
    scale: Scale,
) -> str:
    name = f"<b>{escape(result.title)}</b>{badge(result, verdict)}"
    if result.remark and not result.failure:
        name += f"<small>{escape(result.remark)}</small>"
    if result.failure:
        name += f"<small class='failed'>failed: {escape(result.failure)}</small>"
    cells = "".join(
        _cell(result, field, k == 0, scale) for k, (field, *_) in enumerate(headings)
    )
    marked = " marked" if result.name in verdict.best else ""
    first = f"<th scope='row' data-value='{escape(result.title.lower())}'>{name}</th>"
    return f"<tr class='{result.kind}{marked}'>{first}{cells}</tr>"


def _cell(result: Result, field: str, is_first: bool, scale: Scale) -> str:
    value = getattr(result, field)
    value = np.nan if value is None else float(value)
    if not np.isfinite(value):
        return "<td data-value=''>–</td>"
    digits = {"seconds": 2, "n_neighbors": 0}.get(field, 3)
    text = f"{value:.{digits}f}"
    if field == "seconds" and result.compile_seconds > 0.5:
        text += f"<small>+ {result.compile_seconds:.1f} to compile</small>"
    if is_first:
        if np.isfinite(result.error):
            text += f" <span class='error'>± {result.error:.3f}</span>"
        text = f"{_dot(value, result.error, scale)}<span class='nowrap'>{text}</span>"
    return f"<td data-value='{value!r}'>{text}</td>"


def _dot(value: float, error: float, scale: Scale) -> str:
    """Return a dot on the scale, with a line of one standard error to both sides."""
    low, high, guess = scale
    error = error if np.isfinite(error) else 0.0

    def place(score: float) -> float:
        share = float(np.clip((score - low) / (high - low), 0, 1))
        return round(5 + share * (WIDTH - 10), 1)

    line = f"<path class='guess' d='M{place(guess)},0V12'/>"
    return (
        f"<svg class='dot' viewBox='0 0 {WIDTH} 12' aria-hidden='true'>"
        f"<path class='rail' d='M0,6H{WIDTH}'/>{line if np.isfinite(guess) else ''}"
        f"<path class='whisker' d='M{place(value - error)},6H{place(value + error)}'/>"
        f"<circle cx='{place(value)}' cy='6' r='4'/></svg>"
    )


def show_recalls(findings: Findings) -> str:
    """Return the recall of each class by every method, the best methods first."""
    shown = [r for r in findings.ranked() if r.recalls]
    if not shown or findings.labels is None:
        return ""
    counts = np.bincount(findings.labels, minlength=len(findings.class_names))
    head = "".join(f"<th scope='col'>{escape(r.title)}</th>" for r in shown)
    best = shown[0]
    if best.mistaken:
        head = f"<th scope='col'>Taken for, by {escape(best.title)}</th>{head}"
    rows = []
    for c, name in enumerate(findings.class_names):
        cells = "".join(_shade(r.recalls[c]) for r in shown)
        if best.mistaken:
            other, count = best.mistaken[c]
            said = f"{findings.class_names[other]} ({count:,})" if count else "–"
            cells = f"<td class='words'>{escape(said)}</td>{cells}"
        rows.append(
            f"<tr><th scope='row'>{escape(name)}</th><td>{counts[c]:,}</td>{cells}</tr>"
        )
    title = "Recall of each class, and what it is taken for"
    return f"""<details id='recalls'><summary>{title}</summary>
<p class='hint'>Share of the held-out rows of a class that are classified correctly,
and the class that the best method most often says instead.</p>
<div class='wide' tabindex='0' role='region' aria-label='Recall of each class'>
<table class='shades'><thead><tr>
<th scope='col'>Class</th><th scope='col'>Rows</th>{head}</tr></thead>
<tbody>{"".join(rows)}</tbody></table></div></details>"""


def _shade(value: float) -> str:
    if not np.isfinite(value):
        return "<td>–</td>"
    return f"<td style='--part:{round(100 * value)}%'>{value:.2f}</td>"
