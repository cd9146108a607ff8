"""With `dissimilarity="euclidean"` the classes are the classics of scikit-learn."""

import numpy as np
import pytest
from helpers.comparing import assert_equal_up_to_sign
from sklearn.manifold import Isomap, LocallyLinearEmbedding, spectral_embedding

import patchfold as pf


@pytest.fixture(scope="module")
def new_samples(wine):
    X, _ = wine
    return X + np.random.default_rng(0).normal(scale=0.3, size=X.shape)


@pytest.mark.parametrize("n_components", [1, 2, 5])
def test_isomap(wine, new_samples, n_components):
    X, _ = wine
    ours = pf.PatchIsomap(n_components, dissimilarity="euclidean").fit(X)
    theirs = Isomap(n_components=n_components, n_neighbors=15).fit(X)
    assert_equal_up_to_sign(ours.embedding_, theirs.embedding_)
    np.testing.assert_allclose(ours.geodesics_, theirs.dist_matrix_)
    assert_equal_up_to_sign(ours.transform(new_samples), theirs.transform(new_samples))


@pytest.mark.parametrize("reg", [1e-3, 1e-1])
def test_locally_linear_embedding(wine, new_samples, reg):
    X, _ = wine
    ours = pf.PatchLLE(dissimilarity="euclidean", reg=reg).fit(X)
    theirs = LocallyLinearEmbedding(n_neighbors=15, reg=reg, eigen_solver="dense")
    theirs.fit(X)
    assert_equal_up_to_sign(ours.embedding_, theirs.embedding_)
    assert_equal_up_to_sign(ours.transform(new_samples), theirs.transform(new_samples))


@pytest.mark.parametrize("laplacian", ["random_walk", "unnormalized"])
def test_spectral_embedding_of_our_affinity(wine, laplacian):
    X, _ = wine
    ours = pf.PatchEigenmaps(3, dissimilarity="euclidean", laplacian=laplacian).fit(X)
    theirs = spectral_embedding(
        ours.affinity_.toarray(),
        n_components=3,
        norm_laplacian=laplacian == "random_walk",
        random_state=0,
    )
    assert_equal_up_to_sign(ours.embedding_, theirs, atol=1e-7)


@pytest.mark.parametrize("estimator", [pf.PatchEigenmaps, pf.PatchLLE, pf.PatchIsomap])
def test_iterative_solver_equals_the_dense_one(wine, estimator):
    X, _ = wine
    dense = estimator(eigen_solver="dense").fit(X)
    iterative = estimator(eigen_solver="arpack").fit(X)
    assert_equal_up_to_sign(iterative.embedding_, dense.embedding_, atol=1e-6)
    np.testing.assert_allclose(iterative.eigenvalues_, dense.eigenvalues_, rtol=1e-5)


def test_an_infinite_radius_takes_all_samples(wine):
    X, _ = wine
    points = pf.PatchIsomap(dissimilarity="euclidean", n_neighbors=None, radius=np.inf)
    all_of_them = points.fit(X[:60])
    counted = pf.PatchIsomap(dissimilarity="euclidean", n_neighbors=59).fit(X[:60])
    np.testing.assert_allclose(all_of_them.embedding_, counted.embedding_)


def test_the_reconstruction_error_of_landmarks_is_theirs(wine):
    X, _ = wine
    settings = {"n_neighbors": 20, "dissimilarity": "euclidean", "random_state": 0}
    model = pf.PatchIsomap(n_landmarks=30, **settings).fit(X)
    between = model.geodesics_[:, model.landmarks_]
    matrix = pf.PatchIsomap(dissimilarity="precomputed", n_neighbors=29).fit(between)
    assert model.reconstruction_error() == pytest.approx(matrix.reconstruction_error())
    with pytest.raises(AttributeError, match=r"30 landmarks: read geodesics_"):
        _ = model.dist_matrix_
