"""Sets that a rule defines: counts and rules checked here, rows against the files."""

import numpy as np
import pytest

from patchfold.datasets import load

NAMES = [
    "parity5",
    "mux6",
    "monks-problems-1",
    "tic-tac-toe",
    "balance-scale",
    "corral",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_generated_set_is_its_file_row_by_row(name, papers_folder):
    rule, file = load(name), load(name, data_home=papers_folder)
    assert (rule.source, file.source) == ("rule", "folder")
    np.testing.assert_array_equal(rule.data, file.data)
    np.testing.assert_array_equal(rule.target, file.target)
    np.testing.assert_array_equal(rule.categorical, file.categorical)
    assert rule.feature_names == file.feature_names
    assert dict(rule.levels) == dict(file.levels)
    if name != "corral":  # its file calls the classes majority and minority
        assert rule.target_names == file.target_names


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("parity5", [16, 16]),
        ("mux6", [64, 64]),
        ("monks-problems-1", [278, 278]),
        ("tic-tac-toe", [332, 626]),
        ("balance-scale", [49, 288, 288]),
        ("corral", [90, 70]),
    ],
)
def test_class_counts(name, counts):
    assert np.bincount(load(name).target).tolist() == counts


@pytest.mark.parametrize(
    ("name", "distinct"),
    [("parity5", 32), ("mux6", 64), ("monks-problems-1", 432), ("tic-tac-toe", 958)],
)
def test_distinct_rows(name, distinct):
    assert len(np.unique(load(name).data, axis=0)) == distinct


def test_corral_has_eight_noisy_rows_before_its_full_grid():
    corral = load("corral")
    differs = corral.data[:, 5] != corral.target
    assert differs[:32].sum() == 8
    assert not differs[32:96].any()
    assert len(np.unique(corral.data[96:], axis=0)) == 64


def test_each_call_gives_arrays_of_its_own():
    load("parity5").data[:] = 7
    assert load("parity5").data.max() == 1


def test_the_description_tells_the_row_order():
    for name in NAMES:
        assert "Row order: " in load(name).description
