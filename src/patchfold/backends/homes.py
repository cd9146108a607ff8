"""Names of before `backend.py`, for modules that have not been turned to it yet."""

from __future__ import annotations

from typing import Any

from .backend import NUMPY as HERE
from .backend import Backend as Home
from .backend import backend_for as home_of
from .backend import on_any_device as hosted
from .tensors.transfer import as_float64, is_tensor

__all__ = ["HERE", "Home", "as_float64", "home_of", "hosted", "is_tensor", "move"]


def move(value: Any, home: Home) -> Any:
    """Return a value with every array in it at home there."""
    return home.give_back(value)
