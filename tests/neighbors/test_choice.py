"""Neighbour search: against the literal loops of `reference`, on data with traps."""

from fractions import Fraction

import numpy as np
import pytest
from helpers import reference
from helpers.estimators import over_graph_embeddings
from helpers.loops import needs_loops
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer
from sklearn.preprocessing import scale

import patchfold as pf
from patchfold.exceptions import NeighborCountWarning
from patchfold.graph.connectivity import closest_pairs
from patchfold.neighbors import close_up, distinct
from patchfold.neighbors import exact as exact_module
from patchfold.neighbors.choice import (
    find_neighbors,
    find_query_neighbors,
    resolve_n_neighbors,
)


def random_points():
    return np.random.default_rng(0).normal(size=(60, 4))


def grid():
    side = np.arange(7.0)
    return np.array([[a, b] for a in side for b in side])


def shuffled_grid_in_thirds():
    """Return a grid whose equal distances differ in their last bits."""
    return np.random.default_rng(1).permutation(grid()) / 3 - 0.1


def scaled_categories():
    """Return z-scored categories: every row has duplicates and many tied distances."""
    return scale(np.random.default_rng(2).integers(0, 3, size=(60, 4)).astype(float))


def duplicates():
    return np.repeat(np.random.default_rng(3).normal(size=(12, 3)), 5, axis=0)


def far_from_the_origin():
    return 1e6 + np.random.default_rng(4).normal(size=(50, 3))


def tiny_clusters_far_apart():
    rng = np.random.default_rng(5)
    places = np.repeat(rng.normal(size=(5, 3)) * 1e6, 10, axis=0)
    return rng.permutation(places + 1e-4 * rng.normal(size=(50, 3)))


def one_feature():
    return np.random.default_rng(6).normal(size=(40, 1))


def more_features_than_samples():
    return np.random.default_rng(7).normal(size=(20, 50))


def constant():
    return np.full((12, 3), 0.1)


HARD_DATA = [
    random_points,
    grid,
    shuffled_grid_in_thirds,
    scaled_categories,
    duplicates,
    far_from_the_origin,
    tiny_clusters_far_apart,
    one_feature,
    more_features_than_samples,
    constant,
]
over_hard_data = pytest.mark.parametrize(
    "X", [make() for make in HARD_DATA], ids=[make.__name__ for make in HARD_DATA]
)


@pytest.fixture
def small_blocks(cut_blocks):
    """Cut the work into many blocks, as large data would."""
    cut_blocks(20_000)


def query_reference(queries, X, k):
    """Neighbours of new samples by one loop: the rule of `reference.neighbors`."""
    indices = np.zeros((len(queries), k), dtype=int)
    for q in range(len(queries)):
        squared = [reference.squared_distance(queries[q], x) for x in X]
        unit = sorted(squared)[k - 1] or 1.0
        keyed = sorted((round(squared[j] / unit, 12), j) for j in range(len(X)))
        indices[q] = [j for _, j in keyed[:k]]
    return indices


# --- Exact search ---------------------------------------------------------------------


@over_hard_data
@pytest.mark.parametrize("k", [1, 2, 6, 11])
def test_exact_search_finds_whom_the_reference_finds(X, k):
    found, expected = find_neighbors(X, k).indices, reference.neighbors(X, k)
    assert np.sort(found, axis=1).tolist() == np.sort(expected, axis=1).tolist()


@pytest.mark.parametrize("k", [5, 11])
@pytest.mark.parametrize(
    "X",
    [random_points(), grid(), shuffled_grid_in_thirds(), scaled_categories()],
    ids=["random", "grid", "shuffled_grid", "categories"],
)
def test_exact_search_lists_neighbours_in_the_order_of_the_reference(X, k):
    assert find_neighbors(X, k).indices.tolist() == reference.neighbors(X, k).tolist()


@over_hard_data
def test_all_other_samples_can_be_neighbours(X):
    n = len(X)
    found = find_neighbors(X, n - 1).indices
    everyone = [sorted([i, *row]) for i, row in enumerate(found.tolist())]
    assert everyone == [list(range(n))] * n


