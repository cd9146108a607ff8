"""`metric` of every estimator: neighbours, lengths, new samples, refusals."""

import numpy as np
import pytest
from helpers.comparing import assert_equal_up_to_sign
from helpers.estimators import GRAPH_EMBEDDINGS, PATCH_EMBEDDINGS
from sklearn.base import clone
from sklearn.manifold import Isomap
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors
from sklearn.pipeline import make_pipeline

import patchfold as pf
from patchfold.exceptions import MetricWarning
from patchfold.neighbors.metric import resolve_metric
from patchfold.validation import has_euclidean_metric

POINTS = {"dissimilarity": "euclidean", "n_neighbors": 20}
EVERY = [*PATCH_EMBEDDINGS, pf.CauchyMap]
over_every_estimator = pytest.mark.parametrize("estimator", EVERY)


@pytest.mark.parametrize(
    ("metric", "p", "params"),
    [
        ("manhattan", 2, None),
        ("minkowski", 3, None),
        ("cosine", 2, None),
        ("canberra", 2, None),
        ("minkowski", 3, {"w": np.linspace(1, 2, 13)}),
        (lambda a, b: float(np.sqrt(np.abs(a - b)).sum()), 2, None),
    ],
)
def test_isomap_is_that_of_scikit_learn(wine, metric, p, params):
    X, _ = wine
    settings = {"metric": metric, "p": p, "metric_params": params}
    ours = pf.PatchIsomap(**POINTS, **settings).fit(X)
    theirs = Isomap(n_neighbors=20, **settings).fit(X)
    np.testing.assert_allclose(ours.geodesics_, theirs.dist_matrix_, atol=1e-9)
    assert_equal_up_to_sign(ours.embedding_, theirs.embedding_)
    new = X[:9] + 0.1
    assert_equal_up_to_sign(ours.transform(new), theirs.transform(new))


@over_every_estimator
@pytest.mark.parametrize("metric", ["cosine", "manhattan", "correlation"])
def test_training_samples_return_to_their_places(wine, estimator, metric):
    X, _ = wine
    model = estimator(**POINTS, metric=metric).fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)
    assert np.isfinite(model.transform(X[:5] + 0.05)).all()


@over_every_estimator
def test_edges_are_the_neighbours_by_the_metric(wine, estimator):
    X, _ = wine
    graph = estimator(**POINTS, metric="manhattan").fit(X).graph_
    search = NearestNeighbors(n_neighbors=20, metric="manhattan").fit(X)
    distances, indices = search.kneighbors()
    for i in range(0, X.shape[0], 17):
        np.testing.assert_allclose(graph[[i], :].toarray()[0][indices[i]], distances[i])


@pytest.mark.parametrize("estimator", [*GRAPH_EMBEDDINGS, pf.CauchyMap])
def test_distances_may_be_given_dense_or_as_a_graph_of_neighbours(wine, estimator):
    X, _ = wine
    plain = estimator(**POINTS, metric="manhattan").fit(X)
    given = estimator(**POINTS, metric="precomputed")
    table = pairwise_distances(X, metric="manhattan")
    dense = clone(given).fit(table)
    # More neighbours than are wanted, and the sample itself.
    found = KNeighborsTransformer(n_neighbors=30, metric="manhattan")
    chain = make_pipeline(found, clone(given)).fit(X)
    sparse = chain[-1]
    np.testing.assert_allclose(dense.graph_.toarray(), plain.graph_.toarray())
    np.testing.assert_allclose(sparse.graph_.toarray(), plain.graph_.toarray())
    new = X[:9] + 0.1
    by_table = dense.transform(pairwise_distances(new, X, metric="manhattan"))
    if estimator is not pf.CauchyMap:  # whose start and order know more of a table
        np.testing.assert_allclose(chain.transform(new), by_table, atol=1e-7)
    if estimator not in (pf.CauchyMap, pf.PatchLLE):  # LLE has samples, or lengths
        np.testing.assert_allclose(by_table, plain.transform(new), atol=1e-7)


def test_a_graph_with_too_few_neighbours_is_refused(wine):
    X, _ = wine
    graph = KNeighborsTransformer(n_neighbors=5).fit_transform(X)
    with pytest.raises(ValueError, match=r"row 0 of X stores 5 distances, and n_nei"):
        pf.PatchIsomap(**POINTS, metric="precomputed").fit(graph)


@over_every_estimator
def test_patches_take_their_neighbours_from_the_metric_and_say_so(wine, estimator):
    X, _ = wine
    settings = {"dissimilarity": "kl", "n_neighbors": 20}
    with pytest.warns(MetricWarning, match=r"metric='cosine' finds the neighbours"):
        model = estimator(**settings, metric="cosine").fit(X)
    by_cosine = KNeighborsTransformer(n_neighbors=20, metric="cosine")
    found = by_cosine.fit_transform(X)
    near = (found + found.T).tocoo()
    assert set(zip(*np.nonzero(model.graph_.toarray()), strict=True)) == {
        (i, j) for i, j in zip(near.row, near.col, strict=True) if i != j
    }


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.DisconnectedGraphWarning")
@pytest.mark.parametrize("rule", ["within", "entropic"])
def test_label_rules_measure_by_the_metric(wine, rule):
    X, y = wine
    settings = {**POINTS, "label_rule": rule, "metric": "sqeuclidean"}
    graph = pf.PatchIsomap(**settings).fit(X, y).graph_.tocoo()
    gaps = ((X[graph.row] - X[graph.col]) ** 2).sum(axis=1)
    same = y[graph.row] == y[graph.col]
    np.testing.assert_allclose(graph.data[same], gaps[same])


