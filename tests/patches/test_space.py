"""Wide samples are seen in the space they span, and nothing else changes."""

import numpy as np
import pytest
from helpers import reference
from numpy.testing import assert_allclose

import patchfold as pf
from patchfold.dissimilarity.table import DISSIMILARITIES
from patchfold.estimators import source
from patchfold.patches.fitting import is_wide
from patchfold.patches.space import Span, find_span

ISOMETRIC = [name for name, row in DISSIMILARITIES.items() if row.isometric]


@pytest.fixture
def wide():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 200)) * rng.gamma(1, size=200) + 5


@pytest.fixture
def in_all_features(monkeypatch):
    """Fit a model without the change of coordinates."""

    def fit(model, X):
        with monkeypatch.context() as patch:
            patch.setattr(source, "is_wide", lambda n, m: False)
            return model.fit(X)

    return fit


def spans_little(model):
    """Say whether the patches of a fitted model are seen in the span of its samples."""
    return isinstance(model._fitted.links.store.fitter.span, Span)


def queries(X):
    """Return samples between training samples, outside their span, and far away."""
    rng = np.random.default_rng(1)
    between = (X[:3] + X[3:6]) / 2
    return np.vstack([between, X[:3] + rng.normal(size=(3, X.shape[1])), 20 * X[:1]])


def assert_same_model(model, other, X):
    assert spans_little(model)
    assert not spans_little(other)
    assert_allclose(model.graph_.data, other.graph_.data, rtol=1e-9, atol=1e-11)
    assert (model.graph_.indices == other.graph_.indices).all()
    assert_allclose(model.transform(X), other.transform(X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ISOMETRIC)
def test_edges_and_new_samples_are_those_of_all_features(name, wide, in_all_features):
    settings = {"n_neighbors": 6, "dissimilarity": name}
    other = in_all_features(pf.PatchIsomap(**settings), wide)
    model = pf.PatchIsomap(**settings).fit(wide)
    assert_same_model(model, other, queries(wide))


@pytest.mark.parametrize(
    "settings",
    [
        {"n_neighbors": 25},
        {"n_neighbors": 1, "include_center": False},
        {"shrinkage": "oas"},
        {"shrinkage": "ledoit_wolf"},
        {"shrinkage": 0.0, "ridge": 1e-3},
        {"n_directions": 3},
        {"n_directions": 0.7, "dissimilarity": "wasserstein"},
        {"n_neighbors": None, "radius": 24.0},
        {"adaptive_patches": True},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_same_for_every_kind_of_patch(settings, wide, in_all_features):
    other = in_all_features(pf.PatchIsomap(**settings), wide)
    assert_same_model(pf.PatchIsomap(**settings).fit(wide), other, queries(wide))


def test_kl_is_that_of_the_papers_formula(wide):
    few = wide[:15, :60]  # the formula, in loops, takes its time
    model = pf.PatchLLE(n_neighbors=5, shrinkage=0.1, ridge=1e-6).fit(few)
    assert spans_little(model)
    lengths = reference.kl_lengths(few, 5, 0.1, 1e-6)
    ours = model.graph_.tocoo()
    ours = {(i, j): v for i, j, v in zip(*ours.coords, ours.data, strict=True) if i < j}
    assert ours.keys() == lengths.keys()
    values = [ours[edge] for edge in lengths]
    assert_allclose(values, list(lengths.values()), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("settings", [{"dissimilarity": "curvature"}, {}], ids=str)
def test_what_depends_on_the_features_keeps_them(settings, wide):
    model = pf.PatchEigenmaps(covariance="full" if settings else "diagonal", **settings)
    assert not spans_little(model.fit(wide))


def test_a_callable_sees_the_features(wide):
    seen = set()

    def gap(left, right):
        seen.add(left.mean.shape[1])
        return np.linalg.norm(left.mean - right.mean, axis=1)

    pf.PatchEigenmaps(n_neighbors=6, dissimilarity=gap).fit(wide)
    assert seen == {200}


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.DisconnectedGraphWarning")
def test_identical_samples_stay_identical(wide):
    twins = np.repeat(wide[:8], 4, axis=0)
    model = pf.PatchIsomap(n_neighbors=3)
    with pytest.warns(pf.exceptions.DegeneratePatchWarning, match="^32 of 32 patches"):
        model.fit(twins)
    assert not spans_little(model)


def test_a_sweep_is_separate_fits(wide):
    model = pf.PatchLLE()
    swept = list(pf.fit_sweep(model, wide, n_neighbors=[4, 7]))
    assert sorted(fitted.n_neighbors_ for fitted in swept) == [4, 7]
    for fitted in swept:
        alone = pf.PatchLLE(n_neighbors=fitted.n_neighbors_).fit(wide)
        assert_allclose(fitted.graph_.data, alone.graph_.data, rtol=1e-10)


def test_a_saved_model_places_new_samples(wide, tmp_path):
    pytest.importorskip("skops")
    model = pf.PatchLLE(n_neighbors=6).fit(wide)
    pf.save_model(model, tmp_path / "wide.skops")
    again = pf.load_model(tmp_path / "wide.skops")
    assert (again.transform(queries(wide)) == model.transform(queries(wide))).all()


def distances(points, others):
    return np.linalg.norm(points[:, None] - others[None], axis=2)


@pytest.mark.parametrize(
    "kind", ["free", "dependent", "close", "nearly", "one outlier"]
)
def test_distances_survive_the_change_of_coordinates(kind, wide):
    X = wide.copy()
    if kind == "dependent":
        X[10:] = wide[:10].repeat(2, axis=0) * np.linspace(1, 2, 20)[:, None]
    elif kind in ("close", "nearly"):  # close enough, or too close for two rounds
        X[1::2] = X[::2] + (1e-6 if kind == "close" else 1e-9) * X[1::2]
    elif kind == "one outlier":
        X[3] += 1e6
    span = find_span(X)
    other = queries(X)
    rounding = 1e-13 * abs(X).max() * 200
    assert_allclose(
        distances(span.samples, span.samples), distances(X, X), atol=rounding
    )
    assert_allclose(
        distances(span.locate(other), span.samples),
        distances(other, X),
        rtol=1e-12,
        atol=rounding,
    )


def test_samples_far_from_zero_keep_their_distances(wide):
    """All of them, the last one too: the mean is rounded, and gaps are from it."""
    X = np.round(wide * 2**20) / 2**20  # the shift below is exact
    far = find_span(X + 2.0**25).samples
    assert_allclose(distances(far, far), distances(X, X), rtol=1e-11, atol=1e-12)


def test_few_features_are_not_wide():
    assert is_wide(30, 62)
    assert not is_wide(30, 61)
