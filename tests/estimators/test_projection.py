"""PatchProjection: a linear map with its equation, its way back, and its limits."""

import numpy as np
import pytest
from helpers import reference
from helpers.comparing import assert_equal_up_to_sign

import patchfold as pf

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(40, 4)) * [1, 2, 3, 4] + 7
WIDE = RANDOM.normal(size=(30, 80))


@pytest.mark.parametrize("reg", [0.0, 0.3])
def test_it_solves_the_equation_of_locality_preserving_projections(reg):
    model = pf.PatchProjection(
        n_neighbors=6, dissimilarity="euclidean", kernel_width=9.0, reg=reg
    ).fit(X)
    lengths = reference.euclidean_lengths(X, 6)
    mean, matrix, values = reference.projection(X, lengths, 2, 9.0, reg)
    np.testing.assert_allclose(model.mean_, mean)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-9)
    assert_equal_up_to_sign(model.projection_, matrix)


@pytest.mark.parametrize("label_rule", [None, "entropic"])
def test_divergences_and_labels_change_the_weights_of_the_same_equation(label_rule):
    y = np.arange(40) % 3
    model = pf.PatchProjection(n_neighbors=6, label_rule=label_rule, reg=0.0).fit(X, y)
    lengths = reference.kl_lengths(X, 6, 0.1, 1e-6)
    if label_rule:
        lengths = reference.supervised_elap_lengths(X, lengths, y)
    expected = reference.projection(X, lengths, 2, model.kernel_width_, 0.0)
    assert_equal_up_to_sign(model.projection_, expected[1])


def test_with_more_features_than_samples_it_is_laplacian_eigenmaps():
    settings = {"n_neighbors": 6, "dissimilarity": "euclidean"}
    free = pf.PatchEigenmaps(**settings).fit(WIDE)
    linear = pf.PatchProjection(**settings, reg=0.0).fit(WIDE)
    np.testing.assert_allclose(linear.eigenvalues_, free.eigenvalues_, rtol=1e-8)
    assert_equal_up_to_sign(linear.embedding_, free.embedding_)


def test_transform_is_one_matrix_product_for_old_and_new_samples():
    model = pf.PatchProjection(n_neighbors=6).fit(X)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    new = X[:5] + 1
    np.testing.assert_allclose(
        model.transform(new) - model.transform(X[:5]),
        np.tile(model.projection_.sum(axis=0), (5, 1)),
    )


def test_a_shift_of_the_data_shifts_only_the_mean():
    here = pf.PatchProjection(n_neighbors=6).fit(X)
    shift = np.array([100, 0, -50, 3])
    there = pf.PatchProjection(n_neighbors=6).fit(X + shift)
    np.testing.assert_allclose(there.projection_, here.projection_, atol=1e-9)
    np.testing.assert_allclose(there.mean_ - here.mean_, shift, atol=1e-12)


@pytest.mark.parametrize("samples", [X, WIDE], ids=["long", "wide"])
def test_the_way_back_is_exact_in_the_embedding_and_best_in_the_samples(samples):
    model = pf.PatchProjection(n_neighbors=6, reg=0.1).fit(samples)
    points = RANDOM.normal(size=(7, 2))
    back = model.inverse_transform(points)
    np.testing.assert_allclose(model.transform(back), points, atol=1e-9)

    degrees = np.asarray(model.affinity_.sum(axis=1))
    roots = np.sqrt(degrees)[:, None]
    best, *_ = np.linalg.lstsq(
        roots * model.embedding_, roots * (samples - model.mean_), rcond=None
    )
    np.testing.assert_allclose(back - model.mean_, points @ best, atol=1e-8)


def test_as_many_components_as_features_lose_nothing():
    model = pf.PatchProjection(4, n_neighbors=6).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.embedding_), X)


def test_more_components_than_directions_are_refused():
    flat = np.column_stack([X[:, 0], 2 * X[:, 0], np.ones(40)])
    with pytest.raises(
        ValueError,
        match=r"^n_components=2 exceeds the 1 directions in which the samples vary "
        r"\(n_features=3\); lower n_components\.$",
    ):
        pf.PatchProjection(n_neighbors=6, dissimilarity="euclidean").fit(flat)


def test_coordinates_of_another_width_are_refused():
    model = pf.PatchProjection(n_neighbors=6).fit(X)
    with pytest.raises(
        ValueError, match="X has 3 columns, but coordinates have n_comp"
    ):
        model.inverse_transform(np.zeros((2, 3)))


def test_a_matrix_of_dissimilarities_has_no_linear_map():
    with pytest.raises(ValueError, match="The 'dissimilarity' parameter of PatchProj"):
        pf.PatchProjection(dissimilarity="precomputed").fit(np.zeros((5, 5)))


@pytest.mark.parametrize("value", [-1e-9, np.nan, "auto", None, True])
def test_a_wrong_ridge_is_named_with_what_it_must_be(value):
    with pytest.raises(
        ValueError,
        match=r"^The 'reg' parameter of PatchProjection must be a float >= 0\. Got ",
    ):
        pf.PatchProjection(reg=value).fit(X)


def test_it_keeps_no_training_samples():
    model = pf.PatchProjection(n_neighbors=6).fit(X)
    held = [v for v in vars(model).values() if np.shape(v) == X.shape]
    assert not held


def test_a_sweep_equals_separate_fits():
    swept = list(pf.fit_sweep(pf.PatchProjection(), X, n_neighbors=[6, 10]))
    for model in swept:
        alone = pf.PatchProjection(n_neighbors=model.n_neighbors_).fit(X)
        np.testing.assert_allclose(model.projection_, alone.projection_, atol=1e-8)
