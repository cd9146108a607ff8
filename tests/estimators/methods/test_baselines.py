"""The papers' baselines: what the table promises, small sets, published columns."""

import csv
import importlib.util
import pickle
import sys

import numpy as np
import pytest
from helpers.comparing import assert_equal_up_to_sign
from sklearn.base import clone
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from patchfold.datasets import load
from patchfold.estimators.methods.baselines import (
    BASELINES,
    PAPER_NEIGHBORS,
    SupervisedPCA,
)
from patchfold.metrics.panels import silhouette

MODULES = {"UMAP": "umap", "SUMAP": "umap"}
MODULES |= {"OPENTSNE": "openTSNE", "PACMAP": "pacmap", "TRIMAP": "trimap"}


def needs(module):
    """Skip a test where another library is not installed."""
    absent = importlib.util.find_spec(module) is None
    return pytest.mark.skipif(absent, reason=f"{module} is not installed")


NEEDS_UMAP = needs("umap")
NAMES = [
    pytest.param(name, marks=needs(MODULES[name])) if name in MODULES else name
    for name in BASELINES
]
NOT_PUBLISHED = {"RAW", "SUMAP", "NCA", "OPENTSNE", "PACMAP", "TRIMAP"}
PAPERS_OWN = {"ELAP", "PELLE", "KLAP", "ISOMAP-KL", "CAUCHY", "GAUSSIAN", "EXPONENTIAL"}

