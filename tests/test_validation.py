"""Parameters and samples that `fit` refuses, and what `fit` leaves alone."""

import inspect
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.estimators import GRAPH_EMBEDDINGS, over_graph_embeddings
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer

import patchfold as pf
from patchfold.backends.native import loops
from patchfold.exceptions import (
    DisconnectedGraphWarning,
    MissingLoopsWarning,
    NegativeEigenvalueWarning,
    NeighborCountWarning,
)
from patchfold.neighbors.metric import METRICS
from patchfold.validation import check_samples

X = np.random.default_rng(0).normal(size=(40, 3))
OTHER = np.random.default_rng(1).normal(size=(30, 5))

# --- Parameters -----------------------------------------------------------------------

COUNT = "an int >= 1 or a float in (0, 1] (a fraction of the samples) or 'auto' or None"
WIDTH = "a float > 0 or 'auto'"
WRONG_WIDTHS = [0, 0.0, -1.0, np.nan, np.inf, "median", None, True]

# name: the sentence's middle, and values that it refuses
SHARED = {
    "n_components": ("an int >= 1", [0, -1, 2.0, "2", None, True, np.True_, [2]]),
    "n_neighbors": (
        COUNT,
        [0, -3, 0.0, -0.5, 1.5, 3.0, np.nan, np.inf, "best", True, np.array([3, 4])],
    ),
    "radius": ("a float > 0 or None", [0, 0.0, -1.0, np.nan, -np.inf, "auto", True]),
    "metric": (
        " or ".join(map(repr, METRICS)) + " or a callable on two samples",
        ["angle", "nan_euclidean", None, 1, dict, ["cosine"]],
    ),
    "p": ("a float > 0", [0, -1, np.nan, "2", None, True]),
    "metric_params": ("a dict or None", ["w", 3, [1, 2], dict]),
    "adaptive_patches": ("True or False", [1, 0, None, "curvature"]),
    "dissimilarity": (
        "'euclidean' or 'kl' or 'bhattacharyya' or 'hellinger' or 'cauchy_schwarz' or "
        "'wasserstein' or 'fisher_rao' or 'kde' or 'curvature' or 'principal_angles' "
        "or 'precomputed' or a callable on patches",
        ["KL", "bures", "", None, 1, dict, ["kl"]],
    ),
    "label_rule": (
        "'klap' or 'entropic' or 'within' or None",
        ["KLAP", "none", False, 0, len],
    ),
    "include_center": ("True or False", [1, 0, None, "True"]),
    "covariance": (
        "'full' or 'diagonal' or 'robust'",
        ["tied", None, True, 1, len],
    ),
    "n_directions": (
        "an int >= 1 or a float > 0 and <= 1 or None",
        [0, 0.0, -1, 1.5, 2.0, np.nan, "all", True],
    ),
    "shrinkage": (
        "a float >= 0 and <= 1 or 'oas' or 'ledoit_wolf'",
        [-0.1, 1.1, np.nan, np.inf, "OAS", None, True, False],
    ),
    "ridge": ("a float >= 0", [-1e-9, np.nan, np.inf, -np.inf, "auto", None, True]),
    "neighbors_algorithm": (
        "'auto' or 'exact' or 'approximate' or a KNN transformer",
        ["brute", None, 3, KNeighborsTransformer, object()],
    ),
    "eigen_solver": ("'auto' or 'dense' or 'arpack'", ["lobpcg", None, 0, True]),
    "verbose": ("True or False or a callable", [1, 0, None, "yes"]),
    "n_jobs": (
        "None or an int other than 0 (-1 uses every core)",
        [0, 1.0, "all", True, False],
    ),
}
OWN = {
    pf.PatchIsomap: {
        "n_landmarks": (
            "an int >= 2 or 'auto' or None",
            [1, 0, -3, 2.5, "all", True],
        ),
    },
    pf.PatchEigenmaps: {
        "kernel_width": (WIDTH, WRONG_WIDTHS),
        "laplacian": (
            "'random_walk' or 'unnormalized'",
            ["normalized", None, True, "random walk"],
        ),
        "diffusion_time": ("an int >= 1 or None", [0, -1, 1.0, "auto", True]),
    },
    pf.PatchLLE: {
        "reg": ("a float > 0", [0, 0.0, -1e-3, np.nan, "auto", None, True]),
        "n_landmarks": (
            "an int >= 2 or 'auto' or None",
            [1, 0, -3, 2.5, "all", True],
        ),
    },
    pf.CauchyEmbedding: {
        "decay": (
            "'cauchy' or 'gaussian' or 'exponential' or 'linear' or 'laplacian'",
            ["Cauchy", None, 1, len],
        ),
        "decay_scale": (WIDTH, WRONG_WIDTHS),
        "kernel_width": (WIDTH, WRONG_WIDTHS),
        "min_distance": ("a float >= 0", [-0.1, np.nan, np.inf, "auto", None, True]),
        "max_iter": ("an int >= 0", [-1, 10.0, np.inf, None, True]),
        "tol": ("a float >= 0", [-1e-9, np.nan, np.inf, None, True]),
    },
}


