"""Cauchy graph embedding: gradients, monotone ascent, the figures of the C shape."""

import numpy as np
import pytest
from helpers import reference
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

import patchfold as pf
from patchfold.graph.weights import complete_graph
from patchfold.metrics import local_topology_violations
from patchfold.records import EdgeList
from patchfold.solvers.gradient import Objective, project
from patchfold.solvers.objectives import DECAYS


@pytest.fixture(scope="module")
def c_shape():
    angles = np.deg2rad(np.linspace(35, 325, 57))
    return np.column_stack([np.cos(angles), np.sin(angles)])


def inversions(order):
    smaller = sum((order[i] > order[i + 1 :]).sum() for i in range(len(order)))
    pairs = len(order) * (len(order) - 1) // 2
    return min(smaller, pairs - smaller)


def random_objective(decay, n_components, min_distance=0.0):
    rng = np.random.default_rng(0)
    n = 12
    pairs = complete_graph(n)
    R = project(rng.normal(size=(n, n_components)))
    weights = rng.uniform(0.1, 1, pairs.source.size)
    objective = Objective(pairs, weights, DECAYS[decay], 0.4, min_distance)
    return objective, R, EdgeList(pairs, weights).graph.toarray()


@pytest.mark.parametrize("n_components", [1, 2, 3])
@pytest.mark.parametrize("min_distance", [0.0, 0.5])
@pytest.mark.parametrize("decay", DECAYS)
def test_gradient_equals_finite_differences(decay, n_components, min_distance):
    objective, R, _ = random_objective(decay, n_components, min_distance)
    gradient = -4 * (objective.pull(R) @ R)
    h = 1e-6
    for i, c in np.ndindex(R.shape):
        step = np.zeros_like(R)
        step[i, c] = h
        slope = (objective.value(R + step) - objective.value(R - step)) / (2 * h)
        assert gradient[i, c] == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("decay", DECAYS)
def test_objective_equals_the_double_sum(decay):
    objective, R, W = random_objective(decay, 2)
    expected = reference.cauchy_objective(W, R, decay, 0.4)
    assert objective.value(R) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_neighbors", [None, 10])
@pytest.mark.parametrize("decay", DECAYS)
def test_objective_never_falls_and_the_result_is_feasible(iris, decay, n_neighbors):
    X, _ = iris
    model = pf.CauchyEmbedding(3, decay=decay, n_neighbors=40 if n_neighbors else None)
    R = model.fit_transform(X)
    assert (np.diff(model.objective_) >= 0).all()
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(R.mean(axis=0), 0, atol=1e-10)


def test_c_shape_figures(c_shape):
    model = pf.cauchy(n_components=1).fit(c_shape)
    assert np.sqrt(model.kernel_width_) == pytest.approx(1.251354, abs=1e-4)
    assert model.affinity_.sum() == pytest.approx(1333.369, abs=1e-3)


@pytest.mark.parametrize(("scale", "value"), [(1, 0.838448), (2, 0.932465)])
def test_c_shape_is_unrolled(c_shape, scale, value):
    """At c = 1 the value is a saddle that symmetry holds: no endless iterations."""
    model = pf.cauchy(n_components=1, decay_scale=scale, max_iter=50).fit(c_shape)
    ratio = model.objective_[-1] / model.affinity_.sum()
    assert ratio == pytest.approx(value, abs=1e-4)
    assert inversions(model.embedding_[:, 0]) == 0
    start = pf.cauchy(n_components=1, max_iter=0).fit(c_shape)
    assert inversions(start.embedding_[:, 0]) == 58


def test_a_wide_decay_is_the_laplacian(c_shape):
    start = pf.cauchy(n_components=1, max_iter=0).fit_transform(c_shape)
    wide = pf.cauchy(n_components=1, decay_scale=100, tol=0).fit_transform(c_shape)
    np.testing.assert_allclose(wide, start, atol=1e-4)


def leave_one_out_accuracy(embedding, y):
    nearest = NearestNeighbors(n_neighbors=1).fit(embedding).kneighbors()[1][:, 0]
    return (y[nearest] == y).mean()


@pytest.fixture(scope="module")
def digits():
    bunch = load_digits()
    return bunch.data, bunch.target


def test_digits(digits):
    X, y = digits
    start = pf.CauchyEmbedding(max_iter=0).fit_transform(X)
    assert leave_one_out_accuracy(start, y) == pytest.approx(0.90, abs=0.02)
    assert leave_one_out_accuracy(pf.CauchyEmbedding().fit_transform(X), y) >= 0.95


def test_held_out_digits_land_among_their_class(digits):
    X, y = digits
    model = pf.CauchyEmbedding().fit(X[::2])
    tree = NearestNeighbors(n_neighbors=1).fit(model.embedding_)
    nearest = tree.kneighbors(model.transform(X[1::2]))[1][:, 0]
    assert (y[::2][nearest] == y[1::2]).mean() > 0.88


def test_minimum_distance_spreads_the_points(iris):
    X, _ = iris
    plain = pf.CauchyEmbedding(n_neighbors=40).fit_transform(X)
    spread = pf.CauchyEmbedding(n_neighbors=40, min_distance=0.2).fit_transform(X)

    def crowding(R):
        near = NearestNeighbors(n_neighbors=1).fit(R).kneighbors()[0]
        return np.median(near)

    assert crowding(spread) > 2 * crowding(plain)


def test_patches_need_neighbours(iris):
    with pytest.raises(ValueError, match="n_neighbors=None compares all pairs"):
        pf.cauchy(dissimilarity="kl").fit(iris[0])


class TestLocalTopologyViolations:
    def test_equals_the_literal_count(self):
        X = np.random.default_rng(0).normal(size=(80, 5))
        W = reference.cauchy_similarity(X)
        R = pf.cauchy(max_iter=0).fit_transform(X)
        count = local_topology_violations(W, R)
        assert count == reference.topology_violations(W, R)
        assert count > 0

    def test_sparse_equals_dense(self, iris):
        X, _ = iris
        model = pf.CauchyEmbedding(n_neighbors=40).fit(X)
        counts = [
            local_topology_violations(W, model.embedding_, n_pairs=40)
            for W in (model.affinity_, model.affinity_.toarray())
        ]
        assert counts[0] == counts[1]

    def test_equal_similarities_conflict_with_nothing(self):
        W = np.ones((5, 5))
        R = np.random.default_rng(0).normal(size=(5, 2))
        assert local_topology_violations(W, R) == 0

    def test_wrong_shape(self):
        with pytest.raises(ValueError, match="one row for each of the 3 samples"):
            local_topology_violations(np.ones((3, 3)), np.ones((2, 2)))


@pytest.mark.parametrize(
    ("settings", "kilometres"),
    [
        ({"max_iter": 0}, 24_530),
        ({"max_iter": 500, "tol": 0}, 24_205),
    ],
    ids=["laplacian", "cauchy"],
)
def test_the_path_through_the_cities(settings, kilometres):
    """Figure 5 of the paper, from great-circle distances; its ends are the Laplacian's.

    The Cauchy figure is the converged one: shorter paths are stopping artefacts.
    """
    cities = pf.datasets.us_capitals()
    D = cities.distances
    model = pf.cauchy(n_components=1, dissimilarity="precomputed", **settings).fit(D)
    order = np.argsort(model.embedding_[:, 0])
    assert D[order[:-1], order[1:]].sum() == pytest.approx(kilometres, rel=0.01)
    if settings["max_iter"] == 0:
        ends = {cities.names[order[0]], cities.names[order[-1]]}
        assert ends == {"Olympia", "Augusta"}
