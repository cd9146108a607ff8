"""What `set_output` of scikit-learn chose, in model files: a word."""

from __future__ import annotations

from typing import Any

from .rules import FittedError

OUTPUT = "_sklearn_output_config"
"""The attribute that `set_output` makes."""

CONTAINERS = ("default", "pandas", "polars")


def pack_output(state: dict[str, Any]) -> dict[str, Any]:
    """Return the word to write, by the attribute's name; nothing where none is chosen.

    Examples
    --------
    >>> pack_output({"_sklearn_output_config": {"transform": "pandas"}})
    {'_sklearn_output_config': 'pandas'}
    """
    word = state.get(OUTPUT, {}).get("transform")
    return {} if word is None else {OUTPUT: word}


def unpack_output(packed: dict[str, Any]) -> dict[str, Any]:
    """Return the attribute that a file's word stands for; raise FittedError."""
    if OUTPUT not in packed:
        return {}
    word = packed[OUTPUT]
    if not isinstance(word, str) or word not in CONTAINERS:
        raise FittedError(f"{OUTPUT} must be one of {', '.join(CONTAINERS)}")
    return {OUTPUT: {"transform": word}}