@over_hard_data
def test_distances_are_those_of_the_neighbours(X):
    found = find_neighbors(X, 5)
    expected = [
        [reference.euclidean_distance(X[i], X[j]) for j in found.indices[i]]
        for i in range(len(X))
    ]
    np.testing.assert_allclose(found.distances, expected, rtol=1e-12, atol=0)


@settings(max_examples=60)
@given(data=st.data())
def test_exact_search_equals_the_reference_on_any_small_lattice(data):
    n = data.draw(st.integers(2, 12), label="n")
    m = data.draw(st.integers(1, 3), label="m")
    unit = data.draw(st.sampled_from([1.0, 0.1, 1 / 3, 1e-5, 1e5]), label="unit")
    offset = data.draw(st.sampled_from([0.0, 0.7, 1000.0]), label="offset")
    lattice = data.draw(arrays(float, (n, m), elements=st.integers(-2, 2)))
    k = data.draw(st.integers(1, n - 1), label="k")
    X = lattice * unit + offset
    # Far from 0 the lattice itself is rounded, and ties are no longer ties.
    if 1e-3 * offset > unit:
        X = lattice * unit
    assert find_neighbors(X, k).indices.tolist() == reference.neighbors(X, k).tolist()


def test_a_sample_is_told_from_its_duplicates_by_position():
    found = find_neighbors(constant()[:5], 4)
    assert found.indices.tolist() == [
        [1, 2, 3, 4],
        [0, 2, 3, 4],
        [0, 1, 3, 4],
        [0, 1, 2, 4],
        [0, 1, 2, 3],
    ]
    assert not found.distances.any()


