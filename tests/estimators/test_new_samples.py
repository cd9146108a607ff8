"""`transform`: where new samples land, in pipelines, and that no label leaks."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import patchfold as pf
from patchfold.solvers.nystrom import nystrom

RECIPES = {
    "isomap_kl": lambda: pf.isomap_kl(n_neighbors=20),
    "elap": lambda: pf.elap(n_neighbors=20, kernel_width="auto"),
    "pelle": lambda: pf.pelle(n_neighbors=20),
    "klap": pf.klap,
    "cauchy": lambda: pf.cauchy(n_neighbors=20),
    "cauchy map": pf.CauchyMap,
}


@pytest.fixture(params=RECIPES)
def recipe(request):
    return RECIPES[request.param]()


def pipeline(model):
    return make_pipeline(StandardScaler(), model, KNeighborsClassifier(7))


def folds():
    return StratifiedKFold(5, shuffle=True, random_state=0)


def test_training_samples_return_to_their_places(recipe, wine):
    X, y = wine
    model = recipe.fit(X, y)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.PatchfoldWarning")
def test_duplicates_return_to_the_mean_of_their_places(recipe, wine):
    X, y = wine
    X, y = np.concatenate([X, X[:5]]), np.concatenate([y, y[:5]])
    model = recipe.fit(X, y)
    placed = model.transform(X[:5])
    mean = (model.embedding_[:5] + model.embedding_[-5:]) / 2
    np.testing.assert_allclose(placed, mean, atol=1e-12)


def test_a_sample_near_a_training_sample_lands_near_it(recipe, wine):
    X, y = wine
    model = recipe.fit(X, y)
    placed = model.transform(X + 1e-3)
    gap = np.linalg.norm(placed - model.embedding_, axis=1)
    spread = np.linalg.norm(model.embedding_.std(axis=0))
    assert np.median(gap) < 0.35 * spread


def test_held_out_samples_land_among_their_class(recipe, wine):
    X, y = wine
    scores = cross_val_score(pipeline(recipe), X, y, cv=folds())
    assert scores.mean() > 0.8


def test_batches_equal_one_piece(recipe, wine):
    X, y = wine
    model = recipe.fit(X[:120], y[:120])
    whole = model.transform(X[120:])
    parts = [model.transform(part) for part in (X[120:121], X[121:150], X[150:])]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("algorithm", "n_jobs"), [("exact", 1), ("approximate", 2)])
def test_many_samples_are_placed_as_each_alone(algorithm, n_jobs):
    # Many are linked some at a time, and those of a cell together.
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(2500, 4)), rng.normal(size=(1300, 4))
    model = pf.PatchEigenmaps(
        n_neighbors=12, neighbors_algorithm=algorithm, n_jobs=n_jobs
    ).fit(X)
    placed = model.transform(queries)
    for rows in (slice(0, 1), slice(511, 513), slice(1290, 1300)):
        np.testing.assert_allclose(
            model.transform(queries[rows]), placed[rows], atol=1e-12
        )


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.FarSampleWarning")
def test_a_sample_far_from_everything_stays_finite_and_bounded(recipe, wine):
    X, y = wine
    model = recipe.fit(X, y)
    far = model.transform(X[:3] + 1e6)
    assert np.isfinite(far).all()
    if not isinstance(model, pf.PatchIsomap):  # Isomap places far samples far away
        assert abs(far).max() <= 2 * abs(model.embedding_).max() + 1e-12


def test_klap_works_in_cross_validation_and_grid_search(wine):
    X, y = wine
    assert cross_val_score(pipeline(pf.klap()), X, y, cv=folds()).mean() > 0.9
    grid = {"patcheigenmaps__n_neighbors": [0.5, 0.75]}
    search = GridSearchCV(pipeline(pf.klap()), grid, cv=folds()).fit(X, y)
    assert search.best_score_ > 0.9


def test_permuted_labels_fall_to_the_majority_rate(wine):
    """KLAP's published protocol scores .99 on permuted labels; this must not."""
    X, y = wine
    shuffled = np.random.default_rng(0).permutation(y)
    score = cross_val_score(pipeline(pf.klap()), X, shuffled, cv=folds()).mean()
    majority = np.bincount(y).max() / y.size
    assert score < majority + 0.05


def test_a_label_of_a_new_sample_cannot_be_passed(wine):
    X, y = wine
    model = pf.klap().fit(X, y)
    with pytest.raises(TypeError):
        model.transform(X, y)


def test_placing_does_not_depend_on_the_other_new_samples(recipe, wine):
    X, y = wine
    model = recipe.fit(X[:150], y[:150])
    crowd = np.concatenate([X[150:151], X[:100] * 3])
    np.testing.assert_allclose(
        model.transform(crowd)[0], model.transform(X[150:151])[0], rtol=1e-9
    )


