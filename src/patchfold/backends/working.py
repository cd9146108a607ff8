"""Where samples are -> how work on them is cut, and what a full device says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .homes import is_tensor, plain_memory_errors
from .tensors.devices import block_bytes
from .threads import device_blocks


@contextmanager
def working_on(X: Any, remedy: str) -> Iterator[None]:
    """Cut work on tensors into blocks of their device's size; else change nothing.

    Parameters
    ----------
    X : array or tensor (n, m)
        What is worked on.
    remedy : str
        What to do if the device is full.
    """
    if not is_tensor(X) or X.device.type == "cpu":
        yield
        return
    what = f"work on {X.shape[0]} samples with {X.shape[-1]} features"
    with device_blocks(block_bytes(X.device)), plain_memory_errors(what, remedy):
        yield
