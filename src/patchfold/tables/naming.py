"""Names and words of a table as messages show them and commands take them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_SPECIAL = re.compile(r'[",]|^\s|\s$')
_LISTED = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|$)')
"""Names that must stand in quotes in a list; a name of a list."""

LONGEST_WORD = 60
"""Characters of a name or level that a message shows."""


def listed(words: list[str]) -> str:
    """Return the first words of a list, and the number of the others."""
    shown = ", ".join(_shown(word) for word in words[:8])
    return shown if len(words) <= 8 else f"{shown} and {len(words) - 8} more"


def typed(name: str) -> str:
    r"""Return a name as it is typed in a shell.

    Examples
    --------
    >>> from patchfold.tables.naming import typed
    >>> print(typed("two words"), typed("a\tb"))
    'two words' $'a\tb'
    """
    if name.isprintable():
        return shlex.quote(name)
    known = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t"}
    signs = (
        known.get(sign) or (sign if sign.isprintable() else f"\\U{ord(sign):08x}")
        for sign in name
    )
    return f"$'{''.join(signs)}'"


def join_names(names: Iterable[str]) -> str:
    """Return names as a list with commas; one that holds a comma is quoted.

    Examples
    --------
    >>> from patchfold.tables.naming import join_names, split_names
    >>> join_names(["size", "a, b"])
    'size,"a, b"'
    >>> split_names('size,"a, b"')
    ('size', 'a, b')
    """
    quoted = (
        '"' + name.replace('"', '""') + '"' if _SPECIAL.search(name) else name
        for name in names
    )
    return ",".join(quoted)


def split_names(text: str) -> tuple[str, ...]:
    """Split a list with commas, in which a name may stand in quotes."""
    names = tuple(
        found[1].replace('""', '"') if found[1] else found[2].strip()
        for found in _LISTED.finditer(text)
        if found[1] or found[2].strip()
    )
    if text and not names:
        raise ValueError(f"separate names by commas. Got {text!r} instead.")
    return names


def _shown(word: str) -> str:
    """Return a word of a file in one line, and not too much of it."""
    short = word if len(word) <= LONGEST_WORD else f"{word[:LONGEST_WORD]}..."
    return short if short.isprintable() else repr(short)


def coordinate_columns(frame: pd.DataFrame) -> list[str]:
    """Return the first two coordinates in a table that `embed` wrote.

    Examples
    --------
    >>> import pandas as pd
    >>> from patchfold.tables.naming import coordinate_columns
    >>> coordinate_columns(pd.DataFrame(columns=["kind", "elap_1", "elap_2"]))
    ['elap_1', 'elap_2']
    """
    for name in reversed(frame.columns):
        first = re.fullmatch(r"(.+)_1", str(name))
        if first and f"{first[1]}_2" in frame.columns:
            return [str(name), f"{first[1]}_2"]
    raise ValueError(
        "no two columns are named as coordinates (NAME_1 and NAME_2): name them "
        "(--x and --y)."
    )
