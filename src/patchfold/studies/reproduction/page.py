"""Blocks of a document -> one page of HTML, in the design of `compare`'s report.

The page needs nothing else: its pictures are in it, and it has no script. On a phone
each line of a table is a card.
"""

from __future__ import annotations

import base64
import re
from importlib.resources import files
from itertools import count

from ...comparison.page.parts import (
    escape,
    make_page,
    show_answer,
    show_repeat,
    show_title,
)
from .documents import (
    Answer,
    Block,
    Command,
    Grid,
    Heading,
    Image,
    Items,
    Link,
    Paragraph,
)

PRINTED = re.compile(r" (\[[^\[\]]*\])$")
"""The printed number at the end of a cell."""


def as_html(blocks: list[Block]) -> str:
    """Return a document as one page, with a list of its sections at the top.

    Parameters
    ----------
    blocks : list of Block
        The document; the first heading is its title.

    Returns
    -------
    str
        The same blocks make the same page.
    """
    title = next((b.text for b in blocks if isinstance(b, Heading)), "")
    parts, numbers = [show_title("patchfold reproduce", title), "<main>"], count()
    contents, place, label, is_open = _contents(blocks), len(parts), title, False
    for block in blocks:
        if is_open and isinstance(block, (Heading, Command)):
            parts.append("</details>")
            is_open = False
        if isinstance(block, Heading):
            label, is_open = block.text, block.folded
            if block.level == 1:
                continue
            if block.level == 2 and not any("id='s0'" in part for part in parts):
                place = len(parts)
            parts.append(_heading(block, numbers))
        else:
            parts.append(_html(block, label))
    parts.append("</details></main>" if is_open else "</main>")
    parts.insert(place, contents)
    style = (files(__package__) / "report.css").read_text("utf-8")
    return make_page(title, "\n".join(filter(None, parts)), style=style)


def _contents(blocks: list[Block]) -> str:
    sections = [b.text for b in blocks if isinstance(b, Heading) and b.level == 2]
    if len(sections) < 2:
        return ""
    links = "".join(
        f"<li><a href='#s{n}'>{escape(text)}</a></li>"
        for n, text in enumerate(sections)
    )
    return f"<nav aria-label='Sections'><ul>{links}</ul></nav>"


def _heading(heading: Heading, numbers: count[int]) -> str:
    anchor = f" id='s{next(numbers)}'" if heading.level == 2 else ""
    text = f"<h{heading.level}{anchor}>{escape(heading.text)}</h{heading.level}>"
    return f"<details><summary>{text}</summary>" if heading.folded else text


def _html(block: Block, label: str) -> str:
    match block:
        case Paragraph(text):
            return f"<p>{escape(text)}</p>"
        case Answer(question, first, rest):
            return show_answer(question, first, rest)
        case Items(texts):
            return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"
        case Link(text, page, address):
            if address:
                return f"<p><a href='{escape(address)}'>{escape(text)}</a></p>"
            return f"<p>{escape(text)}: <code>docs/{escape(page)}.md</code></p>"
        case Command(line, versions):
            return show_repeat(line, versions)
        case Image(words, png, _):
            data = base64.b64encode(png).decode("ascii")
            source = f"data:image/png;base64,{data}"
            return f"<img src='{source}' alt='{escape(words)}'>"
        case Grid(lines):
            return _table(lines, label)
    return ""


def _table(lines: list[list[str]], label: str) -> str:
    """Return a table; roles keep it one for a screen reader where lines are cards."""
    head, *body = lines
    top = "".join(f"<th role='columnheader'>{escape(cell)}</th>" for cell in head)
    rows = "\n".join(f"<tr role='row'>{_row(head, line)}</tr>" for line in body)
    return (
        f"<div class='wide' tabindex='0' role='group' aria-label='{escape(label)}'>"
        "<table role='table'>"
        f"<thead role='rowgroup'><tr role='row'>{top}</tr></thead>"
        f"<tbody role='rowgroup'>{rows}</tbody></table></div>"
    )


def _row(head: list[str], line: list[str]) -> str:
    cells = [f"<th role='rowheader' scope='row'>{escape(line[0])}</th>"]
    for name, text in zip(head[1:], line[1:], strict=True):
        empty = "" if text else " class='empty'"
        shown = PRINTED.sub(r" <span class='printed'>\1</span>", escape(text))
        cells.append(f"<td role='cell'{empty} data-name='{escape(name)}'>{shown}</td>")
    return "".join(cells)
