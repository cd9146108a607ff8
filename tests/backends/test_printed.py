"""A line that a C library prints is kept from the user; all others are not."""

import ctypes
import os
import threading

import pytest

from patchfold.backends.printed import _gnu_libc, without_lines

LIBC = _gnu_libc()

pytestmark = pytest.mark.skipif(LIBC is None, reason="not the GNU C library")


def stream():
    return ctypes.c_void_p.in_dll(LIBC, "stderr")


def say(words):
    """Print as C code does."""
    LIBC.fputs(words, stream())


def test_only_the_line_is_dropped(capfd):
    before = stream().value
    with without_lines(rb"No room: \d+"):
        say(b"No room: 12\nNo room: many\n")
        os.write(2, b"from Python\n")
        say(b"half a li")
        say(b"ne\nNo room: 3")
    assert stream().value == before
    say(b"afterwards\n")
    said = capfd.readouterr().err
    assert said == "from Python\nNo room: many\nhalf a line\nafterwards\n"


def test_an_error_ends_it(capfd):
    def fail():
        with without_lines(rb"No room"):
            say(b"No room\n")
            raise MemoryError

    before = stream().value
    with pytest.raises(MemoryError):
        fail()
    assert stream().value == before
    assert capfd.readouterr().err == ""


def test_threads_that_overlap_leave_it_as_it_was(capfd):
    before = stream().value
    inside, first_left = threading.Event(), threading.Event()

    def second():
        with without_lines(rb"No room"):
            inside.set()
            assert first_left.wait(10)
            say(b"No room\n")

    thread = threading.Thread(target=second)
    with without_lines(rb"No room"):
        thread.start()
        assert inside.wait(10)
    assert stream().value != before
    first_left.set()
    thread.join()
    assert stream().value == before
    say(b"afterwards\n")
    assert capfd.readouterr().err == "afterwards\n"
