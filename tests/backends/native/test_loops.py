"""The loops in C compute what the arrays in their place do."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.loops import needs_loops

import patchfold as pf
from patchfold.backends.native import eigenvectors as native_vectors
from patchfold.backends.native import graph as native_graph
from patchfold.backends.native import neighbors as native_neighbors
from patchfold.backends.native import patches as native_patches
from patchfold.backends.native.neighbors import nearest_first
from patchfold.dissimilarity.curvature import (
    NEAR,
    compare_directions,
    describe_directions,
)
from patchfold.dissimilarity.kl import compare_kl, describe_kl
from patchfold.dissimilarity.table import take_described
from patchfold.neighbors.exact import search_all
from patchfold.patches.fitting import fit_patches
from patchfold.records import Patches


def sparse_matrix(rng, n=90):
    dense = rng.uniform(0.1, 1, (n, n)) * (rng.uniform(size=(n, n)) < 0.1)
    return sp.csr_array(np.triu(dense, 1) + np.triu(dense, 1).T)


def in_a_ring(rng, n):
    """Return a matrix of n rows with two entries each."""
    indices = np.stack([np.roll(np.arange(n), 1), np.roll(np.arange(n), -1)], axis=1)
    parts = rng.normal(size=2 * n), indices.ravel(), np.arange(0, 2 * n + 1, 2)
    return sp.csr_array(parts, shape=(n, n))


@needs_loops
def test_paths(in_arrays):
    graph = sparse_matrix(np.random.default_rng(0))
    sources = np.array([5, 0, 71])
    found = native_graph.shortest_paths(graph, sources)
    in_arrays()
    np.testing.assert_allclose(found, native_graph.shortest_paths(graph, sources))


@needs_loops
@pytest.mark.parametrize("width", [8, 24])
def test_a_product_with_a_few_vectors(in_arrays, width):
    rng = np.random.default_rng(1)
    matrix = sparse_matrix(rng)
    vectors, image = rng.normal(size=(2, 90, width))
    found, expected = image.copy(), image.copy()
    checked = native_vectors.check_matrix(matrix)
    native_vectors.sparse_times(checked, vectors, found, slice(20, 70))
    in_arrays()
    native_vectors.sparse_times(checked, vectors, expected, slice(20, 70))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(found[:20], image[:20])
    np.testing.assert_array_equal(found[70:], image[70:])


@needs_loops
@pytest.mark.parametrize(("width", "n"), [(8, 90), (24, 90), (8, 140_000)])
def test_a_step_of_a_recurrence(in_arrays, width, n):
    rng = np.random.default_rng(1)
    matrix = sparse_matrix(rng) if n == 90 else in_a_ring(rng, n)
    matrix = native_vectors.check_matrix(matrix.astype(np.float32))
    now, before, added = rng.normal(size=(3, n, width)).astype(np.float32)
    weights = rng.normal(size=(4, width)).astype(np.float32)
    found, expected = before.copy(), before.copy()
    rows = slice(20, n - 20)
    native_vectors.recur(matrix, now, found, added, rows, weights)
    in_arrays()
    native_vectors.recur(matrix, now, expected, added, rows, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found[:20], before[:20])
    np.testing.assert_array_equal(found[-20:], before[-20:])


@needs_loops
@pytest.mark.parametrize(
    ("m", "n_left", "n_right"),
    [(3, 1, 2), (5, 4, 4), (8, 3, 3), (9, 8, 4), (40, 15, 15), (47, 4, 9), (64, 1, 1)],
)
def test_kl_of_factored_pairs_is_that_of_arrays(m, n_left, n_right):
    rng = np.random.default_rng(m)
    X = rng.normal(size=(60, m))

    def described(n_neighbors):
        steps = 1 + rng.permuted(np.tile(np.arange(59), (60, 1)), axis=1)
        near = (np.arange(60)[:, None] + steps[:, :n_neighbors]) % 60
        patches = fit_patches(X, X, near, shrinkage=0.2)
        return describe_kl(replace(patches, n_features=np.full(60, m + 100.0)))

    left, right = described(n_left), described(n_right)
    i, j = rng.integers(0, 60, (2, 200))
    found = native_patches.kl_of_pairs(left, right)(i, j)
    assert left.factor.shape[1] == n_left + 1
    pairs = left._make(part[i] for part in left), right._make(part[j] for part in right)
    np.testing.assert_allclose(found, compare_kl(*pairs), rtol=1e-10, atol=1e-10)
    for place in range(7):  # arrays that end too soon
        short = (*right[:place], right[place][:-1], *right[place + 1 :])
        with pytest.raises(ValueError, match="kl_of_factored_pairs"):
            native_patches.kl_of_pairs(left, short)(i, j)


@needs_loops
@pytest.mark.parametrize("m", [1, 2, 5, 20])
@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_kl_of_pairs_is_that_of_arrays(m, kind):
    rng = np.random.default_rng(m)
    X = rng.normal(size=(60, m))
    near = rng.integers(0, 60, (60, m + 5))
    described = describe_kl(fit_patches(X, X, near, covariance=kind))
    i, j = rng.integers(0, 60, (2, 200))
    found = native_patches.kl_of_pairs(described, described)(i, j)
    left, right = (described._make(part[at] for part in described) for at in (i, j))
    np.testing.assert_allclose(found, compare_kl(left, right), rtol=1e-9, atol=1e-12)
    assert (found[i == j] == 0).all()
    assert native_patches.kl_of_pairs(described, described)(i[:0], j[:0]).size == 0


@needs_loops
def test_what_the_loops_cannot_read_is_left_to_arrays():
    single = tuple(np.ones((3, 2), dtype=np.float32) for _ in range(3))
    assert native_patches.kl_of_pairs(single, single) is None
    assert native_patches.invert_packed(np.ones((2, 3), dtype=np.float32)) is None


@needs_loops
@pytest.mark.parametrize("m", [1, 7, 8, 30])
def test_squared_gaps(in_arrays, m):
    rng = np.random.default_rng(m)
    left, right = rng.normal(size=(20, m)), rng.normal(size=(30, m))
    right[5] = left[3]
    row, column = np.append(rng.integers(0, 20, 50), 3), np.arange(51) % 30
    column[-1] = 5
    found = native_neighbors.squared_gaps(left, right, row, column)
    assert found[-1] == 0
    in_arrays()
    expected = native_neighbors.squared_gaps(left, right, row, column)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_loops), False])
def test_rows_that_are_not_there_are_an_error(in_arrays, compiled):
    if not compiled:
        in_arrays()
    X = np.ones((4, 3))
    with pytest.raises(IndexError):
        native_neighbors.squared_gaps(X, X, np.array([0]), np.array([4]))


@needs_loops
@pytest.mark.parametrize("m", [1, 2, 3, 9, 30])
def test_inverses(m):
    rng = np.random.default_rng(m)
    root = rng.normal(size=(11, m, m + 4))
    matrices = root @ root.transpose(0, 2, 1)
    row, column = np.triu_indices(m)
    packed = np.ascontiguousarray(matrices[:, row, column])
    expected = np.linalg.inv(matrices)[:, row, column] * np.where(row == column, 1, 2)
    found = native_patches.invert_packed(packed)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    packed[4] *= -1
    assert native_patches.invert_packed(packed) is None


def test_matrices_that_are_not_positive_definite_are_inverted_all_the_same():
    # Covariances are never so, but a caller's may be.
    matrices = np.array([[[2.0, 0.0], [0.0, -1.0]], [[1.0, 0.5], [0.5, 1.0]]])
    patches = Patches(np.zeros((2, 2)), np.zeros((2, 2)), matrices, noise=np.ones(2))
    inverse = describe_kl(patches)[2]
    expected = np.linalg.inv(matrices)[:, [0, 0, 1], [0, 1, 1]] * [1, 2, 1]
    np.testing.assert_allclose(inverse, expected)


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_loops), False])
@pytest.mark.parametrize(("width", "apart"), [(8, 1.0), (16, 1.0), (8, 1e-7)])
def test_columns_are_made_orthogonal(in_arrays, compiled, width, apart):
    rng = np.random.default_rng(0)
    block = rng.normal(size=(100, 1)) + apart * rng.normal(size=(100, width))
    if not compiled:
        in_arrays()
    basis = native_vectors.orthogonalize(block.copy())
    np.testing.assert_allclose(basis.T @ basis, np.eye(width), atol=1e-14)
    left = block - basis @ (basis.T @ block)
    np.testing.assert_allclose(left, 0, atol=1e-13)


@needs_loops
@pytest.mark.parametrize("n_rows", [1, 2, 7])
def test_a_vector_loses_what_rows_have(in_arrays, n_rows):
    rng = np.random.default_rng(5)
    rows = np.ascontiguousarray(np.linalg.qr(rng.normal(size=(48, n_rows)))[0].T)
    vector = 1e6 * rows.sum(axis=0) + rng.normal(size=48)
    found, expected = vector.copy(), vector.copy()
    parts, length = native_vectors.take_out(found, rows)
    np.testing.assert_allclose(rows @ found, 0, atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(found), length, rtol=1e-14)
    in_arrays()
    np.testing.assert_allclose(native_vectors.take_out(expected, rows)[0], parts)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@needs_loops
@pytest.mark.parametrize("shape", [(1, 1, 8), (4, 9, 24), (7, 3, 40), (9, 50, 56)])
def test_a_product(in_arrays, shape):
    rows, inner, columns = shape
    rng = np.random.default_rng(6)
    left, right = rng.normal(size=(rows, inner)), rng.normal(size=(inner, columns))
    found = native_vectors.multiply(left, right)
    in_arrays()
    np.testing.assert_allclose(found, native_vectors.multiply(left, right), atol=1e-12)


@needs_loops
@pytest.mark.parametrize("n", [1, 3, 4, 5, 12, 13, 15, 16, 63])
def test_a_symmetric_matrix_times_a_vector(in_arrays, n):
    rng = np.random.default_rng(7)
    matrix, vector = rng.normal(size=(n, n)), rng.normal(size=n)
    matrix += matrix.T
    found = native_vectors.symmetric_times(matrix, vector)
    in_arrays()
    expected = native_vectors.symmetric_times(matrix, vector)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@needs_loops
def test_equal_columns_are_not_hidden():
    basis = native_vectors.orthogonalize(np.ones((16, 8)))
    assert np.isnan(basis[:, 1:]).any()


@needs_loops
@pytest.mark.parametrize("shift", [0, 1e4, 1e9])
def test_neighbours_do_not_depend_on_the_loops(in_arrays, shift):
    # Far from the origin single precision tells nobody from nobody: double must.
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1500, 3))
    X[700:] += shift
    X[3] = X[1400]
    own = np.arange(1500)
    found = search_all(X, X, 6, own=own)
    in_arrays()
    expected = search_all(X, X, 6, own=own)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-14)


@needs_loops
def test_models_do_not_depend_on_the_loops(in_arrays):
    X = np.random.default_rng(6).normal(size=(1600, 4))
    found = pf.PatchEigenmaps(n_neighbors=12).fit(X)
    in_arrays()
    expected = pf.PatchEigenmaps(n_neighbors=12).fit(X)
    np.testing.assert_allclose(found.graph_.data, expected.graph_.data, atol=1e-10)
    np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-7)


@needs_loops
@pytest.mark.parametrize("m", [1, 7, 30])
def test_gaps_to_all(in_arrays, m):
    rng = np.random.default_rng(m)
    queries, X = rng.normal(size=(5, m)), rng.normal(size=(1030, m))
    X[1027] = queries[3]
    found = native_neighbors.all_squared_gaps(queries, X)
    assert found[3, 1027] == 0
    in_arrays()
    np.testing.assert_allclose(
        found, native_neighbors.all_squared_gaps(queries, X), rtol=1e-13
    )


def patches_of(rng, n, m, *, flat):
    """Return directions, some equal to rounding, and with `flat` some that are none."""
    root = rng.normal(size=(n, m, m)) * np.arange(1, m + 1)
    root[1] = root[0] + 1e-9 * rng.normal(size=(m, m))
    if flat:
        root[2, :, 0] = root[3] = 0.0
    matrices = root @ root.transpose(0, 2, 1)
    return describe_directions(Patches(np.zeros((n, m)), dense=matrices))


@needs_loops
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("m", [1, 2, 5, 12])
def test_curvatures_of_pairs_are_those_of_arrays(m, flat):
    rng = np.random.default_rng(m)
    left, right = (patches_of(rng, n, m, flat=flat) for n in (40, 70))
    for part, other in zip(left, right, strict=True):
        part[:4] = other[:4]
    i, j = np.nonzero(rng.uniform(size=(40, 70)) < 0.7)
    i, j = np.append(i, [0, 0, 1, 3, 3]), np.append(j, [1, 0, 0, 3, 9])
    found = native_patches.turns_of_pairs(left, right, 1 - NEAR * 2.0**-26)(i, j)
    ends = (take_described(side, at) for side, at in ((left, i), (right, j)))
    expected = compare_directions(*ends)
    for part, name in zip(found, ("label_free", "within", "between"), strict=True):
        # Sines of cosines that are not near 1 are good to 1e-16 / 1e-3.
        np.testing.assert_allclose(part, getattr(expected, name), rtol=1e-9, atol=1e-12)
    assert (found[:2, i == j][:, :3] == 0).all()
    found = native_patches.turns_of_few_pairs(left, right)(i, j)
    for part, name in zip(found, ("label_free", "within", "between"), strict=True):
        np.testing.assert_allclose(part, getattr(expected, name), rtol=1e-13)


@needs_loops
@pytest.mark.parametrize(("r", "m"), [(1, 1), (3, 3), (7, 40), (24, 30)])
def test_singular_rows_are_those_of_lapack(r, m):
    rng = np.random.default_rng(m)
    matrices = rng.normal(size=(13, r, m)) * 10.0 ** rng.integers(-9, 9, (13, 1, 1))
    matrices[5:] -= matrices[5:].mean(axis=1, keepdims=True)  # of rank r - 1
    matrices[7] = 0.0
    values, rows = native_patches.singular_rows(matrices)
    _, expected, right = np.linalg.svd(matrices, full_matrices=False)
    largest = expected[:, :1]
    np.testing.assert_allclose(values, expected, atol=1e-14 * r * largest.max())
    known = expected > 1e-12 * largest
    cosine = np.abs(np.sum(rows * right, axis=2))
    np.testing.assert_allclose(cosine[known], 1.0, rtol=1e-12)
    assert (values[7] == 0).all()
    assert (rows[7] == 0).all()
    alone = [native_patches.singular_rows(matrices[i : i + 1]) for i in (0, 6, 12)]
    for i, (value, row) in zip((0, 6, 12), alone, strict=True):
        assert (value[0] == values[i]).all()
        assert (row[0] == rows[i]).all()


@needs_loops
def test_large_matrices_are_left_to_lapack():
    assert native_patches.singular_rows(np.ones((2, 25, 30))) is None
    assert native_patches.singular_rows(np.ones((2, 5, 900))) is None


@needs_loops
def test_directions_in_single_precision_are_left_to_arrays():
    single = np.ones((3, 2, 2), dtype=np.float32), np.ones((3, 2), dtype=np.float32)
    assert native_patches.turns_of_pairs(single, single, 0.9) is None
    assert native_patches.turns_of_few_pairs(single, single) is None


@needs_loops
@pytest.mark.parametrize("part", [0.0, 0.1, 0.9])
def test_edges_both_ways(in_arrays, part):
    rng = np.random.default_rng(6)
    upper = np.triu(rng.uniform(size=(50, 50)) < part, 1)
    edges = 50, *np.nonzero(upper), rng.normal(size=upper.sum())
    edges[3][:2] = 0.0  # zeros are edges
    found = native_graph.mirror_edges(*edges)
    in_arrays()
    expected = native_graph.mirror_edges(*edges)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.nnz == 2 * upper.sum()
    assert found.has_canonical_format
    np.testing.assert_array_equal(found.toarray(), found.toarray().T)


@needs_loops
@pytest.mark.parametrize("n_neighbors", [0, 1, 5, 18, 130])
def test_relations_are_united(in_arrays, n_neighbors):
    n, rng = 150, np.random.default_rng(7)  # more than two tiles
    column = np.argsort(rng.uniform(size=(n, n)) + 2 * np.eye(n))[:, :n_neighbors]
    relation = n, np.repeat(np.arange(n), n_neighbors), column.ravel()
    found = native_graph.unite_relations(*relation)
    in_arrays()
    expected = native_graph.unite_relations(*relation)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@needs_loops
@pytest.mark.parametrize("part", [0.0, 0.1, 0.9])
def test_other_orders(in_arrays, part):
    rng = np.random.default_rng(8)
    table = rng.uniform(size=(50, 50)) * (rng.uniform(size=(50, 50)) < part)
    order = rng.permutation(50)
    for _ in range(2):
        turned = sp.csr_array(table)
        native_graph.reorder(turned, order, np.argsort(order))
        np.testing.assert_array_equal(turned.toarray(), table[order][:, order])
        in_arrays()


@needs_loops
@pytest.mark.parametrize("hub", [0, 70, 149])
def test_uneven_relations_are_united(in_arrays, hub):
    """Some have no neighbours, one has many, and many have that one."""
    rng = np.random.default_rng(hub)
    table = rng.uniform(size=(150, 150)) < 0.02
    table[hub], table[::2, hub], table[5:20] = True, True, False
    np.fill_diagonal(table, False)
    row, column = np.nonzero(table)
    order = np.lexsort([rng.permutation(row.size), row])  # columns in any order
    relation = 150, row[order], column[order]
    found = native_graph.unite_relations(*relation)
    in_arrays()
    expected = np.nonzero(np.triu(table | table.T))
    for both in (found, native_graph.unite_relations(*relation)):
        np.testing.assert_array_equal(both, expected)


@needs_loops
@pytest.mark.parametrize("m", [1, 2, 7, 16, 24])
def test_directions_of_small_matrices(m):
    rng = np.random.default_rng(m)
    root = rng.normal(size=(21, m, m + 3)) * np.arange(1, m + 1)[:, None]
    matrices = root @ root.transpose(0, 2, 1)
    matrices[3], matrices[4], matrices[5] = 0.0, np.eye(m), matrices[17]
    matrices[7] *= 1e250
    matrices[8] *= 1e-250
    variances, directions = native_patches.principal_directions(matrices)
    size = np.maximum(variances[:, :1], 1e-300)
    expected = np.linalg.eigvalsh(matrices)[:, ::-1]
    np.testing.assert_allclose(variances / size, expected / size, atol=1e-13)
    unit = directions @ directions.transpose(0, 2, 1)
    np.testing.assert_allclose(unit, np.broadcast_to(np.eye(m), unit.shape), atol=1e-13)
    residual = directions @ matrices - variances[:, :, None] * directions
    np.testing.assert_allclose(residual / size[:, :, None], 0, atol=1e-13)
    # Of equal matrices they are the same bits, whoever is solved beside them.
    np.testing.assert_array_equal(directions[5], directions[17])


@needs_loops
def test_directions_that_the_loops_do_not_find_are_left_to_lapack():
    assert native_patches.principal_directions(np.ones((2, 25, 25))) is None
    assert native_patches.principal_directions(np.ones((2, 3, 3), np.float32)) is None


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_loops), False])
def test_the_smallest_of_each_row(in_arrays, compiled):
    if not compiled:
        in_arrays()
    squared = np.random.default_rng(8).integers(0, 9, (6, 40)) ** 2 / 7
    squared[2, 5] = np.inf
    squared[:, 9] = squared[:, 30] * (1 + 1e-14)  # a tie
    places, values = nearest_first(squared, 12)
    expected = np.argsort(squared.round(9), axis=1, kind="stable")[:, :12]
    np.testing.assert_array_equal(places, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(squared, places, axis=1))


@needs_loops
@pytest.mark.parametrize("include_center", [False, True])
@pytest.mark.parametrize("m", [1, 3, 8, 13])
def test_moments_of_patches(in_arrays, m, include_center):
    rng = np.random.default_rng(m)
    X = rng.normal(size=(50, m)) + 1e6
    X[40:] = X[40]
    near = rng.integers(0, 50, (50, m + 4))
    near[7] = 45
    settings = {"include_center": include_center, "warn_identical": False}
    found = fit_patches(X[::-1].copy(), X, near, shrinkage=0.0, ridge=0.0, **settings)
    in_arrays()
    expected = fit_patches(X[::-1], X, near, shrinkage=0.0, ridge=0.0, **settings)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-14)
    np.testing.assert_allclose(found.dense, expected.dense, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(found.dense, found.dense.transpose(0, 2, 1))
    if not include_center:
        assert (found.dense[7] == 0).all()  # of identical points


@needs_loops
@pytest.mark.parametrize("include_center", [False, True])
@pytest.mark.parametrize("covariance", ["full", "diagonal", "robust"])
def test_factors_of_patches(in_arrays, covariance, include_center):
    rng = np.random.default_rng(0)
    X, near = rng.normal(size=(50, 13)) + 1e3, rng.integers(0, 50, (50, 6))
    settings = {"include_center": include_center, "covariance": covariance}
    found = fit_patches(X, X, near, **settings)
    in_arrays()
    expected = fit_patches(X, X, near, **settings)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-14)
    np.testing.assert_allclose(found.covariance, expected.covariance, atol=1e-11)


@needs_loops
@pytest.mark.parametrize(("r", "m"), [(1, 1), (3, 5), (16, 20), (4, 8), (7, 13)])
def test_products_of_factors_are_packed_covariances(r, m):
    rng = np.random.default_rng(0)
    factors, noise = rng.normal(size=(9, r, m)), rng.random(9)
    packed = native_patches.packed_products(factors, noise)
    whole = factors.transpose(0, 2, 1) @ factors + noise[:, None, None] * np.eye(m)
    row, column = np.triu_indices(m)
    np.testing.assert_allclose(packed, whole[:, row, column], rtol=1e-13, atol=1e-13)
