"""Divergences of Gaussians and of density estimates: definitions and axioms."""

import numpy as np
import pytest
from helpers import reference_gaussians as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gaussian_kde, multivariate_normal, norm

import patchfold as pf
from patchfold.dissimilarity.table import DISSIMILARITIES, take_described
from patchfold.exceptions import SingularPatchError
from patchfold.neighbors.choice import find_neighbors
from patchfold.patches.fitting import fit_patches
from patchfold.records import Patches

ORACLES = {
    "bhattacharyya": reference.bhattacharyya,
    "hellinger": reference.hellinger,
    "cauchy_schwarz": reference.cauchy_schwarz,
    "wasserstein": reference.wasserstein,
    "fisher_rao": reference.calvo_oller,
}
METRICS = ["hellinger", "wasserstein", "fisher_rao"]
AFFINE = ["bhattacharyya", "hellinger", "cauchy_schwarz", "fisher_rao", "kde"]
EVERY = [*ORACLES, "kde"]


def gaussians(n, m, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, m, m + 2))
    return spread * rng.normal(size=(n, m)), A @ A.transpose(0, 2, 1) / (m + 2)


def patches_of(mean, covariance, points=None):
    mean = np.asarray(mean, float)
    return Patches(
        mean,
        mean,
        dense=np.asarray(covariance, float),
        noise=np.zeros(len(mean)),
        points=points,
    )


