"""The loops of CauchyMap over edges compute what the arrays in their place do."""

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.loops import needs_loops

from patchfold.backends.native import pulls as native

N = 90
ALL = slice(0, N)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def both(in_arrays):
    """Return what a function gives with the loops, and then with arrays."""

    def run(function):
        found = function()
        in_arrays()
        return found, function()

    return run


def points(rng):
    return (6 * rng.normal(size=(N, 2))).clip(-18, 18).astype(np.float32)


def graphs(rng):
    """Return two graphs; a sample has no edges, and one pair is in both."""
    found = []
    for part in (0.2, 0.05):
        table = rng.uniform(size=(N, N)) * (rng.uniform(size=(N, N)) < part)
        table[5], table[3, 4] = 0, 1
        found.append(sp.csr_array(table))
    return found


def weighed(graphs):
    edges = native.in_eights(*graphs)
    edges.weigh(0.7, 0.3)
    return edges


def table_of(edges):
    found = np.zeros((N, N))
    np.add.at(found, (edges.row[:, None], edges.ends), edges.weights)
    return found


def test_groups_hold_all_edges(rng, both):
    pair = graphs(rng)
    for edges in both(lambda: weighed(pair)):
        expected = 0.7 * pair[0] + 0.3 * pair[1]
        np.testing.assert_allclose(table_of(edges), expected.toarray(), rtol=1e-6)
        assert edges.starts[6] == edges.starts[5]
        for part in (edges.ends, edges.weights):
            assert part.ctypes.data % 64 == 0


@needs_loops
@pytest.mark.parametrize("flat", [False, True])
def test_steps(rng, both, flat):
    Y, r, velocity = points(rng), points(rng), points(rng)
    Y[:, 1], velocity[:, 1] = (0, 0) if flat else (Y[:, 1], velocity[:, 1])
    pair, step = graphs(rng), native.Step(0.3, 0.2, 0.1, 0.5, flat)

    def move():
        v, gain, moved = velocity.copy(), np.full_like(Y, 0.012), np.zeros_like(Y)
        arrays = Y, r, v, gain, moved
        sums = native.move_samples(weighed(pair), arrays, 0.8, step, ALL)
        return v, gain[:, : 2 - flat], moved, sums

    found, expected = both(move)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    moved, sums = found[2], found[3]
    assert (np.linalg.norm(moved - Y, axis=1) <= 1 + 1e-5).all()
    np.testing.assert_allclose(sums[:2], moved.sum(axis=0), atol=1e-3)
    np.testing.assert_array_equal(sums[3:], [*moved.min(axis=0), *moved.max(axis=0)])
    if flat:
        assert (moved[:, 1] == 0).all()


@needs_loops
def test_stretch(rng, both):
    Y, pair = points(rng), graphs(rng)
    Y[7] = 1e6, 0  # logarithms of large numbers too
    stretched = lambda: native.stretch(weighed(pair), Y, 0.8, slice(3, N))  # noqa: E731
    found, expected = both(stretched)
    assert found == pytest.approx(expected, rel=1e-6)


class TestRefusals:
    """What does not fit is an error, not memory of others."""

    @needs_loops
    @pytest.mark.parametrize(
        "change",
        [
            lambda edges: edges.ends.__setitem__((0, 0), 90),
            lambda edges: edges.ends.__setitem__((0, 7), -1),
            lambda edges: edges.starts.__setitem__(1, -5),
            lambda edges: edges.starts.__setitem__(N, 2**30),
        ],
    )
    def test_edges_with_bad_indices(self, rng, change):
        edges, Y = weighed(graphs(rng)), points(rng)
        change(edges)
        step = native.Step(1.0, 1.0, 1.0, 0.5, False)
        arrays = Y, *(np.zeros_like(Y) for _ in range(4))
        with pytest.raises(IndexError, match="an index outside of the samples"):
            native.move_samples(edges, arrays, 1.0, step, ALL)
        with pytest.raises(IndexError, match="an index outside of the samples"):
            native.stretch(edges, Y, 1.0, ALL)

    def test_graphs_with_bad_indices(self, rng, both):
        pair = graphs(rng)
        pair[1].indices[3] = N

        def refused():
            with pytest.raises(IndexError):
                native.in_eights(*pair)

        both(refused)

    @needs_loops
    def test_arrays_of_other_lengths(self, rng):
        edges, Y = weighed(graphs(rng)), points(rng)
        step = native.Step(1.0, 1.0, 1.0, 0.5, False)
        arrays = Y, *(np.zeros_like(Y) for _ in range(3)), np.zeros_like(Y[1:])
        with pytest.raises(ValueError, match=r"moved has size 89 .* instead of 90"):
            native.move_samples(edges, arrays, 1.0, step, ALL)
        with pytest.raises(ValueError, match=r"starts has size 91 .* instead of 90"):
            native.stretch(edges, Y[1:], 1.0, slice(0, N - 1))
