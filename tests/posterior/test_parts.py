"""The parts of PatchPosterior against slow, literal versions of themselves."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

import patchfold as pf
from patchfold.backends.progress import watch_blocks
from patchfold.patches.fitting import mean_variance
from patchfold.posterior.anchors import place_anchors
from patchfold.posterior.kernel_ridge import PENALTIES, WIDTH, KernelScores
from patchfold.posterior.local import PatchScores
from patchfold.posterior.marginal import N_BINS, MarginalScores
from patchfold.posterior.pooled import PooledScores
from patchfold.posterior.rows import RowIndex, spread_rows
from patchfold.posterior.search import ClassSearch
from patchfold.posterior.stack import RIDGE, fit_stack
from patchfold.posterior.views import VIEWS, fit_views, relief_weights
from patchfold.posterior.whole import ClassPatch, ClassPatchScores


def regularized(points, shrinkage, ridge, variance):
    """Return Σ of a few points by the rule, written out."""
    m = points.shape[1]
    centred = points - points.mean(axis=0)
    S = centred.T @ centred / max(len(points) - 1, 1)
    return (1 - shrinkage) * S + (
        shrinkage * np.trace(S) / m + ridge * variance
    ) * np.eye(m)


def student(x, points, shrinkage, ridge, variance):
    """Score one row under one patch, written out."""
    k, m = points.shape
    sigma = regularized(points, shrinkage, ridge, variance)
    gap = x - points.mean(axis=0)
    distance = gap @ np.linalg.solve(sigma, gap)
    return -0.5 * np.linalg.slogdet(sigma)[1] - 0.5 * (k + m) * np.log1p(distance / k)


@pytest.fixture(params=[(12, 3), (9, 6), (7, 12)], ids=str)
def members(request):
    """Return rows of one class: more than features, about as many, fewer."""
    n, m = request.param
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, m)) @ rng.normal(size=(m, m))


@pytest.mark.parametrize("shrinkage", [0.0, 0.1, 0.5])
def test_a_class_without_one_of_its_rows_is_fitted_to_the_others(members, shrinkage):
    rule = {"shrinkage": shrinkage, "ridge": 1e-3, "variance": 2.0}
    actual = ClassPatch.fit(members).gaussian_score(members, members=True, **rule)
    expected = [
        student(x, np.delete(members, i, axis=0), **rule) for i, x in enumerate(members)
    ]
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


def test_new_rows_are_scored_by_the_whole_class(members):
    rule = {"shrinkage": 0.1, "ridge": 1e-3, "variance": 2.0}
    queries = np.random.default_rng(1).normal(size=(5, members.shape[1]))
    model = ClassPatch.fit(members)
    expected = [student(x, members, **rule) for x in queries]
    actual = model.gaussian_score(queries, members=False, **rule)
    np.testing.assert_allclose(actual, expected, rtol=1e-9)
    gaps = queries - members.mean(axis=0)
    actual = model.mean_score(queries, members=False)
    np.testing.assert_allclose(actual, -0.5 * (gaps**2).sum(axis=1))


def test_the_mean_of_a_class_leaves_its_row_out(members):
    actual = ClassPatch.fit(members).mean_score(members, members=True)
    expected = [
        -0.5 * np.sum((x - np.delete(members, i, axis=0).mean(axis=0)) ** 2)
        for i, x in enumerate(members)
    ]
    np.testing.assert_allclose(actual, expected, rtol=1e-10)


@pytest.fixture
def labelled():
    """Return rows of three unequal classes, one with two rows, and some new rows."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [14, 9, 2])
    Z = rng.normal(size=(25, 4)) + codes[:, None]
    return Z, codes, rng.normal(size=(5, 4))


def left_out_by_refits(score, Z, codes):
    """Score every row by what `score(Z, codes, x)` says without it."""
    rows = range(len(Z))
    return np.array(
        [score(np.delete(Z, i, 0), np.delete(codes, i), Z[i]) for i in rows]
    )


def patch_by_hand(Z, codes, x, n_neighbors, variance):
    scores = []
    for c in range(codes.max() + 1):
        members = Z[codes == c]
        order = np.argsort(np.linalg.norm(members - x, axis=1), kind="stable")
        scores.append(student(x, members[order[:n_neighbors]], 0.3, 1e-3, variance))
    return scores


