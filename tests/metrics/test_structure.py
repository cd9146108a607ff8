"""Hits, triplets and distances: against their literal definitions, ties, bad input."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from scipy.stats import spearmanr

from patchfold.metrics import (
    distance_rank_correlation,
    neighborhood_hits,
    triplet_accuracy,
)
from patchfold.metrics.structure import _draw_others

EVERY = (neighborhood_hits, triplet_accuracy, distance_rank_correlation)
every_score = pytest.mark.parametrize("score", EVERY, ids=lambda f: f.__name__)


@pytest.fixture
def pair():
    X = np.random.default_rng(0).normal(size=(60, 4))
    return X, X[:, :2] ** 3


@pytest.mark.parametrize("n_neighbors", [1, 15, 59])
def test_hits_are_the_common_part_of_two_neighbourhoods(pair, n_neighbors):
    near = [
        np.argsort(cdist(points, points) + np.diag([np.inf] * 60), axis=1)
        for points in pair
    ]
    sets = [[set(row[:n_neighbors]) for row in order] for order in near]
    shares = [len(a & b) / n_neighbors for a, b in zip(*sets, strict=True)]
    hits = neighborhood_hits(*pair, n_neighbors=n_neighbors)
    assert hits == pytest.approx(np.mean(shares))


def test_triplets_are_counted_one_by_one(pair):
    X, Y = pair
    first, second = _draw_others(60, 20, 7)
    center = np.repeat(np.arange(60), 20)
    distances, places = cdist(X, X), cdist(Y, Y)
    kept = [
        (distances[i, j] < distances[i, k]) == (places[i, j] < places[i, k])
        for i, j, k in zip(center, first, second, strict=True)
    ]
    found = triplet_accuracy(X, Y, random_state=7)
    assert found == pytest.approx(np.mean(kept))
    assert found != triplet_accuracy(X, Y, random_state=8)


def test_triplets_are_drawn_from_all_pairs_of_other_samples_alike():
    first, second = _draw_others(5, 3000, 0)
    center = np.repeat(np.arange(5), 3000)
    codes, counts = np.unique(25 * center + 5 * first + second, return_counts=True)
    assert len(codes) == 5 * 4 * 3
    assert counts.min() > 200  # 250 each on average
    assert (first != second).all()
    assert (first != center).all()
    assert (second != center).all()


def test_ties_of_triplets_do_not_count_before_and_count_half_after():
    corners = np.eye(6)  # all distances are equal
    assert np.isnan(triplet_accuracy(corners, np.arange(6.0)[:, None]))
    line = np.array([0.0, 1.0, 3.0, 7.0, 15.0])[:, None]
    assert triplet_accuracy(line, np.zeros((5, 2))) == 0.5


def test_the_correlation_is_that_of_all_distances(pair):
    expected = spearmanr(pdist(pair[0]), pdist(pair[1])).statistic
    assert distance_rank_correlation(*pair) == pytest.approx(expected)


def test_a_draw_of_pairs_comes_near_the_correlation_of_all():
    X = np.random.default_rng(0).normal(size=(300, 4))
    every = distance_rank_correlation(X, X[:, :2])
    some = distance_rank_correlation(X, X[:, :2], n_pairs=10_000)
    assert some != every
    assert some == pytest.approx(every, abs=0.03)


def test_equal_distances_have_no_correlation():
    assert np.isnan(distance_rank_correlation(np.arange(4.0)[:, None], np.eye(4)))


@every_score
def test_a_copy_of_any_size_and_place_is_perfect(score, pair):
    X, _ = pair
    assert score(X, 3 * X + 1) == pytest.approx(1)
    duplicated = np.repeat(X[:20].round(), 3, axis=0)
    assert score(duplicated, duplicated) == pytest.approx(1)


@every_score
def test_blocks_change_nothing(score, pair, monkeypatch):
    whole = score(*pair)
    monkeypatch.setattr("patchfold.metrics.structure.BLOCK_SIZE", 64)
    assert score(*pair) == whole


@every_score
def test_bad_input_is_named(score, pair):
    X, Y = pair
    with pytest.raises(ValueError, match=r"each of the 60 rows of X. Got 59 rows"):
        score(X, Y[1:])
    with pytest.raises(ValueError, match=r"X must have [23] samples or more. Got 1"):
        score(X[:1], Y[:1])


def test_bad_counts_are_named(pair):
    with pytest.raises(ValueError, match=r"less than the 60 samples. Got 60 instead"):
        neighborhood_hits(*pair, n_neighbors=60)
    with pytest.raises(ValueError, match=r"n_triplets must be at least 1. Got 0"):
        triplet_accuracy(*pair, n_triplets=0)
    with pytest.raises(ValueError, match=r"n_pairs must be at least 1. Got 0"):
        distance_rank_correlation(*pair, n_pairs=0)
