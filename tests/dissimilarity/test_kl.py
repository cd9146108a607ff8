"""Divergences of patches: the equations, their properties, and callables."""

import re
from functools import partial

import array_api_strict as strict
import numpy as np
import pytest
from helpers import reference
from helpers.comparing import edges_of
from helpers.estimators import over_graph_embeddings
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import patchfold as pf
from patchfold.dissimilarity.kl import (
    compare_euclidean,
    compare_kl,
    describe_euclidean,
    describe_kl,
)
from patchfold.dissimilarity.table import (
    DISSIMILARITIES,
    compare_pairs,
    get_dissimilarity,
    take_described,
)
from patchfold.exceptions import DegeneratePatchWarning, SingularPatchError
from patchfold.neighbors.choice import find_neighbors
from patchfold.patches.fitting import fit_patches, mean_variance
from patchfold.records import EdgeValues, Patches


def data(n=30, m=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m)) @ rng.normal(size=(m, m))


def dense_patches(mean, covariance):
    """Make patches of given Gaussians."""
    mean, covariance = np.asarray(mean, float), np.asarray(covariance, float)
    return Patches(mean, mean, dense=covariance, noise=np.zeros(len(mean)))


def random_gaussians(n, m, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, m, m + 2))
    return rng.normal(size=(n, m)), A @ A.transpose(0, 2, 1) / (m + 2)


def factored_patches(n=12, r=4, m=9, seed=0):
    """Make patches in both representations, by hand."""
    rng = np.random.default_rng(seed)
    mean, factor = rng.normal(size=(n, m)), rng.normal(size=(n, r, m))
    noise = rng.uniform(0.1, 1.0, size=n)
    covariance = np.stack(
        [
            A.T @ A + epsilon * np.eye(m)
            for A, epsilon in zip(factor, noise, strict=True)
        ]
    )
    return (
        Patches(mean, mean, factor=factor, noise=noise),
        Patches(mean, mean, dense=covariance, noise=noise),
    )


def options_of(row):
    """Return what `fit_patches` must know of a dissimilarity."""
    return {"keep_points": row.needs_points, "n_directions": row.n_directions}


def all_pairs(patches, describe=describe_kl, compare=compare_kl):
    """Compare every patch with every patch."""
    n = len(patches.center)
    i, j = np.divmod(np.arange(n * n), n)
    described = describe(patches)
    left, right = take_described(described, i), take_described(described, j)
    return compare(left, right).reshape(n, n)


