"""Sparse samples give what dense ones give, and are never made dense."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.estimators import PATCH_EMBEDDINGS
from scipy.spatial import procrustes
from sklearn.base import clone
from sklearn.metrics import silhouette_score
from sklearn.neighbors import KNeighborsClassifier

import patchfold as pf

EVERY = [*PATCH_EMBEDDINGS, pf.CauchyMap]
over_every_estimator = pytest.mark.parametrize("estimator", EVERY)

SHAPES = {"few features": (120, 40), "many features": (100, 500)}
over_shapes = pytest.mark.parametrize("shape", SHAPES)

QUIET = pytest.mark.filterwarnings(
    "ignore::patchfold.exceptions.FarSampleWarning",
    "ignore::patchfold.exceptions.DisconnectedGraphWarning",
)


def counts(n_samples, n_features, seed=0):
    """Return sparse counts of words, some of them common."""
    rng = np.random.default_rng(seed)
    common = 1 / np.arange(1, n_features + 1)
    mean = 40 * common / common.sum() * rng.gamma(2, 0.5, (n_samples, 1))
    return sp.csr_array(rng.poisson(mean).astype(float))


@QUIET
@over_every_estimator
@over_shapes
@pytest.mark.parametrize("dissimilarity", ["euclidean", "kl", "hellinger"])
def test_sparse_is_dense(estimator, shape, dissimilarity):
    X, new = counts(*SHAPES[shape]), counts(7, SHAPES[shape][1], seed=1)
    settings = {"n_neighbors": 12, "dissimilarity": dissimilarity}
    sparse = estimator(**settings).fit(X)
    dense = estimator(**settings).fit(X.toarray())
    np.testing.assert_allclose(sparse.embedding_, dense.embedding_, atol=1e-7)
    np.testing.assert_allclose(
        sparse.transform(new), dense.transform(new.toarray()), atol=1e-7
    )
    np.testing.assert_allclose(sparse.transform(X), sparse.embedding_, atol=1e-7)


@QUIET
@over_every_estimator
@pytest.mark.parametrize("metric", ["cosine", "manhattan"])
def test_metrics_of_sparse_samples(estimator, metric):
    X = counts(100, 60)
    settings = {"dissimilarity": "euclidean", "n_neighbors": 12, "metric": metric}
    sparse = estimator(**settings).fit(X)
    dense = estimator(**settings).fit(X.toarray())
    np.testing.assert_allclose(
        sparse.graph_.toarray(), dense.graph_.toarray(), atol=1e-12
    )
    np.testing.assert_allclose(sparse.embedding_, dense.embedding_, atol=1e-7)


@QUIET
@pytest.mark.parametrize("estimator", [pf.PatchIsomap, pf.PatchLLE, pf.CauchyMap])
@pytest.mark.parametrize("dissimilarity", ["euclidean", "kl"])
def test_a_wide_table_is_never_made_dense(estimator, dissimilarity):
    n, m = 150, 1_000_000  # 1.2 GB, if it were dense
    X = counts(n, 400)
    X = sp.csr_array((X.data, X.indices * 2500, X.indptr), shape=(n, m))
    tracemalloc.start()
    model = estimator(n_neighbors=12, dissimilarity=dissimilarity).fit(X)
    placed = model.transform(X[:5])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e8
    np.testing.assert_allclose(placed, model.embedding_[:5], atol=1e-7)


@QUIET
@over_every_estimator
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_a_model_file_holds_sparse_samples(estimator, metric, tmp_path):
    from patchfold.tables.models import load_model, save_model

    X, new = counts(100, 500), counts(7, 500, seed=1)
    model = estimator(n_neighbors=12, dissimilarity="euclidean", metric=metric).fit(X)
    save_model(model, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.transform(new), model.transform(new))


@QUIET
def test_sweeps_and_the_choice_of_neighbours():
    X, model = counts(100, 500), pf.PatchIsomap(dissimilarity="euclidean")
    y = np.arange(100) % 2
    for swept in pf.fit_sweep(model, X, n_neighbors=[10, 20]):
        alone = clone(model).set_params(n_neighbors=swept.n_neighbors_)
        np.testing.assert_array_equal(swept.embedding_, alone.fit(X).embedding_)
    assert pf.select_n_neighbors(model, X, y, [10, 20], cv=2).scores.shape == (2, 2)
    assert pf.PatchIsomap(dissimilarity="euclidean", n_neighbors="auto").fit(X)


@pytest.mark.parametrize("kind", [sp.csc_array, sp.coo_matrix, sp.csr_matrix])
def test_any_format_is_read_and_left_as_it_was(kind):
    X = kind(counts(60, 30))
    before = X.toarray().copy()
    model = pf.PatchIsomap(n_neighbors=20, dissimilarity="euclidean").fit(X)
    model.transform(X)
    np.testing.assert_array_equal(X.toarray(), before)


def test_stored_zeros_and_entries_in_parts_change_nothing():
    X = counts(60, 30)
    untidy = sp.csr_array(
        (np.repeat(X.data, 2) / 2, np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )
    points = {"n_neighbors": 20, "dissimilarity": "euclidean"}
    model = pf.PatchIsomap(**points).fit(X)
    again = pf.PatchIsomap(**points).fit(untidy)
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    assert untidy.nnz == 2 * X.nnz  # the caller's
    np.testing.assert_array_equal(again.transform(untidy), again.embedding_)


def topics(n_samples, n_features=2000, seed=0):
    """Return sparse counts of words about three topics, and the topics."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % 3
    words = rng.integers(n_features, size=(n_samples, 60))
    words[:, :8] = 50 * y[:, None] + rng.integers(50, size=(n_samples, 8))
    rows = np.repeat(np.arange(n_samples), 60)
    shape = n_samples, n_features
    return sp.csr_array((np.ones(rows.size), (rows, words.ravel())), shape=shape), y


