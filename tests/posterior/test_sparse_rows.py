"""PatchPosterior of sparse samples is that of dense ones, and none is made dense."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import patchfold as pf
from patchfold.posterior.views import VIEWS
from patchfold.tables.models import load_model, save_model

EVERY = ("patch", "class", "pooled", "kernel", "marginal")


def texts(n_samples, n_features, seed=0):
    """Return sparse counts with negative and broken values, and classes that differ."""
    rng = np.random.default_rng(seed)
    common = 1 / np.arange(1, n_features + 1)
    mean = 40 * common / common.sum() * rng.gamma(2, 0.5, (n_samples, 1))
    y = rng.integers(0, 3, n_samples)
    mean[:, 3:6] += 2 * (y == 1)[:, None]
    X = rng.poisson(mean) * rng.choice([1.0, 1.5, -1.0], mean.shape)
    X[:, 0] = 4.0  # constant, and never 0
    X[:, 1] += 9.0  # without zeros, for the most part
    return sp.csr_array(X), y


X, y = texts(90, 400)
NEW, _ = texts(15, 400, seed=1)


def both(samples=X, classes=y, weights=None, **settings):
    """Fit to sparse samples, and to the same samples, dense."""
    sparse = pf.PatchPosterior(**settings).fit(samples, classes, weights)
    dense = pf.PatchPosterior(**settings).fit(samples.toarray(), classes, weights)
    assert sp.issparse(sparse._fitted.model.scores.rows[0])
    return sparse, dense


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_is_dense(view, weighted):
    weights = np.random.default_rng(5).random(y.size) + 0.5 if weighted else None
    sparse, dense = both(views=(view,), scores=EVERY, weights=weights)
    ours, theirs = (
        sparse._fitted.model.scores.left_out,
        dense._fitted.model.scores.left_out,
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sparse.posterior_, dense.posterior_, atol=1e-9)
    np.testing.assert_allclose(sparse.embedding_, dense.embedding_, atol=1e-9)
    np.testing.assert_allclose(
        sparse.predict_proba(NEW), dense.predict_proba(NEW.toarray()), atol=1e-9
    )
    np.testing.assert_allclose(
        sparse.transform(NEW), dense.transform(NEW.toarray()), atol=1e-9
    )
    np.testing.assert_allclose(sparse.transform(X), sparse.embedding_, atol=1e-12)


def test_unlabelled_rows_other_formats_and_relief():
    part = np.where(np.arange(y.size) % 3 == 0, -1, y)
    sparse, dense = both(classes=part)
    np.testing.assert_allclose(sparse.embedding_, dense.embedding_, atol=1e-9)
    np.testing.assert_allclose(sparse.relevance_, dense.relevance_, atol=1e-6)
    again = pf.PatchPosterior().fit(sp.coo_matrix(X), part)
    np.testing.assert_array_equal(again.embedding_, sparse.embedding_)
    # A model takes either kind of new samples, whatever it was fitted to.
    np.testing.assert_array_equal(sparse.predict(NEW.toarray()), sparse.predict(NEW))
    np.testing.assert_array_equal(dense.predict(NEW), dense.predict(NEW.toarray()))


def test_few_features_are_made_dense_and_may_have_gaps():
    narrow = X[:, :30]
    model = pf.PatchPosterior().fit(narrow, y)
    plain = pf.PatchPosterior().fit(narrow.toarray(), y)
    np.testing.assert_array_equal(model.embedding_, plain.embedding_)
    gappy = narrow.copy()
    gappy.data[7] = np.nan
    filled = pf.PatchPosterior().fit(gappy, y).embedding_
    expected = pf.PatchPosterior().fit(gappy.toarray(), y).embedding_
    np.testing.assert_array_equal(filled, expected)


def test_explanations():
    few, classes = texts(40, 100)  # a dense row is explained by all of its columns
    few = sp.csr_array((few.data, few.indices, few.indptr), shape=(40, 103))
    new = sp.csr_array(NEW[:1, :103])
    sparse, dense = both(few, classes)
    for row in (few[:1], new):
        ours, theirs = sparse.explain(row), dense.explain(row.toarray())
        np.testing.assert_allclose(ours.contributions, theirs.contributions, atol=1e-8)
        for view, patches in theirs.patches.items():
            for found, expected in zip(ours.patches[view], patches, strict=True):
                np.testing.assert_array_equal(found, expected)
        total = ours.contributions.sum(axis=0) + ours.offsets
        np.testing.assert_allclose(ours.columns.score, total, atol=1e-9)
        np.testing.assert_array_equal(ours.columns.typical, theirs.columns.typical)
        effects = ours.columns.effects, theirs.columns.effects
        np.testing.assert_allclose(*effects, atol=1e-6)
    of_class = sparse.explain_class(1)
    assert not of_class.effects[100:].any()
    assert of_class.effects.any()
    assert of_class.n_rows == min(12, (classes == 1).sum())


def test_a_model_file(tmp_path):
    model = pf.PatchPosterior().fit(X, np.where(np.arange(y.size) % 9 == 0, -1, y))
    save_model(model, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    np.testing.assert_array_equal(loaded.predict_proba(NEW), model.predict_proba(NEW))


def test_a_wide_table_is_never_made_dense():
    n, m = X.shape[0], 1_000_000  # .7 GB, if it were dense
    wide = sp.csr_array((X.data, X.indices * 2500, X.indptr), shape=(n, m))
    tracemalloc.start()
    model = pf.PatchPosterior().fit(wide, y)
    model.predict(wide[:5])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e8
    told = model.explain(wide[[0]])
    assert told.patches["rank"][0].size == 15


def test_rows_without_entries_and_words_that_are_new():
    empty = sp.csr_array((3, 400))
    sparse, dense = both(sp.csr_array(sp.vstack([X, empty])), np.append(y, [0, 1, 2]))
    np.testing.assert_allclose(sparse.embedding_, dense.embedding_, atol=1e-9)
    unseen = sp.csr_array(([3.0], ([0], [399])), shape=(1, 400))
    some = sp.csr_array((X.data, X.indices, X.indptr), shape=(90, 401))
    model = pf.PatchPosterior().fit(some, y)
    word = sp.csr_array(([3.0], ([0], [400])), shape=(1, 401))
    np.testing.assert_allclose(
        model.predict_proba(word), model.predict_proba(sp.csr_array((1, 401)))
    )
    assert np.isfinite(sparse.predict_proba(unseen)).all()
    constant = pf.PatchPosterior().fit(sp.csr_array((60, 500)), np.arange(60) % 2)
    np.testing.assert_allclose(constant.predict_proba(unseen_of(500)), 0.5, atol=1e-9)


def unseen_of(n_features):
    """Return a row with one entry."""
    return sp.csr_array(([3.0], ([0], [7])), shape=(1, n_features))
