"""Headings, paragraphs, tables and pictures -> Markdown, or one page of HTML.

The page needs nothing else: its pictures are in it.
"""

from __future__ import annotations

import base64
import html
from dataclasses import dataclass


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class Grid:
    """A table: lines of cells, the headings first."""

    lines: list[list[str]]


@dataclass(frozen=True)
class Image:
    """A picture.

    Attributes
    ----------
    words : str
        What is said where it cannot be seen.
    png : bytes
        The picture.
    file : str
        Its file, relative to that of the document; empty for one that is shown on the
        page only.
    """

    words: str
    png: bytes
    file: str = ""


Block = Heading | Paragraph | Grid | Image

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 1.5rem auto; max-width: 80rem;
       padding: 0 1rem; }
h2 { border-top: 1px solid #8886; margin-top: 2.5rem; padding-top: 1rem; }
p { max-width: 50rem; }
nav ul { columns: 22rem; padding-left: 1.2rem; }
div { overflow-x: auto; }
img { background: white; display: block; height: auto; margin: .8rem 0;
      max-width: 100%; }
table { border-collapse: collapse; font-size: 13px; }
th, td { border-bottom: 1px solid #8884; padding: .3rem .6rem; text-align: left;
         white-space: nowrap; }
"""


def as_markdown(blocks: list[Block]) -> str:
    """Return a document as Markdown, with links to those pictures that have a file.

    Examples
    --------
    >>> print(as_markdown([Heading("Scores"), Grid([["set", "ours"], ["iris", ".9"]])]))
    ## Scores
    <BLANKLINE>
    | set | ours |
    | --- | --- |
    | iris | .9 |
    <BLANKLINE>
    """
    return "\n".join(text for block in blocks if (text := _markdown(block)))


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}\n"
        case Paragraph(text):
            return f"{text}\n"
        case Image(words, _, file):
            return f"![{words}]({file})\n" if file else ""
        case Grid([head, *body]):
            rows = [head, ["---"] * len(head), *body]
            escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
            return "\n".join("| " + " | ".join(row) + " |" for row in escaped) + "\n"
    return ""


def as_html(blocks: list[Block]) -> str:
    """Return a document as one page, with a list of its sections at the top."""
    title = next((b.text for b in blocks if isinstance(b, Heading)), "")
    sections = [b.text for b in blocks if isinstance(b, Heading) and b.level == 2]
    contents = "".join(
        f"<li><a href='#s{n}'>{html.escape(text)}</a></li>"
        for n, text in enumerate(sections)
    )
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>",
    ]
    n_sections = 0
    for block in blocks:
        anchor = ""
        if isinstance(block, Heading) and block.level == 2:
            anchor = f" id='s{n_sections}'"
            n_sections += 1
        parts.append(_html(block, anchor))
        if block == blocks[0] and sections:
            parts.append(f"<nav><ul>{contents}</ul></nav>")
    return "\n".join([*parts, "</body></html>"])


def _html(block: Block, anchor: str) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}{anchor}>{html.escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{html.escape(text)}</p>"
        case Image(words, png, _):
            data = base64.b64encode(png).decode("ascii")
            source = f"data:image/png;base64,{data}"
            return f"<img src='{source}' alt='{html.escape(words, quote=True)}'>"
        case Grid(lines):
            return _html_table(lines)


def _html_table(lines: list[list[str]]) -> str:
    kinds = ["th", *["td"] * (len(lines) - 1)]
    rows = [
        "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in line)
        for kind, line in zip(kinds, lines, strict=True)
    ]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return f"<div><table>{body}</table></div>"
