"""Parts that every report has: the page itself, an answer, reasons, how to repeat it.

The page's policy lets no script run but its own, and nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Mapping
from importlib.resources import files


def escape(text: str) -> str:
    """Return text as HTML; bytes of a file's name that are no text become marks."""
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"), quote=True)


def make_page(title: str, body: str, *, style: str, script: str = "") -> str:
    """Return a page of HTML that needs nothing else.

    Parameters
    ----------
    title : str
        Plain text.
    body : str
        HTML.
    style : str
        CSS of this kind of report; that of all reports comes before it.
    script : str, default=""
        The one script that may run.

    Returns
    -------
    str
    """
    base = (files(__package__) / "base.css").read_text("utf-8")
    allowed = f"; script-src '{_digest(script)}'" if script else ""
    policy = f"default-src 'none'; style-src 'unsafe-inline'{allowed}"
    if "<img src='data:" in body:
        policy += "; img-src data:"
    run = f"<script>{script}</script>" if script else ""
    return "\n".join(
        [
            "<!doctype html>",
            "<html lang='en'><head><meta charset='utf-8'>",
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            "<meta name='viewport' content='width=device-width, initial-scale=1'>",
            f"<title>{escape(title)}</title><style>{base}{style}</style></head><body>",
            body,
            f"{run}</body></html>\n",
        ]
    )


def show_title(kind: str, title: str, facts: Iterable[str] = ()) -> str:
    """Return the header: the command, the title, and facts, which are HTML."""
    items = "".join(f"<li>{fact}</li>" for fact in facts)
    listed = f"<ul class='facts'>{items}</ul>" if items else ""
    return (
        f"<header><p class='eyebrow'>{escape(kind)}</p>"
        f"<h1>{escape(title)}</h1>{listed}</header>"
    )


def show_answer(question: str, first: str, rest: str = "") -> str:
    """Return the answer to a question: a sentence in large letters, and others."""
    second = f"<p>{escape(rest)}</p>" if rest else ""
    unbroken = escape(first).replace("± ", "±\u00a0")
    return (
        "<section class='verdict' aria-labelledby='answer'>"
        f"<h2 id='answer'>{escape(question)}</h2><p class='first'>{unbroken}</p>"
        f"{second}</section>"
    )


def show_reasons(name: str, question: str, reasons: Iterable[tuple[str, str]]) -> str:
    """Return a list of reasons, each "good" or "careful"; nothing for an empty list.

    Parameters
    ----------
    name : str
        The id of the heading.
    question : str
        The heading.
    reasons : iterable of (str, str)
        Level and text.
    """
    items = "".join(
        f"<li class='{level}'><span class='sign' aria-hidden='true'>"
        f"{'✓' if level == 'good' else '!'}</span><span><span class='spoken'>"
        f"{'Good: ' if level == 'good' else 'Careful: '}</span>{escape(text)}</span>"
        "</li>"
        for level, text in reasons
    )
    if not items:
        return ""
    return (
        f"<section aria-labelledby='{name}'><h2 id='{name}'>{escape(question)}</h2>"
        f"<ul class='reasons'>{items}</ul></section>"
    )


def show_repeat(command: str, versions: Mapping[str, str]) -> str:
    """Return the command and the versions that repeat a report."""
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        "<section aria-labelledby='repeat'><h2 id='repeat'>To repeat it</h2>"
        f"<pre tabindex='0'><code>{escape(command)}</code></pre>"
        f"<p class='hint'>{escape(listed)}.</p></section>"
    )


def _digest(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
