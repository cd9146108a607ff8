"""OpenML: what is asked for, how it is coded, the cache and its checksum."""

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from patchfold.datasets import (
    DatasetChangedError,
    DatasetShapeWarning,
    DatasetUnavailableError,
    catalogue,
    load,
)


class FakeOpenML:
    """Stands in for fetch_openml and remembers how it was called."""

    def __init__(self):
        self.calls = []
        self.bunch = Bunch(
            data=np.array([[0.5, 1.0], [2.5, np.nan], [1.5, 0.0]]),
            target=np.array(["true", "false", "true"], dtype=object),
            feature_names=["loc", "kind"],
            categories={"kind": ["small", "large"]},
            DESCR="Three modules.",
        )

    def __call__(self, name, **kwargs):
        self.calls.append((name, kwargs))
        return self.bunch


@pytest.fixture
def openml(monkeypatch):
    fake = FakeOpenML()
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fake)
    return fake


def test_the_papers_version_is_asked_for_with_levels_in_declared_order(
    openml, tmp_path
):
    load("ecoli_v3")
    [(name, kwargs)] = openml.calls
    assert (name, kwargs["version"]) == ("ecoli", 3)
    assert kwargs["data_home"] == str(tmp_path / "cache")
    assert kwargs["cache"] is True
    assert (kwargs["as_frame"], kwargs["parser"]) == (False, "liac-arff")


def test_a_download_becomes_the_same_record_as_a_file(openml, folder):
    found = load("kc3")
    assert found.source == "OpenML"
    assert found.levels == {"kind": ("small", "large")}
    assert found.categorical.tolist() == [False, True]
    (folder / "kc3.csv").write_text(
        "loc,kind,target\n0.5,large,true\n2.5,,false\n1.5,small,true\n"
    )
    (folder / "categories.json").write_text('{"kc3": {"kind": ["small", "large"]}}')
    file = load("kc3", data_home=folder)
    np.testing.assert_array_equal(found.data, file.data)
    np.testing.assert_array_equal(found.target, file.target)
    assert found.target_names == file.target_names == ("false", "true")


def test_numeric_and_missing_classes(openml):
    openml.bunch.target = np.array([10.0, np.nan, 9.0])
    found = load("kc3")
    assert found.target_names == ("9", "10")
    assert found.target.tolist() == [1, -1, 0]


def test_two_targets_are_refused(openml):
    openml.bunch.target = np.array([["a", "b"]] * 3, dtype=object)
    with pytest.raises(DatasetUnavailableError, match="exactly one target column"):
        load("kc3")


def test_the_checksum_is_recorded_once_and_verified_later(openml, tmp_path):
    load("kc3")
    record = tmp_path / "cache" / "openml-checksums" / "kc3-v1.sha256"
    first = record.read_text()
    assert len(first.strip()) == 64
    load("kc3")
    assert record.read_text() == first
    assert [path.name for path in record.parent.iterdir()] == [record.name]


@pytest.mark.parametrize("what", ["number", "class", "level", "name"])
def test_content_that_changed_is_refused(openml, what):
    load("kc3")
    if what == "number":
        openml.bunch.data[0, 0] += 1e-9
    elif what == "class":
        openml.bunch.target[0] = "false"
    elif what == "level":
        openml.bunch.categories = {"kind": ["large", "small"]}
    else:
        openml.bunch.feature_names = ["loc", "size"]
        openml.bunch.categories = {"size": ["small", "large"]}
    with pytest.raises(DatasetChangedError, match=r"was recorded in .*kc3-v1\.sha256"):
        load("kc3")


def test_without_download_only_the_cache_is_used(openml):
    with pytest.raises(DatasetUnavailableError, match="cache and download=False"):
        load("kc3", download=False)
    assert openml.calls == []
    load("kc3")
    assert load("kc3", download=False).source == "OpenML"
    rows = {row.name: row.source for row in catalogue()}
    assert (rows["kc3"], rows["kc1"]) == ("OpenML cache", "OpenML")


def test_another_size_than_the_catalogues_warns(openml):
    with pytest.warns(DatasetShapeWarning, match=r"kc1 version 1 has 3 samples.*2109"):
        load("kc1")


def test_a_version_that_openml_does_not_have_is_unavailable(monkeypatch):
    def unknown(*args, **kwargs):
        raise ValueError("Dataset kc3 with version 1 not found.")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", unknown)
    with pytest.raises(DatasetUnavailableError, match="with version 1 not found"):
        load("kc3")


def test_the_cache_has_a_default_place(monkeypatch, openml, tmp_path):
    monkeypatch.delenv("PATCHFOLD_CACHE")
    for variable in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    load("kc3")
    place = openml.calls[0][1]["data_home"]
    assert place.startswith(str(tmp_path))
    assert place.endswith("patchfold")
