"""`patchfold view` in a browser: points, hover, neighbours; Ctrl-C ends it.

A page of another site gets nothing of it, even if it knew the address.
"""

import contextlib
import io
import json
import re
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
from helpers.faults import hear_interrupts
from helpers.pages import PATIENCE, until
from matplotlib.image import imread
from scipy.ndimage import center_of_mass, label
from sklearn.preprocessing import scale

from patchfold.neighbors.choice import find_neighbors

RESOLVED = "--host-resolver-rules=MAP evil.example 127.0.0.1"
"""A browser for which a foreign name leads to this machine."""

ROWS, COLUMNS = 9, 5
NEIGHBORS = 4


@pytest.fixture(scope="module")
def browser(launch):
    browser = launch("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
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
            "kind": [("<b>oak</b>", "fir", "elm")[i % 3] for i in range(len(row))],
            "elap_1": column / 4,
            "elap_2": -row / 4,
            "height": rng.normal(size=len(row)).round(3),
            "width": rng.normal(size=len(row)).round(3),
        }
    )


@pytest.fixture(scope="module")
def address(samples, tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    samples[["name", "kind", "elap_1", "elap_2"]].to_csv(folder / "e.csv", index=False)
    data = samples[["name", "height", "width"]].iloc[::-1]
    data.to_csv(folder / "d.csv", index=False)
    words = ["view", "e.csv", "--data=d.csv", "--id=name", f"--neighbors={NEIGHBORS}"]
    command = [sys.executable, "-m", "patchfold", *words, "--port=0", "--no-browser"]
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
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
        page = open_page(address, width=width, browser=browser, accept_downloads=True)
        page.locator("#search:enabled").wait_for()
        wait_for_count(page, ROWS * COLUMNS)
        return page

    return open_it


def wait_for_count(page, count):
    words = f"{count} of {ROWS * COLUMNS} samples"
    page.locator("#count", has_text=re.compile(f"^{words}$")).wait_for()


def drawn(page):
    """Return the middle of every point of the picture, in pixels of the page."""
    canvas = page.locator("canvas")
    red, _, blue = np.moveaxis(imread(io.BytesIO(canvas.screenshot()))[..., :3], 2, 0)
    marks, count = label(blue - red > 0.2)
    middles = center_of_mass(marks > 0, marks, range(1, count + 1))
    box = canvas.bounding_box()
    return np.reshape(middles, (-1, 2))[:, ::-1] + [box["x"], box["y"]]


def drawn_grid(page):
    """Wait for all points; return them by row and column."""
    until(page, lambda: len(drawn(page)) == ROWS * COLUMNS)
    points = drawn(page)
    grid = points[np.argsort(points[:, 1])].reshape(ROWS, COLUMNS, 2)
    return np.take_along_axis(grid, grid[:, :, :1].argsort(axis=1), axis=1)


def lies_as(page, grid):
    """Say whether all points are where they were."""
    return np.allclose(drawn_grid(page), grid, rtol=0, atol=1)


def row_at(samples, row, column):
    where = (samples["elap_1"] == column / 4) & (samples["elap_2"] == -row / 4)
    (found,) = np.flatnonzero(where)
    return found


def shown_cells(page, place):
    words = page.locator(f"{place} dl > *").all_inner_texts()
    return dict(zip(words[::2], words[1::2], strict=True))


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
    row = row_at(samples, 2, 3)
    page.mouse.move(*(at - 20))
    page.mouse.move(*at)
    page.locator("#tip").wait_for()
    shown = shown_cells(page, "#tip")
    assert shown.pop("name") == samples["name"][row]
    assert shown.pop("kind") == samples["kind"][row]
    assert {name: float(value) for name, value in shown.items()} == pytest.approx(
        samples.drop(columns=["name", "kind"]).loc[row].to_dict()
    )
    page.mouse.click(*at)
    page.locator("#detail li").nth(NEIGHBORS - 1).wait_for()
    assert shown_cells(page, "#detail")["name"] == samples["name"][row]
    said = page.locator("#detail li").all_inner_texts()
    found = find_neighbors(scale(samples[["height", "width"]].to_numpy()), NEIGHBORS)
    names = [re.fullmatch(r"row \d+, (tree \d+) \(.*\)", words)[1] for words in said]
    assert names == list(samples["name"][found.indices[row]])


def test_zooming_keeps_what_is_under_the_pointer(open_view):
    page = open_view(1280)
    grid = drawn_grid(page)
    at = grid[4, 2]
    page.mouse.move(*at)
    page.mouse.wheel(0, -300)
    until(page, lambda: len(drawn(page)) < ROWS * COLUMNS)
    assert np.linalg.norm(drawn(page) - at, axis=1).min() < 4
    page.get_by_role("button", name="Show all").click()
    until(page, lambda: lies_as(page, grid))


def saved(page):
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    return pd.read_csv(download.value.path())


def test_search_and_lasso_select_rows_and_save_them(open_view, samples):
    page = open_view(1280)
    grid = drawn_grid(page)
    page.locator("#search").fill("TREE 1")
    some = samples[samples["name"].str.contains("tree 1")]
    wait_for_count(page, len(some))
    written = saved(page)
    pd.testing.assert_frame_equal(written, some.reset_index(drop=True))
    page.locator("#search").fill("")
    wait_for_count(page, ROWS * COLUMNS)

    page.get_by_role("button", name="Lasso").click()
    (left, top), (right, low) = grid[0, 0] - 9, grid[1, 2] + 9
    page.mouse.move(left, top)
    page.mouse.down()
    for corner in ((right, top), (right, low), (left, low)):
        page.mouse.move(*corner, steps=4)
    page.mouse.up()
    wait_for_count(page, 6)
    inside = {samples["name"][row_at(samples, i, j)] for i in (0, 1) for j in range(3)}
    assert set(saved(page)["name"]) == inside
    page.get_by_role("button", name="Clear").click()
    wait_for_count(page, ROWS * COLUMNS)


def test_colours_come_with_a_legend_that_filters(open_view, samples):
    page = open_view(1280)
    drawn_grid(page)  # all are there, and blue
    page.locator("#color").select_option("height")
    # Not all of them are blue any more.
    until(page, lambda: len(drawn(page)) < ROWS * COLUMNS)
    page.get_by_label("height: from").fill("0.25")
    wait_for_count(page, (samples["height"] >= 0.25).sum())
    page.locator("#color").select_option("kind")
    classes = page.locator("#legend button")
    assert classes.count() == 3
    expected = samples["kind"].value_counts().sort_index()
    for button, (kind, count) in zip(classes.all(), expected.items(), strict=True):
        assert button.inner_text().split() == [*kind.split(), str(count)]
    classes.first.click()
    wait_for_count(page, ROWS * COLUMNS - expected.iloc[0])
    assert len(drawn_grid(open_view(1280))) == ROWS  # a page opened anew has no filter


def test_keys_move_and_zoom(open_view):
    page = open_view(1280)
    grid = drawn_grid(page)
    page.locator("canvas").focus()
    page.keyboard.press("-")
    page.keyboard.press("ArrowRight")
    middle = grid[..., 0].mean() - 60
    moved = lambda: drawn_grid(page)[..., 0].mean()  # noqa: E731
    until(page, lambda: moved() == pytest.approx(middle, abs=2))
    now = drawn_grid(page)
    steps = (now[-1, 0, 1] - now[0, 0, 1]) / (grid[-1, 0, 1] - grid[0, 0, 1])
    assert steps == pytest.approx(1 / 1.4, abs=0.01)
    page.keyboard.press("0")
    until(page, lambda: lies_as(page, grid))


HOSTILE = """async ([address, style]) => {
    const seen = [];
    const attempt = async (name, action) => {
        try { seen.push([name, await action()]); } catch { seen.push([name, null]); }
    };
    const body = JSON.stringify({type: "exec", sql: "DROP TABLE dataset"});
    const read = (part, options) => () =>
        fetch(address + part, options).then((answer) => answer.text());
    await attempt("page", read("", {}));
    await attempt("table", read("data/column0", {}));
    await attempt("opaque", read("data/table.json", {mode: "no-cors"}));
    await attempt("post", read("data/query", {method: "POST", body}));
    await attempt("blind", read("data/query", {method: "POST", mode: "no-cors", body}));
    const load = (tag, source) => () => new Promise((done, failed) => {
        const element = document.createElement(tag);
        element.onload = () => done(tag);
        element.onerror = failed;
        element.src = address + source;
        document.body.append(element);
    });
    await attempt("style", () => new Promise((done, failed) => {
        const link = document.createElement("link");
        Object.assign(link, {rel: "stylesheet", href: address + style});
        link.onload = () => done("style");
        link.onerror = failed;
        document.head.append(link);
    }));
    await attempt("script", load("script", "colors.js"));
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
    with contextlib.closing(launch(RESOLVED)) as browser:
        page = browser.new_page()
        page.goto(f"http://{name}:{other_site}/")
        seen = page.evaluate(HOSTILE, [address, "page.css"])
        assert len(seen) == 7
        assert [what for what, got in seen if got] == []


def test_a_name_that_leads_here_is_refused(launch, address):
    """DNS rebinding: to the browser such a page is of the same origin."""
    elsewhere = address.replace("127.0.0.1", "evil.example")
    with contextlib.closing(launch(RESOLVED)) as browser:
        page = browser.new_page()
        for part in ("", "data/table.json", "data/column0"):
            answer = page.goto(elsewhere + part)
            assert answer.status == 403
            assert answer.text() == "403 Forbidden\n"
        assert page.goto(address + "data/table.json").status == 200
        assert json.loads(page.locator("body").inner_text())["rows"] == ROWS * COLUMNS
