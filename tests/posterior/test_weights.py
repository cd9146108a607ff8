"""Weights of rows in the scores, the stack and PatchPosterior; metadata routing."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import patchfold as pf
from patchfold.posterior.gap_pooled import PooledGapScores
from patchfold.posterior.kernel_ridge import KernelScores
from patchfold.posterior.marginal import MarginalScores
from patchfold.posterior.pooled import PooledScores
from patchfold.posterior.stack import fit_stack


@pytest.fixture
def rows():
    draw = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [14, 9, 6])
    Z = draw.normal(size=(29, 3)) + 0.7 * codes[:, None]
    return Z, codes, draw.uniform(0.2, 3.0, 29), draw.normal(size=(5, 3))


@pytest.mark.parametrize(
    ("part", "has_gaps"),
    [(PooledScores, False), (PooledGapScores, False), (PooledGapScores, True)],
)
def test_pooled_scores_equal_weighed_fits_without_the_row(rows, part, has_gaps):
    Z, codes, weights, _ = rows
    if has_gaps:
        Z = np.where(np.random.default_rng(1).random(Z.shape) < 0.2, np.nan, Z)
    # The floor of variances is that of all rows: a small one shows nothing of it.
    found = part(Z, codes, ridge=1e-12, row_weights=weights).left_out[0]
    for i in range(0, codes.size, 4):
        rest = np.arange(codes.size) != i
        fitted = part(Z[rest], codes[rest], ridge=1e-12, row_weights=weights[rest])
        np.testing.assert_allclose(found[i], fitted.of(Z[[i]])[0, 0], rtol=1e-8)


def test_whole_weights_are_copies_for_new_rows(rows):
    Z, codes, _, queries = rows
    Z = np.round(Z)  # few values: the cuts of the marginal score are between them
    weights = np.random.default_rng(2).integers(1, 4, codes.size)
    copies = np.repeat(np.arange(codes.size), weights)
    for part, settings in (
        (PooledScores, {"ridge": 1e-12}),
        (PooledGapScores, {"ridge": 1e-12}),
        (MarginalScores, {}),
    ):
        weighed = part(Z, codes, row_weights=weights.astype(float), **settings)
        copied = part(Z[copies], codes[copies], **settings)
        np.testing.assert_allclose(weighed.of(queries), copied.of(queries), rtol=1e-8)


def test_marginal_scores_lose_the_weight_of_their_row(rows):
    Z, codes, weights, _ = rows
    x = np.round(Z[:, :1])
    part = MarginalScores(x, codes, row_weights=weights)
    own = (x[0] == x[:, 0]) & (codes == 0)
    size = weights[codes == 0].sum()
    share = weights[x[0] == x[:, 0]].sum() + 0.5
    share /= weights.sum() + 5
    rate = (weights[own].sum() - weights[0]) / (size - weights[0])
    expected = np.log((rate + 2 / size * share) / (1 + 2 / size))
    assert part.left_out[0, 0, 0] == pytest.approx(expected)


def test_kernel_scores_equal_weighed_regressions_without_the_row(rows):
    Z, codes, weights, _ = rows
    part = KernelScores(Z, codes, n_landmarks=100, row_weights=weights)
    K = np.exp(
        -((Z[:, None] - Z) ** 2).sum(axis=2) / part._width
    )  # every row is a landmark
    Y = np.eye(3)[codes] - 1 / 3
    for i in (0, 11, 28):
        W = np.diag(np.where(np.arange(29) == i, 0.0, weights))
        found = np.linalg.solve(W @ K + 0.1 * np.eye(29), W @ Y)
        np.testing.assert_allclose(part.left_out[0, i], K[i] @ found, atol=1e-9)


def test_the_stack_counts_rows_by_their_weights(rows):
    _, codes, _, _ = rows
    draw = np.random.default_rng(3)
    scores = draw.normal(size=(2, 29, 3))
    known = np.ones((29, 3), dtype=bool)
    weights = draw.integers(1, 4, 29)
    copies = np.repeat(np.arange(29), weights)
    weighed = fit_stack(scores, known, codes, weights.astype(float))
    copied = fit_stack(scores[:, copies], known[copies], codes[copies])
    for name in ("weights", "offsets", "scales"):
        np.testing.assert_allclose(
            getattr(weighed, name), getattr(copied, name), rtol=1e-9, atol=1e-9
        )


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X[::2], y[::2], X[1::2]


def test_equal_weights_are_none(wine):
    X, y, new = wine
    plain = pf.PatchPosterior().fit(X, y)
    for weights in (np.full(y.size, 3.0), 2.0):
        model = pf.PatchPosterior().fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(model.embedding_, plain.embedding_, atol=1e-9)
        np.testing.assert_allclose(
            model.predict_proba(new), plain.predict_proba(new), atol=1e-9
        )


def test_a_weight_of_zero_takes_the_row_out(wine):
    X, y, new = wine
    weights = np.random.default_rng(0).uniform(0.5, 2, y.size)
    weights[::7] = 0
    model = pf.PatchPosterior().fit(X, y, weights)
    kept = weights > 0
    other = pf.PatchPosterior().fit(X[kept], y[kept], weights[kept])
    np.testing.assert_allclose(model.predict_proba(new), other.predict_proba(new))
    np.testing.assert_allclose(model.posterior_[~kept], other.predict_proba(X[~kept]))


def test_a_heavier_class_is_likelier(wine):
    X, y, new = wine
    plain = pf.PatchPosterior().fit(X, y).predict_proba(new).mean(axis=0)
    heavy = pf.PatchPosterior().fit(X, y, np.where(y == 2, 20.0, 1.0))
    assert heavy.predict_proba(new).mean(axis=0)[2] > plain[2]


def test_weights_are_saved(wine, tmp_path):
    X, y, new = wine
    weights = np.random.default_rng(0).uniform(0.5, 2, y.size)
    model = pf.PatchPosterior().fit(X, y, weights)
    pf.save_model(model, tmp_path / "m.skops")
    again = pf.load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
    new = new.copy()
    new[::2, 3] = np.nan
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, 2.0], "a number for each of the 89 samples"),
        (np.full(89, -1.0), "must not be negative. Its smallest is -1"),
        (np.full(89, np.nan), "sample_weight contains NaN"),
        (np.zeros(89), "zero for all samples of a class"),
    ],
)
def test_other_weights_are_refused(wine, weights, words):
    X, y, _ = wine
    with pytest.raises(ValueError, match=words):
        pf.PatchPosterior().fit(X, y, sample_weight=weights)


def test_weights_are_routed_through_pipelines_and_searches(wine):
    X, y, new = wine
    weights = np.where(y == 2, 5.0, 1.0)
    expected = make_pipeline(StandardScaler(), pf.PatchPosterior())
    expected.fit(X, y, patchposterior__sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        model = pf.PatchPosterior().set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scaler, model).fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(
            pipe.predict_proba(new), expected.predict_proba(new)
        )
        search = GridSearchCV(model, {"n_neighbors": [5]}, cv=2)
        search.fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(
            search.predict_proba(new),
            pf.PatchPosterior(n_neighbors=5).fit(X, y, weights).predict_proba(new),
        )
        found = cross_validate(model, X, y, cv=2, params={"sample_weight": weights})
        assert found["test_score"].min() > 0.8
