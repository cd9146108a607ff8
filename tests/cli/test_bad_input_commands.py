"""Every case of bad input on every command: it works, or one line says why not."""

import os
import shlex
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.bad_input_commands import COMMANDS, FEATURES, OPTIONS, PLAIN, TITLES
from typer.main import get_command

import patchfold as pf
from patchfold.cli import app
from patchfold.cli._page_data import write_files

COMMAND = get_command(app)
"""Made once: the runner of Typer's tests makes it anew each time."""

PAGE = Path(__file__).parents[2] / "docs" / "bad_input_commands.md"

INTRODUCTION = """# Bad input of the commands

Look up what the commands do with tables and options that are broken or unusual.

- **works**: exit status 0, and every coordinate and score is a finite number.
- **error**: exit status 2, and no file is written. The message is one line that begins
  with `patchfold:`; the last column has words of it. If several columns need a
  decision, each has a line, and the last line is a command that decides them all.
- **record**: `reproduce` continues if one set fails. A line of `results.csv` and a word
  on the terminal say so.

The tests try every cell, and write this page from the same tables.
"""


def patchfold(text):
    """Run a command, and return its exit status and what it said.

    Words are split at blanks; temporary folders have none in their names.
    """
    said = StringIO()
    with (
        redirect_stdout(said),
        redirect_stderr(said),
        pytest.raises(SystemExit) as ended,
    ):
        COMMAND.main(shlex.split(text), prog_name="patchfold")
    return ended.value.code or 0, said.getvalue()


def write(path, content):
    if isinstance(content, pd.DataFrame):
        if path.suffix == ".parquet":
            content.to_parquet(path)
        else:
            content.to_csv(path, index=False)
    else:
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(data)


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """Return the files that commands start from: a table, its embedding, two models."""
    folder = tmp_path_factory.mktemp("fitted")
    names = {
        "table": folder / "plain.csv",
        "embedding": folder / "e.csv",
        "model": folder / "m.skops",
        "estimator": folder / "bare.skops",
        "scores": folder / "s" / "scores.csv",
    }
    (folder / "s").mkdir()
    for name in ("table", "scores"):
        write(names[name], PLAIN)
    pf.save_model(pf.isomap_kl().fit(PLAIN[FEATURES]), names["estimator"])
    text = "embed {table} --out={embedding} --model={model} --target=target"
    status, said = patchfold(text.format(**names))
    assert status == 0, said
    return names


@pytest.fixture
def run(fitted, tmp_path, monkeypatch):
    """Run a command in words; what it would show in the browser is kept."""
    shown = []
    monkeypatch.setattr("patchfold.cli._viewing.serve", lambda *a, **k: shown.append(a))
    monkeypatch.setenv("PATCHFOLD_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PATCHFOLD_DATA", raising=False)
    out = tmp_path / "out"
    out.mkdir()

    def run(text, **places):
        status, said = patchfold(text.format(**{**fitted, "out": out, **places}))
        return status, said, out, shown

    return run


def check_refusal(status, said, out, words):
    """Look for one line, or a list of what must be decided, and nothing written."""
    assert status == 2
    assert said.startswith("patchfold: ")
    first, *rest = said.splitlines()
    if rest:
        assert first.endswith("things about the columns must be decided:")
        if not rest[-1].startswith("Without these columns none is left to embed: "):
            assert rest[-2].startswith("Decide all")
            assert rest[-1].startswith("  patchfold ")
    for word in words:
        assert word in said
    # An error of the linear algebra below, or of scikit-learn's, is no answer.
    for word in ("converge", "infs or NaNs", "Input X contains", "Traceback"):
        assert word not in said
    assert list(out.iterdir()) == []


def check_result(status, said, out, shown):
    """Look at what a command made, whichever it was."""
    assert status == 0, said
    made = {path.name: path for path in out.rglob("*.*")}
    readers = {"e.csv": pd.read_csv, "e.parquet": pd.read_parquet}
    for name, read in readers.items():
        if name in made:
            assert np.isfinite(read(made[name]).iloc[:, -2:]).all(axis=None)
    if "e.npy" in made:
        assert np.isfinite(np.load(made["e.npy"])).all()
    if "scores.csv" in made:
        scores = pd.read_csv(made["scores.csv"], index_col="method")
        ours = scores[scores.index.str.startswith("isomap")].iloc[0]
        assert pd.isna(ours["failure"])
        assert np.isfinite(ours["seconds"])
        assert pd.isna(scores.loc["features", "held_out"]) or ours["held_out"] <= 1
        assert made["report.html"].stat().st_size > 10_000
    if "results.csv" in made:
        records = pd.read_csv(made["results.csv"])
        assert set(records["status"]) == {"ok"}
        # Where a class has one sample, there is no silhouette.
        values = records["value"].dropna()
        assert len(values)
        assert np.isfinite(values).all()
    if shown:
        ((viewed,),) = shown
        parts = viewed.frame, viewed.coordinates, viewed.neighbors
        files = write_files(*parts, title="", folder=out.parent)
        for name, kind in (("xy0", "<f8"), ("xy1", "<f8"), ("far", "<f8")):
            assert np.isfinite(np.fromfile(files[f"data/{name}"], kind)).all()
    assert made or shown or "mux6" in said


