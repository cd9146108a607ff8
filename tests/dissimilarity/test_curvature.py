"""Graphs of most pairs (KLAP's K = .75n): the fast ways equal the literal ones."""

from dataclasses import replace
from functools import partial

import array_api_strict as strict
import numpy as np
import pytest
from helpers import reference
from helpers.comparing import edges_of
from scipy.sparse.csgraph import connected_components

import patchfold as pf
from patchfold.backends.native import graph as native_graph
from patchfold.backends.native.neighbors import nearest_first
from patchfold.dissimilarity import table
from patchfold.dissimilarity.curvature import (
    Directions,
    compare_all_directions,
    compare_by_tables,
)
from patchfold.dissimilarity.table import DISSIMILARITIES, compare_pairs
from patchfold.graph.weights import find_pieces
from patchfold.neighbors.choice import find_neighbors
from patchfold.patches.fitting import fit_patches
from patchfold.patches.moments import moments_of_most

CURVATURE = DISSIMILARITIES["curvature"]
PARTS = ("label_free", "within", "between")


def cloud(n=40, m=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, m)) * np.arange(1, m + 1)


def long_cloud():
    """Return samples whose first direction hardly turns from patch to patch."""
    return cloud() * [1e6, 1, 1, 1]


def flat_cloud():
    """Return samples with a constant feature, one that repeats another, duplicates."""
    X = np.random.default_rng(1).integers(0, 3, size=(40, 4)).astype(float)
    X[:, 1], X[:, 2] = 0.1, X[:, 0]
    return X


def mostly_one_point():
    """Return samples of which most patches have no direction at all."""
    X = cloud()
    X[:34] = 0.1
    return X


CLOUDS = [cloud, long_cloud, flat_cloud, mostly_one_point]
over_clouds = pytest.mark.parametrize("make", CLOUDS)
DEGENERATE = "ignore::patchfold.exceptions.DegeneratePatchWarning"


@pytest.mark.filterwarnings(DEGENERATE)
@pytest.mark.parametrize("small_blocks", [False, True])
@pytest.mark.parametrize("by_tables", [False, True])
@over_clouds
def test_all_pairs_at_once_equal_pair_by_pair(
    make, by_tables, small_blocks, monkeypatch
):
    X = make()
    indices = find_neighbors(X, 30).indices
    pairs = edges_of(indices)
    patches = fit_patches(X, X, indices, shrinkage=0.0, ridge=0.0)
    described = CURVATURE.describe(patches)
    ends = pairs.source, pairs.target
    expected = compare_pairs(CURVATURE, described, described, *ends, most=False)
    if small_blocks:
        monkeypatch.setattr(table, "pairs_at_once", lambda numbers: 7)
    at_once = CURVATURE
    if by_tables:
        at_once = replace(
            CURVATURE, fast=lambda *both: partial(compare_by_tables, *both[:2])
        )
    found = compare_pairs(at_once, described, described, *ends, n_jobs=2)
    for part in PARTS:
        ours, theirs = getattr(found, part), getattr(expected, part)
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-15)


def test_all_pairs_at_once_use_nothing_but_the_array_api():
    X = flat_cloud()
    indices = find_neighbors(X, 30).indices
    pairs = edges_of(indices)
    patches = fit_patches(X, X, indices, shrinkage=0.0, ridge=0.0)
    described = CURVATURE.describe(patches)
    device = strict.Device("device1")
    there = Directions(*(strict.asarray(part, device=device) for part in described))
    assert {part.device for part in compare_all_directions(there, there)} == {device}
    ends = pairs.source, pairs.target
    here = Directions(*map(strict.asarray, described))
    expected = compare_pairs(CURVATURE, described, described, *ends)
    found = compare_pairs(CURVATURE, here, here, *ends)
    for part in PARTS:
        ours, theirs = np.asarray(getattr(found, part)), getattr(expected, part)
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("include_center", [True, False])
@pytest.mark.parametrize("queries", [False, True])
@over_clouds
def test_moments_by_sums_equal_the_literal_ones(make, queries, include_center):
    X = make()
    centers = X[:7] + 0.3 if queries else X
    indices = find_neighbors(X, 25).indices[: len(centers)]
    mean, covariance = moments_of_most(
        centers, X, indices, include_center=include_center, n_jobs=2
    )
    for i, center in enumerate(centers):
        own = [center] if include_center else []
        points = np.array([*own, *X[indices[i]]])
        at = reference.sample_mean(points)
        np.testing.assert_allclose(mean[i], at, rtol=1e-12, atol=1e-14)
        expected = reference.sample_covariance(points)
        scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        assert (abs(covariance[i] - expected) <= 1e-12 * scale + 1e-30).all()


