"""Covariances of patches: shrinkage by rule, diagonal, few directions, robust."""

import itertools

import array_api_strict as strict
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2
from sklearn.covariance import OAS, LedoitWolf, ShrunkCovariance

import patchfold as pf
from patchfold.exceptions import DegeneratePatchWarning, SingularPatchError
from patchfold.neighbors.choice import find_neighbors
from patchfold.patches.fitting import fit_patches, mean_variance
from patchfold.patches.robust import robust_points

RULES = {"oas": OAS, "ledoit_wolf": LedoitWolf}
SHAPES = pytest.mark.parametrize(
    ("m", "k"), [(1, 4), (2, 6), (5, 12), (5, 5), (5, 3), (30, 8), (3, 1)]
)


def data(n=40, m=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m)) @ rng.normal(size=(m, m)) + 5 * rng.normal(size=m)


def points_of(X, indices, include_center=True):
    """Return the points of every patch, one loop at a time."""
    return [
        np.array([*([X[i]] if include_center else []), *X[row]])
        for i, row in enumerate(indices)
    ]


# --- Shrinkage ------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Only one sample:UserWarning")
@pytest.mark.filterwarnings("ignore::patchfold.exceptions.DegeneratePatchWarning")
@pytest.mark.parametrize("include_center", [True, False])
@SHAPES
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_shrinks_every_patch_as_scikit_learn_does(rule, m, k, include_center):
    X = data(m=m)
    indices = find_neighbors(X, k).indices
    ridge, variance = 1e-3, mean_variance(X)
    patches = fit_patches(
        X,
        X,
        indices,
        include_center=include_center,
        shrinkage=rule,
        ridge=ridge,
        variance=variance,
    )
    for points, covariance in zip(
        points_of(X, indices, include_center), patches.covariance, strict=True
    ):
        # Divisor p - 1 for p, and the ridge; the shrinkage itself is the same.
        p = len(points)
        expected = RULES[rule]().fit(points).covariance_ * p / max(p - 1, 1)
        expected = expected + ridge * variance * np.eye(m)
        np.testing.assert_allclose(covariance, expected, rtol=1e-9, atol=1e-12)


