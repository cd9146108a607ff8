"""Edges, components, weights and shortest paths, and graphs that fall apart."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import reference
from helpers.comparing import edges_of
from helpers.estimators import over_graph_embeddings
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.manifold import Isomap
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import patchfold as pf
from patchfold.exceptions import DisconnectedGraphWarning, VanishingWeightsWarning
from patchfold.graph import connectivity
from patchfold.graph.connectivity import closed_components
from patchfold.graph.paths import geodesics
from patchfold.graph.weights import (
    complete_graph,
    edge_weights,
    find_pieces,
    laplacian,
    pairs_from_directed,
)
from patchfold.neighbors.choice import find_neighbors
from patchfold.records import EdgeList


def relation(text, n):
    """Read "0>1 1>0" as: 1 is a neighbour of 0, and 0 of 1."""
    arrows = np.array([arrow.split(">") for arrow in text.split()], dtype=int)
    return pairs_from_directed(n, arrows[:, 0], arrows[:, 1])


def edge_list(lengths, n):
    """Make an EdgeList of a dictionary from (i, j) to a length."""
    ends = np.array(list(lengths))
    pairs = pairs_from_directed(n, ends[:, 0], ends[:, 1])
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    return EdgeList(pairs, np.array(list(lengths.values()), dtype=float)[order])


def groups(labels):
    """Return the groups of a labelling as a set of sets; -1 belongs to none."""
    return {
        frozenset(np.flatnonzero(labels == label).tolist())
        for label in np.unique(labels)
        if label >= 0
    }


# --- Edges ----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 19])
def test_the_graph_is_the_union_of_the_neighbour_relation(k):
    indices = find_neighbors(np.random.default_rng(0).normal(size=(20, 3)), k).indices
    pairs = edges_of(indices)
    found = list(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True))
    assert found == reference.edges(indices)


def test_a_mutual_pair_is_one_edge_and_a_one_sided_pair_is_an_edge():
    pairs = edges_of(np.array([[1], [0], [1], [2]]))
    assert pairs.source.tolist() == [0, 1, 2]
    assert pairs.target.tolist() == [1, 2, 3]
    assert pairs.row.tolist() == [0, 1, 2, 3]
    assert pairs.column.tolist() == [1, 0, 1, 2]
    assert pairs.edge.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize(
    "pairs",
    [
        edges_of(
            find_neighbors(np.random.default_rng(1).normal(size=(30, 2)), 4).indices
        ),
        relation("5>1 0>5 3>2 2>3 4>0 1>2 0>1 5>0", 6),
        complete_graph(7),
    ],
    ids=["neighbours", "unsorted", "complete"],
)
def test_every_direction_points_at_its_own_edge(pairs):
    ends = np.sort(np.stack([pairs.row, pairs.column]), axis=0)
    assert (pairs.source[pairs.edge] == ends[0]).all()
    assert (pairs.target[pairs.edge] == ends[1]).all()
    assert set(pairs.edge.tolist()) == set(range(pairs.source.size))
    assert (pairs.source < pairs.target).all()
    assert (np.diff(pairs.row) >= 0).all()
    edges = list(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True))
    assert edges == sorted(set(edges))


def test_the_neighbours_of_a_row_keep_their_order():
    pairs = edges_of(np.array([[2, 1], [0, 2], [1, 0]]))
    assert pairs.column.reshape(3, 2).tolist() == [[2, 1], [0, 2], [1, 0]]


def test_the_complete_graph_has_every_pair_in_both_directions():
    pairs = complete_graph(4)
    edges = list(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True))
    assert edges == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    directed = list(zip(pairs.row.tolist(), pairs.column.tolist(), strict=True))
    assert directed == [(i, j) for i in range(4) for j in range(4) if i != j]


def test_an_edge_list_becomes_a_symmetric_matrix():
    edges = edge_list({(0, 1): 2.0, (1, 3): 0.0, (0, 2): 5.0}, 4)
    matrix = edges.graph
    assert matrix.toarray().tolist() == [
        [0, 2, 5, 0],
        [2, 0, 0, 0],
        [5, 0, 0, 0],
        [0, 0, 0, 0],
    ]
    assert matrix.nnz == 6
    weights = edges.to_csr(np.array([1.0, 2.0, 3.0])).toarray()
    assert (weights[0, 1], weights[0, 2], weights[1, 3]) == (1, 2, 3)
    assert (weights == weights.T).all()


# --- Components -----------------------------------------------------------------------

HAND_WRITTEN = {
    # name: relation, n, weak components, closed groups
    "one": ("0>1 1>2 2>3 3>0", 4, [{0, 1, 2, 3}], [{0, 1, 2, 3}]),
    "two": ("0>1 1>0 2>3 3>2", 4, [{0, 1}, {2, 3}], [{0, 1}, {2, 3}]),
    "tail": ("0>1 1>2 2>0 3>0", 4, [{0, 1, 2, 3}], [{0, 1, 2}]),
    "bridge": ("0>1 1>0 2>1 2>3 3>4 4>3", 5, [{0, 1, 2, 3, 4}], [{0, 1}, {3, 4}]),
    "chain": ("0>1 1>0 2>0 3>2 3>4 4>5 5>4", 6, [set(range(6))], [{0, 1}, {4, 5}]),
    "bridge_and_more": (
        "0>1 1>0 2>1 2>3 3>2 3>1 4>5 5>4",
        6,
        [{0, 1, 2, 3}, {4, 5}],
        [{0, 1}, {4, 5}],
    ),
    "three": (
        "0>1 1>0 2>3 3>2 4>5 5>4",
        6,
        [{0, 1}, {2, 3}, {4, 5}],
        [{0, 1}, {2, 3}, {4, 5}],
    ),
}
over_hand_written = pytest.mark.parametrize(
    ("text", "n", "weak", "closed"), HAND_WRITTEN.values(), ids=HAND_WRITTEN
)


@over_hand_written
def test_weak_components_are_those_of_the_undirected_graph(text, n, weak, closed):
    pairs = relation(text, n)
    count, labels = find_pieces(n, pairs.source, pairs.target)
    assert count == len(weak)
    assert groups(labels) == set(map(frozenset, weak))


@over_hand_written
def test_closed_groups_are_those_no_neighbour_leaves(text, n, weak, closed):
    found = closed_components(relation(text, n))
    count, labels = found.count, found.labels
    assert count == len(closed)
    assert groups(labels) == set(map(frozenset, closed))
    assert set(labels.tolist()) - {-1} == set(range(count))


def test_a_sample_without_neighbours_is_a_component():
    pairs = relation("0>1 1>0", 3)
    assert find_pieces(pairs.n_samples, pairs.source, pairs.target)[0] == 2
    assert groups(closed_components(pairs).labels) == {
        frozenset({0, 1}),
        frozenset({2}),
    }


# --- Zero is a length -----------------------------------------------------------------


def test_geodesics_walk_along_edges_of_length_zero():
    graph = edge_list({(0, 1): 0.0, (1, 2): 1.5, (2, 3): 0.0}, 4).graph
    assert geodesics(graph).tolist() == [
        [0, 0, 1.5, 1.5],
        [0, 0, 1.5, 1.5],
        [1.5, 1.5, 0, 0],
        [1.5, 1.5, 0, 0],
    ]


@over_graph_embeddings
def test_edges_between_duplicates_stay_stored_in_the_graph(estimator):
    X = np.random.default_rng(2).normal(size=(30, 3))
    X[10:20] = X[:10]
    model = estimator(n_neighbors=6, dissimilarity="euclidean").fit(X)
    lengths = reference.euclidean_lengths(X, 6)
    assert model.graph_.nnz == 2 * len(lengths)
    stored = model.graph_.tocoo()
    found = dict(
        zip(
            zip(stored.row.tolist(), stored.col.tolist(), strict=True),
            stored.data.tolist(),
            strict=True,
        )
    )
    assert all((i, j) in found and (j, i) in found for i, j in lengths)
    assert {found[i, i + 10] for i in range(10)} == {0.0}


def test_duplicates_are_at_geodesic_distance_zero():
    X = np.random.default_rng(3).normal(size=(30, 3))
    X[10:20] = X[:10]
    model = pf.PatchIsomap(n_neighbors=6, dissimilarity="euclidean").fit(X)
    assert (model.geodesics_[np.arange(10), np.arange(10, 20)] == 0).all()
    expected = reference.geodesics(reference.euclidean_lengths(X, 6), 30)
    np.testing.assert_allclose(model.geodesics_, expected, rtol=1e-12)


def test_a_zero_length_is_a_weight_of_one():
    edges = edge_list({(0, 1): 0.0, (1, 2): 2.0}, 3)
    weights = edges.to_csr(edge_weights(edges, 4.0)[0]).toarray()
    np.testing.assert_allclose(weights[0], [0, 1, 0])
    np.testing.assert_allclose(weights[2], [0, np.exp(-1), 0])


# --- Shortest paths -------------------------------------------------------------------


def test_geodesics_equal_floyd_and_warshall():
    X = np.random.default_rng(4).normal(size=(25, 2))
    lengths = reference.euclidean_lengths(X, 4)
    graph = edge_list(lengths, 25).graph
    expected = reference.geodesics(lengths, 25)
    np.testing.assert_allclose(geodesics(graph), expected, rtol=1e-12)
    some = geodesics(graph, np.array([7, 3]))
    np.testing.assert_allclose(some, expected[[7, 3]], rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_geodesics_do_not_depend_on_blocks_or_threads(n_jobs, cut_blocks):
    X = np.random.default_rng(5).normal(size=(40, 2))
    graph = edge_list(reference.euclidean_lengths(X, 5), 40).graph
    whole = geodesics(graph)
    cut_blocks(2_000)
    assert (geodesics(graph, n_jobs=n_jobs) == whole).all()


# --- Weights --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
def test_the_laplacian_takes_every_sparse_format(kind):
    table = np.array([[0.0, 1, 0], [2, 0, 1], [0, 5, 0]])  # as no graph has it
    found, degrees = laplacian(sp.csr_array(table).asformat(kind))
    np.testing.assert_array_equal(found.toarray(), np.diag(degrees) - table)


@pytest.mark.parametrize("place", [-1, 3])
def test_places_that_are_no_samples_are_refused(place):
    """SciPy refuses them too, where nothing is compiled."""
    with pytest.raises((IndexError, ValueError)):
        find_pieces(3, np.array([0]), np.array([place]))


def test_the_laplacian_is_degrees_less_weights():
    lengths = {(0, 1): 1.0, (1, 2): 2.0, (0, 3): 0.0}
    edges = edge_list(lengths, 4)
    W, D, L = reference.laplacian(lengths, 4, 3.0)
    weights = edges.to_csr(edge_weights(edges, 3.0)[0])
    found, degrees = laplacian(weights)
    np.testing.assert_allclose(weights.toarray(), W)
    np.testing.assert_allclose(degrees, np.diag(D))
    np.testing.assert_allclose(found.toarray(), L)


def chain(*lengths):
    return edge_list({(i, i + 1): d for i, d in enumerate(lengths)}, len(lengths) + 1)


def test_weights_that_fall_apart_are_reported():
    with pytest.warns(
        VanishingWeightsWarning,
        match=re.escape(
            "kernel_width=0.008 lets 25 % of the edge weights vanish, and what is left "
            "holds the samples in 2 separate pieces: the embedding mostly tells these "
            "apart. Set kernel_width='auto', the median squared dissimilarity, 0.01."
        ),
    ):
        weights = edge_weights(chain(0.1, 0.1, 3.0, 0.1), 0.008)[0]
    np.testing.assert_allclose(weights[[0, 1, 3]], np.exp(-0.01 / 0.008))
    assert 0 < weights[2] < 1e-300


def test_a_width_that_is_wide_already_is_not_told_to_be_automatic():
    with pytest.warns(
        VanishingWeightsWarning,
        match=re.escape("these apart. Raise n_neighbors, radius or kernel_width."),
    ):
        edge_weights(chain(0.1, 0.1, 3.0, 0.1), 0.02)


def test_vanishing_weights_that_hold_nothing_are_not_reported():
    # A triangle stays together when its longest side goes.
    edges = edge_list({(0, 1): 0.1, (1, 2): 0.1, (0, 2): 5.0}, 3)
    weights = edge_weights(edges, 0.01)[0]
    assert weights[1] < 1e-300
    assert (weights > 0).all()


@pytest.mark.parametrize("lengths", [(40.0, 50.0, 60.0), (100.0, 100.0, 101.0)])
def test_weights_that_all_vanish_are_reported(lengths):
    with pytest.warns(VanishingWeightsWarning, match=r"^kernel_width=1 lets \d+ % of"):
        edge_weights(chain(*lengths), 1.0)


@pytest.mark.parametrize("laplacian", ["random_walk", "unnormalized"])
def test_a_kernel_far_too_narrow_for_the_data_is_reported(laplacian):
    X = 1e4 * np.random.default_rng(6).normal(size=(30, 3))
    model = pf.PatchEigenmaps(
        n_neighbors=6, dissimilarity="euclidean", kernel_width=1.0, laplacian=laplacian
    )
    with pytest.warns(VanishingWeightsWarning, match=r"^kernel_width=1 lets \d+ % of"):
        model.fit(X)
    assert np.isfinite(model.embedding_).all()


def test_equal_lengths_do_not_fall_apart():
    weights = edge_weights(chain(2.0, 2.0, 2.0), 1.0)[0]
    np.testing.assert_allclose(weights, np.exp(-4))


# --- Data in pieces -------------------------------------------------------------------


def two_blobs(gap=8.0):
    rng = np.random.default_rng(7)
    first, second = rng.normal(size=(20, 3)), rng.normal(size=(25, 3))
    return np.concatenate([first, second + gap])


COMPONENTS = "connected components (of 25, 20 samples)"
CLOSED = "groups whose neighbours are all their own (of 25, 19 samples)"


@pytest.mark.parametrize("dissimilarity", ["euclidean", "kl", "curvature"])
@over_graph_embeddings
def test_two_blobs_are_joined_with_a_warning(estimator, dissimilarity):
    X = two_blobs()
    model = estimator(n_neighbors=6, dissimilarity=dissimilarity)
    if "kernel_width" in model.get_params():
        model.set_params(kernel_width=1e6)
    what = CLOSED if estimator._joins_closed_groups else COMPONENTS
    message = (
        f"The neighbour graph has 2 {what} with n_neighbors=6. They were joined by "
        "their closest pairs, and what lies between them is not to be trusted. Raise "
        "n_neighbors to avoid this."
    )
    with pytest.warns(DisconnectedGraphWarning) as record:
        model.fit(X)
    assert [str(warning.message) for warning in record] == [message]
    assert model.n_connected_components_ == 2
    assert connected_components(model.graph_)[0] == 1
    assert model.embedding_.shape == (45, 2)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.transform(X + 0.1)).all()


@over_graph_embeddings
def test_blobs_are_joined_by_their_closest_pair_and_nothing_else(estimator):
    X = two_blobs()
    model = estimator(n_neighbors=6, dissimilarity="euclidean")
    if "kernel_width" in model.get_params():
        model.set_params(kernel_width=1e6)
    with pytest.warns(DisconnectedGraphWarning, match="has 2 "):
        model.fit(X)
    between = model.graph_[:20, 20:].tocoo()
    gaps = cdist(X[:20], X[20:])
    if estimator._joins_closed_groups:  # joins closed groups: here all but one sample
        labels = closed_components(edges_of(find_neighbors(X, 6).indices)).labels
        gaps[(labels < 0)[:20]] = np.inf
        gaps[:, (labels < 0)[20:]] = np.inf
    closest = np.unravel_index(gaps.argmin(), gaps.shape)
    assert [(i, j) for i, j in zip(between.row, between.col, strict=True)] == [closest]
    np.testing.assert_allclose(between.data, gaps.min(), rtol=1e-12)


def test_isomap_on_two_blobs_equals_that_of_scikit_learn():
    X = two_blobs()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of connected components")
        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
        theirs = Isomap(n_neighbors=6, n_components=3).fit(X)
    model = pf.PatchIsomap(3, n_neighbors=6, dissimilarity="euclidean")
    with pytest.warns(DisconnectedGraphWarning, match="has 2 connected components"):
        model.fit(X)
    np.testing.assert_allclose(model.geodesics_, theirs.dist_matrix_, rtol=1e-10)
    signs = np.sign((model.embedding_ * theirs.embedding_).sum(axis=0))
    np.testing.assert_allclose(
        model.embedding_, signs * theirs.embedding_, atol=1e-9, rtol=0
    )


def test_many_pieces_are_counted_and_the_largest_five_named():
    rng = np.random.default_rng(8)
    sizes = [6, 7, 8, 9, 10, 11, 12]
    X = np.concatenate(
        [100.0 * i + rng.normal(size=(size, 2)) for i, size in enumerate(sizes)]
    )
    with pytest.warns(
        DisconnectedGraphWarning,
        match=re.escape("7 connected components (of 12, 11, 10, 9, 8, ... samples)"),
    ):
        model = pf.PatchIsomap(n_neighbors=5, dissimilarity="euclidean").fit(X)
    assert model.n_connected_components_ == 7
    assert connected_components(model.graph_)[0] == 1


def bridge():
    """Return two triples and a sample between them that nobody has as neighbour."""
    return np.array([[0.0], [0.1], [0.2], [5.1], [10.0], [10.1], [10.2]])


def test_closed_groups_are_joined_though_the_graph_is_connected():
    X = bridge()
    pairs = edges_of(find_neighbors(X, 2).indices)
    assert find_pieces(pairs.n_samples, pairs.source, pairs.target)[0] == 1
    assert closed_components(pairs).count == 2
    with pytest.warns(
        DisconnectedGraphWarning,
        match=re.escape(
            "The neighbour graph has 2 groups whose neighbours are all their own (of "
            "3, 3 samples) with n_neighbors=2."
        ),
    ):
        model = pf.PatchLLE(1, n_neighbors=2, dissimilarity="euclidean").fit(X)
    assert model.n_connected_components_ == 1
    np.testing.assert_allclose(model.graph_[2, 4], 9.8)
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1)
    # Not the indicator of a group: that would have a residual of rounding only.
    assert model.eigenvalues_[0] > 1e-10


def test_a_connected_graph_with_closed_groups_is_no_matter_without_directions():
    model = pf.PatchIsomap(1, n_neighbors=2, dissimilarity="euclidean").fit(bridge())
    assert model.n_connected_components_ == 1
    np.testing.assert_allclose(np.ptp(model.embedding_), 10.2)


@over_graph_embeddings
def test_connected_data_are_not_touched(estimator):
    X = np.random.default_rng(9).normal(size=(40, 3))
    model = estimator(n_neighbors=8, dissimilarity="euclidean").fit(X)
    assert model.n_connected_components_ == 1
    assert model.graph_.nnz == 2 * len(reference.euclidean_lengths(X, 8))


def fit(model, X):
    return model.fit(X)


def fit_transform(model, X):
    return model.fit_transform(X)


def fit_in_pipeline(model, X):
    return make_pipeline(StandardScaler(), model).fit(X)


@pytest.mark.parametrize("call", [fit, fit_transform, fit_in_pipeline])
def test_a_warning_points_at_the_line_of_the_user(call):
    model = pf.PatchIsomap(n_neighbors=6, dissimilarity="euclidean")
    with pytest.warns(DisconnectedGraphWarning, match="has 2 ") as record:
        call(model, two_blobs())
    assert [warning.filename for warning in record] == [__file__]
    assert record[0].lineno == call.__code__.co_firstlineno + 1


@pytest.mark.parametrize(("n_groups", "m"), [(2, 3), (7, 20), (12, 2)])
def test_of_many_samples_the_closest_pairs_are_found_from_both_sides(
    n_groups, m, monkeypatch
):
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(0, n_groups, 1500))
    labels[-1] = n_groups  # alone in its group
    middles = 20 * rng.normal(size=(n_groups + 1, m))
    middles[0] += 1e8  # and one is far from the others
    X = middles[labels] + rng.normal(size=(1500, m))
    exact = connectivity.closest_pairs(X, labels)
    monkeypatch.setattr(connectivity, "EXACT", 0)
    monkeypatch.setattr(connectivity, "_candidates", None)  # compares all pairs
    for n_jobs in (1, 2):
        nearly = connectivity.closest_pairs(X, labels, n_jobs=n_jobs)
        apart = labels[exact[0]] > 0  # from 1e8 away all are equally near
        np.testing.assert_array_equal(
            np.array(nearly)[:, apart], np.array(exact)[:, apart]
        )
        np.testing.assert_array_equal(labels[np.array(nearly)], labels[np.array(exact)])


@pytest.mark.parametrize("n_edges", [0, 30, 80, 400])
def test_pieces_are_labelled_by_their_smallest_sample(n_edges):
    ends = np.random.default_rng(n_edges).integers(0, 150, size=(2, n_edges))
    count, labels = find_pieces(150, *ends)
    assert count == labels.max() + 1
    assert (labels[ends[0]] == labels[ends[1]]).all()
    first = np.unique(labels, return_index=True)[1]
    assert (np.diff(first) > 0).all()
