"""Neighbours by any metric are those of scikit-learn, with our rule for ties."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsTransformer

from patchfold.neighbors.choice import open_search
from patchfold.neighbors.metric import BOOLEAN, METRICS, resolve_metric
from patchfold.neighbors.sparse_metric import SPARSE_METRICS

NAMES = [name for name in METRICS if name not in ("precomputed", "l2", "euclidean")]
DRAWN = np.abs(np.random.default_rng(0).normal(size=(120, 4)))
DRAWN[9] = DRAWN[8]


def samples_for(name):
    if name == "haversine":
        return DRAWN[:, :2]
    return (DRAWN > 0.4).astype(float) if name in BOOLEAN else DRAWN


def table_of(name, X):
    params = {
        "minkowski": {"p": 3},
        "seuclidean": {"V": X.var(axis=0, ddof=1)},
        "mahalanobis": {"VI": np.linalg.inv(np.cov(X.T))},
    }.get(name, {})
    return pairwise_distances(X != 0 if name in BOOLEAN else X, metric=name, **params)


def open_named(name, X, n_neighbors=None, radius=None, algorithm="auto"):
    metric = resolve_metric(name, 3, None, X)
    return open_search(algorithm, X, n_neighbors, radius, None, metric)


def in_order(table, k):
    """Return the k nearest others of each row of a table, ties by index."""
    table = table.copy()
    np.fill_diagonal(table, np.inf)
    return np.argsort(np.round(table, 12), axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("name", NAMES)
def test_the_nearest_are_those_of_the_table(name):
    X = samples_for(name)
    table, search = table_of(name, X), open_named(name, X, 7)
    near = search.of_training(X, None)
    np.testing.assert_array_equal(near.indices, in_order(table, 7))
    expected = np.take_along_axis(table, near.indices, axis=1)
    np.testing.assert_allclose(near.distances, expected, atol=1e-12)
    row, column = near.relation
    np.testing.assert_allclose(
        search.between(row, column), near.distances.ravel(), atol=1e-12
    )
    if name != "russellrao":  # a set is not at 0 from itself, but in scipy's pdist
        new = search.of_queries(X[:5], X, None)
        np.testing.assert_allclose(new.distances, np.sort(table[:5])[:, :7], atol=1e-7)


@pytest.mark.parametrize("name", ["cosine", "manhattan", "canberra", "sqeuclidean"])
def test_a_radius_takes_all_within_it(name):
    X = samples_for(name)
    table = table_of(name, X)
    np.fill_diagonal(table, np.inf)
    radius = float(np.median(table.min(axis=1)))
    search = open_named(name, X, radius=radius)
    near = search.of_training(X, None)
    assert (near.counts == (table <= radius * (1 + 1e-12)).sum(axis=1)).all()
    alone = near.counts == 0
    assert alone.any()
    complete = search.complete(near, X, None)
    assert (complete.nearest[0][alone] == table.argmin(axis=1)[alone]).all()


@pytest.mark.parametrize("name", SPARSE_METRICS)
def test_sparse_samples_have_the_neighbours_of_dense_ones(name):
    rng = np.random.default_rng(1)
    S = sp.csr_array(rng.random((90, 40)) * (rng.random((90, 40)) < 0.1))
    S.data[S.indptr[3] : S.indptr[4]] = 0  # a row of zeros
    X = S.toarray()
    table = pairwise_distances(X, metric=name)
    zero = ~X.any(axis=1)
    table[np.ix_(zero, zero)] = 0  # by cosine as well: they are identical
    sparse = open_named(name if name != "euclidean" else "l2", S, 6)
    near = sparse.of_training(S, None)
    np.testing.assert_array_equal(near.indices, in_order(table, 6))
    assert (sparse.of_queries(S[:9], S, None).nearest[1] == 0).all()


def test_candidates_of_a_transformer_are_measured_by_the_metric():
    tree = KNeighborsTransformer(n_neighbors=20, metric="manhattan")
    search = open_named("manhattan", DRAWN, 7, algorithm=tree)
    exact = open_named("manhattan", DRAWN, 7)
    found, wanted = search.of_training(DRAWN, None), exact.of_training(DRAWN, None)
    np.testing.assert_array_equal(found.indices, wanted.indices)
    new = search.of_queries(DRAWN[:4] + 0.01, DRAWN, None)
    wanted = exact.of_queries(DRAWN[:4] + 0.01, DRAWN, None)
    np.testing.assert_array_equal(new.indices, wanted.indices)


def test_ties_go_to_the_lower_index_whatever_the_search():
    X = np.zeros((60, 3))
    X[:30] = 1.0
    near = open_named("manhattan", X, 4).of_training(X, None)
    assert near.indices[0].tolist() == [1, 2, 3, 4]
    assert near.indices[40].tolist() == [30, 31, 32, 33]


def test_a_distance_that_is_no_number_is_refused():
    X = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 2.0], [3.0, 1.0]])
    below_zero = resolve_metric(lambda a, b: -1.0, 2, None, X)
    search = open_search("auto", X, 2, None, None, below_zero)
    with pytest.raises(ValueError, match=r"metric=.* gave -1.0 for two samples"):
        search.of_training(X, None)


@pytest.mark.parametrize("name", SPARSE_METRICS)
def test_all_pairs_of_sparse_samples_are_measured_by_products_and_near_ones_exactly(
    name, monkeypatch
):
    """Products alone would put samples 1e-10 apart at 0, or 1e-8."""
    monkeypatch.setattr("patchfold.neighbors.sparse_metric.TABLE_BYTES", 5000)
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, (80, 40)) * rng.gamma(2, size=(80, 1))
    X[40:60] = X[:20]
    X[40:60, 0] += 1e-10
    X[70] = 0
    S = sp.csr_array(X)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    metric = resolve_metric(name, 2, None, S)
    rows = metric.prepare(S)
    row, column = (places.ravel() for places in np.indices((80, 80)))
    shuffled = rng.permutation(row.size)
    row, column = row[shuffled], column[shuffled]
    found = metric.length(metric.table(rows, rows).exact(row, column))
    by_gaps = {
        "manhattan": lambda u, v: np.abs(u - v).sum(),
        "euclidean": lambda u, v: np.sqrt(((u - v) ** 2).sum()),
        "sqeuclidean": lambda u, v: ((u - v) ** 2).sum(),
        "cosine": lambda u, v: ((u - v) ** 2).sum() / 2,
    }[name]
    if name == "cosine":
        lengths = np.sqrt((X**2).sum(axis=1, keepdims=True))
        X = np.column_stack([X / np.where(lengths > 0, lengths, 1), lengths == 0])
    expected = [by_gaps(X[i], X[j]) for i, j in zip(row, column, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-30)


def test_a_metric_without_sparse_samples_names_those_that_take_them():
    with pytest.raises(ValueError, match=r"metric='jaccard' does not take a sparse X"):
        resolve_metric("jaccard", 2, None, sp.csr_array(DRAWN))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("minkowski", {"a": 1}),
        ("minkowski", {"p": "x"}),
        ("minkowski", {1: 2}),
        ("cosine", {"a": 1}),
        ("seuclidean", {"V": [1.0, 2.0]}),
        ("seuclidean", {"V": [1.0, 1.0, np.nan]}),
        ("mahalanobis", {"VI": np.eye(2)}),
        ("mahalanobis", {"VI": np.full((3, 3), np.nan)}),
        ("mahalanobis", {"V": "a"}),
        ("hamming", {"w": [1.0, 2.0]}),
        ("chebyshev", {"p": 3}),
    ],
)
def test_parameters_that_a_metric_does_not_have_are_refused(name, params):
    X = np.random.default_rng(0).normal(size=(9, 3))
    with pytest.raises(ValueError, match=f"do not go with metric='{name}'"):
        resolve_metric(name, 2, params, X)


@pytest.mark.parametrize("name", ["hamming", "canberra", "chebyshev"])
def test_weights_of_columns_count_where_a_tree_does_not_take_them(name):
    X = np.random.default_rng(0).integers(1, 4, size=(30, 3)).astype(float)
    params = {"w": [1.0, 2.0, 0.5]}
    metric = resolve_metric(name, 2, params, X)
    near = open_search("auto", X, 4, None, None, metric).of_training(X, None)
    table = pairwise_distances(X, metric=name, **params)
    np.fill_diagonal(table, np.inf)
    np.testing.assert_allclose(near.distances, np.sort(table, axis=1)[:, :4])