# --- Symmetrised KL -------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 2, 5])
def test_kl_equals_the_equation_of_the_paper(m):
    mean, covariance = random_gaussians(8, m)
    found = all_pairs(dense_patches(mean, covariance))
    for i in range(8):
        for j in range(8):
            expected = reference.symmetric_kl(
                (mean[i], covariance[i]), (mean[j], covariance[j])
            )
            np.testing.assert_allclose(found[i, j], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("include_center", [True, False])
@pytest.mark.parametrize(
    ("shrinkage", "ridge"), [(0.1, 1e-6), (0.0, 1e-3), (0.0, 1e-2), (1.0, 0.0)]
)
@pytest.mark.parametrize(("m", "k"), [(1, 4), (3, 3), (3, 8), (12, 5), (12, 20)])
def test_edges_equal_the_equations_of_the_paper(m, k, shrinkage, ridge, include_center):
    X = data(m=m)
    model = pf.PatchEigenmaps(
        1,
        n_neighbors=k,
        include_center=include_center,
        shrinkage=shrinkage,
        ridge=ridge,
        dissimilarity="kl",
        kernel_width=1e12,
    )
    expected = reference.kl_lengths(X, k, shrinkage, ridge, include_center)
    graph = model.fit(X).graph_
    assert graph.nnz == 2 * len(expected)
    found = [graph[i, j] for i, j in expected]
    np.testing.assert_allclose(found, list(expected.values()), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("which", [0, 1], ids=["factored", "dense"])
def test_kl_is_symmetric_to_the_last_bit(which):
    found = all_pairs(factored_patches()[which])
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("m", [1, 3, 8])
def test_equal_patches_are_at_distance_exactly_zero(m):
    mean, covariance = random_gaussians(6, m)
    found = all_pairs(dense_patches(mean[[0, 0, 1, 1]], covariance[[0, 0, 1, 1]]))
    np.testing.assert_array_equal(found == 0, np.kron(np.eye(2), np.ones((2, 2))) == 1)


def test_equal_factored_patches_are_at_distance_zero_but_for_rounding():
    factored, _ = factored_patches()
    itself = compare_kl(describe_kl(factored), describe_kl(factored))
    np.testing.assert_allclose(itself, 0, atol=1e-12)


def test_kl_is_positive_between_different_patches():
    for patches in factored_patches():
        found = all_pairs(patches)
        assert (found[~np.eye(12, dtype=bool)] > 0).all()
        assert (found >= 0).all()


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    m=st.integers(1, 4),
    step=st.sampled_from([1e-9, 1e-6, 1e-3, 1.0, 100.0]),
)
def test_kl_is_never_negative_however_near_two_patches_are(seed, m, step):
    mean, covariance = random_gaussians(2, m, seed)
    mean[1] = mean[0] + step * mean[1]
    covariance[1] = covariance[0] + step * covariance[1]
    found = all_pairs(dense_patches(mean, covariance))
    assert (found >= 0).all()
    np.testing.assert_array_equal(found, found.T)
    assert found[0, 1] > 0


def test_small_divergences_keep_their_digits():
    # d of N(0, 1) and N(h, 1) is h²/2: nothing may cancel against m/2.
    h = 1e-6
    found = all_pairs(dense_patches([[0.0], [h]], [[[1.0]], [[1.0]]]))
    np.testing.assert_allclose(found[0, 1], h**2 / 2, rtol=1e-9)
    # and of N(0, 1) and N(0, 1 + h) it is h²/(4(1 + h)).
    found = all_pairs(dense_patches([[0.0], [0.0]], [[[1.0]], [[1.0 + h]]]))
    np.testing.assert_allclose(found[0, 1], h**2 / 4 / (1 + h), rtol=1e-9)


@settings(max_examples=40)
@given(data_=st.data())
def test_kl_does_not_change_under_affine_maps_of_the_data(data_):
    seed = data_.draw(st.integers(0, 10_000), label="seed")
    m = data_.draw(st.integers(1, 4), label="m")
    include_center = data_.draw(st.booleans(), label="include_center")
    unit = data_.draw(st.sampled_from([1e-3, 1.0, 1e3]), label="unit")
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, m))
    A, b = unit * rng.normal(size=(m, m)), unit * rng.normal(size=m)
    assume(np.linalg.cond(A) < 100)
    # The neighbours of the original: an affine map may change who is near.
    indices = find_neighbors(X, m + 5).indices
    options = {"shrinkage": 0.0, "ridge": 0.0, "include_center": include_center}
    before = all_pairs(fit_patches(X, X, indices, **options))
    mapped = X @ A.T + b
    after = all_pairs(fit_patches(mapped, mapped, indices, **options))
    np.testing.assert_allclose(after, before, rtol=1e-7, atol=1e-9)


def test_kl_changes_under_affine_maps_once_patches_are_regularised():
    X = data()
    indices = find_neighbors(X, 8).indices
    wide = X * np.array([1.0, 10.0, 0.1])
    before = all_pairs(fit_patches(X, X, indices, shrinkage=0.1, ridge=0.0))
    after = all_pairs(fit_patches(wide, wide, indices, shrinkage=0.1, ridge=0.0))
    assert not np.allclose(after, before, rtol=1e-2)


@pytest.mark.parametrize("m", [1, 4])
def test_equal_covariances_leave_half_a_squared_mahalanobis_distance(m):
    mean, covariance = random_gaussians(7, m)
    shared = np.broadcast_to(covariance[0], covariance.shape)
    found = all_pairs(dense_patches(mean, shared))
    inverse = np.linalg.inv(covariance[0])
    for i in range(7):
        for j in range(7):
            gap = mean[i] - mean[j]
            expected = gap @ inverse @ gap / 2
            np.testing.assert_allclose(found[i, j], expected, rtol=1e-10, atol=1e-14)


def test_equal_factors_leave_half_a_squared_mahalanobis_distance():
    patches, _ = factored_patches()
    shared = Patches(
        patches.center,
        patches.mean,
        factor=np.broadcast_to(patches.factor[0], patches.factor.shape),
        noise=np.broadcast_to(patches.noise[0], patches.noise.shape),
    )
    found = all_pairs(shared)
    gaps = patches.mean[:, None] - patches.mean
    inverse = np.linalg.inv(shared.covariance[0])
    expected = np.einsum("ija,ab,ijb->ij", gaps, inverse, gaps) / 2
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)


# --- Two representations --------------------------------------------------------------