def wrong_parameters():
    for estimator in GRAPH_EMBEDDINGS:
        for name, (wanted, values) in (SHARED | OWN[estimator]).items():
            for value in values:
                yield estimator, name, wanted, value


@pytest.mark.parametrize(
    ("estimator", "name", "wanted", "value"), [*wrong_parameters()]
)
def test_a_wrong_parameter_is_named_with_what_it_must_be(
    estimator, name, wanted, value
):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the whole text is below)
        estimator(**{name: value}).fit(X)
    assert str(caught.value) == (
        f"The {name!r} parameter of {estimator.__name__} must be {wanted}. "
        f"Got {value!r} instead."
    )


@pytest.mark.parametrize("value", ["seed", -1, 0.5])
@over_graph_embeddings
def test_a_wrong_seed_is_named_with_what_it_must_be(estimator, value):
    with pytest.raises(
        ValueError,
        match=rf"^The 'random_state' parameter of {estimator.__name__} must be .*\. "
        rf"Got {re.escape(repr(value))} instead\.$",
    ):
        estimator(random_state=value).fit(X)


@over_graph_embeddings
def test_every_parameter_has_a_test_of_its_sentence(estimator):
    assert set(estimator().get_params()) == {
        *SHARED,
        *OWN[estimator],
        "random_state",
    }


@pytest.mark.parametrize("name", ["n_neighbors", "kernel_width", "dissimilarity"])
def test_parameters_are_checked_before_the_samples(name):
    with pytest.raises(ValueError, match=f"^The '{name}' parameter of PatchEigenmaps"):
        pf.PatchEigenmaps(**{name: -1}).fit("no samples")


@over_graph_embeddings
def test_construction_checks_nothing(estimator):
    wrong = dict.fromkeys(estimator().get_params(), "wrong")
    assert estimator(**wrong).get_params() == wrong


@pytest.mark.parametrize(
    "good",
    [
        {"n_components": np.int64(2)},
        {"n_neighbors": np.int32(8)},
        {"n_neighbors": np.float32(0.25)},
        {"n_neighbors": 1.0},
        {"n_neighbors": Fraction(1, 4)},
        {"include_center": np.False_},
        {"shrinkage": 0},
        {"shrinkage": 1},
        {"shrinkage": np.float32(0.5)},
        {"n_directions": np.int64(2)},
        {"n_directions": np.float32(0.9)},
        {"ridge": 0},
        {"ridge": 5},
        {"n_jobs": np.int64(-2)},
        {"random_state": np.random.RandomState(0)},
        {"random_state": np.int64(7)},
    ],
    ids=lambda good: f"{next(iter(good))}-{type(next(iter(good.values()))).__name__}",
)
def test_numbers_of_any_library_are_numbers(good):
    model = pf.PatchEigenmaps(**{"n_neighbors": 10, **good}).fit(X)
    assert model.embedding_.shape == (40, 2)
    assert np.isfinite(model.embedding_).all()
    if "n_neighbors" in good:
        assert model.n_neighbors_ in (8, 10, 39)


# --- Samples --------------------------------------------------------------------------


@pytest.mark.parametrize("n_components", [40, 41, 1000])
@over_graph_embeddings
def test_more_components_than_samples_allow_are_refused(estimator, n_components):
    with pytest.raises(
        ValueError,
        match=rf"^n_components={n_components} must be less than the number of samples, "
        r"n_samples=40\. Lower it",
    ):
        estimator(n_components).fit(X)


@pytest.mark.parametrize("eigen_solver", ["dense", "arpack"])
@pytest.mark.parametrize("n_components", [8, 9])
@pytest.mark.parametrize("estimator", [pf.PatchEigenmaps, pf.PatchLLE])
def test_as_many_components_as_samples_allow_are_found(
    estimator, n_components, eigen_solver
):
    model = estimator(n_components, n_neighbors=5, eigen_solver=eigen_solver)
    embedding = model.fit_transform(X[:10])
    assert np.linalg.matrix_rank(embedding) == n_components
    assert (np.diff(model.eigenvalues_) >= 0).all()


