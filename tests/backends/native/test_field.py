"""The loops of CauchyMap in C compute what the arrays in their place do."""

import numpy as np
import pytest
from helpers.loops import needs_loops

import patchfold as pf
from patchfold.backends.native import field as native

N = 90
GRID = native.Grid(-24.0, -21.0, 0.6, 80, 70, 75)


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


def points(rng, n=N):
    return (6 * rng.normal(size=(n, 2))).clip(-18, 18).astype(np.float32)


@needs_loops
def test_keys_of_rows(rng, both):
    X = rng.normal(size=(50, 4))
    X[3], X[7, 1], X[8] = X[9], -0.0, X[7]
    X[8, 1] = 0.0
    found, expected = both(lambda: native.hash_rows(X))
    np.testing.assert_array_equal(found, expected)
    assert found[3] == found[9]
    assert found[7] == found[8]
    assert np.unique(found).size == 48


@needs_loops
@pytest.mark.parametrize("perplexity", [1.0, 3.0, 8.0])
def test_weights_of_an_entropy(rng, both, perplexity):
    squared = rng.uniform(size=(40, 9)) ** 4
    squared[0], squared[1, :8], squared[2] = 1.0, 0.0, 1e12 * squared[2]
    found, expected = both(lambda: native.calibrate(squared, np.log(perplexity)))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    if perplexity > 1:
        p = found[2:]
        entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
        np.testing.assert_allclose(entropy, np.log(perplexity), atol=1e-8)


@needs_loops
@pytest.mark.parametrize("alpha", [1.0, 0.83, 0.5])
def test_repulsion_by_pairs(rng, both, alpha):
    Y, sources = points(rng), points(rng, 35)
    sources[3] = 1e5, 0  # its power is nearly 0

    def push():
        r = np.ones_like(Y)
        total = native.push_by_pairs(Y, sources, r, alpha, slice(10, 80))
        return np.append(r.ravel(), total)

    found, expected = both(push)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-5)
    assert (found[:20] == 1).all()


@needs_loops
def test_grids(rng, both):
    Y = points(rng)
    field = rng.normal(size=(80, 75)).astype(np.float32)

    def use():
        mass, r = np.zeros((80, 75), np.float32), np.zeros_like(Y)
        native.spread(GRID, Y, mass, slice(2, N))
        total = native.gather(GRID, Y, field, r, slice(2, N))
        return mass, np.append(r.ravel(), total)

    found, expected = both(use)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert found[0].sum() == pytest.approx(N - 2, rel=1e-5)
    assert (found[0][:, 70:] == 0).all()


@needs_loops
@pytest.mark.parametrize(("flat", "k"), [(False, 5), (True, 5), (False, 40)])
def test_new_samples(rng, both, flat, k):
    Y, field = points(rng), rng.normal(size=(80, 75)).astype(np.float32)
    near = rng.integers(0, N, (40, k))
    weights = rng.dirichlet(np.ones(k), 40).astype(np.float32)

    def settle():
        placed = np.zeros((40, 2), np.float32)
        box = np.array([*Y.min(axis=0), *Y.max(axis=0)])
        native.settle_samples(
            GRID,
            field,
            Y,
            near,
            weights,
            box=box,
            alpha=0.8,
            push=0.01,
            flat=flat,
            placed=placed,
            rows=slice(0, 40),
        )
        return placed

    np.testing.assert_allclose(*both(settle), atol=1e-3)


@needs_loops
def test_the_map_does_not_depend_on_the_loops(in_arrays, wine):
    def fit():
        with pytest.warns(pf.exceptions.MapConvergenceWarning):
            return pf.CauchyMap(max_iter=10).fit(wine[0]).embedding_

    found = fit()
    in_arrays()
    np.testing.assert_allclose(found, fit(), atol=1e-4)


class TestRefusals:
    """What a damaged model file could ask for: an error, not memory of others."""

    @pytest.fixture(params=[pytest.param(True, marks=needs_loops), False])
    def compiled(self, request, in_arrays):
        if not request.param:
            in_arrays()

    @pytest.mark.parametrize("place", [[1e9, 0], [np.nan, 0], [-24.0, 0]])
    def test_samples_outside_of_the_grid(self, compiled, place):
        Y, table = np.array([place], np.float32), np.zeros((80, 75), np.float32)
        with pytest.raises(ValueError, match="outside of the grid"):
            native.spread(GRID, Y, table, slice(0, 1))
        with pytest.raises(ValueError, match="outside of the grid"):
            native.gather(GRID, Y, table, Y.copy(), slice(0, 1))

    @needs_loops
    def test_grids_beyond_their_buffer(self):
        Y, table = np.zeros((1, 2), np.float32), np.zeros((80, 69), np.float32)
        with pytest.raises(ValueError, match="too few nodes, or is larger"):
            native.spread(GRID, Y, table, slice(0, 1))

    @needs_loops
    def test_arrays_of_other_lengths(self, rng):
        Y = points(rng)
        with pytest.raises(ValueError, match=r"r has size 89 .* instead of 90"):
            native.push_by_pairs(Y, Y, Y[1:].copy(), 1.0, slice(0, N))

    @needs_loops
    def test_neighbours_that_do_not_exist(self, rng):
        Y, field = points(rng), np.zeros((80, 75), np.float32)
        near, weights = np.array([[0, N]]), np.ones((1, 2), np.float32)
        with pytest.raises(IndexError, match="near holds an index that is not 0 to 89"):
            native.settle_samples(
                GRID,
                field,
                Y,
                near,
                weights,
                box=np.array([-18, -18, 18, 18], np.float32),
                alpha=1.0,
                push=0.1,
                flat=False,
                placed=np.zeros((1, 2), np.float32),
                rows=slice(0, 1),
            )
