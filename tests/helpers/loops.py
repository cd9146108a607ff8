"""Marks tests of the loops in C, which are not compiled everywhere."""

import pytest

from patchfold.backends.native import loops as native

needs_loops = pytest.mark.skipif(
    not native.is_compiled(), reason="the loops in C were not compiled here"
)