def test_more_duplicates_than_neighbours_leave_only_zeros():
    found = find_neighbors(duplicates(), 4)
    own = np.arange(60)[:, None]
    assert (found.indices // 5 == own // 5).all()
    assert (found.indices != own).all()
    assert (found.distances == 0).all()


def test_ties_go_to_the_lower_index():
    X = np.array([[1.0, 0], [0, 1], [0, 0], [0, -1], [-1, 0]])
    assert find_neighbors(X, 2).indices[2].tolist() == [0, 1]
    assert find_neighbors(X[::-1], 2).indices[2].tolist() == [0, 1]


def test_rounding_does_not_break_a_tie():
    # 0.1 + 0.2 is not 0.3: without a tolerance the second would be nearer.
    X = np.array([[0.0], [0.1 + 0.2], [-0.3], [9.0]])
    assert X[1, 0] != -X[2, 0]
    assert find_neighbors(X, 1).indices[0].tolist() == [1]


def test_distances_that_differ_in_the_tenth_digit_are_no_tie():
    X = np.array([[0.0], [1 + 1e-10], [-1.0], [9.0]])
    assert find_neighbors(X, 1).indices[0].tolist() == [2]


@pytest.mark.parametrize("name", ["auto", "exact"])
def test_auto_and_exact_are_the_same_search(name):
    X = scaled_categories()
    by_name = find_neighbors(X, 5, algorithm=name)
    assert by_name.indices.tolist() == reference.neighbors(X, 5).tolist()


@over_hard_data
@pytest.mark.usefixtures("small_blocks")
def test_cutting_the_samples_into_blocks_changes_nothing(X, cut_blocks):
    cut = find_neighbors(X, 7)
    cut_blocks(10**9)
    whole = find_neighbors(X, 7)
    assert (cut.indices == whole.indices).all()
    assert (cut.distances == whole.distances).all()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_the_number_of_threads_does_not_change_a_bit(n_jobs):
    X = scaled_categories()
    alone, together = find_neighbors(X, 7), find_neighbors(X, 7, n_jobs=n_jobs)
    assert (alone.indices == together.indices).all()
    assert (alone.distances == together.distances).all()
    labels = np.arange(60) % 4
    expected = np.array(closest_pairs(X, labels))
    assert (np.array(closest_pairs(X, labels, n_jobs=n_jobs)) == expected).all()


@pytest.mark.parametrize("unit", [1e-150, 1e-30, 1e30, 1e140])
def test_the_unit_of_the_data_does_not_change_its_neighbours(unit):
    X = random_points()
    expected = find_neighbors(X, 5)
    found = find_neighbors(X * unit, 5)
    assert (found.indices == expected.indices).all()
    np.testing.assert_allclose(found.distances, expected.distances * unit, rtol=1e-12)


# --- Ties and duplicates in tables too large for all pairs ----------------------------


def tied_tables():
    rng = np.random.default_rng(10)
    normal = rng.normal(size=(900, 4))
    far = normal.copy()
    far[7], far[8] = 1e9, -1e12
    return {
        "bits": rng.integers(0, 2, (900, 12)).astype(float),
        "few_distinct": scale(rng.integers(0, 3, (900, 4)).astype(float)),
        "integers": rng.integers(-900, 900, (900, 3)) // 300 * 300.0,
        "large_integers": rng.integers(0, 3, (900, 4)) * 3000.0 + 1e9,
        "identity": np.eye(900),
        "signed_zeros": rng.choice([0.0, -0.0, 1.0], (900, 4)),
        "one_hot": np.eye(4)[rng.integers(0, 4, (900, 6))].reshape(900, 24),
        "grid": rng.permutation(np.stack(np.divmod(np.arange(900), 30), axis=1) / 3),
        "pairs": np.repeat(normal[:450], 2, axis=0),
        "one_row_repeated": np.concatenate(
            [np.repeat(normal[:1], 500, 0), normal[500:]]
        ),
        "clumps": np.repeat(normal[:15], 60, 0) + 1e-9 * normal,
        "far_outliers": far,
    }


@pytest.mark.parametrize("name", tied_tables())
@pytest.mark.parametrize("k", [1, 7])
def test_ties_and_duplicates_are_settled_as_by_all_pairs(name, k):
    X = tied_tables()[name]
    few = np.arange(40)
    for queries, own in ((X, np.arange(900)), (X[few], few), (X[::2] + 1.0, None)):
        found = exact_module.search_all(queries, X, k, own=own)
        true = exact_module.among_all(queries, X, k, own, None)
        np.testing.assert_array_equal(found.indices, true.indices)
        np.testing.assert_array_equal(found.distances, true.distances)


@needs_loops
@pytest.mark.parametrize(
    "name", ["bits", "few_distinct", "grid", "identity", "one_hot"]
)
def test_few_rows_of_a_table_with_ties_are_compared_with_all(name, monkeypatch):
    # Twenty times the time of normal data, if all of them were.
    compared, among_all = [], exact_module.among_all

    def count(queries, *wanted):
        compared.append(len(queries))
        return among_all(queries, *wanted)

    monkeypatch.setattr(exact_module, "among_all", count)
    find_neighbors(tied_tables()[name], 2)
    assert sum(compared) <= 90


def clusters_of_all_widths(n=2400):
    """Return clusters 1, 1e-2, ... 1e-10 wide, far from each other."""
    rng = np.random.default_rng(6)
    which = rng.integers(0, 6, n)
    width = 10.0 ** (-2 * which)[:, None]
    return 3 * rng.normal(size=(6, 5))[which] + width * rng.normal(size=(n, 5))


@needs_loops
@pytest.mark.parametrize("as_queries", [False, True])
def test_narrow_clusters_are_searched_from_inside(monkeypatch, as_queries):
    monkeypatch.setattr(close_up, "FEWEST", 32)
    monkeypatch.setattr(exact_module, "FEWEST", 32)
    X = clusters_of_all_widths()
    queries, own = (X[::2] + 1e-12, None) if as_queries else (X, np.arange(len(X)))
    true = exact_module.among_all(queries, X, 7, own, None)
    searched, settle = [], exact_module.settle_clusters

    def count(*wanted):
        settled, found = settle(*wanted)
        searched.append(settled.sum())
        return settled, found

    monkeypatch.setattr(exact_module, "settle_clusters", count)
    found = exact_module.search_all(queries, X, 7, own=own)
    assert sum(searched) > len(queries) / 3
    np.testing.assert_array_equal(found.indices, true.indices)
    np.testing.assert_array_equal(found.distances, true.distances)


@pytest.mark.parametrize("power", [-73, -60, -480, 60, 480])
def test_units_of_any_size_have_the_same_neighbours(power):
    X = np.random.default_rng(0).normal(size=(3000, 4))
    expected, found = find_neighbors(X, 10), find_neighbors(X * 2.0**power, 10)
    np.testing.assert_array_equal(found.indices, expected.indices)


@needs_loops
@pytest.mark.parametrize("squared", [1e37, 3.2e38, 3.38e38, 3.4e38, 1e40])
def test_new_samples_at_the_end_of_single_precision_find_the_nearest(squared):
    X = np.random.default_rng(0).normal(size=(1000, 3)) * [1e18, 1e15, 1e15]
    queries = X.mean(axis=0) + np.array([[squared**0.5, 0, 0]])
    found = exact_module.search_all(queries, X, 5)
    true = exact_module.among_all(queries, X, 5, None, None)
    np.testing.assert_array_equal(found.indices, true.indices)


def test_rows_of_equal_hash_that_differ_are_kept_apart(monkeypatch):
    monkeypatch.setattr(distinct, "_hash", lambda X: np.zeros(len(X), np.uint64))
    assert distinct.find_distinct(random_points()) is None
    X = tied_tables()["few_distinct"]
    found = find_neighbors(X, 5)
    monkeypatch.undo()
    np.testing.assert_array_equal(found.indices, find_neighbors(X, 5).indices)


# --- New samples ----------------------------------------------------------------------


@over_hard_data
def test_query_search_equals_brute_force(X):
    rng = np.random.default_rng(8)
    between = (X[rng.integers(0, len(X), 15)] + X[rng.integers(0, len(X), 15)]) / 2
    for queries in (X[:9], between):
        found = find_query_neighbors(queries, X, 6)
        expected = np.sort(query_reference(queries, X, 6), axis=1)
        assert np.sort(found.indices, axis=1).tolist() == expected.tolist()
        at = cdist(queries, X)[np.arange(len(queries))[:, None], found.indices]
        np.testing.assert_allclose(found.distances, at, rtol=1e-9, atol=1e-12)


def test_a_training_sample_at_distance_zero_is_a_neighbour_of_a_query():
    X = random_points()
    found = find_query_neighbors(X, X, 3)
    assert found.indices[:, 0].tolist() == list(range(60))
    assert (found.distances[:, 0] == 0).all()
    assert (found.distances[:, 1] > 0).all()
    assert (found.indices[:, 1:] == find_neighbors(X, 2).indices).all()


def test_a_query_keeps_all_of_its_duplicates():
    X = duplicates()
    found = find_query_neighbors(X[[7]], X, 6)
    assert found.indices[0, :5].tolist() == [5, 6, 7, 8, 9]
    assert (found.distances[0] == 0).tolist() == [True] * 5 + [False]


def test_a_query_can_have_every_training_sample_as_neighbour():
    X = random_points()
    found = find_query_neighbors(X[:2] + 0.01, X, 60)
    assert np.sort(found.indices, axis=1).tolist() == [list(range(60))] * 2


def test_a_query_very_far_away_still_has_neighbours():
    X, query = random_points(), np.full((1, 4), 1e9)
    found = find_query_neighbors(query, X, 3)
    assert found.indices.tolist() == query_reference(query, X, 3).tolist()


def tight_cluster_in_wide_data():
    rng = np.random.default_rng(9)
    return np.concatenate([1e-7 * rng.normal(size=(30, 2)), rng.normal(size=(30, 2))])


def test_neighbours_are_listed_nearest_first_inside_a_tight_cluster():
    distances = find_neighbors(tight_cluster_in_wide_data(), 45).distances
    assert (np.diff(distances, axis=1) >= -1e-11 * distances[:, 1:]).all()


def test_a_training_sample_of_a_tight_cluster_is_its_own_nearest_as_a_query():
    X = tight_cluster_in_wide_data()
    found = find_query_neighbors(X, X, 45)
    assert (found.distances[:, 0] == 0).all()


def test_a_tight_cluster_stays_in_place_when_it_is_transformed():
    X = tight_cluster_in_wide_data()
    model = pf.klap().fit(X, np.repeat([0, 1], 30))
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-12)


