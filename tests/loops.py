"""Marks tests of the loops in C, which are not compiled everywhere."""

import pytest

from patchfold import _native

needs_loops = pytest.mark.skipif(
    not _native.is_compiled(), reason="the loops in C were not compiled here"
)