def test_pieces_are_joined_by_the_closest_pair_of_the_metric():
    rng = np.random.default_rng(0)
    angles = np.concatenate([rng.uniform(0, 0.2, 30), rng.uniform(1, 1.2, 30)])
    X = np.column_stack([np.cos(angles), np.sin(angles)]) * rng.uniform(1, 9, (60, 1))
    with pytest.warns(pf.exceptions.DisconnectedGraphWarning, match="2 connected"):
        model = pf.PatchIsomap(1, **POINTS, metric="cosine").fit(X)
    graph = model.graph_.tocoo()
    between = (graph.row < 30) & (graph.col >= 30)
    table = pairwise_distances(X, metric="cosine")[:30, 30:]
    i, j = np.unravel_index(table.argmin(), table.shape)
    assert list(zip(graph.row[between], graph.col[between], strict=True)) == [
        (i, j + 30)
    ]


def test_haversine_maps_places_on_a_globe():
    rng = np.random.default_rng(0)
    places = np.column_stack([rng.uniform(-0.1, 0.1, 80), rng.uniform(-0.1, 0.1, 80)])
    model = pf.PatchIsomap(metric="haversine", **POINTS).fit(places)
    near_equator = pf.PatchIsomap(**POINTS).fit(places)
    assert_equal_up_to_sign(model.embedding_, near_equator.embedding_, atol=1e-3)


def test_haversine_takes_two_columns(wine):
    with pytest.raises(ValueError, match=r"X must have 2 columns. It has 13"):
        pf.PatchIsomap(dissimilarity="euclidean", metric="haversine").fit(wine[0])


def test_a_sweep_and_the_choice_of_neighbours_use_the_metric(wine):
    X, _ = wine
    model = pf.PatchIsomap(dissimilarity="euclidean", metric="manhattan")
    for swept in pf.fit_sweep(model, X, n_neighbors=[20, 30]):
        alone = clone(model).set_params(n_neighbors=swept.n_neighbors_).fit(X)
        np.testing.assert_array_equal(swept.embedding_, alone.embedding_)
    assert clone(model).set_params(n_neighbors="auto").fit(X).n_neighbors_ > 3


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "precomputed"])
@pytest.mark.parametrize("estimator", [*GRAPH_EMBEDDINGS, pf.CauchyMap])
def test_a_model_file_keeps_the_metric(wine, tmp_path, estimator, metric):
    from patchfold.tables.models import load_model, save_model

    X, _ = wine
    model, new = estimator(**POINTS, metric=metric), X[:7] + 0.1
    if metric == "precomputed":
        new, X = pairwise_distances(new, X), pairwise_distances(X)
    save_model(model.fit(X), tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.transform(new), model.transform(new))


class TestRefusals:
    def test_patches_of_a_matrix(self, wine):
        D = pairwise_distances(wine[0])
        with pytest.raises(ValueError, match=r"metric='precomputed' has distances and"):
            pf.PatchIsomap(metric="precomputed").fit(D)

    def test_a_metric_of_a_precomputed_dissimilarity(self, wine):
        D = pairwise_distances(wine[0])
        with pytest.raises(ValueError, match=r"metric='cosine' measures samples, and"):
            pf.PatchIsomap(dissimilarity="precomputed", metric="cosine").fit(D)

    def test_labels_of_a_map_by_another_metric(self, wine):
        with pytest.raises(ValueError, match=r"labels are put beside samples in"):
            pf.CauchyMap(metric="cosine").fit(*wine)

    def test_principal_axes_by_another_metric(self, wine):
        with pytest.raises(ValueError, match=r"reduce=5 searches along principal axes"):
            pf.CauchyMap(metric="cosine", reduce=5).fit(wine[0])

    def test_a_projection_of_distances(self, wine):
        D = pairwise_distances(wine[0])
        with pytest.raises(ValueError, match=r"'metric' parameter of PatchProjection"):
            pf.PatchProjection(metric="precomputed").fit(D)

    def test_an_unknown_metric(self, wine):
        with pytest.raises(ValueError, match=r"'metric' .* 'cosine' .* Got 'angle'"):
            pf.PatchIsomap(metric="angle").fit(wine[0])


@pytest.mark.parametrize("params", [None, {}, {"p": 2}, {"p": 1}, {"w": np.ones(4)}])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize(
    "metric", ["minkowski", "euclidean", "l2", "manhattan", "cosine", min]
)
def test_the_euclidean_metric_is_the_one_that_needs_no_record(metric, p, params):
    X = np.random.default_rng(0).normal(size=(9, 4))
    model = pf.PatchIsomap(metric=metric, p=p, metric_params=params)
    try:
        needs_none = resolve_metric(metric, p, params, X) is None
    except ValueError:  # parameters that do not go with the metric
        needs_none = False
    assert has_euclidean_metric(model) == needs_none


def test_a_radius_that_reaches_nobody_names_the_nearest_two(wine):
    X = wine[0]
    gaps = pairwise_distances(X, metric="manhattan")
    nearest = gaps[~np.eye(len(X), dtype=bool)].min()
    options = {"dissimilarity": "euclidean", "metric": "manhattan"}
    model = pf.PatchIsomap(n_neighbors=None, radius=nearest / 2, **options)
    words = f"no two samples are within radius=.* nearest two are {nearest:.3g} apart"
    with pytest.raises(ValueError, match=words):
        model.fit(X)
