"""`patchfold view`: the table Embedding Atlas is given, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import scale
from typer.testing import CliRunner

from patchfold.backends.threads import watch_blocks
from patchfold.cli import app
from patchfold.cli._atlas import make_table
from patchfold.neighbors.choice import find_neighbors


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(40, 3)) * [1, 10, 100], columns=list("abc"))
    data["name"] = [f"n{i}" for i in range(40)]
    points = pd.DataFrame(rng.normal(size=(40, 2)), columns=["elap_1", "elap_2"])
    points.insert(0, "name", data["name"])
    points.to_csv(tmp_path / "e.csv", index=False)
    data.to_csv(tmp_path / "d.csv", index=False)
    return tmp_path, points, data


def neighbors_of(table):
    rows = table.column("__neighbors").to_pylist()
    return np.array([row["ids"] for row in rows]), rows[0]["distances"]


def test_neighbours_are_those_of_the_data_scaled(files):
    folder, _, data = files
    table, coordinates = make_table(
        str(folder / "e.csv"), str(folder / "d.csv"), n_neighbors=5
    )
    assert coordinates == ["elap_1", "elap_2"]
    names = ["name", "elap_1", "elap_2", "a", "b", "c", "__neighbors"]
    assert table.column_names == names
    found = find_neighbors(scale(data[["a", "b", "c"]].to_numpy()), 5)
    ids, distances = neighbors_of(table)
    np.testing.assert_array_equal(ids, found.indices)
    np.testing.assert_allclose(distances, found.distances[0])


def test_without_data_they_are_those_of_the_picture(files):
    folder, points, _ = files
    table, _ = make_table(str(folder / "e.csv"), n_neighbors=4)
    found = find_neighbors(points[["elap_1", "elap_2"]].to_numpy(), 4)
    np.testing.assert_array_equal(neighbors_of(table)[0], found.indices)


def test_rows_in_another_order_are_joined_by_the_id(files):
    folder, _, data = files
    data.sample(frac=1, random_state=1).to_csv(folder / "d.csv", index=False)
    table, _ = make_table(str(folder / "e.csv"), str(folder / "d.csv"), id="name")
    np.testing.assert_allclose(table.column("c").to_numpy(), data["c"])


def test_what_does_not_fit_together_is_refused(files):
    folder, points, data = files
    embedding, table = str(folder / "e.csv"), str(folder / "d.csv")
    data.iloc[:30].to_csv(table, index=False)
    with pytest.raises(ValueError, match="has 40 rows and the data 30: name"):
        make_table(embedding, table)
    with pytest.raises(ValueError, match="10 samples of the embedding are not in"):
        make_table(embedding, table, id="name")
    with pytest.raises(ValueError, match="no column 'x'"):
        make_table(embedding, coordinates=("x", "y"))
    points.rename(columns={"elap_1": "u"}).to_csv(embedding, index=False)
    with pytest.raises(ValueError, match=r"--x and --y"):
        make_table(embedding)


def test_a_column_of_the_name_neighbors_is_a_column_like_others(files):
    folder, _, data = files
    named = data.rename(columns={"c": "neighbors"})
    named.to_csv(folder / "d.csv", index=False)
    table, _ = make_table(str(folder / "e.csv"), str(folder / "d.csv"))
    np.testing.assert_allclose(table.column("neighbors").to_numpy(), data["c"])
    assert neighbors_of(table)[0].shape == (40, 15)
    named = data.rename(columns={"c": "__neighbors"})
    named.to_csv(folder / "d.csv", index=False)
    with pytest.raises(ValueError, match="a column '__neighbors' already"):
        make_table(str(folder / "e.csv"), str(folder / "d.csv"))


def test_who_watches_is_told_what_is_made(files):
    folder, _, _ = files
    begun = []
    with watch_blocks(lambda *told: None, lambda *told: begun.append(told)):
        make_table(str(folder / "e.csv"), str(folder / "d.csv"))
    assert begun == [("columns", 0, 2), ("neighbours", 1, 2)]


def test_a_missing_package_is_named_in_one_line(files, monkeypatch):
    folder, _, _ = files
    monkeypatch.setattr(
        "patchfold.cli._atlas.importlib.util.find_spec", lambda name: None
    )
    done = CliRunner().invoke(app, ["view", str(folder / "e.csv")])
    assert done.exit_code == 2
    assert 'pip install "patchfold[view]"' in done.output
    assert len(done.output.strip().splitlines()) == 1
