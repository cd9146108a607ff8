"""Large texts are read in parts: types are those of the whole, and so are errors."""

import csv
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from helpers.wild_tables import differs, wild_tables

from patchfold.tables import read_table

TEXTS = {
    name: table
    for name, table in wild_tables().items()
    if name.endswith((".csv", ".tsv", ".txt", ".gz"))
}


@pytest.fixture
def cut_parts(monkeypatch):
    """Return what sets the bytes of a part, for the rest of a test."""
    return lambda size: monkeypatch.setattr("patchfold.tables.delimited.PART", size)


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_in_parts_is_read_as_it_is_meant(name, cut_parts):
    cut_parts(64)
    table = TEXTS[name]
    assert differs(read_table(table.path, **table.options), table.columns) == ""


CHANGES = {
    "whole numbers, then fractions": (["1", "22", "333"], ["4.5", "1e3"]),
    "fractions, then whole numbers": (["4.5", "1e3"], ["1", "22", "333"]),
    "whole numbers of 18 digits, then fractions": (
        ["1"],
        ["123456789012345677", "1.5"],
    ),
    "whole numbers, then words": (["1", "2.50"], ["x", "y"]),
    "words, then whole numbers": (["x", "y"], ["1", "2.50"]),
    "whole numbers, then codes": (["1", "2"], ["007", "A1"]),
    "days, then times": (["2020-01-02"], ["2020-01-02 10:00:00"]),
    "times, then fractions of seconds": (
        ["2020-01-02 10:00:00"],
        ["2020-01-02 10:00:00.25"],
    ),
    "days, then words": (["2020-01-02"], ["soon"]),
    "gaps, then words": (["", "NA"], ["x", "y"]),
    "gaps, then days": (["", "NA"], ["2020-01-02"]),
    "whole numbers, then gaps": (["1", "2"], ["", "NA"]),
    "gaps alone": (["", "NA"], [""]),
    "18 digits, then gaps": (["123456789012345600"], ["", "223456789012345600"]),
    "18 digits, then words": (["123456789012345678"], ["x", "NA"]),
    "18 digits, then 19": (["123456789012345678"], ["9123456789012345678"]),
    "18 digits, then zeros in front": (["123456789012345678"], ["012", "5"]),
    "gaps, then 18 digits": (["", "5"], ["123456789012345678"]),
    "few words, then many": (["a", "b"], [f"w{i}" for i in range(60)]),
}


@pytest.mark.parametrize(("first", "then"), CHANGES.values(), ids=CHANGES)
def test_a_type_that_shows_late_is_that_of_the_column(
    first, then, cut_parts, monkeypatch, tmp_path
):
    monkeypatch.setattr("patchfold.tables.delimited.MAX_LEVELS", 20)
    cells = [*(first * 300)[:300], *(then * 300)[:300]]
    rows = [f"{cell},{n + 0.5},k{n % 3}" for n, cell in enumerate(cells)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,c", *rows]))
    whole = read_table(path)
    cut_parts(500)
    pd.testing.assert_frame_equal(read_table(path), whole)


@pytest.mark.parametrize(
    "cells",
    [
        ['"one\ntwo"', '"three, ""four"""', "five"],
        ['5" pipe', '"one\ntwo"', "six"],
        ['5" pipe', '"a ""b""\n"', '7"', '"one\n\n2,2\n3"'],
        ['""', '"x"', '""""'],
    ],
    ids=["lines", "a mark alone", "marks and lines", "marks"],
)
@pytest.mark.parametrize("size", [20, 33, 50, 71, 300])
def test_a_cell_of_several_lines_is_never_cut(cells, size, cut_parts, tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{cells[n % len(cells)]},{n}" for n in range(200)]
    path.write_text("\n".join(["a,b", *rows]))
    cut_parts(2**24)
    whole = read_table(path)
    assert whole["b"].tolist() == list(range(200))
    cut_parts(size)
    pd.testing.assert_frame_equal(read_table(path), whole)


@pytest.mark.parametrize("line", [3, 150, 299])
def test_the_line_of_a_row_of_another_length_is_that_of_the_file(
    line, cut_parts, tmp_path
):
    lines = ["# made by hand", "a,b", *(f"{n},{n}" for n in range(300))]
    lines[line - 1] = "1,2,3"
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    cut_parts(200)
    with pytest.raises(ValueError, match=rf"line {line} has 3 cells"):
        read_table(path)


@pytest.mark.parametrize("size", [500, 2**24])
@pytest.mark.parametrize(
    ("step", "kept"), [(1000, int), (1, str)], ids=["numbers", "names"]
)
def test_long_whole_numbers_are_numbers_where_floats_tell_them_apart(
    step, kept, size, cut_parts, tmp_path
):
    cells = [10**17 + step * n for n in range(300)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b", *(f"{cell},0.5" for cell in cells)]))
    cut_parts(size)
    assert read_table(path)["a"].tolist() == list(map(kept, cells))


HELD = """
import sys
import pyarrow as pa
from patchfold.tables import delimited, read_table

delimited.PART = 2**18
frame = read_table(sys.argv[1])
print(pa.default_memory_pool().max_memory() / frame.memory_usage(index=False).sum())
"""


@pytest.mark.parametrize("kind", ["fractions", "whole numbers", "gaps", "quotes"])
def test_arrow_holds_the_numbers_and_hardly_more(kind, tmp_path):
    """In a process of its own: the most that Arrow has held is not forgotten."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 4))
    if kind == "whole numbers":
        X = (1e12 * X).astype(int)
    if kind == "gaps":
        X[rng.random(X.shape) < 0.3] = np.nan
    quoting = csv.QUOTE_ALL if kind == "quotes" else csv.QUOTE_MINIMAL
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.to_csv(tmp_path / "t.csv", index=False, quoting=quoting)
    done = subprocess.run(
        [sys.executable, "-c", HELD, tmp_path / "t.csv"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert 1 < float(done.stdout) < 2.2  # the table, and the frame made of it


@pytest.mark.parametrize("size", [3, 2**24])
def test_rows_without_any_text_are_rows(size, cut_parts, tmp_path):
    cut_parts(size)
    path = tmp_path / "t.tsv"
    path.write_text("a\tb\n1\t2\n\t\n3\t4\n\t\n\n\n")
    found = read_table(path)
    expected = pd.DataFrame({"a": [1, np.nan, 3, np.nan], "b": [2, np.nan, 4, np.nan]})
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize("size", [60, 150])
def test_a_mark_alone_makes_no_rows_of_a_cell_of_several_lines(
    size, cut_parts, tmp_path
):
    """The lines of that cell have as many cells as there are columns."""
    cells = ["one", '5" pipe', *(['"Dear all,\nyours, Ann"'] * 3), "six"]
    path = tmp_path / "t.csv"
    rows = [f"k{n},{cells[n % len(cells)]}" for n in range(60)]
    path.write_text("\n".join(["a,b", *rows]) + "\n")
    whole = read_table(path)
    assert whole["a"].tolist() == [f"k{n}" for n in range(60)]
    cut_parts(size)
    pd.testing.assert_frame_equal(read_table(path), whole)


@pytest.mark.parametrize("size", [50, 2**24])
def test_a_short_row_is_not_taken_for_the_part_of_another(size, cut_parts, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n" + "11,2,3\n" * 50 + "1,2\n" + "4,5,6\n" * 50)
    cut_parts(size)
    with pytest.raises(ValueError, match="line 52 has 2 cells"):
        read_table(path)
