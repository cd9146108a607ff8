"""Eigenvectors: every way to them gives the same, and none that is wrong gets out."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from patchfold.solvers import arpack, filtered, inverse, spectral
from patchfold.solvers.mds import classical_mds
from patchfold.solvers.random_walk import walk_coordinates
from patchfold.solvers.reconstruction import reconstruction_embedding
from patchfold.solvers.spectral import largest_eigenpairs, smallest_eigenpairs


def seed():
    return np.random.RandomState(0)


def path_laplacian(n):
    ones = np.ones(n - 1)
    degrees = np.full(n, 2.0)
    degrees[[0, -1]] = 1.0
    return sp.diags_array([degrees, -ones, -ones], offsets=[0, 1, -1]).tocsr()


def count_calls(monkeypatch, *names):
    calls = []

    def count(name, original):
        def counted(*args, **kwargs):
            calls.append(name)
            return original(*args, **kwargs)

        monkeypatch.setattr(spectral, name, counted)

    for name in names:
        count(name, getattr(spectral, name))
    return calls


@pytest.mark.parametrize(("n", "factorised"), [(30, 0), (1000, 1)])
def test_eigenvalues_of_a_path(n, factorised, monkeypatch):
    """On a long path plain Lanczos does not converge, and the matrix is factorised."""
    monkeypatch.setattr(arpack, "RESTARTS", 10)
    calls = count_calls(monkeypatch, "inverse_eigenpairs")
    values, vectors = smallest_eigenpairs(
        path_laplacian(n), 2, np.ones(n), solver="arpack", seed=seed()
    )
    assert len(calls) == factorised
    expected = 2 - 2 * np.cos(np.pi * np.arange(1, 3) / n)
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    waves = np.cos(np.pi * np.outer(np.arange(n) + 0.5, [1, 2]) / n)
    waves /= np.linalg.norm(waves, axis=0)
    np.testing.assert_allclose(np.abs((waves * vectors).sum(axis=0)), 1, rtol=1e-9)


def well_tied(n):
    rng = np.random.default_rng(0)
    ends = rng.integers(0, n, (8 * n, 2))
    half = sp.coo_array((rng.uniform(size=8 * n), ends.T), shape=(n, n))
    weights = sp.csr_array(half + half.T)
    weights.setdiag(0)
    return (sp.diags_array(weights.sum(axis=1)) - weights).tocsr()


def test_a_well_tied_graph_needs_no_factorisation(monkeypatch):
    calls = count_calls(monkeypatch, "inverse_eigenpairs")
    n = 700
    matrix = well_tied(n)
    found = smallest_eigenpairs(matrix, 3, np.ones(n), seed=seed())
    assert not calls
    dense = smallest_eigenpairs(matrix, 3, np.ones(n), solver="dense", seed=seed())
    np.testing.assert_allclose(found[0], dense[0], rtol=1e-9)
    np.testing.assert_allclose(found[1], dense[1], atol=1e-6)


class TestFiltered:
    """The iteration that `eigen_solver="auto"` takes for many samples."""

    @pytest.fixture(autouse=True)
    def of_few(self, monkeypatch):
        monkeypatch.setattr(spectral, "FEW", 100)

    @pytest.mark.parametrize("n_components", [1, 3, 12])
    def test_it_finds_what_a_dense_solver_does(self, n_components, monkeypatch):
        n = 650
        calls = count_calls(monkeypatch, "_from_above", "inverse_eigenpairs")
        found = smallest_eigenpairs(well_tied(n), n_components, np.ones(n), seed=seed())
        assert not calls
        dense = smallest_eigenpairs(
            well_tied(n), n_components, np.ones(n), solver="dense", seed=seed()
        )
        np.testing.assert_allclose(found[0], dense[0], rtol=1e-9)
        np.testing.assert_allclose(found[1], dense[1], atol=1e-6)

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_order_in_memory_and_threads_change_nothing(self, n_jobs, monkeypatch):
        n = 650
        plain = smallest_eigenpairs(well_tied(n), 2, np.ones(n), seed=seed())
        monkeypatch.setattr(filtered, "MANY", 100)
        monkeypatch.setattr(filtered, "ROWS", 64)
        found = smallest_eigenpairs(
            well_tied(n), 2, np.ones(n), n_jobs=n_jobs, seed=seed()
        )
        np.testing.assert_allclose(found[1], plain[1], atol=1e-9)
        alone = smallest_eigenpairs(well_tied(n), 2, np.ones(n), n_jobs=1, seed=seed())
        np.testing.assert_array_equal(found[1], alone[1])

    def test_a_long_path_is_factorised_before_many_products(self, monkeypatch):
        n = 5000
        calls = count_calls(monkeypatch, "inverse_eigenpairs")
        values, _ = smallest_eigenpairs(path_laplacian(n), 2, np.ones(n), seed=seed())
        assert calls
        expected = 2 - 2 * np.cos(np.pi * np.arange(1, 3) / n)
        np.testing.assert_allclose(values, expected, rtol=1e-5)

    def test_more_zeros_than_vectors_are_not_told_by_chance(self, monkeypatch):
        # Twenty well tied groups, tied to each other by next to nothing.
        group = well_tied(40).toarray()
        matrix = np.kron(np.eye(20), group)
        ends = np.arange(0, 760, 40)
        matrix[ends, ends + 40] = matrix[ends + 40, ends] = -1e-13
        np.fill_diagonal(matrix, 0)
        np.fill_diagonal(matrix, -matrix.sum(axis=1))
        calls = count_calls(monkeypatch, "inverse_eigenpairs")
        smallest_eigenpairs(sp.csr_array(matrix), 2, np.ones(800), seed=seed())
        assert calls

    def test_more_pieces_than_vectors_are_not_filtered(self, monkeypatch):
        matrix = sp.block_diag([well_tied(200)] * 9, format="lil")
        for i in range(0, 1600, 200):  # held together by next to nothing
            matrix[i, i + 200] = matrix[i + 200, i] = -1e-18
        matrix = sp.csr_array(matrix)
        calls = count_calls(monkeypatch, "inverse_eigenpairs")
        monkeypatch.setattr(filtered, "_iterate", None)
        values, _ = smallest_eigenpairs(matrix, 2, np.ones(1800), seed=seed())
        assert calls
        np.testing.assert_allclose(values, 0, atol=1e-12)

    @pytest.mark.parametrize("scale", [1e-90, 1e-6, 1e90])
    def test_its_single_precision_holds_any_scale(self, scale, monkeypatch):
        n = 650
        calls = count_calls(monkeypatch, "_from_above", "inverse_eigenpairs")
        plain = smallest_eigenpairs(well_tied(n), 3, np.ones(n), seed=seed())
        found = smallest_eigenpairs(scale * well_tied(n), 3, np.ones(n), seed=seed())
        assert not calls
        np.testing.assert_allclose(found[0], scale * plain[0], rtol=1e-9)
        np.testing.assert_allclose(found[1], plain[1], atol=1e-7)

    @pytest.mark.parametrize("degree", [1, 2, 3, 30])
    def test_it_is_the_polynomial_of_chebyshev(self, degree):
        n, cut = 120, 3.0
        matrix = well_tied(n)
        block = np.linalg.qr(np.random.default_rng(1).normal(size=(n, 8)))[0]
        eigenvalues, eigenvectors = np.linalg.eigh(matrix.toarray())
        block[:, :3] += 5 * eigenvectors[:, :3]  # a few below the cut, the others above
        values = np.einsum("ij,ij->j", block, matrix @ block) / (block**2).sum(axis=0)
        assert ((values < cut) == (np.arange(8) < 3)).all()

        step = filtered._Step(matrix, block[:, 0])
        top = step.top
        assert eigenvalues[-1] <= top < 2 * eigenvalues[-1]

        def polynomial(value):
            x = (np.asarray(value) - (top + cut) / 2) / ((top - cut) / 2)
            return np.polynomial.chebyshev.Chebyshev.basis(degree)(x)

        solved = values, block, matrix @ block - block * values
        found = filtered._filter(step, solved, cut, degree)
        lifted = eigenvectors * polynomial(eigenvalues) @ eigenvectors.T @ block
        expected = lifted / polynomial(np.minimum(values, cut))
        error = np.linalg.norm(found - expected, axis=0)
        assert (error <= 1e-5 * np.linalg.norm(expected, axis=0)).all()

    def test_a_dense_matrix_is_left_to_lanczos(self, monkeypatch):
        n = 650
        calls = count_calls(monkeypatch, "lanczos_eigenpairs")
        full = sp.csr_array(n * np.eye(n) - np.ones((n, n)))
        smallest_eigenpairs(full, 2, np.ones(n), seed=seed())
        assert calls


@pytest.mark.parametrize("n_components", [2, 3, 4, 7])
@pytest.mark.parametrize("solver", ["auto", "arpack"])
def test_equal_eigenvalues_are_all_found(solver, n_components):
    """A square grid has its second eigenvalue twice: one for each of its sides."""
    side = path_laplacian(28)
    square = sp.csr_array(sp.kronsum(sp.coo_array(side), sp.coo_array(side)))
    values, vectors = smallest_eigenpairs(
        square, n_components, np.ones(28**2), solver=solver, seed=seed()
    )
    waves = 2 - 2 * np.cos(np.pi * np.arange(28) / 28)
    expected = np.sort(np.add.outer(waves, waves).ravel())[1 : n_components + 1]
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    np.testing.assert_allclose(
        vectors.T @ vectors, np.eye(n_components), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize(
    ("n_components", "state"), [*product([7, 18, 19, 23], range(3)), (38, 0)]
)
def test_equal_eigenvalues_are_found_whenever_it_looks(n_components, state):
    """A torus has each of its eigenvalues four times or eight."""
    ring = np.roll(np.eye(30), 1, 1) + np.roll(np.eye(30), -1, 1)
    side = sp.coo_array(2 * np.eye(30) - ring)
    torus = sp.csr_array(sp.kronsum(side, side))
    values, _ = smallest_eigenpairs(
        torus, n_components, np.ones(900), seed=np.random.RandomState(state)
    )
    waves = 2 - 2 * np.cos(2 * np.pi * np.arange(30) / 30)
    expected = np.sort(np.add.outer(waves, waves).ravel())[1 : n_components + 1]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("weak", [1e-4, 1e-9, 1e-14])
def test_two_groups_with_a_weak_tie_need_no_factors(weak, monkeypatch):
    group = well_tied(400).toarray()
    matrix = np.kron(np.diag([1.0, 1.5]), group)
    matrix[0, 400] = matrix[400, 0] = -weak
    np.fill_diagonal(matrix, 0)
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    calls = count_calls(monkeypatch, "inverse_eigenpairs")
    pair = smallest_eigenpairs(sp.csr_array(matrix), 2, np.ones(800), seed=seed())
    assert not calls
    dense = smallest_eigenpairs(matrix, 2, np.ones(800), solver="dense", seed=seed())
    for found, expected in zip(pair, dense, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("n_components", [1, 5, 30])
def test_lanczos_agrees_with_a_dense_solver(n_components):
    matrix = well_tied(700)
    pair = smallest_eigenpairs(matrix, n_components, np.ones(700), seed=seed())
    dense = smallest_eigenpairs(
        matrix.toarray(), n_components, np.ones(700), solver="dense", seed=seed()
    )
    for found, expected in zip(pair, dense, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
    full = smallest_eigenpairs(
        matrix.toarray(), n_components, np.ones(700), seed=seed()
    )
    np.testing.assert_allclose(full[1], pair[1], rtol=0, atol=1e-9)


def test_vectors_that_are_none_are_refused(monkeypatch):
    def wrong(_, n_components, vector, *args, **options):
        return np.ones(n_components), np.eye(vector.size, n_components)

    for name in ("arpack_eigenpairs", "inverse_eigenpairs"):
        monkeypatch.setattr(spectral, name, wrong)
    with pytest.raises(
        RuntimeError, match=r"the eigenvector at .* has a residual of .*'dense'\.$"
    ):
        smallest_eigenpairs(
            path_laplacian(50), 2, np.ones(50), solver="arpack", seed=seed()
        )


def weights_with_a_popular_outsider(n=40):
    """Return weights where the sample most others lean on is in no closed group."""
    rng = np.random.default_rng(1)
    W = np.zeros((n, n))
    for i in range(n):
        others = [(i + 1) % 10, (i + 3) % 10] if i < 10 else [10, i % 10, i - 1]
        W[i, [other for other in others if other != i]] = rng.uniform(0.2, 1)
        W[i] *= rng.uniform(0.5, 1.5, n)
    W /= W.sum(axis=1, keepdims=True)
    return sp.csr_array(W)


def test_reconstruction_without_a_place_to_hold_it_is_found_all_the_same():
    weights = weights_with_a_popular_outsider()
    assert np.bincount(weights.indices).argmax() == 10
    dense = reconstruction_embedding(weights, 2, solver="dense", seed=seed())
    found = reconstruction_embedding(weights, 2, solver="arpack", seed=seed())
    np.testing.assert_allclose(found[0], dense[0], rtol=1e-5)
    np.testing.assert_allclose(found[1], dense[1], atol=1e-6)


def test_top_eigenpairs_equal_the_dense_ones():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(700, 5)) * [9, 5, 3, 2, 1]
    distances = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    distances **= 0.9  # no longer those of points: eigenvalues of both signs
    found = classical_mds(distances, 3, solver="arpack", seed=seed())
    dense = classical_mds(distances, 3, solver="dense", seed=seed())
    np.testing.assert_allclose(found.eigenvalues, dense.eigenvalues, rtol=1e-10)
    np.testing.assert_allclose(found.embedding, dense.embedding, atol=1e-8)


def test_top_eigenpairs_that_do_not_converge_are_refused(monkeypatch):
    monkeypatch.setattr(spectral, "MAX_BLOCKS", 10)
    diagonal = np.linspace(1, 2, 300)[:, None]
    with pytest.raises(RuntimeError, match=r"stopped at a residual of .*'dense'\.$"):
        largest_eigenpairs(lambda block: diagonal * block, 300, 1, seed=seed())


def test_a_dense_solver_takes_over_where_nothing_converges(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("it ran out of iterations; set eigen_solver='dense'")

    matrix, n = path_laplacian(700), 700
    expected = smallest_eigenpairs(matrix, 2, np.ones(n), solver="dense", seed=seed())
    for name in ("arpack_eigenpairs", "lanczos_eigenpairs", "inverse_eigenpairs"):
        monkeypatch.setattr(spectral, name, fail)
    values, vectors = smallest_eigenpairs(matrix, 2, np.ones(n), seed=seed())
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(vectors, expected[1])
    with pytest.raises(RuntimeError, match="set eigen_solver='dense'"):
        smallest_eigenpairs(matrix, 2, np.ones(n), solver="arpack", seed=seed())
    monkeypatch.setattr(spectral, "DENSE_RESCUE", 600)
    with pytest.raises(RuntimeError, match="set eigen_solver='dense'"):
        smallest_eigenpairs(matrix, 2, np.ones(n), seed=seed())


@pytest.mark.parametrize("weak", [1e-5, 1e-30, 1e-300])
def test_a_sample_on_a_thread_lies_beyond_those_it_hangs_from(weak):
    # A ring of twelve and a thirteenth sample, tied to 0 twice as much as to 1: where
    # it lies does not depend on how weak the tie is.
    W = np.zeros((13, 13))
    ring = np.arange(12)
    W[ring, (ring + 1) % 12] = 1 + 0.1 * ring  # no two eigenvalues are equal
    W[12, 0], W[12, 1] = 2 * weak, weak
    W = W + W.T
    degrees = W.sum(axis=1)
    roots = np.sqrt(degrees)
    scaled = sp.csr_array(np.eye(13) - W / roots / roots[:, None])
    values, vectors = smallest_eigenpairs(scaled, 2, roots, solver="dense", seed=seed())
    found = walk_coordinates(vectors, values, sp.csr_array(W), degrees)
    hung = (2 * found[0] + found[1]) / (3 * (1 - values))
    np.testing.assert_allclose(found[12], hung, rtol=1e-6)


def test_more_nearly_separate_pieces_than_vectors_do_not_stall_the_filter():
    size, count = 40, 40
    block = sp.coo_array(np.ones((size, size)) - np.eye(size))
    blocks = sp.block_diag([block] * count, format="lil")
    first = size * np.arange(1, count)
    blocks[0, first] = blocks[first, 0] = 1e-9
    weights = sp.csr_array(blocks)
    matrix = (sp.diags_array(weights.sum(axis=1)) - weights).tocsr()
    n = size * count
    values, _ = spectral.smallest_eigenpairs(
        matrix, 2, np.ones(n), seed=np.random.RandomState(0)
    )
    np.testing.assert_allclose(values, 1e-9 / size, rtol=1e-3)


@pytest.mark.parametrize("n_components", [2, 7])
def test_hundreds_of_pieces_tied_by_nothing_have_vectors_that_tell_them_apart(
    n_components,
):
    # More samples than the dense solver is let near, and ties of all sizes: from those
    # that count to those that vanish.
    rng = np.random.default_rng(7)
    count, size = 500, 9
    n = count * size
    block = sp.coo_array(np.ones((size, size)) - np.eye(size))
    blocks = sp.block_diag([block] * count)
    ends = size * np.arange(count)
    ties = np.exp(-rng.uniform(0, 120, count - 1))
    half = sp.coo_array((ties, (ends[:-1], ends[1:])), shape=(n, n))
    weights = sp.csr_array(blocks + half + half.T)
    matrix = (sp.diags_array(weights.sum(axis=1)) - weights).tocsr()
    values, vectors = smallest_eigenpairs(matrix, n_components, np.ones(n), seed=seed())
    assert values.max() < 1e-13
    np.testing.assert_allclose(
        vectors.T @ vectors, np.eye(n_components), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(vectors.sum(axis=0), 0, atol=1e-9)
    pieces = vectors.reshape(count, size, n_components)
    assert np.ptp(pieces, axis=1).max() < 1e-9  # one place for a piece
    again = smallest_eigenpairs(matrix, n_components, np.ones(n), seed=seed())
    np.testing.assert_array_equal(again[1], vectors)


def test_lanczos_takes_over_where_rounds_of_the_subspace_are_too_few(monkeypatch):
    monkeypatch.setattr(inverse, "ROUNDS", 1)
    n = 300
    null = np.full(n, n**-0.5)
    values, _ = inverse.inverse_eigenpairs(path_laplacian(n), 3, null, 4, seed=seed())
    expected = 2 - 2 * np.cos(np.pi * np.arange(1, 4) / n)
    np.testing.assert_allclose(values, expected, rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-170, 1e-20, 1e100])
def test_the_unit_of_a_matrix_does_not_matter(unit):
    n = 700
    null = np.full(n, n**-0.5)
    values, _ = inverse.inverse_eigenpairs(
        path_laplacian(n) * unit, 2, null, 4 * unit, seed=seed()
    )
    expected = 2 - 2 * np.cos(np.pi * np.arange(1, 3) / n)
    np.testing.assert_allclose(values / unit, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["csr", "coo", "csc"])
def test_traces_are_taken_out_and_nothing_else(kind):
    table = np.diag([2.0, 1.0, 3.0]) - 1e-290 * (1 - np.eye(3))
    found, size = spectral._without_traces(sp.csr_array(table).asformat(kind))
    assert size == 3.0
    np.testing.assert_array_equal(found.toarray(), np.diag([2.0, 1.0, 3.0]))
    dense = np.diag([2.0, 1.0, 3.0])
    assert spectral._without_traces(dense)[0] is dense  # zeros are no traces


def test_what_is_below_rounding_is_not_factorised(monkeypatch):
    ring = np.roll(np.eye(60), 1, axis=0)
    weights = ring + ring.T + 1e-20
    np.fill_diagonal(weights, 0)
    matrix = sp.csr_array(np.diag(weights.sum(axis=1)) - weights)
    factorize, sizes = inverse.factorize, []

    def spy(held, **settings):
        sizes.append(held.nnz)
        return factorize(held, **settings)

    monkeypatch.setattr(inverse, "factorize", spy)
    null = np.full(60, 60**-0.5)
    values, _ = inverse.inverse_eigenpairs(matrix, 2, null, 4, seed=seed())
    assert sizes == [180]
    np.testing.assert_allclose(values, 2 - 2 * np.cos(2 * np.pi / 60), rtol=1e-9)
