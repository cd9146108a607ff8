"""Toy curves and cities: spacing, true coordinates, and the figures of the paper."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from patchfold.datasets import (
    great_circle_distances,
    make_letter,
    make_shape,
    us_capitals,
)


def test_the_c_shape_is_57_points_from_35_to_325_degrees():
    points, coordinate = make_shape("C")
    angle = np.degrees(np.unwrap(np.arctan2(points[:, 1], points[:, 0])))
    np.testing.assert_allclose(angle, np.linspace(35, 325, 57))
    np.testing.assert_allclose(coordinate, np.radians(angle - 35), atol=1e-12)


def test_the_c_shape_has_the_known_mean_distance_and_similarity():
    distances = pdist(make_shape("C")[0])
    mean = distances.mean()
    chords = 2 * np.sin(np.radians(290 / 56) * np.arange(1, 57) / 2)
    assert mean == pytest.approx(np.average(chords, weights=np.arange(56, 0, -1)))
    assert mean == pytest.approx(1.251354, abs=1e-4)
    similarity = 2 * np.exp(-((distances / mean) ** 2)).sum()
    assert similarity == pytest.approx(1333.369, abs=1e-3)


@pytest.mark.parametrize(
    ("make", "what", "length"),
    [
        (make_shape, "C", np.radians(290)),
        (make_shape, "S", 2 * np.radians(270)),
        (make_letter, "I", 2.0),
        (make_letter, "C", np.radians(270)),
        (make_letter, "M", 4 + 2 * np.hypot(0.8, 1.4)),
        (make_letter, "L", 3.2),
    ],
)
def test_points_follow_the_curve_in_even_steps(make, what, length):
    points, coordinate = make(what, 2001)
    assert points.shape == (2001, 2)
    assert coordinate[0] == 0
    assert coordinate[-1] == pytest.approx(length)
    np.testing.assert_allclose(np.diff(coordinate), length / 2000, rtol=1e-9)
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    assert steps.sum() == pytest.approx(length, rel=1e-3)


def test_default_sizes_are_the_papers():
    assert len(make_shape("S")[0]) == 57
    assert len(make_letter("M")[0]) == 150


def test_a_smaller_sweep_uncurls_the_s():
    ends = [make_shape("S", sweep=degrees)[0][[0, -1]] for degrees in (90, 270)]
    straight, curled = (np.linalg.norm(a - b) for a, b in ends)
    assert straight == pytest.approx(2 * np.sqrt(2))
    np.testing.assert_allclose(ends[1], [[1, 1], [-1, -1]], atol=1e-12)
    assert curled == pytest.approx(straight)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_shape("O"), "'shape' parameter must be one of 'C', 'S'"),
        (lambda: make_letter("S"), "'letter' parameter must be one of"),
        (lambda: make_shape("C", 1), "'n' parameter must be an integer of at least 2"),
        (lambda: make_letter("C", 2.0), "'n' parameter must be an integer"),
        (lambda: make_shape("C", sweep=360), "'sweep' parameter must be between"),
        (lambda: great_circle_distances([0], [0, 1]), "1-D and of one length"),
    ],
)
def test_wrong_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_there_are_49_cities_in_49_states_within_the_contiguous_usa():
    cities = us_capitals()
    assert len(cities.names) == len(set(cities.states)) == 49
    assert not {"Alaska", "Hawaii"} & set(cities.states)
    assert ((cities.latitude > 30) & (cities.latitude < 48)).all()
    assert ((cities.longitude > -124) & (cities.longitude < -69)).all()


def test_distances_are_a_metric_in_kilometres():
    cities = us_capitals()
    d = cities.distances
    np.testing.assert_array_equal(d, d.T)
    assert (np.diag(d) == 0).all()
    assert (d[:, :, None] <= d[:, None, :] + d.T[None] + 1e-9).all()
    boston, providence = map(cities.names.index, ("Boston", "Providence"))
    assert d[boston, providence] == pytest.approx(65, abs=2)
    assert great_circle_distances([0, 0], [0, 180])[0, 1] == pytest.approx(
        np.pi * 6371.0
    )


@pytest.mark.parametrize("pairs_only", [False, True])
def test_the_fiedler_vector_walks_from_olympia_to_augusta(pairs_only):
    cities = us_capitals()
    d = cities.distances
    mean = d.sum() / (49 * 48) if pairs_only else d.mean()
    weights = np.exp(-((d / mean) ** 2))
    laplacian = np.diag(weights.sum(axis=1)) - weights
    order = np.argsort(np.linalg.eigh(laplacian)[1][:, 1])
    length = d[order[:-1], order[1:]].sum()
    assert {cities.names[order[0]], cities.names[order[-1]]} == {"Olympia", "Augusta"}
    # with the mean over all entries 24,531 km, over distinct pairs 24,582 km
    assert length == pytest.approx(24530, rel=0.01)
