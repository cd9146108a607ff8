"""How much memory a process may use: the machine's, or less where a limit is set."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
"""Where Linux says how much a container may use, in either version of its groups."""

LIMITS = "memory.max", "memory/memory.limit_in_bytes"


def physical_memory() -> int:
    """Return the memory in bytes; a great deal where the machine does not say.

    A process in a container, or one whose address space is limited (`ulimit -v`), has
    no more than that.
    """
    try:
        import resource

        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    except (AttributeError, ImportError, ValueError, OSError):
        return 2**62
    limits = [machine] if limit == resource.RLIM_INFINITY else [machine, limit]
    for name in LIMITS:
        with suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int((GROUPS / name).read_text()))
    return min(limits)
