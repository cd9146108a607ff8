"""Angles between tangent spaces: definitions, and what does not change them."""

import numpy as np
import pytest
from helpers import reference_gaussians as reference
from hypothesis import given, settings
from hypothesis import strategies as st

import patchfold as pf
from patchfold.dissimilarity.table import take_described
from patchfold.dissimilarity.tangents import compare_tangents, describe_tangents
from patchfold.neighbors.choice import find_neighbors
from patchfold.patches.fitting import fit_patches
from patchfold.records import Patches


def data(n=40, m=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m)) @ rng.normal(size=(m, m))


def all_pairs(patches):
    n = len(patches.center)
    i, j = np.divmod(np.arange(n * n), n)
    described = describe_tangents(patches)
    left, right = (take_described(described, k) for k in (i, j))
    values = compare_tangents(left, right)
    return tuple(
        part.reshape(n, n)
        for part in (values.label_free, values.within, values.between)
    )


def spaces(directions, variances, n_directions):
    """Make dense patches with given directions (rows) and variances."""
    directions, variances = np.asarray(directions), np.asarray(variances, float)
    covariance = np.swapaxes(directions, 1, 2) @ (variances[:, :, None] * directions)
    n, _, m = covariance.shape
    zero = np.zeros((n, m))
    counts = np.broadcast_to(np.asarray(n_directions, float), (n,))
    return Patches(zero, zero, dense=covariance, noise=np.zeros(n), n_directions=counts)


@pytest.mark.parametrize("n_directions", [1, 2, 0.7, 0.9])
@pytest.mark.parametrize(("m", "k"), [(3, 8), (6, 10), (12, 5), (12, 11)])
def test_angles_equal_their_definition(m, k, n_directions):
    X = data(m=m)
    indices = find_neighbors(X, k).indices
    patches = fit_patches(
        X, X, indices, n_directions=n_directions, shrinkage=0, ridge=0
    )
    bases = []
    for i, row in enumerate(indices):
        vectors = np.linalg.eigh(np.cov(X[[i, *row]].T))[1]
        bases.append(vectors[:, ::-1].T[: int(patches.n_directions[i])])
    mean, within, between = all_pairs(patches)
    for i in range(0, 40, 3):
        for j in range(40):
            sines = reference.principal_sines(bases[i], bases[j])
            chord = np.sqrt(2 - 2 * np.sqrt(1 - max(sines) ** 2))
            # The definition itself keeps half the digits of a small angle.
            np.testing.assert_allclose(mean[i, j], np.mean(sines), atol=1e-6)
            np.testing.assert_allclose(within[i, j], min(sines), atol=1e-6)
            np.testing.assert_allclose(between[i, j], chord + max(sines), atol=1e-6)


def test_a_plane_that_is_tilted_by_an_angle_has_that_angle():
    for angle in (0.0, 1e-9, 1e-3, 0.5, np.pi / 2):
        tilted = [[1, 0, 0], [0, np.cos(angle), np.sin(angle)]]
        normal = [[0, -np.sin(angle), np.cos(angle)]]
        basis = [np.eye(3), [*tilted, *normal]]
        mean, within, between = all_pairs(spaces(basis, [[2, 1, 0.1]] * 2, 2))
        np.testing.assert_allclose(mean[0, 1], np.sin(angle) / 2, rtol=1e-6, atol=1e-15)
        np.testing.assert_allclose(within[0, 1], 0, atol=1e-15)
        expected = np.sin(angle) + 2 * np.sin(angle / 2)
        np.testing.assert_allclose(between[0, 1], expected, rtol=1e-6, atol=1e-15)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), q=st.integers(1, 4))
