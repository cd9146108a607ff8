"""The closest pairs of groups, from the samples that face each other."""

import numpy as np
import pytest

from patchfold.graph import connectivity
from patchfold.graph.facing import closest_of_many, facing_samples


def literal_pairs(X, labels):
    """Compare all pairs of every two groups; ties go to the lower indices."""
    pairs = []
    for a in range(labels.max() + 1):
        for b in range(a + 1, labels.max() + 1):
            gaps = X[labels == a][:, None] - X[labels == b]
            squared = np.einsum("ijk,ijk->ij", gaps, gaps)
            i, j = np.unravel_index(squared.argmin(), squared.shape)
            pairs.append(
                [np.flatnonzero(labels == a)[i], np.flatnonzero(labels == b)[j]]
            )
    return np.array(pairs).T


def groups(kind, rng):
    labels = np.sort(rng.integers(0, 6, 300))
    labels[:6] = np.arange(6)
    middles = {"apart": 30, "near": 4, "mixed": 0, "grid": 5, "offset": 30}[kind]
    X = middles * rng.normal(size=(6, 4))[labels] + rng.normal(size=(300, 4))
    if kind == "grid":
        X = np.round(X)  # many pairs are equally close
    return (X + 1e6 if kind == "offset" else X), labels


@pytest.mark.parametrize("kind", ["apart", "near", "mixed", "grid", "offset"])
@pytest.mark.parametrize("seed", range(4))
def test_they_are_those_of_all_pairs(kind, seed):
    X, labels = groups(kind, np.random.default_rng(seed))
    found = connectivity.closest_pairs(X, labels, n_jobs=1 + seed % 2)
    np.testing.assert_array_equal(found, literal_pairs(X, labels))


def test_few_samples_of_clusters_far_apart_face_each_other():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 2000)
    X = 100 * rng.normal(size=(3, 20))[labels] + rng.normal(size=(6000, 20))
    for sides in facing_samples(X, np.array([0, 2000, 4000, 6000]), None):
        assert all(0 < side.size < 200 for side in sides)


def test_groups_in_the_same_place_are_compared_as_before(monkeypatch):
    X, labels = groups("mixed", np.random.default_rng(0))
    monkeypatch.setattr(connectivity, "_closest_by_facing", lambda *_: None)
    found = connectivity.closest_pairs(X, labels)
    np.testing.assert_array_equal(found, literal_pairs(X, labels))


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("width", [0.0, 1e-12, 1e-6, 1e-2])
def test_of_many_narrow_groups_few_samples_are_compared(width, offset, monkeypatch):
    rng = np.random.default_rng(3)
    labels = np.r_[np.arange(100), rng.integers(0, 100, 1500)]
    X = rng.integers(0, 4, (100, 6))[labels] + width * rng.integers(-9, 9, (1600, 6))
    X = X + offset
    monkeypatch.setattr(connectivity, "closest_of_many", lambda *_: None)
    expected = connectivity.closest_pairs(X, labels)
    monkeypatch.undo()
    if width in (1e-6, 1e-2):  # narrower ones are rounded, and all samples are near
        monkeypatch.setattr(connectivity, "_candidates", None)
    found = connectivity.closest_pairs(X, labels, n_jobs=2)
    np.testing.assert_array_equal(found, expected)


def test_of_many_groups_that_are_wide_or_small_all_samples_are_compared():
    rng = np.random.default_rng(3)
    X, ends = rng.normal(size=(3000, 6)), np.arange(0, 3001, 30)
    assert closest_of_many(X, ends, None) is None
    assert closest_of_many(X, np.arange(0, 3001, 2), None) is None
