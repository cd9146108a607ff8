"""A function, what it needs and many pieces -> its results, from a cluster's workers.

What all tasks need is held by every worker. If all that held it are gone, it is sent
again, and with it the tasks that were not done: a result never depends on who made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np

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
            client.submit(_call, function, held, pieces[place], pure=False): place
            for place in sorted(missing)
        }
        try:
            for future in distributed.as_completed(list(futures)):
                try:
                    with explain_deaths():
                        result = future.result()
                except distributed.CancelledError:  # no worker holds what it needs
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
        return client.scatter([_Shared(shared)], broadcast=True, hash=False)[0]
    except (OSError, TimeoutError) as error:
        raise ClusterError(
            "the Dask scheduler does not answer any more, or has lost all its workers: "
            "start them again, then this."
        ) from error


class _Shared:
    """What all tasks need. Arrays that arrive at odd addresses are copied once.

    Dask sends arrays one after another in one buffer. The loops in C read aligned
    arrays only, and NumPy in their place would round differently.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.value = _aligned(state["value"])


def _aligned(value: Any) -> Any:
    """Return a value in which every array is aligned."""
    if isinstance(value, np.ndarray):
        return value if value.flags.aligned else value.copy()
    if type(value) in (tuple, list):
        return type(value)(map(_aligned, value))
    if type(value) is dict:
        return {key: _aligned(part) for key, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        for name, part in vars(value).items():
            object.__setattr__(value, name, _aligned(part))  # just made: not shared yet
    return value


def _call(function: Callable[[Any, Any], Any], held: _Shared, piece: Any) -> Any:
    return function(held.value, piece)