def test_signs_order_and_basis_of_directions_do_not_matter(seed, q):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(2, 5, 5)))[0]
    turn = np.eye(5)
    turn[:q, :q] = np.linalg.qr(rng.normal(size=(q, q)))[0]
    variances = np.where(np.arange(5) < q, rng.uniform(1, 2, 5), 0.1)
    before = all_pairs(spaces(basis, [sorted(variances)[::-1]] * 2, q))
    after = all_pairs(spaces([basis[0], turn @ basis[1]], [variances] * 2, q))
    for old, new in zip(before, after, strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(new, new.T, rtol=1e-9, atol=1e-9)


def test_a_line_within_a_plane_does_not_turn():
    variances = [[2, 1, 0.1]] * 2
    mean, _, between = all_pairs(spaces([np.eye(3)] * 2, variances, [1, 2]))
    np.testing.assert_allclose(mean, 0, atol=1e-15)
    np.testing.assert_allclose(between, 0, atol=1e-15)
    # and a line across it turns by a right angle
    mean, within, between = all_pairs(
        spaces([np.eye(3)[[2, 1, 0]], np.eye(3)], variances, [1, 2])
    )
    assert mean[0, 1] == mean[1, 0] == within[0, 1] == 1
    np.testing.assert_allclose(between[0, 1], 1 + 2**0.5)


def test_identical_points_have_no_tangent_space():
    patches = spaces([np.eye(2)] * 2, [[1, 0.1], [0, 0]], 1)
    mean, within, between = all_pairs(patches)
    assert mean[0, 1] == within[0, 1] == 0
    np.testing.assert_allclose(between[0, 1], 1 + 2**0.5)


def test_the_default_explains_nine_tenths_of_the_variance():
    X = data()
    default, spelled = (
        pf.PatchIsomap(dissimilarity="principal_angles", n_directions=n).fit(X)
        for n in (None, 0.9)
    )
    np.testing.assert_array_equal(default.graph_.data, spelled.graph_.data)
    other = pf.PatchIsomap(dissimilarity="principal_angles", n_directions=1).fit(X)
    assert not np.allclose(other.graph_.data, spelled.graph_.data)


def test_one_direction_turns_as_curvature_says():
    X = data()
    graphs = [
        pf.PatchIsomap(dissimilarity=name, n_directions=1).fit(X).graph_
        for name in ("principal_angles", "curvature")
    ]
    np.testing.assert_allclose(graphs[0].data, graphs[1].data, rtol=1e-9, atol=1e-12)


def test_leading_directions_of_a_curvature_are_its_first():
    X = data(m=5)
    indices = find_neighbors(X, 9).indices
    graph = (
        pf.PatchIsomap(n_neighbors=9, dissimilarity="curvature", n_directions=2)
        .fit(X)
        .graph_
    )

    def leading(i):
        return np.linalg.eigh(np.cov(X[[i, *indices[i]]].T))[1][:, :-3:-1].T

    for i in range(10):
        j = int(indices[i, 0])
        cosines = np.sum(leading(i) * leading(j), axis=1)
        np.testing.assert_allclose(
            graph[i, j], np.sqrt(1 - cosines**2).mean(), rtol=1e-6
        )


def test_a_sphere_turns_and_a_plane_does_not():
    rng = np.random.default_rng(0)
    sphere = rng.normal(size=(300, 3))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    plane = np.column_stack([rng.uniform(-1, 1, size=(300, 2)), np.zeros(300)])
    turns = [
        pf.PatchIsomap(dissimilarity="principal_angles", n_directions=2)
        .fit(X)
        .graph_.data.max()
        for X in (sphere, plane)
    ]
    assert turns[0] > 0.1
    assert turns[1] < 1e-6


def test_labels_choose_among_the_angles_as_among_curvatures():
    X, y = data(), np.arange(40) % 2
    model = pf.klap(dissimilarity="principal_angles", n_neighbors=10, n_directions=2)
    graph = model.fit(X, y).graph_
    free = model.set_params(label_rule=None).fit(X).graph_
    i, j = graph.nonzero()
    lengths, mean = graph[i, j], free[i, j]
    same = y[i] == y[j]
    assert (lengths[same] <= mean[same] + 1e-12).all()
    assert (lengths[~same] >= mean[~same] - 1e-12).all()