@pytest.mark.parametrize("n_neighbors", [1, 3, 8])
def test_patches_equal_refits_without_the_row(labelled, n_neighbors):
    Z, codes, queries = labelled
    part = PatchScores(Z, codes, n_neighbors=n_neighbors, shrinkage=0.3, ridge=1e-3)

    def score(Z_rest, codes_rest, x):
        return patch_by_hand(Z_rest, codes_rest, x, n_neighbors, mean_variance(Z))

    expected = left_out_by_refits(score, Z, codes)
    np.testing.assert_allclose(part.left_out[0], expected, rtol=1e-10)
    expected = [score(Z, codes, x) for x in queries]
    np.testing.assert_allclose(part.of(queries)[0], expected, rtol=1e-10)


def test_whole_classes_equal_refits_without_the_row(labelled):
    Z, codes, queries = labelled
    part = ClassPatchScores(Z, codes, shrinkage=0.3, ridge=1e-3)

    def score(Z_rest, codes_rest, x):
        classes = [Z_rest[codes_rest == c] for c in range(3)]
        return [
            [student(x, rows, 0.3, 1e-3, mean_variance(Z)) for rows in classes],
            [-0.5 * np.sum((x - rows.mean(axis=0)) ** 2) for rows in classes],
        ]

    expected = left_out_by_refits(score, Z, codes).transpose(1, 0, 2)
    np.testing.assert_allclose(part.left_out, expected, rtol=1e-10)
    expected = np.transpose([score(Z, codes, x) for x in queries], (1, 0, 2))
    np.testing.assert_allclose(part.of(queries), expected, rtol=1e-10)


@pytest.mark.parametrize("n_features", [4, 40])
def test_pooled_covariances_equal_refits_without_the_row(n_features):
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [14, 9, 2])
    Z = rng.normal(size=(25, n_features)) + codes[:, None]
    queries = rng.normal(size=(5, n_features))
    part = PooledScores(Z, codes, ridge=1e-3)
    variance = mean_variance(Z)

    def score(Z_rest, codes_rest, x):
        means = [Z_rest[codes_rest == c].mean(axis=0) for c in range(3)]
        residual = Z_rest - np.array(means)[codes_rest]
        S = residual.T @ residual / (len(Z_rest) - 3)
        floor = 0.1 * np.trace(S) / n_features + 1e-3 * variance
        sigma = 0.9 * S + floor * np.eye(n_features)
        return [-0.5 * (x - mu) @ np.linalg.solve(sigma, x - mu) for mu in means]

    expected = left_out_by_refits(score, Z, codes)
    np.testing.assert_allclose(part.left_out[0], expected, rtol=1e-9)
    expected = [score(Z, codes, x) for x in queries]
    np.testing.assert_allclose(part.of(queries)[0], expected, rtol=1e-9)


def kernel_regression(Z, Y, x, landmarks, width, penalty):
    """Fit functions on landmarks to Z, Y, penalised by their norm; evaluate at x."""

    def kernel(a):
        return np.exp(-((a[:, None] - landmarks[None]) ** 2).sum(axis=2) / width)

    design = kernel(Z)
    normal = design.T @ design + penalty * kernel(landmarks)
    return kernel(x[None])[0] @ np.linalg.lstsq(normal, design.T @ Y)[0]


@pytest.mark.parametrize("n_landmarks", [25, 8])
def test_kernel_regressions_equal_refits_without_the_row(labelled, n_landmarks):
    Z, codes, queries = labelled
    part = KernelScores(Z, codes, n_landmarks=n_landmarks)
    landmarks = Z[spread_rows(Z, n_landmarks)]
    width = WIDTH * 2 * 4 * mean_variance(Z)
    for k, penalty in enumerate(PENALTIES):

        def score(Z_rest, codes_rest, x, penalty=penalty):
            Y = np.eye(3)[codes_rest] - 1 / 3
            return kernel_regression(Z_rest, Y, x, landmarks, width, penalty)

        expected = left_out_by_refits(score, Z, codes)
        np.testing.assert_allclose(part.left_out[k], expected, atol=1e-10)
        expected = [score(Z, codes, x) for x in queries]
        np.testing.assert_allclose(part.of(queries)[k], expected, atol=1e-10)