@pytest.mark.parametrize("eigen_solver", ["dense", "arpack"])
def test_components_the_geodesics_do_not_have_are_zero_with_a_warning(eigen_solver):
    model = pf.PatchIsomap(
        3, n_neighbors=9, dissimilarity="euclidean", eigen_solver=eigen_solver
    )
    with pytest.warns(
        NegativeEigenvalueWarning,
        match=r"^only 1 of 3 components have a positive eigenvalue; the others are "
        r"zero\. Lower n_components\.$",
    ):
        model.fit(np.arange(10.0)[:, None])
    assert (model.embedding_[:, 1:] == 0).all()
    assert (model.transform([[2.5]])[:, 1:] == 0).all()
    np.testing.assert_allclose(np.ptp(model.embedding_[:, 0]), 9)


# All patches are of all samples then, so Isomap sees no distance.
@pytest.mark.filterwarnings("ignore::patchfold.exceptions.NegativeEigenvalueWarning")
@over_graph_embeddings
def test_more_neighbours_than_samples_are_lowered_with_a_warning(estimator):
    with pytest.warns(
        NeighborCountWarning,
        match=r"^n_neighbors=40 exceeds the 39 other samples; n_neighbors=39 is used\. "
        r"Lower n_neighbors or add samples\.$",
    ):
        model = estimator(n_neighbors=40).fit(X)
    assert model.n_neighbors == 40
    assert model.n_neighbors_ == 39
    expected = estimator(n_neighbors=39).fit(X)
    np.testing.assert_array_equal(model.embedding_, expected.embedding_)


# Two samples with one neighbour have the same patch, so Isomap sees no distance.
@pytest.mark.filterwarnings("ignore::patchfold.exceptions.NegativeEigenvalueWarning")
@over_graph_embeddings
def test_two_samples_are_enough(estimator):
    model = estimator(1, n_neighbors=1).fit(X[:2])
    assert model.embedding_.shape == (2, 1)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.transform(X[2:4])).all()


@over_graph_embeddings
def test_one_sample_is_not_enough(estimator):
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        estimator(1, n_neighbors=1).fit(X[:1])


@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
@over_graph_embeddings
def test_samples_that_are_no_numbers_are_refused(estimator, value, words):
    wrong = X.copy()
    wrong[3, 1] = value
    with pytest.raises(ValueError, match=f"^Input X contains {words}"):
        estimator().fit(wrong)
    model = estimator().fit(X)
    with pytest.raises(ValueError, match=f"^Input X contains {words}"):
        model.transform(wrong)


@over_graph_embeddings
def test_new_samples_need_the_features_of_the_training_samples(estimator):
    model = estimator().fit(X)
    with pytest.raises(ValueError, match=r"^X has 2 features, but \w+ is expecting 3"):
        model.transform(X[:, :2])


@pytest.mark.parametrize("dissimilarity", ["kl", "curvature", lambda a, b: 0 * a.noise])
def test_all_pairs_have_no_patches(dissimilarity):
    model = pf.CauchyEmbedding(n_neighbors=None, dissimilarity=dissimilarity)
    with pytest.raises(
        ValueError,
        match=re.escape(
            "n_neighbors=None compares all pairs of samples, but patches need "
            "neighbours: set n_neighbors, or dissimilarity='euclidean' instead of "
            f"{dissimilarity!r}."
        ),
    ):
        model.fit(X)


# --- What fit leaves alone ------------------------------------------------------------


@pytest.mark.parametrize("dissimilarity", ["euclidean", "kl", "curvature"])
@over_graph_embeddings
def test_neither_parameters_nor_samples_are_changed(estimator, dissimilarity):
    model = estimator(n_neighbors=0.3, dissimilarity=dissimilarity, random_state=None)
    params, samples = model.get_params(), X.copy()
    samples.flags.writeable = False
    model.fit(samples)
    model.transform(samples)
    assert model.get_params() == params
    np.testing.assert_array_equal(samples, X)


def fitted_state(model):
    return {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and not name.startswith("_")
    }


def assert_same_state(found, expected):
    found, expected = fitted_state(found), fitted_state(expected)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if sp.issparse(value):
            assert found[name].nnz == value.nnz
            assert (found[name] != value).nnz == 0
        else:
            np.testing.assert_array_equal(found[name], value)


