"""The closest pairs of groups, from the samples that face each other."""

import numpy as np
import pytest

import patchfold as pf
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


def are_near(pairs, X, labels, count=15):
    """Say of which pairs one group has fewer than `count` groups that are nearer."""
    groups = labels[pairs]
    gaps = np.linalg.norm(X[pairs[0]] - X[pairs[1]], axis=1)
    table = np.full((labels.max() + 1,) * 2, np.inf)
    table[groups[0], groups[1]] = table[groups[1], groups[0]] = gaps
    nearer = (table[:, None] < table[:, :, None]).sum(axis=2)
    return (nearer[groups[0], groups[1]] < count) | (
        nearer[groups[1], groups[0]] < count
    )


@pytest.mark.parametrize("width", [0.0, 1e-6, 1.0])
def test_each_of_many_groups_is_joined_to_its_nearest(width):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(120), 10)
    X = 5 * rng.normal(size=(120, 3))[labels] + width * rng.normal(size=(1200, 3))
    expected = literal_pairs(X, labels)
    expected = expected[:, are_near(expected, X, labels)]
    found = np.array(connectivity.closest_pairs(X, labels))
    np.testing.assert_array_equal(found, expected)
    assert expected.shape[1] < 120 * 15


def test_families_of_groups_that_stay_apart_are_joined_too():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(80), 10)
    X = rng.normal(size=(80, 3))[labels] + 1e-6 * rng.normal(size=(800, 3))
    X[400:] += 1000
    row, column = connectivity.closest_pairs(X, labels)
    between = (row < 400) != (column < 400)
    assert between.sum() == 1
    gaps = np.linalg.norm(X[:400, None] - X[400:], axis=2)
    nearest = np.unravel_index(gaps.argmin(), gaps.shape)
    assert (row[between][0], column[between][0] - 400) == nearest


def test_equal_samples_are_in_closest_pairs_once():
    X = np.random.default_rng(0).integers(0, 50, (100, 2)) + 0.5
    labels = np.repeat(np.arange(100), 3)
    found = np.array(connectivity.closest_pairs(np.repeat(X, 3, axis=0), labels))
    once = np.array(connectivity.closest_pairs(X, np.arange(100)))
    np.testing.assert_array_equal(found, 3 * once)


def test_a_curve_of_many_repeated_samples_is_unrolled():
    # Joined by all pairs of pieces, its geodesics would be chords.
    angle = np.linspace(0, 5, 150)
    X = np.repeat(np.c_[np.cos(angle), np.sin(angle)], 16, axis=0)
    with pytest.warns(pf.exceptions.DisconnectedGraphWarning, match="150 connected"):
        model = pf.PatchIsomap(1, dissimilarity="euclidean", n_landmarks=50).fit(X)
    along = np.corrcoef(model.embedding_[:, 0], np.repeat(angle, 16))[0, 1]
    assert abs(along) > 0.9999
