"""PatchPosterior: an honest picture, honest classes, and reasons for both."""

import pickle

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import silhouette_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import patchfold as pf
from patchfold.exceptions import LabelBlendWarning
from patchfold.posterior.plotting import plot_explanation
from patchfold.posterior.scores import SCORES
from patchfold.posterior.views import VIEWS


@pytest.fixture(scope="module")
def raw_wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(raw_wine):
    X, y = raw_wine
    return pf.PatchPosterior().fit(X[::2], y[::2])


def test_it_embeds_and_classifies_raw_columns(raw_wine, fitted):
    X, y = raw_wine
    assert fitted.embedding_.shape == (89, 2)
    assert fitted.score(X[1::2], y[1::2]) > 0.95
    placed = fitted.transform(X[1::2])
    nearest = np.linalg.norm(placed[:, None] - fitted.anchors_[None], axis=2)
    assert np.mean(nearest.argmin(axis=1) == y[1::2]) > 0.95


def test_a_new_sample_lies_at_the_mean_of_the_anchors_under_its_posterior(
    raw_wine, fitted
):
    X, _ = raw_wine
    posterior = fitted.predict_proba(X[1::2])
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    np.testing.assert_allclose(
        fitted.transform(X[1::2]), posterior @ fitted.anchors_, atol=1e-12
    )
    assert (fitted.predict(X[1::2]) == posterior.argmax(axis=1)).all()


def test_training_rows_keep_their_leave_one_out_coordinates(raw_wine, fitted):
    X, y = raw_wine
    np.testing.assert_array_equal(fitted.transform(X[::2]), fitted.embedding_)
    np.testing.assert_array_equal(fitted.transform(X[[4]])[0], fitted.embedding_[2])
    again = pf.PatchPosterior().fit_transform(X[::2], y[::2])
    np.testing.assert_array_equal(again, fitted.embedding_)


@pytest.mark.parametrize(
    ("scores", "tolerance"),
    [
        (("patch", "pooled", "kernel", "class"), 1e-10),
        (("marginal",), 0.02),  # the sizes of classes are in its smoothing
    ],
)
def test_the_label_of_a_row_moves_it_only_through_what_all_share(
    raw_wine, scores, tolerance
):
    """With the stack held, its own label plays no part in a row's posterior."""
    X, y = raw_wine
    for i in (0, 70, 150):
        changed = y.copy()
        changed[i] = (y[i] + 1) % 3
        model = pf.PatchPosterior(scores=scores)
        one, two = (clone(model).fit(X, labels) for labels in (y, changed))
        two._fitted.model.stack = one._fitted.model.stack
        posterior = two._fitted.model.left_out([i]).posterior
        np.testing.assert_allclose(posterior[0], one.posterior_[i], atol=tolerance)


def noise_set(n, m, n_classes, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m)), rng.integers(0, n_classes, n)


@pytest.mark.parametrize(("n", "m"), [(200, 5), (80, 40)], ids=["flat", "wide"])
def test_permuted_labels_are_at_chance_in_training_and_test(n, m):
    silhouettes, accuracies = [], []
    for seed in range(4):
        X, y = noise_set(n, m, 2, seed)
        X_test, y_test = noise_set(300, m, 2, seed + 100)
        model = pf.PatchPosterior().fit(X, y)
        silhouettes.append(silhouette_score(model.embedding_, y))
        accuracies.append(model.score(X_test, y_test))
    assert abs(np.mean(silhouettes)) < 0.03
    assert abs(np.mean(accuracies) - 0.5) < 0.03


@pytest.mark.parametrize(
    ("n_classes", "size", "m"), [(2, 5, 100), (4, 4, 200), (4, 5, 500), (10, 4, 200)]
)
def test_tiny_classes_of_wide_data_do_not_give_labels_away(n_classes, size, m):
    """What a class loses when its row is left out must not speak for that class."""
    right, silhouettes = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.repeat(np.arange(n_classes), size))
        model = pf.PatchPosterior().fit(rng.normal(size=(y.size, m)), y)
        right.append(np.mean(model.posterior_.argmax(axis=1) == y))
        silhouettes.append(silhouette_score(model.embedding_, y))
    assert np.mean(right) < 1 / n_classes + 0.15
    assert np.mean(silhouettes) < 0.1


