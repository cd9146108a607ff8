"""Run a function over blocks of rows, in threads, with the same bits for any `n_jobs`.

The cut into blocks depends only on the sizes, never on the number of threads, and the
results come back in order: that is why `n_jobs` cannot change a result.
"""

from __future__ import annotations

import atexit
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from threading import Event, Thread, local
from typing import TypeVar

from joblib import cpu_count, effective_n_jobs, parallel_config
from joblib.parallel import BACKENDS, get_active_backend

from .backend import Array, array_namespace
from .progress import WATCHER, watched
from .tensors.devices import ROOM

BLOCK_BYTES = 8 * 2**20
"""Working memory of one block: large enough for BLAS, small enough to stay in cache."""

TASKS = 8
"""Runs of blocks for each thread: enough that none waits long for the last."""

LOCAL = tuple(
    BACKENDS[name]
    for name in ("sequential", "threading", "multiprocessing", "loky")
    if name in BACKENDS
)
"""Backends of joblib that work on this machine; those of a cluster are others."""

S = TypeVar("S")

T = TypeVar("T")


class _Thread(local):
    is_one_of_many = False


_THREAD = _Thread()
"""Whether a thread is one of ours: functions that it calls start no others."""


def map_blocks(
    function: Callable[[slice], T],
    n_items: int,
    bytes_per_item: float,
    n_jobs: int | None = None,
    *,
    step: int | None = None,
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
        Number of threads, as in joblib; one where `function` was called by threads of
        this kind itself.
    step : int or None
        Length of the slices, where memory is not what decides.

    Returns
    -------
    list
        What `function` returned, in the order of the slices.

    Examples
    --------
    >>> map_blocks(lambda block: block.stop - block.start, 5, BLOCK_BYTES / 2)
    [2, 2, 1]
    """
    blocks = _cut(n_items, bytes_per_item, step)
    watcher = WATCHER.get()
    if watcher is not None:
        function = watched(function, len(blocks), watcher)
    n_threads = 1
    if len(blocks) > 1 and not (ROOM.get() or _THREAD.is_one_of_many):
        n_threads = min(len(blocks), count_threads(n_jobs))
    if n_threads <= 1:
        return list(map(function, blocks))

    stopped = Event()

    def work(run: list[slice]) -> list[T]:
        _THREAD.is_one_of_many = True
        return [function(block) for block in run if not stopped.is_set()]

    # Blocks may be short and starting a task is not, so tasks are runs of them. joblib
    # counts the threads but does not run them: it starts a pool in 30 ms and looks for
    # results every 10 ms, as long as a whole fit of a thousand samples.
    length = -(-len(blocks) // (TASKS * n_threads))
    runs = [blocks[s : s + length] for s in range(0, len(blocks), length)]
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            return [result for run in pool.map(work, runs) for result in run]
        except BaseException:  # of a block, or Ctrl-C here: threads do not see that
            stopped.set()
            raise


def map_ahead(
    function: Callable[[S], T], items: Iterable[S], n_jobs: int | None = None
) -> Iterator[T]:
    """Call `function` on items in threads, no more than these ahead of who asks.

    Items are taken in this thread and begun in order, and so results come back.

    Examples
    --------
    >>> list(map_ahead(abs, [-1, 2, -3], n_jobs=2))
    [1, 2, 3]
    """
    n_threads = 1 if _THREAD.is_one_of_many else count_threads(n_jobs)
    if n_threads <= 1:
        yield from map(function, items)
        return

    def work(item: S) -> T:
        _THREAD.is_one_of_many = True
        return function(item)

    pool = ThreadPoolExecutor(n_threads)
    ahead: deque[Future[T]] = deque()
    try:
        for item in items:
            ahead.append(pool.submit(work, item))
            if len(ahead) > n_threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def wait_for(function: Callable[[], T]) -> T:
    """Call a function that ignores signals in a thread, so that Ctrl-C ends the wait.

    The thread then goes on to its end, and its result is lost. A process does not end
    before it: memory that the thread uses would be freed under it. SuperLU orders the
    columns without giving up Python's lock: until that is done, Ctrl-C is not seen.

    Examples
    --------
    >>> wait_for(lambda: 3)
    3
    """
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # is raised where it is waited for
            future.set_exception(error)

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        return future.result()
    finally:
        if not future.done():
            atexit.register(thread.join)


def count_threads(n_jobs: int | None) -> int:
    """Return how many threads of this machine `n_jobs` asks for, as joblib counts.

    Under a backend that spreads work over a cluster, joblib counts the cluster's
    cores: None is then one thread, as such work is in many pieces already.

    Examples
    --------
    >>> count_threads(None), count_threads(3)
    (1, 3)
    """
    if n_jobs is not None and n_jobs < 0:
        n_jobs = max(1, _count_cores() + 1 + n_jobs)
    if isinstance(get_active_backend()[0], LOCAL):
        return effective_n_jobs(n_jobs)
    with parallel_config(backend="threading", n_jobs=1):
        return effective_n_jobs(n_jobs)


def _count_cores() -> int:
    """Count the cores this process may use, as joblib does."""
    allowed = getattr(os, "sched_getaffinity", lambda _: ())(0)
    return _cores_under(os.environ.get("LOKY_MAX_CPU_COUNT"), frozenset(allowed))


@cache
def _cores_under(limit: str | None, allowed: frozenset[int]) -> int:
    """Have joblib count, once: it reads files to know."""
    return cpu_count()


def fill_blocks(
    function: Callable[[slice], tuple[Array, ...]],
    n_items: int,
    bytes_per_item: float,
    n_jobs: int | None = None,
    *,
    step: int | None = None,
    order: Array | None = None,
) -> tuple[Array, ...]:
    """Call `function` on consecutive slices, and join what it returns row by row.

    As `map_blocks`, but results are written where they will stay: joining them at the
    end would hold all of them twice.

    Parameters
    ----------
    function : callable
        Takes a slice; returns a tuple of arrays with one row per item, or None.
    n_items, bytes_per_item, n_jobs, step
        As in `map_blocks`; at least one item.
    order : int array (n_items,) or None
        Row `order[i]` of the result is item i; by default row i is.

    Returns
    -------
    tuple of arrays
        With `n_items` rows; None where the function returned None. It is a named tuple
        where the function returns one.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(5)
    >>> fill_blocks(lambda block: (x[block], None), 5, BLOCK_BYTES / 2)
    (array([0, 1, 2, 3, 4]), None)
    """
    blocks = _cut(n_items, bytes_per_item, step)
    head = function(blocks[0])
    if len(blocks) == 1 and order is None:
        return head
    whole = tuple(None if part is None else _with_rows(part, n_items) for part in head)

    def write(block: slice, parts: tuple[Array, ...]) -> None:
        place = block if order is None else order[block]
        for rows, part in zip(whole, parts, strict=True):
            if rows is not None:
                rows[place, ...] = part

    def work(number: slice) -> None:
        for b in range(len(blocks))[number]:
            write(blocks[b], function(blocks[b]) if b else head)

    # A watcher is told whose work it is.
    work.__module__ = getattr(function, "func", function).__module__
    map_blocks(work, len(blocks), 0, n_jobs, step=1)
    return getattr(head, "_make", tuple)(whole)


def _cut(n_items: int, bytes_per_item: float, step: int | None = None) -> list[slice]:
    room = ROOM.get() or BLOCK_BYTES
    step = step or max(1, int(room / max(bytes_per_item, 1)))
    starts = range(0, n_items, step)
    return list(map(slice, starts, [*starts[1:], n_items]))


def _with_rows(like: Array, n_rows: int) -> Array:
    """Return an empty array of as many rows, otherwise as the given one."""
    xp = array_namespace(like)
    return xp.empty((n_rows, *like.shape[1:]), dtype=like.dtype, device=like.device)
