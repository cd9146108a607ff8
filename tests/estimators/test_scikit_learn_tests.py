"""scikit-learn's own tests of Isomap, LLE and SpectralEmbedding, with our classes.

The tests are those of the installed scikit-learn, read from there. Each is run with our
class in place of theirs (`helpers/stand_ins.py`). Tests of functions, which use no
class, are left out: nothing of ours would be tested. `EXPECTED` lists those that fail,
each with its reason; one that passes is an error.
"""

from __future__ import annotations

import importlib
import types

import numpy as np
import pytest
from helpers import stand_ins

MODULES = {
    "test_isomap": "Isomap",
    "test_locally_linear": "LocallyLinearEmbedding",
    "test_spectral_embedding": "SpectralEmbedding",
}

EXPECTED = {
    "test_isomap_clone_bug": "looks at nbrs_, the search object of theirs",
    "test_isomap_raise_error_when_neighbor_and_radius_both_set": (
        "the words of the message; ours names both values and the remedy"
    ),
    "test_multiple_connected_components": (
        "the words of the warning; ours is a DisconnectedGraphWarning"
    ),
    "test_multiple_connected_components_metric_precomputed": (
        "the words of the warning and of the error"
    ),
}

LEFT_OUT = {
    "test_error_pyamg_not_available": "asks for a solver that we do not name",
}


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def global_dtype(request):
    return request.param


@pytest.fixture
def global_random_seed():
    return 42


def with_our_class(function, name):
    """Return a test of theirs that finds our class under the name of theirs."""
    names = dict(function.__globals__)
    names[name] = getattr(stand_ins, name)
    if "manifold" in names:
        theirs = vars(names["manifold"])
        names["manifold"] = types.SimpleNamespace(**{**theirs, name: names[name]})
    ours = types.FunctionType(
        function.__code__,
        names,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    ours.__dict__.update(function.__dict__)
    ours.pytestmark = [
        *getattr(function, "pytestmark", []),
        # Blobs and grids fall into pieces on purpose; in scikit-learn's suite warnings
        # are no errors.
        pytest.mark.filterwarnings("ignore"),
    ]
    if function.__name__ in EXPECTED:
        ours.pytestmark.append(pytest.mark.xfail(reason=EXPECTED[function.__name__]))
    return ours


def collect(module, name):
    try:
        tests = importlib.import_module(f"sklearn.manifold.tests.{module}")
    except ImportError:  # some packages of scikit-learn come without its tests
        return {}
    return {
        f"{module}_{key}": with_our_class(function, name)
        for key, function in vars(tests).items()
        if key.startswith("test_") and key not in LEFT_OUT
        if name in function.__code__.co_names
    }


for _module, _name in MODULES.items():
    globals().update(collect(_module, _name))


def test_the_tests_of_scikit_learn_are_there():
    pytest.importorskip("sklearn.manifold.tests.test_isomap")
    assert sum(name.startswith(tuple(MODULES)) for name in globals()) >= 24
