"""Names that go away: they work for two minor versions, with a warning."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ..exceptions import PatchfoldDeprecationWarning, warn

F = TypeVar("F", bound=Callable[..., Any])


def deprecated(*, since: str, removed: str, instead: str) -> Callable[[F], F]:
    """Mark a public function as one that goes away.

    Parameters
    ----------
    since : str
        The version that warns first.
    removed : str
        The version that does not have it any more: two minor versions later or more.
    instead : str
        What to write instead.

    Returns
    -------
    callable
        A decorator. Its function warns, with the caller's line, and works as before.

    Examples
    --------
    >>> import warnings
    >>> @deprecated(since="0.2", removed="0.4", instead="new_name")
    ... def old_name(value):
    ...     return value
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     old_name(3)
    3
    >>> print(told[0].message)
    old_name is deprecated since 0.2 and is removed in 0.4: use new_name.
    """
    if _minor(removed) < _minor(since) + 2:
        raise ValueError(
            f"removed={removed!r} must be two minor versions after since={since!r} or "
            "later."
        )

    def mark(function: F) -> F:
        message = (
            f"{function.__name__} is deprecated since {since} and is removed in "
            f"{removed}: use {instead}."
        )

        @wraps(function)
        def marked(*args: Any, **settings: Any) -> Any:
            warn(message, PatchfoldDeprecationWarning)
            return function(*args, **settings)

        marked.__deprecated__ = message  # type: ignore[attr-defined]
        return marked  # type: ignore[return-value]

    return mark


def _minor(version: str) -> int:
    """Count minor versions; a major one counts as a hundred."""
    major, minor = version.split(".")[:2]
    return 100 * int(major) + int(minor)
