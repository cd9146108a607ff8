"""The files that the page of `view` reads say what the table says."""

import json

import numpy as np
import pandas as pd
import pytest

from patchfold.cli._page_data import CLASSES, write_files
from patchfold.records import Neighborhoods

N = 40


def write(frame, folder):
    """Write the files of a table; return what describes it, and a reader of files."""
    count = np.arange(len(frame))
    frame = frame.assign(x=count / 2.0, y=-count)
    near = Neighborhoods(
        (count[:, None] + [1, 2]) % len(frame), np.ones((len(frame), 2))
    )
    files = write_files(frame, ["x", "y"], near, title="<t>", folder=folder)
    assert all(path.parent == folder for path in files.values())
    read = {name: path.read_bytes() for name, path in files.items()}
    return json.loads(read["data/table.json"]), read


def cells(about, read, name):
    """Return a column as the page shows it; None where a cell is missing."""
    (column,) = (column for column in about["columns"] if column["name"] == name)
    if column["kind"] == "numbers":
        values = np.frombuffer(read[column["values"]], "<f8").tolist()
        return [None if value != value else value for value in values]
    words = json.loads(read[column["words"]])
    codes = np.frombuffer(read[column["values"]], "<i4")
    return [None if code < 0 else words[code] for code in codes]


def test_coordinates_and_neighbours(tmp_path):
    about, read = write(pd.DataFrame({"a": range(N)}), tmp_path)
    assert about["title"] == "<t>"
    assert about["rows"] == N
    x, y = (np.frombuffer(read[name], "<f8") for name in about["coordinates"])
    np.testing.assert_array_equal(x, np.arange(N) / 2)
    np.testing.assert_array_equal(y, -np.arange(N))
    near = about["neighbors"]
    rows = np.frombuffer(read[near["rows"]], "<i4").reshape(N, near["count"])
    assert rows[-1].tolist() == [0, 1]
    assert np.frombuffer(read[near["distances"]], "<f8").tolist() == [1] * 2 * N


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5, np.nan, np.inf], [0.5, None, np.inf]),
        ([True, False, True], ["True", "False", "True"]),
        (["b", None, "a"], ["b", None, "a"]),
        (["<b>", "\u2028", ""], ["<b>", "\u2028", ""]),
        ([2**53 + 1, 1, 2], ["9007199254740993", "1", "2"]),
        (pd.array([10, None, 9], dtype="Int64"), ["10", None, "9"]),
        (pd.to_datetime(["2024-02-29", None, "2025-01-01"]), None),
        (pd.Categorical(["x", None, "y"]), ["x", None, "y"]),
        ([1, "a", None], ["1", "a", None]),
        (pd.array([0.5, None, 2], dtype="Float64"), [0.5, None, 2.0]),
    ],
)
def test_cells_are_shown_as_they_are(tmp_path, values, expected):
    about, read = write(pd.DataFrame({"a": values}), tmp_path)
    if expected is None:
        expected = ["2024-02-29", None, "2025-01-01"]
    assert cells(about, read, "a") == expected


def test_few_whole_numbers_are_classes_in_the_order_of_their_size(tmp_path):
    frame = pd.DataFrame({"few": np.arange(N) % CLASSES, "many": np.arange(N)})
    about, read = write(frame, tmp_path)
    kinds = {column["name"]: column["kind"] for column in about["columns"]}
    assert kinds == {"few": "words", "many": "numbers", "x": "numbers", "y": "numbers"}
    words = json.loads(read["data/words0"])
    assert words == [str(k) for k in range(CLASSES)]