# --- Transformers ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [random_points(), far_from_the_origin(), more_features_than_samples()],
    ids=["random", "far", "wide"],
)
@pytest.mark.parametrize("algorithm", ["brute", "ball_tree", "kd_tree"])
def test_a_knn_transformer_finds_what_the_exact_search_finds(X, algorithm):
    transformer = KNeighborsTransformer(algorithm=algorithm)
    found = find_neighbors(X, 6, algorithm=transformer)
    exact = find_neighbors(X, 6)
    assert (found.indices == exact.indices).all()
    np.testing.assert_allclose(found.distances, exact.distances, rtol=1e-14)


def test_a_knn_transformer_is_asked_for_our_number():
    transformer = KNeighborsTransformer(n_neighbors=2)
    found = find_neighbors(random_points(), 6, algorithm=transformer)
    assert found.indices.shape == (60, 6)


def test_an_estimator_leaves_the_transformer_of_the_user_alone():
    transformer = KNeighborsTransformer(n_neighbors=2)
    model = pf.PatchIsomap(n_neighbors=6, neighbors_algorithm=transformer)
    model.fit(random_points()).transform(random_points()[:3])
    assert model.neighbors_algorithm is transformer
    assert transformer.n_neighbors == 2
    assert not hasattr(transformer, "n_samples_fit_")