def test_with_every_row_a_landmark_it_is_plain_kernel_ridge_regression(labelled):
    Z, codes, _ = labelled
    part = KernelScores(Z, codes, n_landmarks=100)
    width = WIDTH * 2 * 4 * mean_variance(Z)
    K = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2) / width)
    Y = np.eye(3)[codes] - 1 / 3
    for k, penalty in enumerate(PENALTIES):
        inverse = np.linalg.inv(K + penalty * np.eye(25))
        expected = Y - (inverse @ Y) / np.diag(inverse)[:, None]
        np.testing.assert_allclose(part.left_out[k], expected, atol=1e-10)


def test_marginals_equal_refits_without_the_row():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [30, 20, 2])
    X = np.column_stack([rng.normal(size=52), rng.integers(0, 3, 52), np.full(52, 7.0)])
    queries = np.array([[0.1, 1.0, 7.0], [9.0, -5.0, 8.0]])
    part = MarginalScores(X, codes)
    tenths = np.quantile(X[:, 0], np.arange(1, 10) / 10)
    cuts = [tenths, np.array([0.5, 1.5])]  # the constant column has nothing to say

    def bins(values, f):
        return (values[..., None] > cuts[f]).sum(axis=-1)

    def score(X_rest, codes_rest, x):
        scores = np.zeros(3)
        for c in range(3):
            members = X_rest[codes_rest == c]
            for f in range(2):
                share = (bins(X[:, f], f) == bins(x[f], f)).sum() + 0.5
                share /= 52 + 0.5 * N_BINS
                found = (bins(members[:, f], f) == bins(x[f], f)).sum()
                a = 2 / (codes == c).sum()  # the smoothing is that of all rows
                rate = found / max(len(members), 1)
                scores[c] += np.log((rate + a * share) / (1 + a))
        return scores

    expected = left_out_by_refits(score, X, codes)
    np.testing.assert_allclose(part.left_out[0], expected, rtol=1e-10)
    expected = [score(X, codes, x) for x in queries]
    np.testing.assert_allclose(part.of(queries)[0], expected, rtol=1e-10)


def test_spread_rows_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    for m in (3, 60):
        Z = rng.normal(size=(50, m))
        Z /= Z.std(axis=0)  # as in the views: no column is wider than another
        chosen, order = spread_rows(Z, 7), rng.permutation(50)
        assert np.unique(chosen).size == 7
        shuffled = order[spread_rows(Z[order], 7)]
        np.testing.assert_array_equal(chosen, np.sort(shuffled))


def test_neighbours_come_from_the_class_and_are_never_the_row_itself():
    rng = np.random.default_rng(0)
    Z, codes = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    Z[1], codes[0], codes[1] = Z[0], 0, 0  # a twin in the same class is a neighbour
    search = ClassSearch(Z, codes)
    for c in range(3):
        seen = []
        for rows, near in search.training_neighbors(c, 4):
            for i, found in zip(rows, near, strict=True):
                others = [j for j in np.flatnonzero(codes == c) if j != i]
                distances = np.linalg.norm(Z[others] - Z[i], axis=1)
                expected = np.array(others)[np.argsort(distances, kind="stable")[:4]]
                np.testing.assert_array_equal(found, expected)
            seen += rows.tolist()
        assert sorted(seen) == list(range(40))


def test_a_large_class_is_searched_among_rows_that_stand_for_it(monkeypatch):
    monkeypatch.setattr("patchfold.posterior.search.MOST_ROWS", 10)
    rng = np.random.default_rng(0)
    Z, codes = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    search = ClassSearch(Z, codes)
    for c in range(2):
        members = np.flatnonzero(codes == c)
        kept = members[spread_rows(Z[members], 10)]
        found = dict(
            (int(i), near)
            for rows, all_near in search.training_neighbors(c, 4)
            for i, near in zip(rows, all_near, strict=True)
        )
        assert sorted(found) == list(range(60))
        for i, near in found.items():
            others = kept[kept != i]
            order = np.argsort(np.linalg.norm(Z[others] - Z[i], axis=1))
            np.testing.assert_array_equal(near, others[order[:4]])
        exact = ClassSearch(Z, codes, algorithm="exact").query_neighbors(Z, c, 40)
        assert set(np.unique(exact)) == set(members)


