"""Blocks of a document: titles, answers, paragraphs, tables, pictures -> Markdown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the title.

    Attributes
    ----------
    text : str
        Its words.
    level : int, default=2
        As in Markdown.
    folded : bool, default=False
        Whether the page hides what follows, up to the next heading, until it is asked
        for.
    """

    text: str
    level: int = 2
    folded: bool = False


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class Answer:
    """A question, the sentence that answers it, and more about it."""

    question: str
    first: str
    rest: str = ""


@dataclass(frozen=True)
class Items:
    """A list of plain texts."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Link:
    """A page of the documentation, "methods/elap"; an address where one is known."""

    text: str
    page: str
    address: str = ""


@dataclass(frozen=True)
class Command:
    """The command that makes a document, and the versions it was made with."""

    line: str
    versions: dict[str, str]


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


Block = Heading | Paragraph | Answer | Items | Link | Command | Grid | Image


def as_markdown(blocks: list[Block], pages: str = "") -> str:
    """Return a document as Markdown, with links to those pictures that have a file.

    Parameters
    ----------
    blocks : list of Block
        The document.
    pages : str, default=""
        Where the pages of the documentation are, relative to the document: "../".
        Empty for a document elsewhere, which names them.

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
    return "\n".join(text for block in blocks if (text := _markdown(block, pages)))


def _markdown(block: Block, pages: str) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}\n"
        case Paragraph(text):
            return f"{text}\n"
        case Answer(question, first, rest):
            return f"**{question}** {first} {rest}".rstrip() + "\n"
        case Items(texts):
            return "".join(f"- {text}\n" for text in texts)
        case Link(text, page, address):
            target = f"{pages}{page}.md" if pages else address
            named = f"docs/{page}.md"
            return f"[{text}]({target})\n" if target else f"{text}: {named}\n"
        case Command(line, versions):
            listed = ", ".join(f"{name} {v}" for name, v in versions.items())
            return f"    {line}\n\n{listed}.\n"
        case Image(words, _, file):
            return f"![{words}]({file})\n" if file else ""
        case Grid([head, *body]):
            rows = [head, ["---"] * len(head), *body]
            escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
            return "\n".join("| " + " | ".join(row) + " |" for row in escaped) + "\n"
    return ""