@pytest.mark.parametrize(("r", "m"), [(1, 1), (2, 2), (1, 9), (4, 9), (9, 9), (5, 60)])
def test_the_factored_path_equals_the_dense_path(r, m):
    factored, dense = factored_patches(r=r, m=m)
    np.testing.assert_allclose(factored.covariance, dense.covariance, rtol=1e-12)
    np.testing.assert_allclose(
        all_pairs(factored), all_pairs(dense), rtol=1e-9, atol=1e-11
    )


@pytest.mark.parametrize(("shrinkage", "ridge"), [(0.1, 1e-6), (0.0, 1e-3)])
def test_both_paths_agree_on_the_patches_of_data(shrinkage, ridge):
    X = data(n=40, m=20)
    factored = fit_patches(
        X,
        X,
        find_neighbors(X, 8).indices,
        shrinkage=shrinkage,
        ridge=ridge,
        variance=mean_variance(X),
    )
    dense = Patches(X, factored.mean, dense=factored.covariance, noise=factored.noise)
    assert factored.dense is None
    np.testing.assert_allclose(
        all_pairs(factored), all_pairs(dense), rtol=1e-8, atol=1e-9
    )


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), r=st.integers(1, 6), extra=st.integers(0, 20))
def test_the_factored_path_equals_the_dense_path_for_any_shape(seed, r, extra):
    factored, dense = factored_patches(n=4, r=r, m=r + extra, seed=seed)
    np.testing.assert_allclose(
        all_pairs(factored), all_pairs(dense), rtol=1e-8, atol=1e-10
    )


def test_singular_patches_are_refused_before_they_are_inverted():
    flat = dense_patches(np.zeros((2, 2)), [np.eye(2), np.ones((2, 2))])
    with pytest.raises(
        SingularPatchError, match=r"^1 of 2 patch covariances are singular"
    ):
        describe_kl(flat)


# --- Euclidean ------------------------------------------------------------------------


def test_euclidean_compares_the_centres():
    X = data()
    found = all_pairs(Patches(X), describe_euclidean, compare_euclidean)
    expected = [[reference.euclidean_distance(a, b) for b in X] for a in X]
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_array_equal(found, found.T)


# --- Walking over pairs ---------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
@pytest.mark.parametrize("name", DISSIMILARITIES)
@pytest.mark.parametrize("m", [3, 12])
def test_pairs_do_not_depend_on_blocks_or_threads(name, m, n_jobs, cut_blocks):
    X = data(m=m)
    indices = find_neighbors(X, 6).indices
    pairs = edges_of(indices)
    row = DISSIMILARITIES[name]
    described = row.describe(fit_patches(X, X, indices, **options_of(row)))
    ends = pairs.source, pairs.target
    whole = compare_pairs(row, described, described, *ends)
    cut_blocks(10_000)
    cut = compare_pairs(row, described, described, *ends, n_jobs=n_jobs)
    for part in ("label_free", "within", "between"):
        np.testing.assert_array_equal(getattr(cut, part), getattr(whole, part))


@over_graph_embeddings
@pytest.mark.parametrize("name", DISSIMILARITIES)
def test_no_bit_of_an_embedding_depends_on_n_jobs(estimator, name, cut_blocks):
    cut_blocks(10_000)
    X = data(n=50)
    alone = estimator(n_neighbors=8, dissimilarity=name, n_jobs=1).fit(X[:40])
    many = estimator(n_neighbors=8, dissimilarity=name, n_jobs=3).fit(X[:40])
    np.testing.assert_array_equal(many.embedding_, alone.embedding_)
    np.testing.assert_array_equal(many.transform(X[40:]), alone.transform(X[40:]))


# --- Callables ------------------------------------------------------------------------


def own_kl(left, right):
    return compare_kl(describe_kl(left), describe_kl(right))


@pytest.mark.parametrize("m", [3, 12])
def test_a_callable_that_computes_kl_gives_what_kl_gives(m):
    X = data(m=m)
    named = pf.PatchIsomap(n_neighbors=8, dissimilarity="kl").fit(X[:25])
    own = pf.PatchIsomap(n_neighbors=8, dissimilarity=own_kl).fit(X[:25])
    np.testing.assert_allclose(
        own.graph_.toarray(), named.graph_.toarray(), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        own.transform(X[25:]), named.transform(X[25:]), rtol=1e-6, atol=1e-9
    )


