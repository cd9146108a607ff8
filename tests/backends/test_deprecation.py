"""Names that go away warn first, for two minor versions, and are gone in time."""

import importlib
import inspect
import pkgutil
import re

import pytest

import patchfold as pf
from patchfold.backends.deprecation import deprecated
from patchfold.backends.version import __version__
from patchfold.exceptions import PatchfoldDeprecationWarning


@deprecated(since="0.2", removed="0.4", instead="double(value)")
def twice(value, *, sign=1):
    """Return a number twice."""
    return 2 * sign * value


def test_it_works_as_before_and_warns_at_the_line_of_the_caller():
    expected = "twice is deprecated since 0.2 and is removed in 0.4: use double(value)."
    with pytest.warns(PatchfoldDeprecationWarning, match=re.escape(expected)) as told:
        assert twice(3, sign=-1) == -6
    assert told[0].filename == __file__
    assert issubclass(PatchfoldDeprecationWarning, FutureWarning)
    assert twice.__name__ == "twice"
    assert twice.__doc__ == "Return a number twice."


@pytest.mark.parametrize(("since", "removed"), [("0.2", "0.3"), ("0.9", "0.9")])
def test_two_minor_versions_are_the_least(since, removed):
    with pytest.raises(ValueError, match="must be two minor versions after"):
        deprecated(since=since, removed=removed, instead="x")


def test_a_major_version_is_later_than_any_minor_one():
    assert callable(deprecated(since="0.9", removed="1.0", instead="x"))


def is_overdue(message, version):
    """Say whether a version must not have a name any more."""
    major, minor = re.search(r"is removed in (\d+)\.(\d+)", message).groups()
    return tuple(map(int, version.split(".")[:2])) >= (int(major), int(minor))


def test_nothing_is_kept_beyond_the_version_that_removes_it():
    assert is_overdue(twice.__deprecated__, "0.4.0")
    assert not is_overdue(twice.__deprecated__, "0.3.9")
    overdue = []
    for found in pkgutil.walk_packages(pf.__path__, "patchfold."):
        if "__main__" in found.name or ".tensors." in found.name:
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError:
            continue
        for name, value in inspect.getmembers(module, inspect.isfunction):
            message = getattr(value, "__deprecated__", None)
            if message and is_overdue(message, __version__):
                overdue.append(f"{found.name}.{name}")
    assert overdue == []
