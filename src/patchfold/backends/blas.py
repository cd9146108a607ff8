"""One thread for every product of matrices, while blocks of rows run in threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController


@cache
def _find_blas() -> ThreadpoolController:
    """Return the object that limits the threads of BLAS of NumPy and SciPy.

    Looked for once: to read which libraries a process has takes a millisecond or two,
    longer than a small batch takes to be placed.
    """
    import scipy.linalg  # noqa: F401  # loads SciPy's BLAS

    return ThreadpoolController().select(user_api="blas")


class _OneBlasThread:
    """Sets BLAS to one thread while a caller needs it; the last one sets it back."""

    def __init__(self) -> None:
        self._lock, self._count = Lock(), 0
        self._limits: ExitStack | None = None

    def enter(self) -> None:
        with self._lock:
            self._count += 1
            if self._count == 1:
                self._limits = ExitStack()
                self._limits.enter_context(_find_blas().limit(limits=1))

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