@pytest.mark.parametrize("laplacian", ["random_walk", "unnormalized"])
def test_a_sample_with_the_links_of_a_training_sample_lands_on_it(laplacian, wine):
    """Nystrom on a training sample's own row of weights, also for large eigenvalues."""
    X, _ = wine
    model = pf.PatchEigenmaps(
        dissimilarity="euclidean", n_neighbors=0.75, laplacian=laplacian
    ).fit(X)
    row = np.flatnonzero(np.diff(model.affinity_.indptr) == len(X) - 1)
    assert row.size
    W = model.affinity_[row].toarray()
    others = np.array([np.delete(np.arange(len(X)), i) for i in row])
    weights = np.take_along_axis(W, others, axis=1)
    placed = nystrom(
        np.log(weights),
        others,
        model.embedding_,
        model.eigenvalues_,
        normalized=laplacian == "random_walk",
    )
    if laplacian == "random_walk":
        assert model.eigenvalues_[-1] > 0.5
    np.testing.assert_allclose(placed, model.embedding_[row], atol=1e-10)


def test_an_eigenvalue_that_is_zero_but_for_rounding_moves_no_far_sample():
    rng = np.random.default_rng(0)
    neighbors, embedding = rng.integers(0, 9, (6, 3)), rng.normal(size=(9, 1))
    similarities = -rng.uniform(size=(6, 3)) - np.array([[0, 20, 30, 40, 300, 1e6]]).T

    def place(eigenvalue, *, below=0.0):
        return nystrom(
            similarities - below,
            neighbors,
            embedding,
            np.array([eigenvalue]),
            normalized=False,
            strongest_edge=np.exp(-below),
        )

    at_zero = place(0.0)
    for eigenvalue in (-1e-13, -1e-14, 1e-14, 1e-13):
        np.testing.assert_allclose(place(eigenvalue), at_zero, rtol=1e-6)
    # Without a jump, from the neighbours' mean to twice as far out.
    factors = [place(value) / at_zero for value in np.geomspace(1e-12, 1e-3, 2000)]
    assert (np.diff(factors, axis=0) >= -1e-12).all()
    assert np.diff(factors, axis=0).max() < 0.03
    np.testing.assert_allclose(factors[-1][2:], 2)
    # No factor common to all weights matters.
    np.testing.assert_allclose(
        place(3e-7 * np.exp(-9.0), below=9.0), place(3e-7), rtol=1e-12
    )


def test_far_samples_of_iris_are_where_no_rounding_error_can_move_them():
    """One axis tells two pieces apart; its eigenvalue is 0 here, 2e-14 elsewhere."""
    X = scale(load_iris().data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pf.elap(kernel_width="auto").fit(X[::2])
        found = []
        for error in (-1e-13, -2e-14, 0.0, 2e-14, 1e-13):
            values = np.array([error, model.eigenvalues_[1]])
            solution = replace(model._fitted.solution, eigenvalues=values)
            model._fitted = replace(model._fitted, solution=solution)
            found.append(model.transform(X[1::2]))
    assert abs(model.eigenvalues_[0]) < 1e-13
    np.testing.assert_allclose(found, [found[2]] * 5, atol=1e-7)


def test_one_far_sample_does_not_spoil_the_others(wine):
    X, _ = wine
    for model in (pf.isomap_kl(), pf.elap(kernel_width="auto"), pf.pelle()):
        model.set_params(n_neighbors=10).fit(X)
        near = X[5:8] + 0.1
        both = model.transform(np.concatenate([near, X[:1] * 1e6, X[:1] * 1e9]))
        assert np.isfinite(both).all()
        np.testing.assert_allclose(both[:3], model.transform(near), rtol=1e-9)


def test_a_model_does_not_follow_changes_of_the_array_it_was_fitted_on(wine):
    X = wine[0].copy()
    model = pf.PatchEigenmaps().fit(X)
    before = model.transform(wine[0][:3] + 0.1)
    X *= 2
    np.testing.assert_array_equal(model.transform(wine[0][:3] + 0.1), before)


def test_a_sample_beyond_all_numbers_is_refused_not_placed_nowhere():
    X = np.random.default_rng(0).normal(size=(60, 3)) * 1e-60
    model = pf.PatchEigenmaps(n_neighbors=10, dissimilarity="euclidean").fit(X)
    with pytest.raises(ValueError, match=r"1 of 2 samples are too far .*units\.$"):
        model.transform(np.vstack([X[:1], np.full((1, 3), 1e100)]))