def test_a_knn_transformer_excludes_a_sample_by_position_among_duplicates():
    X = duplicates()
    found = find_neighbors(X, 4, algorithm=KNeighborsTransformer(n_neighbors=9))
    assert (found.indices != np.arange(60)[:, None]).all()
    assert (found.distances == 0).all()


class EveryPair(TransformerMixin, BaseEstimator):
    """A search that stores all pairs, unsorted, with distances that mean nothing."""

    def fit(self, X, y=None):
        self.n_ = len(X)
        return self

    def transform(self, X):
        return np.ones((len(X), self.n_))


def test_distances_of_a_transformer_are_measured_again():
    X = scaled_categories()
    found = find_neighbors(X, 5, algorithm=EveryPair())
    exact = find_neighbors(X, 5)
    assert (found.indices == exact.indices).all()
    assert (found.distances == exact.distances).all()


@over_graph_embeddings
@pytest.mark.parametrize(
    "algorithm", [KNeighborsTransformer(), EveryPair()], ids=["knn", "every_pair"]
)
def test_an_estimator_gives_the_same_with_a_transformer(estimator, algorithm):
    X = random_points()
    exact = estimator(n_neighbors=8).fit(X[:50])
    found = estimator(n_neighbors=8, neighbors_algorithm=algorithm).fit(X[:50])
    assert (found.graph_ != exact.graph_).nnz == 0
    assert (found.embedding_ == exact.embedding_).all()
    assert (found.transform(X[50:]) == exact.transform(X[50:])).all()


def test_a_transformer_that_returns_too_few_is_named():
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    near = RadiusNeighborsTransformer(radius=1.5)
    with pytest.raises(
        ValueError,
        match=r"^neighbors_algorithm returned only 0 neighbours for sample 3, but "
        r"n_neighbors=2 are needed; raise its n_neighbors or lower ours\.$",
    ):
        find_neighbors(X, 2, algorithm=near)


def test_a_transformer_that_returns_too_few_for_a_query_is_named():
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    search = RadiusNeighborsTransformer(radius=1.5).fit(X)
    with pytest.raises(
        ValueError,
        match=r"^neighbors_algorithm returned only 2 neighbours for sample 1, but "
        r"n_neighbors=3 are needed; raise its n_neighbors or lower ours\.$",
    ):
        find_query_neighbors(np.array([[1.1], [0.2]]), X, 3, search=search)


