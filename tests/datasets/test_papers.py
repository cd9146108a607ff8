"""Every set of the papers' data folder, against its index and the published tables."""

import csv

import numpy as np
import pytest

from patchfold.datasets import catalogue, load

UNNAMED = {  # rows of published.csv without a name, by their printed label
    "attendence": "conference_attendance",
    "Conference_attendance": "conference_attendance",
    "micro-mass": "micro-mass",
    "autoUniv-au6-750": "autouniv-au6-750",
    "touch2": "touch2",
    "JAFFE": "jaffe",
}
MISSING_CELLS = {
    "anneal": 22175,
    "autos": 59,
    "heart-long-beach": 698,
    "heart-switzerland": 273,
    "thyroid-allbp": 1756,
    "usp05": 75,
}


@pytest.fixture(scope="module")
def index(papers_folder):
    with (papers_folder / "index.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture(scope="module")
def everything(papers_folder, index):
    return {
        row["name"]: load(row["name"], data_home=papers_folder, download=False)
        for row in index
    }


def test_every_set_loads_with_the_counts_of_its_index(index, everything):
    for row in index:
        found = everything[row["name"]]
        counts = (*found.data.shape, len(np.unique(found.target)))
        columns = ("n_samples", "n_features", "n_classes")
        assert counts == tuple(int(row[column]) for column in columns), row["name"]
        assert found.target.min() == 0, row["name"]
        assert found.source == (
            "scikit-learn" if row["source"] == "sklearn" else "folder"
        )


def test_categorical_columns_are_those_of_the_index(index, everything):
    for row in index:
        found = everything[row["name"]]
        listed = set(filter(None, row["categorical_columns"].split(";")))
        assert set(found.levels) == listed, row["name"]
        assert found.categorical.sum() == len(listed), row["name"]


def test_missing_cells_stay_missing_where_they_are_known_to_be(everything):
    for name, found in everything.items():
        missing = np.isnan(found.data)
        assert missing.sum() == MISSING_CELLS.get(name, 0), name
        assert np.isfinite(found.filled()).all(), name
        np.testing.assert_array_equal(found.filled()[~missing], found.data[~missing])


def test_codes_stay_within_their_levels(everything):
    for name, found in everything.items():
        for j in np.flatnonzero(found.categorical):
            codes = found.data[:, j]
            codes = codes[~np.isnan(codes)]
            allowed = np.arange(len(found.levels[found.feature_names[j]]))
            assert np.isin(codes, allowed).all(), (name, found.feature_names[j])


def test_the_catalogue_agrees_with_the_index(index, papers_folder):
    rows = {row.name: row for row in catalogue(data_home=papers_folder)}
    for expected in index:
        row = rows[expected["name"]]
        for column in ("n_samples", "n_features", "n_classes"):
            assert str(getattr(row, column)) == expected[column], row.name
        assert row.source in ("folder", "scikit-learn"), row.name
        if row.openml:
            name, version = row.openml.rsplit(" v", 1)
            assert name == expected["openml_name"]
            assert version in expected["openml_version"].split(";")


def test_the_catalogue_names_every_set_of_every_published_table(papers_folder):
    used: dict[str, set[str]] = {}
    with (papers_folder / "published.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["dataset"].startswith("(all of"):
                continue  # a summary row of several sets
            name = row["name"] or UNNAMED[row["dataset"]]
            used.setdefault(name, set()).add(f"{row['seed']}-{row['table']}")
    rows = {row.name: set(row.tables) for row in catalogue()}
    assert rows == used


def test_anneal_filled_gives_the_published_silhouette(everything):
    from sklearn.decomposition import PCA
    from sklearn.metrics import silhouette_score
    from sklearn.preprocessing import scale

    anneal = everything["anneal"]
    plane = PCA(2, svd_solver="full").fit_transform(scale(anneal.filled()))
    assert silhouette_score(plane, anneal.target) == pytest.approx(-0.123, abs=5e-4)
