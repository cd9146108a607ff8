"""Tables: read from every kind of file, encoded, refused with what helps, written."""

import pickle
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

import patchfold as pf
from patchfold.tables import (
    MissingValuesError,
    Source,
    UndecidedColumnsError,
    choose_columns,
    encode_classes,
    make_encoder,
    match_columns,
    read_source,
    read_table,
    write_table,
)
from patchfold.tables.columns import choose_from
from patchfold.tables.dates import as_days
from patchfold.tables.description import describe
from patchfold.tables.embedding import embed_table
from patchfold.tables.encoding import describe_columns, summarize_columns
from patchfold.tables.frames import as_frame
from patchfold.tables.interpretation import Customs, interpret
from patchfold.tables.judging import judge_columns
from patchfold.tables.reading import ReadOptions


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "size": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            "hue": ["red", "blue", "red", "green", "blue", "red"],
            "unit": "cm",
            "kind": ["b", "a", "b", "a", "b", "a"],
        }
    )


ARFF = """@relation pets
@attribute weight numeric
@attribute coat {long,short}
@attribute kind {cat,dog}
@data
4.5,short,cat
?,long,dog
20,?,dog
"""


class TestReading:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("t.csv", "a,b\n1,x\n?,y\n"),
            ("t.CSV", "a;b\r\n1;x\r\n;y\r\n"),
            ("t.tsv", "\ufeffa\tb\n1\tx\nNA\ty\n"),
        ],
    )
    def test_separators_and_missing_cells_of_text_files(self, tmp_path, name, text):
        (tmp_path / name).write_bytes(text.encode())
        table = read_table(tmp_path / name)
        assert list(table.columns) == ["a", "b"]
        assert table["a"].isna().tolist() == [False, True]
        assert table["b"].tolist() == ["x", "y"]

    def test_parquet_and_compressed_csv_give_the_same_table(self, frame, tmp_path):
        frame.to_parquet(tmp_path / "t.parquet")
        frame.to_csv(tmp_path / "t.csv.gz", index=False)
        tables = [read_table(tmp_path / f"t.{end}") for end in ("parquet", "csv.gz")]
        pd.testing.assert_frame_equal(*tables, check_dtype=False)

    def test_a_folder_of_parquet_files_is_one_table(self, frame, tmp_path):
        folder = tmp_path / "k=1" / "t.parquet"
        folder.parent.mkdir()
        frame.to_parquet(folder, partition_cols=["kind"])
        table = read_table(folder).sort_values("size", ignore_index=True)
        assert list(table["kind"].cat.categories) == ["a", "b"]
        pd.testing.assert_frame_equal(
            table, frame, check_dtype=False, check_categorical=False
        )

    @pytest.mark.parametrize(
        ("declared", "levels"),
        [
            ("{small  large huge}", ["small", "large", "huge"]),
            ("{ small large } % it's blanks, not commas", ["small", "large"]),
            ("{small}", ["small"]),
            ("{very small, small}", ["very small", "small"]),
            ("{'very small'}", ["very small"]),
        ],
    )
    def test_arff_levels_may_have_blanks_between_them(self, declared, levels, tmp_path):
        path = tmp_path / "t.arff"
        row = f"'{levels[-1]}'" if " " in levels[-1] else levels[-1]
        path.write_text(f"@attribute size {declared}\n@data\n{row}\n")
        column = read_table(path)["size"]
        assert list(column.cat.categories) == levels
        assert column.tolist() == levels[-1:]

    def test_arff_keeps_the_declared_order_of_levels(self, tmp_path):
        (tmp_path / "pets.arff").write_text(ARFF)
        table = read_table(tmp_path / "pets.arff")
        assert list(table["kind"].cat.categories) == ["cat", "dog"]
        assert table.isna().sum().tolist() == [1, 1, 0]

    @pytest.mark.parametrize(
        ("kind", "rows", "cells"),
        [
            ("string", "1, 'x, y'\n2,z", ["x, y", "z"]),
            ("string", "1,O'Brien\n2,\"a, b\"\n3,'it''s'", ["O'Brien", "a, b", "it's"]),
            ("string", "1,'say \"hi\"'\n2,C:\\x", ['say "hi"', "C:\\x"]),
            ("string", "1,''\n2,'  '\n3,NaN", ["", "  ", "NaN"]),
            ("string", "1\tx\n2\t'a\tb'\n3\tu, v", ["x", "a\tb", "u, v"]),
            ("int", "1,2\n2 , 3 ", [2, 3]),
            ("Integer", "1,?\n2,? \n? ,NaN\n4,nan", [None] * 4),
            ("real [0,1]", "1,0.5\n2,.25", [0.5, 0.25]),
            ("real[0,1]", "1,1\n2,0", [1, 0]),
            ("{New York, Boston}", "1,New York\n2, Boston", ["New York", "Boston"]),
            ("{x,y} % of a kind", "1,y\n2,'x'\n3,?", ["y", "x", None]),
            ("{O'Brien, '}'}", "1,O'Brien\n2,'}'", ["O'Brien", "}"]),
        ],
    )
    def test_arff_as_it_is_met(self, tmp_path, kind, rows, cells):
        path = tmp_path / "t.arff"
        path.write_text(f"@attribute n real\n@attribute a {kind}\n@data\n{rows}\n")
        table = read_table(path)
        assert (
            table["a"].astype(object).where(table["a"].notna(), None).tolist() == cells
        )

    @pytest.mark.parametrize(
        ("form", "cells"),
        [
            ("", "2020-01-31,2020-02-01"),
            ("\"yyyy-MM-dd'T'HH:mm:ss\"", "2020-01-31T00:00:00,2020-02-01T00:00:00"),
            ("'dd.MM.yy'", "31.01.20,01.02.20"),
            ("MM/dd/yyyy", "'01/31/2020',02/01/2020"),
        ],
    )
    def test_dates_in_arff_are_no_categories(self, tmp_path, form, cells):
        path = tmp_path / "t.arff"
        rows = "\n".join(f"{n},{cell}" for n, cell in enumerate(cells.split(",")))
        path.write_text(
            f"@attribute n real\n@attribute a date {form}\n@data\n{rows}\n3,?\n"
        )
        table = read_table(path)
        assert table["a"].dt.strftime("%d %m %Y").tolist()[:2] == [
            "31 01 2020",
            "01 02 2020",
        ]
        assert table["a"].isna().tolist() == [False, False, True]
        columns = choose_columns(table, impute="median", keep=["n"])
        assert columns.dates == ("a",)
        days = make_encoder(columns, scale=False).fit_transform(columns.features)[:, 1]
        assert days[:2].tolist() == [18292, 18293]  # since 1970

    @pytest.mark.parametrize(
        ("form", "cell", "words"),
        [
            (
                "'dd.MM.yyyy'",
                "2020-01-31",
                "line 5 has '2020-01-31' in 'day', which is",
            ),
            (
                "'dd.MM.yyyy'",
                "31.02.2020",
                "declared as date 'dd.MM.yyyy'; write '\\?'",
            ),
            ("", "yesterday", r"declared as date ISO 8601 .*\(--drop\)\.$"),
            ("'d MMM'", "?", "line 2 declares 'day' as date 'd MMM', a format that"),
        ],
    )
    def test_dates_that_arff_cannot_hold_name_the_column_and_the_remedy(
        self, tmp_path, form, cell, words
    ):
        path = tmp_path / "t.arff"
        first = {"": "2020-01-30"}.get(form, "30.01.2020")
        path.write_text(
            f"@attribute n real\n@attribute day date {form}\n@data\n1,{first}\n"
            f"2,{cell}\n"
        )
        with pytest.raises(ValueError, match=words) as error:
            read_table(path)
        assert len(str(error.value).splitlines()) == 1

    @pytest.mark.parametrize(
        "text",
        [
            " \t\n\n\r\na,b\n1,x\n \n\t \n2,y\n  ",
            '  \na,b\n1,"x"\n \n\t\n2,y\n\n ',
            "\n \na\tb\n1\tx\n   \n2\ty\n",
            " \ra;b\r1;x\r \r2;y\r\t",
        ],
    )
    def test_blank_lines_of_csv_are_skipped(self, tmp_path, text):
        (tmp_path / "t.csv").write_bytes(text.encode())
        table = read_table(tmp_path / "t.csv")
        assert table.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}

    def test_a_blank_line_of_any_end_moves_no_cell(self, tmp_path):
        """Alone, pandas swallows the comma after a second carriage return."""
        (tmp_path / "t.csv").write_bytes(b"a,b\r1,2\r\r,3\r")
        table = read_table(tmp_path / "t.csv")
        np.testing.assert_array_equal(table, [[1, 2], [np.nan, 3]])

    def test_tabs_make_cells_where_they_separate(self, tmp_path):
        (tmp_path / "t.tsv").write_text("a\tb\tc\n1\t2\t3\n\t\t\n")
        assert read_table(tmp_path / "t.tsv").isna().sum().tolist() == [1, 1, 1]

    def test_a_dataset_is_found_by_its_name_and_knows_its_target(self):
        source = read_source("tic-tac-toe")
        assert source.target == "target"
        assert source.frame["target"].value_counts().to_dict() == {
            "positive": 626,
            "negative": 332,
        }

    @pytest.mark.parametrize(
        ("name", "text", "words"),
        [
            ("t.sav", "a", "must end in .csv"),
            ("t.csv", None, "does not exist"),
            ("t.csv", "", "cannot be read"),
            ("t.csv", "a,b\n", "no rows"),
            ("t.csv", "a,a\n1,2\n", "more than one column named 'a'"),
            ("t.csv", "a,b\n1,2\n3,4,5\n", "cannot be read"),
            ("t.parquet", "no parquet", "cannot be read"),
            ("t.arff", "@relation x\n@attribute s number\n@data\n1\n", "cannot be"),
        ],
    )
    def test_what_cannot_be_read_says_why_in_one_line(
        self, tmp_path, name, text, words
    ):
        path = tmp_path / name
        if text is not None:
            path.write_text(text)
        with pytest.raises(ValueError, match=words) as error:
            read_table(path)
        assert "\n" not in str(error.value)

    def test_neither_a_file_nor_a_dataset(self, monkeypatch):
        monkeypatch.delenv("PATCHFOLD_DATA", raising=False)
        with pytest.raises(ValueError, match="neither a file nor a dataset"):
            read_source("no-such-set")

    def test_a_folder_does_not_hide_the_dataset_of_its_name(
        self, tmp_path, monkeypatch
    ):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "parity5").mkdir()
        assert read_source("parity5").frame.shape == (32, 6)