@SHAPES
def test_a_number_shrinks_every_patch_by_as_much(m, k):
    X = data(m=m)
    indices = find_neighbors(X, k).indices
    patches = fit_patches(X, X, indices, shrinkage=0.3, ridge=0.0)
    for points, covariance in zip(
        points_of(X, indices), patches.covariance, strict=True
    ):
        expected = ShrunkCovariance(shrinkage=0.3).fit(points).covariance_
        expected = expected * (k + 1) / k
        np.testing.assert_allclose(covariance, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("m", [2, 9])
def test_a_rule_leaves_identical_points_to_the_ridge(rule, m):
    X = np.concatenate([np.full((6, m), 0.1), data(m=m)])
    indices = find_neighbors(X, 5).indices
    with pytest.warns(DegeneratePatchWarning, match=r"^6 of 46 patches"):
        patches = fit_patches(X, X, indices, shrinkage=rule, ridge=0.5)
    for k in range(6):
        np.testing.assert_array_equal(patches.covariance[k], 0.5 * np.eye(m))


def test_points_alike_in_all_directions_are_shrunk_to_a_sphere():
    X = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [0, 0]])
    indices = np.array([[0, 1, 2, 3]])
    for rule in RULES:
        patches = fit_patches(X[4:], X, indices, shrinkage=rule, ridge=0)
        np.testing.assert_allclose(patches.covariance[0], np.eye(2) / 2, rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_of_shrinkage_reaches_the_graph(rule):
    X = data(m=6)
    indices = find_neighbors(X, 9).indices
    graph = pf.PatchIsomap(n_neighbors=9, shrinkage=rule).fit(X).graph_
    patches = fit_patches(X, X, indices, shrinkage=rule, variance=mean_variance(X))
    own = pf.PatchIsomap(n_neighbors=9, shrinkage=0.1).fit(X).graph_
    i, j = 0, int(indices[0, 0])
    left, right = patches.covariance[i], patches.covariance[j]
    inverse = np.linalg.inv(left) + np.linalg.inv(right)
    gap = patches.mean[i] - patches.mean[j]
    expected = (
        np.trace(np.linalg.solve(left, right)) + np.trace(np.linalg.solve(right, left))
    ) / 4
    expected += gap @ inverse @ gap / 4 - 3
    np.testing.assert_allclose(graph[i, j], expected, rtol=1e-8)
    assert abs(graph[i, j] - own[i, j]) > 1e-3


# --- Diagonal -------------------------------------------------------------------------


@pytest.mark.parametrize("shrinkage", [0.0, 0.2, "oas", "ledoit_wolf"])
@SHAPES
def test_a_diagonal_patch_has_the_variances_of_the_full_one(m, k, shrinkage):
    X = data(m=m)
    indices = find_neighbors(X, k).indices
    options = {"shrinkage": shrinkage, "ridge": 1e-3, "variance": mean_variance(X)}
    full = fit_patches(X, X, indices, **options)
    diagonal = fit_patches(X, X, indices, covariance="diagonal", **options)
    assert diagonal.dense is None
    assert diagonal.factor is None
    expected = full.covariance * np.eye(m)
    np.testing.assert_allclose(diagonal.covariance, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(diagonal.mean, full.mean)


def test_a_feature_without_variance_makes_a_diagonal_patch_singular():
    X = data()
    X[:, 1] = 4.0
    model = pf.PatchIsomap(covariance="diagonal", shrinkage=0.0, ridge=0.0)
    with pytest.raises(SingularPatchError, match=r"^40 of 40 patch covariances"):
        model.fit(X)
    assert model.set_params(ridge=1e-3).fit(X).embedding_.shape == (40, 2)


@pytest.mark.parametrize("dissimilarity", ["curvature", "principal_angles"])
def test_directions_of_diagonal_patches_are_refused(dissimilarity):
    model = pf.PatchIsomap(covariance="diagonal", dissimilarity=dissimilarity)
    with pytest.raises(ValueError, match=r"set covariance='full' or 'robust'"):
        model.fit(data())


# --- Few directions -------------------------------------------------------------------


def cut(covariance, n_directions):
    """Keep leading directions and spread the rest of the variance, literally."""
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    if isinstance(n_directions, int):
        count = min(n_directions, len(values))
    else:
        count = 1
        while sum(values[:count]) < n_directions * sum(values) * (1 - 1e-9):
            count += 1
    rest = sum(values[count:]) / max(len(values) - count, 1)
    values = [*values[:count], *[rest] * (len(values) - count)]
    return vectors @ np.diag(values) @ vectors.T, count


@pytest.mark.parametrize("n_directions", [1, 2, 50, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(("m", "k"), [(2, 6), (5, 12), (5, 4), (30, 8)])
def test_few_directions_leave_the_others_their_mean_variance(m, k, n_directions):
    X = data(m=m)
    indices = find_neighbors(X, k).indices
    patches = fit_patches(
        X, X, indices, n_directions=n_directions, shrinkage=0.2, ridge=1e-3
    )
    for i, points in enumerate(points_of(X, indices)):
        raw = np.cov(points.T)
        expected, count = cut(raw, n_directions)
        expected = 0.8 * expected + (0.2 * np.trace(raw) / m + 1e-3) * np.eye(m)
        np.testing.assert_allclose(
            patches.covariance[i], expected, rtol=1e-8, atol=1e-10
        )
        assert patches.n_directions[i] >= min(count, k)
        if n_directions != 50:  # else: all that have variance, and all that have none
            assert patches.n_directions[i] == count


def test_few_directions_of_a_diagonal_patch_are_its_widest_features():
    X = data(m=5)
    indices = find_neighbors(X, 8).indices
    plain, few = (
        fit_patches(X, X, indices, covariance="diagonal", n_directions=number)
        for number in (None, 2)
    )
    for before, after in zip(plain.diagonal, few.diagonal, strict=True):
        order = np.argsort(-before)
        np.testing.assert_allclose(after[order[:2]], before[order[:2]], rtol=1e-12)
        rest = np.full(3, before[order[2:]].mean())
        np.testing.assert_allclose(after[order[2:]], rest, rtol=1e-9)


@pytest.mark.parametrize("m", [3, 12])
def test_directions_of_equal_variance_are_kept_or_left_together(m):
    X = np.zeros((7, m))
    X[1:7, :3] = [[2, 0, 0], [-2, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]
    indices = np.array([[1, 2, 3, 4, 5, 6]])
    for wanted, count in ((1, 1), (2, 3), (3, 3), (0.6, 1), (0.7, 3), (1.0, 3)):
        patches = fit_patches(X[:1], X, indices, n_directions=wanted, shrinkage=0)
        assert patches.n_directions.tolist() == [count], wanted


# --- Robust ---------------------------------------------------------------------------


def winsorized(points):
    """Spatial median and pulled-in points of one patch, point by point."""
    median = sum(points) / len(points)
    for _ in range(30):
        distance = [np.linalg.norm(x - median) for x in points]
        floor = 1e-3 * np.median(distance)
        weight = [1 / np.hypot(d, floor) for d in distance]
        median = sum(w * x for w, x in zip(weight, points, strict=True)) / sum(weight)
    radius = [np.linalg.norm(x - median) for x in points]
    limit = np.median(radius)
    pulled = [
        (x - median) * min(1, limit / r) for x, r in zip(points, radius, strict=True)
    ]
    return median, np.array(pulled)


@pytest.mark.parametrize(("m", "k"), [(1, 6), (2, 8), (2, 7), (4, 12), (9, 5)])
def test_robust_patches_pull_in_the_farther_half(m, k):
    X = data(m=m)
    indices = find_neighbors(X, k).indices
    patches = fit_patches(X, X, indices, covariance="robust", shrinkage=0, ridge=0)
    middle = chi2.median(m)  # of the squared radius of a standard Gaussian
    pulled_in = chi2.expect(lambda r: min(r, middle), (m,)) / m
    for i, points in enumerate(points_of(X, indices)):
        median, pulled = winsorized(points)
        np.testing.assert_allclose(patches.mean[i], median, rtol=1e-7, atol=1e-7)
        expected = pulled.T @ pulled / k / pulled_in
        np.testing.assert_allclose(
            patches.covariance[i], expected, rtol=1e-6, atol=1e-7
        )


@pytest.mark.parametrize("m", [2, 3, 8])
def test_the_centre_of_a_robust_patch_is_near_to_all_its_points(m):
    points = np.random.default_rng(0).normal(size=(4, 12, m))
    points[:, :3] += 50.0
    center, _ = robust_points(points)
    for patch, found in zip(points, center, strict=True):

        def total(place, patch=patch):
            return np.linalg.norm(patch - place, axis=1).sum()

        best = minimize(total, patch[3:].mean(axis=0), method="Nelder-Mead").fun
        assert total(found) < 1.002 * best


def test_robust_points_of_a_gaussian_have_its_mean_and_covariance():
    rng = np.random.default_rng(0)
    for m in (1, 2, 10):
        points = rng.normal(size=(1, 10_000, m))
        center, pulled = robust_points(points)
        np.testing.assert_allclose(center, 0, atol=0.05)
        covariance = pulled[0].T @ pulled[0] / 10_000
        np.testing.assert_allclose(covariance, np.eye(m), atol=0.06)


@pytest.mark.parametrize("m", [3, 12])
def test_outliers_do_not_turn_robust_directions(m):
    rng = np.random.default_rng(0)
    axis = np.eye(m)[0]
    clean = 0.05 * rng.normal(size=(11, m)) + np.linspace(-1, 1, 11)[:, None] * axis
    outliers = 20 * np.eye(m)[1] + rng.normal(size=(3, m))
    X = np.concatenate([clean, outliers])
    indices = np.arange(1, 14)[None, :]

    def leading(covariance):
        patches = fit_patches(X[:1], X, indices, covariance=covariance, shrinkage=0)
        return patches.mean[0], np.linalg.eigh(patches.covariance[0])[1][:, -1]

    mean, direction = leading("full")
    assert abs(direction @ axis) < 0.2
    assert np.linalg.norm(mean) > 3
    mean, direction = leading("robust")
    # The pulled-in outliers still pull, but by no more than points of the patch can.
    assert np.linalg.norm(mean) < 0.2
    assert abs(direction @ axis) > 0.8
    X = np.concatenate([clean, 1e6 * outliers])
    farther, turned = leading("robust")
    np.testing.assert_allclose(farther, mean, atol=0.02)
    assert abs(turned @ direction) > 0.99


def test_where_most_points_are_one_no_point_is_pulled_in():
    X = np.array([[0.0, 0], [0, 0], [0, 0], [0, 0], [3, 0], [0, 4]])
    indices = np.array([[1, 2, 3, 4, 5]])
    patches = fit_patches(X[:1], X, indices, covariance="robust", shrinkage=0, ridge=0)
    variances = np.diag(patches.covariance[0])
    np.testing.assert_allclose(variances[1] / variances[0], 16 / 9, rtol=1e-2)


def test_identical_points_are_at_their_own_robust_place():
    X = np.concatenate([np.full((6, 2), 0.1), data(m=2)])
    indices = find_neighbors(X, 5).indices
    with pytest.warns(DegeneratePatchWarning, match=r"^6 of 46 patches"):
        patches = fit_patches(X, X, indices, covariance="robust", ridge=0.5)
    np.testing.assert_array_equal(patches.mean[:6], X[:6])
    np.testing.assert_array_equal(patches.covariance[0], 0.5 * np.eye(2))


def test_robust_patches_turn_with_the_data():
    X = data(m=3)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    indices = find_neighbors(X, 9).indices
    before = fit_patches(X, X, indices, covariance="robust")
    after = fit_patches(X @ turn.T, X @ turn.T, indices, covariance="robust")
    expected = turn @ before.covariance @ turn.T
    np.testing.assert_allclose(after.covariance, expected, rtol=1e-9, atol=1e-10)


# --- Sweeps, threads, arrays ----------------------------------------------------------

OPTIONS = [
    {"covariance": covariance, "shrinkage": shrinkage, "n_directions": number}
    for covariance, shrinkage, number in itertools.product(
        ["full", "diagonal", "robust"], [0.1, "oas", "ledoit_wolf"], [None, 2, 0.8]
    )
]
over_options = pytest.mark.parametrize(
    "options", OPTIONS, ids=lambda o: "-".join(map(str, o.values()))
)


@over_options
@pytest.mark.parametrize("include_center", [True, False])
@pytest.mark.parametrize("k", [3, 5, 6, 7, 12])
def test_patches_that_keep_their_points_are_no_others(options, include_center, k):
    X = data(m=6)
    indices = find_neighbors(X, k).indices
    settings = {**options, "include_center": include_center, "ridge": 1e-3}
    kept = fit_patches(X, X, indices, keep_points=True, **settings)
    plain = fit_patches(X, X, indices, **settings)
    np.testing.assert_allclose(kept.mean, plain.mean, rtol=1e-10)
    np.testing.assert_allclose(kept.covariance, plain.covariance, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(kept.points, points_of(X, indices, include_center))
    assert plain.points is None
    if options["n_directions"] is not None:
        np.testing.assert_array_equal(kept.n_directions, plain.n_directions)


@over_options
@pytest.mark.parametrize("m", [3, 12])
def test_every_model_uses_nothing_but_the_array_api(options, m):
    X = data(m=m)
    indices = find_neighbors(X, 8).indices
    device = strict.Device("device1")
    there = strict.asarray(X, device=device)
    found = fit_patches(there, there, strict.asarray(indices, device=device), **options)
    expected = fit_patches(X, X, indices, **options)
    assert found.covariance.device == device
    here = strict.Device("CPU_DEVICE")
    for part in ("mean", "covariance", "noise"):
        np.testing.assert_allclose(
            np.asarray(getattr(found, part).to_device(here)),
            getattr(expected, part),
            rtol=1e-9,
            atol=1e-12,
        )
