"""PyNNDescent as a search: recall, new samples, files, what it refuses."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

import patchfold as pf
from patchfold.neighbors.choice import open_search
from patchfold.neighbors.metric import resolve_metric
from patchfold.tables.models import load_model, save_model

K = 12
POINTS = {"n_neighbors": K, "dissimilarity": "euclidean"}


def clumps(n_samples, seed=0):
    """Return samples in clumps, (n, 20); two thirds of their cells are 0."""
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(8, 20))
    X = middles[rng.integers(0, 8, n_samples)] + rng.normal(size=(n_samples, 20))
    return np.where(np.abs(X) > 1, X, 0.0)


DENSE, NEW = clumps(1_300), clumps(40, seed=1)
CASES = {  # few: the index compiles for seconds for each
    "sparse": ("cosine", sp.csr_array),
    "dense": ("canberra", np.asarray),
}


@pytest.fixture(autouse=True, scope="module")
def descent():
    pytest.importorskip("pynndescent")


def searched(metric, X, algorithm, n_jobs=None):
    """Return a search and the neighbours of all samples."""
    resolved = resolve_metric(metric, 2, None, X)
    search = open_search(algorithm, X, K, None, n_jobs, resolved)
    return search, search.of_training(X, n_jobs)


def recall(found, true):
    pairs = zip(found.indices, true.indices, strict=True)
    return np.mean([np.isin(ours, theirs).mean() for ours, theirs in pairs])


@pytest.mark.parametrize("case", CASES)
def test_recall(case):
    metric, kind = CASES[case]
    X, new = kind(DENSE), kind(NEW)
    search, found = searched(metric, X, "approximate")
    exact, true = searched(metric, X, "exact")
    assert recall(found, true) > 0.95
    assert (found.indices != np.arange(X.shape[0])[:, None]).all()
    assert (np.diff(found.distances) >= 0).all()
    # Distances are ours, to the last digits, and none is below the true one.
    assert (found.distances >= true.distances * (1 - 1e-9)).all()
    same = found.indices[:, 0] == true.indices[:, 0]
    np.testing.assert_allclose(
        found.distances[same, 0], true.distances[same, 0], rtol=1e-9, atol=1e-9
    )
    near, there = (s.of_queries(new, X, None) for s in (search, exact))
    assert recall(near, there) > 0.9
    _, again = searched(metric, X, "approximate")
    np.testing.assert_array_equal(again.indices, found.indices)


def test_an_estimator_and_its_file(tmp_path):
    X, new = sp.csr_array(DENSE), sp.csr_array(NEW)
    settings = {**POINTS, "metric": "cosine", "neighbors_algorithm": "approximate"}
    model = pf.PatchEigenmaps(**settings).fit(X)
    placed = model.transform(new)
    assert np.isfinite(placed).all()
    save_model(model, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    np.testing.assert_allclose(loaded.transform(new), placed, atol=1e-9)


def test_identical_samples_and_too_few_candidates():
    X = sp.csr_array(np.vstack([DENSE, np.repeat(DENSE[:1], 60, axis=0)]))
    search, found = searched("cosine", X, "approximate")
    assert (found.distances[-60:] == 0).all()
    assert np.isfinite(found.distances).all()
    candidates = np.full((2, K + 2), -1)
    candidates[:, 0] = [0, 1]
    _, true = searched("cosine", X, "exact")
    own = np.arange(2)
    near = search._among(candidates, search.samples[:2], K, own, None)
    np.testing.assert_array_equal(near.indices, true.indices[:2])


def test_few_samples_are_compared_with_all():
    X = sp.csr_array(DENSE[:300])
    search, found = searched("cosine", X, "approximate")
    assert search.index is None
    np.testing.assert_array_equal(
        found.indices, searched("cosine", X, "exact")[1].indices
    )


def test_without_it_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    monkeypatch.setitem(sys.modules, "pynndescent.distances", None)
    model = pf.PatchIsomap(**POINTS, neighbors_algorithm="approximate")
    for n in (300, 1_300):
        with pytest.raises(ImportError, match=r'pip install "patchfold\[neighbors\]"'):
            model.fit(sp.csr_array(DENSE[:n]))


@pytest.mark.parametrize(
    ("metric", "params"),
    [(lambda a, b: abs(a - b).sum(), None), ("minkowski", {"w": np.ones(20), "p": 3})],
)
def test_metrics_that_it_does_not_know(metric, params):
    settings = {"metric": metric, "metric_params": params}
    model = pf.PatchIsomap(**POINTS, **settings, neighbors_algorithm="approximate")
    with pytest.raises(ValueError, match=r"does not know metric=.*'exact'"):
        model.fit(DENSE)
