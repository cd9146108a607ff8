"""The search in cells finds what arrays do."""

import numpy as np
import pytest
from helpers.loops import needs_loops

from patchfold.backends.native.cells import NearCells, group_samples, search_cells


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
    found, squared, _ = search_cells(groups, queries, 7, 5)
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
        np.testing.assert_allclose(np.sort(ours), np.sort(theirs), rtol=1e-4)


@needs_loops
@pytest.mark.parametrize("n_probes", [1, 3, 6])
def test_queries_choose_among_cells_near_to_their_own(in_arrays, n_probes):
    rng = np.random.default_rng(6)
    _, groups = cells_of(rng, 900, 4, 40)
    queries = rng.normal(size=(600, 4))  # more than are searched for together
    near = rng.permuted(np.tile(np.arange(40), (40, 1)), axis=1)[:, :6]
    near_cells = NearCells(np.sort(rng.integers(0, 40, 600)), near.astype(np.int32))
    found = search_cells(groups, queries, n_probes, 5, near_cells)
    in_arrays()
    expected = search_cells(groups, queries, n_probes, 5, near_cells)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.sort(ours), np.sort(theirs), rtol=1e-4)


def cut(array):
    return array[:-1].copy()


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
    ],
)
def test_cells_that_c_would_read_beyond_are_refused(part, damage):
    X, groups = cells_of(np.random.default_rng(8), 90, 2, 5)
    broken = groups._replace(**{part: damage(getattr(groups, part))})
    with pytest.raises(ValueError, match="damaged, or of another version"):
        search_cells(broken, X, 2, 3)


@needs_loops
@pytest.mark.parametrize(("cell", "near"), [(5, 0), (-1, 0), (0, 5), (0, -1)])
def test_cells_that_do_not_exist_are_refused(cell, near):
    X, groups = cells_of(np.random.default_rng(8), 90, 2, 5)
    lists = np.full((5, 3), near, dtype=np.int32)
    near_cells = NearCells(np.full(90, cell), lists)
    with pytest.raises(ValueError, match="damaged, or of another version"):
        search_cells(groups, X, 2, 3, near_cells)


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_loops), False])
def test_cells_with_too_few_samples_say_so(in_arrays, compiled):
    X, groups = cells_of(np.random.default_rng(4), 9, 2, 3)
    if not compiled:
        in_arrays()
    found, squared, _ = search_cells(groups, X, 3, 12)
    assert (np.sort(found, axis=1)[:, :3] == -1).all()
    assert (np.sort(squared, axis=1)[:, 9:] == np.inf).all()
