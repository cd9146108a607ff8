"""Rows with gaps: every score against a literal version of itself."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

import patchfold as pf
from patchfold.posterior.gap_patches import PatchGapScores
from patchfold.posterior.gap_pooled import PooledGapScores
from patchfold.posterior.gaps import squared_gap_distances, variance_of_rows
from patchfold.posterior.kernel_ridge import PENALTIES, WIDTH, KernelScores
from patchfold.posterior.local import PatchScores
from patchfold.posterior.marginal import N_BINS, SMOOTHING, MarginalScores
from patchfold.posterior.pooled import PooledScores
from patchfold.posterior.views import fit_views

PATCH = {"n_neighbors": 6, "shrinkage": 0.3, "ridge": 1e-3}


@pytest.fixture
def rows():
    """Return rows with gaps, their classes, and new rows; a class lacks a column."""
    draw = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [14, 9, 7])
    Z = draw.normal(size=(30, 4)) + 0.7 * codes[:, None]
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    Z[draw.random(Z.shape) < 0.2] = np.nan
    Z[codes == 2, 3] = np.nan
    Z[20, 3] = 0.4  # the only cell of this class there, with another one below
    Z[5] = np.nan
    queries = draw.normal(size=(6, 4))
    queries[0, 1], queries[1, :3] = np.nan, np.nan
    return Z, codes, queries


def without(Z, codes, i):
    keep = np.arange(codes.size) != i
    return Z[keep], codes[keep]


def pooled(Z, codes, x, variance):
    """Score a row by the pooled covariance, cell by cell."""
    n_classes, m = 3, Z.shape[1]
    means = np.zeros((n_classes, m))
    residuals = np.zeros_like(Z)
    free = np.zeros(m)
    for j in range(m):
        for c in range(n_classes):
            cells = Z[(codes == c) & ~np.isnan(Z[:, j]), j]
            if cells.size:
                means[c, j] = cells.mean()
                free[j] += cells.size - 1
        there = ~np.isnan(Z[:, j])
        residuals[there, j] = Z[there, j] - means[codes[there], j]
    free = np.maximum(free, 1)
    C = residuals.T @ residuals / np.sqrt(np.outer(free, free))
    sigma = 0.9 * C + (0.1 * np.trace(C) / m + 1e-3 * variance) * np.eye(m)
    own = ~np.isnan(x)
    block = sigma[np.ix_(own, own)]
    gaps = [x[own] - mean[own] for mean in means]
    return [-0.5 * gap @ np.linalg.solve(block, gap) for gap in gaps]


def test_the_pooled_score_equals_refits_without_the_row(rows):
    Z, codes, queries = rows
    part, variance = PooledGapScores(Z, codes, ridge=1e-3), variance_of_rows(Z)
    expected = [
        pooled(*without(Z, codes, i), Z[i], variance) for i in range(codes.size)
    ]
    np.testing.assert_allclose(part.left_out[0], expected, rtol=1e-9, atol=1e-12)
    expected = [pooled(Z, codes, x, variance) for x in queries]
    np.testing.assert_allclose(part.of(queries)[0], expected, rtol=1e-9)


def patch(members, x, variance):
    """Score a row by its nearest members, cell by cell."""
    m, most = x.size, PATCH["n_neighbors"]
    unit = 2 * m * variance
    apart = squared_gap_distances(x[None], members, unit)[0]
    points = members[np.argsort(apart, kind="stable")[:most]]
    k = len(points)
    mean, spread = np.zeros(m), np.zeros((k, m))
    extra = np.zeros(m)
    for j in range(m):
        cells = points[~np.isnan(points[:, j]), j]
        if cells.size:
            mean[j] = cells.mean()
        if cells.size <= 1 and cells.size < k:
            extra[j] = variance
        there = ~np.isnan(points[:, j])
        spread[there, j] = (cells - mean[j]) / np.sqrt(max(cells.size - 1, 1))
    S = spread.T @ spread + np.diag(extra)
    sigma = 0.7 * S + (0.3 * np.trace(S) / m + 1e-3 * variance) * np.eye(m)
    own = ~np.isnan(x)
    gap, block = (x - mean)[own], sigma[np.ix_(own, own)]
    distance = gap @ np.linalg.solve(block, gap)
    log_det = np.linalg.slogdet(block)[1]
    return -0.5 * log_det - 0.5 * (k + own.sum()) * np.log1p(distance / k)


def test_the_patch_score_leaves_its_row_and_gaps_out(rows):
    Z, codes, queries = rows
    part, variance = PatchGapScores(Z, codes, **PATCH), variance_of_rows(Z)
    for i, x in enumerate(Z):
        rest, kept = without(Z, codes, i)
        expected = [patch(rest[kept == c], x, variance) for c in range(3)]
        np.testing.assert_allclose(part.left_out[0, i], expected, rtol=1e-8)
    expected = [[patch(Z[codes == c], x, variance) for c in range(3)] for x in queries]
    np.testing.assert_allclose(part.of(queries)[0], expected, rtol=1e-8)
    for own, c in ((3, 0), (3, 1)):
        found = part.patch_rows(Z[3], c, own)
        assert own not in found
        assert set(codes[found]) == {c}


def test_without_gaps_the_scores_are_those_of_rows_without(rows):
    _, codes, _ = rows
    draw = np.random.default_rng(1)
    Z, queries = draw.normal(size=(30, 4)), draw.normal(size=(6, 4))
    for plain, gappy in (
        (PooledScores(Z, codes, ridge=1e-3), PooledGapScores(Z, codes, ridge=1e-3)),
        (PatchScores(Z, codes, **PATCH), PatchGapScores(Z, codes, **PATCH)),
    ):
        np.testing.assert_allclose(gappy.left_out, plain.left_out, rtol=1e-10)
        np.testing.assert_allclose(gappy.of(queries), plain.of(queries), rtol=1e-10)


def test_the_marginal_score_leaves_its_row_and_gaps_out(rows):
    X, codes, queries = rows
    part = MarginalScores(X, codes)
    cells = [X[~np.isnan(X[:, f]), f] for f in range(4)]
    cuts = [
        np.quantile(c, np.arange(1, N_BINS) / N_BINS) for c in cells
    ]  # more than 10 values each

    def score(rest, kept, x):
        total = np.zeros(3)
        for c in range(3):
            for f in np.flatnonzero(~np.isnan(x)):
                place = np.searchsorted(cuts[f], x[f])
                share = (np.searchsorted(cuts[f], cells[f]) == place).sum() + 0.5
                share /= cells[f].size + 0.5 * N_BINS
                present = ~np.isnan(rest[:, f]) & (kept == c)
                found = np.searchsorted(cuts[f], rest[present, f]) == place
                size = (~np.isnan(X[:, f]) & (codes == c)).sum()
                if size == 0:
                    total[c] += np.log(share)
                    continue
                a = SMOOTHING / size
                rate = found.sum() / max(present.sum(), 1)
                total[c] += np.log((rate + a * share) / (1 + a))
        return total

    expected = [score(*without(X, codes, i), X[i]) for i in range(codes.size)]
    np.testing.assert_allclose(part.left_out[0], expected, rtol=1e-7, atol=1e-12)
    expected = [score(X, codes, x) for x in queries]
    np.testing.assert_allclose(part.of(queries)[0], expected, rtol=1e-7)


def test_the_kernel_score_equals_refits_without_the_row(rows):
    Z, codes, queries = rows
    part = KernelScores(Z, codes, n_landmarks=100)
    unit = 2 * 4 * variance_of_rows(Z)

    def kernel(A):
        return np.exp(-squared_gap_distances(A, Z, unit) / (WIDTH * unit))

    values, vectors = np.linalg.eigh(kernel(Z))
    real = values > 1e-14 * values[-1]
    assert not real.all()  # the kernel is indefinite
    root = vectors[:, real] / np.sqrt(values[real])
    features, Y = kernel(Z) @ root, np.eye(3)[codes] - 1 / 3
    for place, penalty in enumerate(PENALTIES):
        ridge = penalty * np.eye(root.shape[1])
        for i in range(0, codes.size, 7):
            F, kept = (np.delete(part, i, axis=0) for part in (features, Y))
            weights = np.linalg.solve(F.T @ F + ridge, F.T @ kept)
            np.testing.assert_allclose(
                part.left_out[place, i], features[i] @ weights, atol=1e-9
            )
        weights = np.linalg.solve(features.T @ features + ridge, features.T @ Y)
        expected = kernel(queries) @ root @ weights
        np.testing.assert_allclose(part.of(queries)[place], expected, atol=1e-9)


def test_views_are_made_of_present_cells():
    X = np.array([[1.0, 5.0, 2.0], [3.0, np.nan, np.nan], [np.nan, 7.0, 2.0]])
    X = np.column_stack([X, np.full(3, np.nan)])
    for name, view in fit_views(("zscore", "rank"), X, np.array([0, 1, 1])).items():
        Z = view.apply(X)
        np.testing.assert_array_equal(np.isnan(Z), np.isnan(X))
        np.testing.assert_allclose(Z[:2, 0], [-1, 1], err_msg=name)
        np.testing.assert_allclose(Z[[0, 2], 1], [-1, 1], err_msg=name)
        np.testing.assert_allclose(Z[[0, 2], 2], 0, err_msg=name)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    gappy = X.copy()
    gappy[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    return X, gappy, y


def test_three_gaps_in_ten_cells_cost_little(wine):
    _, gappy, y = wine
    scores = []
    for split in range(3):
        train = np.random.default_rng(split).permutation(y.size) % 2 == 0
        model = pf.PatchPosterior().fit(gappy[train], y[train])
        scores.append(model.score(gappy[~train], y[~train]))
    assert np.mean(scores) > 0.9  # .98 without gaps


def test_new_rows_may_have_gaps_where_training_rows_have_none(wine):
    X, gappy, y = wine
    model = pf.PatchPosterior().fit(X[::2], y[::2])
    assert model.score(gappy[1::2], y[1::2]) > 0.9
    mixed = np.where(np.arange(89)[:, None] % 2, X[1::2], gappy[1::2])
    both = model.predict_proba(mixed)
    np.testing.assert_allclose(both[1::2], model.predict_proba(X[1::2])[1::2])
    np.testing.assert_allclose(both[::2], model.predict_proba(gappy[1::2])[::2])
    nothing = model.predict_proba(np.full((1, 13), np.nan))
    assert np.isfinite(nothing).all()


def test_the_label_of_a_row_does_not_reach_its_posterior(wine):
    _, gappy, y = wine
    model = pf.PatchPosterior(n_landmarks=50).fit(gappy[::2], y[::2])
    other = y[::2].copy()
    other[0] = 1
    changed = pf.PatchPosterior(n_landmarks=50).fit(gappy[::2], other)
    held = model._fitted.model.stack
    scores = [m._fitted.model.scores for m in (model, changed)]
    posteriors = [held.posterior(s.left_out[:, :1], s.known[:1]) for s in scores]
    # All but the sizes of classes in the smoothing of the marginal score.
    np.testing.assert_allclose(*posteriors, atol=0.02)
    names = np.array(model.score_names_)
    same = names != "columns: marginal"
    np.testing.assert_allclose(
        scores[0].left_out[same, 0], scores[1].left_out[same, 0], rtol=1e-8, atol=1e-10
    )


def test_models_with_gaps_are_saved_explained_and_recognise_rows(wine, tmp_path):
    _, gappy, y = wine
    labels = np.where(np.arange(y.size) % 5 == 0, -1, y)
    model = pf.PatchPosterior().fit(gappy, labels)
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_array_equal(model.transform(gappy), model.embedding_)
    pf.save_model(model, tmp_path / "m.skops")
    again = pf.load_model(tmp_path / "m.skops")
    new = np.roll(gappy, 1, axis=1)
    np.testing.assert_array_equal(again.transform(new), model.transform(new))
    told = model.explain(gappy[1])
    assert told.left_out == 1
    np.testing.assert_allclose(told.posterior, model.posterior_[1])
    shown = [told.columns.shown(column) for column in range(gappy.shape[1])]
    assert np.array_equal(np.isnan(gappy[1]), [word == "missing" for word in shown])


@pytest.mark.parametrize(
    "choice",
    [{"views": ("whitened",)}, {"views": ("relevance",)}, {"scores": ("class",)}],
)
def test_what_cannot_leave_a_column_out_says_so(wine, choice):
    X, gappy, y = wine
    ((parameter, (name,)),) = choice.items()
    words = f"'{name}' of {parameter} .* cannot leave a column out .* fill the gaps"
    with pytest.raises(ValueError, match=words):
        pf.PatchPosterior(**choice).fit(gappy, y)
    model = pf.PatchPosterior(**choice).fit(X[::2], y[::2])
    with pytest.raises(ValueError, match=words):
        model.predict(gappy)


def test_relevance_needs_all_cells(wine):
    _, gappy, y = wine
    with pytest.raises(ValueError, match=r"Relief .* fill the gaps"):
        _ = pf.PatchPosterior(scores=("marginal",)).fit(gappy, y).relevance_


def test_infinity_is_no_gap(wine):
    X, _, y = wine
    X = X.copy()
    X[3, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        pf.PatchPosterior().fit(X, y)


def test_threads_change_no_bit(wine):
    _, gappy, y = wine
    one, two = (pf.PatchPosterior(n_jobs=n).fit(gappy, y) for n in (1, 2))
    assert one.embedding_.tobytes() == two.embedding_.tobytes()
