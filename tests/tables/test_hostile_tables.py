"""Tables from anywhere: read, or refused in one line and within bounded memory."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.faults import limited
from typer.testing import CliRunner

from patchfold.cli import app
from patchfold.tables import choose_columns, read_source, read_table
from patchfold.tables.dialect import MAX_COLUMNS

CORPUS = Path(__file__).parents[1] / "helpers" / "corpus"

HEAD = "@relation r\n@attribute a real\n"


def wide(names):
    return ",".join(f"c{n}" for n in range(names)) + "\n"


def zipped(name):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, "a,b\n1,2\n")
    return buffer.getvalue()


HOSTILE = {
    "empty.csv": ("", "it is empty"),
    "blank.csv": ("\n\r\n\n", "it is empty"),
    "header.csv": ("a,b\n", "no rows"),
    "nul.csv": ("a,b\n1,\x002\n", "NUL bytes, so it is no text in UTF-8"),
    "utf16.csv": ("a,b\n1,2\n".encode("utf-16-le"), "two rows or more. Got 1"),
    "half16.csv": ("a,b\n1,2\n".encode("utf-16")[:-1], "no text in utf-16"),
    "binary.csv": (b"a,b\n1,\x81\xff\n", "byte 6 is 0x81, so it is no text in UTF-8"),
    "gzip.csv": (gzip.compress(b"a,b\n1,2\n"), "rename it to end in .csv.gz"),
    "arrow.csv": (b"PAR1" + bytes(50), "rename it to end in .parquet"),
    "bzip.csv": (
        bz2.compress(b"a,b\n1,2\n"),
        "it is packed: unpack it first (bunzip2)",
    ),
    "xz.csv": (lzma.compress(b"a,b\n1,2\n"), "it is packed: unpack it first (unxz)"),
    "zip.csv": (zipped("a.csv"), "it is packed: unpack it first (unzip)"),
    "arff.csv": (HEAD + "@data\n1\n", "it is ARFF: rename it to end in .arff"),
    "excel.csv": (zipped("[Content_Types].xml"), "rename it to end in .xlsx"),
    "packed.csv.bz2": ("", "unpack it first (bunzip2)"),
    "text.dat": ("a,b\n1,2\n", "rename a file of text to end in .txt"),
    "short.csv": ("a,b,c\n1,2,3\n4,5\n", "line 3 has 2 cells, and there are 3"),
    "long.csv": ("a,b\n1,2\n3,4,5\n", "line 3 has 3 cells"),
    "longer.csv": ("a,b\n1,2,3\n4,5,6\n", "line 2 has 3 cells, and there are 2"),
    "row-names.csv": ("a,b\n1,2,3\n2,5,6\n", "Names of rows, as R writes"),
    "both.csv": ("a,b\n1,2,3\n4\n", "line 2 has 3 cells"),
    "twice.csv": ("a,a\n1,2\n", "more than one column named 'a'"),
    "twice2.csv": ('"a\nb","a\nb"\n1,2\n', r"more than one column named 'a\nb'"),
    "open.csv": ('a,b\n"1,2\n3,4\n', "cannot be read"),
    "quotes.csv": ("a,b\n" + '"' * 1001, "cannot be read"),
    "name.csv": ("x" * 5000 + ",b\n1,2\n", "5,000 characters: is the first row a"),
    "cell.csv": ('a,b\n"' + "x" * 200_000 + '",1\n', "two rows or more"),
    "cells.csv": ("x" * 200_000, "a cell of more than 131,072 characters"),
    "wide.csv": (wide(1_000_000) + "1\n", "1,000,000 columns, and more than 100,000"),
    "pad.csv": (wide(MAX_COLUMNS) + "1\n" * 50_000, "line 2 has 1 cells"),
    "pad2.csv": (wide(90_000).strip() + "\r" + "1\r" * 50_000, "line 2 has 1 cells"),
    "pad3.csv": (wide(90_000) + '"  "\n' * 50_000, "line 2 has 1 cells"),
    "below.csv": (" \n\t\r\na,b\n \n1\n", "line 5 has 1 cells"),
    "below2.csv": (' \n\t\r\na,b\n \n"1"\n', "line 5 has 1 cells, and there are 2"),
    "cut.csv.gz": (gzip.compress(os.urandom(999))[:-9], "not gzip, or damaged"),
    "plain.csv.gz": ("a,b\n1,2\n", "not gzip, or damaged"),
    "words.arff": ("hello", "line 1 of the header is 'hello'"),
    "none.arff": ("@relation r\n@data\n1\n", "no @attribute before @data"),
    "rows.arff": (HEAD, "no rows"),
    "kind.arff": ("@attribute a relational\n@data\n", "as 'relational', which is"),
    "level.arff": ("@attribute a {b, b}\n@data\nb\n", "list of different levels"),
    "other.arff": ("@attribute a {b, c}\n@data\nb\nd\n", "line 4 has 'd' in 'a'"),
    "number.arff": (HEAD + "@data\nx\n", "'x' in 'a', which is declared as a number"),
    "ragged.arff": (HEAD + "@attribute b real\n@data\n1,2\n3\n", "line 6 has 1 cells"),
    "remedy.arff": (HEAD + "@data\n% no row\n1,2\n", "quotes around a cell that"),
    "comma.arff": ("@attribute a string\n@data\n'x, y\n", "line 3 has 2 cells"),
    "behind.arff": ("@attribute a {b, c} d\n@data\nb\n", "list of different levels"),
    "never.arff": ("@attribute a {b, c\n@data\nb\n", "list of different levels"),
    "when.arff": ("@attribute a date QQ\n@data\n1\n", "declare it as string"),
    "sparse.arff": (HEAD + "@data\n{0 1}\n", "its rows are sparse"),
    "quote.arff": ("@attribute " + "'" * 300_000 + "\n@data\n", "without a name"),
    "open.arff": ("@attribute '" + r"\'" * 300_000 + "\n@data\n", "without a name"),
    "wide.arff": (
        "".join(f"@attribute c{n} real\n" for n in range(MAX_COLUMNS + 1)),
        "more than 100,000 are not read",
    ),
    "text.parquet": ("no parquet", "cannot be read"),
    "footer.parquet": (b"PAR1" + bytes(50) + b"\xff\xff\xff\x7fPAR1", "cannot be read"),
}


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    for name, (content, _) in HOSTILE.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_table_ends_in_one_line(hostile, name, tmp_path):
    out = tmp_path / "e.csv"
    done = CliRunner().invoke(app, ["embed", str(hostile / name), f"--out={out}"])
    assert done.exit_code == 2
    assert type(done.exception) is SystemExit
    assert done.output.startswith("patchfold: ")
    assert len(done.output.strip().splitlines()) == 1
    assert len(done.output) < 1000
    assert HOSTILE[name][1] in done.output
    assert not out.exists()


def test_what_was_fuzzed_is_read_or_refused_in_one_line():
    fuzzed = sorted(CORPUS.glob("fuzz*"))
    assert len(fuzzed) > 5
    said = []
    for path in fuzzed:
        try:
            choose_columns(read_table(path), impute="median")
        except ValueError as error:
            said.append(str(error))
    assert all(len(words.splitlines()) == 1 for words in said)


def test_what_fuzzing_starts_from_is_read():
    seeds = {path for path in CORPUS.iterdir() if not path.name.startswith("fuzz")}
    shapes = {path.name: read_table(path).shape for path in seeds}
    assert shapes == {
        "blanks.arff": (2, 2),
        "packed.csv.gz": (2, 2),
        "pets.arff": (2, 3),
        "plain.csv": (3, 2),
        "plain.parquet": (3, 3),
        "quoted.csv": (2, 2),
        "semicolons.csv": (2, 3),
        "tabs.tsv": (2, 2),
    }


def test_a_bomb_is_refused_within_bounded_memory(tmp_path):
    """Two gigabytes of zeros in two megabytes."""
    bomb = tmp_path / "bomb.csv.gz"
    member = gzip.compress(b"a,b\n" + b"0,0\n" * (1 << 21))
    bomb.write_bytes(member * 256)
    code = (
        "from patchfold.tables import read_table\n"
        "import pandas, pyarrow.parquet\n"
        "def peak(): return int(open('/proc/self/status').read()"
        ".split('VmHWM:')[1].split()[0])\n"
        "before = peak()\n"
        "try:\n"
        f"    read_table({str(bomb)!r})\n"
        "except ValueError as error:\n"
        "    print(error, peak() - before)\n"
    )
    status, said = limited(code, AS=3 << 30)
    assert status == 0
    assert "decompress it first (gunzip)" in said
    assert int(said.split()[-1]) < 500_000  # kB


class TestParquet:
    def test_rows_that_take_no_room_in_the_file(self, tmp_path):
        path = tmp_path / "t.parquet"
        zeros = pa.array(np.zeros(9_000_000))
        pq.write_table(pa.table({"a": zeros}), path)
        assert path.stat().st_size < 200_000
        with pytest.raises(ValueError, match=r"decompress to more than .*write it as"):
            read_table(path)

    def test_a_footer_that_contradicts_itself(self):
        """Three rows in all, 43,597,624,958 in the one part: found by fuzzing."""
        with pytest.raises(ValueError, match="has 3 rows, and its parts 43597624958:"):
            read_table(CORPUS / "fuzz4.parquet")

    def test_flags_are_counted_by_the_bytes_they_take(self, tmp_path):
        path = tmp_path / "t.parquet"
        flags = np.zeros(100_000, dtype=np.int8)
        flags[::1000] = 1
        pq.write_table(pa.table({f"c{n}": flags for n in range(100)}), path)
        assert path.stat().st_size < 800_000  # at 8 bytes a cell it grows too much
        assert read_table(path).to_numpy().sum() == 10_000

    @pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.arff", "t.csv.gz"])
    def test_a_pipe_is_not_waited_for(self, tmp_path, name):
        os.mkfifo(tmp_path / name)
        with pytest.raises(ValueError, match="it is not a file"):
            read_table(tmp_path / name)

    def test_what_a_folder_may_not_hold(self, tmp_path):
        folder = tmp_path / "t.parquet"
        folder.mkdir()
        with pytest.raises(ValueError, match="holds no Parquet files"):
            read_table(folder)
        pq.write_table(pa.table({"a": [1], "b": [2]}), folder / "0.parquet")
        pq.write_table(pa.table({"a": [1]}), folder / "1.parquet")
        with pytest.raises(ValueError, match="have different columns"):
            read_table(folder)
        (folder / "1.parquet").unlink()
        (folder / "_SUCCESS").touch()
        assert read_table(folder).shape == (1, 2)
        os.mkfifo(folder / "1.parquet")
        with pytest.raises(ValueError, match="holds links, pipes or devices"):
            read_table(folder)
        (folder / "1.parquet").unlink()
        (folder / "round").symlink_to(folder)
        with pytest.raises(ValueError, match="holds links, pipes or devices"):
            read_table(folder)

    def test_a_long_text_in_every_row_is_held_once(self, tmp_path):
        path = tmp_path / "t.parquet"
        text = "x" * 100_000
        pq.write_table(pa.table({"a": [text] * 500, "b": np.arange(500)}), path)
        frame = read_table(path)
        assert frame["a"].map(id).nunique() == 1
        assert frame["a"][0] == text

    def test_lists_and_an_index_are_no_columns(self, tmp_path):
        path = tmp_path / "t.parquet"
        words = r"column 'a' holds list.*, not one value"
        for others in {}, {"b": [1, 2]}:
            pq.write_table(pa.table({"a": [[1, 2], [3]]} | others), path)
            with pytest.raises(ValueError, match=words):
                read_table(path)
        frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]}, index=["x", "y"])
        frame.to_parquet(path)
        assert list(read_table(path).columns) == ["a", "b"]

    def test_damage_anywhere_is_refused_or_read(self, tmp_path):
        whole = tmp_path / "whole.parquet"
        rng = np.random.default_rng(0)
        columns = {"a": rng.normal(size=50), "b": list("xyxyx" * 10)}
        pq.write_table(pa.table(columns), whole)
        data = whole.read_bytes()
        code = (
            "import sys\n"
            "from patchfold.tables import read_table\n"
            "for path in sys.argv[1:]:\n"
            "    try:\n"
            "        read_table(path)\n"
            "    except ValueError as error:\n"
            "        assert len(str(error).splitlines()) == 1\n"
        )
        paths = []
        for place in rng.integers(0, len(data), 60):
            damaged = bytearray(data)
            damaged[place] ^= 1 << int(rng.integers(8))
            paths.append(tmp_path / f"{len(paths)}.parquet")
            paths[-1].write_bytes(damaged)
        done = subprocess.run([sys.executable, "-c", code, *paths], check=False)
        assert done.returncode == 0


class TestArff:
    def test_names_levels_and_text_in_quotes(self, tmp_path):
        path = tmp_path / "t.arff"
        path.write_text(
            "\ufeff% a comment\n@RELATION 'a b'\n\n"
            "@attribute 'größe, \\'m\\'' REAL\n"
            "@attribute kind {'half grün', long ,\"x,y\"}\n"
            "@attribute name string\n"
            "@DATA\n% another\n"
            "1.5,'half grün','it\\'s, 5%'\r\n 2 , long , ?\n?,'x,y',z\u2028\x85z\n",
            encoding="utf-8",
        )
        table = read_table(path)
        assert list(table.columns) == ["größe, 'm'", "kind", "name"]
        assert list(table["kind"].cat.categories) == ["half grün", "long", "x,y"]
        assert table["kind"].tolist() == ["half grün", "long", "x,y"]
        assert table["name"].fillna("none").tolist() == [
            "it's, 5%",
            "none",
            "z\u2028\x85z",
        ]
        np.testing.assert_array_equal(table.iloc[:, 0], [1.5, 2, np.nan])

    @pytest.mark.parametrize(
        "row",
        [
            "'\\'" * 99_999,
            "'a," * 99_999,
            ("'" * 3 + "x,") * 99_999,
            "' " * 99_999 + "x",
        ],
    )
    def test_quotes_without_end_take_no_time(self, tmp_path, row):
        path = tmp_path / "t.arff"
        path.write_text(f"@attribute a string\n@attribute b string\n@data\n{row}\n")
        with pytest.raises(ValueError, match=r"line 4 has [\d,]+ cells"):
            read_table(path)

    def test_a_long_level_makes_no_other_cell_longer(self, tmp_path):
        path = tmp_path / "t.arff"
        level = "x" * 1_000_000
        path.write_text(f"@attribute a {{{level},b}}\n@data\n" + "b\n" * 20_000)
        assert read_table(path).memory_usage(deep=True).sum() < 10_000_000


@pytest.mark.parametrize(
    "name", ["../iris", "/etc/passwd", "..", "a/../b", "iris\x00", "~", "x" * 5000]
)
def test_a_name_does_not_leave_the_data_folder(tmp_path, monkeypatch, name):
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "iris.csv").write_text("a,target\n1,x\n")
    monkeypatch.setenv("PATCHFOLD_DATA", str(folder))
    with pytest.raises((ValueError, OSError)):
        read_source(name)


def test_names_cannot_steer_the_terminal(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\x1b]0;owned\x07\x1b[2J,b\n,1\n2,2\n3,4\n")
    done = CliRunner().invoke(app, ["embed", str(path), f"--out={tmp_path / 'e.csv'}"])
    assert done.exit_code == 2
    assert "cells are missing" in done.output
    assert "\x1b" not in done.output
    assert r"\x1b[2J" in done.output
