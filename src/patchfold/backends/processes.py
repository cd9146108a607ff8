"""Independent pieces of work -> their results, through joblib, so that it spreads them.

Over processes with `n_jobs`, over a cluster with
`joblib.parallel_config(backend="dask")`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config

from ..exceptions import warn

T = TypeVar("T")


def run_pieces(
    function: Callable[[Any], T], pieces: Iterable[Any], *, n_jobs: int | None = None
) -> Iterator[tuple[int, T]]:
    """Call a function on every piece, and yield what is done when it is done.

    Warnings of the pieces are given here: those of other processes would be lost.

    Parameters
    ----------
    function : callable
        Takes a piece.
    pieces : iterable
        Of anything that can be pickled.
    n_jobs : int or None
        Processes, as in joblib; None is what `joblib.parallel_config` says, else one.

    Yields
    ------
    place : int
        Which piece it was.
    result : object
        What the function returned.

    Examples
    --------
    >>> sorted(run_pieces(len, ["ab", "c"]))
    [(0, 2), (1, 1)]
    """
    # In the call, not as arguments: those joblib may leave with one worker of a
    # cluster, and they are lost with it.
    calls = (
        partial(_run, place, function, piece) for place, piece in enumerate(pieces)
    )
    done = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(call)() for call in calls
    )
    for place, result, told in done:
        for category, message in told:
            warn(message, category)
        yield place, result


def _run(
    place: int, function: Callable[[Any], T], piece: Any
) -> tuple[int, T, list[tuple[type[Warning], str]]]:
    """Run a piece in one thread: there are other pieces for the others."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with parallel_config(backend="threading", n_jobs=1):
            result = function(piece)
    told = dict.fromkeys((w.category, str(w.message)) for w in caught)
    return place, result, list(told)