class TestColumns:
    def test_each_column_has_one_role(self, frame):
        columns = choose_columns(frame, target="kind", drop=["hue"])
        assert columns.numbers == ("size",)
        assert columns.categories == ()
        assert columns.left_out == {"hue": "as asked", "unit": "constant"}

    def test_missing_cells_are_counted_by_column_and_the_remedy_is_named(self, frame):
        frame.loc[[0, 3], "size"] = np.nan
        frame.loc[1, "hue"] = None
        with pytest.raises(MissingValuesError, match=r"3 cells .*size 2, hue 1") as e:
            choose_columns(frame, target="kind")
        assert "--impute median" in str(e.value)

    def test_missing_cells_of_unused_columns_do_not_matter(self, frame):
        before = choose_columns(frame, target="kind").features
        frame.loc[0, "kind"] = None
        after = choose_columns(frame, target="kind").features
        pd.testing.assert_frame_equal(after, before)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"target": "sort"}, "target: there is no column 'sort'. There are size"),
            ({"drop": ["x"]}, "drop: there is no column 'x'"),
            ({"target": "kind", "id": "kind"}, "both the target and the id"),
            ({"drop": ["size", "hue"], "target": "kind"}, "no column is left"),
        ],
    )
    def test_bad_roles_are_refused(self, frame, arguments, words):
        with pytest.raises(ValueError, match=words):
            choose_columns(frame, **arguments)

    @pytest.mark.parametrize(
        ("cells", "words"),
        [
            (
                [f"name {i}" for i in range(40)],
                r"'extra' has 40 different texts .*\(--id extra\); or leave it out",
            ),
            (
                [f"free text of some length {i:09}" for i in range(40)],
                "free text: leav",
            ),
            ([np.inf, *range(39)], "1 infinite cells: count them as missing and fill"),
            (range(7, 47), "'extra' counts the rows: leave it out"),
        ],
    )
    def test_columns_of_no_use_are_refused_with_what_helps(self, cells, words):
        table = pd.DataFrame({"size": [1, 3] * 20, "extra": cells})
        with pytest.raises(UndecidedColumnsError, match=words):
            choose_columns(table)
        assert choose_columns(table, drop=["extra"]).numbers == ("size",)

    @pytest.mark.parametrize(
        ("code", "other", "counted"),
        [(-999, 0, True), (-99.0, 5, True), (-99, -60, False), (-9, 5, False)],
    )
    def test_codes_for_missing_cells_are_doubted(self, code, other, counted):
        table = pd.DataFrame(
            {"size": [1.0, 3.0] * 20, "x": [code, other, 7.5, 2.5] * 10}
        )
        if not counted:
            assert choose_columns(table).numbers == ("size", "x")
            return
        with pytest.raises(UndecidedColumnsError, match="10 of 40 rows, alone") as e:
            choose_columns(table)
        assert e.value.decisions == {"missing": [f"{code:g}"], "impute": "median"}
        assert choose_columns(table, keep=["x"]).impute is None
        columns = choose_columns(table, auto=True)
        assert columns.features["x"].isna().sum() == 10
        assert (
            columns.decided[0]
            == f"x: {code:g} counted as missing, as in every feature that is not kept"
        )

    @pytest.mark.parametrize(
        ("cells", "codes"),
        [
            ([1, 2, 3, 98, 99], ["99", "98"]),
            ([20, 30, 79, 997, 998, 999], ["999", "998", "997"]),
            ([5, 6, 7, -99, -98], ["-99", "-98"]),
            ([1, 2, 3, 8, 9], None),
            ([1, 2, 3, *range(92, 100)], None),
            (range(1, 100), None),
        ],
    )
    def test_codes_beside_one_of_nines_are_doubted_with_it(self, cells, codes):
        table = pd.DataFrame({"x": [*cells] * 4})
        table["size"] = np.arange(len(table)) % 3.0
        if codes is None:
            assert choose_columns(table).numbers == ("x", "size")
            return
        with pytest.raises(UndecidedColumnsError) as e:
            choose_columns(table)
        assert e.value.decisions == {"missing": codes, "impute": "median"}

    def test_codes_in_the_target_are_named(self, tmp_path):
        table = pd.DataFrame({"y": [0, 1, 2, -999] * 10, "x": np.arange(40) ** 0.5})
        found = "-999 in 10 of 40 rows, alone below 0: leave these rows out"
        assert found in describe(table, "y").loc["y", "problem"]
        assert describe(table[table["y"] >= 0], "y").loc["y", "problem"] == ""
        table.to_csv(tmp_path / "t.csv", index=False)
        done = embed_table(str(tmp_path / "t.csv"), "elap", {}, target="y")
        assert f"the target 'y' has {found}" in done.remarks[0]
        compared = pf.compare(table, "y", methods=["pca"], sweep=False)
        assert any(found in remark for remark in compared.remarks)

    def test_a_code_of_one_column_stays_a_value_in_columns_that_are_kept(self):
        measured = [*np.linspace(-1000, 1000, 38), -999, -999]
        table = pd.DataFrame({"kids": [0, 1, 2, -999] * 10, "z": measured})
        table["rate"] = table["z"]
        columns = choose_columns(table, auto=True, keep=["z"])
        assert columns.features.isna().sum().to_dict() == dict(kids=10, z=0, rate=2)
        assert columns.decided[1].endswith("became missing by this: rate 2")

    @pytest.mark.parametrize(
        ("cells", "code"),
        [
            ([1, 2, 3, 4, 99], "99"),
            ([-3.5, 0, 2.25, 4, -99], "-99"),
            ([0, 20.5, 99.5, 110, 999.9], "999.9"),
            ([1990, 2001, 2003, 2020, 9999], "9999"),
            ([1, 2, 3, 99, -99], "-99,99"),
            ([1, 2, 3, -99, -999], "-999,-99"),
            ([1, 2, 9, 9999, 99999], "99999,9999"),
            ([-99, -60, 0, 30, 99], None),
            ([0, 30, 35, 40, 99], None),
            ([1, 2, 3, 4, 9], None),
            ([1, 2, 3, 4, 98], None),
            ([99, 0, 0, 0, 0], None),
        ],
    )
    def test_codes_that_stand_apart_are_doubted(self, cells, code):
        (found,) = judge_columns(pd.DataFrame({"x": cells * 4}))
        assert (found.doubt and (found.doubt.option, found.doubt.value)) == (
            code and ("missing", code)
        )

    def test_a_number_of_nines_alone_is_no_code(self):
        table = pd.DataFrame({"x": [*range(1, 5)] * 5 + [99]})
        assert [found.doubt for found in judge_columns(table)] == [None]

    @pytest.mark.skipif(pd.__version__ < "3", reason="local dates end in 2262")
    @pytest.mark.parametrize(
        ("code", "told"),
        [
            ("9999-12-31", "9999-12-31"),
            ("1900-01-01", "1900-01-01"),
            ("9999-12-31 23:59:59", "9999-12-31T23:59:59"),
            ("9999-12-31 23:59:59.997", "9999-12-31T23:59:59.997"),
        ],
    )
    def test_dates_that_stand_apart_are_doubted(self, code, told, tmp_path):
        days = [code if i % 5 == 0 else f"2020-03-{1 + i % 28:02}" for i in range(40)]
        table = pd.DataFrame({"size": [1.5, 2.5] * 20, "until": days})
        table["open"] = table["until"].str.replace(
            r"(\d+)-(\d+)-(\d+)", r"\3.\2.\1", regex=True
        )
        table.to_csv(tmp_path / "t.csv", index=False)
        read = read_source(tmp_path / "t.csv")
        with pytest.raises(
            UndecidedColumnsError, match="far from 2020-03-01 to 2020"
        ) as e:
            choose_from(read)
        assert e.value.decisions == {"missing": [told], "impute": "median"}
        again = read_source(tmp_path / "t.csv", ReadOptions(missing=(told,)))
        columns = choose_from(again, impute="median")
        assert columns.dates == ("until", "open")
        assert columns.features.isna().sum().tolist() == [0, 8, 8]
        assert "missing where it says 9999" in again.notes["until"] or "1900" in code
        kept = choose_from(read, keep=["until", "open"])
        assert kept.features.isna().sum().sum() == 0

    @pytest.mark.parametrize(
        ("dtype", "note"),
        [
            ("timestamp[s][pyarrow]", ""),
            ("timestamp[ns, tz=UTC][pyarrow]", "times in UTC"),
            ("date32[pyarrow]", ""),
            ("date64[pyarrow]", ""),
        ],
    )
    def test_dates_of_arrow_may_have_gaps(self, dtype, note):
        days = pd.to_datetime(["2020-01-02", None, "2021-03-04", "1900-01-01"])
        days = pd.Series(days, dtype="timestamp[ns][pyarrow]")
        table = pd.DataFrame({"day": days.astype(dtype), "size": [1, 3, 4, 4]})
        found = describe(table).loc["day"]
        assert (found["kind"], found["missing"], found["note"]) == ("date", 1, note)
        gone = interpret(table, Customs(missing=("1900-01-01",)))
        assert gone.frame["day"].isna().tolist() == [False, True, False, True]

    def test_long_whole_numbers_are_codes_only_if_they_are_the_same(self):
        table = pd.DataFrame({"key": [2**53, 2**53 + 1, 5, 99]})
        found = interpret(table, Customs(missing=(str(2**53), "99.0", "lost")))
        assert found.frame["key"].isna().tolist() == [True, False, False, True]
        assert found.notes["key"].endswith("says 99, 9007199254740992")

    def test_dates_far_away_are_days(self):
        dates = np.array(["0001-01-01", "1582-10-15", "9999-12-31"], dtype="M8[us]")
        assert as_days(pd.Series(dates)).tolist() == [-719162, -141427, 2932896]

    def test_long_numbers_that_are_the_same_float_name_samples(self, tmp_path):
        names = 10**18 + np.random.default_rng(0).permutation(40)
        table = pd.DataFrame({"size": [1.5, 2.5] * 20, "post": names})
        table.to_csv(tmp_path / "t.csv", index=False)
        for found in table, pa.Table.from_pandas(table), tmp_path / "t.csv":
            assert describe(found)["decision"].tolist() == ["", "id='post'"]

    def test_long_numbers_with_repeats_are_left_out(self, tmp_path):
        names = 10**18 + np.arange(40) // 2
        pd.DataFrame({"size": [1.5, 2.5] * 20, "post": names}).to_csv(
            tmp_path / "t.csv", index=False
        )
        found = describe(tmp_path / "t.csv").loc["post"]
        assert found["decision"] == "drop=['post']"
        assert "too many digits to stay different" in found["problem"]

    @pytest.mark.parametrize("dtype", ["Int64", "UInt32", "int64[pyarrow]"])
    def test_numbers_with_a_mask_are_judged_as_plain_ones(self, dtype):
        table = pd.DataFrame(
            {
                "size": [1.5, 2.5] * 20,
                "count": range(40),
                "key": np.random.default_rng(0).permutation(40) * 3,
                "score": [1, 2, 3, 999] * 10,
                "few": [1, 2, 3, None] * 10,
            }
        )
        changed = table.astype(dict.fromkeys(["count", "key", "score", "few"], dtype))
        found, plain = describe(changed), describe(table)
        assert found.drop(columns="note").equals(plain.drop(columns="note"))
        assert (found["decision"] != "").sum() == 4

    def test_infinite_cells_count_as_missing_if_asked(self):
        table = pd.DataFrame({"size": [1.0, 3.0] * 20, "x": [np.inf, *range(39)]})
        columns = choose_columns(table, auto=True)
        assert columns.features["x"].isna().tolist() == [True] + [False] * 39
        assert columns.impute == "median"

    def test_what_is_unusual_about_a_file_is_told_with_its_problems(self):
        table = pd.DataFrame({"size": [1.0, 2.0, None], "x": [np.inf, 1, 2]})
        with pytest.raises(UndecidedColumnsError, match=r"things(.|\n)*\nNote: old$"):
            choose_from(Source("t", table, remarks=["old"]))
        with pytest.raises(MissingValuesError, match=r"impute='median'\nNote: old$"):
            choose_from(Source("t", table, remarks=["old"]), drop=["x"])

    def test_whole_numbers_that_are_called_so_identify_samples(self):
        numbers = np.random.default_rng(0).permutation(10**6)[:40]
        table = pd.DataFrame({"size": [1, 3] * 20, "PassengerId": numbers})
        with pytest.raises(UndecidedColumnsError, match="another whole number") as e:
            choose_columns(table)
        assert e.value.decisions == {"id": "PassengerId"}
        columns = choose_columns(table.rename(columns={"PassengerId": "income"}))
        assert columns.numbers == ("size", "income")
        assert choose_columns(table, keep=["PassengerId"]).numbers[1] == "PassengerId"

    def test_long_whole_numbers_identify_samples_whatever_they_are_called(self):
        card = 4 * 10**15 + np.arange(30) ** 2
        frame = pd.DataFrame({"card": card, "x": np.arange(30.0) ** 2})
        with pytest.raises(UndecidedColumnsError, match=r"--id card"):
            choose_columns(frame)
        assert choose_columns(frame // 10).numbers == ("card", "x")

    def test_dates_and_durations_become_days(self):
        day = pd.to_datetime([1, 2.5, 4], unit="D")
        frame = pd.DataFrame({"day": day, "age": day - day[0], "size": [1.0, 2.0, 4.0]})
        columns = choose_columns(frame)
        assert columns.features["day"].tolist() == day.tolist()
        assert columns.features["age"].tolist() == [0, 1.5, 3]
        days = make_encoder(columns, scale=False).fit_transform(columns.features)
        assert days[:, :2].tolist() == [[1, 0], [2.5, 1.5], [4, 3]]
        assert summarize_columns(columns).startswith(
            "2 numbers scaled; 1 date as days, scaled"
        )

    def test_numbers_of_every_type_keep_their_place(self):
        frame = pd.DataFrame(
            {
                "hue": pd.array(["red", None, "blue"], dtype="string"),
                "whole": pd.array([1, None, 3], dtype="Int64"),
                "yes": [True, False, True],
                "none": [np.nan] * 3,
                "same": np.float32([7, np.nan, 7]),
                "half": np.float16([0.5, 1, np.nan]),
                "count": np.uint64([2**63, 1, 2]),
            }
        )
        columns = choose_columns(frame, impute="median")
        assert columns.numbers == ("whole", "yes", "half", "count")
        assert columns.left_out == {"none": "empty", "same": "constant"}
        assert list(columns.features) == ["hue", "whole", "yes", "half", "count"]
        np.testing.assert_array_equal(
            columns.features[list(columns.numbers)].to_numpy(dtype=float),
            [[1, 1, 0.5, 2.0**63], [np.nan, 0, 1, 1], [3, 1, np.nan, 2]],
        )
        assert columns.features["hue"].isna().tolist() == [False, True, False]

    @pytest.mark.parametrize(
        ("cells", "words"),
        [
            ([1.0, np.inf, 2.0], "'bad' has 1 infinite cells"),
            ([1.0, 2e150, 2.0], "'bad' has a value of size 2e\\+150"),
            ([0.0, 1e-160, 0.0], "'bad' varies by 1e-160 at most"),
        ],
    )
    def test_numbers_that_cannot_be_used_are_refused(self, cells, words):
        frame = pd.DataFrame({"good": [1, 2, 3], "bad": cells})
        with pytest.raises(UndecidedColumnsError, match=words) as error:
            choose_columns(frame, keep=["bad"])
        assert "--keep" not in str(error.value)

    def test_many_columns_take_little_time_each(self):
        cells = np.random.default_rng(0).normal(size=(3, 30_000))
        frame = pd.DataFrame(cells, columns=[f"c{i}" for i in range(30_000)])
        start = time.process_time()
        columns = choose_columns(frame)
        encoder = make_encoder(columns).fit(columns.features)
        features, _ = match_columns(frame, encoder)
        assert time.process_time() - start < 8  # 1 now; 30 with an object a column
        np.testing.assert_array_equal(features, cells)


class TestDecisions:
    @pytest.fixture
    def messy(self):
        rng = np.random.default_rng(0)
        return pd.DataFrame(
            {
                "Unnamed: 0": range(40),
                "name": [f"n{i}" for i in range(40)],
                "uid": [f"u{i}" for i in range(40)],
                "age": ["18-24", "25-34"] * 20,
                "size": ["lost", *map(str, range(100, 139))],
                "width": [np.nan, *rng.normal(size=39)],
                "hue": ["red", "blue"] * 20,
            }
        )

    def test_all_problems_are_in_one_error_with_one_way_to_decide_them(self, messy):
        found = interpret(messy)
        with pytest.raises(UndecidedColumnsError) as error:
            choose_columns(found.frame, doubts=found.doubts)
        assert len(error.value.problems) == 6
        assert error.value.decisions == {
            "drop": ["Unnamed: 0", "uid", "age"],
            "id": "name",
            "missing": ["lost"],
            "impute": "median",
        }
        assert "drop=['Unnamed: 0', 'uid', 'age'], id='name'" in str(error.value)
        again = pickle.loads(pickle.dumps(error.value))
        assert str(again) == str(error.value)
        decisions = dict(error.value.decisions)
        read = interpret(messy, Customs(missing=tuple(decisions.pop("missing"))))
        decided = choose_columns(read.frame, doubts=read.doubts, **decisions)
        itself = choose_columns(found.frame, doubts=found.doubts, auto=True)
        pd.testing.assert_frame_equal(itself.features, decided.features)
        assert itself.numbers == ("size", "width")
        assert itself.impute == "median"
        assert itself.ids.name == "name"
        assert len(itself.decided) == 6

    def test_words_that_become_missing_are_filled_in_by_the_same_decision(self):
        cells = ["kg", *map(str, range(30, 69))]
        found = interpret(pd.DataFrame({"a": cells, "b": np.arange(40.0) ** 2}))
        with pytest.raises(UndecidedColumnsError) as error:
            choose_columns(found.frame, doubts=found.doubts)
        assert error.value.decisions == {"missing": ["kg"], "impute": "median"}
        with pytest.raises(UndecidedColumnsError) as error:
            choose_columns(found.frame, doubts=found.doubts, impute="median")
        assert error.value.decisions == {"missing": ["kg"]}

    @pytest.mark.parametrize("n_others", [0, 1])
    def test_no_command_is_proposed_that_leaves_no_column(self, n_others):
        frame = pd.DataFrame(
            {"a": ["1/2", "3/4"] * 20, "b": [f"n{i}" for i in range(40)], "c": "same"}
        )
        frame = frame.assign(**{f"d{i}": np.arange(40.0) ** 2 for i in range(n_others)})
        found = interpret(frame)
        with pytest.raises(UndecidedColumnsError) as error:
            choose_columns(found.frame, doubts=found.doubts)
        told = error.value.tell("COMMAND")
        assert ("COMMAND" in told) == bool(n_others)
        assert ("none is left to embed" in told) != bool(n_others)

    def test_what_cannot_be_kept_is_not_advised_to_be(self):
        frame = pd.DataFrame({name: np.geomspace(1, 1e300, 40) for name in "ab"})
        with pytest.raises(UndecidedColumnsError) as error:
            choose_columns(frame)
        last = error.value.tell("COMMAND").splitlines()[-1]
        assert last.startswith("Without these columns none is left to embed: ")
        assert "--keep" not in last

    def test_rows_may_share_a_name(self):
        """As in tables that were put one below the other."""
        words = pd.Series(["x", "y"] * 15, dtype=object)
        frame = pd.DataFrame({"a": words, "n": np.arange(30.0) ** 2})
        expected = pf.tables.describe(frame)
        frame.index = [0, 1, 2] * 10
        pd.testing.assert_frame_equal(pf.tables.describe(frame), expected)

    @pytest.mark.parametrize("kind", ["polars", "arrow", "batch", "array"])
    def test_tables_of_other_kinds_are_described(self, kind):
        pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
        frame = pd.DataFrame({"0": ["€ 3", "€ 4"], "1": ["1.2.2020", "31.1.2020"]})
        made = {
            "polars": lambda: pl.from_pandas(frame),
            "arrow": lambda: pa.Table.from_pandas(frame),
            "batch": lambda: pa.RecordBatch.from_pandas(frame),
            "array": lambda: frame.to_numpy(dtype=object),
        }[kind]()
        table = pf.tables.describe(made)
        assert table["kind"].to_dict() == {"0": "number", "1": "date"}

    def test_an_enum_of_polars_is_no_declaration_of_an_order(self):
        """TableEncoder takes it for a category, too."""
        pl = pytest.importorskip("polars")
        hues = pl.Series(["red", "blue"] * 4, dtype=pl.Enum(["red", "blue"]))
        frame = as_frame(pl.DataFrame({"hue": hues, "size": range(8)}))
        assert not frame["hue"].cat.ordered
        assert frame["hue"].tolist() == ["red", "blue"] * 4

    @pytest.mark.parametrize(
        ("frame", "options", "words"),
        [
            (pd.DataFrame(), {}, "no rows or no columns"),
            (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, "is named 'a'"),
            (
                pd.DataFrame({"b": [[1], [2]]}),
                {"target": "b"},
                "column 'b' holds lists or records, not one value",
            ),
            (pd.DataFrame({"b": [1, 2]}), {"target": "y"}, "there is no column 'y'"),
            (pd.DataFrame({"b": [1, 2]}), {"drop": ["y"]}, "there is no column 'y'"),
        ],
    )
    def test_what_cannot_be_described_is_refused(self, frame, options, words):
        with pytest.raises(ValueError, match=words):
            pf.tables.describe(frame, **options)

    def test_they_are_described_as_a_data_frame(self, messy):
        table = pf.tables.describe(messy, target="hue")
        assert list(table.index) == list(messy.columns)
        assert table.loc["age", "decision"] == "drop=['age']"
        assert table.loc["width", "missing"] == 1
        assert table.loc["width", "decision"] == "impute='median'"
        assert table.loc["hue", "kind"] == "target"
        settled = pf.tables.describe(messy, id="name", drop=["uid"], keep=["age"])
        assert settled.loc["age", ["kind", "problem"]].tolist() == ["category", ""]
        assert settled.loc[["name", "uid"], "kind"].tolist() == ["id", "left out"]

    def test_classes_of_one_row_are_named(self, messy):
        kinds = messy.assign(hue=["a", "b", *["c", "d"] * 19])
        problem = pf.tables.describe(kinds, target="hue").loc["hue", "problem"]
        assert problem == "2 classes of one row: a, b"
        kinds = messy.assign(hue=[f"a{row}" for row in range(len(messy))])
        problem = pf.tables.describe(kinds, target="hue").loc["hue", "problem"]
        assert problem == "no class of two rows"

    def test_measurements_are_no_classes_of_one_row(self, messy):
        table = messy.assign(hue=np.linspace(0, 1.5, len(messy)))
        assert pf.tables.describe(table, target="hue").loc["hue", "problem"] == ""


class TestEncoding:
    def test_columns_of_every_kind_count_alike(self):
        rng, n = np.random.default_rng(0), 400
        frame = pd.DataFrame(
            {
                "number": rng.normal(5, 3, n),
                "two": rng.choice(["a", "b"], n, p=[0.9, 0.1]),
                "many": rng.choice(list("abcdefg"), n),
                "day": pd.to_datetime(rng.integers(0, 9999, n), unit="D"),
                "grade": pd.Categorical(rng.choice(list("sml"), n), list("sml"), True),
            }
        )
        columns = choose_columns(frame)
        encoder = make_encoder(columns).fit(columns.features)
        kinds = ("number", "category", "category", "date", "ordered")
        assert encoder.kinds_ == kinds
        X, names = encoder.transform(columns.features), encoder.get_feature_names_out()
        for name in frame:
            own = [k for k, out in enumerate(names) if out.startswith(name)]
            apart = X[:, None, own] - X[None, :, own]
            assert (apart**2).sum(axis=2).mean() == pytest.approx(2), name

    def test_words_that_look_like_numbers_are_categories_where_they_are_kept(self):
        frame = pd.DataFrame({"size": [1.0, 2, 4, 8], "code": ["1", "2", "30", "1"]})
        columns = choose_columns(frame.astype({"code": "category"}))
        encoder = make_encoder(columns).fit(columns.features)
        assert encoder.kinds_ == ("number", "category")
        features, _ = match_columns(frame, encoder)
        np.testing.assert_array_equal(
            encoder.transform(features), encoder.transform(columns.features)
        )

    def test_a_category_of_many_levels_can_be_kept(self):
        names = [f"n{i}" for i in range(40)]
        columns = choose_columns(pd.DataFrame({"name": names}), keep=["name"])
        assert make_encoder(columns).fit_transform(columns.features).shape == (40, 40)

    def test_ordinal_codes_follow_the_declared_order_and_are_scaled(self):
        size = pd.Categorical(["s", "l", "m", "s"], categories=["s", "m", "l"])
        columns = choose_columns(pd.DataFrame({"size": size}))
        X = make_encoder(columns, categories="ordinal").fit_transform(columns.features)
        codes = np.array([0.0, 2.0, 1.0, 0.0])
        np.testing.assert_allclose(X[:, 0], (codes - codes.mean()) / codes.std())

    def test_nothing_is_scaled_if_not_wanted(self, frame):
        columns = choose_columns(frame, target="kind")
        X = make_encoder(columns, scale=False).fit_transform(columns.features)
        np.testing.assert_array_equal(X[:, 0], frame["size"])

    def test_the_median_is_that_of_the_part_it_is_fitted_on(self, frame):
        frame.loc[0, "size"] = np.nan
        frame.loc[5, "size"] = 1e6
        columns = choose_columns(frame, target="kind", impute="median")
        encoder = make_encoder(columns, scale=False, impute="median")
        X = clone(encoder).fit_transform(columns.features.iloc[:5])
        assert X[0, 0] == 3.5

    @pytest.mark.parametrize("option", [{"categories": "hot"}, {"impute": "mean"}])
    def test_unknown_words_are_refused(self, frame, option):
        columns = choose_columns(frame)
        with pytest.raises(ValueError, match=f"{next(iter(option))} must be"):
            make_encoder(columns, **option)

    def test_what_was_done_is_said(self, frame):
        frame.loc[0, "size"] = np.nan
        columns = choose_columns(frame, target="kind", impute="median")
        rows = {name: (kind, done) for name, kind, done in describe_columns(columns)}
        assert rows["size"][1].endswith("1 missing cells filled with the median")
        assert rows["hue"] == (
            "category, 3 levels",
            "one-hot: 3 columns, scaled to mean 0, variance 1 together",
        )
        assert rows["unit"] == ("left out", "constant")
        assert rows["kind"][0] == "target, 2 classes"
        assert summarize_columns(columns) == (
            "1 number scaled; 1 category one-hot, scaled; 1 missing cell filled in; "
            "left out: unit"
        )

    def test_classes_keep_their_names_and_the_missing_are_unlabelled(self):
        codes, names = encode_classes(pd.Series([10.0, 9.0, np.nan, 10.0]))
        assert names == ["9", "10"]
        assert codes.tolist() == [1, 0, -1, 1]


class TestNewSamples:
    def fitted(self, frame, **options):
        columns = choose_columns(frame, target="kind")
        return make_encoder(columns, **options).fit(columns.features)

    def test_columns_are_found_by_name_in_any_order(self, frame):
        encoder = self.fitted(frame)
        features, news = match_columns(frame[["hue", "size"]], encoder)
        columns = choose_columns(frame, target="kind")
        np.testing.assert_array_equal(
            encoder.transform(features), encoder.transform(columns.features)
        )
        assert news.told() == []

    @pytest.mark.parametrize("categories", ["one-hot", "ordinal"])
    def test_a_new_level_is_at_the_mean_and_is_told(self, frame, categories):
        encoder = self.fitted(frame, categories=categories)
        new = frame.assign(hue="mauve")
        features, news = match_columns(new, encoder)
        assert not encoder.transform(features)[:, 1:].any()
        assert news.told() == [
            "of 6 new rows: 6 rows have levels of 'hue' that the model has not seen, "
            "which count as missing (mauve)."
        ]

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda f: f.drop(columns="size"), "not here: size"),
            (lambda f: f.assign(size="big"), "'size' must have numbers only"),
            (lambda f: f.assign(size=np.nan), "6 cells are missing"),
        ],
    )
    def test_what_the_encoder_cannot_take_is_refused(self, frame, change, words):
        encoder = self.fitted(frame, categories="ordinal")
        with pytest.raises(ValueError, match=words):
            match_columns(change(frame), encoder)


