"""Every block of the pages a user reads runs as it stands, and prints what it says."""

import re
import shlex
import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from sklearn.datasets import load_iris
from typer.main import get_command
from typer.testing import CliRunner

from patchfold.cli import app

ROOT = Path(__file__).parents[1]
BUILT = {"api", "auto_gallery"}
"""Folders that Sphinx writes."""

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if not BUILT & set(page.relative_to(ROOT / "docs").parts)
    ),
]
QUICK = {"embed", "datasets"}
"""Commands that are run; the others take long, and are only read."""


def blocks(page, language):
    pattern = rf"^```{language}\n(.*?)^```"
    return re.findall(pattern, page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def pages_with(language):
    return [
        pytest.param(page, id=str(page.relative_to(ROOT)))
        for page in PAGES
        if blocks(page, language)
    ]


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_blocks_run_and_print_what_they_say(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    if "import torch" in page.read_text("utf-8"):
        pytest.importorskip("torch", reason="needs the torch extra of patchfold")
    if "import dask" in page.read_text("utf-8"):
        pytest.importorskip("dask", reason="needs the cluster extra of patchfold")
    names = {"__name__": "block"}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)
        said = re.findall(r"^print\(.*\)  # (.*)$", block, re.MULTILINE)
        printed = capsys.readouterr().out.splitlines()
        assert len(printed) >= len(said)
        for line, text in zip(printed, said, strict=False):
            assert line.startswith(text)
    plt.close("all")


def commands(page):
    """Return the commands of the shell blocks, as lists of words."""
    lines = "".join(blocks(page, "bash")).replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Stand in a folder with the tables that the pages speak of."""
    iris = load_iris(as_frame=True)
    table = iris.data.assign(species=iris.target_names[iris.target])
    table[::2].to_csv(tmp_path / "my.csv", index=False)
    table[1::2].drop(columns="species").to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", pages_with("bash"))
def test_shell_blocks_are_commands_that_exist(page, folder):
    for words in commands(page):
        check = CHECKS.get(Path(words[0]).name)
        assert check, f"{page.name} has a command that no test knows: {words}"
        check(words[1:])


def check_patchfold(words):
    """Let the command line read the words; run what is quick."""
    command = get_command(app).commands[words[0]]
    context = command.make_context(words[0], words[1:])  # an error if it cannot
    elsewhere = {"--device", "--cluster"} & set(words)  # it may not be there
    if words[0] in QUICK and not elsewhere:
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        for name in ("out", "plot", "model"):
            if context.params.get(name):
                assert Path(context.params[name]).stat().st_size > 0


def check_make(words):
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for word in words:
        assert "=" in word or re.search(rf"^{word}:", makefile, re.MULTILINE), word


def check_pip(words):
    assert words[0] == "install"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for word in words[1:]:
        assert word.startswith((".", "-e"))
        for extra in re.findall(r"\w+", word):
            assert extra in project["optional-dependencies"]


def check_report(words):
    """Let `compare` be what writes the file."""
    folder, name = Path(words[0]).parts
    assert ["--out", folder] in [w[-2:] for page in PAGES for w in commands(page)]
    assert f'"{name}"' in (ROOT / "src/patchfold/cli/compare.py").read_text("utf-8")


def check_python(words):
    if words[0] != "-m":
        assert (ROOT / words[0]).is_file(), words[0]
    elif words[1] != "venv":
        assert (ROOT / "src" / Path(*words[1].split("."))).with_suffix(".py").is_file()


CHECKS = {
    "patchfold": check_patchfold,
    "make": check_make,
    "pip": check_pip,
    "python": check_python,
    "run": lambda words: (ROOT / ".ci" / "run").stat(),
    "xdg-open": check_report,
}


@pytest.mark.parametrize(
    "line",
    [
        "patchfold embed my.csv",
        "patchfold compare my.csv --goal species --out report",
        "patchfold unfold my.csv",
        "make dinner",
        'pip install ".[kitchen]"',
        "python docs/no_such.py",
    ],
)
def test_a_wrong_command_would_be_found(line, folder):
    words = shlex.split(line)
    with pytest.raises((Exception, SystemExit)):
        CHECKS[words[0]](words[1:])