def test_the_order_of_rows_changes_nothing_beyond_the_landmarks():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    order = np.random.default_rng(0).permutation(300)
    one = pf.PatchPosterior(n_landmarks=100).fit(X, y)
    other = pf.PatchPosterior(n_landmarks=100).fit(X[order], y[order])
    np.testing.assert_allclose(other.embedding_, one.embedding_[order], atol=1e-8)


def test_permuted_labels_of_real_data_are_at_chance(raw_wine):
    X, y = raw_wine
    y = np.random.default_rng(0).permutation(y)
    model = pf.PatchPosterior().fit(X[::2], y[::2])
    assert silhouette_score(model.embedding_, y[::2]) < 0.03
    majority = np.bincount(y[1::2]).max() / len(y[1::2])
    assert model.score(X[1::2], y[1::2]) < majority + 0.1


def test_blending_labels_in_is_announced_and_fools_the_training_picture():
    X, y = noise_set(200, 5, 2, 0)
    with pytest.warns(LabelBlendWarning, match=r"label_blend=0\.5 puts the labels"):
        model = pf.PatchPosterior(label_blend=0.5).fit(X, y)
    assert silhouette_score(model.embedding_, y) > 0.6
    honest = pf.PatchPosterior().fit(X, y)
    new = X + 0.01
    np.testing.assert_array_equal(model.transform(new), honest.transform(new))


def test_names_of_classes_change_nothing(raw_wine, fitted):
    X, y = raw_wine
    names = np.array(["zinfandel", "barolo", "merlot"])
    model = pf.PatchPosterior().fit(X[::2], names[y[::2]])
    assert model.classes_.tolist() == sorted(names)
    np.testing.assert_allclose(model.embedding_, fitted.embedding_, atol=1e-9)
    order = [model.classes_.tolist().index(name) for name in names]
    np.testing.assert_allclose(model.anchors_[order], fitted.anchors_, atol=1e-9)
    assert (model.predict(X[1::2]) == names[fitted.predict(X[1::2])]).all()


@pytest.mark.parametrize("n_components", [1, 2])
def test_names_change_nothing_where_classes_are_alike_in_all_but_place(n_components):
    corners = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])
    cloud = np.random.default_rng(0).normal(size=(12, 2))
    X = (corners[:, None] + cloud).reshape(-1, 2)
    y = np.repeat(np.arange(4), 12)
    plain = pf.PatchPosterior(n_components).fit(X, y)
    renamed = np.array([2, 0, 3, 1])
    other = pf.PatchPosterior(n_components).fit(X, renamed[y])
    np.testing.assert_allclose(other.anchors_[renamed], plain.anchors_, atol=1e-9)
    np.testing.assert_allclose(other.embedding_, plain.embedding_, atol=1e-6)


def test_numbers_kept_as_objects_are_sorted_as_numbers(raw_wine):
    X, y = raw_wine
    labels = np.array([10, 2, 9], dtype=object)[y]
    model = pf.PatchPosterior().fit(X, labels)
    assert model.classes_.tolist() == [2, 9, 10]
    assert (model.predict(X) == labels).mean() > 0.9


@pytest.mark.parametrize("size", [1e150, 1e300])
def test_samples_far_from_everything_still_have_a_posterior(raw_wine, fitted, size):
    far = np.sign(raw_wine[0][:5] - raw_wine[0].mean(axis=0)) * size
    np.testing.assert_allclose(fitted.predict_proba(far).sum(axis=1), 1)
    assert np.isfinite(fitted.transform(far)).all()


@pytest.mark.parametrize("unit", [2.0**-990, 2.0**990])
def test_columns_of_the_largest_and_smallest_numbers_count(raw_wine, unit):
    X, y = raw_wine
    X = (X - X.mean(axis=0)) / np.abs(X).max(axis=0)
    plain = pf.PatchPosterior().fit(X[::2], y[::2])
    model = pf.PatchPosterior().fit(X[::2] * unit, y[::2])
    np.testing.assert_allclose(model.embedding_, plain.embedding_, atol=1e-9)
    new = X[1::2]
    np.testing.assert_allclose(
        model.transform(new * unit), plain.transform(new), atol=1e-9
    )