def test_a_class_of_one_row_has_no_neighbours_for_that_row():
    Z, codes = np.arange(5.0)[:, None], np.array([0, 1, 1, 1, 1])
    found = {
        int(i): near.tolist()
        for rows, all_near in ClassSearch(Z, codes).training_neighbors(0, 3)
        for i, near in zip(rows, all_near, strict=True)
    }
    assert found == {1: [0], 2: [0], 3: [0], 4: [0]}


def test_views_undo_units_and_whitening_undoes_mixing(wine):
    X, y = wine
    rng = np.random.default_rng(0)
    scaled = X * rng.uniform(0.1, 10, X.shape[1]) + rng.normal(size=X.shape[1])
    for name in VIEWS:
        plain = fit_views((name,), X, y)[name].apply(X)
        other = fit_views((name,), scaled, y)[name].apply(scaled)
        np.testing.assert_allclose(other, plain, atol=1e-8)


def test_whitening_is_the_root_of_the_shrunk_covariance_within_classes(wine):
    X, y = wine
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    residual = np.concatenate([Z[y == c] - Z[y == c].mean(axis=0) for c in range(3)])
    S = residual.T @ residual / (len(X) - 3)
    S = 0.9 * S + 0.1 * np.trace(S) / len(S) * np.eye(len(S))
    values, vectors = np.linalg.eigh(S)
    expected = Z @ (vectors / np.sqrt(values)) @ vectors.T
    actual = fit_views(("whitened",), X, y)["whitened"].apply(X)
    np.testing.assert_allclose(actual, expected, atol=1e-9)


def test_relief_finds_the_columns_that_tell_classes_apart():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    Z = rng.normal(size=(200, 6))
    Z[:, 2] += 3 * y
    weights = relief_weights(Z, y)
    assert weights.argmax() == 2
    assert weights[2] > 2 * np.delete(weights, 2).max()
    np.testing.assert_allclose((weights**2).mean(), 1)


def test_the_stack_finds_the_minimum_that_a_general_solver_finds():
    rng = np.random.default_rng(0)
    n, n_scores, n_classes = 80, 5, 3
    codes = rng.integers(0, n_classes, n)
    scores = rng.normal(size=(n_scores, n, n_classes))
    scores[0, np.arange(n), codes] += 1.0  # one speaks, one lies, three are noise
    scores[1, np.arange(n), codes] -= 1.0
    known = np.ones((n, n_classes), dtype=bool)
    stack = fit_stack(scores, known, codes)
    centred = scores - scores.mean(axis=2, keepdims=True)
    scales = np.sqrt((centred**2).mean(axis=(1, 2)))
    np.testing.assert_allclose(stack.scales, scales)
    features = centred / scales[:, None, None]

    def loss(v):
        logits = np.tensordot(v[:n_scores], features, axes=1) + v[n_scores:]
        log_sum = np.log(np.exp(logits).sum(axis=1))
        right = logits[np.arange(n), codes]
        return np.mean(log_sum - right) + RIDGE / 2 * v @ v

    bounds = [(0, None)] * n_scores + [(None, None)] * n_classes
    best = minimize(loss, np.zeros(n_scores + n_classes), bounds=bounds, tol=1e-12)
    found = np.concatenate([stack.weights, stack.offsets])
    assert loss(found) <= best.fun + 1e-12
    np.testing.assert_allclose(found, best.x, atol=1e-4)
    assert stack.weights[0] > 0.1
    assert stack.weights[1] == 0


def test_a_posterior_gives_nothing_to_a_class_that_is_not_known():
    scores = np.random.default_rng(0).normal(size=(2, 4, 3))
    known = np.ones((4, 3), dtype=bool)
    known[0, 0] = False
    scores[:, 0, 0] = np.nan
    stack = fit_stack(scores, known, np.array([0, 1, 2, 1]))
    posterior = stack.posterior(scores, known)
    assert posterior[0, 0] == 0
    np.testing.assert_allclose(posterior.sum(axis=1), 1)