@over_graph_embeddings
def test_a_callable_gets_two_batches_of_regularised_patches(estimator):
    X, calls = data(), []

    def record(left, right):
        calls.append((left, right))
        return np.ones(len(left.center))

    model = estimator(
        n_neighbors=8, dissimilarity=record, shrinkage=0.3, ridge=0.5
    ).fit(X)
    (left, right), (left_again, right_again) = calls
    expected = fit_patches(
        X,
        X,
        find_neighbors(X, 8).indices,
        shrinkage=0.3,
        ridge=0.5,
        variance=mean_variance(X),
    )
    pairs = edges_of(find_neighbors(X, 8).indices)
    for patches, again, ends in (
        (left, right_again, pairs.source),
        (right, left_again, pairs.target),
    ):
        assert isinstance(patches, pf.Patches)
        for name in ("center", "mean", "covariance"):
            rows = getattr(expected, name)[ends]
            np.testing.assert_array_equal(getattr(patches, name), rows)
            np.testing.assert_array_equal(getattr(again, name), rows)
    assert (model.graph_.data == 1).all()


def test_a_callable_is_made_symmetric_by_averaging_both_directions():
    X = np.abs(data())

    def one_sided(left, right):
        return 2 * left.center[:, 0] + right.center[:, 1]

    graph = pf.PatchIsomap(n_neighbors=8, dissimilarity=one_sided).fit(X).graph_
    i, j = graph.nonzero()
    expected = X[i, 0] + X[j, 0] + (X[i, 1] + X[j, 1]) / 2
    np.testing.assert_allclose(graph[i, j], expected, rtol=1e-12)


@pytest.mark.parametrize(
    "convert",
    [
        list,
        tuple,
        lambda values: values.astype(np.float32),
        lambda values: np.rint(values).astype(int),
    ],
    ids=["list", "tuple", "float32", "int"],
)
def test_a_callable_may_return_any_sequence_of_numbers(convert):
    def distance(left, right):
        return np.rint(np.abs(left.center - right.center).sum(axis=1))

    X = 10 * data()
    expected = pf.PatchIsomap(n_neighbors=8, dissimilarity=distance).fit(X).graph_
    model = pf.PatchIsomap(
        n_neighbors=8, dissimilarity=lambda a, b: convert(distance(a, b))
    )
    np.testing.assert_array_equal(model.fit(X).graph_.toarray(), expected.toarray())


def table(left, right):
    return np.zeros((len(left.center), 2))


def total(left, right):
    return float(len(left.center))


def one_short(left, right):
    return np.zeros(len(left.center) - 1)


@pytest.mark.parametrize(
    ("function", "name", "shape"),
    [
        (table, "table", "(E, 2)"),
        (total, "total", "()"),
        (one_short, "one_short", "(E-1,)"),
        (partial(table), repr(partial(table)), "(E, 2)"),
    ],
    ids=["table", "scalar", "one_short", "partial"],
)
def test_a_callable_must_return_one_number_per_pair(function, name, shape):
    X = data()
    E = edges_of(find_neighbors(X, 8).indices).source.size
    shape = shape.replace("E-1", str(E - 1)).replace("E", str(E))
    with pytest.raises(
        ValueError,
        match=re.escape(
            f"dissimilarity {name} must return one number per pair, shape ({E},). Got "
            f"shape {shape} instead."
        ),
    ):
        pf.PatchIsomap(n_neighbors=8, dissimilarity=function).fit(X)


@pytest.mark.parametrize(
    ("value", "text"),
    [(np.nan, "nan"), (np.inf, "inf"), (-0.5, "-0.5"), (-np.inf, "-inf")],
)
@over_graph_embeddings
def test_a_callable_must_return_finite_numbers_that_are_not_negative(
    estimator, value, text
):
    X = data()
    X[:, 0] = np.arange(30)

    def wrong(left, right):
        ends = {3.0, 4.0}
        both = zip(left.center[:, 0], right.center[:, 0], strict=True)
        return np.where([{a, b} == ends for a, b in both], value, 1.0)

    with pytest.raises(
        ValueError,
        match=re.escape(
            "the dissimilarity of 1 edges is not a number from 0 to 1e+150, the first "
            f"{text} between samples 3 and 4. Scale the features, raise ridge, or mend "
            "the dissimilarity callable."
        ),
    ):
        estimator(n_neighbors=8, dissimilarity=wrong).fit(X)


def test_a_name_is_a_row_of_the_table_and_a_callable_is_wrapped():
    assert get_dissimilarity("kl") is DISSIMILARITIES["kl"]
    wrapped = get_dissimilarity(own_kl)
    patches = fit_patches(data(), data(), find_neighbors(data(), 6).indices)
    assert wrapped.describe(patches) is patches
    assert wrapped.needs_gaussians
    assert wrapped.regularized


# --- Any array library ----------------------------------------------------------------


def categories(n=30, m=3, seed=0):
    """Return corners of a cube: duplicates, ties and equal variances."""
    corners = np.random.default_rng(seed).integers(0, 2, size=(n, m))
    return corners.astype(float)


