"""Refuse work that cannot fit in memory, before it starts and in words."""

from __future__ import annotations

import os

import numpy as np

from ..exceptions import MemoryBudgetError
from .arrays import Array
from .backend import backend_for
from .tensors.devices import free_memory

BYTES_PER_EDGE = 150
"""What one neighbour of one sample costs at the peak: indices, sorting, weights."""

BLAS_ROOM = 2**26
"""What must be free at least: BLAS ends the process, without an error that could be
caught, where it finds no room for its own buffers."""


def physical_memory() -> int:
    """Return the machine's memory in bytes; a great deal where it does not say.

    A process whose address space is limited (`ulimit -v`) has no more than that.
    """
    try:
        import resource

        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    except (AttributeError, ImportError, ValueError, OSError):
        return 2**62
    return machine if limit == resource.RLIM_INFINITY else min(machine, limit)


def require_memory(
    n_bytes: float, what: str, remedy: str, *, like: Array = None
) -> None:
    """Raise MemoryBudgetError if `what` needs more than the machine has.

    Parameters
    ----------
    n_bytes : float
        An estimate of the peak.
    what : str
        What needs it, with its numbers.
    remedy : str
        Which parameter to change.
    like : array or None
        Where the work will be done: of a tensor's device, what is free counts.
    """
    device = backend_for(like).device
    if device is not None and device.type != "cpu":
        free = free_memory(device)
        if n_bytes > free:
            raise MemoryBudgetError(
                f"{what} would need about {n_bytes / 2**30:.1f} GiB, and the device "
                f"{device} has {free / 2**30:.1f} free. {remedy}"
            )
        return
    have = physical_memory()
    if n_bytes > have:
        raise MemoryBudgetError(
            f"{what} would need about {n_bytes / 2**30:.1f} GiB, and this machine has "
            f"{have / 2**30:.1f}. {remedy}"
        )
    try:
        np.empty(BLAS_ROOM, dtype=np.uint8)
    except MemoryError:
        raise MemoryBudgetError(
            f"{what}: less than {BLAS_ROOM >> 20} MiB of memory are left. {remedy}"
        ) from None
