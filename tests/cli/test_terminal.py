"""The commands in a real terminal: the bar, Ctrl-C, nothing half-written."""

import io
import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.faults import hear_interrupts
from rich.console import Console
from typer.testing import CliRunner

import patchfold
from patchfold.cli import app
from patchfold.cli._shared import PARTS, Progress

pexpect = pytest.importorskip("pexpect")

SOURCE = Path(patchfold.__file__).parent

PATIENCE = 120
"""Seconds; a busy machine takes long to import what the command needs."""


@pytest.fixture
def terminal(tmp_path):
    """Start the command line in a terminal of its own."""
    started = []

    def start(*words, program=("-m", "patchfold")):
        child = pexpect.spawn(
            sys.executable,
            [*program, *words],
            cwd=str(tmp_path),
            encoding="utf-8",
            timeout=PATIENCE,
            dimensions=(30, 100),
            env=os.environ | {"TERM": "xterm", "OPENBLAS_NUM_THREADS": "1"},
            preexec_fn=hear_interrupts,
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.close(force=True)


def test_the_bar_counts_and_ctrl_c_leaves_nothing(terminal, tmp_path):
    child = terminal("compare", "digits", "--methods=isomap,lle", "--out=report")
    child.expect("comparing")
    child.expect(r"[0-9] %.*\d:\d\d:\d\d")
    child.sendintr()
    child.expect("interrupted; nothing was written")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert os.listdir(tmp_path) == []


def test_embed_counts_its_parts_and_shows_a_clock_for_what_has_no_blocks(
    terminal, tmp_path
):
    X = np.random.default_rng(0).normal(size=(1500, 3))
    pd.DataFrame(X).to_csv(tmp_path / "table.csv", index=False)
    dense = "--param=eigen_solver=dense"
    child = terminal("embed", "table.csv", "--method=elap", dense, "--out=e.csv")
    child.expect("elap, part 4 of 4")
    child.expect(r"coordinates.*\d:\d\d:\d\d")
    child.expect("wrote e.csv")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


SLOW_BENCH = """
import time
from patchfold.studies.bench import report
from patchfold.studies.bench.rows import Result, Versus
from patchfold.__main__ import main

def wait(row, quick, n_jobs):
    time.sleep(0.1)
    input()  # until the test has seen the bar
    return Result(row.what, row.peer, 1, 1.0, 1.0, 1.0, 1.0, 1.0, "met")

report.compare = wait
report.VERSUS = [
    Versus("one", "a", "b", 1, 1.0, 1, lasts=(0.5, 0.5)),
    Versus("left out", "a", "b", 1, 1.0, None, lasts=(60.0, 0.0)),
    Versus("two", "a", "b", 1, 1.0, 1, lasts=(49.5, 49.5)),
]
report.LIMITS = report.GROWTH = []
main()
"""


def test_bench_knows_from_the_first_row_how_long_the_rest_takes(terminal, tmp_path):
    program = ("-c", SLOW_BENCH)
    child = terminal("bench", "--quick", "--out=speed", program=program)
    child.expect(r"bench.*0 %.*-:--:--")
    child.sendline()
    child.expect(r"bench.*[^0-9]1 %.*\d:\d\d:\d\d.*\d:\d\d:\d\d")
    child.sendintr()
    child.expect("interrupted; what was timed is kept")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert "one" in (tmp_path / "speed" / "bench.md").read_text(encoding="utf-8")


def test_there_is_no_bar_where_there_is_no_terminal(tmp_path):
    words = ["compare", "iris", "--methods=pca", f"--out={tmp_path / 'report'}"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0
    assert "comparing" not in done.output
    assert "\x1b" not in done.output


def test_embed_shows_the_parts_of_a_fit_with_their_ends(tmp_path, monkeypatch):
    shown = {}
    monkeypatch.setattr(
        Progress,
        "part",
        lambda bar, what, done, total: shown.setdefault(what, []).append((done, total)),
    )
    X = np.random.default_rng(0).normal(size=(4500, 6))
    pd.DataFrame(X).to_csv(tmp_path / "big.csv", index=False)
    words = [str(tmp_path / "big.csv"), "--method=elap", "--param=kernel_width=auto"]
    done = CliRunner().invoke(app, ["embed", *words, f"--out={tmp_path / 'out.csv'}"])
    assert done.exit_code == 0, done.output
    assert {"neighbours", "edges", "eigenvectors"} <= shown.keys()
    for told in shown.values():
        counts = [number for number, _ in told]
        assert counts[0] == 0
        assert told[-1][0] == told[-1][1]
        assert all(0 <= number <= total for number, total in told)
    products = [number for number, total in shown["eigenvectors"] if total != 1]
    assert products == sorted(products)
    assert products[-1] > 0


@pytest.fixture
def drawn(monkeypatch):
    """Draw bars as text, by a clock that the test sets."""
    clock = [0.0]
    monkeypatch.setattr("rich.console.monotonic", lambda: clock[0])

    def start(*words, **options):
        return Progress(True, *words, **options)

    def lines(bar):
        """Return what is on the screen now."""
        screen = Console(file=io.StringIO(), width=100)
        screen.print(bar._bar.get_renderable())
        return [" ".join(line.split()) for line in screen.file.getvalue().splitlines()]

    return start, clock, lines


def test_the_time_left_is_of_all_the_work_however_long_a_piece_takes(drawn):
    start, clock, lines = drawn
    bar = start("comparing")
    with bar as advance:
        advance(3, 13)  # done by an earlier run
        assert lines(bar)[-1].endswith("3/13 0:00:00 -:--:--")
        for done in (4, 5):
            clock[0] += 600
            advance(done, 13)
        assert lines(bar)[-1].endswith("5/13 0:20:00 1:20:00")
        clock[0] += 400
        assert lines(bar)[-1].endswith("5/13 0:26:40 1:13:20")
        clock[0] += 400  # the sixth takes longer: the others still take what they take
        assert lines(bar)[-1].endswith("5/13 0:33:20 1:10:00")


def test_weighed_pieces_count_by_their_weight(drawn):
    start, clock, lines = drawn
    bar = start("bench")
    with bar as advance:
        advance(0.0, 100.0, 10.0)
        clock[0] += 20
        advance(10.0, 100.0, 60.0)
        assert lines(bar)[-1].endswith("10 % 0:00:20 0:03:00")
        clock[0] += 30
        assert lines(bar)[-1].endswith("10 % 0:00:50 0:02:30")
        clock[0] += 570
        assert lines(bar)[-1].endswith("10 % 0:10:20 0:01:00")


def test_a_part_has_a_line_of_its_own_until_it_is_done(drawn):
    start, _, lines = drawn
    bar = start("placing")
    with bar:
        bar.part("edges", 3, 40)
        assert re.search(r"edges .* 3/40", lines(bar)[-1])
        for done in (39, 40):
            bar.part("edges", done, 40)
        assert len(lines(bar)) == 1


def test_the_stages_of_a_fit_are_counted_and_only_parts_have_a_time_left(drawn):
    start, clock, lines = drawn
    bar = start("elap", timed=False)
    with bar as advance:
        bar.stage("neighbours", 0, 4)
        clock[0] += 5
        bar.part("neighbours", 0, 10)
        clock[0] += 5
        bar.part("neighbours", 2, 10)
        whole, part = lines(bar)[-2:]
        assert re.fullmatch(r"elap, part 1 of 4 [━╸╺ ]*0/4 0:00:10", whole)
        assert re.fullmatch(r"neighbours [━╸╺ ]*2/10 0:00:10 0:00:20", part)
        bar.part("neighbours", 10, 10)
        bar.stage("coordinates", 3, 4)
        clock[0] += 7
        whole, part = lines(bar)[-2:]
        assert re.fullmatch(r"elap, part 4 of 4 [━╸╺ ]*3/4 0:00:17", whole)
        assert re.fullmatch(r"coordinates [━╸╺ ]*0:00:07", part)  # a clock, no guess
        bar.part("eigenvectors", 2.5, 5.0)
        assert re.fullmatch(r"eigenvectors [━╸╺ ]*50 % 0:00:07 -:--:--", lines(bar)[-1])
        bar.part("eigenvectors", 1, 1)
        assert re.fullmatch(r"eigenvectors [━╸╺ ]*0:00:07", lines(bar)[-1])
        advance(1, 1)
    (line,) = lines(bar)
    assert re.fullmatch(r"elap ━+ 1/1 0:00:17", line)


def test_parts_of_a_bar_are_named_by_modules_that_work_in_blocks():
    """A module that is renamed takes its part along."""
    works = {
        path.stem
        for path in SOURCE.rglob("*.py")
        if re.search(r"\b(map|fill)_blocks\(", path.read_text("utf-8"))
    }
    assert set(PARTS) - works == {"eigenvectors", "patch scores"}  # these tell it
