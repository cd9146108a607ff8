"""Where a map begins: principal axes of samples, and scores of matrices."""

import numpy as np
import scipy.sparse as sp

from patchfold.solvers.field import start


def test_axes_of_sparse_samples_with_many_features_are_those_of_arrays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [9, 5, 2] @ rng.normal(size=(3, 90))
    X = X * (rng.uniform(size=X.shape) < 0.4)
    here, there = start.principal_axes(X, 3), start.principal_axes(sp.csr_array(X), 3)
    signs = np.sign((here.axes * there.axes).sum(axis=0))
    np.testing.assert_allclose(there.axes * signs, here.axes, atol=1e-5)
    np.testing.assert_allclose(there.shape, here.shape, atol=1e-4 * np.ptp(here.shape))


def test_scores_of_a_large_matrix_are_distances():
    X = np.random.default_rng(0).normal(size=(start.DENSE + 2, 2)).clip(-2, 2)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    scores = start.matrix_scores(D)
    centred = X - X.mean(axis=0)
    turn = np.linalg.eigh(centred.T @ centred)[1]
    expected = (centred @ turn[:, ::-1]) * start.orientation(centred @ turn[:, ::-1])
    np.testing.assert_allclose(scores * D.max(), expected, atol=1e-6)
