"""Sections of the page in words: header, answer, pictures, columns, notes."""

from __future__ import annotations

import numpy as np

from ..placing import place_samples
from ..record import Findings
from ..scoring import Result
from ..verdict import Verdict
from .parts import escape, show_answer, show_reasons, show_title

TASKS = {"classes": "classes", "numbers": "a measurement", "none": ""}


def show_header(findings: Findings) -> str:
    """Return the title and what the table is: rows given, used, the target."""
    n = len(findings.ids)
    given = findings.n_given or n
    rows = f"<b>{n:,} rows</b>"
    if given != n:
        rows = f"{given:,} rows given, <b>{n:,} used</b>"
    facts = [rows, f"{_n_features(findings):,} columns"]
    if findings.labels is not None:
        facts.append(_target(findings, f"{len(findings.class_names)} classes"))
    elif findings.values is not None:
        low, high = findings.values.min(), findings.values.max()
        facts.append(_target(findings, f"numbers from {low:.4g} to {high:.4g}"))
    else:
        facts.append("no target")
    facts.append(f"{len(findings.ranked())} methods")
    if findings.n_splits:
        facts.append(f"{findings.n_splits} folds")
    return show_title("patchfold compare", findings.name, facts)


def _n_features(findings: Findings) -> int:
    unused = ("target", "id", "left out")
    kinds = [kind for _, kind, _ in findings.columns]
    return sum(not kind.startswith(unused) for kind in kinds)


def _target(findings: Findings, words: str) -> str:
    name = f"target “{escape(findings.target)}”, " if findings.target else ""
    return f"{name}{words}"


def show_verdict(findings: Findings, verdict: Verdict) -> str:
    """Return the answer, and reasons to trust it or not."""
    first, *rest = verdict.sentences
    answer = show_answer("Which method shows it best?", first, " ".join(rest))
    reasons = [*verdict.reasons, *(("careful", r) for r in findings.remarks)]
    return answer + show_reasons("trust", "Can you trust it?", reasons)


def show_pictures(findings: Findings, verdict: Verdict) -> str:
    """Return the frames of the pictures and the tools above them."""
    drawn = [r for r in findings.ranked() if r.name in findings.embeddings]
    n = len(findings.ids)
    panels = "".join(_panel(result, n, verdict) for result in drawn)
    if not panels:
        return "<div hidden id='wait'></div>"
    return f"""<section aria-labelledby='pictures'><h2 id='pictures'>Pictures</h2>
<p class='hint'>Best first. A row has the same colour and shape in every picture: point
at one to find it in the others. Draw around some to select them. Press a class to hide
it; press it twice, or with Shift, to show it alone.</p>
<div class='bar'><div class='tools'>
<label>Colour by <select id='colour'></select></label>
<span role='group' aria-label='What a drag does'>
<button data-drag='lasso'>Lasso</button>
<button data-drag='zoom'>Zoom</button></span>
<button id='clear' disabled>Clear selection</button>
<button id='export'>Save rows as CSV</button>
<output id='selected'></output></div>
<div id='legend' role='group' aria-label='Colours' tabindex='0'></div>
<p id='traits' role='status'></p></div>
<noscript><p>The pictures need JavaScript; the tables do not.</p></noscript>
<p id='wait' role='status' hidden>The pictures are being unpacked …</p>
<div id='panels'>{panels}</div>
<details id='apart' hidden><summary>What sets each class apart</summary>
<p class='hint'>For each class of the colours, the columns that differ most from all
other rows, in standard deviations or shares.</p><dl></dl></details></section>"""


def _panel(result: Result, n_samples: int, verdict: Verdict) -> str:
    title = escape(result.title)
    said = [f"{title} {escape(why)}." for why in (result.hides, result.flatters) if why]
    hides = f"<p class='hides'>{' '.join(said)}</p>" if said else ""
    return (
        f"<figure class='panel'><figcaption><b>{title}</b>{badge(result, verdict)} "
        f"<span>{escape(_caption(result))}</span></figcaption><div class='plot'>"
        f"<canvas role='img' aria-label='{title}: {n_samples:,} rows, two dimensions'>"
        f"</canvas><i class='ring' hidden></i></div>{hides}</figure>"
    )