def test_the_order_of_rows_changes_nothing(raw_wine, fitted):
    X, y = raw_wine
    order = np.random.default_rng(0).permutation(89)
    model = pf.PatchPosterior().fit(X[::2][order], y[::2][order])
    np.testing.assert_allclose(model.embedding_, fitted.embedding_[order], atol=1e-8)
    np.testing.assert_allclose(
        model.transform(X[1::2]), fitted.transform(X[1::2]), atol=1e-8
    )


def test_units_of_columns_change_nothing(raw_wine, fitted):
    X, y = raw_wine
    scaled = X * np.logspace(-3, 3, X.shape[1]) - 5
    model = pf.PatchPosterior().fit(scaled[::2], y[::2])
    np.testing.assert_allclose(model.embedding_, fitted.embedding_, atol=1e-8)


def test_unlabelled_rows_are_placed_by_their_posterior_and_speak_for_no_class(
    raw_wine, fitted
):
    X, y = raw_wine
    partly = np.where(np.arange(178) % 2, -1, y)
    model = pf.PatchPosterior().fit(X, partly)
    assert model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(model.embedding_[::2], fitted.embedding_, atol=1e-12)
    np.testing.assert_allclose(
        model.embedding_[1::2], fitted.transform(X[1::2]), atol=1e-12
    )
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    by_name = np.where(partly < 0, "-1", np.array(["a", "b", "c"])[y])
    named = pf.PatchPosterior().fit(X, by_name)
    np.testing.assert_array_equal(named.embedding_, model.embedding_)


def test_two_labels_of_which_one_is_minus_one_are_two_classes():
    X, y = make_classification(80, random_state=0)
    model = pf.PatchPosterior().fit(X, 2 * y - 1)
    assert model.classes_.tolist() == [-1, 1]


def test_two_classes_have_a_posterior_axis_and_one_of_typicality():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    model = pf.PatchPosterior().fit(X, y)
    axis = model.anchors_[:, 0]
    assert sorted(axis) == [-1, 1]
    np.testing.assert_allclose(model.embedding_[:, 0], model.posterior_ @ axis)
    line = pf.PatchPosterior(n_components=1).fit(X, y)
    np.testing.assert_allclose(line.embedding_, model.embedding_[:, :1])
    heights = model.transform(np.array([X.mean(axis=0), X.mean(axis=0) + 50]))[:, 1]
    assert heights[1] < heights[0]


@pytest.mark.parametrize("n_components", [1, 2, 3, 4])
def test_any_number_of_components_up_to_the_classes(n_components):
    X, y = make_classification(
        120, 6, n_informative=5, n_redundant=0, n_classes=4, random_state=0
    )
    model = pf.PatchPosterior(n_components).fit(X, y)
    assert model.embedding_.shape == (120, n_components)
    assert model.get_feature_names_out().tolist() == [
        f"patchposterior{k}" for k in range(n_components)
    ]
    assert np.ptp(model.embedding_, axis=0).min() > 0


def test_more_components_than_classes_are_refused(raw_wine):
    with pytest.raises(ValueError, match="n_components=4 exceeds the 3 axes"):
        pf.PatchPosterior(4).fit(*raw_wine)


def test_one_class_is_refused(raw_wine):
    X, _ = raw_wine
    with pytest.raises(ValueError, match="needs two classes or more"):
        pf.PatchPosterior().fit(X, np.zeros(178))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("score", SCORES)
def test_every_part_works_alone(raw_wine, view, score):
    X, y = raw_wine
    model = pf.PatchPosterior(views=(view,), scores=(score,)).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.8
    assert len(model.score_names_) == len(model.score_weights_)
    assert (model.score_weights_ >= 0).all()
    assert model.score_weights_.max() > 0


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("views", ("colour",)), ("scores", ()), ("n_neighbors", 0), ("label_blend", 2)],
)
def test_a_wrong_parameter_is_named(raw_wine, parameter, value):
    with pytest.raises(ValueError, match=f"The '{parameter}' parameter of PatchPost"):
        pf.PatchPosterior(**{parameter: value}).fit(*raw_wine)