pytestmark = [
    pytest.mark.filterwarnings("ignore:Graph is not fully connected:UserWarning"),
    pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning"),
]
every_baseline = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def one_thread():
    """Keep t-SNE's threads from waiting for each other on a busy machine."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def published(papers_folder):
    """Return the rows of the published numbers."""
    with (papers_folder / "published.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def blobs(n):
    """Return three classes of n samples in all, on a curve in five dimensions."""
    rng = np.random.default_rng(20261121)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 5)) + 2 * y[:, None] * [1, 0, 1, 0, 0], y


# What the table promises


def test_names_are_those_of_the_papers(published):
    named = {row["method"] for row in published} - PAPERS_OWN
    assert named == set(BASELINES) - NOT_PUBLISHED


def test_every_paper_has_its_number_of_neighbors(published):
    assert set(PAPER_NEIGHBORS) == {row["seed"] for row in published} - {"CAUCHY"}


@every_baseline
def test_rows_say_what_their_estimators_do(name):
    row = BASELINES[name]
    X, y = blobs(45)
    model = row.make(2)
    assert hasattr(model, "transform") == row.places_new_samples
    embedding = model.fit_transform(X, y)
    expected = X.shape if name == "RAW" else (45, 2)
    assert embedding.shape == expected
    assert np.isfinite(embedding).all()
    if row.places_new_samples:
        assert model.transform(X[:7] + 0.01).shape == (7, expected[1])
    if row.tunes_neighbors:
        assert row.make(2, n_neighbors=9).get_params()["n_neighbors"] == 9


@every_baseline
def test_labels_are_read_by_the_supervised_ones_alone(name):
    row = BASELINES[name]
    X, y = blobs(45)
    other = np.random.default_rng(0).permutation(y)
    first, second = row.make(2).fit_transform(X, y), row.make(2).fit_transform(X, other)
    assert np.array_equal(first, second) != row.supervised
    if row.supervised:
        with pytest.raises((ValueError, TypeError), match="y"):
            row.make(2).fit(X, None)


@every_baseline
def test_clones_and_copies_give_the_same_numbers(name):
    X, y = blobs(45)
    model = BASELINES[name].make(2, random_state=3)
    first = clone(model).fit_transform(X, y)
    again = pickle.loads(pickle.dumps(model)).fit_transform(X, y)
    np.testing.assert_array_equal(first, again)


# Small sets


@every_baseline
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_small_sets_are_embedded(name):
    bits = np.array([[i >> b & 1 for b in range(5)] for i in range(32)])
    X, y = scale(bits.astype(float)), bits.sum(axis=1) % 2
    for rows in (slice(None), slice(0, 10)):
        embedding = BASELINES[name].make(2).fit_transform(X[rows], y[rows])
        assert embedding.shape[0] == X[rows].shape[0]
        assert np.isfinite(embedding).all()


@pytest.mark.parametrize(
    ("name", "wanted", "n", "used"),
    [
        ("ISOMAP", None, 45, 20),
        ("ISOMAP", None, 12, 11),
        ("ISOMAP", 5, 45, 5),
        ("LAP", None, 12, 11),
        ("LLE", 40, 30, 29),
        ("HLLE", 5, 45, 6),
        ("LTSA", 2, 45, 3),
    ],
)
def test_neighbors_are_fitted_to_the_set(name, wanted, n, used):
    model = BASELINES[name].make(2, n_neighbors=wanted).fit(*blobs(n))
    assert model.estimator_.n_neighbors == used
    assert model.n_neighbors == wanted


@pytest.mark.parametrize(("n", "used"), [(45, 30.0), (31, 30.0), (25, 8.0)])
def test_perplexity_is_fitted_to_the_set(n, used):
    model = BASELINES["TSNE"].make(2).fit(blobs(n)[0])
    assert model.estimator_.perplexity == used


def test_discriminant_axes_are_fitted_to_the_classes():
    X, y = blobs(45)
    assert BASELINES["LDA"].make(2).fit_transform(X, y).shape == (45, 2)
    assert BASELINES["LDA"].make(2).fit_transform(X, y > 0).shape == (45, 1)
    assert BASELINES["LDA"].make(1).fit_transform(X, y).shape == (45, 1)


def test_errors_of_a_method_pass():
    with pytest.raises(ValueError, match="n_neighbors must be greater than"):
        BASELINES["HLLE"].make(2).fit(blobs(6)[0])


def test_warnings_of_a_method_pass():
    X, _ = blobs(60)
    X = np.vstack([X, X + 100])
    with pytest.warns(UserWarning, match="connected component"):
        BASELINES["ISOMAP"].make(2).fit(X)


def test_a_missing_umap_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(ImportError, match=r'pip install "patchfold\[eval\]"'):
        BASELINES["UMAP"].make(2)


@pytest.mark.parametrize("name", ["OPENTSNE", "PACMAP", "TRIMAP"])
def test_a_missing_peer_names_the_extra(monkeypatch, name):
    module = MODULES[name]
    monkeypatch.setitem(sys.modules, module, None)
    message = rf'needs {module}.*pip install "patchfold\[peers\]"'
    with pytest.raises(ImportError, match=message):
        BASELINES[name].make(2).fit(blobs(45)[0])


@pytest.mark.parametrize(("name", "least"), [("PACMAP", 10), ("TRIMAP", 8)])
def test_peers_refuse_sets_for_which_they_would_not_return(name, least):
    with pytest.raises(ValueError, match=f"minimum of {least} is required"):
        BASELINES[name].make(2).fit(blobs(least - 1)[0])


# Supervised principal components


def literal_spca(X, y):
    n = len(X)
    H = np.eye(n) - np.ones((n, n)) / n
    L = (y[:, None] == y[None, :]).astype(float)
    values, vectors = np.linalg.eigh(X.T @ H @ L @ H @ X)
    return values[::-1], vectors[:, ::-1]


def test_supervised_pca_is_the_eigenproblem(wine):
    X, y = wine
    _, vectors = literal_spca(X, y)
    model = SupervisedPCA(2).fit(X, y)
    assert_equal_up_to_sign(model.components_.T, vectors[:, :2])
    np.testing.assert_allclose(
        model.transform(X), (X - X.mean(0)) @ model.components_.T
    )


def test_supervised_pca_beyond_its_rank_takes_variance(wine):
    X, y = wine[0], (wine[1] > 0).astype(int)
    values, vectors = literal_spca(X, y)
    assert values[1] < 1e-9 * values[0]
    first, second = SupervisedPCA(2).fit(X, y).components_
    assert abs(first @ vectors[:, 0]) == pytest.approx(1)
    rest = X - np.outer(X @ first, first)
    assert abs(second @ np.linalg.svd(rest)[2][0]) == pytest.approx(1)


def test_supervised_pca_names_a_bad_number_of_components(wine):
    with pytest.raises(ValueError, match="n_components must be from 1 to 13"):
        SupervisedPCA(14).fit(*wine)


# The published columns

COLUMNS = [  # paper, method, sets that agree to .005 (.02 for those that draw lots)
    ("ELAP", "KPCA", "haberman newton_hema analcatdata_wildcat ar1 datatrieve"),
    ("ELAP", "ISOMAP", "haberman newton_hema analcatdata_wildcat ar1 datatrieve"),
    ("ELAP", "LLE", "haberman newton_hema analcatdata_wildcat ar1 datatrieve"),
    ("ELAP", "HLLE", "haberman newton_hema analcatdata_wildcat datatrieve blogger"),
    ("ELAP", "LAP", "haberman newton_hema analcatdata_wildcat ar1 datatrieve"),
    ("ISOKL", "KPCA", "iris wine servo"),
    ("ISOKL", "ISOMAP", "iris wine servo tae"),
    ("ISOKL", "LLE", "iris wine servo tae"),
    ("ISOKL", "LAP", "iris wine servo tae"),
    ("KLAP", "ISOMAP", "iris wine tae vehicle glass flags"),
    ("KLAP", "LDA", "iris wine tae vehicle glass flags"),
    ("KLAP", "SPCA", "iris wine tae vehicle glass flags"),
    ("KLAP", "TSNE", "iris wine tae"),
    pytest.param("KLAP", "UMAP", "iris wine tae", marks=NEEDS_UMAP),
]


@pytest.mark.parametrize(("paper", "method", "names"), COLUMNS)
@pytest.mark.filterwarnings("ignore:The number of connected components:UserWarning")
def test_silhouettes_are_the_published_ones(
    papers_folder, published, paper, method, names
):
    printed = {
        row["name"]: float(row["value"])
        for row in published
        if (row["seed"], row["metric"], row["method"]) == (paper, "silhouette", method)
    }
    tolerance = 0.02 if method in ("TSNE", "UMAP") else 0.005
    errors = {}
    for name in names.split():
        dataset = load(name, data_home=papers_folder, download=False)
        X, y = scale(dataset.filled()), dataset.target
        count = None if "UMAP" in method else PAPER_NEIGHBORS[paper]
        model = BASELINES[method].make(2, n_neighbors=count)
        errors[name] = abs(silhouette(model.fit_transform(X, y), y) - printed[name])
    assert max(errors.values()) <= tolerance, errors
