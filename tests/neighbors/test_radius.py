"""Neighbours by `radius`: graphs and patches whose samples have different numbers."""

import re

import numpy as np
import pytest
from helpers import reference, reference_gaussians
from helpers.comparing import assert_equal_up_to_sign
from helpers.estimators import PATCH_EMBEDDINGS, over_patch_embeddings
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import Isomap, LocallyLinearEmbedding
from sklearn.neighbors import KNeighborsTransformer

import patchfold as pf
from patchfold.dissimilarity.table import (
    DISSIMILARITIES,
    compare_pairs,
    get_dissimilarity,
)
from patchfold.exceptions import (
    DegeneratePatchWarning,
    DisconnectedGraphWarning,
    IsolatedSampleWarning,
    MemoryBudgetError,
)
from patchfold.neighbors.radius import add_nearest, search_within
from patchfold.patches.fitting import fit_patches, mean_variance

hard = pytest.mark.filterwarnings("ignore::patchfold.exceptions.PatchfoldWarning")
"""On wine some samples are far from all others; what is said of it is tested apart."""


def by_radius(estimator, radius, **params):
    return estimator(n_neighbors=None, radius=radius, **params)


@pytest.fixture(scope="module")
def roll():
    X, _ = make_swiss_roll(400, noise=0.1, random_state=3)
    return X


@pytest.fixture(scope="module")
def cloud():
    """60 samples in 4 features: patches below and above the number of features."""
    return np.random.default_rng(5).normal(size=(60, 4))


# --- Search ---------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [0.3, 1.5, 2.5, 100.0])
def test_neighbours_are_all_within_the_radius_nearest_first(cloud, radius, cut_blocks):
    cut_blocks(2**15)
    near = search_within(cloud, cloud, radius, own=np.arange(60), n_jobs=2)
    expected = reference.neighbors_within(cloud, radius)
    rows = np.split(near.indices, near.pointer[1:-1])
    assert [row.tolist() for row in rows] == expected
    pairs = [(i, j) for i, row in enumerate(expected) for j in row]
    lengths = [reference.euclidean_distance(cloud[i], cloud[j]) for i, j in pairs]
    np.testing.assert_allclose(near.distances, lengths, rtol=1e-12)


def test_a_neighbour_on_the_circle_is_inside_whatever_the_rounding():
    steps = 0.1 * np.arange(5)
    X = 1e3 + np.array([[a, b] for a in steps for b in steps])
    near = search_within(X, X, 0.1, own=np.arange(25))
    assert sorted(near.counts.tolist()) == [2] * 4 + [3] * 12 + [4] * 9


def test_duplicates_are_neighbours_and_a_sample_is_not_its_own():
    X = np.array([[0.0], [0.0], [5.0]])
    near = search_within(X, X, 1.0, own=np.arange(3))
    assert near.indices.tolist() == [1, 0]
    filled = add_nearest(near, X, X, own=np.arange(3))
    assert filled.indices.tolist() == [1, 0, 0]
    assert filled.distances.tolist() == [0, 0, 5]


# --- scikit-learn's Isomap and LLE ----------------------------------------------------


@pytest.mark.parametrize("radius", [4.0, 3.0, 2.6])  # 2, 8 and more components
@hard
@pytest.mark.filterwarnings("ignore:The number of connected components")
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_isomap_is_that_of_scikit_learn(wine, radius):
    X, _ = wine
    ours = by_radius(pf.PatchIsomap, radius, dissimilarity="euclidean").fit(X)
    theirs = Isomap(n_neighbors=None, radius=radius).fit(X)
    assert_equal_up_to_sign(ours.embedding_, theirs.embedding_)
    np.testing.assert_allclose(ours.geodesics_, theirs.dist_matrix_)
    new = X + np.random.default_rng(0).normal(scale=0.1, size=X.shape)
    assert_equal_up_to_sign(ours.transform(new), theirs.transform(new))


