"""Eigenvectors of graphs whose pieces hang together by next to nothing."""

import numpy as np
import pytest
import scipy.sparse as sp

from patchfold.graph.weights import laplacian
from patchfold.solvers import pieces, spectral
from patchfold.solvers.pieces import piecewise_eigenpairs


def graph_in_pieces(n_pieces, between, size=40):
    """Return weights within pieces of random sizes, and one edge between any two."""
    rng = np.random.default_rng(0)
    parts = [rng.uniform(1, 2, (k, k)) for k in rng.integers(20, size, n_pieces)]
    weights = sp.block_diag([sp.coo_array(part) for part in parts], format="lil")
    starts = np.cumsum([0] + [part.shape[0] for part in parts])[:-1]
    for a in range(n_pieces):
        for b in range(a):
            weights[starts[a], starts[b]] = between * rng.uniform(1, 2)
    weights.setdiag(0)
    return sp.csr_array((weights + weights.T) / 2)


@pytest.mark.parametrize("between", [1e-15, 1e-18])
def test_they_are_those_of_larger_weights_between_the_pieces(between):
    matrix, degrees = laplacian(graph_in_pieces(6, between))
    null = np.full(degrees.size, degrees.size**-0.5)
    size = float(abs(matrix).sum(axis=1).max())
    seed = np.random.RandomState(0)
    values, vectors = piecewise_eigenpairs(matrix, 3, null, size, seed=seed)
    # At 1e-6 a dense solver tells them apart; they are proportional to the weights.
    tied, _ = laplacian(graph_in_pieces(6, 1e-6))
    dense, columns = np.linalg.eigh(tied.toarray())
    np.testing.assert_allclose(values / between, dense[1:4] / 1e-6, rtol=1e-4)
    signs = np.sign((vectors * columns[:, 1:4]).sum(axis=0))
    np.testing.assert_allclose(vectors, signs * columns[:, 1:4], atol=1e-4)


@pytest.mark.parametrize("most", [pieces.MOST, 3], ids=["few", "very many"])
def test_pieces_that_nothing_ties_are_told_apart(monkeypatch, most):
    monkeypatch.setattr(pieces, "MOST", most)
    matrix, degrees = laplacian(graph_in_pieces(5, 0.0))
    null = np.full(degrees.size, degrees.size**-0.5)
    seed = np.random.RandomState(0)
    values, vectors = piecewise_eigenpairs(matrix, 2, null, 80.0, seed=seed)
    np.testing.assert_array_equal(values, 0)
    np.testing.assert_allclose(matrix @ vectors, 0, atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(null @ vectors, 0, atol=1e-12)
    assert len(np.unique(vectors.round(9), axis=0)) == 5


def test_very_many_pieces_that_hang_together_are_refused(monkeypatch):
    monkeypatch.setattr(pieces, "MOST", 3)
    matrix, degrees = laplacian(graph_in_pieces(5, 1e-18))
    null = np.full(degrees.size, degrees.size**-0.5)
    with pytest.raises(RuntimeError, match="1 pieces do not determine 2"):
        piecewise_eigenpairs(matrix, 2, null, 80.0, seed=np.random.RandomState(0))


def test_one_piece_is_refused():
    matrix, degrees = laplacian(graph_in_pieces(2, 1.0))
    null = np.full(degrees.size, degrees.size**-0.5)
    with pytest.raises(RuntimeError, match="1 pieces do not determine 1"):
        piecewise_eigenpairs(matrix, 1, null, 80.0, seed=np.random.RandomState(0))


def test_many_samples_in_pieces_need_no_factors(monkeypatch):
    monkeypatch.setattr(spectral, "MANY", 1000)
    monkeypatch.setattr(spectral, "inverse_eigenpairs", None)
    matrix, degrees = laplacian(graph_in_pieces(80, 0.0))
    assert degrees.size > 1600
    found = spectral.smallest_eigenpairs(
        matrix, 2, np.ones(degrees.size), seed=np.random.RandomState(0)
    )
    np.testing.assert_allclose(found[0], 0, atol=1e-12)
    np.testing.assert_allclose(matrix @ found[1], 0, atol=1e-9)
