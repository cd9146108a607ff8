"""A fitted model survives pickle and skops with the same bits."""

import pickle

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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


OUTPUTS = {
    "isomap": pf.PatchIsomap(),
    "map": pf.CauchyMap(),
    "posterior": pf.PatchPosterior(),
    "encoder": pf.TableEncoder(),
    "pipeline": make_pipeline(StandardScaler(), pf.PatchLLE(n_neighbors=10)),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_file_keeps_what_set_output_chose(name, wine, tmp_path):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(wine[0]).add_prefix("x")
    model = clone(OUTPUTS[name]).set_output(transform="pandas").fit(X, wine[1])
    save_model(model, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    pd.testing.assert_frame_equal(again.transform(X[:9]), model.transform(X[:9]))


def test_another_output_in_a_file_is_refused(wine, tmp_path):
    model = pf.PatchIsomap().fit(wine[0])
    model._sklearn_output_config = {"transform": "os.system"}
    with pytest.raises(ValueError, match="_sklearn_output_config must be one of"):
        save_model(model, tmp_path / "m.skops")
