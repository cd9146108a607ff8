"""Local Gaussians: against the literal loops, and where they have no shape."""

import re
import warnings

import numpy as np
import pytest
from helpers import reference
from helpers.estimators import over_graph_embeddings

import patchfold as pf
from patchfold.dissimilarity.kl import check_invertible
from patchfold.exceptions import (
    DegeneratePatchWarning,
    DisconnectedGraphWarning,
    NegativeEigenvalueWarning,
    SingularPatchError,
)
from patchfold.neighbors.choice import find_neighbors, find_query_neighbors
from patchfold.patches.fitting import fit_patches, mean_variance
from patchfold.records import Patches


def data(n=30, m=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m)) * np.arange(1, m + 1) + 5


def patches_of(X, k, **options):
    """Fit the patches of the samples of X, their K neighbours from exact search."""
    return fit_patches(X, X, find_neighbors(X, k).indices, **options)


# --- Means and covariances ------------------------------------------------------------


@pytest.mark.parametrize("include_center", [True, False])
@pytest.mark.parametrize(
    ("shrinkage", "ridge"), [(0.0, 0.0), (0.1, 1e-6), (0.0, 1e-3), (1.0, 0.0), (0.5, 2)]
)
@pytest.mark.parametrize(
    ("m", "k"), [(1, 1), (1, 5), (3, 2), (3, 3), (3, 4), (3, 29), (12, 6), (12, 29)]
)
def test_patches_equal_the_equations_of_the_paper(
    m, k, shrinkage, ridge, include_center
):
    X = data(m=m)
    indices = find_neighbors(X, k).indices
    variance = mean_variance(X)
    with warnings.catch_warnings():
        if k == 1 and not include_center:  # a single point has no shape
            warnings.simplefilter("ignore", DegeneratePatchWarning)
        patches = fit_patches(
            X,
            X,
            indices,
            include_center=include_center,
            shrinkage=shrinkage,
            ridge=ridge,
            variance=variance,
        )
    assert patches.center is X
    assert patches.mean.shape == (30, m)
    covariance = patches.covariance
    assert covariance.shape == (30, m, m)
    for i in range(30):
        points = reference.patch(X, indices, i, include_center)
        mean, expected = reference.gaussian(points, shrinkage, ridge, variance)
        np.testing.assert_allclose(patches.mean[i], mean, rtol=1e-12)
        np.testing.assert_allclose(covariance[i], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("include_center", [True, False])
def test_a_patch_with_no_more_points_than_features_is_kept_factored(include_center):
    X = data(m=6)
    last = 6 - include_center  # as many points as features
    factored = patches_of(X, last, include_center=include_center)
    assert factored.dense is None
    assert factored.factor.shape == (30, 6, 6)
    dense = patches_of(X, last + 1, include_center=include_center)
    assert dense.factor is None
    assert dense.dense.shape == (30, 6, 6)


def test_a_factor_and_its_noise_are_the_covariance():
    X = data(m=8)
    patches = patches_of(X, 4, shrinkage=0.3, ridge=0.01, variance=2.0)
    for i in range(30):
        A = patches.factor[i]
        expected = A.T @ A + patches.noise[i] * np.eye(8)
        np.testing.assert_allclose(patches.covariance[i], expected, rtol=1e-12)
    np.testing.assert_allclose(patches.factor.sum(axis=1), 0, atol=1e-12)


def test_the_mean_of_points_far_from_the_origin_keeps_its_digits():
    X = data() + 1e8
    near = patches_of(X - 1e8, 6, shrinkage=0.0, ridge=0.0)
    far = patches_of(X, 6, shrinkage=0.0, ridge=0.0)
    # X - 1e8 is exact, so both have the same points.
    np.testing.assert_allclose(far.covariance, near.covariance, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(far.mean - 1e8, near.mean, atol=3e-8)


def test_a_new_sample_is_the_centre_of_a_patch_of_training_samples():
    X, new = data(), data(n=4, seed=1)
    indices = find_query_neighbors(new, X, 6).indices
    patches = fit_patches(new, X, indices, shrinkage=0.2, ridge=0.1, variance=3.0)
    for q in range(4):
        points = np.vstack([new[q], X[indices[q]]])
        mean, covariance = reference.gaussian(points, 0.2, 0.1, 3.0)
        np.testing.assert_allclose(patches.mean[q], mean, rtol=1e-12)
        np.testing.assert_allclose(patches.covariance[q], covariance, rtol=1e-11)
    without = fit_patches(
        new, X, indices, include_center=False, shrinkage=0.0, ridge=0.0
    )
    mean, covariance = reference.gaussian(X[indices[0]], 0.0, 0.0, 1.0)
    np.testing.assert_allclose(without.mean[0], mean, rtol=1e-12)
    np.testing.assert_allclose(without.covariance[0], covariance, rtol=1e-11)


@pytest.mark.parametrize("m", [3, 12])
def test_taking_patches_takes_every_part_of_them(m):
    patches = patches_of(data(m=m), 6)
    some = patches.take(np.array([4, 0, 4]))
    for name in ("center", "mean", "dense", "factor", "noise"):
        whole, part = getattr(patches, name), getattr(some, name)
        assert (part is None) == (whole is None)
        if whole is not None:
            np.testing.assert_array_equal(part, whole[[4, 0, 4]])
    np.testing.assert_array_equal(some.covariance, patches.covariance[[4, 0, 4]])


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
@pytest.mark.parametrize("m", [3, 12])
def test_patches_do_not_depend_on_blocks_or_threads(m, n_jobs, cut_blocks):
    X = data(m=m)
    whole = patches_of(X, 6)
    cut_blocks(8_000)
    cut = patches_of(X, 6, n_jobs=n_jobs)
    np.testing.assert_array_equal(cut.mean, whole.mean)
    np.testing.assert_array_equal(cut.covariance, whole.covariance)
    np.testing.assert_array_equal(cut.noise, whole.noise)


# --- The unit of the ridge ------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 4])
def test_the_unit_of_the_ridge_is_the_mean_variance_of_the_features(m):
    X = data(m=m)
    expected = reference.mean_feature_variance(X)
    np.testing.assert_allclose(mean_variance(X), expected, rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -1 / 3, 1e6 + 0.1, 1e-200])
def test_constant_samples_have_the_unit_one(value):
    assert mean_variance(np.full((10, 2), value)) == 1.0


def test_one_feature_that_varies_is_enough_for_a_unit():
    X = np.zeros((4, 2))
    X[:, 1] = [0, 0, 1, 1]
    assert mean_variance(X) == 0.125


# --- Patches without a shape ----------------------------------------------------------


def with_copies(m, copies=5, value=None):
    """Return 30 samples, of which the first ones are identical."""
    X = data(m=m)
    X[:copies] = X[0] if value is None else value
    return X


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e6 + 0.7, -123.456])
@pytest.mark.parametrize("m", [2, 9])
def test_identical_points_have_exactly_no_spread(m, value):
    X = with_copies(m, value=value)
    with pytest.warns(
        DegeneratePatchWarning,
        match=r"^5 of 30 patches consist of 5 identical points, so they have a place "
        r"but no shape; their covariance is the ridge alone\. Raise n_neighbors above "
        r"the number of duplicates, or drop duplicates\.$",
    ):
        patches = patches_of(X, 4, shrinkage=0.3, ridge=0.25, variance=2.0)
    np.testing.assert_array_equal(patches.mean[:5], X[:5])
    np.testing.assert_array_equal(
        patches.covariance[:5], np.broadcast_to(0.5 * np.eye(m), (5, m, m))
    )
    assert (patches.noise[:5] == 0.5).all()
    assert (patches.noise[5:] > 0.5).all()


