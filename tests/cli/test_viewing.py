"""`patchfold view`: the table that the page is given, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import scale

from patchfold.backends.progress import watch_blocks
from patchfold.cli._viewing import PAGE, make_table, serve
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


def test_neighbours_are_those_of_the_data_scaled(files):
    folder, _, data = files
    viewed = make_table(str(folder / "e.csv"), str(folder / "d.csv"), n_neighbors=5)
    assert viewed.title == "e.csv"
    assert viewed.coordinates == ["elap_1", "elap_2"]
    assert list(viewed.frame) == ["name", "elap_1", "elap_2", "a", "b", "c"]
    found = find_neighbors(scale(data[["a", "b", "c"]].to_numpy()), 5)
    np.testing.assert_array_equal(viewed.neighbors.indices, found.indices)
    np.testing.assert_allclose(viewed.neighbors.distances, found.distances)


def test_without_data_they_are_those_of_the_picture(files):
    folder, points, _ = files
    viewed = make_table(str(folder / "e.csv"), n_neighbors=4)
    found = find_neighbors(points[["elap_1", "elap_2"]].to_numpy(), 4)
    np.testing.assert_array_equal(viewed.neighbors.indices, found.indices)


def test_rows_in_another_order_are_joined_by_the_id(files):
    folder, _, data = files
    data.sample(frac=1, random_state=1).to_csv(folder / "d.csv", index=False)
    viewed = make_table(str(folder / "e.csv"), str(folder / "d.csv"), id="name")
    np.testing.assert_allclose(viewed.frame["c"], data["c"])


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


def test_who_watches_is_told_what_is_made(files):
    folder, _, _ = files
    begun = []
    with watch_blocks(lambda *told: None, lambda *told: begun.append(told)):
        make_table(str(folder / "e.csv"), str(folder / "d.csv"))
    assert begun == [("columns", 0, 2), ("neighbours", 1, 2)]


def test_the_page_is_in_the_package_and_asks_for_nothing_elsewhere():
    names = {path.name for path in PAGE.iterdir()}
    assert {"index.html", "page.css", "page.js"} <= names
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8")
        assert "://" not in text
        assert "innerHTML" not in text
        assert "eval(" not in text


def test_the_address_is_printed_and_ctrl_c_ends_it(files, monkeypatch, capsys):
    folder, _, _ = files
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)

    def interrupt(server):
        raise KeyboardInterrupt

    monkeypatch.setattr("patchfold.cli._viewing.PageServer.serve_forever", interrupt)
    serve(make_table(str(folder / "e.csv")), port=0, browser=True)
    (address,) = opened
    assert capsys.readouterr().out == f"40 samples at {address}; Ctrl-C ends it\n"
