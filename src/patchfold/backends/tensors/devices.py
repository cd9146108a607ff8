"""The memory of a device: what is free, what a block of work may take, and its end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ...exceptions import MemoryBudgetError

LARGEST_BLOCK = 2**31
"""Bytes of a block on a device at most: larger ones are no faster."""

PART = 16
"""A block takes at most 1 / `PART` of what is free."""


ROOM: ContextVar[int | None] = ContextVar("room", default=None)
"""Bytes of a block of work on the device in use; None where there is none."""


def free_memory(device: Any) -> int:
    """Return the free bytes of a device, those torch holds for later use included."""
    import torch

    if device.type != "cuda":
        return 2**62  # it does not say
    free, _ = torch.cuda.mem_get_info(device)
    held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return free + held


def draws_maps(device: Any) -> bool:
    """Say whether CauchyMap is drawn on a device; elsewhere loops in C are faster."""
    return bool(device.type == "cuda")


def block_bytes(device: Any) -> int:
    """Return the bytes that one block of work may take on a device."""
    if device.type == "cpu":
        return 2**25
    return max(2**25, min(LARGEST_BLOCK, free_memory(device) // PART))


@contextmanager
def device_blocks(n_bytes: int) -> Iterator[None]:
    """Cut work on a device into blocks of `n_bytes`, one after another.

    A device is busy with a single block if it is large; threads would only wait.

    Examples
    --------
    >>> from patchfold.backends.threads import BLOCK_BYTES, map_blocks
    >>> with device_blocks(2 * BLOCK_BYTES):
    ...     map_blocks(lambda block: block.stop - block.start, 5, BLOCK_BYTES / 2)
    [4, 1]
    """
    token = ROOM.set(n_bytes)
    try:
        yield
    finally:
        ROOM.reset(token)


@contextmanager
def plain_memory_errors(what: str, remedy: str) -> Iterator[None]:
    """Turn a device that is out of memory into a MemoryError with words."""
    torch = sys.modules.get("torch")
    shortage: Any = () if torch is None else torch.OutOfMemoryError
    try:
        yield
    except shortage as error:
        raise MemoryBudgetError(
            f"{what} did not fit in the memory of the device"
            f"{_memory_in_words(torch)}. {remedy}"
        ) from error


def _memory_in_words(torch: Any) -> str:
    if not torch.cuda.is_available():
        return ""
    free, total = torch.cuda.mem_get_info()
    return f", {total / 2**30:.1f} GiB of which {free / 2**30:.1f} are free"
