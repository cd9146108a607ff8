"""A function, what it needs and many pieces -> its results, from a cluster's workers.

What all tasks need is held by every worker. If all that held it are gone, it is sent
again, and with it the tasks that were not done: a result never depends on who made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..exceptions import ClusterError
from .connection import explain_deaths, require_dask

ATTEMPTS = 5
"""How often what all tasks need is sent, before giving up."""


def run_tasks(
    client: Any,
    function: Callable[[Any, Any], Any],
    shared: Any,
    pieces: Sequence[Any],
) -> Iterator[tuple[int, Any]]:
    """Call `function(shared, piece)` for every piece, on whatever worker is free.

    Parameters
    ----------
    client : dask.distributed.Client
        Of the cluster.
    function : callable
        Must give the same result wherever and however often it is called.
    shared : object
        What every task needs; sent to every worker once.
    pieces : sequence
        What each of them needs for itself.

    Yields
    ------
    place : int
        Which piece is done.
    result : object
        What the function returned.

    Raises
    ------
    ClusterError
        If workers keep dying. An error of the function itself is raised as it is.
    """
    distributed = require_dask()
    missing = set(range(len(pieces)))
    for _ in range(ATTEMPTS if missing else 0):
        held = _send(client, shared)
        futures = {
            client.submit(function, held, pieces[place], pure=False): place
            for place in sorted(missing)
        }
        try:
            for future in distributed.as_completed(list(futures)):
                try:
                    with explain_deaths():
                        result = future.result()
                except distributed.CancelledError:  # nobody holds what it needs
                    continue
                place = futures.pop(future)
                future.release()  # or the worker would keep the result
                missing.discard(place)
                yield place, result
        finally:
            if client.status == "running":
                client.cancel(list(futures))
        if not missing:
            break
    if missing:
        raise ClusterError(
            f"{len(missing)} of {len(pieces)} tasks were lost {ATTEMPTS} times: "
            "workers end before their tasks do. Do they have enough memory?"
        )


def _send(client: Any, shared: Any) -> Any:
    """Let every worker hold an object."""
    try:
        # In a list: of a tuple, every element would be sent by itself.
        return client.scatter([shared], broadcast=True, hash=False)[0]
    except (OSError, TimeoutError) as error:
        raise ClusterError(
            "the Dask scheduler does not answer any more, or has lost all its workers: "
            "start them again, then this."
        ) from error
