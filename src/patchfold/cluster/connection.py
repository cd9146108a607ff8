"""An address -> a client of the Dask scheduler there, or of workers started here."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from joblib import cpu_count, parallel_config

from ..exceptions import ClusterError

LOCAL = "local"
"""The address that starts workers on this machine."""

PATIENCE = 10.0
"""Seconds a scheduler has to answer."""

WORKER_PATIENCE = 10.0
"""Seconds a scheduler has to find a worker."""

NEVER_LOST = {"distributed.deploy.lost-worker-timeout": "10000 days"}
"""Dask's setting under which a local worker that dies is always started again.

By default a timer runs for 15 s after each death. If the worker of that name is absent
when the timer ends, Dask ends its nanny for good. This also happens if the worker was
replaced, died a second time and is just being started.
"""


def require_dask() -> Any:
    """Return the module `dask.distributed`, or say what to install.

    Raises
    ------
    ImportError
    """
    try:
        import dask.distributed as distributed
    except ImportError as error:
        raise ImportError(
            'A cluster needs Dask: pip install "patchfold[cluster]".'
        ) from error
    return distributed


@contextmanager
def connect(address: str = LOCAL, *, n_workers: int | None = None) -> Iterator[Any]:
    """Connect to a cluster, and disconnect at the end of the `with` block.

    Parameters
    ----------
    address : str, default="local"
        Where the scheduler listens, as in "tcp://10.0.0.1:8786"; or "local", which
        starts workers on this machine and ends them afterwards.
    n_workers : int or None, default=None
        Workers to start here, of one thread each; None is one for every core.

    Yields
    ------
    dask.distributed.Client
        The default client, until the `with` block ends.

    Raises
    ------
    ClusterError
        If no scheduler answers, or it has no workers.

    See Also
    --------
    fit : Has an example.
    """
    distributed = require_dask()
    if address != LOCAL:
        with (
            _as_configured(),
            _only_errors_of_ours(),
            _reach(distributed, address) as client,
        ):
            yield client
        return
    with (
        _as_configured(NEVER_LOST),
        _only_errors_of_ours(),
        distributed.LocalCluster(
            n_workers=n_workers or cpu_count(),
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def spread(address: str) -> Iterator[Any]:
    """Let joblib spread its work over a cluster.

    Parameters
    ----------
    address : str
        As in `connect`.

    Yields
    ------
    dask.distributed.Client
    """
    with (
        connect(address) as client,
        parallel_config("dask", client=client, n_jobs=-1),
        explain_deaths(),
    ):
        yield client


@contextmanager
def explain_deaths() -> Iterator[None]:
    """Raise a ClusterError if a task ended all workers that it was given to."""
    try:
        yield
    except require_dask().KilledWorker as error:
        raise ClusterError(
            "a task ended every worker that tried it, most likely for want of memory: "
            "give workers more of it, or fewer threads each."
        ) from error


def _as_configured(settings: dict[str, str] | None = None) -> Any:
    """Change Dask's settings, and leave them as they were afterwards.

    Its choice of a scheduler is reset too, also where a client cannot close: otherwise
    a later computation without a cluster fails, as the cluster is gone.
    """
    import dask

    scheduler = {"scheduler": dask.config.get("scheduler", None)}
    return dask.config.set({**scheduler, **(settings or {})})


@contextmanager
def _only_errors_of_ours() -> Iterator[None]:
    """Silence Dask's messages of workers that end: errors that matter are raised."""
    levels = {h: h.level for h in logging.getLogger("distributed").handlers}
    for handler in levels:
        handler.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for handler, level in levels.items():
            handler.setLevel(level)


def _reach(distributed: Any, address: str) -> Any:
    """Return a client of a scheduler that is there and has workers."""
    try:
        client = distributed.Client(address, timeout=PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address!r} within {PATIENCE:g} s. Start "
            "one (dask scheduler) and give its address, as in tcp://10.0.0.1:8786; or "
            "'local', to start workers here."
        ) from error
    try:
        client.wait_for_workers(1, timeout=WORKER_PATIENCE)
    except TimeoutError as error:
        client.close()
        raise ClusterError(
            f"the Dask scheduler at {address!r} has no workers. Start some "
            f"(dask worker {address})."
        ) from error
    return client
