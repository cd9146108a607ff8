"""Eigenvectors of graphs whose samples hang together well, but for some."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles

import patchfold as pf
from patchfold.exceptions import VanishingWeightsWarning
from patchfold.graph.weights import laplacian
from patchfold.solvers import core, inverse, spectral
from patchfold.solvers.core import CoreSolver, find_cores
from patchfold.solvers.inverse import core_eigenpairs, inverse_eigenpairs


def graph_with_tails(n=1600, n_loose=200, seed=0):
    """Return weights of a graph that hangs together well, but for its last samples."""
    rng = np.random.default_rng(seed)
    row = np.repeat(np.arange(n), 6)
    column = rng.integers(0, n, row.size)
    weight = rng.uniform(0.5, 1, row.size)
    loose = np.maximum(row, column) >= n - n_loose
    weight[loose] = 10.0 ** -rng.uniform(2, 40, loose.sum())
    graph = sp.coo_array((weight, (row, column)), shape=(n, n)).tocsr()
    graph.setdiag(0)
    return (graph + graph.T).tocsr()


def graph_of_clusters(count, between):
    """Return weights of such graphs, of which each is tied to the next."""
    parts = [graph_with_tails(n=500, n_loose=20, seed=i) for i in range(count)]
    graph = sp.block_diag(parts, format="lil")
    for i in range(0, 500 * (count - 1), 500):
        graph[i, i + 500] = graph[i + 500, i] = between
    return graph.tocsr()


def matrix_of(graph):
    matrix, degrees = laplacian(graph)
    null = np.ones_like(degrees) / np.sqrt(degrees.size)
    return matrix / (2 * degrees.max()), null


GRAPHS = {
    "one core": graph_with_tails(),
    "cores apart": graph_of_clusters(4, 1e-40),
    "cores tied": graph_of_clusters(4, 1e-7),
}


def test_the_core_is_what_hangs_together_well():
    found = find_cores(matrix_of(graph_with_tails())[0])
    assert (found[-200:] == -1).all()
    assert (found[:-200] == 0).mean() > 0.99


def test_each_cluster_has_a_core():
    found = find_cores(matrix_of(graph_of_clusters(4, 1e-7))[0]).reshape(4, 500)
    assert (found[:, -20:] == -1).all()
    assert (found[:, :-20] == np.arange(4)[:, None]).mean() > 0.99


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("shift", [1e-3, 1e-6])
def test_solves_as_factors_do(shift, graph):
    matrix, null = matrix_of(GRAPHS[graph])
    shifted = (matrix + shift * sp.eye_array(null.size)).tocsr()
    right = np.random.default_rng(1).normal(size=(null.size, 3))
    solve = CoreSolver(shifted, null, shift, find_cores(shifted))
    rough = solve(right)
    found = solve(right, rough)
    right -= np.outer(null, null @ right)
    exact = np.linalg.solve(shifted.toarray(), right)
    assert_allclose(found, exact, rtol=0, atol=1e-6 * np.abs(exact).max())
    assert_allclose(rough, exact, rtol=0, atol=0.1 * np.abs(exact).max())
    assert_allclose(null @ found, 0, atol=1e-9)


@pytest.mark.parametrize("graph", GRAPHS)
def test_eigenpairs_are_those_of_the_factors(graph):
    matrix, null = matrix_of(GRAPHS[graph])
    seeds = np.random.RandomState(0), np.random.RandomState(0)
    values, vectors = core_eigenpairs(matrix, 2, null, 1.0, seed=seeds[0])
    others, exact = inverse_eigenpairs(matrix, 2, null, 1.0, seed=seeds[1])
    assert np.abs(matrix @ vectors - vectors * values).max() < 1e-14
    assert_allclose(values, others, atol=1e-15)
    assert subspace_angles(vectors, exact).max() < 0.01
    # The start is the same for who comes next.
    assert seeds[0].uniform() == np.random.RandomState(0).uniform()


def test_more_vectors_than_a_loop_takes_at_once_are_solved_with():
    matrix, null = matrix_of(GRAPHS["one core"])
    values, vectors = core_eigenpairs(
        matrix, 7, null, 1.0, seed=np.random.RandomState(0)
    )
    assert np.abs(matrix @ vectors - vectors * values).max() < 1e-14
    assert_allclose(vectors.T @ vectors, np.eye(7), atol=1e-12)


def test_of_many_samples_several_cores_are_left_to_pieces(monkeypatch):
    monkeypatch.setattr(inverse, "MANY", 1500)
    start = np.random.RandomState(0)
    for graph in ("cores apart", "cores tied"):
        matrix, null = matrix_of(GRAPHS[graph])
        with pytest.raises(RuntimeError, match="constant on each core"):
            core_eigenpairs(matrix, 2, null, 1.0, seed=start)
    matrix, null = matrix_of(GRAPHS["one core"])
    core_eigenpairs(matrix, 2, null, 1.0, seed=start)


def test_a_graph_of_few_samples_has_no_core():
    with pytest.raises(RuntimeError, match="has no core"):
        find_cores(graph_with_tails(n=1000))


def test_heavy_tails_need_no_factors_of_all_samples(monkeypatch):
    embeddings = []
    for name in ("inverse_eigenpairs", "core_eigenpairs"):
        with monkeypatch.context() as patch:
            patch.setattr(spectral, name, _fails)
            embeddings.append(embed_heavy_tails())
    assert subspace_angles(*embeddings).max() < 0.01


def test_what_takes_too_many_steps_goes_to_the_factors(monkeypatch):
    monkeypatch.setattr(core, "STEPS", 1)
    cut = embed_heavy_tails()
    monkeypatch.setattr(spectral, "core_eigenpairs", _fails)
    assert (cut == embed_heavy_tails()).all()


def embed_heavy_tails():
    X = np.random.default_rng(0).standard_cauchy((2000, 10))
    with pytest.warns(VanishingWeightsWarning, match="separate pieces"):
        return pf.elap(kernel_width="auto").fit(X).embedding_


def _fails(*_, **__):
    raise RuntimeError("not in this test")
