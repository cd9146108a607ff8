"""BLAS has one thread while blocks of rows run, and gets its threads back."""

import subprocess
import sys

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from patchfold.backends.blas import one_blas_thread


def threads_of_blas():
    """Return the threads of every BLAS that is loaded."""
    pools = threadpool_info()
    return [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if set(threads_of_blas()) != {2}:
            pytest.skip("a BLAS has one thread only")
        yield


@pytest.mark.usefixtures("two_threads")
def test_the_last_to_leave_gives_the_threads_back():
    for _ in range(2):
        with one_blas_thread():
            with one_blas_thread():
                assert set(threads_of_blas()) == {1}
            assert set(threads_of_blas()) == {1}
        assert set(threads_of_blas()) == {2}


def test_the_blas_of_scipy_is_limited_though_it_is_loaded_later():
    code = (
        "from patchfold.backends.blas import one_blas_thread\n"
        "with one_blas_thread(): pass\n"
        "import scipy.linalg\n"
        "from threadpoolctl import threadpool_info\n"
        "with one_blas_thread():\n"
        "    pools = [p for p in threadpool_info() if p['user_api'] == 'blas']\n"
        "assert {p['num_threads'] for p in pools} == {1}, pools\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