def clouds(n, m, p=6, seed=0):
    """Patches with points, and covariances that are not theirs."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, p, m)) + rng.normal(size=(n, 1, m))
    return patches_of(points.mean(axis=1), gaussians(n, m, seed)[1], points)


def all_pairs(name, patches):
    """Compare every patch with every patch."""
    row = DISSIMILARITIES[name]
    n = len(patches.center)
    i, j = np.divmod(np.arange(n * n), n)
    described = row.describe(patches)
    left, right = (take_described(described, k) for k in (i, j))
    return row.compare(left, right).reshape(n, n)


def one_by_one(oracle, things):
    return [[oracle(p, q) for q in things] for p in things]


# --- Definitions ----------------------------------------------------------------------


@pytest.mark.parametrize("m", [2, 3, 6])
@pytest.mark.parametrize("name", ORACLES)
def test_a_divergence_equals_its_closed_form(name, m):
    mean, covariance = gaussians(6, m)
    expected = one_by_one(ORACLES[name], list(zip(mean, covariance, strict=True)))
    found = all_pairs(name, patches_of(mean, covariance))
    # Of nothing, the closed forms keep half the digits.
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-6)
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(found[off], np.asarray(expected)[off], rtol=1e-10)


GRID = np.linspace(-12, 12, 4001)
INTEGRALS = {
    "bhattacharyya": lambda p, q, step: -np.log(np.sum(np.sqrt(p * q)) * step),
    "hellinger": lambda p, q, step: np.sqrt(
        np.sum((np.sqrt(p) - np.sqrt(q)) ** 2) * step / 2
    ),
    "cauchy_schwarz": lambda p, q, step: (
        -np.log(np.sum(p * q) / np.sqrt(np.sum(p * p) * np.sum(q * q)))
    ),
}


@pytest.mark.parametrize("name", INTEGRALS)
def test_overlaps_equal_quadrature_on_the_line(name):
    mean, covariance = gaussians(5, 1)
    density = norm.pdf(GRID, mean, np.sqrt(covariance[:, 0]))
    expected = one_by_one(
        lambda p, q: INTEGRALS[name](p, q, GRID[1] - GRID[0]), list(density)
    )
    found = all_pairs(name, patches_of(mean, covariance))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", INTEGRALS)
def test_overlaps_equal_quadrature_in_the_plane(name):
    mean, covariance = gaussians(4, 2)
    axis = np.linspace(-9, 9, 301)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    density = [
        multivariate_normal(mu, sigma).pdf(grid)
        for mu, sigma in zip(mean, covariance, strict=True)
    ]
    step = (axis[1] - axis[0]) ** 2
    expected = one_by_one(lambda p, q: INTEGRALS[name](p, q, step), density)
    found = all_pairs(name, patches_of(mean, covariance))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_wasserstein_equals_the_distance_of_quantiles_on_the_line():
    mean, covariance = gaussians(5, 1)
    level = (np.arange(200_000) + 0.5) / 200_000
    quantiles = norm.ppf(level, mean, np.sqrt(covariance[:, 0]))
    expected = one_by_one(lambda p, q: np.sqrt(np.mean((p - q) ** 2)), list(quantiles))
    found = all_pairs("wasserstein", patches_of(mean, covariance))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-9)


def test_wasserstein_is_what_moving_samples_costs():
    (mu, nu), (P, Q) = gaussians(2, 3)
    root = reference.square_root(P)
    back = np.linalg.inv(root)
    move = back @ reference.square_root(root @ Q @ root) @ back
    np.testing.assert_allclose(move @ P @ move, Q, rtol=1e-8, atol=1e-10)
    x = np.random.default_rng(0).multivariate_normal(mu, P, size=400_000)
    cost = np.sum((x - (nu + (x - mu) @ move)) ** 2, axis=1).mean()
    found = all_pairs("wasserstein", patches_of([mu, nu], [P, Q]))
    np.testing.assert_allclose(found[0, 1] ** 2, cost, rtol=1e-2)


def test_fisher_rao_of_one_feature_is_the_length_of_the_geodesic():
    mean, covariance = gaussians(6, 1, spread=2.0)
    mean[5] = mean[4]
    expected = one_by_one(
        reference.fisher_rao_line, list(zip(mean, covariance, strict=True))
    )
    found = all_pairs("fisher_rao", patches_of(mean, covariance))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 4])
def test_small_steps_of_fisher_rao_are_measured_by_fisher_information(m):
    mean, covariance = gaussians(2, m)
    step, turn = 1e-5 * mean[1], 1e-5 * covariance[1]
    inverse = np.linalg.inv(covariance[0])
    change = inverse @ turn
    expected = np.sqrt(step @ inverse @ step + np.trace(change @ change) / 2)
    near = patches_of([mean[0], mean[0] + step], [covariance[0], covariance[0] + turn])
    np.testing.assert_allclose(all_pairs("fisher_rao", near)[0, 1], expected, rtol=1e-4)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_kde_equals_the_sum_over_pairs_of_points(m):
    patches = clouds(5, m)
    estimates = [
        reference.scott_kernel(points, covariance)
        for points, covariance in zip(patches.points, patches.dense, strict=True)
    ]
    expected = one_by_one(reference.kde_cauchy_schwarz, estimates)
    found = all_pairs("kde", patches)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_kde_equals_quadrature_over_the_density_estimates_of_scipy():
    X = np.random.default_rng(3).normal(size=(30, 2))
    indices = find_neighbors(X, 9).indices
    patches = fit_patches(X, X, indices, shrinkage=0, ridge=0, keep_points=True)
    axis = np.linspace(-6, 6, 601)
    grid = np.stack([part.ravel() for part in np.meshgrid(axis, axis)])
    some = [0, 1, 2, int(indices[0, 0])]
    density = [gaussian_kde(patches.points[k].T)(grid) for k in some]
    expected = one_by_one(lambda p, q: INTEGRALS["cauchy_schwarz"](p, q, 1), density)
    found = all_pairs("kde", patches.take(np.array(some)))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_kde_tells_patches_apart_that_gaussians_do_not():
    """A ring and two heaps with one mean and one covariance."""
    angle = 2 * np.pi * np.arange(16) / 16
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    heaps = np.repeat([[1.0, 1.0], [-1, -1], [1, -1], [-1, 1]], 4, axis=0) / 2**0.5
    points = np.stack([ring, heaps])
    covariance = np.stack([np.cov(cloud.T) for cloud in points])
    np.testing.assert_allclose(covariance[0], covariance[1], atol=1e-12)
    patches = patches_of(np.zeros((2, 2)), covariance, points)
    assert all_pairs("kde", patches)[0, 1] > 1e-3
    assert all_pairs("cauchy_schwarz", patches)[0, 1] < 1e-12


def test_far_patches_are_far_and_not_infinite():
    mean, covariance = gaussians(2, 3)
    mean[1] += 1e4
    points = mean[:, None, :] + np.random.default_rng(0).normal(size=(2, 5, 3))
    far = patches_of(mean, covariance, points)
    for name in EVERY:
        found = all_pairs(name, far)[0, 1]
        assert np.isfinite(found)
        assert found > 0.9


# --- Axioms ---------------------------------------------------------------------------


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), m=st.integers(1, 5))
@pytest.mark.parametrize("name", EVERY)
def test_divergences_are_symmetric_positive_and_zero_on_themselves(name, seed, m):
    found = all_pairs(name, clouds(4, m, seed=seed))
    np.testing.assert_allclose(found, found.T, rtol=1e-9, atol=1e-12)
    assert (found[~np.eye(4, dtype=bool)] > 1e-6).all()
    np.testing.assert_allclose(np.diag(found), 0, atol=1e-12)


@pytest.mark.parametrize("name", ["bhattacharyya", "hellinger", "cauchy_schwarz"])
def test_equal_patches_overlap_exactly(name):
    mean, covariance = gaussians(6, 7)
    found = all_pairs(name, patches_of(mean[[0, 0, 1]], covariance[[0, 0, 1]]))
    np.testing.assert_array_equal(
        found == 0, [[True, True, False], [True, True, False], [False, False, True]]
    )


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    m=st.integers(1, 4),
    spread=st.sampled_from([1e-3, 1.0, 30.0]),
)
@pytest.mark.parametrize("name", METRICS)
def test_metrics_obey_the_triangle_inequality(name, seed, m, spread):
    found = all_pairs(name, patches_of(*gaussians(6, m, seed, spread)))
    detour = np.min(found[:, :, None] + found[None, :, :], axis=1)
    assert (found <= detour + 1e-9 * found.max()).all()


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), m=st.integers(1, 4))
@pytest.mark.parametrize("name", AFFINE)
def test_affine_maps_of_the_data_change_nothing(name, seed, m):
    rng = np.random.default_rng(seed)
    A = np.eye(m) + 0.3 * rng.normal(size=(m, m)) / m**0.5
    b = 10 * rng.normal(size=m)
    before = clouds(4, m, seed=seed)
    after = patches_of(
        before.mean @ A.T + b, A @ before.dense @ A.T, before.points @ A.T + b
    )
    np.testing.assert_allclose(
        all_pairs(name, after), all_pairs(name, before), rtol=1e-6, atol=1e-9
    )


def test_wasserstein_has_the_unit_of_the_data_and_does_not_see_rotations():
    mean, covariance = gaussians(5, 3)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    before = all_pairs("wasserstein", patches_of(mean, covariance))
    after = patches_of(7 * mean @ turn.T + 1, 49 * turn @ covariance @ turn.T)
    np.testing.assert_allclose(
        all_pairs("wasserstein", after), 7 * before, rtol=1e-9, atol=1e-12
    )


def test_hellinger_lies_between_0_and_1():
    found = all_pairs("hellinger", patches_of(*gaussians(20, 2, spread=20.0)))
    assert found.min() == 0
    assert 0.999 < found.max() <= 1


# --- Special cases --------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 4])
def test_equal_covariances_leave_a_distance_of_means(m):
    mean, covariance = gaussians(6, m)
    gap = mean[:, None] - mean
    inverse = np.linalg.inv(covariance[0])
    squared = np.einsum("ija,ab,ijb->ij", gap, inverse, gap)
    patches = patches_of(mean, np.broadcast_to(covariance[0], covariance.shape))
    expected = {
        "bhattacharyya": squared / 8,
        "hellinger": np.sqrt(1 - np.exp(-squared / 8)),
        "cauchy_schwarz": squared / 4,
        "wasserstein": np.linalg.norm(gap, axis=2),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(
            all_pairs(name, patches), values, rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("m", [1, 2, 5])
def test_equal_means_leave_the_exact_fisher_rao_distance(m):
    _, covariance = gaussians(4, m)
    found = all_pairs("fisher_rao", patches_of(np.zeros((4, m)), covariance))
    for i in range(4):
        for j in range(4):
            values = np.linalg.eigvals(np.linalg.solve(covariance[i], covariance[j]))
            exact = np.sqrt(np.sum(np.log(values.real) ** 2) / 2)
            np.testing.assert_allclose(found[i, j], exact, rtol=1e-9, atol=1e-12)


def diagonal_patches(n=6, m=4, seed=0):
    rng = np.random.default_rng(seed)
    mean, variances = rng.normal(size=(n, m)), rng.uniform(0.1, 3, size=(n, m))
    points = mean[:, None, :] + rng.normal(size=(n, 5, m))
    diagonal = Patches(mean, mean, diagonal=variances, noise=np.zeros(n), points=points)
    dense = Patches(
        mean, mean, dense=diagonal.covariance, noise=np.zeros(n), points=points
    )
    return diagonal, dense


@pytest.mark.parametrize("m", [1, 4])
@pytest.mark.parametrize("name", ["kl", *(n for n in EVERY if n != "fisher_rao")])
def test_diagonal_patches_are_compared_as_the_same_dense_ones(name, m):
    diagonal, dense = diagonal_patches(m=m)
    np.testing.assert_allclose(
        all_pairs(name, diagonal), all_pairs(name, dense), rtol=1e-9, atol=1e-12
    )


def test_fisher_rao_of_diagonal_patches_adds_squares_over_features():
    diagonal, dense = diagonal_patches()
    each = [
        all_pairs("fisher_rao", patches_of(mean[:, None], variances[:, None, None]))
        for mean, variances in zip(diagonal.mean.T, diagonal.diagonal.T, strict=True)
    ]
    found = all_pairs("fisher_rao", diagonal)
    np.testing.assert_allclose(found, np.sqrt(np.sum(np.square(each), axis=0)))
    # Calvo and Oller's is a bound below.
    assert (all_pairs("fisher_rao", dense) <= found + 1e-12).all()
    assert (all_pairs("fisher_rao", dense)[0, 1:] < found[0, 1:]).all()


def test_near_patches_keep_their_digits():
    h = 1e-6
    found = patches_of(np.zeros((2, 1)), [[[1.0]], [[(1 + h) ** 2]]])
    np.testing.assert_allclose(all_pairs("wasserstein", found)[0, 1], h, rtol=1e-9)
    found = all_pairs("fisher_rao", found)[0, 1]
    np.testing.assert_allclose(found, 2**0.5 * np.log1p(h), rtol=1e-9)
    wide = patches_of(np.zeros((2, 3)), [np.eye(3), (1 + h) ** 2 * np.eye(3)])
    expected = {"wasserstein": 3**0.5 * h, "fisher_rao": 6**0.5 * np.log1p(h)}
    for name, value in expected.items():
        np.testing.assert_allclose(all_pairs(name, wide)[0, 1], value, rtol=1e-8)


# --- Patches that are kept factored ---------------------------------------------------


def both_forms(n=6, r=3, m=12, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    mean, factor = rng.normal(size=(n, m)), rng.normal(size=(n, r, m))
    noise = rng.uniform(noise, 2 * noise, size=n)
    points = mean[:, None, :] + rng.normal(size=(n, 5, m))
    factored = Patches(mean, mean, factor=factor, noise=noise, points=points)
    dense = Patches(mean, mean, dense=factored.covariance, noise=noise, points=points)
    return factored, dense


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10_000),
    r=st.integers(1, 4),
    extra=st.integers(0, 20),
    noise=st.sampled_from([1e-6, 1e-3, 1.0]),
)
@pytest.mark.parametrize("name", EVERY)
def test_the_factored_path_equals_the_dense_path(name, seed, r, extra, noise):
    factored, dense = both_forms(4, r, r + extra, seed, noise)
    if name == "fisher_rao" and r + extra == 1:
        factored, dense = both_forms(4, 1, 2, seed, noise)
    off = ~np.eye(4, dtype=bool)
    found, expected = all_pairs(name, factored), all_pairs(name, dense)
    np.testing.assert_allclose(found[off], expected[off], rtol=1e-6)
    # What is squared along the way keeps half the digits of nothing.
    np.testing.assert_allclose(np.diag(found), 0, atol=1e-6 / noise**0.5)


@pytest.mark.parametrize("name", EVERY)
def test_patches_that_share_points_are_compared_as_dense_ones(name):
    X = np.random.default_rng(0).normal(size=(40, 30))
    indices = find_neighbors(X, 6).indices
    factored = fit_patches(X, X, indices, shrinkage=0.1, keep_points=True)
    assert factored.dense is None
    dense = Patches(
        X,
        factored.mean,
        dense=factored.covariance,
        noise=factored.noise,
        points=factored.points,
    )
    off = ~np.eye(40, dtype=bool)
    np.testing.assert_allclose(
        all_pairs(name, factored)[off], all_pairs(name, dense)[off], rtol=1e-7
    )


@pytest.mark.parametrize("name", EVERY)
def test_thousands_of_features_need_no_covariance_of_that_size(name):
    X = np.random.default_rng(0).normal(size=(12, 20_000))
    model = pf.PatchIsomap(1, n_neighbors=4, dissimilarity=name).fit(X)
    assert np.isfinite(model.embedding_).all()


# --- Singular patches -----------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in EVERY if name != "wasserstein"])
def test_singular_patches_are_refused_where_they_must_be_inverted(name):
    flat = patches_of(
        np.zeros((2, 2)), [np.eye(2), np.ones((2, 2))], np.zeros((2, 3, 2))
    )
    with pytest.raises(SingularPatchError, match=r"^1 of 2 patch covariances"):
        DISSIMILARITIES[name].describe(flat)


@pytest.mark.parametrize("m", [2, 3, 12])
def test_wasserstein_compares_singular_patches(m):
    X = (
        np.random.default_rng(0).normal(size=(20, m))
        * np.r_[np.zeros(1), np.ones(m - 1)]
    )
    patches = fit_patches(X, X, find_neighbors(X, 4).indices, shrinkage=0, ridge=0)
    covariance = patches.covariance
    expected = one_by_one(
        reference.wasserstein, list(zip(patches.mean, covariance, strict=True))
    )
    found = all_pairs("wasserstein", patches)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("m", [3, 12])
@pytest.mark.filterwarnings("ignore::patchfold.exceptions.DegeneratePatchWarning")
def test_wasserstein_of_heaps_of_identical_points_is_the_distance_of_the_heaps(m):
    heaps = np.random.default_rng(0).normal(size=(3, m))
    X = np.repeat(heaps, 5, axis=0)
    patches = fit_patches(X, X, find_neighbors(X, 4).indices, shrinkage=0, ridge=0)
    expected = np.linalg.norm(X[:, None] - X, axis=2)
    np.testing.assert_allclose(
        all_pairs("wasserstein", patches), expected, rtol=1e-12, atol=1e-12
    )
