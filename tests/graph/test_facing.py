"""The closest pairs of groups, from the samples that face each other."""

import numpy as np
import pytest

from patchfold.graph import connectivity
from patchfold.graph.facing import facing_samples


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