class TestWriting:
    def test_every_ending_gives_the_numbers_back(self, tmp_path):
        frame = pd.DataFrame({"kind": ["a", "b"], "x_1": [0.1, 1 / 3], "x_2": [2, 3.5]})
        names = ["x_1", "x_2"]
        for end in ("csv", "parquet", "npy"):
            write_table(tmp_path / f"t.{end}", frame, names)
        for end in ("csv", "parquet"):
            back = read_table(tmp_path / f"t.{end}")
            pd.testing.assert_frame_equal(back, frame, check_dtype=False)
        array = np.load(tmp_path / "t.npy")
        np.testing.assert_array_equal(array, frame[names].to_numpy())
        assert len(list(tmp_path.iterdir())) == 3

    def test_another_ending_is_refused_before_anything_is_written(self, tmp_path):
        with pytest.raises(ValueError, match=r"must end in \.csv, \.parquet, \.npy"):
            write_table(tmp_path / "t.txt", pd.DataFrame({"x": [1]}), ["x"])
        with pytest.raises(ValueError, match="there is no folder"):
            write_table(tmp_path / "no" / "t.csv", pd.DataFrame({"x": [1]}), ["x"])
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("n_columns", [3, 1200])
def test_points_that_may_be_thousands_are_so_in_tables_of_any_width(
    n_columns, tmp_path
):
    path = tmp_path / "table.csv"
    lines = [[f"c{place}" for place in range(n_columns)]]
    lines += [["1.234", "12.345"] * (n_columns // 2) + ["9.000"] * (n_columns % 2)] * 3
    path.write_text("\n".join(map(";".join, lines)))
    assert read_table(path).iloc[0, :2].tolist() == [1234, 12345]


def test_a_word_below_many_fractions_keeps_the_column_text(tmp_path):
    """Fractions in the first rows are taken for numbers until a cell is none."""
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "0.5,1.5\n" * 5000 + "late,2.5\n")
    frame = read_table(path)
    assert frame["a"].astype(str).iloc[-1] == "late"
    assert frame["b"].sum() == 5000 * 1.5 + 2.5
