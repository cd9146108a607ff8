"""Many fits at once, little memory, hundreds of fits: same bits, clear words, no leak.

PATCHFOLD_FITS=500 makes five hundred fits of each estimator.
"""

import gc
import os
import re
import threading
import tracemalloc
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from helpers.faults import FORKSERVER, fit_bits, largest_pool, starve
from joblib import Parallel, delayed
from threadpoolctl import threadpool_info

import patchfold as pf
from patchfold.cli._shared import describe
from patchfold.neighbors.choice import find_neighbors

NAMES = ("isomap_kl", "elap", "pelle", "klap", "CauchyEmbedding", "PatchPosterior")
REFUSED = (
    "patchfold: .*(memory|this machine has).*(n_landmarks|--neighbors|n_neighbors)"
)
FITS = int(os.environ.get("PATCHFOLD_FITS", "30"))


@pytest.fixture(scope="module")
def alone():
    return {name: fit_bits(name) for name in NAMES}


def test_fits_in_8_threads_at_once_give_the_same_bits(alone):
    names = NAMES * 3
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(fit_bits, names, [2] * len(names)))
    assert found == [alone[name] for name in names]


def test_fits_in_4_processes_at_once_give_the_same_bits():
    """As in one such process: this one may have another number of BLAS threads.

    `PatchPosterior` hangs on it, and scikit-learn in threads of a test can change it.
    """
    with ProcessPoolExecutor(1, mp_context=FORKSERVER) as pool:
        alone = dict(zip(NAMES, pool.map(fit_bits, NAMES), strict=True))
    names = NAMES * 2
    with ProcessPoolExecutor(4, mp_context=FORKSERVER) as pool:
        found = list(pool.map(fit_bits, names))
    assert found == [alone[name] for name in names]


class TestLittleMemory:
    def test_work_that_cannot_fit_is_not_begun_and_the_remedy_is_named(self, tmp_path):
        status, said = starve(
            tmp_path / "said", "fit_random", "PatchEigenmaps", 6000, 0.75, AS=2**26
        )
        assert status == 0, said
        assert said.startswith("MemoryBudgetError the graph of 6000 samples with 4500")
        assert "Lower n_neighbors" in said

    @pytest.mark.parametrize(
        ("room", "words"),
        [
            (2**24, "MemoryBudgetError the graph of 6000 samples .*less than 64 MiB"),
            (2**27, "Memory(Budget)?Error .*(less than 64 MiB|Unable to allocate)"),
        ],
    )
    def test_memory_that_ends_on_the_way_is_no_crash(self, tmp_path, room, words):
        status, said = starve(
            tmp_path / "said", "fit_random", "PatchIsomap", 6000, 5, AS=room
        )
        assert status == 0, said
        assert re.match(words, said)

    def test_factors_that_do_not_fit_name_the_parameter(self, tmp_path):
        """SuperLU raises an error without a word, and prints a line, which is kept."""
        status, said = starve(
            tmp_path / "said", "factorize_random", 6000, AS=50 * 2**20
        )
        assert status == 0, said
        assert re.match(
            r"MemoryBudgetError the graph of 6000 samples and \d+ entries has factors "
            r"that do not fit in memory, .* GiB .* Lower n_neighbors or radius",
            said,
        )
        assert len(said.splitlines()) == 1

    def test_a_command_says_so_in_one_line(self, tmp_path):
        """Before the work, or on the way: that depends on the memory at the start."""
        table, out = tmp_path / "t.csv", tmp_path / "e.csv"
        X = np.random.default_rng(0).normal(size=(8000, 5))
        np.savetxt(table, X, delimiter=",", header="a,b,c,d,e", comments="")
        out.write_text("old")
        words = ["embed", str(table), f"--out={out}", "--method=isomap-kl", "--quiet"]
        status, said = starve(tmp_path / "said", "command", words, AS=2**27)
        assert status == 2, said
        assert said.count("\n") == 1
        assert re.match(REFUSED, said)
        assert out.read_text() == "old"

    def test_an_error_without_words_gets_some(self):
        assert describe(MemoryError()).startswith("there is not enough memory: take")
        assert "(Unable to" in describe(MemoryError("Unable to allocate 3 GiB"))


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.PatchfoldWarning")
@pytest.mark.parametrize("name", NAMES)
def test_fits_leave_nothing_behind(name, iris):
    X, y = iris[0][::5], iris[1][::5]

    def fit(times):
        for _ in range(times):
            getattr(pf, name)(n_neighbors=5, n_jobs=1).fit(X, y).transform(X[:3])
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        sizes = [fit(10), fit(FITS), fit(FITS)]
    finally:
        tracemalloc.stop()
    # Another thread of the process may take memory once; what is kept grows each time.
    # A kept model would be twenty times that.
    assert np.diff(sizes).min() < 1000 * FITS


class TestThreads:
    def count_threads(self, work):
        """Return the greatest number of threads while `work` runs."""
        most, done = [0], threading.Event()

        def watch():
            while not done.wait(0.0005):
                most[0] = max(most[0], threading.active_count())

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            work()
        finally:
            done.set()
            watcher.join()
        return most[0]

    @pytest.mark.parametrize("n_jobs", [1, 2, 3])
    def test_a_fit_takes_no_more_threads_than_n_jobs(self, n_jobs, wine, cut_blocks):
        cut_blocks(2**14)  # many blocks
        pf.isomap_kl(n_jobs=2).fit(wine[0])
        before = threading.active_count() + 1  # and the watcher
        most = self.count_threads(lambda: pf.isomap_kl(n_jobs=n_jobs).fit(wine[0]))
        assert most <= before + (0 if n_jobs == 1 else n_jobs)

    def test_blas_has_one_pool_whatever_n_jobs(self, wine):
        """Its size is the user's (OPENBLAS_NUM_THREADS), and no fit changes it."""
        before = [(p["filepath"], p["num_threads"]) for p in threadpool_info()]
        pf.klap(n_jobs=4).fit(*wine)
        after = [(p["filepath"], p["num_threads"]) for p in threadpool_info()]
        assert after == before

    def test_overlapping_fits_leave_blas_as_it_was(self):
        """Of many features: scikit-learn sets BLAS to one thread, and back."""
        X = np.random.RandomState(0).rand(1100, 120)
        before = [(p["filepath"], p["num_threads"]) for p in threadpool_info()]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: find_neighbors(X, 5), range(24)))
        after = [(p["filepath"], p["num_threads"]) for p in threadpool_info()]
        assert after == before

    def test_processes_share_the_cores_between_them(self):
        """As `reproduce --n-jobs` starts them: their threads are not multiplied."""
        cores = os.cpu_count()
        found = Parallel(n_jobs=2)(delayed(largest_pool)() for _ in range(2))
        assert all(size <= max(1, cores // 2) for size in found)
