"""Fits that overlap in several threads do not disturb each other."""

import os
import subprocess
import sys
import threading
from functools import partial

import numpy as np
import pytest

import patchfold as pf
from patchfold.backends.progress import watch_blocks
from patchfold.backends.threads import BLOCK_BYTES, fill_blocks, map_blocks


def test_overlapping_fits_give_the_same_bits(wine):
    X, y = wine
    alone = pf.klap().fit_transform(X, y)
    results = [None] * 8

    def fit(slot):
        results[slot] = pf.klap(n_jobs=2).fit_transform(X, y)

    threads = [threading.Thread(target=fit, args=(slot,)) for slot in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_array_equal(result, alone)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_who_watches_is_told_of_every_block_in_order_but_not_of_blocks_within(n_jobs):
    told = []

    def work(block):
        map_blocks(lambda inner: None, 5, 0, step=1)
        return block.start

    with watch_blocks(lambda *words: told.append(words)):
        assert map_blocks(work, 6, 0, n_jobs, step=2) == [0, 2, 4]
    assert told == [(__name__, done, 3) for done in (0, 1, 2, 3)]
    map_blocks(work, 6, 0, n_jobs, step=2)
    assert len(told) == 4


def test_the_work_of_a_partial_is_that_of_its_function():
    told = []
    work = partial(_add, 1)
    with watch_blocks(lambda *words: told.append(words)):
        map_blocks(work, 2, 0, step=1)
        fill_blocks(work, 3, BLOCK_BYTES)
    assert {module for module, _, _ in told} == {__name__}


def _add(number, block):
    return (np.arange(block.start, block.stop) + number,)


def test_threads_start_no_threads_of_their_own():
    def work(block):
        return map_blocks(lambda inner: threading.get_ident(), 8, 0, 4, step=1)

    found = map_blocks(work, 8, 0, 2, step=1)
    assert [len(set(threads)) for threads in found] == [1] * 8


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux pins processes")
def test_a_process_that_is_pinned_later_counts_its_cores_anew():
    code = (
        "import os; from patchfold.backends.threads import count_threads as count; "
        "count(-1); "
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(count(-1))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["1"]
