"""The library against a literal, loop-by-loop version of each paper's equations.

Dissimilarities agree to 1e-8 relative, embeddings to a largest principal angle of 1e-6.
ELAP's own t = 1 is used where it leaves the bottom eigenvalues apart; where it makes
all of them zero to rounding (wine), any basis of their space is a solution.
"""

import numpy as np
import pytest
from helpers import reference
from sklearn.metrics import silhouette_score

import patchfold as pf

N_NEIGHBORS = {"iris": 20, "wine": 12, "parity5": 7, "random": 10}
PAPER = {"shrinkage": 0.0, "ridge": 1e-3}
ANGLE = 1e-6


def assert_lengths(graph, lengths):
    assert graph.nnz == 2 * len(lengths)
    ours = np.array([graph[i, j] for i, j in lengths])
    theirs = np.array(list(lengths.values()))
    np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-12)


@pytest.fixture(scope="module")
def kl_set(named_set):
    name, X, _ = named_set
    k = N_NEIGHBORS[name]
    return name, X, k, reference.kl_lengths(X, k, **PAPER)


def test_kl_lengths(kl_set):
    _, X, k, lengths = kl_set
    assert_lengths(pf.isomap_kl(n_neighbors=k).fit(X).graph_, lengths)


@pytest.mark.parametrize("include_center", [True, False])
def test_regularised_kl_lengths(named_set, include_center):
    name, X, _ = named_set
    k = N_NEIGHBORS[name]
    lengths = reference.kl_lengths(X, k, 0.1, 1e-6, include_center=include_center)
    model = pf.PatchIsomap(n_neighbors=k, include_center=include_center).fit(X)
    assert_lengths(model.graph_, lengths)


def test_isomap_kl(kl_set):
    _, X, k, lengths = kl_set
    model = pf.isomap_kl(n_neighbors=k).fit(X)
    expected = reference.isomap(lengths, len(X), 2)
    assert reference.principal_angle(model.embedding_, expected) < ANGLE
    np.testing.assert_allclose(abs(model.embedding_), abs(expected), atol=1e-7)


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.VanishingWeightsWarning")
def test_elap_with_the_median_width(kl_set):
    _, X, k, lengths = kl_set
    model = pf.elap(n_neighbors=k, kernel_width="auto").fit(X)
    squares = [length**2 for length in lengths.values()]
    assert model.kernel_width_ == pytest.approx(np.median(squares))
    expected = reference.eigenmaps(lengths, len(X), 2, np.median(squares), False)
    assert reference.principal_angle(model.embedding_, expected) < ANGLE


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.VanishingWeightsWarning")
def test_elap_with_its_own_width(kl_set):
    name, X, k, lengths = kl_set
    if name == "wine":
        pytest.skip("t = 1 leaves wine a null space of many dimensions")
    expected = reference.eigenmaps(lengths, len(X), 2, 1.0, False)
    model = pf.elap(n_neighbors=k).fit(X)
    assert reference.principal_angle(model.embedding_, expected) < ANGLE


def test_pelle(kl_set):
    _, X, k, _ = kl_set
    model = pf.pelle(n_neighbors=k).fit(X)
    expected = reference.pelle(X, k, 2, 1e-3, **PAPER)
    assert reference.principal_angle(model.embedding_, expected) < ANGLE


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.VanishingWeightsWarning")
def test_klap(named_set):
    _, X, y = named_set
    lengths = reference.curvature_lengths(X, int(0.75 * len(X)), y)
    model = pf.klap().fit(X, y)
    assert_lengths(model.graph_, lengths)
    expected = reference.eigenmaps(lengths, len(X), 2, 1.0, True)
    assert reference.principal_angle(model.embedding_, expected) < ANGLE


def test_curvature_without_labels(named_set):
    name, X, _ = named_set
    k = N_NEIGHBORS[name]
    model = pf.PatchEigenmaps(n_neighbors=k, dissimilarity="curvature").fit(X)
    assert_lengths(model.graph_, reference.curvature_lengths(X, k))


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize("decay", ["cauchy", "gaussian", "exponential", "linear"])
def test_cauchy(named_set, decay, n_components):
    """Ten steps of ascent on all pairs, from the same first guess of L."""
    name, X, _ = named_set
    if name == "parity5":
        pytest.skip("on the cube the Laplacian start is any vector of an eigenspace")
    X = X[::4]
    W = reference.cauchy_similarity(X)
    settings = {"n_components": n_components, "decay": decay, "tol": 0}
    start = pf.cauchy(**settings, max_iter=0).fit(X)
    np.testing.assert_allclose(start.affinity_.toarray(), W, rtol=1e-8)
    pull = [
        sum(
            -W[i, j] * reference.decay_slope(decay, d, start.sigma_) / (2 * d)
            for j, d in enumerate(np.linalg.norm(r - start.embedding_, axis=1))
            if j != i
        )
        for i, r in enumerate(start.embedding_)
    ]
    expected, trace = reference.cauchy_ascent(
        W, n_components, decay, start.sigma_, 10, lipschitz=8 * np.mean(pull)
    )
    model = pf.cauchy(**settings, max_iter=10).fit(X)
    np.testing.assert_allclose(model.objective_, trace[: 10 + 1], rtol=1e-9)
    assert reference.principal_angle(model.embedding_, expected) < ANGLE


@pytest.mark.parametrize(
    ("name", "k", "silhouette"), [("iris", 20, 0.576), ("wine", 40, 0.656)]
)
def test_isomap_kl_gives_the_printed_silhouettes(request, name, k, silhouette):
    """Table 1 of the ISOMAP-KL paper, whose patches leave out their centre."""
    X, y = request.getfixturevalue(name)
    Y = pf.isomap_kl(n_neighbors=k, include_center=False).fit_transform(X)
    assert silhouette_score(Y, y) == pytest.approx(silhouette, abs=1e-3)
