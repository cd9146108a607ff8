"""Every dissimilarity and every model of a patch, in every recipe, sweep and query."""

import pickle

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import patchfold as pf
from patchfold.dissimilarity.table import DISSIMILARITIES

NEW = [name for name in DISSIMILARITIES if name not in ("euclidean", "kl", "curvature")]
RECIPES = {
    "isomap_kl": pf.isomap_kl,
    "elap": lambda **params: pf.elap(**{"kernel_width": "auto", **params}),
    "pelle": pf.pelle,
    "klap": lambda **params: pf.klap(label_rule=None, **params),
    "cauchy": lambda **params: pf.cauchy(max_iter=20, **params),
}
MODELS = [
    {"shrinkage": "oas"},
    {"shrinkage": "ledoit_wolf"},
    {"covariance": "diagonal"},
    {"covariance": "robust"},
    {"n_directions": 2},
    {"n_directions": 0.9},
]
WINE = scale(load_wine().data)[::2]
X, QUERIES = WINE[:70], WINE[70:]

CELLS = [
    pytest.param(name, options, id=f"{name}-{'-'.join(map(str, *options.items()))}")
    for name in ("kl", "kde", "curvature")
    for options in MODELS
    if (name, options.get("covariance")) != ("curvature", "diagonal")
]

over_cells = pytest.mark.parametrize(("name", "options"), CELLS)
over_recipes = pytest.mark.parametrize("recipe", RECIPES)
pytestmark = pytest.mark.filterwarnings("ignore::patchfold.exceptions.PatchfoldWarning")


def check_fit_and_queries(model):
    model.fit(X)
    assert np.isfinite(model.embedding_).all()
    assert np.ptp(model.embedding_, axis=0).min() > 0
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-12)
    placed = model.transform(QUERIES)
    assert np.isfinite(placed).all()
    largest = np.abs(model.embedding_).max()
    assert np.abs(placed).max() < 10 * largest


@over_recipes
@pytest.mark.parametrize("k", [8, 20], ids=["factored", "dense"])
@pytest.mark.parametrize("name", NEW)
def test_a_dissimilarity_works_in_every_recipe(name, k, recipe):
    check_fit_and_queries(RECIPES[recipe](n_neighbors=k, dissimilarity=name))


@over_recipes
@over_cells
def test_a_model_of_a_patch_works_in_every_recipe(name, options, recipe):
    check_fit_and_queries(
        RECIPES[recipe](n_neighbors=15, dissimilarity=name, **options)
    )


def assert_sweep_equals_fits(model, rtol=1e-7):
    for fitted in pf.fit_sweep(model, X, n_neighbors=[8, 13, 20]):
        alone = clone(model).set_params(n_neighbors=fitted.n_neighbors_).fit(X)
        np.testing.assert_array_equal(fitted.graph_.indices, alone.graph_.indices)
        np.testing.assert_allclose(
            fitted.graph_.data, alone.graph_.data, rtol=rtol, atol=1e-6
        )


@pytest.mark.parametrize("name", NEW)
def test_a_sweep_equals_separate_fits(name):
    assert_sweep_equals_fits(pf.PatchIsomap(dissimilarity=name))


@over_cells
def test_a_sweep_over_models_equals_separate_fits(name, options):
    assert_sweep_equals_fits(pf.PatchIsomap(dissimilarity=name, **options))


@pytest.mark.parametrize("name", NEW)
def test_a_saved_model_places_samples_with_the_same_bits(name):
    model = pf.PatchIsomap(n_neighbors=15, dissimilarity=name).fit(X)
    data = skops.io.dumps(model)
    types = skops.io.get_untrusted_types(data=data)
    for copy in (
        pickle.loads(pickle.dumps(model)),
        skops.io.loads(data, trusted=types),
    ):
        np.testing.assert_array_equal(copy.transform(QUERIES), model.transform(QUERIES))


@pytest.mark.parametrize("name", NEW)
def test_the_order_of_the_rows_does_not_matter(name):
    order = np.random.default_rng(0).permutation(len(X))
    model = pf.PatchIsomap(n_neighbors=15, dissimilarity=name)
    straight = model.fit(X).graph_[order][:, order].toarray()
    permuted = model.fit(X[order]).graph_.toarray()
    np.testing.assert_allclose(permuted, straight, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("m", [2, 12])
def test_duplicates_and_constant_columns_are_no_obstacle(name, m):
    corners = np.random.default_rng(0).integers(0, 2, size=(40, m)).astype(float)
    corners[:, 0] = 1.0
    model = pf.PatchEigenmaps(n_neighbors=6, dissimilarity=name).fit(corners)
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("name", NEW)
def test_one_feature_is_enough(name):
    line = np.random.default_rng(0).normal(size=(40, 1))
    graph = pf.PatchIsomap(1, n_neighbors=5, dissimilarity=name).fit(line).graph_
    assert np.isfinite(graph.data).all()
