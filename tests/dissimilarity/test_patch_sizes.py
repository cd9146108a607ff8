"""`adaptive_patches`: smaller patches where the samples curve."""

import numpy as np
import pytest
from helpers import reference
from helpers.estimators import PATCH_EMBEDDINGS
from sklearn.base import clone

import patchfold as pf
from patchfold.dissimilarity.patch_sizes import sizes_by_curvature, tangent_turning
from patchfold.neighbors.choice import find_neighbors


def folded(n=1500, seed=0):
    """Return a sheet with one right-angled fold at x = 0, and the way from the fold."""
    rng = np.random.default_rng(seed)
    along, across = rng.uniform(-1, 1, n), rng.uniform(0, 1, n)
    left = np.column_stack([np.minimum(along, 0), across, np.maximum(along, 0)])
    return left, np.abs(along)


def circle(n=60):
    angle = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(angle), np.sin(angle)])


def test_patches_at_a_sharp_bend_are_smaller():
    X, way = folded()
    sizes = pf.PatchEigenmaps(n_neighbors=30, adaptive_patches=True).fit(X).patch_sizes_
    at_the_bend, far = way < 0.03, way > 0.2
    assert at_the_bend.sum() > 30
    assert sizes[at_the_bend].max() < 0.6 * 30
    assert (sizes[far] == 30).all()
    assert sizes.min() == 10  # a third is kept everywhere


def test_a_sharper_bend_turns_more():
    rng = np.random.default_rng(1)
    along, across = rng.uniform(-1, 1, 800), rng.uniform(0, 1, 800)
    turning = []
    for angle in np.deg2rad([10, 30, 60, 90]):
        rise = np.maximum(along, 0)
        X = np.column_stack(
            [np.minimum(along, 0) + rise * np.cos(angle), across, rise * np.sin(angle)]
        )
        turning.append(tangent_turning(X, find_neighbors(X, 20)).max())
    assert (np.diff(turning) > 0.02).all()


def test_turning_is_the_mean_sine_to_the_neighbours():
    """On a circle of n points, tangents of neighbours at k steps turn by 2πk/n."""
    n = 60
    turning = tangent_turning(circle(n), find_neighbors(circle(n), 4))
    expected = np.sin(2 * np.pi * np.array([1, 1, 2, 2]) / n).mean()
    np.testing.assert_allclose(turning, expected, rtol=1e-9)


@pytest.mark.parametrize("tilt", [0.0, 1.0])
def test_constant_curvature_leaves_all_patches_equal(tilt):
    flat = np.array([[a, b, tilt * a] for a in range(12) for b in range(12)], float)
    for X in (circle(), 1e3 + 1e-2 * circle(), flat):
        model = pf.PatchEigenmaps(n_neighbors=8, adaptive_patches=True).fit(X)
        assert (model.patch_sizes_ == 8).all()
        same = pf.PatchEigenmaps(n_neighbors=8).fit(X)
        np.testing.assert_allclose(model.graph_.data, same.graph_.data, atol=1e-12)


def test_more_curvature_never_means_a_larger_patch():
    sizes = sizes_by_curvature(np.linspace(0, 1, 201), np.full(201, 25))
    assert (np.diff(sizes) <= 0).all()
    assert (sizes[:101] == 25).all()
    assert sizes.min() == 13  # half, as the largest curvature is twice the median


@pytest.mark.parametrize(
    "estimator", [e for e in PATCH_EMBEDDINGS if e is not pf.CauchyEmbedding]
)
def test_every_estimator_takes_it_and_gives_the_same_bits(estimator, cut_blocks):
    cut_blocks(2**16)
    X, _ = folded(300)
    models = [
        estimator(adaptive_patches=True, n_jobs=n_jobs).fit(X) for n_jobs in (1, 3, 1)
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.embedding_, models[0].embedding_)
    fixed = estimator().fit(X)
    assert not np.allclose(models[0].graph_.data, fixed.graph_.data)
    np.testing.assert_array_equal(models[0].graph_.indices, fixed.graph_.indices)
    np.testing.assert_allclose(models[0].transform(X), models[0].embedding_, atol=1e-12)
    new = X[:20] + 1e-3
    np.testing.assert_array_equal(models[0].transform(new), models[1].transform(new))


def test_the_patch_of_a_query_has_the_size_of_its_nearest_samples():
    X, _ = folded(300)
    model = pf.PatchIsomap(n_neighbors=20, adaptive_patches=True, ridge=1e-3).fit(X)
    nearest = int(model.patch_sizes_.argmin())
    size = int(model.patch_sizes_[nearest])
    assert size < 20
    query = X[[nearest]] + 1e-6
    ours = model._fitted.links
    links = ours.link(query, ours.near(query, None), None)
    order = np.argsort(np.linalg.norm(X - query, axis=1))
    assert links.indices[0].tolist() == order[:20].tolist()  # all neighbours are linked
    variance = reference.mean_feature_variance(X)
    own = np.concatenate([query, X[order[:size]]])
    theirs = X[order[: size + 1]]
    gaussians = [reference.gaussian(p, 0.1, 1e-3, variance) for p in (own, theirs)]
    expected = reference.symmetric_kl(*gaussians)
    assert links.lengths[0, 0] == pytest.approx(expected, rel=1e-6)


def test_a_sweep_equals_separate_fits():
    X, _ = folded(300)
    model = pf.PatchIsomap(adaptive_patches=True)
    swept = list(pf.fit_sweep(model, X, n_neighbors=[10, 25]))
    assert sorted(fitted.n_neighbors_ for fitted in swept) == [10, 25]
    for fitted in swept:
        alone = clone(model).set_params(n_neighbors=fitted.n_neighbors_).fit(X)
        np.testing.assert_array_equal(fitted.patch_sizes_, alone.patch_sizes_)
        np.testing.assert_array_equal(fitted.embedding_, alone.embedding_)


def test_points_have_no_patches_to_adapt():
    X, _ = folded(200)
    model = pf.PatchIsomap(dissimilarity="euclidean", adaptive_patches=True).fit(X)
    assert model.patch_sizes_ is None


def test_it_goes_with_a_radius():
    X, way = folded(800)
    model = pf.PatchEigenmaps(n_neighbors=None, radius=0.2, adaptive_patches=True)
    full = clone(model).set_params(adaptive_patches=False).fit(X).patch_sizes_
    part = model.fit(X).patch_sizes_ / full
    assert part[way < 0.05].mean() < 0.7
    assert part[way > 0.25].min() == 1