def badge(result: Result, verdict: Verdict) -> str:
    """Return the mark of the best method, or of one that cannot be told from it."""
    if result.name not in verdict.best:
        return ""
    if result.name == verdict.best[0]:
        return " <span class='badge best'>best</span>"
    return " <span class='badge'>≈ best</span>"


def _caption(result: Result) -> str:
    assert result.embedding is not None
    words = []
    if result.supervised:
        words.append("saw the labels")
    if np.isfinite(result.held_out):
        words.append(f"held-out {result.held_out:.2f}")
    if np.isfinite(result.trustworthiness):
        words.append(f"trust {result.trustworthiness:.2f}")
    n_far = place_samples(result.embedding)[1].sum()
    if n_far:
        words.append(f"{n_far} far away: open marks at the edge")
    return " · ".join(words)


def show_columns(findings: Findings) -> str:
    """Return what was done to each column."""
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in findings.columns
    )
    return (
        "<details id='columns'><summary>What was done to the columns</summary>"
        "<div class='wide' tabindex='0'><table><thead><tr><th>column</th>"
        "<th>what it is</th><th>what was done</th></tr>"
        f"</thead><tbody>{rows}</tbody></table></div></details>"
    )


def show_remarks(findings: Findings) -> str:
    """Return the warnings that the methods gave while they ran."""
    said: dict[str, list[str]] = {}
    for result in findings.results:
        for remark in result.remarks:
            said.setdefault(remark, []).append(result.title)
    if not said:
        return ""
    items = [
        f"<li><b>{escape(', '.join(who))}:</b> {escape(remark)}</li>"
        for remark, who in said.items()
    ]
    return (
        "<details id='warnings'><summary>Warnings of the methods "
        f"({len(items)})</summary><ul>{''.join(items)}</ul></details>"
    )


def show_notes(findings: Findings) -> str:
    """Return what the scores mean."""
    items = [
        "<dt>Trustworthiness</dt><dd>Share of neighbours in the picture that are "
        "neighbours in the table, of 5; a false one costs more the farther it is.</dd>",
        "<dt>Continuity</dt><dd>The same the other way: neighbours in the table that "
        "stay neighbours in the picture.</dd>",
        "<dt>Triplets</dt><dd>Of a row and two others: how often the nearer one in the "
        "table is the nearer one in the picture. 0.5 is chance.</dd>",
    ]
    if findings.task == "classes":
        items = [
            "<dt>Held-out accuracy</dt><dd>The rows are cut into "
            f"{findings.n_splits} folds with every class in its share. Columns are "
            "encoded and the method is fitted without the fold, <code>transform</code> "
            "places it, and the 7 nearest training rows classify it. ± is the standard "
            "error over the folds.</dd>",
            "<dt>Balanced accuracy</dt><dd>Mean recall of the classes, rare ones "
            "counting as much as others; of all held-out rows together.</dd>",
            "<dt>Macro F1</dt><dd>Mean F1 of the classes, of all held-out rows.</dd>",
            "<dt>Silhouette</dt><dd>How well classes hold together in the picture of "
            "all rows; a supervised method has seen them.</dd>",
            *items,
        ]
    elif findings.task == "numbers":
        items.insert(
            0,
            "<dt>Held-out R²</dt><dd>The rows are cut into "
            f"{findings.n_splits} folds. The method is fitted without the fold, "
            "<code>transform</code> places it, and the mean of the 7 nearest training "
            "rows predicts it. 1 is perfect, 0 is the mean of all rows.</dd>",
        )
    return (
        "<details id='meaning'><summary>What the scores mean</summary>"
        f"<dl>{''.join(items)}</dl></details>"
    )
