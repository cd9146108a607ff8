"""Which source gives a set, what its record holds, and what failure says."""

import sys

import numpy as np
import pytest

from patchfold.datasets import Dataset, DatasetUnavailableError, catalogue, load

HOSTILE = [
    "",
    ".",
    "..",
    "../secret",
    "a/b",
    "a\\b",
    "/etc/passwd",
    "C:secret",
    "~root",
    ".hidden",
    "-rf",
    "iris\n",
    "iris\x00",
    "a..b",
    "x" * 129,
    "naïve",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_could_leave_the_folder_are_refused(name, folder):
    (folder.parent / "secret.csv").write_text("a,target\n1,x\n")
    with pytest.raises(ValueError, match="a dataset's name must be 1 to 128 letters"):
        load(name, data_home=folder)


def test_a_name_must_be_a_string():
    with pytest.raises(TypeError, match=r"must be a string\. Got int instead"):
        load(3)


def test_a_file_in_the_folder_wins_over_the_rule(folder):
    (folder / "parity5.csv").write_text("a,target\n1,x\n2,y\n")
    assert load("parity5", data_home=folder).source == "folder"
    assert load("parity5").source == "rule"


def test_the_environment_names_the_folder_and_the_argument_replaces_it(
    folder, tmp_path, monkeypatch
):
    (folder / "mine.csv").write_text("a,target\n1,x\n2,y\n")
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("PATCHFOLD_DATA", str(folder))
    assert load("mine").name == "mine"
    with pytest.raises(DatasetUnavailableError):
        load("mine", data_home=other)


def test_a_data_home_that_is_no_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="data_home is not a folder"):
        load("iris", data_home=tmp_path / "absent")


def test_names_are_found_in_any_case_and_by_alias(folder):
    assert load("Iris").name == "iris"
    (folder / "conference_attendance.csv").write_text("a,target\n1,x\n2,y\n")
    assert load("attendence", data_home=folder).name == "conference_attendance"


@pytest.mark.parametrize(
    ("name", "shape", "n_classes"),
    [("iris", (150, 4), 3), ("wine", (178, 13), 3), ("digits", (1797, 64), 10)],
)
def test_scikit_learn_gives_its_own_sets(name, shape, n_classes):
    found = load(name)
    assert (found.data.shape, len(found.target_names)) == (shape, n_classes)
    assert found.source == "scikit-learn"
    assert found.data.dtype == float
    assert found.target.dtype.kind == "i"
    assert not found.categorical.any()


def test_an_unavailable_set_names_three_ways_in_one_line(folder):
    with pytest.raises(DatasetUnavailableError) as caught:
        load("kc3", data_home=folder)
    text = str(caught.value)
    assert "\n" not in text
    for part in ("PATCHFOLD_DATA", "kc3.csv", "data_home=", "OpenML, kc3 version 1"):
        assert part in text
    assert "no network in tests" in text
    assert isinstance(caught.value, LookupError)


def test_a_set_without_an_openml_version_says_so():
    with pytest.raises(DatasetUnavailableError, match="no OpenML version of it is"):
        load("jaffe")


def test_a_misspelt_name_gets_a_suggestion():
    with pytest.raises(DatasetUnavailableError, match="did you mean parity5"):
        load("parity_5")


def test_an_absent_environment_folder_is_named_in_the_message(tmp_path, monkeypatch):
    monkeypatch.setenv("PATCHFOLD_DATA", str(tmp_path / "absent"))
    assert load("iris").source == "scikit-learn"
    with pytest.raises(DatasetUnavailableError, match="absent is not a folder now"):
        load("kc3")


def test_no_source_but_the_network_needs_anything_outside_the_core(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    (folder / "mine.csv").write_text("a,target\n1,x\n2,y\n")
    assert load("mine", data_home=folder).data.shape == (2, 1)


def test_filled_codes_missing_categories_as_minus_one_and_numbers_as_the_mean():
    nan = np.nan
    record = Dataset(
        name="toy",
        data=np.array([[nan, 2.0, nan], [1.0, nan, nan], [3.0, 0.0, nan]]),
        target=np.array([0, 1, 1]),
        feature_names=("number", "category", "empty"),
        target_names=("a", "b"),
        categorical=np.array([False, True, False]),
        source="folder",
        description="",
    )
    assert record.filled().tolist() == [[2, 2, 0], [1, -1, 0], [3, 0, 0]]
    assert np.isnan(record.data[0, 0])
    assert repr(record) == "Dataset('toy', 3 x 3, 2 classes, source='folder')"


def test_the_catalogue_says_where_each_set_would_come_from(folder):
    (folder / "kc3.csv").write_text("a,target\n1,x\n")
    (folder / "mine.csv").write_text("a,target\n1,x\n")
    (folder / "notes.csv").write_text("a,b\n1,x\n")
    rows = {row.name: row for row in catalogue(data_home=folder)}
    assert rows["kc3"].source == "folder"
    assert rows["tic-tac-toe"].source == "rule"
    assert rows["wine"].source == "scikit-learn"
    assert rows["kc1"].source == "OpenML"
    assert rows["jaffe"].source == "no data"
    assert rows["mine"].tables == ()
    assert "notes" not in rows
    assert rows["hayes-roth_v2"].openml == "hayes-roth v2"


def test_the_catalogue_agrees_with_every_set_that_needs_no_download():
    for row in catalogue():
        if row.source in ("rule", "scikit-learn"):
            found = load(row.name)
            assert found.data.shape == (row.n_samples, row.n_features)
            assert len(np.unique(found.target)) == row.n_classes
