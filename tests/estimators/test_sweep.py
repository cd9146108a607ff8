"""A sweep over K gives what separate fits give, bit for bit."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer

import patchfold as pf

MODELS = {
    "isomap_kl": pf.isomap_kl(),
    "elap": pf.elap(kernel_width="auto"),
    "pelle": pf.pelle(),
    "klap": pf.klap(),
    "without centre": pf.PatchIsomap(include_center=False),
    "euclidean": pf.PatchLLE(dissimilarity="euclidean"),
    "transformer": pf.PatchIsomap(neighbors_algorithm=KNeighborsTransformer()),
}
SIZES = [40, 8, 0.1, 13, 14]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::patchfold.exceptions.PatchfoldWarning")
def test_a_sweep_equals_separate_fits(name, wine):
    X, y = wine
    model = MODELS[name]
    swept = list(pf.fit_sweep(model, X[:150], y[:150], n_neighbors=SIZES))
    assert [m.n_neighbors_ for m in swept] == [8, 13, 14, 15, 40]
    for fitted in swept:
        alone = clone(model).set_params(n_neighbors=fitted.n_neighbors_)
        alone.fit(X[:150], y[:150])
        np.testing.assert_array_equal(fitted.graph_.indices, alone.graph_.indices)
        np.testing.assert_array_equal(fitted.graph_.data, alone.graph_.data)
        np.testing.assert_array_equal(fitted.embedding_, alone.embedding_)
        np.testing.assert_array_equal(
            fitted.transform(X[150:]), alone.transform(X[150:])
        )


def test_a_precomputed_matrix_can_be_swept(wine):
    X, _ = wine
    D = np.linalg.norm(X[:, None] - X, axis=2)
    model = pf.PatchIsomap(dissimilarity="precomputed")
    swept = pf.fit_sweep(model, D, n_neighbors=[20, 10])
    assert [m.n_neighbors_ for m in swept] == [10, 20]


def test_the_estimator_itself_is_not_fitted(wine):
    model = pf.isomap_kl()
    next(pf.fit_sweep(model, wine[0], n_neighbors=[20]))
    assert not hasattr(model, "embedding_")


def test_identical_points_are_counted_as_in_a_fit():
    rng = np.random.default_rng(0)
    X = np.concatenate([np.full((6, 2), 0.1), rng.normal(size=(40, 2))])
    with pytest.warns(pf.exceptions.DegeneratePatchWarning, match="6 of 46 patches"):
        next(pf.fit_sweep(pf.PatchIsomap(), X, n_neighbors=[5]))


def test_a_tight_cluster_keeps_its_order_for_small_sizes():
    """The K nearest are a prefix of more, also among points a million times closer."""
    rng = np.random.default_rng(9)
    X = np.concatenate([1e-7 * rng.normal(size=(30, 2)), rng.normal(size=(30, 2))])
    model = pf.PatchEigenmaps(dissimilarity="euclidean", n_neighbors=5)
    with pytest.warns(pf.exceptions.PatchfoldWarning):
        alone = model.fit(X)
    with pytest.warns(pf.exceptions.PatchfoldWarning):
        swept = next(pf.fit_sweep(model, X, n_neighbors=[5, 45]))
    np.testing.assert_array_equal(swept.graph_.indices, alone.graph_.indices)


@pytest.mark.parametrize("name", ["elap", "klap", "euclidean"])
@pytest.mark.filterwarnings("ignore::patchfold.exceptions.PatchfoldWarning")
def test_sizes_fitted_at_a_time_give_the_same_bits(name, wine):
    X, y = wine
    one, two = (
        list(pf.fit_sweep(MODELS[name].set_params(n_jobs=n), X, y, n_neighbors=SIZES))
        for n in (1, 2)
    )
    for alone, together in zip(one, two, strict=True):
        np.testing.assert_array_equal(alone.embedding_, together.embedding_)
        np.testing.assert_array_equal(alone.graph_.data, together.graph_.data)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_size_that_fails_ends_the_sweep_after_the_smaller_ones(
    n_jobs, wine, monkeypatch
):
    solve = pf.PatchIsomap._solve

    def solve_but_20(model, *args):
        if model.n_neighbors == 20:
            raise ValueError("not 20")
        return solve(model, *args)

    monkeypatch.setattr(pf.PatchIsomap, "_solve", solve_but_20)
    model = pf.PatchIsomap(n_jobs=n_jobs)
    swept = pf.fit_sweep(model, wine[0], n_neighbors=[10, 20, 30, 40])
    assert next(swept).n_neighbors_ == 10
    with pytest.raises(ValueError, match="not 20"):
        next(swept)
    assert next(swept, None) is None


def test_a_sweep_may_be_left_early(wine):
    X, _ = wine
    swept = pf.fit_sweep(pf.PatchIsomap(n_jobs=2), X, n_neighbors=range(5, 30))
    assert next(swept).n_neighbors_ == 5
    swept.close()


def test_a_sweep_of_nothing_is_refused(wine):
    with pytest.raises(ValueError, match="n_neighbors is empty"):
        next(pf.fit_sweep(pf.PatchIsomap(), wine[0], n_neighbors=[]))