def confused(order, n_classes):
    """Return posteriors that confuse classes which follow each other in a ring."""
    P = np.zeros((n_classes, n_classes))
    for a, b in itertools.pairwise([*order, order[0]]):
        P[a, b] = P[b, a] = 0.1
    return P + np.diag(1 - P.sum(axis=1))


def test_confused_classes_are_neighbours_on_the_circle():
    order = [0, 3, 1, 6, 2, 5, 4]
    anchors = place_anchors(confused(order, 7), 2)
    np.testing.assert_allclose(np.linalg.norm(anchors, axis=1), 1)
    side = np.linalg.norm(anchors[order] - anchors[np.roll(order, -1)], axis=1)
    np.testing.assert_allclose(side, 2 * np.sin(np.pi / 7))


def test_confused_classes_are_neighbours_on_the_line():
    P = np.array(
        [[0.8, 0, 0.2, 0], [0, 0.7, 0.2, 0.1], [0.1, 0.1, 0.8, 0], [0, 0.1, 0, 0.9]]
    )
    line = place_anchors(P, 1).ravel()
    assert np.argsort(line).tolist() in ([0, 2, 1, 3], [3, 1, 2, 0])
    np.testing.assert_allclose(np.sort(line), np.linspace(-1, 1, 4))


@pytest.mark.parametrize("n_classes", [3, 4, 6])
def test_with_dimensions_enough_all_classes_are_equally_near(n_classes):
    P = np.random.default_rng(0).dirichlet(np.ones(n_classes), size=50)
    anchors = place_anchors(P, n_classes - 1)
    gaps = np.linalg.norm(anchors[:, None] - anchors[None], axis=2)
    np.testing.assert_allclose(gaps[~np.eye(n_classes, dtype=bool)], gaps[0, 1])


def test_a_sphere_keeps_all_classes_apart_and_confused_ones_nearer():
    order = [0, 3, 1, 6, 2, 5, 4, 7]
    anchors = place_anchors(confused(order, 8), 3)
    np.testing.assert_allclose(np.linalg.norm(anchors, axis=1), 1)
    gaps = np.linalg.norm(anchors[:, None] - anchors[None], axis=2)
    gaps[np.diag_indices(8)] = np.nan
    assert np.nanmin(gaps) > 0.6
    side = gaps[order, np.roll(order, -1)]
    assert side.mean() < np.nanmean(gaps)


@pytest.mark.parametrize("n_components", [1, 2, 3, 5])
def test_anchors_follow_their_classes_whatever_their_names(n_components):
    P = np.random.default_rng(0).dirichlet(np.ones(6) / 2, size=200)
    renamed = np.array([4, 2, 5, 0, 3, 1])
    np.testing.assert_allclose(
        place_anchors(P[:, renamed], n_components),
        place_anchors(P, n_components)[renamed],
        atol=1e-9,
    )


def test_identical_rows_are_found_whatever_the_sign_of_zero():
    X = np.array([[0.0, 1.0], [2.0, 3.0], [0.0, 1.0], [5.0, 5.0]])
    index = RowIndex(X)
    group = index.find(np.array([[-0.0, 1.0], [2.0, 3.1], [5.0, 5.0]]))
    assert (group >= 0).tolist() == [True, False, True]
    assert index.members(group[0]).tolist() == [0, 2]
    values = index.mean(np.array([[1.0], [2.0], [4.0], [8.0]]))[group[[0, 2]]]
    assert values.ravel().tolist() == [2.5, 8.0]


def test_mean_variance_of_a_view_is_one_where_columns_vary(iris):
    X, y = iris
    Z = fit_views(("zscore",), X, y)["zscore"].apply(X)
    assert mean_variance(Z) == pytest.approx(1)


def test_who_watches_is_told_of_every_score_and_of_classes_not_of_their_blocks(wine):
    X, y = wine
    begun, told = [], []
    with watch_blocks(lambda *words: told.append(words), lambda *w: begun.append(w)):
        pf.PatchPosterior(views=("rank",), scores=("patch", "marginal")).fit(X, y)
    assert begun == [("rank: patch", 0, 2), ("columns: marginal", 1, 2)]
    classes = [words for words in told if words[0] == "patch scores"]
    assert classes == [("patch scores", done, 3) for done in range(4)]
    assert not any("search" in name for name, _, _ in told)