def test_a_distant_outlier_costs_a_patch_without_it_no_digits():
    X = np.vstack([cloud(), np.full((3, 4), 1e9)])
    patches = fit_patches(X, X, find_neighbors(X, 30).indices, shrinkage=0, ridge=0)
    points = reference.patch(X, reference.neighbors(X, 30), 0)
    expected = reference.sample_covariance(points)
    np.testing.assert_allclose(patches.dense[0], expected, rtol=1e-12)


@pytest.mark.filterwarnings(DEGENERATE)
def test_patches_of_one_point_have_exactly_no_spread_by_sums():
    X = mostly_one_point()
    patches = fit_patches(X, X, find_neighbors(X, 25).indices, shrinkage=0, ridge=0)
    assert (patches.dense[:34] == 0).all()
    assert (patches.mean[:34] == 0.1).all()


def test_patches_of_all_samples_are_the_same_to_the_last_bit():
    X = cloud()
    near = find_neighbors(X, 39).indices
    for part in moments_of_most(X, X, near, include_center=True):
        np.testing.assert_array_equal(part, np.broadcast_to(part[0], part.shape))


@pytest.mark.parametrize("m", [3, 30])
def test_moments_of_single_precision_are_those_of_double(m):
    X = cloud(m=m).astype(np.float32)
    near = find_neighbors(X.astype(float), 30).indices
    single = moments_of_most(X, X, near, include_center=True)
    double = moments_of_most(*2 * (X.astype(float),), near, include_center=True)
    for found, expected in zip(single, double, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


def test_a_table_of_pairs_lists_what_sorting_lists(monkeypatch):
    indices = find_neighbors(cloud(), 12).indices
    by_table = edges_of(indices)
    monkeypatch.setattr(native_graph, "DENSE", 1)
    by_sorting = edges_of(indices)
    assert by_table.source.tolist() == by_sorting.source.tolist()
    assert by_table.target.tolist() == by_sorting.target.tolist()


@pytest.mark.parametrize("n", [6, 7])
def test_two_halves_are_two_pieces_and_one_edge_joins_them(n):
    """As dense as two pieces can be."""
    half = n // 2
    inside = np.arange(n) < half
    source, target = np.nonzero(np.triu(inside[:, None] == inside, k=1))
    count, labels = find_pieces(n, source, target)
    assert count == 2
    assert len(set(labels[:half])) == len(set(labels[half:])) == 1
    both = np.append(source, 0), np.append(target, n - 1)
    assert find_pieces(n, *both)[0] == 1


@pytest.mark.parametrize("density", [0.02, 0.1, 0.3, 0.6, 0.9])
def test_pieces_are_those_scipy_finds(density):
    rng = np.random.default_rng(0)
    for _ in range(20):
        table = np.triu(rng.random((15, 15)) < density, k=1)
        count, _ = find_pieces(15, *np.nonzero(table))
        assert count == connected_components(table, directed=False)[0]


def test_runs_of_ties_go_by_place_also_across_the_last_place():
    squared = np.array([[3.0, 1.0, 3.0, 0.0, 3.0, 1.0], [5, 4, 3, 2, 1, 0]])
    assert nearest_first(squared, 4)[0].tolist() == [[3, 1, 5, 0], [5, 4, 3, 2]]


@pytest.mark.parametrize("n", [700, 16_385])
def test_long_rows_of_ties_are_in_the_order_of_a_stable_sort(n):
    squared = np.random.default_rng(0).integers(0, 50, size=(30, n)).astype(float)
    squared[:, 1] = np.inf
    expected = np.argsort(squared, axis=1, kind="stable")
    assert (nearest_first(squared, n)[0] == expected).all()


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.VanishingWeightsWarning")
def test_klap_does_not_depend_on_threads(cut_blocks):
    cut_blocks(10_000)
    X = cloud(n=90)
    y = (X[:, 0] > 0).astype(int)
    alone, together = (pf.klap(n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(alone.graph_.data, together.graph_.data)
    np.testing.assert_array_equal(alone.embedding_, together.embedding_)
