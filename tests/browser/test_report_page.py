"""The report in a browser: points, hover, legend, lasso, sorting, nothing unsafe."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from patchfold import Comparison
from patchfold.comparison.scoring import Curve, Result

UNSAFE = "</script><img src=x onerror=alert(1)>"
N = 120


def result(name, kind, rng, score, **more):
    return Result(
        name=name,
        title=name,
        kind=kind,
        embedding=rng.normal(size=(N, 2)) + np.repeat([[0, 0], [6, 0], [0, 6]], 40, 0),
        silhouette=score,
        held_out=score,
        held_out_error=0.01,
        trustworthiness=0.9,
        seconds=1 - score,
        n_neighbors=20,
        curve=Curve([5, 20, 80], [0.7, score, 0.75], [0.02, 0.01, 0.03]),
        **more,
    )


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(0)
    results = [
        result("ELAP", "patch", rng, 0.8, twin="eigenmaps"),
        result("eigenmaps", "twin", rng, 0.9),
        result("PELLE", "patch", rng, 0.7, remarks=(UNSAFE,)),
        Result("tsne", "t-SNE", kind="other", failure=UNSAFE),
    ]
    return Comparison(
        name=UNSAFE,
        results=results,
        labels=np.repeat([0, 1, 2], 40),
        class_names=["oak", UNSAFE, "pine"],
        ids=[f"tree {i}" for i in range(N)],
        frame=pd.DataFrame({UNSAFE: [UNSAFE] * N, "height": np.arange(N) / 7}),
        columns=[(UNSAFE, "number", "scaled")],
        remarks=[UNSAFE],
        n_splits=5,
        versions={"Python": "3"},
        command=f"patchfold compare '{UNSAFE}'",
    )


@pytest.fixture(scope="module")
def address(comparison, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    comparison.save(path)
    return path.as_uri()


def drawn(page):
    """Wait until the page is drawn."""
    page.locator("#wait").wait_for(state="hidden")
    return page


@pytest.fixture(scope="module")
def page(open_shared_page, address):
    return drawn(open_shared_page(address))


def painted(page, panel):
    """Count the pixels of a panel that have the colour of a point."""
    shot = page.locator(".plot").nth(panel).screenshot()
    pixels = imread(io.BytesIO(shot))[..., :3]
    return int((np.ptp(pixels, axis=2) > 0.25).sum())


def spot(page, panel, sample):
    """Return where a sample is on the screen."""
    page.locator(".plot").nth(panel).scroll_into_view_if_needed()
    return page.evaluate(
        """([panel, sample]) => {
            const gd = document.getElementById("points");
            const { left, top } = gd.getBoundingClientRect();
            const name = panel ? String(panel + 1) : "";
            const own = (trace) => trace.xaxis === "x" + name;
            const holds = (trace) => trace.customdata.includes(sample);
            const trace = gd._fullData.find((each) => own(each) && holds(each));
            const at = trace.customdata.indexOf(sample);
            const { ["xaxis" + name]: x, ["yaxis" + name]: y } = gd._fullLayout;
            return [
                left + x._offset + x.d2p(trace.x[at]),
                top + y._offset + y.d2p(trace.y[at]),
            ];
        }""",
        [panel, sample],
    )


def drag(page, *corners):
    """Drag over the first panel, from corner to corner in parts of its sides."""
    page.locator(".plot").first.scroll_into_view_if_needed()
    box = page.locator(".plot").first.bounding_box()
    places = [
        (box["x"] + u * box["width"], box["y"] + v * box["height"]) for u, v in corners
    ]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=5)
    page.mouse.up()


def drag_around(page, left):
    """Draw around what is right of a line in the first panel."""
    drag(page, (left, 0.02), (0.98, 0.02), (0.98, 0.98), (left, 0.98))


def rings(page):
    """Return the middle of every ring that is shown."""
    found = page.locator(".ring:visible")
    boxes = [found.nth(k).bounding_box() for k in range(found.count())]
    return [(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2) for b in boxes]


def until(page, check):
    """Wait until the page is as it should be; a busy machine may take a minute."""
    for _ in range(600):
        if check():
            return
        page.wait_for_timeout(100)
    assert check()


def paint(page):
    return [painted(page, panel) for panel in range(3)]


def fainter(page, before, part):
    """Say whether every panel has lost a part of its colour."""
    return all(now < part * then for now, then in zip(paint(page), before, strict=True))


def test_points_are_drawn_and_names_do_nothing(page):
    assert page.locator(".plot").count() == 3
    assert all(painted(page, panel) > 1000 for panel in range(3))
    assert page.locator("h1").inner_text() == UNSAFE
    assert page.locator("img").count() == 0
    assert page.locator("#legend button").nth(1).inner_text() == UNSAFE
    assert UNSAFE in page.locator("#warnings + ul").inner_text()
    assert f"failed: {UNSAFE}" in page.locator("#scores-table").inner_text()


def test_hover_shows_the_sample_and_rings_it_in_every_panel(page):
    assert rings(page) == []
    page.mouse.move(*spot(page, 1, 45))
    tip = page.locator("#tip")
    tip.wait_for()
    words = tip.inner_text()
    assert words.startswith(f"tree 45 {UNSAFE}")
    assert "height" in words
    assert words.count(UNSAFE) == 3
    ringed = rings(page)
    places = [spot(page, panel, 45) for panel in range(3)]
    np.testing.assert_allclose(ringed, places, atol=1.5)
    page.mouse.move(5, 5)
    tip.wait_for(state="hidden")
    assert rings(page) == []


def test_the_legend_hides_a_class_in_every_panel(page):
    before = paint(page)
    oak = page.get_by_role("button", name="oak")
    oak.click()
    until(page, lambda: fainter(page, before, 0.8))
    assert oak.get_attribute("aria-pressed") == "false"
    oak.click()
    until(page, lambda: paint(page) == before)
    page.get_by_role("button", name="pine").click(modifiers=["Shift"])
    pressed = page.locator("#legend button").evaluate_all(
        "all => all.map(b => b.getAttribute('aria-pressed'))"
    )
    assert pressed == ["false", "false", "true"]
    page.locator("#legend button").nth(0).click()
    page.locator("#legend button").nth(1).click()
    until(page, lambda: paint(page) == before)


def test_a_lasso_in_one_panel_selects_in_all(page):
    before = paint(page)
    drag_around(page, 0.55)
    page.locator("#selected:not(:empty)").wait_for()
    words = page.locator("#selected").inner_text()
    chosen = int(words.split()[0])
    assert 30 <= chosen <= 60
    assert f"of {N} selected: {UNSAFE} " in words
    until(page, lambda: fainter(page, before, 0.7))
    marked = page.evaluate(
        """() => [0, 1, 2].map((panel) => document.getElementById("points")._fullData
            .slice(3 * panel, 3 * panel + 3)
            .flatMap((trace) => trace.selectedpoints.map((k) => trace.customdata[k]))
            .sort().join())"""
    )
    assert len(set(marked)) == 1
    assert len(marked[0].split(",")) == chosen
    page.keyboard.press("Escape")
    until(page, lambda: paint(page) == before)
    assert page.locator("#selected").inner_text() == ""
    drag_around(page, 0.7)
    page.get_by_role("button", name="Clear selection").click()
    until(page, lambda: paint(page) == before)
    assert page.locator("#selected").inner_text() == ""


def test_a_class_that_is_hidden_is_not_selected(page):
    before = paint(page)
    middle = page.locator("#legend button").nth(1)
    middle.click()
    until(page, lambda: fainter(page, before, 0.8))
    drag_around(page, 0.02)
    page.locator("#selected:not(:empty)").wait_for()
    assert UNSAFE not in page.locator("#selected").inner_text()
    page.keyboard.press("Escape")
    middle.click()
    until(page, lambda: paint(page) == before)


def test_a_box_zooms_and_two_clicks_go_back(page):
    ranges = """["xaxis", "yaxis", "xaxis2"].map((name) => {
        const [low, high] = document.getElementById("points").layout[name].range;
        return high - low;
    })"""
    whole = pytest.approx(page.evaluate(ranges), rel=0.01)
    page.get_by_role("button", name="Zoom").click()
    drag(page, (0.5, 0.6), (0.96, 0.98))

    def is_zoomed():
        x, y, other = page.evaluate(ranges)
        # One scale for both; the other panels are as before.
        return x == pytest.approx(y, rel=0.01) and x < 0.6 * other

    until(page, is_zoomed)
    page.mouse.move(*spot(page, 0, 50))
    page.locator("#tip").wait_for()
    np.testing.assert_allclose(rings(page)[0], spot(page, 0, 50), atol=1.5)
    box = page.locator(".plot").first.bounding_box()

    def goes_back():  # two clicks that a busy machine sends apart are no double click
        page.mouse.dblclick(box["x"] + 20, box["y"] + 20)
        return page.evaluate(ranges) == whole

    until(page, goes_back)
    page.get_by_role("button", name="Lasso").click()


def test_the_table_sorts_both_ways_and_the_empty_cells_stay_last(page):
    first = "rows => rows.map(row => row.querySelector('b').textContent)"
    order = lambda: page.locator("#scores-table tbody tr").evaluate_all(first)  # noqa: E731
    button = page.get_by_role("button", name="Held-out accuracy")
    button.click()
    assert order() == ["eigenmaps", "ELAP", "PELLE", "t-SNE"]
    button.click()
    assert order() == ["PELLE", "ELAP", "eigenmaps", "t-SNE"]
    page.get_by_role("button", name="Method").click()
    assert order() == sorted(order(), key=str.lower)


def test_the_curves_have_a_point_for_every_size(page):
    curves = page.locator("#curves")
    curves.scroll_into_view_if_needed()
    assert curves.locator(".point").count() == 9
    assert curves.locator(".errorbar").count() == 9
    curves.locator(".trace").nth(0).locator(".point").nth(1).hover(force=True)
    page.locator("#tip").wait_for()
    assert page.locator("#tip").inner_text() == "ELAP, K = 20: 0.800 ± 0.010"
    lines = curves.locator(".scatterlayer .js-line").evaluate_all(
        "all => all.map(p => [p.style.stroke, p.style.strokeDasharray])"
    )
    assert lines[0][0] == lines[1][0] != lines[2][0]  # a twin shares the colour
    assert [bool(dash) for _, dash in lines] == [False, True, False]
    page.mouse.move(5, 5)


def test_colours_follow_dark_and_light_while_the_page_is_open(page):
    color = "document.getElementById('points')._fullData[0].marker.color"
    light = page.evaluate(color), painted(page, 0)
    assert light[1] > 1000
    page.emulate_media(color_scheme="dark")
    until(page, lambda: page.evaluate(color) != light[0])
    until(page, lambda: painted(page, 0) > 1000)
    page.emulate_media(color_scheme="light")
    until(page, lambda: (page.evaluate(color), painted(page, 0)) == light)


def test_pictures_follow_the_width_of_the_page(page):
    """The axes of every panel lie in its box, in as many columns as there is room."""
    shown = "document.getElementById('points')._fullLayout.yaxis2.range"
    whole = page.evaluate(shown)

    def find_places():
        return page.locator(".plot").evaluate_all(
            "all => all.map(box => [box.getBoundingClientRect().left, box.clientWidth])"
        )

    def find_axes():
        return page.evaluate(
            """() => ["xaxis", "xaxis2", "xaxis3"].map((name) => {
                const gd = document.getElementById("points");
                const { _offset, _length } = gd._fullLayout[name];
                return [gd.getBoundingClientRect().left + _offset - 1, _length];
            })"""
        )

    for width, columns in ((1280, 3), (700, 2), (390, 1), (1280, 3)):
        page.set_viewport_size({"width": width, "height": 900})
        until(page, lambda n=columns: len({left for left, _ in find_places()}) == n)
        until(page, lambda: np.allclose(find_axes(), find_places(), rtol=0, atol=1.5))
        assert page.evaluate(shown) == whole


def test_a_phone_scrolls_the_page_and_taps_samples(open_page, address):
    options = {"device_scale_factor": 2, "has_touch": True, "is_mobile": True}
    page = drawn(open_page(address, width=390, color_scheme="dark", **options))
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        until(page, lambda: all(painted(page, panel) > 500 for panel in (0, 2)))
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.touchscreen.tap(*spot(page, 0, 3))
    page.locator("#tip").wait_for()
    assert page.locator("#tip").inner_text().startswith("tree ")
    before = swipe(page)
    until(page, lambda: page.evaluate("scrollY") > before + 100)
    assert page.locator("#selected").inner_text() == ""
    page.get_by_role("button", name="Lasso").tap()
    page.locator("[data-drag=lasso][aria-pressed=true]").wait_for()
    before = swipe(page)
    page.locator("#selected:not(:empty)").wait_for()
    assert page.evaluate("scrollY") == before


def swipe(page):
    """Move a finger over the first panel; return where the page was scrolled to."""
    page.locator(".plot").first.scroll_into_view_if_needed()
    box = page.locator(".plot").first.bounding_box()
    before = page.evaluate("scrollY")
    send = page.context.new_cdp_session(page).send

    def touch(kind, *places):
        points = [
            {"x": box["x"] + u * box["width"], "y": box["y"] + v * box["height"]}
            for u, v in places
        ]
        send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (0.02, 0.98))
    for step in range(1, 11):
        touch("touchMove", (0.02, 0.98 - 0.09 * step))
    for step in range(1, 11):
        touch("touchMove", (0.02 + 0.09 * step, 0.08))
    touch("touchEnd")
    return before


def test_without_webgl_the_points_are_svg(launch, open_page, address):
    browser = launch("--disable-3d-apis")
    page = drawn(open_page(address, browser=browser))
    assert page.locator("canvas").count() == 0
    assert page.locator("#points .point").count() == 3 * N
    assert all(painted(page, panel) > 1000 for panel in range(3))
    drag_around(page, 0.55)
    page.locator("#selected:not(:empty)").wait_for()
    assert f"of {N} selected: {UNSAFE} " in page.locator("#selected").inner_text()
    browser.close()


def test_points_come_back_when_webgl_is_lost(open_page, address):
    page = drawn(open_page(address))
    before = painted(page, 2)
    page.evaluate(
        """() => document.querySelector("#points canvas").getContext("webgl")
            .getExtension("WEBGL_lose_context").loseContext()"""
    )
    page.locator("#points .point").last.wait_for(state="attached")
    until(page, lambda: painted(page, 2) == pytest.approx(before, rel=0.3))


def test_a_browser_that_cannot_unpack_says_so_and_shows_the_tables(
    open_page, address, tmp_path
):
    script = tmp_path / "old.js"
    script.write_text("delete window.DecompressionStream;")
    page = open_page(address, script=script)
    page.locator("#wait", has_text="this browser cannot unpack them").wait_for()
    assert page.locator(".plot:visible").count() == 0
    assert "ELAP" in page.locator("#numbers td, #numbers th").all_inner_texts()
    page.get_by_role("button", name="Silhouette").click()
    assert page.locator("#scores-table tbody b").first.inner_text() == "eigenmaps"


def test_fifteen_classes_look_different_and_keep_their_names(
    open_page, comparison, tmp_path
):
    names = [f"<b>{k}</b> & $x^{k}$" for k in range(15)]
    found = replace(comparison, labels=np.arange(N) % 15, class_names=names)
    found.save(tmp_path / "report.html")
    page = drawn(open_page((tmp_path / "report.html").as_uri()))
    assert page.locator("#legend button").all_inner_texts() == names
    assert painted(page, 0) > 1000
    looks = page.evaluate(
        """() => document.getElementById("points")._fullData.map(
            (trace) => [trace.xaxis, trace.marker.color, trace.marker.symbol].join())"""
    )
    assert len(set(looks)) == len(looks) == 3 * 15
    page.mouse.move(*spot(page, 2, 7))
    page.locator("#tip").wait_for()
    assert page.locator("#tip").inner_text().startswith(f"tree 7 {names[7]}\n")


def test_a_report_without_classes_is_drawn_in_the_frame_of_a_notebook(
    open_page, comparison, tmp_path
):
    found = replace(comparison, labels=None, class_names=[])
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!doctype html>{found._repr_html_()}", "utf-8")
    frame = open_page(cell.as_uri()).frame_locator("iframe")
    frame.locator("#points .nsewdrag").nth(2).wait_for(state="attached")
    frame.locator("#wait").wait_for(state="hidden")
    assert frame.locator("#legend button").count() == 0
    pixels = imread(io.BytesIO(frame.locator(".plot").first.screenshot()))[..., :3]
    assert (np.ptp(pixels, axis=2) > 0.25).sum() > 1000