# --- How many -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "n", "used"),
    [
        (1, 10, 1),
        (9, 10, 9),
        (np.int64(4), 10, 4),
        (0.75, 150, 112),
        (0.5, 10, 5),
        (np.float32(0.5), 10, 5),
        (1.0, 10, 9),
        (0.95, 10, 9),
        (0.01, 10, 1),
        (1e-9, 2, 1),
        (Fraction(1, 2), 10, 5),
    ],
)
def test_a_count_is_itself_and_a_fraction_is_of_the_samples(asked, n, used):
    resolved = resolve_n_neighbors(asked, n)
    assert resolved == used
    assert type(resolved) is int


@pytest.mark.parametrize("asked", [10, 11, np.int64(500)])
def test_a_count_above_the_other_samples_is_lowered_with_a_warning(asked):
    with pytest.warns(
        NeighborCountWarning,
        match=rf"^n_neighbors={asked} exceeds the 9 other samples; n_neighbors=9 is "
        r"used\. Lower n_neighbors or add samples\.$",
    ):
        assert resolve_n_neighbors(asked, 10) == 9


# --- Closest pairs of groups ----------------------------------------------------------


def brute_force_pairs(D, labels):
    """Closest pair of each two groups, equal ones by (row, column)."""
    pairs = []
    n_groups = max(labels) + 1
    for a in range(n_groups):
        for b in range(a + 1, n_groups):
            candidates = [
                (D[i, j], i, j)
                for i in np.flatnonzero(labels == a)
                for j in np.flatnonzero(labels == b)
            ]
            pairs.append(min(candidates)[1:])
    return pairs


def squared_distances(X):
    return np.array([[reference.squared_distance(a, b) for b in X] for a in X])


@pytest.mark.parametrize("block_bytes", [1, 5_000, 10**8])
@pytest.mark.parametrize(
    "X",
    [random_points(), grid(), far_from_the_origin(), tiny_clusters_far_apart()],
    ids=["random", "grid", "far", "clusters"],
)
def test_closest_pairs_equal_brute_force(X, block_bytes, cut_blocks):
    cut_blocks(block_bytes)
    rng = np.random.default_rng(10)
    D = squared_distances(X)
    for n_groups in (2, 5):
        labels = rng.integers(-1, n_groups, size=len(X))
        expected = brute_force_pairs(D, labels)
        for table, precomputed in ((X, False), (D, True)):
            row, column = closest_pairs(table, labels, precomputed=precomputed)
            assert list(zip(row.tolist(), column.tolist(), strict=True)) == expected


@settings(max_examples=30)
@given(data=st.data())
def test_closest_pairs_equal_brute_force_on_any_small_lattice(data):
    X = data.draw(arrays(float, (9, 2), elements=st.integers(-2, 2)))
    others = data.draw(st.lists(st.integers(-1, 2), min_size=6, max_size=6))
    labels = np.array(data.draw(st.permutations([0, 1, 2, *others])))
    expected = brute_force_pairs(squared_distances(X), labels)
    row, column = closest_pairs(X, labels)
    assert list(zip(row.tolist(), column.tolist(), strict=True)) == expected


def test_samples_of_no_group_join_nothing():
    X = np.array([[0.0], [1.0], [1.1], [2.0]])
    row, column = closest_pairs(X, np.array([0, -1, -1, 1]))
    assert (row.tolist(), column.tolist()) == ([0], [3])


def test_precomputed_closest_pairs_do_not_change_the_matrix():
    D = squared_distances(grid())
    before = D.copy()
    closest_pairs(D, np.arange(49) % 3, precomputed=True)
    np.testing.assert_array_equal(D, before)


@pytest.mark.parametrize("kind", ["cloud", "grid", "duplicates"])
@pytest.mark.parametrize("training", [True, False])
def test_the_search_among_many_equals_the_search_among_all(kind, training, monkeypatch):
    rng = np.random.default_rng(1)
    X = {
        "cloud": rng.normal(size=(400, 4)),
        "grid": rng.integers(0, 4, size=(400, 3)).astype(float),
        "duplicates": np.repeat(rng.normal(size=(20, 3)), 20, axis=0),
    }[kind]
    queries = X[::3] + (kind == "cloud")

    def search():
        if training:
            return find_neighbors(X, 6)
        return find_query_neighbors(queries, X, 6)

    expected = search()
    monkeypatch.setattr(exact_module, "FEW", 10)
    found = search()
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-12)