def check_record(status, said, out, words):
    """Look for a failure that is told, and kept."""
    assert status == 0, said
    assert "of 1 runs: 1 failed; the column status says why" in said
    (reason,) = set(pd.read_csv(out / "results.csv")["status"])
    assert reason.startswith("failed: ")
    for word in words:
        assert word in reason


def is_for(title, command):
    """Say whether a command is tried: of files, datasets are CSV alone."""
    return command != "reproduce" or title != "A kind of file"


TABLES = [
    pytest.param(table, command, id=f"{title}-{table.name}-{command}")
    for title, tables in TITLES.items()
    for table in tables
    for command in COMMANDS
    if is_for(title, command)
]


@pytest.mark.parametrize(("table", "command"), TABLES)
def test_a_table_works_or_one_line_says_why_not(
    run, tmp_path, monkeypatch, table, command
):
    path = tmp_path / f"mux6{table.ending}"
    write(path, table.content)
    before = path.read_bytes()
    if command == "reproduce":
        monkeypatch.setenv("PATCHFOLD_DATA", str(tmp_path))
    status, said, out, shown = run(COMMANDS[command], table=path)
    words = table.words(command)
    if words and command == "reproduce":
        check_record(status, said, out, words)
    elif words:
        check_refusal(status, said, out, words)
    else:
        check_result(status, said, out, shown)
    assert path.read_bytes() == before


WORDS = [
    pytest.param(f"{start} {added}", words, id=f"{start.split(' ')[0]} {added}")
    for start, cases in OPTIONS.items()
    for added, words in cases.items()
]


@pytest.mark.parametrize(("text", "words"), WORDS)
def test_an_option_works_or_one_line_says_why_not(run, fitted, text, words):
    before = {path: path.read_bytes() for path in fitted.values()}
    status, said, out, shown = run(text)
    if words:
        check_refusal(status, said, out, words)
    else:
        check_result(status, said, out, shown)
    assert {path: path.read_bytes() for path in fitted.values()} == before


def test_every_table_can_lie_in_the_folder_of_data(tmp_path, monkeypatch):
    monkeypatch.setenv("PATCHFOLD_DATA", str(tmp_path))
    tables = [table for tables in TITLES.values() for table in tables]
    for number, table in enumerate(tables):
        write(tmp_path / f"set{number}{table.ending}", table.content)
    status, said = patchfold("datasets")
    assert status == 0
    for number, table in enumerate(tables):
        ends_in_target = isinstance(table.content, pd.DataFrame) and (
            list(table.content.columns)[-1] == "target"
        )
        if table.ending == ".csv" and ends_in_target:
            assert f"\nset{number} " in said


@pytest.mark.parametrize("place", ["nowhere", "file"])
def test_a_folder_of_data_that_is_none_hides_no_dataset(tmp_path, monkeypatch, place):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PATCHFOLD_DATA", str(tmp_path / place))
    status, said = patchfold("datasets")
    assert status == 0
    assert "parity5" in said


def page() -> str:
    """Write the tables as a page."""
    text = [INTRODUCTION]
    for title, tables in TITLES.items():
        columns = " | ".join(f"`{name}`" for name in COMMANDS)
        text += [f"## {title}\n", f"| input | {columns} | error says |"]
        text.append("| --- " * (len(COMMANDS) + 2) + "|")
        for table in tables:
            cells, said = [], []
            for command in COMMANDS:
                words = table.words(command)
                fails = "record" if command == "reproduce" else "error"
                cell = fails if words else "works"
                cells.append(cell if is_for(title, command) else "")
                if words and cells[-1] and words not in said:
                    said.append(words)
            listed = "; ".join(", ".join(words) for words in said)
            text.append(f"| {table.name} | {' | '.join(cells)} | {listed} |")
        text.append("")
    text.append("## Options\n")
    for start, cases in OPTIONS.items():
        text += [f"After `{plain(f'patchfold {start}')}`:\n", "| added | error says |"]
        text.append("| --- | --- |")
        for added, words in cases.items():
            typed = f"`{plain(added)}`" if added else "nothing"
            text.append(f"| {typed} | {', '.join(words) or 'works'} |")
        text.append("")
    return "\n".join(text)


def plain(text):
    """Write places as a reader would."""
    places = {"{out}": "out", "{table}": "plain.csv", "{embedding}": "e.csv"}
    places |= {"{model}": "m.skops", "{estimator}": "bare.skops"}
    places |= {"{scores}": "s/scores.csv", "{scores.parent}": "s"}
    for place, name in places.items():
        text = text.replace(place, name)
    return text.strip()


def test_the_page_shows_the_tables():
    if os.environ.get("PATCHFOLD_WRITE_PAGES"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "docs/bad_input_commands.md is old: run this test with PATCHFOLD_WRITE_PAGES=1"
    )