def test_classes_of_one_and_two_rows():
    X, y = load_iris(return_X_y=True)
    rows = [0, *range(50, 52), *range(100, 130)]
    model = pf.PatchPosterior().fit(X[rows], y[rows])
    assert np.isfinite(model.embedding_).all()
    assert model.posterior_[0, 0] == 0  # without this row its class is not known
    assert model.posterior_[1, 0] > 0
    assert (model.predict(X[[0, 1, 2]]) == 0).all()


def test_every_class_has_one_row():
    X = np.array([[0.0, 0.0], [1.0, 5.0], [9.0, 2.0]])
    model = pf.PatchPosterior().fit(X, ["a", "b", "c"])
    assert np.isfinite(model.embedding_).all()
    assert model.predict(X).tolist() == ["a", "b", "c"]


def test_constant_columns_and_twins_of_different_classes():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, (60, 3)), np.full(60, 4.2)])
    y = rng.integers(0, 2, 60)
    X[1], y[0], y[1] = X[0], 0, 1
    model = pf.PatchPosterior().fit(X, y)
    assert np.isfinite(model.embedding_).all()
    group = np.all(X[0] == X, axis=1)
    np.testing.assert_allclose(
        model.transform(X[:1])[0], model.embedding_[group].mean(axis=0)
    )
    assert np.isfinite(model.transform(X + np.array([0, 0, 0, 100.0]))).all()


def test_all_rows_identical():
    X, y = np.ones((12, 3)), np.arange(12) % 2
    model = pf.PatchPosterior().fit(X, y)
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_allclose(model.predict_proba(X[:1] + 1), [[0.5, 0.5]], atol=1e-6)


def test_more_features_than_samples():
    rng = np.random.default_rng(0)
    y = np.arange(60) // 2 % 2
    X = rng.normal(size=(60, 300))
    X[:, :30] += 2 * y[:, None]
    model = pf.PatchPosterior().fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9


def test_any_number_of_threads_gives_the_same_bits(raw_wine, cut_blocks):
    cut_blocks(2**15)
    X, y = raw_wine
    alone = pf.PatchPosterior(n_jobs=1).fit(X[::2], y[::2])
    model = pf.PatchPosterior(n_jobs=3).fit(X[::2], y[::2])
    np.testing.assert_array_equal(model.embedding_, alone.embedding_)
    np.testing.assert_array_equal(model.transform(X), alone.transform(X))


def test_a_transformer_may_search_the_neighbours(raw_wine, fitted):
    X, y = raw_wine
    search = KNeighborsTransformer(n_neighbors=16, algorithm="kd_tree")
    model = pf.PatchPosterior(neighbors_algorithm=search).fit(X[::2], y[::2])
    np.testing.assert_allclose(model.embedding_, fitted.embedding_, atol=1e-9)
    np.testing.assert_allclose(model.transform(X), fitted.transform(X), atol=1e-9)


def test_a_class_too_small_for_the_transformer_is_searched_exactly(raw_wine):
    X, y = raw_wine
    y = y.copy()
    y[:3] = 7
    search = KNeighborsTransformer(n_neighbors=60)
    one = pf.PatchPosterior().fit(X, y)
    other = pf.PatchPosterior(neighbors_algorithm=search).fit(X, y)
    np.testing.assert_allclose(other.embedding_, one.embedding_, atol=1e-8)


def test_approximate_search_finds_nearly_the_same():
    X, y = make_classification(4000, 6, n_informative=6, n_redundant=0, random_state=0)
    one = pf.PatchPosterior(scores=("patch",)).fit(X[:3900], y[:3900])
    other = pf.PatchPosterior(scores=("patch",), neighbors_algorithm="approximate")
    other.fit(X[:3900], y[:3900])
    for model in (one, other):
        assert model.score(X[3900:], y[3900:]) > 0.85
    apart = abs(one.predict_proba(X[3900:]) - other.predict_proba(X[3900:]))
    assert apart.max() > 0
    assert np.mean(apart) < 0.02


