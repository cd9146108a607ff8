"""Sections, style, script and data -> the page.

Names and cells come from the user's file. They reach the page escaped, or as JSON that
the script puts into text nodes only. The data are packed; the browser unpacks them.
Tables and words are plain HTML, which needs no script.
"""

from __future__ import annotations

import base64
import gzip
from importlib.resources import files

from ..record import Findings
from ..verdict import judge
from .curves import draw_curves
from .data import page_data
from .parts import make_page, show_repeat
from .scores import show_recalls, show_scores
from .sections import (
    show_columns,
    show_header,
    show_notes,
    show_pictures,
    show_remarks,
    show_verdict,
)

SCRIPTS = (
    "table.js",
    "colours.js",
    "pictures.js",
    "legend.js",
    "selection.js",
    "traits.js",
)
"""Parts of the script, in order; `start.js` comes last."""


def build_page(findings: Findings) -> str:
    """Return the report.

    Parameters
    ----------
    findings : Findings
        What was measured.

    Returns
    -------
    str
        HTML, about 10 bytes a sample and method and the table itself, packed. The same
        findings make the same page.
    """
    here = files(__package__)
    style = (here / "style.css").read_text("utf-8")
    parts = [(here / name).read_text("utf-8") for name in (*SCRIPTS, "start.js")]
    script = '(() => {\n"use strict";\n' + "\n".join(parts) + "\n})();"
    verdict, packed = judge(findings), _pack(page_data(findings))
    body = "\n".join(
        [
            show_header(findings),
            "<main>",
            show_verdict(findings, verdict),
            show_scores(findings, verdict),
            show_pictures(findings, verdict),
            show_recalls(findings),
            draw_curves(findings),
            show_columns(findings),
            show_remarks(findings),
            show_notes(findings),
            show_repeat(findings.command, findings.versions),
            "</main><div id='tip' role='status' hidden></div>",
            f"<script type='text/plain' id='data'>{packed}</script>",
        ]
    )
    title = f"patchfold: methods compared on {findings.name}"
    return make_page(title, body, style=style, script=script)


def _pack(text: str) -> str:
    """Return the text, compressed for the browser's DecompressionStream."""
    packed = gzip.compress(text.encode("utf-8", "replace"), mtime=0)
    return base64.b64encode(packed).decode()
