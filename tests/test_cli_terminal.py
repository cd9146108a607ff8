"""The commands in a real terminal: the bar, Ctrl-C, nothing half-written."""

import os
import signal
import sys

import pytest
from typer.testing import CliRunner

from patchfold.cli import app

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
