"""Data and settings that every test may ask for."""

from __future__ import annotations

import itertools
import os
from functools import partial
from pathlib import Path

# Read by SciPy when it is imported: without it one of scikit-learn's checks is skipped.
os.environ["SCIPY_ARRAY_API"] = "1"
# Read by BLAS and OpenMP when they are loaded, here and in processes that tests start:
# on small arrays their threads mostly wait, and waiting costs processor time.
os.environ["OPENBLAS_NUM_THREADS"] = os.environ.get("OPENBLAS_NUM_THREADS", "1")
os.environ["MKL_NUM_THREADS"] = os.environ.get("MKL_NUM_THREADS", "1")
os.environ["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

# The same examples in every run, however long a busy machine takes to make them.
settings.register_profile(
    "steady",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")


def parity5():
    bits = np.array(list(itertools.product([0, 1], repeat=5)))
    return scale(bits.astype(float)), bits.sum(axis=1) % 2


def random_set():
    rng = np.random.default_rng(20261115)
    return rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)), rng.integers(0, 3, 60)


def z_scored(loader):
    bunch = loader()
    return scale(bunch.data), bunch.target


SETS = {
    "iris": lambda: z_scored(load_iris),
    "wine": lambda: z_scored(load_wine),
    "parity5": parity5,
    "random": random_set,
}


def pytest_terminal_summary(terminalreporter):
    """Say loudly which tests of pages were skipped, and why."""
    skipped = {}
    for report in terminalreporter.stats.get("skipped", []):
        if report.nodeid.startswith("tests/browser"):
            skipped.setdefault(report.longrepr[2], []).append(report.nodeid)
    if skipped:
        terminalreporter.section("TESTS OF PAGES NOT RUN", sep="*", red=True, bold=True)
    for reason, names in skipped.items():
        terminalreporter.line(reason)
        for name in sorted(names):
            terminalreporter.line(f"    {name}")


@pytest.fixture(params=SETS, scope="session")
def named_set(request):
    """Return (name, X, y) for each of the four sets, z-scored."""
    return request.param, *SETS[request.param]()


@pytest.fixture(scope="session")
def papers_folder(pytestconfig):
    """Return the folder of the papers' data; skip where it is absent."""
    home = os.environ.get("PATCHFOLD_DATA")
    folder = Path(home) if home else pytestconfig.rootpath.parent / "shared" / "data"
    if not (folder / "published.csv").is_file():
        pytest.skip("the papers' data (../shared/data or PATCHFOLD_DATA) are not here")
    return folder


@pytest.fixture(scope="session")
def wine():
    return SETS["wine"]()


@pytest.fixture(scope="session")
def iris():
    return SETS["iris"]()


@pytest.fixture
def in_arrays(monkeypatch):
    """Return what takes the loops in C away for the rest of a test."""
    return lambda: monkeypatch.setattr("patchfold.backends.native.loops._loops", None)


@pytest.fixture
def cut_blocks(monkeypatch):
    """Return what sets the bytes of a block of work, for the rest of a test."""
    return partial(monkeypatch.setattr, "patchfold.backends.threads.BLOCK_BYTES")


@pytest.fixture
def set_memory(monkeypatch):
    """Return what sets the bytes of memory that the machine has, for a test."""
    name = "patchfold.backends.backend.physical_memory"
    return lambda n_bytes: monkeypatch.setattr(name, lambda: n_bytes)
