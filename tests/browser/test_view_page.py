"""`patchfold view` in a browser: points, hover, neighbours; Ctrl-C ends it.

A page of another site gets nothing of it, even if it knew the address.
"""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from scipy.ndimage import center_of_mass, label
from sklearn.preprocessing import scale

from patchfold.cli._atlas import find_page
from patchfold.neighbors.choice import find_neighbors

try:
    find_page()
except ImportError as error:
    if os.environ.get("PATCHFOLD_NEED_BROWSER"):
        raise
    pytest.skip(str(error), allow_module_level=True)

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
"""Seconds; the page starts a database in the browser and asks it for every chart."""

RESOLVED = "--host-resolver-rules=MAP evil.example 127.0.0.1"
"""A browser for which a foreign name leads to this machine."""

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
            found = re.search(r"http://127\.0\.0\.1:\d+/\S+/", server.stdout.readline())
            yield found[0]
            server.send_signal(signal.SIGINT)
            assert server.wait(timeout=PATIENCE) == 0
        finally:
            server.kill()


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


def test_what_the_page_changes_is_in_the_browser_alone(open_view):
    """Colours add a column to the browser's table; a page opened anew has none."""
    page = open_view(1280)
    points = drawn_grid(page)
    page.locator("select").filter(has_text="height").first.select_option(
        label="height (DOUBLE)"
    )
    end = time.monotonic() + PATIENCE
    while len(drawn(page)) == len(points.reshape(-1, 2)) and time.monotonic() < end:
        page.wait_for_timeout(200)
    assert len(drawn(page)) < ROWS * COLUMNS  # not all of them are blue any more
    assert drawn_grid(open_view(1280)).shape == (ROWS, COLUMNS, 2)


HOSTILE = """async ([address, picture]) => {
    const seen = [];
    const attempt = async (name, action) => {
        try { seen.push([name, await action()]); } catch { seen.push([name, null]); }
    };
    const body = JSON.stringify({type: "exec", sql: "DROP TABLE dataset"});
    const read = (part, options) => () =>
        fetch(address + part, options).then((answer) => answer.text());
    await attempt("page", read("", {}));
    await attempt("table", read("data/dataset.parquet", {}));
    await attempt("opaque", read("data/metadata.json", {mode: "no-cors"}));
    await attempt("post", read("data/query", {method: "POST", body}));
    await attempt("blind", read("data/query", {method: "POST", mode: "no-cors", body}));
    const load = (tag, source) => () => new Promise((done, failed) => {
        const element = document.createElement(tag);
        element.onload = () => done(tag);
        element.onerror = failed;
        element.src = address + source;
        document.body.append(element);
    });
    await attempt("image", load("img", picture));
    await attempt("script", load("script", "data/metadata.json"));
    return seen;
}"""
"""What a page of another site may try; null where the browser gave it nothing."""


@pytest.fixture
def other_site():
    """Serve an empty page on another port."""

    class Empty(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<link rel=icon href=data:,><body></body>")

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", ["127.0.0.1", "evil.example"])
def test_a_page_of_another_origin_reads_and_changes_nothing(
    launch, address, other_site, name
):
    picture = next(find_page().glob("assets/*.png"))
    with contextlib.closing(launch(RESOLVED)) as browser:
        page = browser.new_page()
        page.goto(f"http://{name}:{other_site}/")
        seen = page.evaluate(HOSTILE, [address, f"assets/{picture.name}"])
        assert len(seen) == 7
        assert [what for what, got in seen if got] == []


def test_a_name_that_leads_here_is_refused(launch, address):
    """DNS rebinding: to the browser such a page is of the same origin."""
    elsewhere = address.replace("127.0.0.1", "evil.example")
    with contextlib.closing(launch(RESOLVED)) as browser:
        page = browser.new_page()
        for part in ("", "data/metadata.json", "data/dataset.parquet"):
            answer = page.goto(elsewhere + part)
            assert answer.status == 403
            assert answer.text() == "403 Forbidden\n"
        assert page.goto(address + "data/metadata.json").status == 200
        assert json.loads(page.locator("body").inner_text())["isStatic"] is True
