"""Run a function over blocks of rows, in threads, with the same bits for any `n_jobs`.

The cut into blocks depends only on the sizes, never on the number of threads, and the
results come back in order: that is why `n_jobs` cannot change a result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from joblib import Parallel, delayed

BLOCK_BYTES = 8 * 2**20
"""Working memory of one block: large enough for BLAS, small enough to stay in cache."""

T = TypeVar("T")


def map_blocks(
    function: Callable[[slice], T],
    n_items: int,
    bytes_per_item: float,
    n_jobs: int | None = None,
) -> list[T]:
    """Call `function` on consecutive slices of `range(n_items)`.

    Parameters
    ----------
    function : callable
        Takes a slice; must not write to anything but its own part.
    n_items : int
        How many items there are to cut.
    bytes_per_item : float
        Working memory that one item needs.
    n_jobs : int or None
        Number of threads, as in joblib.

    Returns
    -------
    list
        What `function` returned, in the order of the slices.

    Examples
    --------
    >>> map_blocks(lambda block: block.stop - block.start, 5, BLOCK_BYTES / 2)
    [2, 2, 1]
    """
    step = max(1, int(BLOCK_BYTES / max(bytes_per_item, 1)))
    blocks = [slice(s, min(s + step, n_items)) for s in range(0, n_items, step)]
    if len(blocks) == 1:
        return [function(blocks[0])]
    return Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(function)(block) for block in blocks
    )
