"""Names and words of a table as messages show them."""

from __future__ import annotations

import shlex

LONGEST_WORD = 60
"""Characters of a name or level that a message shows."""


def listed(words: list[str]) -> str:
    """Return the first words of a list, and how many there are beside."""
    shown = ", ".join(_shown(word) for word in words[:8])
    return shown if len(words) <= 8 else f"{shown} and {len(words) - 8} more"


def typed(name: str) -> str:
    """Return a name as it is typed in a shell."""
    return shlex.quote(name) if name.isprintable() else repr(name)


def _shown(word: str) -> str:
    """Return a word of a file in one line, and not too much of it."""
    short = word if len(word) <= LONGEST_WORD else f"{word[:LONGEST_WORD]}..."
    return short if short.isprintable() else repr(short)
