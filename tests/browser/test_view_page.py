"""`patchfold view` in a browser, where Embedding Atlas is installed."""

import contextlib
import re
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

pytest.importorskip(
    "embedding_atlas", reason='Embedding Atlas is not installed ("patchfold[view]")'
)

PATIENCE = 120_000
"""Milliseconds; the page asks a database for every chart."""


def wait_for(port):
    for _ in range(600):
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("localhost", port), timeout=1),
        ):
            return
        time.sleep(0.2)
    pytest.fail(f"nothing answers at port {port}")


@pytest.fixture
def served(tmp_path):
    points = np.random.default_rng(0).normal(size=(80, 2))
    frame = pd.DataFrame(points, columns=["elap_1", "elap_2"])
    frame.assign(height=np.arange(80)).to_csv(tmp_path / "e.csv", index=False)
    words = ["view", str(tmp_path / "e.csv"), "--port=0", "--no-browser"]
    command = [sys.executable, "-m", "patchfold", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        address = re.search(r"localhost:(\d+)", server.stdout.readline())
        wait_for(int(address[1]))
        yield f"http://{address[0]}", server
        server.kill()


def test_the_page_has_every_sample_and_ctrl_c_ends_it(served, chromium):
    address, server = served
    page = chromium.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    page.get_by_text("80 / 80 points").wait_for(timeout=PATIENCE)
    assert page.get_by_text("height").count() > 0
    if page.get_by_text("WebGPU is unavailable").count() == 0:
        page.locator("canvas").first.wait_for(timeout=PATIENCE)
    assert errors == []
    page.close()
    server.send_signal(signal.SIGINT)
    assert server.wait(timeout=60) == 0