def far_apart():
    return np.concatenate([X[:20], X[20:] + 9])


@pytest.mark.parametrize("dissimilarity", ["euclidean", "kl", "curvature"])
@over_graph_embeddings
def test_a_second_fit_forgets_the_first(estimator, dissimilarity):
    model = estimator(n_neighbors=8, dissimilarity=dissimilarity)
    if "kernel_width" in model.get_params():
        model.set_params(kernel_width=1e6)
    fresh = clone(model).fit(OTHER)
    with pytest.warns(DisconnectedGraphWarning, match="The neighbour graph has 2"):
        model.fit(far_apart())
    model.fit(OTHER)
    assert_same_state(model, fresh)
    new = OTHER[:5] + 0.1
    np.testing.assert_array_equal(model.transform(new), fresh.transform(new))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"n_neighbors": 8}, {"n_neighbors": None}),
        ({"n_neighbors": None}, {"n_neighbors": 8}),
        ({"dissimilarity": "precomputed"}, {"dissimilarity": "euclidean"}),
        ({"dissimilarity": "euclidean"}, {"dissimilarity": "precomputed"}),
        ({"neighbors_algorithm": KNeighborsTransformer()}, {}),
        ({"kernel_width": 1e6}, {}),
        ({"max_iter": 0}, {}),
    ],
    ids=str,
)
def test_a_second_fit_with_other_parameters_forgets_the_first(first, second):
    def samples(model):
        square = np.abs(OTHER[:, :1] - OTHER[:, :1].T)
        return square if model.dissimilarity == "precomputed" else OTHER

    fresh = pf.CauchyEmbedding(**second)
    fresh.fit(samples(fresh))
    model = pf.CauchyEmbedding(**first)
    model.fit(samples(model))
    model.set_params(**pf.CauchyEmbedding().get_params()).set_params(**second)
    model.fit(samples(model))
    assert_same_state(model, fresh)
    new = samples(model)[:5] + 0.1
    np.testing.assert_array_equal(model.transform(new), fresh.transform(new))


def documented_attributes(estimator):
    section = inspect.getdoc(estimator).split("Attributes\n----------")[1]
    section = section.split("See Also")[0]
    names = re.findall(r"^([\w, ]+_) :", section, flags=re.MULTILINE)
    return {name for line in names for name in line.split(", ")}


@pytest.mark.parametrize(
    "model",
    [
        *(estimator() for estimator in GRAPH_EMBEDDINGS),
        *(estimator(dissimilarity="precomputed") for estimator in GRAPH_EMBEDDINGS),
        pf.CauchyEmbedding(n_neighbors=None),
        pf.CauchyEmbedding(n_neighbors=None, dissimilarity="precomputed"),
    ],
    ids=str,
)
def test_every_documented_attribute_is_there_after_fit(model):
    documented = documented_attributes(type(model)) - {"feature_names_in_"}
    assert {"embedding_", "graph_", "n_connected_components_"} <= documented
    square = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    model.fit(square if model.dissimilarity == "precomputed" else X)
    computed = {name for name in documented if hasattr(type(model), name)}
    assert set(fitted_state(model)) == documented - computed
    assert all(hasattr(model, name) for name in computed)
    assert model.n_connected_components_ == 1


def test_a_fit_on_other_data_does_not_leave_the_old_count_of_components():
    model = pf.CauchyEmbedding(n_neighbors=8, kernel_width=1e6)
    with pytest.warns(DisconnectedGraphWarning, match="The neighbour graph has 2"):
        model.fit(far_apart())
    model.set_params(n_neighbors=None).fit(X)
    assert model.n_connected_components_ == 1


def test_a_large_fit_without_the_loops_warns_once(in_arrays, monkeypatch):
    monkeypatch.setattr("patchfold.validation._warned", set())
    few, many = np.zeros((20_000, 1)), np.zeros((20_001, 1))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        check_samples(pf.PatchIsomap(), many, reset=True)
        assert bool(told) != loops.is_compiled()
    monkeypatch.setattr("patchfold.validation._warned", set())
    in_arrays()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        check_samples(pf.PatchIsomap(), few, reset=True)
        assert not told
        for _ in range(2):
            check_samples(pf.PatchIsomap(), many, reset=True)
    (only,) = told
    assert only.category is MissingLoopsWarning
    assert "a fit of 20001 samples takes several times as long" in str(only.message)
