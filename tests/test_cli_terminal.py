"""The commands in a real terminal: the bar, Ctrl-C, nothing half-written."""

import io
import os
import re
import signal
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from patchfold.cli import app
from patchfold.cli._shared import Progress

pexpect = pytest.importorskip("pexpect")

PATIENCE = 120
"""Seconds; a busy machine takes long to import what the command needs."""


@pytest.fixture
def terminal(tmp_path):
    """Start the command line in a terminal of its own."""
    started = []

    def start(*words):
        child = pexpect.spawn(
            sys.executable,
            ["-m", "patchfold", *words],
            cwd=str(tmp_path),
            encoding="utf-8",
            timeout=PATIENCE,
            dimensions=(30, 100),
            env=os.environ | {"TERM": "xterm", "OPENBLAS_NUM_THREADS": "1"},
            # A test run in the background ignores Ctrl-C, and so would its children.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.close(force=True)


def test_the_bar_counts_and_ctrl_c_leaves_nothing(terminal, tmp_path):
    child = terminal("compare", "digits", "--methods=isomap,lle", "--out=report")
    child.expect("comparing")
    child.expect(r"[0-9]/12.*0:00:\d\d")
    child.sendintr()
    child.expect("interrupted; nothing was written")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert os.listdir(tmp_path) == []


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
    assert {"neighbours", "edges"} <= shown.keys()
    for told in shown.values():
        assert told[0][0] == 1
        assert told[-1][0] == told[-1][1] > 1


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def text(self):
        """Return what is written, without colours."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue())


def test_the_time_left_is_of_all_the_work_however_long_a_piece_takes(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    bar, clock = Progress(False, "comparing"), [0.0]
    bar._bar.get_time = lambda: clock[0]
    with bar as advance:
        advance(3, 13)  # done by an earlier run
        for done in (4, 5):
            clock[0] += 600
            advance(done, 13)
        (task,) = bar._bar.tasks
        assert task.time_remaining == 8 * 600
        bar._bar.refresh()
        assert re.search(r"5/13 \S+ 1:20:00", sys.stderr.text())
    uneven = Progress(False, "bench", even=False)
    with uneven as advance:
        advance(1, 2)
    assert re.search(r"bench .* 1/2 \S+\s*$", sys.stderr.text())


def test_a_part_has_a_line_of_its_own_until_it_is_done(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    bar = Progress(False, "elap")
    with bar:
        bar.part("edges", 3, 40)
        bar._bar.refresh()
        drawn = sys.stderr.getvalue()
        for done in (39, 40):
            bar.part("edges", done, 40)
    assert re.search(r"edges .* 3/40", drawn)
    assert "edges" not in sys.stderr.getvalue()[len(drawn) :].rpartition("elap")[2]
