"""Scores of an embedding: against definitions, hard input, and the papers' PCA."""

import csv
import warnings
from functools import cache

import numpy as np
import pytest
import sklearn.manifold
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

from patchfold.datasets import load
from patchfold.metrics import continuity, evaluate, trustworthiness
from patchfold.metrics._classifiers import RIDGE, _quadratic_discriminant
from patchfold.metrics.panels import (
    EIGHT,
    FOUR,
    make_classifier,
    one_nn_accuracy,
    panel_max,
    panel_mean,
    score_classifiers,
    silhouette,
)


def halves(points, y):
    train, test, y_train, y_test = train_test_split(
        points, y, test_size=0.5, random_state=42
    )
    return train, y_train, test, y_test


@pytest.fixture(scope="module")
def plane(wine):
    X, y = wine
    return PCA(2, svd_solver="full").fit_transform(X), y


# Neighbours kept


@pytest.mark.parametrize("n_neighbors", [1, 5, 20])
def test_trustworthiness_is_that_of_scikit_learn_without_ties(n_neighbors):
    X = np.random.default_rng(0).normal(size=(90, 4))
    Y = X[:, :2] ** 3
    expected = sklearn.manifold.trustworthiness(X, Y, n_neighbors=n_neighbors)
    assert trustworthiness(X, Y, n_neighbors=n_neighbors) == pytest.approx(expected)
    expected = sklearn.manifold.trustworthiness(Y, X, n_neighbors=n_neighbors)
    assert continuity(X, Y, n_neighbors=n_neighbors) == pytest.approx(expected)


def test_ranks_do_not_depend_on_the_block_size(monkeypatch):
    X = np.random.default_rng(0).normal(size=(70, 3))
    whole = trustworthiness(X, X[:, :1])
    monkeypatch.setattr("patchfold.metrics.topology.BLOCK_SIZE", 1000)
    assert trustworthiness(X, X[:, :1]) == whole


def test_a_copy_keeps_every_neighbour_with_duplicates_too():
    X = np.random.default_rng(0).integers(0, 2, size=(60, 3))
    assert trustworthiness(X, X) == continuity(X, X) == 1


def test_a_fold_is_not_trustworthy_and_a_tear_is_not_continuous():
    line = np.linspace(-1, 1, 40)[:, None]
    folded, torn = np.abs(line) + 1e-6 * line, line + 9 * (line > 0.01)
    assert trustworthiness(line, folded) < 0.7 < 0.9 < continuity(line, folded)
    ring = np.column_stack([np.cos(np.pi * line), np.sin(np.pi * line)])
    assert continuity(ring, torn) < trustworthiness(ring, torn)


def test_bad_input_of_the_neighbour_scores_is_named():
    X = np.zeros((10, 2))
    with pytest.raises(ValueError, match=r"less than half of the 10 samples. Got 5"):
        trustworthiness(X, X, n_neighbors=5)
    with pytest.raises(ValueError, match=r"each of the 10 rows of X. Got 9 rows"):
        trustworthiness(X, X[1:])
    with pytest.raises(ValueError, match="1 rows with numbers that are not finite"):
        continuity(X, np.where(np.eye(10)[:, :2] > 0, [np.nan, 0.0], 0.0))
    with pytest.raises(ValueError, match=r"X must have one row per sample.*\(10,\)"):
        trustworthiness(X[:, 0], X)


# Classes


def test_nearest_neighbour_leaves_the_sample_itself_out_and_breaks_ties_by_index():
    points = [[0.0], [0.0], [0.0], [5.0]]
    assert one_nn_accuracy(points, ["a", "b", "a", "b"]) == 0.25
    with pytest.raises(ValueError, match=r"two samples or more.*Got 1"):
        one_nn_accuracy([[0.0]], ["a"])


def test_silhouette_of_one_class_or_only_single_samples_is_not_a_number(plane):
    points, y = plane
    assert np.isnan(silhouette(points, np.zeros_like(y)))
    assert np.isnan(silhouette(points[:5], np.arange(5)))
    assert silhouette(points, y) > 0.5


def test_classifiers_left_out_do_not_count():
    scores = dict.fromkeys(EIGHT, 0.5) | {"GPC": np.nan, "NB": 0.75}
    assert panel_mean(scores) == 0.5
    assert panel_max(scores) == 0.75
    assert np.isnan(panel_mean({"GPC": np.nan}, ["GPC"]))
    assert np.isnan(panel_max({"GPC": np.nan}, ["GPC"]))


