"""`patchfold view` in a browser: points, hover, neighbours; Ctrl-C ends it."""

import contextlib
import io
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from scipy.ndimage import center_of_mass, label
from sklearn.preprocessing import scale

from patchfold.neighbors import find_neighbors

pytest.importorskip(
    "embedding_atlas", reason='Embedding Atlas is not installed ("patchfold[view]")'
)

WEBGPU = (
    "--enable-unsafe-webgpu",
    "--enable-features=Vulkan",
    "--use-vulkan=swiftshader",
    "--use-angle=swiftshader",
)
"""The page draws by WebGPU alone; without a graphics card, SwiftShader does it."""

ASKED_FIRST = ("/favicon.ico", "/data/cache/")
"""The page asks for these whether they exist or not, and goes on without."""

PATIENCE = 60
"""Seconds; the page asks a database for every chart."""

ROWS, COLUMNS = 9, 5
NEIGHBORS = 4


@pytest.fixture(scope="module")
def browser(launch):
    browser = launch(*WEBGPU)
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def samples():
    """Return samples in any order, whose embedding is a grid seen from top left."""
    rng = np.random.default_rng(0)
    row, column = np.divmod(rng.permutation(ROWS * COLUMNS), COLUMNS)
    return pd.DataFrame(
        {
            "name": [f"tree {i}" for i in range(len(row))],
            "elap_1": column / 4,
            "elap_2": -row / 4,
            "height": rng.normal(size=len(row)).round(3),
            "width": rng.normal(size=len(row)).round(3),
        }
    )


@pytest.fixture(scope="module")
def address(samples, tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    samples[["name", "elap_1", "elap_2"]].to_csv(folder / "e.csv", index=False)
    data = samples[["name", "height", "width"]].iloc[::-1]
    data.to_csv(folder / "d.csv", index=False)
    words = ["view", "e.csv", "--data=d.csv", "--id=name", f"--neighbors={NEIGHBORS}"]
    command = [sys.executable, "-m", "patchfold", *words, "--port=0", "--no-browser"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            place = re.search(r"localhost:(\d+)", server.stdout.readline())
            wait_for(int(place[1]))
            yield f"http://{place[0]}"
            server.send_signal(signal.SIGINT)
            assert server.wait(timeout=PATIENCE) == 0
        finally:
            server.kill()


def wait_for(port):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("localhost", port), timeout=1),
        ):
            return
        time.sleep(0.2)
    pytest.fail(f"nothing answers at port {port}")


@pytest.fixture
def open_view(open_page, browser, address):
    def open_it(width):
        page = open_page(
            address,
            width=width,
            browser=browser,
            script=Path(__file__).with_name("half_floats.js"),
            forgive=ASKED_FIRST,
        )
        page.set_default_timeout(1000 * PATIENCE)
        if not page.evaluate("navigator.gpu?.requestAdapter().then(Boolean)"):
            pytest.skip("this browser has no WebGPU without a graphics card")
        count = f"{ROWS * COLUMNS} / {ROWS * COLUMNS} points"
        page.get_by_text(count).wait_for()
        return page

    return open_it


def drawn(page):
    """Return the middle of every point of the picture, in pixels of the page."""
    canvas = page.locator("canvas").first
    canvas.wait_for()
    red, _, blue = np.moveaxis(imread(io.BytesIO(canvas.screenshot()))[..., :3], 2, 0)
    marks, count = label(blue - red > 0.2)
    middles = center_of_mass(marks > 0, marks, range(1, count + 1))
    box = canvas.bounding_box()
    return np.reshape(middles, (-1, 2))[:, ::-1] + [box["x"], box["y"]]


def drawn_grid(page):
    """Wait for all points; return them by row and column."""
    points = drawn(page)
    end = time.monotonic() + PATIENCE
    while len(points) != ROWS * COLUMNS and time.monotonic() < end:
        page.wait_for_timeout(200)
        points = drawn(page)
    assert len(points) == ROWS * COLUMNS
    grid = points[np.argsort(points[:, 1])].reshape(ROWS, COLUMNS, 2)
    return np.take_along_axis(grid, grid[:, :, :1].argsort(axis=1), axis=1)


@pytest.mark.parametrize("width", [1280, 390])
def test_every_sample_is_drawn_where_its_coordinates_say(open_view, width):
    grid = drawn_grid(open_view(width))
    step = (grid[-1, 0, 1] - grid[0, 0, 1]) / (ROWS - 1)
    assert step > 20
    steps = np.stack(np.meshgrid(np.arange(COLUMNS), np.arange(ROWS)), axis=2)
    np.testing.assert_allclose(grid - grid[0, 0], step * steps, atol=2)


def test_hover_shows_the_columns_and_a_click_the_neighbours(open_view, samples):
    page = open_view(1280)
    at = drawn_grid(page)[2, 3]
    where = (samples["elap_1"] == 3 / 4) & (samples["elap_2"] == -2 / 4)
    (row,) = np.flatnonzero(where)
    page.mouse.move(*(at - 20))
    page.mouse.move(*at)
    button = page.get_by_text("Nearest Neighbors")
    button.wait_for()
    words = button.locator("xpath=../..").inner_text().split("\n")[:-1]
    shown = dict(zip(words[::2], words[1::2], strict=True))
    assert shown.pop("name") == samples["name"][row]
    assert {name: float(value) for name, value in shown.items()} == pytest.approx(
        samples.drop(columns="name").loc[row].to_dict(), abs=1e-3
    )

    page.mouse.click(*at)
    button.click()
    page.get_by_text(f"{NEIGHBORS} results").wait_for()
    said = page.locator("body").inner_text().split(f"Neighbors of #{row}")[1]
    names = re.findall(r"Distance\s+[\d.]+\s+name\s+(tree \d+)", said)
    found = find_neighbors(scale(samples[["height", "width"]].to_numpy()), NEIGHBORS)
    assert names == list(samples["name"][found.indices[row]])