def test_a_radius_that_holds_k_neighbours_each_is_n_neighbors(wine):
    """On a circle all have as many: by number and by distance is then the same."""
    angle = 2 * np.pi * np.arange(40) / 40
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    radius = 2 * np.sin(np.pi * 3.5 / 40)
    theirs = LocallyLinearEmbedding(n_neighbors=6, eigen_solver="dense").fit(X)
    ours = by_radius(pf.PatchLLE, radius, dissimilarity="euclidean").fit(X)
    spans = (ours.embedding_ @ ours.embedding_.T, theirs.embedding_)
    np.testing.assert_allclose(spans[0], spans[1] @ spans[1].T, atol=1e-8)
    by_number = pf.PatchEigenmaps(n_neighbors=6).fit(X)
    by_distance = by_radius(pf.PatchEigenmaps, radius).fit(X)
    gap = by_number.graph_ - by_distance.graph_
    assert abs(gap).max() < 1e-12
    assert by_distance.n_neighbors_ is None
    assert by_distance.patch_sizes_.tolist() == [6] * 40


# --- Patches of different sizes -------------------------------------------------------


@pytest.mark.parametrize("include_center", [True, False])
@pytest.mark.parametrize("n_features", [4, 60])  # matrices, and factors only
@hard
def test_kl_of_ragged_patches_equals_the_equations(cloud, include_center, n_features):
    """An isolated sample's patch has its nearest neighbour; edges stay within reach."""
    turn = np.random.default_rng(1).normal(size=(4, n_features))
    X = cloud if n_features == 4 else cloud @ turn + 0.01 * np.arange(60)[:, None]
    gaps = np.linalg.norm(X[:, None] - X, axis=2)
    radius = float(np.quantile(gaps, 0.12))
    model = by_radius(
        pf.PatchIsomap, radius, include_center=include_center, ridge=1e-3
    ).fit(X)
    graph = reference.neighbors_within(X, radius)
    nearest = reference.neighbors(X, 1)
    patches = [row or nearest[i].tolist() for i, row in enumerate(graph)]
    sizes = [len(row) for row in patches]
    assert model.patch_sizes_.tolist() == sizes
    assert min(map(len, graph)) == 0
    assert len(set(sizes)) > 5
    expected = reference.kl_lengths_along(
        reference.edges(graph), X, patches, 0.1, 1e-3, include_center
    )
    for (i, j), length in expected.items():
        assert model.graph_[i, j] == pytest.approx(length, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    "params",
    [
        {"dissimilarity": "wasserstein", "covariance": "diagonal"},
        {"dissimilarity": "bhattacharyya", "covariance": "robust"},
        {"dissimilarity": "fisher_rao", "shrinkage": "ledoit_wolf"},
        {"dissimilarity": "hellinger", "shrinkage": "oas", "n_directions": 2},
        {"dissimilarity": "kde", "covariance": "diagonal"},
        {"dissimilarity": "curvature"},
        {"dissimilarity": "principal_angles"},
    ],
    ids=str,
)
def test_every_patch_is_what_it_would_be_alone(cloud, params):
    """One sample's patch does not depend on how large the others are."""
    near = search_within(cloud, cloud, 2.5, own=np.arange(60))
    graph = by_radius(pf.PatchIsomap, 2.5, **params).fit(cloud).graph_
    row = get_dissimilarity(params["dissimilarity"])
    settings = {
        "shrinkage": params.get("shrinkage", 0.1) if row.regularized else 0.0,
        "ridge": 1e-6 if row.regularized else 0.0,
        "variance": mean_variance(cloud),
        "covariance": params.get("covariance", "full"),
        "n_directions": params.get("n_directions") or row.n_directions,
        "keep_points": row.needs_points,
    }

    def alone(k):
        members = near.indices[near.pointer[k] : near.pointer[k + 1]]
        return row.describe(fit_patches(cloud[[k]], cloud, members[None], **settings))

    large = near.counts >= 4  # as many points as make a matrix
    pairs = [(i, j) for i, j in zip(*near.relation, strict=True) if large[[i, j]].all()]
    assert len({(near.counts[i], near.counts[j]) for i, j in pairs[:20]}) > 5
    for i, j in pairs[:20]:
        values = compare_pairs(row, alone(i), alone(j), np.array([0]), np.array([0]))
        length = float(values.label_free[0])
        assert graph[i, j] == pytest.approx(length, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("n_features", [2, 4, 40])
@hard
def test_density_estimates_of_different_sizes_equal_their_sum_over_pairs(n_features):
    X = np.random.default_rng(3).normal(size=(30, n_features))
    gaps = np.linalg.norm(X[:, None] - X, axis=2)
    radius = float(np.quantile(gaps, 0.25))
    model = by_radius(pf.PatchIsomap, radius, dissimilarity="kde", ridge=1e-3).fit(X)
    graph = reference.neighbors_within(X, radius)
    nearest = reference.neighbors(X, 1)
    variance = reference.mean_feature_variance(X)
    estimates = []
    for i, row in enumerate(graph):
        points = X[[i, *(row or nearest[i])]]
        _, covariance = reference.gaussian(points, 0.1, 1e-3, variance)
        estimates.append(reference_gaussians.scott_kernel(points, covariance))
    assert len({len(points) for points, _ in estimates}) > 3
    for i, j in reference.edges(graph):
        expected = reference_gaussians.kde_cauchy_schwarz(estimates[i], estimates[j])
        assert model.graph_[i, j] == pytest.approx(expected, rel=1e-7)


def test_duplicates_alone_in_reach_have_no_shape():
    X = np.concatenate(
        [np.zeros((3, 2)), np.random.default_rng(0).normal(size=(30, 2))]
    )
    X[3:] += 4
    with (
        pytest.warns(DegeneratePatchWarning, match="3 of 33 patches are one point"),
        pytest.warns(DisconnectedGraphWarning),
    ):
        by_radius(pf.PatchIsomap, 2.0).fit(X)


# --- Every estimator ------------------------------------------------------------------


@over_patch_embeddings
@pytest.mark.parametrize("dissimilarity", ["kl", "euclidean"])
def test_training_samples_return_and_new_ones_land_near(estimator, dissimilarity, roll):
    model = by_radius(estimator, 5.0, dissimilarity=dissimilarity).fit(roll)
    np.testing.assert_allclose(model.transform(roll), model.embedding_, atol=1e-12)
    placed = model.transform(roll + 1e-3)
    gap = np.linalg.norm(placed - model.embedding_, axis=1)
    assert np.median(gap) < 0.1 * np.linalg.norm(model.embedding_.std(axis=0))


@over_patch_embeddings
@hard
def test_threads_do_not_change_a_bit(estimator, wine, cut_blocks):
    cut_blocks(2**15)
    X, _ = wine
    models = [
        by_radius(estimator, 4.0, dissimilarity="kl", n_jobs=n_jobs).fit(X[:150])
        for n_jobs in (1, 3)
    ]
    np.testing.assert_array_equal(models[0].embedding_, models[1].embedding_)
    new = [model.transform(X[150:160]) for model in models]
    np.testing.assert_array_equal(*new)


@pytest.mark.parametrize("rule", ["entropic", "within"])
@hard
def test_label_rules_take_a_radius(wine, rule):
    X, y = wine
    model = by_radius(pf.PatchEigenmaps, 4.0, label_rule=rule).fit(X[:150], y[:150])
    assert np.isfinite(model.transform(X[150:])).all()


@pytest.mark.parametrize("recipe", [pf.isomap_kl, pf.elap, pf.pelle, pf.klap])
@hard
def test_recipes_take_a_radius(wine, recipe):
    X, y = wine
    model = recipe(n_neighbors=None, radius=4.5).fit(X, y)
    assert model.patch_sizes_.std() > 0


# --- Isolated samples -----------------------------------------------------------------


def with_outliers():
    X = np.random.default_rng(0).uniform(size=(50, 2))
    X[7], X[31] = (9, 9), (-9, 4)
    return X


@over_patch_embeddings
@pytest.mark.filterwarnings("ignore::patchfold.exceptions.VanishingWeightsWarning")
def test_isolated_samples_are_named_by_index(estimator):
    message = re.escape(
        "The neighbour graph has 3 connected components (of 48, 1, 1 samples) with "
        "radius=0.5. Alone in theirs: rows 7, 31. They were joined by their closest "
        "pairs, and what lies between them is not to be trusted. Raise radius"
    )
    if estimator is pf.PatchLLE:
        message = message.replace("connected\\ components", ".*their\\ own")
    with pytest.warns(DisconnectedGraphWarning, match=message):
        model = by_radius(estimator, 0.5).fit(with_outliers())
    assert model.n_connected_components_ == 3
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("dissimilarity", ["kl", "euclidean"])
def test_a_query_out_of_reach_is_placed_by_its_nearest_sample(dissimilarity):
    X = np.random.default_rng(0).uniform(size=(50, 2))
    model = by_radius(pf.PatchIsomap, 0.5, dissimilarity=dissimilarity).fit(X)
    with pytest.warns(
        IsolatedSampleWarning,
        match=re.escape(
            "1 of 2 new samples have no training sample within radius=0.5 (row 1). "
            "Each is placed by its nearest one alone. A radius of 4.49 "
        ),
    ):
        placed = model.transform([[0.5, 0.5], [3.0, 5.0]])
    assert np.isfinite(placed).all()
    if dissimilarity == "euclidean":
        # A way through the nearest sample is longer by the same length to all samples.
        gaps = np.linalg.norm(X - [3.0, 5.0], axis=1)
        through = model.geodesics_[gaps.argmin()] + gaps.min()
        centred = through**2 - (model.geodesics_**2).mean(axis=0)
        expected = -0.5 * centred @ (model.embedding_ / model.eigenvalues_)
        np.testing.assert_allclose(placed[1], expected)


def test_a_radius_that_reaches_no_sample_is_an_error():
    X = np.array([[0.0], [1.0], [3.0]])
    with pytest.raises(
        ValueError, match=r"within radius=0.5 of each other: .* 1 apart"
    ):
        by_radius(pf.PatchIsomap, 0.5, n_components=1).fit(X)


# --- Precomputed ----------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [pf.PatchIsomap, pf.PatchEigenmaps])
@hard
def test_a_matrix_of_distances_gives_the_same(estimator, wine):
    X, _ = wine
    D = np.linalg.norm(X[:, None] - X, axis=2)
    ours = by_radius(estimator, 3.0, dissimilarity="euclidean").fit(X[:150])
    read = by_radius(estimator, 3.0, dissimilarity="precomputed").fit(D[:150, :150])
    assert_equal_up_to_sign(read.embedding_, ours.embedding_, atol=1e-7)
    with pytest.warns(IsolatedSampleWarning, match="new samples"):
        placed = read.transform(D[150:, :150])
    with pytest.warns(IsolatedSampleWarning, match="new samples"):
        assert_equal_up_to_sign(placed, ours.transform(X[150:]), atol=1e-7)


def test_a_matrix_without_any_pair_in_reach_is_an_error():
    D = 1.0 - np.eye(5)
    with pytest.raises(ValueError, match="the nearest two are 1 apart"):
        by_radius(pf.PatchIsomap, 0.5, dissimilarity="precomputed").fit(D)


# --- Bad combinations -----------------------------------------------------------------


@over_patch_embeddings
def test_number_and_radius_exclude_each_other(estimator, roll):
    with pytest.raises(
        ValueError,
        match=r"has both n_neighbors=7 and radius=2.0: set n_neighbors=None",
    ):
        estimator(n_neighbors=7, radius=2.0).fit(roll)


@pytest.mark.parametrize(
    "estimator", [e for e in PATCH_EMBEDDINGS if e is not pf.CauchyEmbedding]
)
def test_one_of_them_is_needed(estimator, roll):
    with pytest.raises(ValueError, match="has neither n_neighbors nor radius"):
        estimator(n_neighbors=None).fit(roll)


@pytest.mark.parametrize("algorithm", ["approximate", KNeighborsTransformer()])
def test_a_search_for_a_number_cannot_find_all_in_reach(algorithm, roll):
    model = by_radius(pf.PatchIsomap, 3.0, neighbors_algorithm=algorithm)
    with pytest.raises(ValueError, match="set neighbors_algorithm='exact'"):
        model.fit(roll)


def test_a_choice_of_number_does_not_go_with_a_radius(roll):
    model = by_radius(pf.PatchIsomap, 3.0)
    with pytest.raises(ValueError, match="set radius=None"):
        pf.select_n_neighbors(model, roll, candidates=[5, 10])


def test_a_radius_too_wide_for_the_memory_is_refused_before_the_search(set_memory):
    X = np.random.default_rng(0).uniform(size=(3000, 2))
    set_memory(10**9)
    with pytest.raises(
        MemoryBudgetError, match=r"with 3000 neighbours .* Lower radius"
    ):
        by_radius(pf.PatchEigenmaps, 5.0).fit(X)


def test_a_crowd_that_no_sample_foretells_is_refused_during_the_search(set_memory):
    X = np.random.default_rng(0).uniform(size=(3000, 2))
    X[::5] += (
        100 * np.arange(1, 601)[:, None]
    )  # those that are asked how many to expect
    set_memory(10**8)
    with pytest.raises(MemoryBudgetError, match=r"within radius=5 .* Lower radius"):
        by_radius(pf.PatchEigenmaps, 5.0).fit(X)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "settings",
    [
        {"n_neighbors": None, "radius": 3.2},
        {"n_neighbors": 14, "adaptive_patches": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("dissimilarity", sorted(set(DISSIMILARITIES) - {"euclidean"}))
def test_samples_placed_one_by_one_lie_where_they_lie_together(
    dissimilarity, settings, wine
):
    # Patches of fewer points than features, and of more: a single new sample may have
    # either, whatever the training samples have.
    X, _ = wine
    model = pf.PatchIsomap(dissimilarity=dissimilarity, **settings).fit(X[:120])
    assert model.patch_sizes_.min() < X.shape[1] < model.patch_sizes_.max()
    together = model.transform(X[120:])
    alone = np.vstack([model.transform(x[None]) for x in X[120:]])
    scale = np.abs(model.embedding_).max()
    np.testing.assert_allclose(alone, together, atol=1e-7 * scale)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_new_sample_that_reaches_all_of_wide_data_is_placed():
    X = np.random.default_rng(0).normal(size=(20, 40))
    X[0] *= 0.05
    for dissimilarity in ("kl", "wasserstein", "hellinger", "fisher_rao"):
        model = pf.PatchIsomap(
            n_neighbors=None, radius=100.0, dissimilarity=dissimilarity
        ).fit(X)
        assert np.isfinite(model.transform(0.8 * X[:1])).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_who_is_isolated_by_the_radius_is_named_under_a_label_rule_too():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((20, 2)), [[30.0, 0.5]]])
    y = np.repeat([0, -1], [20, 1])
    model = pf.PatchIsomap(
        n_neighbors=None, radius=1.0, label_rule="within", dissimilarity="euclidean"
    )
    with pytest.warns(DisconnectedGraphWarning, match="row 20"):
        model.fit(X, y)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_one_crowded_place_that_makes_all_patches_large_is_refused(set_memory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40)) * 3
    X[:60] = X[0] + rng.normal(size=(60, 40)) / 100
    model = pf.PatchEigenmaps(n_neighbors=None, radius=1.0)
    set_memory(8e6)
    with pytest.raises(MemoryBudgetError, match="radius"):
        model.fit(X)
    set_memory(2e9)
    model.fit(X)


def test_a_sweep_over_sizes_is_refused_with_a_radius(wine):
    model = pf.PatchIsomap(n_neighbors=None, radius=4.0)
    with pytest.raises(ValueError, match=r"radius=4.0 .*set radius=None"):
        list(pf.fit_sweep(model, wine[0], n_neighbors=[5, 6]))