def test_unknown_classifier_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"one of KNN, SVM, linear SVM.* Got 'LDA'"):
        make_classifier("LDA")


def test_scores_are_the_same_every_time_and_keep_the_order_of_names(plane):
    data = halves(*plane)
    names = ["RFC", "MPL", "DT"]
    first = score_classifiers(names, *data)
    assert first == score_classifiers(names, *data)
    assert list(first) == names


def test_class_names_may_be_words(plane):
    points, y = plane
    words = np.array(["red", "white", "rosé"])[y]
    assert score_classifiers(FOUR, *halves(points, words)).keys() == set(FOUR)
    assert evaluate(points, words)["accuracy_1nn"] == one_nn_accuracy(points, y)


def test_gaussian_process_is_left_out_beyond_its_limit(plane, monkeypatch):
    data = halves(*plane)
    limit = "patchfold.metrics._classifiers.GPC_MAX_SAMPLES"
    monkeypatch.setattr(limit, len(data[0]))
    assert score_classifiers(["GPC"], *data)["GPC"] > 0.9
    monkeypatch.setattr(limit, len(data[0]) - 1)
    assert np.isnan(score_classifiers(["GPC"], *data)["GPC"])


@pytest.mark.parametrize(
    "points",
    [
        np.column_stack([np.arange(24.0), np.arange(24.0)]),
        np.column_stack([np.arange(24.0), np.zeros(24)]),
        np.zeros((24, 2)),
        np.random.default_rng(0).normal(size=(24, 40)),
    ],
    ids=["collinear", "constant column", "identical samples", "more columns than rows"],
)
@pytest.mark.parametrize(
    "y", [np.repeat([0, 1], 12), [0] * 12 + [1] * 11 + [2], np.zeros(24)]
)
def test_no_embedding_makes_the_panel_fail(points, y):
    y = np.asarray(y)
    rows = np.r_[0:24:2, 23]
    scores = score_classifiers(EIGHT, points[rows], y[rows], points, y)
    assert all(0 <= value <= 1 for value in scores.values())
    if len(np.unique(y)) == 1:
        assert set(scores.values()) == {1.0}


def test_seven_neighbours_are_all_there_are_in_a_tiny_set():
    points = np.arange(8.0)[:, None]
    scores = score_classifiers(["KNN"], points[:4], [0, 0, 0, 1], points, [0] * 8)
    assert scores == {"KNN": 1.0}


def test_convergence_is_the_only_warning_kept_quiet(plane, monkeypatch):
    build = make_classifier

    class Noisy:
        def fit(self, *_):
            warnings.warn("something else", UserWarning, stacklevel=1)
            return build("MPL").set_params(max_iter=1).fit(*_)

    monkeypatch.setattr(
        "patchfold.metrics.panels.make_classifier", lambda name, **_: Noisy()
    )
    with pytest.warns(UserWarning, match="something else") as caught:
        score_classifiers(["MPL"], *halves(*plane))
    assert len(caught) == 1


@pytest.mark.parametrize("factor", [1.0, 1e-6, 1e6])
def test_quadratic_discriminant_is_independent_of_scale(plane, factor):
    points, y = plane
    expected = QuadraticDiscriminantAnalysis().fit(points[::2], y[::2]).predict(points)
    found = _quadratic_discriminant(
        make_classifier("QDA"), points[::2] * factor, y[::2], points * factor
    )
    np.testing.assert_array_equal(found, expected)


def test_ridge_of_singular_discriminants_is_that_of_scikit_learn(plane):
    points, y = plane
    points = scale(np.column_stack([points, points.sum(axis=1)]))
    found = _quadratic_discriminant(make_classifier("QDA"), points, y, points)
    model = QuadraticDiscriminantAnalysis(reg_param=RIDGE).fit(points, y)
    np.testing.assert_array_equal(found, model.predict(points))


