"""The search in cells finds what arrays do, in whole numbers too."""

from dataclasses import replace

import numpy as np
import pytest
from loops import needs_loops
from sklearn.cluster import KMeans

from patchfold._native_search import (
    Homes,
    WholeNumbers,
    group_samples,
    search_cells,
    with_whole_numbers,
)


def cells_of(rng, n, m, n_cells):
    X = rng.normal(size=(n, m))
    middles = rng.normal(size=(n_cells, m))
    label = rng.integers(0, n_cells - 1, n)  # the last stays empty
    return X, group_samples(X, label, middles)


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_loops), False])
def test_all_cells_hold_the_nearest(in_arrays, compiled):
    rng = np.random.default_rng(2)
    X, groups = cells_of(rng, 150, 3, 7)
    queries = rng.normal(size=(40, 3))
    if not compiled:
        in_arrays()
    found, squared = search_cells(groups, queries, 7, 5)
    exact = ((queries[:, None] - X) ** 2).sum(axis=2)
    np.testing.assert_array_equal(
        np.sort(found, axis=1), np.sort(np.argsort(exact, axis=1)[:, :5], axis=1)
    )
    listed = np.take_along_axis(exact, found, axis=1)
    np.testing.assert_allclose(squared, listed, rtol=1e-4)


@needs_loops
@pytest.mark.parametrize("n_probes", [1, 2, 5])
def test_near_cells_are_searched_alike(in_arrays, n_probes):
    rng = np.random.default_rng(3)
    _, groups = cells_of(rng, 300, 4, 12)
    queries = rng.normal(size=(70, 4))
    found = search_cells(groups, queries, n_probes, 6)
    in_arrays()
    expected = search_cells(groups, queries, n_probes, 6)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            np.sort(ours, axis=1), np.sort(theirs, axis=1), rtol=1e-4
        )


@needs_loops
@pytest.mark.parametrize("n_probes", [1, 3, 6])
def test_queries_choose_among_cells_near_to_their_own(in_arrays, n_probes):
    rng = np.random.default_rng(6)
    _, groups = cells_of(rng, 900, 4, 40)
    queries = rng.normal(size=(600, 4))  # more than are searched for together
    near = rng.permuted(np.tile(np.arange(40), (40, 1)), axis=1)[:, :6]
    homes = Homes(np.sort(rng.integers(0, 40, 600)), near.astype(np.int32))
    found = search_cells(groups, queries, n_probes, 5, homes)
    in_arrays()
    expected = search_cells(groups, queries, n_probes, 5, homes)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            np.sort(ours, axis=1), np.sort(theirs, axis=1), rtol=1e-4
        )


def cut(array):
    return array[:-1].copy()


def lengths(whole):
    return whole.sizes, whole.units


@needs_loops
@pytest.mark.parametrize(
    ("part", "damage"),
    [
        ("points", cut),
        ("points", lambda points: points.astype(np.float64)),
        ("centers", cut),
        ("middles", cut),
        ("starts", lambda starts: starts[::-1].copy()),
        ("starts", lambda starts: starts + 1),
        ("starts", lambda starts: starts[:0]),
        ("starts", lambda starts: starts[None]),
        ("middles", lambda middles: middles[0]),
        ("samples", cut),
        ("whole", lambda whole: WholeNumbers(cut(whole.values), *lengths(whole))),
        ("whole", lambda whole: WholeNumbers(whole.values, whole.sizes, whole.sizes)),
        ("whole", lambda whole: replace(whole, units=whole.units * 1e-300)),
        ("whole", lambda whole: replace(whole, units=whole.units * np.nan)),
    ],
)
def test_cells_that_c_would_read_beyond_are_refused(part, damage):
    X, groups = cells_of(np.random.default_rng(8), 90, 2, 5)
    groups = with_whole_numbers(groups)
    if getattr(groups, part) is None:
        pytest.skip("this processor has no use for whole numbers")
    broken = replace(groups, **{part: damage(getattr(groups, part))})
    with pytest.raises(ValueError, match="damaged, or of another version"):
        search_cells(broken, X, 2, 3)


