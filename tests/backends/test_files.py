"""Files are written whole or not at all, whatever goes wrong; read within bounds."""

import ast
import errno
import gzip
import os
import re
import tempfile
from pathlib import Path

import pytest
from helpers.faults import limited, starve
from typer.testing import CliRunner

import patchfold
from patchfold.backends import files
from patchfold.backends.files import (
    FileTooLargeError,
    read_bytes,
    remove_litter,
    write_bytes,
    write_text,
)
from patchfold.cli import app
from patchfold.studies.reproduction.records import (
    RecordFile,
    ResultsLockedError,
    read_records,
)

SOURCE = Path(patchfold.__file__).parent


def writing_calls(path):
    """Yield the calls of a module that may write to a file of the user."""
    tree = ast.parse(path.read_text("utf-8"))
    buffers = {
        node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == "io.BytesIO()"
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        first = node.args[0] if node.args else None
        into_memory = isinstance(first, ast.Name) and first.id in buffers
        match node.func:
            case ast.Name("open"):
                modes = [a.value for a in node.args[1:2] if isinstance(a, ast.Constant)]
                if any(set(mode) & set("wax") for mode in modes):
                    yield ast.unparse(node)
            case ast.Attribute(attr="write_text" | "write_bytes"):
                yield ast.unparse(node)
            case ast.Attribute(attr="savefig" | "to_csv" | "to_parquet" | "save"):
                if first is not None and not into_memory:
                    yield ast.unparse(node)


def test_every_file_of_the_package_is_written_by_this_module():
    found = {
        path.relative_to(SOURCE).as_posix(): calls
        for path in SOURCE.rglob("*.py")
        if (calls := list(writing_calls(path)))
    }
    assert found.pop("backends/files.py") == ["open(beside, 'xb')"]
    # Appends whole tasks, and takes back what was cut off; the lock holds nothing.
    assert found.pop("studies/reproduction/records.py") == [
        "open(self.path.with_suffix('.lock'), 'w', encoding='utf-8')",
        "open(self.path, 'ab', buffering=0)",
    ]
    assert found == {}


class Trouble:
    """Make one call of `os` fail, as it does when a disk is full."""

    def __init__(self, monkeypatch, call, number):
        error = OSError(number, os.strerror(number))

        def fail(*_):
            raise error

        monkeypatch.setattr(os, call, fail)


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_an_error_leaves_the_old_file_and_nothing_else(
    tmp_path, monkeypatch, call, number
):
    path = tmp_path / "e.csv"
    write_text(path, "old")
    Trouble(monkeypatch, call, number)
    with pytest.raises(OSError, match=os.strerror(number)) as error:
        write_text(path, "new")
    assert error.value.filename == str(path)
    assert error.value.errno == number
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["e.csv"]


def test_a_disk_that_fills_up_in_the_middle_of_a_file(tmp_path):
    """The kernel takes the first bytes and no more, as a full disk does."""
    path = tmp_path / "e.csv"
    path.write_text("old")
    code = (
        "from pathlib import Path\n"
        "from patchfold.backends.files import write_bytes\n"
        f"write_bytes(Path({str(path)!r}), bytes(100_000))\n"
    )
    status, said = limited(code, FSIZE=50_000)
    assert status == 1
    assert f"File too large: '{path}'" in said
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["e.csv"]


def test_embed_says_which_file_could_not_be_written(tmp_path):
    """By the time the picture is written the table is there, and stays."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "e.png").write_bytes(b"old")
    words = ["embed", "iris", f"--out={here / 'e.csv'}", f"--plot={here / 'e.png'}"]
    status, said = starve(tmp_path / "said", "command", words, FSIZE=20_000)
    assert status == 2
    assert said == f"patchfold: {here / 'e.png'}: File too large.\n"
    assert (here / "e.png").read_bytes() == b"old"
    assert sorted(p.name for p in here.iterdir()) == ["e.csv", "e.png"]


def test_a_record_that_does_not_fit_is_taken_back(tmp_path):
    path = tmp_path / "results.csv"
    code = (
        "from pathlib import Path\n"
        "from patchfold.studies.reproduction.records import Record, RecordFile\n"
        "def record(k, note):\n"
        "    return Record('elap', '1', f'set {k}', 'PCA', 's', 1.0, None, 'p', 'e',\n"
        "                  1, 0.1, 'ok', note=note)\n"
        f"with RecordFile(Path({str(path)!r})) as file:\n"
        "    file.append([record(0, 'short')])\n"
        "    file.append([record(1, 'x' * 5000)])\n"
    )
    status, said = limited(code, FSIZE=3000)
    assert status == 1
    assert f"File too large: '{path}'" in said
    assert path.read_text().endswith("short,,1\n")
    assert [record.dataset for record in read_records(path)] == ["set 0"]


@pytest.mark.parametrize(
    "words",
    [
        ["embed", "iris", "--out={}/e.csv"],
        ["compare", "iris", "--methods=pca", "--no-sweep", "--out={}/r"],
        ["reproduce", "--paper=klap", "--datasets=mux6", "--methods=PCA", "--out={}/r"],
    ],
)
def test_a_folder_that_cannot_be_written_to(tmp_path, words):
    """A file in place of the folder: it stops the superuser too."""
    wall = tmp_path / "wall"
    wall.write_text("in the way")
    done = CliRunner().invoke(app, [word.format(wall) for word in words])
    assert done.exit_code == 2
    assert len(done.output.strip().splitlines()) == 1
    assert str(wall) in done.output
    assert wall.read_text() == "in the way"
    assert [p.name for p in tmp_path.iterdir()] == ["wall"]


def test_a_read_only_folder():
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "e.csv")
        path.write_text("old")
        path.parent.chmod(0o555)
        superuser = os.geteuid() == 0  # who may write anywhere
        if superuser:
            os.seteuid(65534)
        try:
            with pytest.raises(PermissionError, match=r"Permission denied: .*e\.csv"):
                write_text(path, "new")
        finally:
            if superuser:
                os.seteuid(0)
            path.parent.chmod(0o700)
        assert path.read_text() == "old"
        assert [p.name for p in path.parent.iterdir()] == ["e.csv"]


def test_only_litter_of_the_same_file_is_removed(tmp_path):
    stays = [".e.csv.bak", ".f.csv.0123456789abcdef", "e.csv.0123456789abcdef", "e.csv"]
    for name in (*stays, ".e.csv.0123456789abcdef"):
        (tmp_path / name).touch()
    remove_litter(tmp_path / "e.csv")
    assert {p.name for p in tmp_path.iterdir()} == set(stays)


def test_litter_is_told_by_the_letters_of_a_name_not_by_a_pattern(tmp_path):
    (tmp_path / ".a.csv.0123456789abcdef").touch()
    (tmp_path / ".[ab].csv.0123456789abcdef").touch()
    remove_litter(tmp_path / "[ab].csv")
    assert [p.name for p in tmp_path.iterdir()] == [".a.csv.0123456789abcdef"]


@pytest.mark.parametrize("name", ["n" * 251 + ".csv", "é" * 125 + "x.csv"])
def test_a_name_may_be_as_long_as_the_file_system_takes(tmp_path, name, monkeypatch):
    path = tmp_path / name
    write_text(path, "old")
    write_text(path, "new")
    assert path.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == [name]

    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)
    Trouble(monkeypatch, "replace", errno.EIO)
    with pytest.raises(OSError, match=re.escape(name)):
        write_text(path, "newer")
    monkeypatch.undo()
    assert len(list(tmp_path.iterdir())) == 2
    remove_litter(path)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_a_longer_name_is_refused_before_any_work(tmp_path):
    for option in ("--out", "--model", "--plot"):
        name = (
            "n" * 252 + {"--out": ".csv", "--model": ".skops", "--plot": ".png"}[option]
        )
        others = [] if option == "--out" else [f"--out={tmp_path / 'e.csv'}"]
        words = ["embed", "no such table", f"{option}={tmp_path / name}", *others]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert f"whose name has {len(name)} bytes: 255 at most" in done.output
        assert len(done.output.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_link_that_leads_to_itself_is_replaced(tmp_path):
    link = tmp_path / "e.csv"
    link.symlink_to(link)
    done = CliRunner().invoke(app, ["embed", "iris", f"--out={link}", "--quiet"])
    assert done.exit_code == 0, done.output
    assert len(link.read_text().splitlines()) == 151


@pytest.mark.parametrize("dangling", [False, True])
def test_a_link_is_replaced_and_what_it_points_to_stays(tmp_path, dangling):
    elsewhere, link = tmp_path / "elsewhere.csv", tmp_path / "e.csv"
    if not dangling:
        elsewhere.write_text("not yours")
    link.symlink_to(elsewhere)
    done = CliRunner().invoke(app, ["embed", "iris", f"--out={link}", "--quiet"])
    assert done.exit_code == 0, done.output
    assert not link.is_symlink()
    assert len(link.read_text().splitlines()) == 151
    if dangling:
        assert not elsewhere.exists()
    else:
        assert elsewhere.read_text() == "not yours"


class TestTwoRuns:
    WORDS = ("--paper=klap", "--datasets=mux6", "--methods=PCA")

    def run(self, folder):
        words = ["reproduce", *self.WORDS, f"--out={folder}"]
        return CliRunner().invoke(app, words)

    def test_the_second_is_refused_in_a_line_and_changes_nothing(self, tmp_path):
        results = tmp_path / "results.csv"
        with RecordFile(results):
            before = results.read_bytes()
            done = self.run(tmp_path)
            assert done.exit_code == 2
            assert done.output == (
                f"patchfold: another run is writing to {tmp_path}; wait for it to end, "
                "or give this one a folder of its own.\n"
            )
            assert results.read_bytes() == before
        assert self.run(tmp_path).exit_code == 0
        assert len(read_records(results)) == 2

    def test_a_refused_run_leaves_the_lock_to_the_first(self, tmp_path):
        path = tmp_path / "results.csv"
        with RecordFile(path):
            for _ in range(2):
                with pytest.raises(ResultsLockedError), RecordFile(path):
                    pass


class TestResultsOfAnotherKind:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"name,price\napple,3\n", "does not have the columns"),
            (b"\xff\xfe\x00\n", "is damaged"),
            (b"paper\n" + b"x" * 200_000 + b"\n", "is damaged"),
        ],
    )
    def test_are_left_as_they_are(self, tmp_path, content, words):
        path = tmp_path / "results.csv"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=words), RecordFile(path):
            pass
        assert path.read_bytes() == content

    def test_a_damaged_line_costs_its_task_only(self, tmp_path):
        path = tmp_path / "results.csv"
        done = TestTwoRuns().run(tmp_path)
        assert done.exit_code == 0, done.output
        lines = path.read_text().splitlines()
        path.write_text("\n".join([*lines, lines[1].replace(",PCA,", ",LDA,,"), ""]))
        assert len(read_records(path)) == 2


class TestReading:
    def test_gzip_by_the_ending(self, tmp_path):
        (tmp_path / "a.csv.GZ").write_bytes(gzip.compress(b"a" * 1000))
        assert read_bytes(tmp_path / "a.csv.GZ") == b"a" * 1000

    def test_what_grows_too_much_is_refused_and_the_remedy_named(
        self, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(files, "FREE_BYTES", 1000)
        path = tmp_path / "a.csv.gz"
        path.write_bytes(gzip.compress(bytes(100_000)))
        with pytest.raises(
            FileTooLargeError, match=r"decompress to more than .*gunzip"
        ):
            read_bytes(path)
        path.write_bytes(gzip.compress(bytes(1000)))
        assert len(read_bytes(path)) == 1000
        monkeypatch.setattr(files, "FREE_BYTES", 10)
        path.write_bytes(gzip.compress(os.urandom(50_000).hex().encode()))
        assert len(read_bytes(path)) == 100_000

    def test_a_pipe_and_a_device_are_no_files(self, tmp_path):
        os.mkfifo(tmp_path / "pipe.csv")
        (tmp_path / "zero.csv").symlink_to("/dev/zero")
        for name in ("pipe.csv", "zero.csv"):
            with pytest.raises(ValueError, match="not a file"):
                read_bytes(tmp_path / name)

    def test_bytes_come_back(self, tmp_path):
        write_bytes(tmp_path / "b", bytes(range(256)))
        assert read_bytes(tmp_path / "b") == bytes(range(256))


def test_an_interrupt_after_the_rename_is_an_interrupt(tmp_path, monkeypatch):
    rename = os.replace

    def rename_and_stop(*paths):
        rename(*paths)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", rename_and_stop)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(tmp_path / "table.csv", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
