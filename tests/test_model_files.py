"""Saved models: read back to the same bits, refused when newer, foreign or damaged."""

import json
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

import patchfold as pf
from patchfold.persistence import FORMAT, ModelFileError, about_model


@pytest.fixture
def saved(wine, tmp_path):
    model = pf.isomap_kl(n_neighbors=20).fit(wine[0][:100])
    path = tmp_path / "m.skops"
    pf.save_model(model, path, made_for="a test")
    return model, path


def rewrite_note(path, **changes):
    """Change what is written down beside a model."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    note = json.loads(parts["patchfold.json"]) | changes
    parts["patchfold.json"] = json.dumps(note).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_a_saved_model_places_samples_with_the_same_bits(saved, wine):
    model, path = saved
    again = pf.load_model(path)
    np.testing.assert_array_equal(again.transform(wine[0]), model.transform(wine[0]))
    assert about_model(path) == {
        "format": FORMAT,
        "version": pf.__version__,
        "made_for": "a test",
    }
    assert [file.name for file in path.parent.iterdir()] == ["m.skops"]


def test_a_file_of_a_newer_version_is_refused(saved):
    _, path = saved
    rewrite_note(path, format=FORMAT + 1, version="99.0")
    with pytest.raises(ModelFileError, match=r"patchfold 99\.0, which is newer"):
        pf.load_model(path)


def mahalanobis(left, right):
    return np.linalg.norm(left.mean - right.mean, axis=1)


def test_unknown_types_are_named_and_can_be_trusted(wine, tmp_path):
    path = tmp_path / "m.skops"
    model = pf.PatchIsomap(dissimilarity=mahalanobis).fit(wine[0])
    pf.save_model(model, path)
    name = f"{mahalanobis.__module__}.mahalanobis"
    with pytest.raises(ModelFileError, match=f"does not know: .*{name}"):
        pf.load_model(path)
    again = pf.load_model(path, trusted=[name])
    np.testing.assert_array_equal(again.embedding_, model.embedding_)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "m.skops"
    with pytest.raises(ModelFileError, match="does not exist"):
        pf.load_model(path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(ModelFileError, match="not a model that patchfold saved"):
        pf.load_model(path)
    skops.io.dump(LogisticRegression(), path)
    with pytest.raises(ModelFileError, match="not a model that patchfold saved"):
        pf.load_model(path)