@needs_loops
@pytest.mark.parametrize(("cell", "near"), [(5, 0), (-1, 0), (0, 5), (0, -1)])
def test_cells_that_do_not_exist_are_refused(cell, near):
    X, groups = cells_of(np.random.default_rng(8), 90, 2, 5)
    lists = np.full((5, 3), near, dtype=np.int32)
    homes = Homes(np.full(90, cell), lists)
    with pytest.raises(ValueError, match="damaged, or of another version"):
        search_cells(groups, X, 2, 3, homes)


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_loops), False])
def test_cells_with_too_few_samples_say_so(in_arrays, compiled):
    X, groups = cells_of(np.random.default_rng(4), 9, 2, 3)
    if not compiled:
        in_arrays()
    found, squared = search_cells(groups, X, 3, 12)
    assert (np.sort(found, axis=1)[:, :3] == -1).all()
    assert (np.sort(squared, axis=1)[:, 9:] == np.inf).all()


def rounded(X, n_cells):
    """Return cells of k-means with and without whole numbers."""
    label = KMeans(n_cells, n_init=1, random_state=0).fit_predict(X)
    middles = np.stack([X[label == cell].mean(axis=0) for cell in range(n_cells)])
    plain = group_samples(X, label, middles)
    groups = with_whole_numbers(plain)
    if groups.whole is None:
        pytest.skip("this processor has no use for whole numbers")
    return groups, plain


def lost(groups, plain, queries, n_probes, n_wanted=20, n_needed=15):
    """Return the share of the nearest that whole numbers miss, among a few more."""
    found, _ = search_cells(groups, queries, n_probes, n_wanted)
    needed, squared = search_cells(plain, queries, n_probes, n_wanted)
    first = np.argsort(squared, axis=1)[:, :n_needed]
    needed = np.take_along_axis(needed, first, axis=1)
    return 1 - (needed[:, :, None] == found[:, None, :]).any(axis=2).mean()


@needs_loops
@pytest.mark.parametrize("m", [1, 2, 5, 20])
@pytest.mark.parametrize("n_probes", [3, 12])
def test_whole_numbers_find_the_same_candidates(m, n_probes):
    rng = np.random.default_rng(m)
    X = rng.normal(size=(3000, m))
    groups, plain = rounded(X, 12)
    assert lost(groups, plain, X, n_probes) < 1e-4
    assert lost(groups, plain, rng.normal(size=(300, m)), n_probes) < 1e-3


@needs_loops
def test_whole_numbers_tell_distances_to_a_unit():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(900, 6))
    groups, _ = rounded(X, 4)
    sample, squared = search_cells(groups, X, 4, 10)
    true = np.linalg.norm(X[:, None] - X[sample], axis=2)
    assert np.abs(np.sqrt(squared) - true).max() < 6**0.5 * groups.whole.units.max()
    assert (squared != search_cells(replace(groups, whole=None), X, 4, 10)[1]).any()


@needs_loops
def test_what_is_close_within_a_cell_is_told_apart():
    # Bunches of 100 samples, each a part in 100,000 of its cell: all within one unit.
    rng = np.random.default_rng(2)
    X = np.repeat(rng.normal(size=(40, 3)), 100, axis=0)
    X += 1e-5 * rng.normal(size=X.shape)
    groups, plain = rounded(X, 4)
    assert lost(groups, plain, X, 2) == 0


@needs_loops
def test_an_outlier_in_a_cell_costs_the_others_nothing():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 4))
    X[7] *= 1e6
    label = np.arange(2000) % 2  # all over each other, the outlier among them
    plain = group_samples(X, label, np.zeros((2, 4)))
    groups = with_whole_numbers(plain)
    assert lost(groups, plain, np.delete(X, 7, axis=0), 2) == 0


@needs_loops
def test_queries_far_out_are_compared_otherwise():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2000, 4))
    groups, plain = rounded(X, 6)
    for far in (3, 30, 3e5):
        queries = far * rng.normal(size=(100, 4))
        assert lost(groups, plain, queries, 6, 15) <= (far < 4) * 0.01


@needs_loops
def test_equal_samples_have_no_unit():
    X = np.repeat([[0.0, 0.0], [3.0, 4.0]], 40, axis=0)
    groups, _ = rounded(X, 2)
    np.testing.assert_array_equal(groups.whole.units, 0)
    sample, squared = search_cells(groups, X, 1, 5)
    np.testing.assert_array_equal(squared, 0)
    assert (sample[40:] >= 40).all()


@needs_loops
@pytest.mark.parametrize("scale", [1e-17, 1e-10, 1e10, 1e17])
def test_the_scale_of_the_data_does_not_matter(scale):
    X = np.random.default_rng(5).normal(size=(1000, 3))
    groups, plain = rounded(scale * X, 4)
    assert lost(groups, plain, scale * X, 4) == 0