@pytest.fixture(scope="module")
def model():
    """Return a map of sparse samples with labels."""
    return pf.CauchyMap().fit(*topics(150))


@QUIET
class TestLabelsOfAMap:
    def test_sparse_is_dense(self, model):
        X, y = topics(150)
        dense = pf.CauchyMap().fit(X.toarray(), y)
        assert procrustes(model.embedding_, dense.embedding_)[2] < 0.01
        np.testing.assert_allclose(
            sorted(model.graph_.data), sorted(dense.graph_.data), rtol=1e-4
        )

    def test_labels_draw_classes_together_and_place_new_samples(self, model):
        (X, y), (new, truth) = topics(150), topics(60, seed=1)
        without = pf.CauchyMap().fit(X)
        silhouettes = [silhouette_score(m.embedding_, y) for m in (model, without)]
        assert silhouettes[0] > silhouettes[1] + 0.05
        neighbors = KNeighborsClassifier(7).fit(model.embedding_, y)
        assert neighbors.score(model.transform(new), truth) > 0.6

    def test_each_sample_alone_is_placed_as_in_a_batch(self, model):
        new = topics(20, seed=1)[0]
        alone = np.vstack([model.transform(new[[i]]) for i in range(20)])
        np.testing.assert_array_equal(model.transform(new), alone)
        X = topics(150)[0]
        np.testing.assert_array_equal(model.transform(X), model.embedding_)

    def test_any_order_of_rows(self, model):
        X, y = topics(150)
        order = np.random.default_rng(0).permutation(150)
        again = pf.CauchyMap().fit(X[order], y[order])
        np.testing.assert_array_equal(again.embedding_, model.embedding_[order])

    def test_a_model_file(self, model, tmp_path):
        from patchfold.tables.models import load_model, save_model

        save_model(model, tmp_path / "m.skops")
        new = topics(20, seed=1)[0]
        np.testing.assert_array_equal(
            load_model(tmp_path / "m.skops").transform(new), model.transform(new)
        )


class TestRefusals:
    def test_features_one_by_one(self):
        X = counts(60, 500)
        with pytest.raises(ValueError, match=r"covariance='diagonal' looks at sin"):
            pf.PatchIsomap(covariance="diagonal").fit(X)
        with pytest.raises(ValueError, match=r"dissimilarity='curvature' looks at sin"):
            pf.PatchIsomap(dissimilarity="curvature").fit(X)

    def test_gaps_of_a_posterior(self):
        X = counts(60, 500)
        model = pf.PatchPosterior().fit(X, np.arange(60) % 2)
        X.data[3] = np.nan
        with pytest.raises(ValueError, match=r"X is sparse, has 500 .* NaN, .* fill"):
            pf.PatchPosterior().fit(X, np.arange(60) % 2)
        with pytest.raises(ValueError, match=r"X is sparse, has 500 .* NaN, .* fill"):
            model.predict(X)

    def test_infinity_of_a_posterior(self):
        X = counts(60, 500)
        X.data[3] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            pf.PatchPosterior().fit(X, np.arange(60) % 2)

    def test_other_features_of_a_posterior(self):
        model = pf.PatchPosterior().fit(counts(60, 500), np.arange(60) % 2)
        with pytest.raises(ValueError, match=r"499 features, .* expecting 500"):
            model.predict(counts(3, 499))

    def test_a_matrix_whose_parts_do_not_fit(self):
        X = counts(60, 30)
        X.indices[3] = 99
        with pytest.raises(ValueError, match=r"not a valid sparse matrix: indices"):
            pf.PatchIsomap().fit(X)