def test_one_neighbour_without_the_centre_is_a_single_point():
    with pytest.warns(DegeneratePatchWarning, match=r"^30 of 30 patches consist of 1 "):
        patches = patches_of(data(), 1, include_center=False, ridge=0.0)
    assert not patches.covariance.any()


def test_one_neighbour_and_the_centre_make_a_line():
    X = data()
    patches = patches_of(X, 1, shrinkage=0.0, ridge=0.0)
    assert (np.linalg.matrix_rank(patches.covariance) == 1).all()


def test_one_duplicate_too_few_gives_no_warning():
    patches = patches_of(with_copies(2), 5)
    assert (np.trace(patches.covariance, axis1=1, axis2=2) > 0).all()


@over_graph_embeddings
def test_the_warning_names_the_samples_of_the_fit(estimator):
    X = np.repeat(data(n=8), 4, axis=0)
    model = estimator(n_neighbors=3, dissimilarity="kl")
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model.fit(X)
    messages = [
        str(warning.message)
        for warning in record
        if issubclass(warning.category, DegeneratePatchWarning)
    ]
    assert len(messages) == 1
    assert messages[0].startswith("32 of 32 patches consist of 4 identical points")
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
@pytest.mark.parametrize("dissimilarity", ["euclidean", "kl", "curvature"])
@over_graph_embeddings
def test_constant_samples_can_be_embedded(estimator, dissimilarity, value):
    X = np.full((12, 3), value)
    model = estimator(n_neighbors=5, dissimilarity=dissimilarity)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegeneratePatchWarning)
        warnings.simplefilter("ignore", NegativeEigenvalueWarning)
        model.fit(X)
        placed = model.transform(X)
    assert not model.graph_.data.any()
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(placed).all()


# --- Patches that cannot be inverted --------------------------------------------------


def refusal(count, n):
    return re.escape(f"{count} of {n} patch covariances are singular, and ")


REMEDY = re.escape(
    "nothing regularises them. Set ridge above 0 (1e-3 in the papers' scripts), or "
    "raise n_neighbors or radius: patches need more points than features."
)


def line_and_cloud():
    """Return 8 samples on a line, where patches are flat, and a cloud of 22."""
    cloud = np.random.default_rng(2).normal(size=(22, 2))
    line = np.arange(8)[:, None] * np.array([1.0, 2.0]) + 50
    return np.concatenate([line, cloud])


