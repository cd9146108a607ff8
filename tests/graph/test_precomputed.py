"""Matrices of dissimilarities in place of features: dense, sparse, and refused."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.estimators import over_graph_embeddings
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.manifold import trustworthiness
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

import patchfold as pf
from patchfold.exceptions import DisconnectedGraphError, DisconnectedGraphWarning

X = np.random.default_rng(0).normal(size=(50, 3))
NEW = np.random.default_rng(1).normal(size=(12, 3))
D = cdist(X, X)


def stored(graph):
    """Return a sparse matrix as a dictionary, so that zeros count."""
    coo = sp.coo_array(graph)
    ends = zip(coo.row.tolist(), coo.col.tolist(), strict=True)
    return dict(zip(ends, coo.data.tolist(), strict=True))


def assert_same_graph(found, expected, rtol=0.0):
    found, expected = stored(found), stored(expected)
    assert found.keys() == expected.keys()
    np.testing.assert_allclose(
        [found[ends] for ends in expected], list(expected.values()), rtol=rtol
    )


def nearest_only(matrix, k):
    """Keep the k smallest entries of every row, stored, zeros included."""
    order = np.argsort(matrix, axis=1)[:, :k]
    row = np.repeat(np.arange(len(matrix)), k)
    data = np.take_along_axis(matrix, order, axis=1).ravel()
    return sp.csr_array((data, (row, order.ravel())), shape=matrix.shape)


# --- Equal to features ----------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        pf.PatchIsomap(n_neighbors=7),
        pf.PatchIsomap(3, n_neighbors=0.3),
        pf.PatchIsomap(n_neighbors=49),
        pf.PatchEigenmaps(n_neighbors=7),
        pf.PatchEigenmaps(n_neighbors=7, laplacian="unnormalized", kernel_width=2.0),
        pf.CauchyEmbedding(n_neighbors=7),
        pf.CauchyEmbedding(n_neighbors=None),
    ],
    ids=str,
)
def test_a_dense_matrix_of_distances_equals_the_features_it_came_from(model):
    features = clone(model).set_params(dissimilarity="euclidean").fit(X)
    matrix = clone(model).set_params(dissimilarity="precomputed").fit(D)
    assert_same_graph(matrix.graph_, features.graph_, rtol=1e-12)
    np.testing.assert_allclose(matrix.embedding_, features.embedding_, atol=1e-7)
    assert matrix.n_neighbors_ == features.n_neighbors_
    placed = matrix.transform(cdist(NEW, X))
    np.testing.assert_allclose(placed, features.transform(NEW), atol=1e-7)


def test_reconstruction_weights_from_a_matrix_are_pelle_weights_of_its_entries():
    def distance(left, right):
        return np.sqrt(((left.center - right.center) ** 2).sum(axis=1))

    features = pf.PatchLLE(n_neighbors=7, dissimilarity=distance).fit(X)
    matrix = pf.PatchLLE(n_neighbors=7, dissimilarity="precomputed").fit(D)
    assert_same_graph(matrix.weights_, features.weights_, rtol=1e-8)
    np.testing.assert_allclose(matrix.embedding_, features.embedding_, atol=1e-7)
    placed = matrix.transform(cdist(NEW, X))
    np.testing.assert_allclose(placed, features.transform(NEW), atol=1e-6)


def test_reconstruction_weights_of_nearly_equal_large_entries_sum_to_one():
    rng = np.random.RandomState(0)
    D = 3e5 * (1 + 1e-15 * rng.randint(0, 4, (12, 12)))
    D = np.triu(D, 1) + np.triu(D, 1).T
    model = pf.PatchLLE(n_neighbors=5, dissimilarity="precomputed").fit(D)
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1, rtol=0, atol=1e-12)


@over_graph_embeddings
def test_training_rows_of_the_matrix_keep_their_places(estimator):
    model = estimator(n_neighbors=7, dissimilarity="precomputed").fit(D)
    np.testing.assert_allclose(model.transform(D), model.embedding_, atol=1e-12)


def test_a_matrix_of_similarities_is_told_by_its_diagonal():
    similarities = np.exp(-(D**2))
    with pytest.raises(ValueError, match="Is this a matrix of similarities"):
        pf.PatchIsomap(dissimilarity="precomputed").fit(similarities)


@over_graph_embeddings
def test_the_matrix_is_not_changed(estimator):
    matrix, queries = D.copy(), cdist(NEW, X)
    matrix.flags.writeable = queries.flags.writeable = False
    model = estimator(n_neighbors=7, dissimilarity="precomputed").fit(matrix)
    before = queries.copy()
    model.transform(queries)
    np.testing.assert_array_equal(matrix, D)
    np.testing.assert_array_equal(queries, before)


# --- Sparse graphs --------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil"])
def test_a_symmetric_neighbour_graph_equals_the_features(layout):
    graph = kneighbors_graph(X, 7, mode="distance")
    graph = graph.maximum(graph.T).asformat(layout)
    features = pf.PatchIsomap(n_neighbors=7, dissimilarity="euclidean").fit(X)
    model = pf.PatchIsomap(n_neighbors=7, dissimilarity="precomputed").fit(graph)
    assert_same_graph(model.graph_, features.graph_, rtol=1e-10)
    np.testing.assert_allclose(model.embedding_, features.embedding_, atol=1e-8)


def test_an_edge_stored_in_one_direction_is_an_edge():
    graph = kneighbors_graph(X, 7, mode="distance")
    one_way = pf.PatchIsomap(n_neighbors=7, dissimilarity="precomputed").fit(graph)
    features = pf.PatchIsomap(n_neighbors=7, dissimilarity="euclidean").fit(X)
    assert_same_graph(one_way.graph_, features.graph_, rtol=1e-10)


@over_graph_embeddings
def test_the_graph_of_another_model_gives_that_graph_again(estimator):
    first = pf.PatchIsomap(n_neighbors=7).fit(X)
    second = estimator(dissimilarity="precomputed").fit(first.graph_)
    assert_same_graph(second.graph_, first.graph_)
    assert second.n_connected_components_ == 1
    assert np.isfinite(second.embedding_).all()


def test_an_embedding_of_the_graph_of_a_model_is_that_of_the_model():
    for model in (pf.PatchIsomap(n_neighbors=7), pf.PatchEigenmaps(n_neighbors=7)):
        first = clone(model).fit(X)
        second = clone(model).set_params(dissimilarity="precomputed").fit(first.graph_)
        np.testing.assert_allclose(second.embedding_, first.embedding_, atol=1e-9)


@over_graph_embeddings
def test_stored_zeros_of_a_sparse_graph_are_edges(estimator):
    twins = X.copy()
    twins[25:] = twins[:25]
    first = pf.PatchIsomap(n_neighbors=7, dissimilarity="euclidean").fit(twins)
    assert min(first.graph_.data) == 0
    second = estimator(dissimilarity="precomputed").fit(first.graph_)
    assert_same_graph(second.graph_, first.graph_)


def test_a_chain_of_stored_zeros_is_connected():
    ends = np.arange(4), np.arange(1, 5)
    graph = sp.csr_array(([0.0, 1.0, 0.0, 2.0], ends), shape=(5, 5))
    model = pf.PatchIsomap(1, n_neighbors=2, dissimilarity="precomputed").fit(graph)
    assert model.geodesics_[0].tolist() == [0, 0, 1, 1, 3]


def test_the_diagonal_of_a_sparse_graph_is_ignored():
    graph = pf.PatchIsomap(n_neighbors=7).fit(X).graph_
    looped = (graph + sp.diags_array(np.full(50, 3.0))).tocsr()
    model = pf.PatchIsomap(dissimilarity="precomputed").fit(looped)
    assert_same_graph(model.graph_, graph)


def test_entries_stored_in_parts_are_summed_as_sparse_matrices_are():
    graph = pf.PatchIsomap(n_neighbors=7).fit(X).graph_
    halves = sp.csr_array(
        (np.repeat(graph.data / 2, 2), np.repeat(graph.indices, 2), 2 * graph.indptr),
        shape=graph.shape,
    )
    assert (halves.toarray() == graph.toarray()).all()
    model = pf.PatchIsomap(dissimilarity="precomputed").fit(halves)
    assert_same_graph(model.graph_, graph)


def test_the_number_of_neighbours_does_not_matter_to_a_sparse_graph():
    graph = pf.PatchIsomap(n_neighbors=4).fit(X[:10]).graph_
    few = pf.PatchIsomap(n_neighbors=2, dissimilarity="precomputed").fit(graph)
    many = pf.PatchIsomap(n_neighbors=15, dissimilarity="precomputed").fit(graph)
    assert_same_graph(few.graph_, graph)
    assert_same_graph(many.graph_, graph)


@over_graph_embeddings
def test_sparse_links_of_new_samples_equal_the_dense_row_they_came_from(estimator):
    model = estimator(n_neighbors=7, dissimilarity="precomputed").fit(D)
    queries = cdist(NEW, X)
    links = nearest_only(queries, 7)
    assert links.nnz == 7 * 12
    np.testing.assert_allclose(
        model.transform(links), model.transform(queries), atol=1e-10
    )


@over_graph_embeddings
def test_new_samples_may_have_different_numbers_of_links(estimator):
    model = estimator(n_neighbors=7, dissimilarity="precomputed").fit(D)
    queries = cdist(NEW[:3], X)
    ragged = sp.vstack([nearest_only(queries[[i]], k) for i, k in enumerate((3, 7, 5))])
    expected = [
        model.transform(nearest_only(queries[[i]], k))[0]
        for i, k in enumerate((3, 7, 5))
    ]
    np.testing.assert_allclose(model.transform(ragged), expected, atol=1e-10)


@over_graph_embeddings
def test_a_stored_zero_says_that_a_new_sample_is_a_training_sample(estimator):
    model = estimator(n_neighbors=7, dissimilarity="precomputed").fit(D)
    links = nearest_only(D[[4, 31]], 7)
    assert links.nnz == 14
    np.testing.assert_allclose(
        model.transform(links), model.embedding_[[4, 31]], atol=1e-12
    )


# --- Refused --------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@over_graph_embeddings
def test_a_matrix_that_is_not_square_is_refused(estimator, make):
    with pytest.raises(
        ValueError,
        match=re.escape(
            "dissimilarity='precomputed' needs a square matrix of dissimilarities. Got "
            "shape (50, 3) instead."
        ),
    ):
        estimator(dissimilarity="precomputed").fit(make(D[:, :3]))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("factor", [1e160, 1e-160])
@over_graph_embeddings
def test_what_cannot_be_squared_is_refused(estimator, factor, make):
    model = estimator(dissimilarity="precomputed")
    with pytest.raises(ValueError, match=r"largest dissimilarity in X .* scale X"):
        model.fit(make(factor * D))
    if factor > 1:
        with pytest.raises(ValueError, match=r"largest dissimilarity in X .* scale X"):
            model.fit(make(D)).transform(make(factor * D))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@over_graph_embeddings
def test_a_negative_entry_is_refused(estimator, make):
    wrong = D.copy()
    wrong[3, 4] = wrong[4, 3] = -0.25
    text = (
        "X holds a negative dissimilarity (-0.25); with dissimilarity='precomputed' "
        "all must be >= 0."
    )
    with pytest.raises(ValueError, match=re.escape(text)):
        estimator(dissimilarity="precomputed").fit(make(wrong))
    model = estimator(n_neighbors=7, dissimilarity="precomputed").fit(D)
    with pytest.raises(ValueError, match=re.escape(text)):
        model.transform(make(wrong[3:4]))


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
def test_a_dense_matrix_that_is_not_symmetric_is_refused(unit):
    wrong = unit * D
    wrong[3, 4] *= 1.01
    with pytest.raises(
        ValueError,
        match=re.escape(
            "X is not symmetric; with dissimilarity='precomputed' pass a symmetric "
            "matrix, for example (X + X.T) / 2."
        ),
    ):
        pf.PatchIsomap(dissimilarity="precomputed").fit(wrong)


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
def test_a_sparse_graph_that_is_not_symmetric_is_refused(unit):
    wrong = (
        pf.PatchIsomap(n_neighbors=7, dissimilarity="euclidean").fit(X).graph_ * unit
    )
    wrong.data[0] *= 1.01
    with pytest.raises(
        ValueError,
        match=re.escape(
            "X is not symmetric: an edge is stored with two different values; with "
            "dissimilarity='precomputed' pass a symmetric graph."
        ),
    ):
        pf.PatchIsomap(dissimilarity="precomputed").fit(wrong)


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
def test_rounding_is_no_asymmetry(unit):
    noise = np.random.default_rng(2).normal(size=D.shape)
    noisy = unit * D * (1 + 1e-9 * noise)
    model = pf.PatchIsomap(n_neighbors=7, dissimilarity="precomputed").fit(noisy)
    assert (model.graph_ != model.graph_.T).nnz == 0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_entry_that_is_no_number_is_refused(value):
    wrong = D.copy()
    wrong[3, 4] = wrong[4, 3] = value
    with pytest.raises(ValueError, match=r"^Input X contains (NaN|infinity)"):
        pf.PatchIsomap(dissimilarity="precomputed").fit(wrong)


def in_pieces(*sizes):
    """Return a sparse graph of distances whose pieces have these sizes."""
    parts = [pf.PatchIsomap(n_neighbors=7).fit(X[:size]).graph_ for size in sizes]
    return sp.block_diag(parts, format="csr")


@over_graph_embeddings
def test_a_sparse_graph_in_pieces_is_refused(estimator):
    if estimator._draws_pieces:
        pytest.skip("its eigenvectors are those of a graph in pieces too")
    name = "connected components"
    if estimator._joins_closed_groups:
        name = "groups whose neighbours are all their own"
    with pytest.raises(
        DisconnectedGraphError,
        match=re.escape(
            f"The precomputed graph has 3 {name} (of 50, 40, 30 samples), and a sparse "
            "matrix does not say how far apart they are. Pass a connected graph, or "
            "the dense matrix of dissimilarities."
        ),
    ):
        estimator(n_neighbors=7, dissimilarity="precomputed").fit(in_pieces(40, 50, 30))


@pytest.mark.parametrize("solver", ["dense", "arpack", "auto"])
def test_eigenmaps_of_a_sparse_graph_in_pieces_tell_these_apart_with_a_warning(solver):
    graph, piece = in_pieces(40, 50, 30), np.repeat([0, 1, 2], [40, 50, 30])
    model = pf.PatchEigenmaps(dissimilarity="precomputed", eigen_solver=solver)
    words = "The precomputed graph has 3 connected components .* up to number 2 only"
    with pytest.warns(DisconnectedGraphWarning, match=words):
        model.fit(graph)
    places = np.stack([model.embedding_[piece == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(model.embedding_, places[piece], atol=1e-8)
    assert cdist(places, places)[np.triu_indices(3, 1)].min() > 0.01
    new = sp.csr_array(graph[[5, 60, 110]] * 0.9)
    np.testing.assert_allclose(model.transform(new), places, atol=1e-8)


def test_eigenmaps_have_the_coordinates_of_each_piece_after_those_that_are_constant():
    settings = {"dissimilarity": "precomputed", "kernel_width": 1.0}
    alone = [
        pf.PatchEigenmaps(3, **settings).fit(in_pieces(size)).eigenvalues_
        for size in (40, 50)
    ]
    with pytest.warns(DisconnectedGraphWarning, match="up to number 1 only"):
        both = pf.PatchEigenmaps(4, **settings).fit(in_pieces(40, 50))
    expected = np.sort(np.concatenate([[0], *alone]))[:4]
    np.testing.assert_allclose(both.eigenvalues_, expected, atol=1e-12)


def test_eigenmaps_refuse_a_sparse_graph_with_a_sample_that_has_no_edge():
    graph = sp.block_diag([in_pieces(40), sp.csr_array((1, 1))], format="csr")
    with pytest.raises(DisconnectedGraphError, match=r"Alone in theirs: row 40\. Pass"):
        pf.PatchEigenmaps(dissimilarity="precomputed").fit(graph)


def test_a_sparse_graph_without_edges_is_refused():
    empty = sp.csr_array((5, 5))
    with pytest.raises(DisconnectedGraphError, match="has 5 connected components"):
        pf.PatchIsomap(n_neighbors=2, dissimilarity="precomputed").fit(empty)


def test_a_map_of_a_sparse_graph_in_pieces_draws_each_of_them_with_a_warning():
    sizes = [50, 40, 20, 2]
    graph = sp.block_diag(
        [*(in_pieces(size) for size in sizes[:3]), sp.csr_array([[0, 1.0], [1.0, 0]])],
        format="csr",
    )
    words = "has 4 connected components .* side by side; only what is within each"
    with pytest.warns(DisconnectedGraphWarning, match=words):
        found = pf.CauchyMap(n_neighbors=7, dissimilarity="precomputed").fit(graph)
    ends = np.cumsum(sizes)
    parts = np.split(found.embedding_, ends[:-1])
    assert trustworthiness(X, parts[0], n_neighbors=5) > 0.9
    for size, part in zip(sizes[:3], parts, strict=False):
        assert trustworthiness(X[:size], part, n_neighbors=5) > 0.85
    sides = np.repeat(np.arange(4), sizes)
    near = cdist(found.embedding_, found.embedding_) + 1e9 * np.eye(ends[-1])
    np.testing.assert_array_equal(sides[near.argmin(axis=1)], sides)


@over_graph_embeddings
def test_a_dense_matrix_in_pieces_is_joined_by_its_smallest_entry(estimator):
    far = X.copy()
    far[30:] += 8
    matrix = cdist(far, far)
    model = estimator(n_neighbors=5, dissimilarity="precomputed")
    if "kernel_width" in model.get_params():
        model.set_params(kernel_width=1e6)
    with pytest.warns(DisconnectedGraphWarning, match="^The neighbour graph has 2 "):
        model.fit(matrix)
    assert model.n_connected_components_ == 2
    assert np.isfinite(model.embedding_).all()
    bridges = model.graph_[:30, 30:]
    assert bridges.nnz == 1
    if estimator is not pf.PatchLLE:  # which joins closed groups
        np.testing.assert_allclose(bridges.data, matrix[:30, 30:].min())


def test_a_query_without_any_link_is_refused():
    model = pf.PatchIsomap(n_neighbors=7, dissimilarity="precomputed").fit(D)
    links = nearest_only(cdist(NEW[:3], X), 4)
    links = sp.vstack([links[:2], sp.csr_array((1, 50))]).tocsr()
    with pytest.raises(
        ValueError,
        match=r"^query 2 has no stored dissimilarity to any training sample; store at "
        r"least one per row\.$",
    ):
        model.transform(links)


def test_queries_need_one_column_per_training_sample():
    model = pf.PatchIsomap(n_neighbors=7, dissimilarity="precomputed").fit(D)
    with pytest.raises(
        ValueError, match="X has 49 features, but PatchIsomap is expect"
    ):
        model.transform(D[:, :49])


@pytest.mark.parametrize("rule", ["klap", "entropic", "within"])
@over_graph_embeddings
def test_a_label_rule_needs_samples_not_a_matrix(estimator, rule):
    model = estimator(n_neighbors=7, dissimilarity="precomputed", label_rule=rule)
    with pytest.raises(
        ValueError,
        match=rf"^label_rule='{rule}' needs samples, and dissimilarity='precomputed' "
        "has only a matrix; pass samples with another dissimilarity",
    ):
        model.fit(D, np.arange(50) % 2)


# --- In scikit-learn ------------------------------------------------------------------


@over_graph_embeddings
def test_the_pairwise_tag_follows_the_dissimilarity(estimator):
    assert get_tags(estimator(dissimilarity="precomputed")).input_tags.pairwise
    assert not get_tags(estimator()).input_tags.pairwise
    assert get_tags(estimator(metric="precomputed")).input_tags.pairwise


@pytest.mark.parametrize(
    "model",
    [
        pf.PatchIsomap(n_neighbors=12),
        pf.PatchEigenmaps(n_neighbors=12, kernel_width=10.0),
        pf.CauchyEmbedding(n_neighbors=12, kernel_width=10.0, max_iter=5),
    ],
    ids=str,
)
def test_cross_validation_takes_rows_and_columns_of_the_matrix(model):
    features, y = load_iris(return_X_y=True)
    # Distances without ties, and both classes that overlap.
    features = features[50:] + 1e-3 * np.random.default_rng(1).normal(size=(100, 4))
    y, near = y[50:], KNeighborsClassifier(3)
    scores = [
        cross_val_score(
            make_pipeline(clone(model).set_params(dissimilarity=name), near), table, y
        )
        for name, table in (
            ("euclidean", features),
            ("precomputed", cdist(features, features)),
        )
    ]
    assert scores[0].min() > 0.8
    np.testing.assert_array_equal(scores[0], scores[1])


@over_graph_embeddings
def test_a_dense_query_after_a_sparse_fit_keeps_the_nearest(estimator):
    graph = pf.PatchIsomap(n_neighbors=7, dissimilarity="euclidean").fit(X).graph_
    model = estimator(n_neighbors=7, dissimilarity="precomputed").fit(graph)
    assert model.n_neighbors_ == 7
    queries = cdist(NEW, X)
    nearest = np.sort(queries, axis=1)[:, 6:7]
    sparse = sp.csr_array(np.where(queries <= nearest, queries, 0))
    np.testing.assert_allclose(
        model.transform(queries), model.transform(sparse), atol=1e-10
    )


def test_queries_at_zero_from_several_samples_get_their_mean():
    twice = np.concatenate([X, X[:3]])
    distances = cdist(twice, twice)
    model = pf.PatchEigenmaps(dissimilarity="precomputed").fit(distances)
    placed = model.transform(distances[:3])
    mean = (model.embedding_[:3] + model.embedding_[-3:]) / 2
    np.testing.assert_allclose(placed, mean, atol=1e-12)


def _damage(format, part, at, value):
    def make(graph):
        graph = graph.copy().asformat(format, copy=True)
        getattr(graph, part)[at] = value
        return graph

    return make


def _replace(format, part, change):
    def make(graph):
        graph = graph.copy().asformat(format, copy=True)
        setattr(graph, part, change(getattr(graph, part)))
        return graph

    return make


def _overfull(graph):
    graph = graph.tolil()
    graph.rows[3].append(5)
    return graph


def _far_key(graph):
    graph = graph.todok()
    graph._dict[10**6, 3] = 1.0
    return graph


def _far_row(graph):
    graph = graph.tocoo()
    graph.coords[0][3] = 10**6
    return graph


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_damage("csr", "indices", 3, 10**6), "indices holds 1000000"),
        (_damage("csr", "indices", 3, -5), "indices holds -5"),
        (_damage("csr", "indptr", 4, 10**6), "indptr does not ascend"),
        (_damage("csr", "indptr", 4, -1), "indptr does not ascend"),
        (_damage("csr", "indptr", -1, 10**8), "indptr ends at 100000000"),
        (_damage("csc", "indices", 3, 10**6), "indices holds 1000000"),
        (_damage("bsr", "indices", 0, 10**6), "indices holds 1000000"),
        (_damage("lil", "rows", 3, [-7]), "row 3"),
        (_replace("csr", "indices", lambda part: part.astype(float)), "type float64"),
        (_replace("csr", "indptr", lambda part: part[:-2]), "indptr has shape"),
        (_replace("csr", "indptr", lambda part: part.astype(float)), "type float64"),
        (_replace("csr", "data", lambda part: part[:5]), "5 entries"),
        (_replace("csr", "data", lambda part: part[:, None]), "2 dimensions"),
        (_replace("coo", "data", lambda part: part[:5]), "5 values"),
        (_replace("lil", "rows", lambda part: part[:4]), "lists of 4"),
        (_replace("dia", "offsets", lambda part: part[:2]), "offsets has shape"),
        (_overfull, "row 3"),
        (_far_key, "1000000"),
        (_far_row, "row holds 1000000"),
    ],
)
def test_sparse_matrices_whose_parts_do_not_fit_are_refused(damage, words):
    # SciPy computes with them, in memory that is not theirs.
    X = np.random.default_rng(0).normal(size=(20, 2))
    distances = cdist(X, X)
    graph = sp.csr_array(np.where(distances < 2, distances, 0))
    model = pf.PatchIsomap(dissimilarity="precomputed").fit(graph)
    others = [
        kind(dissimilarity="precomputed").fit
        for kind in (pf.PatchEigenmaps, pf.CauchyMap)
    ]
    for use in (*others, model.transform):
        with pytest.raises(
            ValueError, match=f"X is not a valid sparse matrix.*{words}"
        ):
            use(damage(graph))
