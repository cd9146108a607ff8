"""A fitted model survives pickle and skops with the same bits."""

import pickle

import numpy as np
import pytest
import skops.io

import patchfold as pf
from patchfold.tables.models.saving import load_model, save_model

MODELS = {
    "isomap_kl": pf.isomap_kl,
    "elap": lambda: pf.elap(kernel_width="auto"),
    "pelle": pf.pelle,
    "klap": pf.klap,
    "cauchy": pf.CauchyEmbedding,
    "cauchy map": pf.CauchyMap,
    "radius": lambda: pf.PatchIsomap(
        n_neighbors=None, radius=6.0, adaptive_patches=True
    ),
}


@pytest.fixture(params=MODELS)
def fitted(request, wine):
    X, y = wine
    return MODELS[request.param]().fit(X[:150], y[:150])


def pickled(model):
    return pickle.loads(pickle.dumps(model))


def saved_with_skops(model):
    data = skops.io.dumps(model)
    types = skops.io.get_untrusted_types(data=data)
    assert all(name.startswith(("patchfold.", "scipy.sparse.")) for name in types)
    return skops.io.loads(data, trusted=types)


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.DisconnectedGraphWarning")
@pytest.mark.parametrize("copy", [pickled, saved_with_skops])
def test_a_copy_places_samples_with_the_same_bits(fitted, wine, copy):
    X, _ = wine
    restored = copy(fitted)
    np.testing.assert_array_equal(restored.embedding_, fitted.embedding_)
    np.testing.assert_array_equal(restored.transform(X), fitted.transform(X))


def test_a_file_from_before_a_parameter_was_added_is_read(tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = pf.PatchLLE(n_neighbors=8).fit(X[:50])
    with monkeypatch.context() as before:
        rules = {k: v for k, v in model._parameter_rules.items() if k != "n_landmarks"}
        before.setattr(pf.PatchLLE, "_parameter_rules", rules)
        before.setattr(pf.PatchLLE, "_later_parameters", {})
        before.delattr(model, "n_landmarks")
        save_model(model, tmp_path / "old.skops")
    loaded = load_model(tmp_path / "old.skops")
    assert loaded.n_landmarks is None
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