def walk(X, indices, convert, comparison, **options):
    """Run patches, description and comparison on arrays made by `convert`."""
    row = DISSIMILARITIES[comparison]
    samples = convert(X)
    patches = fit_patches(
        samples,
        samples,
        convert(indices),
        variance=mean_variance(samples),
        **options_of(row),
        **options,
    )
    pairs = edges_of(indices)
    described = row.describe(patches)
    left, right = (
        take_described(described, convert(ends))
        for ends in (pairs.source, pairs.target)
    )
    values = row.compare(left, right)
    if isinstance(values, EdgeValues):
        values = (values.label_free, values.within, values.between)
    else:
        values = (values,)
    return (patches.mean, patches.covariance, patches.noise, *values)


def rounding_of(comparison):
    """Return what rounding may change.

    The root of a difference of nearly equal numbers has half of their digits.
    """
    return 1e-7 if comparison == "hellinger" else 1e-12


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.DegeneratePatchWarning")
@pytest.mark.parametrize("include_center", [True, False])
@pytest.mark.parametrize("make", [data, categories])
@pytest.mark.parametrize("m", [3, 12], ids=["dense", "factored"])
@pytest.mark.parametrize("comparison", DISSIMILARITIES)
def test_the_stages_use_nothing_but_the_array_api(comparison, m, make, include_center):
    X = make(m=m)
    indices = find_neighbors(X, 8).indices
    options = {"include_center": include_center}
    expected = walk(X, indices, np.asarray, comparison, **options)
    found = walk(X, indices, strict.asarray, comparison, **options)
    atol = rounding_of(comparison)
    for array, values in zip(found, expected, strict=True):
        assert array.__array_namespace__() is strict
        np.testing.assert_allclose(np.asarray(array), values, rtol=1e-10, atol=atol)


@pytest.mark.parametrize("m", [3, 12], ids=["dense", "factored"])
@pytest.mark.parametrize("comparison", DISSIMILARITIES)
def test_arrays_stay_on_the_device_they_came_from(comparison, m):
    X = data(m=m)
    indices = find_neighbors(X, 8).indices
    device = strict.Device("device1")
    convert = partial(strict.asarray, device=device)
    expected = walk(X, indices, np.asarray, comparison)
    for array, values in zip(
        walk(X, indices, convert, comparison), expected, strict=True
    ):
        assert array.device == device
        here = np.asarray(array.to_device(strict.Device("CPU_DEVICE")))
        atol = rounding_of(comparison)
        np.testing.assert_allclose(here, values, rtol=1e-10, atol=atol)


def test_warnings_and_errors_of_patches_use_nothing_but_the_array_api():
    X = strict.asarray(np.repeat(data(n=8), 4, axis=0))
    indices = strict.asarray(find_neighbors(np.asarray(X), 3).indices)
    with pytest.warns(DegeneratePatchWarning, match=r"^32 of 32 patches consist of 4"):
        patches = fit_patches(X, X, indices, shrinkage=0.0, ridge=0.0)
    with pytest.raises(
        SingularPatchError, match=r"^32 of 32 patch covariances are singular"
    ):
        describe_kl(patches)


@pytest.mark.parametrize("name", DISSIMILARITIES)
def test_pairs_of_any_array_library_are_walked(name):
    X = data()
    indices = find_neighbors(X, 8).indices
    pairs = edges_of(indices)
    row = DISSIMILARITIES[name]

    def walk(convert):
        patches = fit_patches(
            convert(X), convert(X), convert(indices), **options_of(row)
        )
        described = row.describe(patches)
        return compare_pairs(row, described, described, pairs.source, pairs.target)

    found, expected = walk(strict.asarray).label_free, walk(np.asarray).label_free
    # Squared: of patches with the same points in another order, "hellinger" is the root
    # of a rounding error.
    np.testing.assert_allclose(
        np.asarray(found) ** 2, expected**2, rtol=1e-10, atol=1e-14
    )


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("scale", [1e-140, 1e-100, 1e100, 1e140])
@pytest.mark.parametrize("m", [4, 30, 150])  # packed, factored, wide
def test_kl_knows_no_scale(m, scale, compiled, in_arrays):
    if not compiled:
        in_arrays()
    X = data(60, m)
    model = pf.PatchIsomap(n_neighbors=6)
    lengths = model.fit(X).graph_.data
    scaled = model.fit(scale * X).graph_.data
    np.testing.assert_allclose(scaled, lengths, rtol=1e-6, atol=1e-12)
