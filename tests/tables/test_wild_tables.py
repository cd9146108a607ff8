"""Tables as people write them: every file of the corpus is read as it is meant."""

import gzip
import os
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from helpers.wild_tables import differs, wild_tables

import patchfold as pf
from patchfold.tables import UndecidedColumnsError, read_source, read_table
from patchfold.tables.frames import as_frame
from patchfold.tables.interpretation import interpret
from patchfold.tables.judging import judge_columns
from patchfold.tables.reading import ReadOptions

WILD = wild_tables()


@pytest.mark.parametrize("name", WILD)
def test_a_file_is_read_as_it_is_meant(name):
    table = WILD[name]
    if name.endswith(".xlsx"):
        pytest.importorskip("python_calamine")
    assert differs(read_table(table.path, **table.options), table.columns) == ""


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
from helpers.wild_tables import differs, wild_tables
from patchfold.tables import read_table

for name, table in wild_tables().items():
    if not name.endswith((".parquet", ".feather", ".xlsx")):
        found = differs(read_table(table.path, **table.options), table.columns)
        if found:
            print(name, found)
"""


class TestWithoutPyArrow:
    """What `patchfold view` reads in an environment of its own."""

    def test_a_file_is_read_as_it_is_meant(self):
        """In a process of its own: pandas must not have loaded it either."""
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_PYARROW],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)

    @pytest.fixture
    def _hidden(self, monkeypatch):
        for module in "reading", "arff":
            name = f"patchfold.tables.{module}.find_spec"
            monkeypatch.setattr(name, lambda package: None)

    @pytest.mark.usefixtures("_hidden")
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("a,b\n1,2\n3\n", "line 3 has 1 cells, and there are 2 columns"),
            ("a,b\n1,2\n\n3,4,5\n", "line 4 has 3 cells.*as R writes them"),
            ("a,b\n", "it has no rows or no columns"),
        ],
    )
    def test_what_is_no_table_is_refused(self, tmp_path, text, words):
        with pytest.raises(ValueError, match=words):
            read_table(write(tmp_path, text))

    @pytest.mark.usefixtures("_hidden")
    def test_a_cell_that_is_no_number_in_arff_is_named(self, tmp_path):
        text = "@relation r\n@attribute a numeric\n@data\n1\n?\nbig\n"
        with pytest.raises(ValueError, match=r"there is 'big' in 'a'"):
            read_table(write(tmp_path, text, "t.arff"))

    @pytest.mark.parametrize("name", ["plain.parquet", "plain.feather"])
    def test_a_file_that_needs_it_names_it(self, monkeypatch, name):
        for package in "pyarrow", "pyarrow.parquet":
            monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ValueError, match=r"need pyarrow: pip install pyarrow"):
            read_table(WILD[name].path)


@pytest.mark.parametrize(
    "name", ["comma.csv", "utf16.csv", "packed.csv.gz", "plain.parquet", "plain.arff"]
)
def test_a_file_may_come_by_the_standard_input(name, monkeypatch):
    table = WILD[name]
    with open(table.path, "rb") as file:
        monkeypatch.setattr(sys, "stdin", type("Piped", (), {"buffer": file}))
        source = read_source("-")
    assert source.name == "-"
    assert differs(source.frame, table.columns) == ""


def test_rows_above_the_header_of_a_sheet_are_named():
    pytest.importorskip("python_calamine")
    assert read_source(WILD["title.xlsx"].path).remarks == [
        "title.xlsx: a row above the header was skipped: 'Sales of 2020'.",
        "title.xlsx: a row above the header was skipped: 'as of 2020-12-31 00:00:00'.",
    ]
    assert read_source(WILD["plain.xlsx"].path).remarks == []


def write_sheet(path, rows):
    """Write the least that is a workbook: cells are words or numbers, None is none."""
    cells = "".join(
        f"<row>{''.join(map(_cell, range(len(row)), [k] * len(row), row))}</row>"
        for k, row in enumerate(rows, start=1)
    )
    space = "http://schemas.openxmlformats.org/"
    main, office = f"{space}spreadsheetml/2006/main", f"{space}officeDocument/2006"
    package = f"{space}package/2006"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship '
        f'Id="r" Type="{office}/relationships/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}/relationships">'
        '<sheets><sheet name="S" sheetId="1" r:id="r"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r" Type="{office}/relationships/worksheet" '
        'Target="worksheets/s.xml"/></Relationships>',
        "xl/worksheets/s.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}'
        "</sheetData></worksheet>",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def _cell(column, row, value):
    place = f"{'ABCDEFGH'[column]}{row}"
    if value is None:
        return ""
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


@pytest.mark.parametrize(
    ("above", "names", "rows"),
    [
        ([], ["id", None, "k", None], [[1, 1.5, "b", 1.1], [2, 2.5, "c", 1.2]]),
        ([], [None, "x"], [["a", 2], ["b", 3]]),
        ([], ["a", "b"], [[1, 2], [3, 4], ["x", "y", "z", "u", "v"]]),
        ([], ["a", "b"], [[1, 2], ["x", "y", "z", "u", "v"], [1, 2], [3, 4]]),
        ([], ["who", None], [["Ann", "red"], ["Bob", "blue"]]),
        ([], ["who", None, "x"], [["Ann", "red", "n/a"], ["Bob", "blue", 3]]),
        ([["Sales"]], ["a", "b"], [[1, 2], [3, 4]]),
        ([["Sales"], [], [2020]], ["a", "b"], [[1, 2], [3, 4]]),
        ([["Sales", "2020"]], ["a", "b", "c"], [[1, 2, 3], [3, 4, 5]]),
        ([["Source", "us"]], ["who", 2019, 2020, 2021], [["Ann", 1, 2, 3]] * 2),
        ([["n", 12], ["mean", 3]], [*"abcde"], [[1, 2, 3, 4, 5], [2, 3, 4, 5, 6]]),
        ([["t", "u"]], [*"abcdefgh"], [[1, 2, 3], [None, 2, 3]]),
    ],
)
def test_the_header_of_a_sheet_is_found(tmp_path, above, names, rows):
    pytest.importorskip("python_calamine")
    path = write_sheet(tmp_path / "t.xlsx", [*above, names, *rows])
    source = read_source(path)
    found = source.frame.columns[: len(names)]
    assert [None if n.startswith("Unnamed") else n for n in found] == [
        None if name is None else str(name) for name in names
    ]
    assert len(source.frame) == len(rows)
    assert len(source.remarks) == len([row for row in above if row])


def test_text_may_be_packed_by_gzip(tmp_path):
    for ending in ".csv.gz", ".tsv.gz", ".txt.gz":
        path = tmp_path / f"t{ending}"
        path.write_bytes(gzip.compress(b"a\tb\n1\t2.5\n3\t4.5\n"))
        assert read_table(path).to_dict("list") == {"a": [1, 3], "b": [2.5, 4.5]}


def test_a_column_may_be_named_as_another_file_begins(tmp_path):
    assert list(read_table(write(tmp_path, "PAR1,BZh\n1,2\n")).columns) == [
        "PAR1",
        "BZh",
    ]


def write(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


class TestHeaders:
    @pytest.mark.parametrize(
        "text",
        [
            "country,2020,2019,2018\nA,5,6,7\nB,8,9,10\nC,11,12,14\n",
            "red,green,blue\nred,,\n,green,\nred,,blue\n",
            "male,female\nmale,\n,female\nmale,\n",
        ],
        ids=["years that fall", "choices", "two choices"],
    )
    def test_names_that_look_like_cells_stay_names(self, tmp_path, text):
        found = read_table(write(tmp_path, text))
        assert ",".join(found.columns) == text.splitlines()[0]
        assert len(found) == 3

    def test_a_title_may_have_separators_behind_it(self, tmp_path):
        text = "Sales;;\nas of May;;\nregion;sum;n\nNorth;1,5;3\nSouth;2,5;4\n"
        source = read_source(write(tmp_path, text))
        assert list(source.frame.columns) == ["region", "sum", "n"]
        assert [remark.split(": ")[-1] for remark in source.remarks] == [
            "'Sales;;'.",
            "'as of May;;'.",
        ]

    @pytest.mark.parametrize(
        "text",
        ["who;;\nAnn;red;x\nBob;blue;y\n", "who;;\nAnn;5;7\nBob;6;8\n"],
        ids=["words alone", "numbers"],
    )
    def test_a_header_that_lacks_names_is_no_title(self, tmp_path, text):
        assert read_table(write(tmp_path, text)).columns[0] == "who"

    def test_lines_above_may_have_cells(self, tmp_path):
        text = "Logger XB\nSerial;4711\n\nDate;T1;T2;T3\n" + "1.2.2023;20,5;3;4\n" * 4
        source = read_source(write(tmp_path, text))
        assert list(source.frame.columns) == ["Date", "T1", "T2", "T3"]
        assert [remark.split(": ")[-1] for remark in source.remarks] == [
            "'Logger XB'.",
            "'Serial;4711'.",
        ]
        with pytest.raises(ValueError, match="line 2 has 4 cells"):
            read_table(write(tmp_path, "a;b\nu;v;w;x\ny;z;w;v\n"))

    @pytest.mark.parametrize("sep", [" ", ",", "\t"])
    def test_names_of_rows_need_no_name_themselves(self, tmp_path, sep):
        """As `write.table` of R leaves it out."""
        rows = ["mpg cyl", '"Mazda RX4" 21.0 6', '"Datsun 710" 22.8 4']
        rows = [row.replace(" ", sep).replace("Mazda" + sep, "Mazda ") for row in rows]
        text = "\n".join(rows).replace("Datsun" + sep, "Datsun ")
        source = read_source(write(tmp_path, text))
        assert list(source.frame.columns) == ["Unnamed: 0", "mpg", "cyl"]
        assert source.frame["Unnamed: 0"].tolist() == ["Mazda RX4", "Datsun 710"]
        assert source.frame["cyl"].tolist() == [6, 4]
        assert "as R writes them" in source.remarks[0]

    @pytest.mark.parametrize("text", ["a,b\n1,2,\n3,4,\n", "1.5,2\n1,2,3\n4,5,6\n"])
    def test_other_rows_that_are_longer_are_refused(self, tmp_path, text):
        with pytest.raises(ValueError, match=r"cells, and there are"):
            read_table(write(tmp_path, text))


class TestCodes:
    """What only looks like a number or a date is never one in silence."""

    @pytest.mark.parametrize(
        "cells",
        [
            ["Q11424", "Q12136", "Q42001"],
            ["MAR-01", "SEP-02", "DEC-01"],
            ["5000Q2", "1000-W10", "3333-Q1"],
            ["1-", "2-", "3"],
            ["1995-", "1996-", "2001-"],
            ["13:00 PM", "45:00 AM", "10:00 AM"],
        ],
        ids=lambda cells: cells[0],
    )
    def test_codes_are_words(self, cells):
        found = interpret(pd.DataFrame({"a": cells * 10}))
        assert found.frame["a"].tolist() == cells * 10

    @pytest.mark.parametrize(
        ("cells", "numbers"),
        [
            (["-(7.5)", "3.5", "2.5"], [-7.5, 3.5, 2.5]),
            (["-5.0-", "3.5", "2.5"], [-5.0, 3.5, 2.5]),
            (["100.00-", "3.50", "2.50"], [-100.0, 3.5, 2.5]),
        ],
        ids=["two signs", "a sign at each end", "a minus behind"],
    )
    def test_no_sign_is_taken_twice(self, cells, numbers):
        assert interpret(pd.DataFrame({"a": cells})).frame["a"].tolist() == numbers


class TestManyTexts:
    """Of very many different texts, some are looked at before all of them."""

    def test_numbers_and_dates_among_them_are_found(self, monkeypatch):
        monkeypatch.setattr("patchfold.tables.doubts.MANY_TEXTS", 50)
        days = pd.date_range("2000-01-01", periods=400).strftime("%d.%m.%Y")
        frame = pd.DataFrame(
            {
                "price": [f"€ {i},50" for i in range(400)],
                "day": days,
                "mixed": [*map(str, range(399)), "lost"],
                "name": [f"n{i}" for i in range(400)],
                "age": [f"{i}-{i + 1}" for i in range(400)],
            }
        )
        found = interpret(frame)
        assert found.frame["price"].tolist() == [i + 0.5 for i in range(400)]
        assert found.frame["day"].dtype.kind == "M"
        assert set(found.doubts) == {"mixed", "age"}
        assert found.doubts["mixed"].option == "missing"
        assert found.frame["name"].tolist() == frame["name"].tolist()


class TestDates:
    @pytest.mark.parametrize(
        ("cells", "expected"),
        [
            (["3. März 2020", "21. Mai 2020"], ["2020-03-03", "2020-05-21"]),
            (["1 février 2020", "30 août 2020"], ["2020-02-01", "2020-08-30"]),
            (["3 de enero de 2020", "4 de mayo de 2020"], ["2020-01-03", "2020-05-04"]),
            (["12/2019", "1/2020"], ["2019-12-01", "2020-01-01"]),
            (
                ["2023/11/20 5:47:37 PM GMT+1", "2023/02/22 1:46:52 AM GMT+2"],
                ["2023-11-20 16:47:37", "2023-02-21 23:46:52"],
            ),
            (["Wed Oct 10 20:19:24 -0330 2018"], ["2018-10-10 23:49:24"]),
            (["Tue, 16 Jan 2020 10:00:00 GMT"], ["2020-01-16 10:00:00"]),
            (["2020-01-18 10:00:00 UTC"], ["2020-01-18 10:00:00"]),
            (["2020-01-18 10:00:00,250"], ["2020-01-18 10:00:00.25"]),
        ],
        ids=lambda cells: cells[0],
    )
    def test_languages_and_zones(self, cells, expected):
        found = interpret(pd.DataFrame({"a": [*cells, None]}))
        assert found.frame["a"].tolist()[:-1] == list(map(pd.Timestamp, expected))
        assert found.notes["a"].startswith("dates: ")
        assert not found.doubts


class TestNothingIsGuessedInSilence:
    @pytest.mark.parametrize(
        ("name", "column", "note"),
        [
            ("euros.csv", "a", "numbers with decimal commas, thousands marks, '€'"),
            ("percent.csv", "a", "numbers with '%' beside them"),
            ("german-dates.csv", "a", "dates: day, month, year"),
            ("us-dates.csv", "a", "dates: month, day, year"),
            ("yes.csv", "b", "truth values: no and yes"),
            ("dash.csv", "a", "missing where it says -"),
            ("time-of-day.csv", "a", "times of day or durations, in days"),
        ],
    )
    def test_how_a_column_was_written_is_noted(self, name, column, note):
        assert note in read_source(WILD[name].path).notes[column]

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("latin1.csv", "not in UTF-8, and was read as Windows-1252"),
            ("no-header.csv", "there is no header"),
            ("title.csv", "a line above the header was skipped: 'Sales of 2020'"),
            ("latin9.csv", "not in UTF-8, and was read as ISO-8859-15"),
            ("no-header-whole.csv", "there is no header: the first row has numbers"),
            ("no-header-words.csv", "cells that are found again below"),
            ("utf16-without-mark.csv", "it was read as utf-16-le"),
        ],
    )
    def test_what_is_unusual_about_a_file_is_told(self, name, words):
        (remark,) = read_source(WILD[name].path).remarks
        assert words in remark

    @pytest.mark.parametrize(
        ("cells", "reason", "option", "value"),
        [
            ("01/02/2020\n03/04/2020", "day or month may come first", "dates", "dmy"),
            ("1,234\n2,345", "may be a decimal mark or not", "decimal", ","),
            ("18-24\n25-34", r"looks like numbers, .*18-24, 25-34", "drop", "b"),
            ("3 helmi 2020\n4 helmi 2020", "looks like dates", "drop", "b"),
            ("Jan-16\nFeb-17", "looks like dates", "drop", "b"),
            ("1/5/2020 9:00-10:00\n2/5/2020 9:00-10:00", "looks like", "drop", "b"),
            ("1.5.3\n1.6.2", "looks like dates", "drop", "b"),
            ("PT10M\nPT1H5M", "looks like dates", "drop", "b"),
            ("FY19\nFY20", "looks like dates", "drop", "b"),
            (">=5\n<=3", "looks like numbers", "drop", "b"),
            ("under 10\nca. 12", "looks like numbers", "drop", "b"),
            ('="1"\n="2"', r"looks like numbers, but is none \(=", "drop", "b"),
            (
                "\n".join([*map(str, range(30)), *["LOD"] * 8]),
                "in 8 of 38 rows LOD",
                "missing",
                "LOD",
            ),
            (
                "\n".join([*map(str, range(30)), *["<5"] * 8]),
                r"looks like numbers, but not all cells are such \(<5\)",
                "drop",
                "b",
            ),
            ("½\n1½", "looks like numbers", "drop", "b"),
            ("$ 3\n€ 4", "looks like numbers", "drop", "b"),
            ("01234\n00501", "codes with zeros in front", "drop", "b"),
            ("1/3\n2/5", r"looks like numbers, but is none \(1/3", "drop", "b"),
            ("1.234\n2.345", "may be a decimal mark or not", "decimal", ","),
            ("see 1\n2k\n3k", r"looks like numbers, but is none \(2k", "drop", "b"),
            (
                "\n".join([*map(str, range(30)), "lost"]),
                "in 1 of 31 rows lost",
                "missing",
                "lost",
            ),
        ],
    )
    def test_what_can_mean_two_things_is_a_doubt(
        self, tmp_path, cells, reason, option, value
    ):
        rows = [f"{i};{cell}" for i, cell in enumerate(cells.splitlines())]
        source = read_source(write(tmp_path, "\n".join(["a;b", *rows])))
        doubt = source.doubts["b"]
        assert pd.Series([doubt.reason]).str.contains(reason).all()
        assert (doubt.option, doubt.value) == (option, value)
        if option in ("dates", "decimal", "missing"):
            said = (value,) if option == "missing" else value
            again = read_source(tmp_path / "t.csv", ReadOptions(**{option: said}))
            assert not again.doubts

    def test_other_dates_decide_which_order_is_proposed(self, tmp_path):
        rows = ["a;b", "1/31/2020;1/2/2020", "2/1/2020;3/4/2020"]
        source = read_source(write(tmp_path, "\n".join(rows)))
        ((name, doubt),) = source.doubts.items()
        assert (name, doubt.option, doubt.value) == ("b", "dates", "mdy")
        assert source.frame["b"].dt.strftime("%m-%d").tolist() == ["01-02", "03-04"]

    @pytest.mark.parametrize(
        ("cell", "option"),
        [("{}.5 ± 2", "drop"), ("{}/7", "drop"), ("A-{}", "id"), ("{:05d}", "id")],
    )
    def test_what_looks_like_numbers_names_no_samples(self, tmp_path, cell, option):
        rows = [f"{i * i % 7};{cell.format(i)}" for i in range(40)]
        source = read_source(write(tmp_path, "\n".join(["a;b", *rows])))
        (found,) = judge_columns(source.frame, skipped=["a"], doubts=source.doubts)
        assert found.doubt.option == option

    def test_words_are_no_doubt(self, tmp_path):
        text = "a,b,c\n1,red,M 1\n2,blue,Q2\n3,red,v3\n"
        source = read_source(write(tmp_path, text))
        assert not source.doubts
        assert source.frame["c"].tolist() == ["M 1", "Q2", "v3"]


def test_numbers_that_stand_for_missing_cells_are_told():
    options = ReadOptions(missing=("-999",))
    source = read_source(WILD["gap-code.csv"].path, options, plain=("b",))
    assert source.notes["a"] == "missing where it says -999"
    assert source.frame["b"].tolist() == [-999, 7, 8]


def test_codes_are_found_however_they_are_written(tmp_path):
    cells = ["€ 3,50", "€ -999,00", "€ 7,25", "unsold"]
    path = write(tmp_path, "\n".join(["a;b", *(f"{c};1" for c in cells)]))
    source = read_source(path, ReadOptions(missing=("-999", "unsold")))
    np.testing.assert_array_equal(source.frame["a"], [3.5, np.nan, 7.25, np.nan])
    assert source.notes["a"].endswith("missing where it says unsold, -999")


def test_classes_and_names_of_samples_keep_their_words(tmp_path):
    path = write(tmp_path, "id,a,sick\n007,1,yes\n012,2,no\n013,3,yes\n")
    frame = read_source(path, plain=("id", "sick")).frame
    assert frame["id"].tolist() == ["007", "012", "013"]
    assert frame["sick"].tolist() == ["yes", "no", "yes"]


def test_frames_of_python_are_read_like_files():
    frame = pd.DataFrame(
        {
            "price": ["$1,200.50", "$3", None],
            "day": ["2020-01-31", "2020-02-01", "NULL"],
            "yes": [True, None, False],
            "size": pd.Categorical(["1", "2", "1"]),
        },
        index=[5, 6, 7],
    )
    found = interpret(frame)
    expected = {
        "price": ("number", [1200.5, 3, None]),
        "day": ("date", ["2020-01-31", "2020-02-01", None]),
        "yes": ("flag", [True, None, False]),
        "size": ("words", ["1", "2", "1"]),
    }
    assert differs(found.frame, expected) == ""
    assert list(found.frame.index) == [5, 6, 7]
    assert frame["price"].tolist()[0] == "$1,200.50"


def test_what_is_known_of_a_frame_decides_as_the_message_says():
    cells = [*map(str, range(12)), "lost"] * 3
    frame = pd.DataFrame({"a": cells, "b": ["1,234", "2,345", "3,456"] * 13})
    frame["c"] = np.arange(39) ** 2.0
    with pytest.raises(UndecidedColumnsError, match="reading=patchfold") as e:
        pf.compare(frame, methods=["pca"])
    decided = eval(f"dict({e.value.arguments()})", {"patchfold": pf})
    assert set(decided) == {"impute", "reading"}
    made = pf.compare(frame, methods=["pca"], n_splits=2, **decided)
    assert [kind for _, kind, _ in made.columns] == ["number"] * 3


def test_two_rows_of_names_are_joined():
    names = pd.MultiIndex.from_tuples([("t", "mean"), ("t", "std"), ("p", "")])
    frame = pd.DataFrame([[1, 2, 3], [4, 5, 7]], columns=names)
    assert as_frame(frame).columns.tolist() == ["t mean", "t std", "p"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sep": ";;"}, "sep must be one character. Got ';;'"),
        ({"decimal": ";"}, "decimal must be . or ,. Got ';'"),
        ({"dates": "dym"}, "dates must be dmy or mdy or ymd. Got 'dym'"),
        ({"encoding": "utf-9"}, "encoding 'utf-9' is not known"),
        ({"encoding": "ascii"}, "it is no text in ascii"),
    ],
)
def test_what_the_user_says_must_make_sense(options, words):
    with pytest.raises(ValueError, match=words.replace(".", r"\.")):
        read_table(WILD["utf8.csv"].path, **options)


def test_a_row_longer_than_a_block_is_read(tmp_path):
    long = "x" * 3_000_000
    path = write(tmp_path, f'a,b\n1,"{long}"\n2,"y"\n')
    assert read_table(path)["b"].tolist() == [long, "y"]


class TestMargins:
    """Lines around and between the rows that are no samples are skipped, and told."""

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("units-below.csv", "a line below the header was skipped: 's;°C;kPa;'"),
            ("two-headers.csv", "it has two lines of names: 'age,sex,math,art'"),
            ("markdown.txt", "a line below the header was skipped: '|---|---|'"),
            ("psql.txt", "a line below the table was skipped: '(3 rows)'"),
            ("header-again.csv", "the header stands again below: 2 lines skipped"),
            ("notes-below.csv", "2 lines below the table were skipped: 'Source: own"),
            ("comments-below.csv", "skipped: '# made in May, by hand, twice'"),
            ("sum-below.csv", "the last row was skipped, which is a sum: 'Total:;7"),
            ("bank.csv", "a line above the header was skipped: 'Stand;52,00 EUR;'"),
        ],
    )
    def test_they_are_told(self, name, words):
        assert words in read_source(WILD[name].path).remarks[-1]

    @pytest.mark.parametrize(
        "text",
        [
            "a,b,c\nx,lost,none\ny,1,2\nz,3,4\n",
            "a,b,c\nx,n.a.,tbd\nx,1,2\ny,3,4\n",
            "a,b,c\nx,low,high\nx,1,2\ny,3,4\n",
            "a,b\nlow,x\n1,x\n2,y\n",
            "a,b\nx,y\nz,v\nx,y\n",
            'a,b\n1,"x\n\ny"\n',
            "a,b\n#1,x\n#2,y\n",
            "a,b\nTotal,1\nx,2\nTotal,3\n",
            "a,b\nx,2\nTotal,y\n",
            "a\nx\n\ny\n",
            "red,x\nred,x\nblue,y\n",
        ],
        ids=repr,
    )
    def test_samples_stay(self, tmp_path, text):
        source = read_source(write(tmp_path, text))
        assert not any("skipped" in remark for remark in source.remarks)
        assert all("two lines" not in remark for remark in source.remarks)

    def test_a_row_that_is_cut_short_is_still_refused(self, tmp_path):
        with pytest.raises(ValueError, match=r"line 3 has 1 cells.*\(--sep\)"):
            read_source(write(tmp_path, "a,b\n1,2\n3\n"))

    def test_the_end_of_a_large_file_is_looked_at_alone(self, tmp_path):
        rows = "".join(f"é{i},{i}\n" for i in range(3000))
        source = read_source(write(tmp_path, f"a,b\n{rows}\nSource: own work\n"))
        assert len(source.frame) == 3000
        assert "Source: own work" in source.remarks[0]
