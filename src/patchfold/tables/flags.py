"""Words of truth values -> truth values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

TRUE_FALSE = (
    *(("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("on", "off")),
    *(("ja", "nein"), ("wahr", "falsch"), ("oui", "non"), ("vrai", "faux")),
    *(("sí", "no"), ("si", "no"), ("sì", "no"), ("sim", "não"), ("ja", "nee")),
    *(("ja", "nej"), ("tak", "nie"), ("ano", "ne"), ("да", "нет"), ("evet", "hayır")),
)
"""Words of truth values, in lower case."""

SPELLINGS = 10
"""Ways to write two truth values: in capital letters, for example."""


def find_flags(texts: pd.Series) -> pd.Series | None:
    """Return words of truth values as such; None if there are others, or one alone."""
    if len(texts) > SPELLINGS:
        return None
    lower = texts.str.lower()
    found = set(lower)
    for yes, no in TRUE_FALSE:
        if found == {yes, no}:
            return lower == yes
    return None


def as_flags(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Return a table in which words of truth values are such, even one of them alone.

    Other columns of words stay as they are.
    """
    yes, no = (set(words) for words in zip(*TRUE_FALSE, strict=True))
    changed = {}
    for name, kind in frame[names].dtypes.items():
        if isinstance(kind, np.dtype) and kind.kind in "biufM":
            continue
        lower = frame[name].astype(object).dropna().astype(str).str.lower()
        if len(lower) and set(lower) <= yes | no and kind.kind != "b":
            values = lower.isin(yes).astype(float)
            changed[name] = values.reindex(frame.index)
    return frame.assign(**changed) if changed else frame
