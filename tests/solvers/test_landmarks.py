"""Embeddings of reconstruction weights that are interpolated from landmarks."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.spatial import procrustes

import patchfold as pf
from patchfold.solvers.landmarks import interpolate, landmark_embedding


@pytest.fixture(scope="module")
def sheet():
    """Return points of a bent sheet in 3 dimensions."""
    u, v = np.random.default_rng(1).uniform(size=(2, 700)) * [[3], [1]]
    return np.stack([u, v, np.sin(u)], axis=1)


def literal_weights(X, landmarks, reg=1e-3):
    """Return the barycentre of the ten nearest landmarks, sample by sample."""
    P = np.zeros((len(X), len(landmarks)))
    for i, x in enumerate(X):
        gaps = X[landmarks] - x
        near = np.argsort((gaps**2).sum(axis=1), kind="stable")[:10]
        gram = gaps[near] @ gaps[near].T
        w = np.linalg.solve(gram + reg * np.trace(gram) * np.eye(10), np.ones(10))
        P[i, near] = w / w.sum()
    P[landmarks] = np.eye(len(landmarks))
    return P


def literal_embedding(W, P, n_components):
    """Minimise ‖(I-W)PY‖² over PY with orthonormal columns of mean 0, densely."""
    # The columns of P sum to a constant, so without it they span one direction less.
    basis = np.linalg.svd(P - P.mean(axis=0), full_matrices=False)[0][:, :-1]
    errors = basis - W @ basis
    values, turn = eigh(errors.T @ errors)
    return values[:n_components], basis @ turn[:, :n_components]


def model(**params):
    return pf.PatchLLE(n_neighbors=12, **params)


@pytest.mark.parametrize("dissimilarity", ["kl", "euclidean"])
def test_it_is_the_best_embedding_that_landmarks_determine(sheet, dissimilarity):
    fitted = model(dissimilarity=dissimilarity, n_landmarks=60).fit(sheet)
    P = literal_weights(sheet, fitted.landmarks_)
    values, vectors = literal_embedding(fitted.weights_.toarray(), P, 2)
    np.testing.assert_allclose(fitted.eigenvalues_, values, rtol=1e-6)
    signs = np.sign((vectors * fitted.embedding_).sum(axis=0))
    np.testing.assert_allclose(fitted.embedding_, vectors * signs, atol=1e-6)
    exact = model(dissimilarity=dissimilarity).fit(sheet)
    assert (fitted.eigenvalues_ > exact.eigenvalues_).all()


def test_with_every_sample_it_is_the_exact_solution(sheet):
    exact = model(dissimilarity="euclidean").fit(sheet)
    assert exact.landmarks_ is None
    values, vectors = landmark_embedding(
        exact.weights_, sheet, np.arange(700), 2, seed=np.random.RandomState(0)
    )
    np.testing.assert_allclose(values, exact.eigenvalues_, rtol=1e-3)
    np.testing.assert_allclose(vectors, exact.embedding_, atol=1e-4)
    for count in (None, 700):
        again = model(dissimilarity="euclidean", n_landmarks=count).fit(sheet)
        np.testing.assert_array_equal(again.embedding_, exact.embedding_)


def test_a_flat_sheet_is_found_as_it_is():
    X = np.random.default_rng(0).uniform(size=(2000, 2))
    fitted = model(dissimilarity="euclidean", n_landmarks=200).fit(X)
    assert procrustes(X, fitted.embedding_)[2] < 0.02


def test_weights_of_landmarks_sum_to_one_whatever_is_identical():
    X = np.repeat(np.random.default_rng(0).normal(size=(8, 3)), 5, axis=0)
    P = interpolate(X, np.arange(0, 40, 2))
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(P[::2].toarray(), np.eye(20))
    few = interpolate(X, np.array([0, 39]))
    np.testing.assert_allclose(few.sum(axis=1), 1)


def test_threads_give_the_same_bits(sheet):
    one, two = (model(n_landmarks=200, n_jobs=n).fit(sheet) for n in (1, 2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


def test_many_samples_get_landmarks_by_themselves(sheet, monkeypatch):
    monkeypatch.setattr("patchfold.estimators.lle.EVERY_SAMPLE", 600)
    monkeypatch.setattr("patchfold.estimators.lle.LANDMARKS", 50)
    fitted = model().fit(sheet)
    assert fitted.landmarks_.size == 50
    assert (np.diff(fitted.landmarks_) > 0).all()
    np.testing.assert_array_equal(fitted.transform(sheet), fitted.embedding_)
    D = pf.PatchIsomap(n_neighbors=12).fit(sheet).graph_
    assert model(dissimilarity="precomputed").fit(sp.csr_array(D)).landmarks_ is None


def test_wrong_numbers_of_landmarks_are_named(sheet):
    match = r"n_landmarks=3 must be more than n_components=3.*Raise n_landmarks"
    with pytest.raises(ValueError, match=match):
        model(n_components=3, n_landmarks=3).fit(sheet)
    D = np.abs(sheet[:50, :1] - sheet[:50, 0])
    with pytest.raises(ValueError, match=r"n_landmarks=9 needs samples.*=None\."):
        model(dissimilarity="precomputed", n_landmarks=9).fit(D)


def test_sparse_samples_are_barycentres_of_the_same_landmarks(sheet):
    X, landmarks = sheet - sheet.mean(axis=0), np.arange(0, 700, 9)
    found = interpolate(sp.csr_array(X), landmarks)
    expected = interpolate(X, landmarks).toarray()
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-9)