def test_evaluate_names_its_scores_as_the_papers_tables(plane, wine):
    points, y = plane
    scores = evaluate(points, y, X=wine[0])
    own = ["silhouette", "mean_accuracy_4", "max_accuracy_8", "accuracy_1nn"]
    kept = ["trustworthiness", "continuity"]
    assert list(scores) == own + [f"accuracy:{name}" for name in EIGHT] + kept
    each = {name: scores[f"accuracy:{name}"] for name in EIGHT}
    assert each == score_classifiers(EIGHT, *halves(points, y))
    assert scores["mean_accuracy_4"] == np.mean([each[name] for name in FOUR])
    assert scores["max_accuracy_8"] == max(each.values())
    assert scores["trustworthiness"] == trustworthiness(wine[0], points)
    assert scores["continuity"] == continuity(wine[0], points)
    assert evaluate(points, y, random_state=0) != evaluate(points, y)


def test_bad_input_of_evaluate_is_named(plane):
    points, y = plane
    with pytest.raises(ValueError, match=r"y must have one class for each of the 178"):
        evaluate(points, y[1:])
    with pytest.raises(ValueError, match="each of the 177 rows of X"):
        evaluate(points, y, X=points[1:])


# The papers' PCA columns

EXCHANGEABLE = {"balance-scale", "car", "mux6", "parity5", "tic-tac-toe"}
"""Sets whose features can be exchanged: their principal axes are not unique."""

MAX_SAMPLES = 1000
"""Larger sets are left out here, to keep the test short."""


@pytest.fixture(scope="module")
def pca_columns(papers_folder):
    """Return (paper, metric, name, printed) of sets the index calls exact."""
    with (papers_folder / "index.csv").open(encoding="utf-8", newline="") as lines:
        exact = {
            row["name"]
            for row in csv.DictReader(lines)
            if row["fidelity"].startswith("exact")
            and int(row["n_samples"]) <= MAX_SAMPLES
        }
    with (papers_folder / "published.csv").open(encoding="utf-8", newline="") as lines:
        return [
            (row["seed"], row["metric"], row["name"], float(row["value"]))
            for row in csv.DictReader(lines)
            if row["method"] == "PCA" and row["name"] in exact - EXCHANGEABLE
        ]


@pytest.fixture(scope="module")
def planes(papers_folder, pca_columns):
    found = {}
    for name in {name for _, _, name, _ in pca_columns}:
        dataset = load(name, data_home=papers_folder, download=False)
        X = scale(dataset.filled())
        found[name] = PCA(2, svd_solver="full").fit_transform(X), dataset.target
    return found


def test_silhouettes_are_the_published_ones(pca_columns, planes):
    wanted = [row for row in pca_columns if row[1] == "silhouette"]
    assert len(wanted) > 40
    for paper, _, name, printed in wanted:
        assert silhouette(*planes[name]) == pytest.approx(printed, abs=0.01), (
            paper,
            name,
        )


def test_deterministic_classifiers_give_the_printed_digits(pca_columns, planes):
    names = ("NB", "QDA", "SVM", "GPC")
    wanted = {
        (name, metric.removeprefix("accuracy:")): printed
        for paper, metric, name, printed in pca_columns
        if paper == "ISOKL" and metric.removeprefix("accuracy:") in names
    }
    linear = dict.fromkeys((True, False), 0)
    assert len(wanted) == 20  # iris, wine, hayes-roth, spectf and servo
    for name in {name for name, _ in wanted}:
        scores = score_classifiers([*names, "linear SVM"], *halves(*planes[name]))
        for classifier in names:
            printed = wanted[name, classifier]
            assert scores[classifier] == pytest.approx(printed, abs=0.0011), name
        close = abs(scores["linear SVM"] - wanted[name, "SVM"]) <= 0.0011
        linear[close] += 1
    assert linear == {True: 2, False: 3}  # the printed SVM is not the linear one


def test_mean_accuracies_are_close_to_the_published_ones(pca_columns, planes):
    """DT and RFC had no seed, so only the mean error is stable; strata do worse."""
    errors = {None: [], "strata": []}

    @cache  # several papers print the same set
    def mean_accuracy(name, kind):
        points, y = planes[name]
        train, test, y_train, y_test = train_test_split(
            points, y, test_size=0.5, random_state=42, stratify=y if kind else None
        )
        return panel_mean(score_classifiers(FOUR, train, y_train, test, y_test))

    for _, metric, name, printed in pca_columns:
        if metric == "mean_accuracy_4" and len(planes[name][1]) <= 200:
            for kind, found in errors.items():
                found.append(abs(mean_accuracy(name, kind) - printed))
    assert len(errors[None]) >= 18
    assert np.mean(errors[None]) < 0.012
    assert np.mean(errors["strata"]) > 0.03
