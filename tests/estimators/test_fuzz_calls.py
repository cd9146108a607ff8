"""Odd arrays end in finite numbers or a clear error: some cases of the fuzzer."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import patchfold as pf
from patchfold.metrics import continuity, local_topology_violations

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "fuzz_calls.py"


@pytest.fixture(scope="module")
def fuzzer():
    spec = importlib.util.spec_from_file_location("fuzz_calls", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_odd_arrays_are_embedded_or_refused(fuzzer, first):
    ends = {fuzzer.run_case(number) for number in range(first, first + 20)}
    assert ends == {"finite", "refused"}


@pytest.mark.parametrize("number", [241, 973, 1216, 1228, 1262, 5146])
def test_what_the_fuzzer_found_once_is_not_found_again(fuzzer, number):
    assert fuzzer.run_case(number) in ("finite", "refused")


def test_the_fuzzer_does_not_take_an_error_from_below_for_a_refusal(fuzzer):
    for error in (AttributeError("x"), np.linalg.LinAlgError("singular"), ValueError()):
        with pytest.raises(type(error)):
            fuzzer.check_error(error)


def test_damaged_similarities_are_refused():
    similarity = sp.csr_array(np.ones((4, 4)))
    similarity.indices[3] = 10**6
    with pytest.raises(ValueError, match="similarity is not a valid sparse matrix"):
        local_topology_violations(similarity, np.ones((4, 2)))


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([[1.0, 2.0], [3.0]], "table of real numbers"),
        (np.ones((20, 2)) * 1j, "table of real numbers"),
        (np.full((20, 2), 1e200), "scale"),
    ],
)
def test_scores_refuse_what_are_no_samples(X, words):
    with pytest.raises(ValueError, match=f"X .*{words}"):
        continuity(X, np.ones((20, 2)))


def test_a_sweep_of_a_model_without_sizes_is_refused():
    with pytest.raises(TypeError, match="PatchPosterior"):
        list(pf.fit_sweep(pf.PatchPosterior(), np.ones((9, 2)), n_neighbors=[3]))
