"""Stages after the dissimilarity that use nothing but the array API."""

import array_api_strict as strict
import numpy as np
import pytest

from patchfold.graph.labels import apply_label_rule
from patchfold.records import EdgeValues, Neighborhoods
from patchfold.solvers.mds import MDSFit, place_by_geodesics, triangulate
from patchfold.solvers.nystrom import nystrom
from patchfold.solvers.objectives import DECAYS
from patchfold.solvers.spectral import fix_signs

rng = np.random.default_rng(0)


def in_both(function, *arrays):
    """Assert that strict arrays give what NumPy gives."""
    expected = function(*arrays)
    found = function(*map(strict.asarray, arrays))
    assert type(found).__module__.startswith("array_api_strict")
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)


@pytest.mark.parametrize("normalized", [True, False])
def test_new_samples_among_eigenvectors(normalized):
    in_both(
        lambda *arrays: nystrom(*arrays, normalized=normalized),
        -rng.uniform(size=(5, 3)),
        rng.integers(0, 9, size=(5, 3)),
        rng.normal(size=(9, 2)),
        np.array([0.1, 0.95]),
    )


def test_signs():
    in_both(fix_signs, rng.normal(size=(7, 3)))


def test_landmarks():
    fit = rng.normal(size=(4, 2)), np.array([2.0, 0.0]), rng.uniform(size=4)
    distances = rng.uniform(size=(6, 4))
    in_both(
        lambda *arrays: triangulate(MDSFit(*arrays[:3]), arrays[3]), *fit, distances
    )
    links = rng.integers(0, 6, size=(3, 2)), rng.uniform(size=(3, 2))
    in_both(
        lambda *arrays: place_by_geodesics(MDSFit(*arrays[:3]), *arrays[3:]),
        *fit,
        distances,
        *links,
    )


@pytest.mark.parametrize("name", DECAYS)
def test_decays(name):
    squared = rng.uniform(0.01, 1, size=8)
    in_both(lambda s: DECAYS[name].value(s, 0.3), squared)
    in_both(lambda s: DECAYS[name].slope(s, 0.3), squared)


@pytest.mark.parametrize("rule", ["klap", "entropic", None])
def test_label_rules(rule):
    in_both(
        lambda *arrays: apply_label_rule(rule, EdgeValues(*arrays[:4]), *arrays[4:]),
        *rng.uniform(size=(4, 6)),
        np.array([0, 0, 1, 1, -1, 2]),
        np.array([0, 1, 1, -1, 2, 2]),
    )


@pytest.mark.parametrize("part", [0, 1])
def test_relations(part):
    in_both(
        lambda indices: Neighborhoods(indices, indices).relation[part],
        rng.integers(0, 9, size=(5, 3)),
    )
