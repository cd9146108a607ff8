"""What a user types first: the version, the state of an installation, bare installs."""

import subprocess
import sys

import pytest

import patchfold as pf
from patchfold.backends import environment
from patchfold.backends.native import loops
from patchfold.backends.version import __version__

BARE = """
import importlib.abc, importlib.util, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {absent!r}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)

real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: (
    None if name in {absent!r} else real(name, *rest)
)
sys.meta_path.insert(0, Absent())
sys.argv = ["patchfold", *{words!r}]
{program}
"""
EXTRAS = ["typer", "rich", "pandas", "plotly", "pyarrow", "skops", "matplotlib", "umap"]
MAIN = "from patchfold.__main__ import main; main()"


def run_bare(program, *words, absent=EXTRAS):
    """Run a program as if no extra were installed, or without some packages."""
    code = BARE.format(absent=absent, words=words, program=program)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


@pytest.mark.parametrize("words", [["--help"], [], ["embed", "my.csv", "--out=e.csv"]])
def test_the_commands_of_a_bare_install_name_the_extra_in_one_line(words):
    done = run_bare(MAIN, *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "patchfold: the command line needs typer and rich: "
        'pip install "patchfold[cli]".\n'
    )


@pytest.mark.parametrize(
    ("call", "needs"),
    [
        ("compare([[1.0, 2.0]] * 9)", "compare needs pandas"),
        ("tables.describe([[1.0, 2.0]] * 9)", "describe needs pandas"),
        ("tables.read_table('t.csv')", "read_table needs pandas"),
        ("metrics.describe_group([[1.0]] * 4, [0, 1])", "describe_group needs pandas"),
        (
            "PatchPosterior().fit([[1.0], [2], [4], [5]], [0, 0, 1, 1])"
            ".explain([3]).frame",
            "frame needs pandas",
        ),
    ],
)
def test_functions_of_a_bare_install_name_the_extra(call, needs):
    program = f"import patchfold as pf\ntry:\n    pf.{call}\n"
    program += "except ImportError as error:\n    print(error)"
    done = run_bare(program)
    assert done.stdout == f'{needs}: pip install "patchfold[cli]".\n', done.stderr


@pytest.mark.parametrize(
    ("names", "needs"),
    [
        (["--out=e.parquet"], "A Parquet file needs pyarrow"),
        (["--out=e.csv", "--model=m.skops"], "--model needs skops"),
    ],
)
def test_embed_says_what_a_file_needs_before_it_computes(names, needs, tmp_path):
    (tmp_path / "t.csv").write_text("")
    table = str(tmp_path / "t.csv")
    done = run_bare(MAIN, "embed", table, *names, absent=["pyarrow", "skops"])
    assert done.returncode == 2
    assert done.stderr == f'patchfold: {needs}: pip install "patchfold[cli]".\n'


def test_the_version_is_printed_with_and_without_the_extra():
    command = [sys.executable, "-m", "patchfold", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run_bare(MAIN, "--version").stdout == done.stdout
    state = environment.describe_speed()["loops"]
    first, second = done.stdout.splitlines()
    assert first == f"patchfold {__version__}"
    assert second.startswith(f"loops {state}, BLAS ")


def test_show_versions_prints_the_state_of_the_loops(capsys, monkeypatch):
    pf.show_versions()
    said = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert said["patchfold"] == __version__
    assert int(said["threads"]) >= 1
    assert {"Python", "BLAS", "devices", *environment.PACKAGES} <= said.keys()
    if loops.is_compiled():
        assert said["loops"] == f"compiled ({loops.instruction_set()})"
    monkeypatch.setattr(loops, "_loops", None)
    pf.show_versions()
    assert "\nloops: arrays (not compiled)\n" in capsys.readouterr().out