def test_few_landmarks_are_nearly_as_good(raw_wine):
    X, y = raw_wine
    model = pf.PatchPosterior(scores=("kernel",), n_landmarks=20).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9


def test_it_works_in_a_pipeline_and_in_cross_validation(raw_wine):
    X, y = raw_wine
    model = make_pipeline(StandardScaler(), pf.PatchPosterior())
    assert cross_val_score(model, X, y, cv=3).mean() > 0.95


def test_an_explanation_adds_up_to_the_posterior(raw_wine, fitted):
    X, _ = raw_wine
    told = fitted.explain(X[1])
    assert told.left_out is None
    logits = told.contributions.sum(axis=0) + told.offsets
    odds = np.exp(logits - logits.max())
    np.testing.assert_allclose(told.posterior, odds / odds.sum())
    np.testing.assert_allclose(told.posterior, fitted.predict_proba(X[[1]])[0])
    np.testing.assert_allclose(told.coordinates, fitted.transform(X[[1]])[0])
    np.testing.assert_allclose(told.contributions.sum(axis=1), 0, atol=1e-12)
    assert told.score_names == fitted.score_names_
    best = fitted.classes_[told.posterior.argmax()]
    assert str(told).startswith(f"{best}: p = ")


def test_an_explanation_names_the_rows_of_every_patch(raw_wine, fitted):
    X, y = raw_wine
    told = fitted.explain(X[[1]])
    assert len(told.patches["rank"]) == 3
    for c, rows in enumerate(told.patches["rank"]):
        assert rows.shape == (15,)
        assert (y[::2][rows] == c).all()


def test_a_training_row_is_explained_without_itself(raw_wine):
    X, y = raw_wine
    partly = np.where(np.arange(178) % 2, -1, y)
    model = pf.PatchPosterior().fit(X, partly)
    told = model.explain(X[10])
    assert told.left_out == 10
    np.testing.assert_array_equal(told.posterior, model.posterior_[10])
    np.testing.assert_allclose(told.coordinates, model.embedding_[10])
    for rows in told.patches["rank"]:
        assert 10 not in rows
        assert rows.shape == (15,)
    assert model.explain(X[11]).left_out is None  # it speaks for no class


def test_only_one_sample_is_explained_at_a_time(raw_wine, fitted):
    with pytest.raises(ValueError, match="x must be one sample, and has 2 rows"):
        fitted.explain(raw_wine[0][:2])


def test_an_explanation_can_be_drawn(raw_wine, fitted):
    from matplotlib.figure import Figure

    X, _ = raw_wine
    told = fitted.explain(X[1])
    ax = plot_explanation(told, ax=Figure().subplots())
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(
        sorted(widths), sorted([*told.contributions.ravel(), *told.offsets]), atol=1e-12
    )
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    assert any("p = " in label for label in labels)


def test_relevance_shows_the_columns_that_matter():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = rng.normal(size=(150, 5))
    X[:, 3] += 3 * y
    relevance = pf.PatchPosterior().fit(X, y).relevance_
    assert relevance.shape == (5,)
    assert relevance.argmax() == 3


def pickled(model):
    return pickle.loads(pickle.dumps(model))


def saved_with_skops(model):
    data = skops.io.dumps(model)
    types = skops.io.get_untrusted_types(data=data)
    assert all(name.startswith("patchfold.") for name in types)
    return skops.io.loads(data, trusted=types)


@pytest.mark.parametrize("copy", [pickled, saved_with_skops])
def test_a_copy_places_samples_with_the_same_bits(raw_wine, fitted, copy):
    X, _ = raw_wine
    restored = copy(fitted)
    np.testing.assert_array_equal(restored.transform(X), fitted.transform(X))
    np.testing.assert_array_equal(restored.predict(X), fitted.predict(X))
    assert str(restored.explain(X[0])) == str(fitted.explain(X[0]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [pf.PatchPosterior()],
    expected_failed_checks=lambda _: dict.fromkeys(
        (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        "a weight is no copy: of a row that is there twice, one is left when the other "
        "is scored",
    ),
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_nothing_is_explained_before_fitting(raw_wine):
    with pytest.raises(NotFittedError):
        pf.PatchPosterior().explain(raw_wine[0][0])
