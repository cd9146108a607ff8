"""One thread for every product of matrices, while blocks of rows run in threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock

from threadpoolctl import threadpool_limits


class _OneBlasThread:
    """Counts who wants BLAS to have one thread: the last to leave gives it back all."""

    def __init__(self) -> None:
        self._lock, self._count = Lock(), 0
        self._limits: ExitStack | None = None

    def enter(self) -> None:
        with self._lock:
            self._count += 1
            if self._count == 1:
                self._limits = ExitStack()
                self._limits.enter_context(threadpool_limits(1, user_api="blas"))

    def leave(self) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0 and self._limits is not None:
                self._limits.close()


_BLAS = _OneBlasThread()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let products of matrices in blocks have one thread each.

    Threads of BLAS that several blocks ask for wait for each other, and are busy
    waiting: a product in two blocks at once took five times the processor time.

    Examples
    --------
    >>> import numpy as np
    >>> with one_blas_thread():
    ...     float(np.ones(2) @ np.ones(2))
    2.0
    """
    _BLAS.enter()
    try:
        yield
    finally:
        _BLAS.leave()
