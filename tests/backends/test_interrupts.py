"""Ctrl-C ends a long loop within a second or so, and the process goes on as before."""

import os
import select
import signal
import subprocess
import sys

import pytest
from helpers.faults import hear_interrupts
from helpers.loops import needs_loops

PROGRAM = """
import signal, sys, time
from threading import Event
import numpy as np
import scipy.sparse as sp
from patchfold.backends.native import eigenvectors, field, patches as native_patches
from patchfold.backends.native import graph as native_graph
from patchfold.backends.native import neighbors as native_neighbors
from patchfold.backends.threads import map_blocks, wait_for
from patchfold.backends.native.cells import group_samples, search_cells

rng = np.random.default_rng(0)

def search():
    X = rng.normal(size=(60_000, 20))
    groups = group_samples(X, np.zeros(60_000, np.intp), np.zeros((1, 20)))
    return lambda: search_cells(groups, X, 1, 10)

def paths():
    places = (np.arange(40_000)[:, None] + np.arange(1, 16)) % 40_000
    parts = rng.uniform(size=600_000), places.ravel(), np.arange(0, 600_001, 15)
    graph = sp.csr_array(parts, shape=(40_000, 40_000))
    sources = np.arange(3000)
    return lambda: native_graph.shortest_paths(graph, sources)

def divergences():
    described = [rng.uniform(size=(2000, m)) for m in (60, 1830, 1830)]
    row, column = rng.integers(0, 2000, (2, 3_000_000))
    compare = native_patches.kl_of_pairs(described, described)
    return lambda: compare(row, column)

def gaps():
    X, pairs = np.zeros((1, 5_000_000)), np.zeros(16_384, np.int64)
    return lambda: native_neighbors.squared_gaps(X, X, pairs, pairs)

def weights():
    spread = 10.0 ** rng.uniform(-300, 300, size=(1_000_000, 15))
    return lambda: field.calibrate(spread, np.log(5))

def vectors():
    block = rng.normal(size=(100_000, 256))
    return lambda: eigenvectors.orthogonalize(block)

over, complete = Event(), Event()

def threads():
    def sleep(block):
        time.sleep(0.2)
        if block.stop == 1000:
            complete.set()

    return lambda: map_blocks(sleep, 1000, 0, 2, step=1)

def factors():
    return lambda: wait_for(lambda: over.wait(120) or complete.set())

for line in sys.stdin:
    run = globals()[line.strip()]()
    print("ready", flush=True)
    start = time.process_time()
    try:
        run()
    except KeyboardInterrupt:
        took = time.process_time() - start
        print("complete" if complete.is_set() else "stopped", took, flush=True)
    print(map_blocks(lambda block: block.start, 4, 0, 2, step=1), flush=True)
    del run
over.set()  # the end of what was left is waited for at exit
"""


FACTORS = """
import os, signal
import scipy.sparse as sp
from threading import Timer
from patchfold.solvers.factors import factorize

line = sp.diags_array([[-1.0] * 29, [2.1] * 30, [-1.0] * 29], offsets=[-1, 0, 1])
matrix = sp.csc_array(sp.kronsum(sp.kronsum(line, line), line))
try:
    Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    factorize(matrix, pivot=0.1)
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_process_that_ends_while_superlu_goes_on_ends_well():
    words = [sys.executable, "-c", FACTORS]
    ended = subprocess.run(
        words, capture_output=True, text=True, check=False, preexec_fn=hear_interrupts
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "stopped\n", "")


@pytest.fixture(scope="module")
def process():
    """Return a process that runs the loops whose names it is told, one by one."""
    words, pipe = [sys.executable, "-c", PROGRAM], subprocess.PIPE
    with subprocess.Popen(
        words, stdin=pipe, stdout=pipe, text=True, preexec_fn=hear_interrupts
    ) as started:
        yield started
        started.stdin.close()
    assert started.returncode == 0


@needs_loops
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize(
    "loop",
    [
        *("factors", "search", "paths", "divergences", "gaps", "weights"),
        *("vectors", "threads"),
    ],
)
def test_ctrl_c_ends_a_long_loop(loop, process):
    print(loop, file=process.stdin, flush=True)
    assert process.stdout.readline() == "ready\n"
    assert select.select([process.stdout], [], [], 0.7)[0] == []  # it is at work
    process.send_signal(signal.SIGINT)
    word, worked = process.stdout.readline().split()
    assert word == "stopped"  # those that sleep were not waited for
    assert float(worked) < 0.7 + 2  # processor time: the machine may be busy
    assert process.stdout.readline() == "[0, 1, 2, 3]\n"