def test_singular_covariances_that_nothing_regularises_are_counted():
    patches = patches_of(line_and_cloud(), 4, shrinkage=0.0, ridge=0.0)
    assert patches.dense is not None
    with pytest.raises(SingularPatchError, match=f"^{refusal(8, 30)}{REMEDY}$"):
        check_invertible(patches)


def test_without_regularisation_patches_of_few_points_are_all_singular():
    patches = patches_of(data(m=6), 5, shrinkage=0.0, ridge=0.0)
    with pytest.raises(SingularPatchError, match=f"^{refusal(30, 30)}{REMEDY}$"):
        check_invertible(patches)


@pytest.mark.parametrize("m", [2, 9], ids=["dense", "factored"])
def test_shrinkage_alone_leaves_only_identical_points_singular(m):
    with pytest.warns(DegeneratePatchWarning, match="^5 of 30 patches"):
        patches = patches_of(with_copies(m), 4, shrinkage=0.1, ridge=0.0)
    with pytest.raises(SingularPatchError, match=f"^{refusal(5, 30)}") as caught:
        check_invertible(patches)
    assert "shrinkage=0 " not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [{"shrinkage": 0.1, "ridge": 0.0}, {"shrinkage": 0.0, "ridge": 1e-6}],
    ids=str,
)
def test_shrinkage_or_ridge_makes_flat_patches_invertible(options):
    for X in (line_and_cloud(), data(m=6)):
        patches = patches_of(X, 4, **options)
        check_invertible(patches)
        assert np.linalg.eigvalsh(patches.covariance).min() > 0


def test_enough_points_need_no_regularisation():
    patches = patches_of(data(), 4, shrinkage=0.0, ridge=0.0)
    check_invertible(patches)
    assert np.linalg.eigvalsh(patches.covariance).min() > 0


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_singularity_does_not_depend_on_the_unit_of_the_data(unit):
    options = {"shrinkage": 0.0, "ridge": 0.0}
    check_invertible(patches_of(data() * unit, 4, **options))
    flat = patches_of(line_and_cloud() * unit, 4, **options)
    with pytest.raises(SingularPatchError, match=refusal(8, 30)):
        check_invertible(flat)


@over_graph_embeddings
def test_an_estimator_refuses_singular_patches(estimator):
    model = estimator(n_neighbors=12, dissimilarity="kl", shrinkage=0, ridge=0)
    X = data()
    X[:, 1] = 4.0
    with pytest.raises(SingularPatchError, match=f"^{refusal(30, 30)}{REMEDY}$"):
        model.fit(X)
    model.set_params(ridge=1e-3).fit(X)
    assert np.isfinite(model.embedding_).all()


def test_curvature_wants_no_inverse():
    X = data()
    X[:, 1] = 4.0
    model = pf.PatchIsomap(
        n_neighbors=12, dissimilarity="curvature", shrinkage=0, ridge=0
    ).fit(X)
    assert np.isfinite(model.embedding_).all()


# --- Training samples as new samples --------------------------------------------------


@over_graph_embeddings
def test_training_samples_keep_their_places_where_copies_would_make_flat_patches(
    estimator,
):
    # K = m: a patch has m + 1 points, enough; with its centre twice it has m.
    X = data()
    model = estimator(n_neighbors=3, dissimilarity="kl", shrinkage=0, ridge=0)
    if "kernel_width" in model.get_params():
        model.set_params(kernel_width=1e6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        model.fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-12)


@over_graph_embeddings
def test_training_samples_keep_their_places_without_a_warning(estimator):
    # Four copies and K = 4: no patch is degenerate, but with its centre twice one is.
    X = with_copies(3, copies=4)
    model = estimator(n_neighbors=4, dissimilarity="kl")
    if "kernel_width" in model.get_params():
        model.set_params(kernel_width=1e9)
    model.fit(X)
    placed = model.transform(X)
    np.testing.assert_allclose(placed[4:], model.embedding_[4:], atol=1e-12)
    together = np.broadcast_to(model.embedding_[:4].mean(axis=0), (4, 2))
    np.testing.assert_allclose(placed[:4], together, atol=1e-12)


def test_a_query_equal_to_more_samples_than_neighbours_gets_the_mean_of_all():
    X = with_copies(3, copies=8)
    model = pf.PatchEigenmaps(n_neighbors=4, dissimilarity="euclidean").fit(X)
    assert np.ptp(model.embedding_[:8], axis=0).max() > 1e-6
    np.testing.assert_allclose(
        model.transform(X[:1])[0], model.embedding_[:8].mean(axis=0), atol=1e-12
    )


def test_patches_of_points_alone_are_what_euclidean_needs():
    X = data()
    patches = Patches(center=X)
    assert patches.mean is patches.dense is patches.factor is patches.noise is None
    np.testing.assert_array_equal(patches.take(np.array([1])).center, X[[1]])
