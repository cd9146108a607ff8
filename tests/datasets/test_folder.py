"""Reading a folder: codes, missing cells, and what is said of a wrong file."""

import gzip
import json

import numpy as np
import pytest

from patchfold.datasets import load

INDEX = "name,n_samples,n_features,n_classes,categorical_columns\n"


def test_a_plain_csv_needs_no_index(folder):
    (folder / "plain.csv").write_text(
        "size,colour,target\n1.5,red,b\n-2e1,blue,a\n,,b\n?,red,\n"
    )
    found = load("plain", data_home=folder)
    np.testing.assert_array_equal(
        found.data, [[1.5, 1], [-20, 0], [np.nan, np.nan], [np.nan, 1]]
    )
    assert found.target.tolist() == [1, 0, 1, -1]
    assert found.target_names == ("a", "b")
    assert found.categorical.tolist() == [False, True]
    assert found.levels == {"colour": ("blue", "red")}


def test_numeric_classes_are_ordered_by_value(folder):
    (folder / "plain.csv").write_text("a,target\n1,10\n2,9\n3,-1\n")
    assert load("plain", data_home=folder).target_names == ("-1", "9", "10")


def test_levels_come_in_the_given_order_and_may_be_unused(folder):
    (folder / "grade.csv").write_text("mark,target\nlow,0\nhigh,1\n,1\n")
    orders = {"mark": ["low", "middle", "high"], "target": ["1", "0"]}
    (folder / "categories.json").write_text(json.dumps({"grade": orders}))
    found = load("grade", data_home=folder)
    np.testing.assert_array_equal(found.data[:, 0], [0, 2, np.nan])
    assert found.levels["mark"] == ("low", "middle", "high")
    assert found.target.tolist() == [1, 0, 0]


def test_a_column_of_digits_is_categorical_if_the_index_says_so(folder):
    (folder / "s.csv").write_text("a,b,target\n7,7,x\n10,10,y\n")
    (folder / "index.csv").write_text(INDEX + "s,2,2,2,b\n")
    found = load("s", data_home=folder)
    np.testing.assert_array_equal(found.data, [[7, 0], [10, 1]])
    assert found.categorical.tolist() == [False, True]


def test_gzip_comes_before_plain_text_and_a_byte_order_mark_is_ignored(folder):
    (folder / "s.csv").write_text("plain,target\n1,x\n")
    with gzip.open(folder / "s.csv.gz", "wb") as out:
        out.write("\ufeffpacked,target\r\n1,x\r\n\r\n".encode())
    assert load("s", data_home=folder).feature_names == ("packed",)


def test_digits_with_underscores_are_text(folder):
    (folder / "s.csv").write_text("a,target\n1_0,x\n2,y\n")
    assert load("s", data_home=folder).categorical.tolist() == [True]


def test_the_description_repeats_what_the_index_knows(folder):
    (folder / "s.csv").write_text("a,target\n1,x\n")
    (folder / "index.csv").write_text("name,fidelity,notes\ns,recoded,seen once\n")
    description = load("s", data_home=folder).description
    assert description == "Read from s.csv. Fidelity: recoded. Notes: seen once"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs a header and at least one row"),
        ("a,target\n", "needs a header and at least one row"),
        ("a,class\n1,x\n", "last column named 'target'; its last .* named 'class'"),
        ("target\nx\n", "at least one feature"),
        ("a,a,target\n1,2,x\n", "more than one column named 'a'"),
        ("a,target\n1,x\n1,2,x\n", "row 2 has 3 cells, the header 2"),
    ],
)
def test_a_malformed_table_says_where(folder, text, message):
    (folder / "s.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        load("s", data_home=folder)


@pytest.mark.parametrize(
    "content",
    [b"not gzip", gzip.compress(b"a,target\n" * 99)[:-12]],
    ids=["not an archive", "cut short"],
)
def test_a_damaged_archive_is_a_clear_error(folder, content):
    (folder / "s.csv.gz").write_bytes(content)
    with pytest.raises(ValueError, match=r"s\.csv\.gz cannot be read as CSV"):
        load("s", data_home=folder)


def test_a_file_that_contradicts_the_index_is_refused(folder):
    (folder / "s.csv").write_text("a,target\n1,x\n2,y\n")
    (folder / "index.csv").write_text(INDEX + "s,3,1,2,\n")
    with pytest.raises(
        ValueError, match=r"has n_samples = 2, but index\.csv .* says 3"
    ):
        load("s", data_home=folder)


def test_text_in_a_column_the_index_calls_numeric_is_refused(folder):
    (folder / "s.csv").write_text("a,target\n1,x\nred,y\n")
    (folder / "index.csv").write_text(INDEX + "s,2,1,2,\n")
    with pytest.raises(
        ValueError, match="row 2 of column 'a' holds 'red', which is no"
    ):
        load("s", data_home=folder)


def test_a_cell_outside_its_levels_is_refused(folder):
    (folder / "s.csv").write_text("a,target\nred,x\n")
    (folder / "categories.json").write_text('{"s": {"a": ["blue", "green"]}}')
    with pytest.raises(ValueError, match=r"'red', which is not among .* blue, green"):
        load("s", data_home=folder)


@pytest.mark.parametrize("text", ["{", "[]", '{"s": {"a": 3}}', '{"s": ["a"]}'])
def test_a_malformed_level_file_is_a_clear_error(folder, text):
    (folder / "s.csv").write_text("a,target\nred,x\n")
    (folder / "categories.json").write_text(text)
    with pytest.raises(ValueError, match="must map names to columns to lists"):
        load("s", data_home=folder)


def test_levels_of_a_column_that_is_not_there_are_refused(folder):
    (folder / "s.csv").write_text("a,target\nred,x\n")
    (folder / "categories.json").write_text('{"s": {"b": ["red"]}}')
    with pytest.raises(ValueError, match="s has no column 'b'"):
        load("s", data_home=folder)
