"""Pieces of work over processes: all results once, all warnings, errors as they are."""

import os
import warnings

import pytest

from patchfold.backends.processes import run_pieces
from patchfold.backends.threads import count_threads
from patchfold.exceptions import NeighborCountWarning, warn


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_every_piece_has_its_place_whatever_the_order(n_jobs):
    found = dict(run_pieces(lambda piece: piece**2, [3, 1, 2], n_jobs=n_jobs))
    assert found == {0: 9, 1: 1, 2: 4}


def test_two_jobs_are_processes_of_one_thread_each():
    def who(piece):
        return os.getpid(), count_threads(None)

    found = [result for _, result in run_pieces(who, range(4), n_jobs=2)]
    assert os.getpid() not in {process for process, _ in found}
    assert [threads for _, threads in found] == [1, 1, 1, 1]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_warnings_of_other_processes_are_given_here(n_jobs):
    def work(piece):
        warn(f"piece {piece} is small", NeighborCountWarning)
        warnings.warn("twice", UserWarning, stacklevel=1)
        warnings.warn("twice", UserWarning, stacklevel=1)

    with pytest.warns() as caught:
        list(run_pieces(work, [7, 8], n_jobs=n_jobs))
    told = sorted(((w.category, str(w.message)) for w in caught), key=str)
    assert [word for _, word in told if word != "twice"] == [
        "piece 7 is small",
        "piece 8 is small",
    ]
    assert [kind for kind, word in told if word == "twice"] == [UserWarning] * 2


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_error_is_raised_as_it_is(n_jobs):
    def work(piece):
        raise ZeroDivisionError("no such piece")

    with pytest.raises(ZeroDivisionError, match="no such piece"):
        list(run_pieces(work, [1], n_jobs=n_jobs))
