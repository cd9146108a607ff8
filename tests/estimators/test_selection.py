"""Choosing K: with labels, without, and `n_neighbors="auto"`."""

import numpy as np
import pytest
from helpers.estimators import over_patch_embeddings
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import patchfold as pf
from patchfold.estimators.selection import CANDIDATES
from patchfold.metrics import trustworthiness

FOLDS = KFold(3, shuffle=True, random_state=1)
quiet = pytest.mark.filterwarnings("ignore::patchfold.exceptions.PatchfoldWarning")


def test_held_out_scores_are_those_of_separate_fits(wine):
    X, y = wine
    model = pf.PatchIsomap(dissimilarity="euclidean")
    found = pf.select_n_neighbors(
        model, X, y, [30, 8], scoring="balanced_accuracy", cv=FOLDS
    )
    assert found.n_neighbors.tolist() == [8, 30]
    assert found.scoring == "balanced_accuracy"
    for f, (train, test) in enumerate(FOLDS.split(X)):
        for i, k in enumerate([8, 30]):
            fitted = clone(model).set_params(n_neighbors=k).fit(X[train])
            voters = KNeighborsClassifier(7).fit(fitted.embedding_, y[train])
            guess = voters.predict(fitted.transform(X[test]))
            expected = balanced_accuracy_score(y[test], guess)
            assert found.scores[i, f] == pytest.approx(expected)


def test_the_best_size_is_the_one_with_the_best_mean(wine):
    X, y = wine
    found = pf.select_n_neighbors(pf.PatchProjection(), X, y, [5, 20, 60])
    assert found.scores.shape == (3, 5)
    mean = found.scores.mean(axis=1)
    np.testing.assert_array_equal(found.mean_scores, mean)
    assert found.best_n_neighbors == [5, 20, 60][mean.argmax()]


def test_without_labels_the_samples_themselves_score(iris):
    X, _ = iris
    model = pf.PatchIsomap(dissimilarity="euclidean")
    found = pf.select_n_neighbors(model, X, candidates=[10, 40])
    assert found.scoring == "trustworthiness"
    expected = [
        trustworthiness(X, m.embedding_, n_neighbors=10)
        for m in pf.fit_sweep(model, X, n_neighbors=[10, 40])
    ]
    np.testing.assert_allclose(found.scores[:, 0], expected)


def test_a_scorer_gets_the_model_and_what_was_held_out(wine):
    X, y = wine
    seen = []

    def scorer(model, samples, labels):
        seen.append((model.n_neighbors_, len(samples), len(labels)))
        return -model.n_neighbors_

    found = pf.select_n_neighbors(
        pf.PatchProjection(), X, y, [12, 6], scoring=scorer, cv=2
    )
    assert found.best_n_neighbors == 6
    assert seen == [(6, 89, 89), (12, 89, 89)] * 2


def test_unlabelled_samples_are_fitted_but_not_scored(wine):
    X, y = wine
    part = y.copy()
    part[::3] = -1
    found = pf.select_n_neighbors(pf.PatchProjection(), X, part, [10], cv=FOLDS)
    for f, (train, test) in enumerate(FOLDS.split(X)):
        model = pf.PatchProjection(n_neighbors=10).fit(X[train])
        known, asked = part[train] >= 0, part[test] >= 0
        voters = KNeighborsClassifier(7)
        voters.fit(model.embedding_[known], y[train][known])
        expected = voters.score(model.transform(X[test][asked]), y[test][asked])
        assert found.scores[0, f] == pytest.approx(expected)


@quiet
def test_a_class_of_one_sample_can_be_scored(iris):
    X, y = iris
    odd = y.copy()
    odd[0] = 7
    found = pf.select_n_neighbors(pf.PatchProjection(), X, odd, [10])
    assert np.isfinite(found.scores).all()


def test_sizes_beyond_a_fold_are_lowered_to_it(iris):
    X, y = iris
    found = pf.select_n_neighbors(pf.PatchProjection(), X, y, [0.5, 149], cv=3)
    assert found.n_neighbors.tolist() == [75, 99]


def test_labels_are_needed_by_a_score_of_classes(iris):
    with pytest.raises(
        ValueError,
        match=r"^scoring='accuracy' needs labels, but y is None; pass y, or set "
        r"scoring='trustworthiness'\.$",
    ):
        pf.select_n_neighbors(pf.PatchIsomap(), iris[0], scoring="accuracy")


def test_a_pipeline_is_refused(iris):
    pipeline = make_pipeline(StandardScaler(), pf.PatchIsomap())
    with pytest.raises(TypeError, match="Got Pipeline instead: pass the embedding"):
        pf.select_n_neighbors(pipeline, iris[0])


def test_a_matrix_has_no_samples_to_compare_with():
    D = 1 - np.eye(30)
    message = "'precomputed' has only a matrix; set n_neighbors to a number"
    with pytest.raises(ValueError, match=message):
        pf.select_n_neighbors(pf.PatchIsomap(dissimilarity="precomputed"), D)
    with pytest.raises(ValueError, match=message):
        pf.PatchIsomap(dissimilarity="precomputed", n_neighbors="auto").fit(D)


# --- n_neighbors="auto" ---------------------------------------------------------------


@quiet
@over_patch_embeddings
def test_auto_is_the_most_trustworthy_of_the_candidates(estimator, iris):
    X, _ = iris
    few = {"max_iter": 5} if estimator is pf.CauchyEmbedding else {}
    model = estimator(**few)
    auto = clone(model).set_params(n_neighbors="auto").fit(X)
    scores = {
        m.n_neighbors_: trustworthiness(X, m.embedding_, n_neighbors=10)
        for m in pf.fit_sweep(model, X, n_neighbors=CANDIDATES)
    }
    assert auto.n_neighbors_ == max(scores, key=scores.get)
    alone = clone(model).set_params(n_neighbors=auto.n_neighbors_).fit(X)
    np.testing.assert_array_equal(auto.embedding_, alone.embedding_)
    assert auto.get_params()["n_neighbors"] == "auto"


def test_auto_warns_only_of_the_size_it_takes():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(12, 2)), rng.normal(size=(12, 2)) + 30])
    with pytest.warns(pf.exceptions.DisconnectedGraphWarning) as caught:
        model = pf.PatchIsomap(dissimilarity="euclidean", n_neighbors="auto").fit(X)
    assert len(caught) == 1
    assert f"with n_neighbors={model.n_neighbors_}." in str(caught[0].message)


@pytest.mark.parametrize("n", [3, 5, 9])
def test_auto_works_on_a_handful_of_samples(n):
    X = np.random.default_rng(n).normal(size=(n, 2))
    model = pf.PatchIsomap(1, dissimilarity="euclidean", n_neighbors="auto").fit(X)
    assert model.n_neighbors_ == min(4, n - 1)


@quiet
def test_auto_reads_labels_only_for_a_label_rule(iris):
    X, y = iris
    model = pf.PatchProjection(n_neighbors="auto")
    free = model.fit(X).n_neighbors_
    assert model.fit(X, np.random.default_rng(0).permutation(y)).n_neighbors_ == free
