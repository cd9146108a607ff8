"""The report in a browser: points, hover, legend, lasso, sorting, nothing unsafe.

The pictures are in the order of the scores: eigenmaps, ELAP, PELLE.
"""

import io
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from helpers.pages import until
from matplotlib.image import imread

from patchfold import Comparison
from patchfold.comparison.placing import place_samples
from patchfold.comparison.scoring import Curve, Result
from patchfold.metrics import describe_group

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
        folds=(score,) * 5,
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
        target="kind",
        columns=[(UNSAFE, "number", "scaled")],
        remarks=[UNSAFE],
        n_splits=5,
        versions={"Python": "3"},
        command=f"patchfold compare '{UNSAFE}'",
    )


PLACES = []
"""Where the samples are in the pictures, in their order."""


@pytest.fixture(scope="module")
def address(comparison, tmp_path_factory):
    ranked = [r for r in comparison.ranked() if r.embedding is not None]
    PLACES[:] = [place_samples(r.embedding)[0] for r in ranked]
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
    drawn = (
        page.locator(".plot")
        .nth(panel)
        .evaluate(
            """(box) => {
            const { left, top } = box.getBoundingClientRect();
            const border = box.clientLeft, side = box.clientWidth;
            return [left + border, top + border, side, box.dataset.view];
        }"""
        )
    )
    left, top, side, view = drawn
    x, y, span = map(float, view.split())
    across, down = PLACES[panel][sample]
    return [
        left + (across - x) / span * side,
        top + (1 - (down - y) / span) * side,
    ]


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
    assert page.locator("#legend button span").nth(2).inner_text() == UNSAFE
    assert page.locator("#legend .count").all_inner_texts() == ["40"] * 3
    assert UNSAFE in page.locator(".reasons").inner_text()
    assert page.locator(".first").inner_text().startswith("eigenmaps shows “kind” best")
    assert f"failed: {UNSAFE}" in page.locator("#scores-table").inner_text()


def test_hover_shows_the_sample_and_rings_it_in_every_panel(page):
    assert rings(page) == []
    page.mouse.move(*spot(page, 1, 45))
    tip = page.locator("#tip")
    tip.wait_for()
    words = tip.inner_text()
    assert words.startswith("tree 45")
    assert "height" in words
    assert "6.4286" in words
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


def test_a_class_is_shown_alone_by_two_presses_and_all_by_two_more(page):
    before = paint(page)
    pine = page.get_by_role("button", name="pine")
    pine.dblclick()
    hidden = page.locator("#legend button[aria-pressed=false]")
    hidden.nth(1).wait_for()
    assert pine.get_attribute("aria-pressed") == "true"
    pine.dblclick()
    hidden.first.wait_for(state="detached")
    until(page, lambda: paint(page) == before)


def test_what_sets_each_class_apart_is_a_list(page, comparison):
    fold, entries = page.locator("#apart"), page.locator("#apart dd")
    assert entries.count() == 0
    fold.locator("summary").click()
    entries.nth(2).wait_for()
    assert page.locator("#apart dt").all_inner_texts()[2] == "pine"
    found = describe_group(comparison.frame[["height"]], comparison.labels == 2)
    mean, others = found.loc["height", ["group", "others"]]
    words = f"height higher (mean {mean:.3g}, others {others:.3g})."
    assert entries.nth(2).inner_text() == words
    page.get_by_label("Colour by").select_option("height")
    fold.wait_for(state="hidden")
    page.get_by_label("Colour by").select_option("kind")
    fold.locator("summary").click()


def test_a_lasso_in_one_panel_selects_in_all(page):
    before = paint(page)
    drag_around(page, 0.55)
    page.locator("#selected:not(:empty)").wait_for()
    words = page.locator("#selected").inner_text()
    chosen = int(words.split()[0])
    assert 30 <= chosen <= 60
    assert f"of {N} selected: {UNSAFE} " in words
    until(page, lambda: fainter(page, before, 0.7))
    rows = saved_rows(page)
    assert len(rows) == chosen
    assert rows["height"].equals(
        np.round(rows["height"] * 7).div(7)
    )  # to the last digit
    inside = PLACES[0][rows["row"].str.removeprefix("tree ").astype(int)]
    assert inside[:, 0].min() > 5000
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


def saved_rows(page):
    """Save what is selected, and read the file."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Save rows as CSV").click()
    assert download.value.suggested_filename == "rows.csv"
    return pd.read_csv(download.value.path())


def test_rows_of_one_class_can_be_saved_by_the_keyboard(page):
    pine = page.get_by_role("button", name="pine")
    pine.focus()
    page.keyboard.press("Shift+Enter")
    page.locator("#legend button[aria-pressed=false]").nth(1).wait_for()
    rows = saved_rows(page)
    assert list(rows.columns) == ["row", "kind", UNSAFE, "height"]
    assert set(rows["kind"]) == {"pine"}
    assert len(rows) == 40
    page.locator("#legend button").nth(0).click()
    page.locator("#legend button").nth(1).click()


def test_chosen_rows_are_told_apart_as_describe_group_does(page, comparison):
    words = page.locator("#traits")
    assert words.inner_text().startswith("Select rows, or show one class alone")
    pine = page.get_by_role("button", name="pine")
    pine.focus()
    page.keyboard.press("Shift+Enter")
    page.locator("#traits b").wait_for()
    found = describe_group(comparison.frame[["height"]], comparison.labels == 2)
    mean, others = found.loc["height", ["group", "others"]]
    assert words.inner_text() == (
        f"What sets them apart: height higher (mean {mean:.3g}, others {others:.3g})."
    )
    page.locator("#legend button").nth(0).click()
    page.locator("#legend button").nth(1).click()
    drag_around(page, 0.55)
    page.locator("#traits b").first.wait_for()
    assert f"kind “{UNSAFE}” more often (" in words.inner_text()
    page.keyboard.press("Escape")
    page.locator("#traits b").first.wait_for(state="detached")


def test_numbers_are_coloured_by_a_scale(page):
    before = paint(page)
    page.get_by_label("Colour by").select_option("height")
    page.locator(".scale").wait_for()
    assert page.locator(".scale").inner_text().split() == ["≤", "0.2857", "≥", "16.71"]
    assert page.locator("#legend button").count() == 0
    until(page, lambda: paint(page) != before)
    page.get_by_label("Colour by").select_option("kind")
    until(page, lambda: paint(page) == before)


def test_a_box_zooms_and_two_clicks_go_back(page):
    def sides():
        views = page.locator(".plot").evaluate_all(
            "all => all.map(b => b.dataset.view)"
        )
        return [float(view.split()[2]) for view in views]

    before = sides()
    page.get_by_role("button", name="Zoom").click()
    drag(page, (0.5, 0.6), (0.96, 0.98))
    until(page, lambda: sides()[0] < 0.6 * before[0])
    assert sides()[1:] == before[1:]  # the other panels are as before
    box = page.locator(".plot").first.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    sample = int(np.argmax(PLACES[0][:, 0]))
    across, down = spot(page, 0, sample)
    if box["x"] < across < box["x"] + box["width"]:
        page.mouse.move(across, down)
        page.locator("#tip").wait_for()
        np.testing.assert_allclose(rings(page)[0], (across, down), atol=1.5)

    def goes_back():  # two clicks that a busy machine sends apart are no double click
        page.mouse.dblclick(box["x"] + 20, box["y"] + 20)
        return sides() == before

    until(page, goes_back)
    page.get_by_role("button", name="Lasso").click()


def test_the_table_sorts_both_ways_and_the_empty_cells_stay_last(page):
    first = "rows => rows.map(row => row.querySelector('b').textContent)"
    order = lambda: page.locator("#scores-table tbody tr").evaluate_all(first)  # noqa: E731
    button = page.get_by_role("button", name="Held-out accuracy")
    assert order() == ["eigenmaps", "ELAP", "PELLE", "t-SNE"]
    button.click()
    assert order() == ["PELLE", "ELAP", "eigenmaps", "t-SNE"]
    page.get_by_role("button", name="Method").click()
    assert order() == sorted(order(), key=str.lower)


def test_the_curves_have_a_point_for_every_size(page):
    chart = page.locator(".chart")
    titles = chart.locator("circle title").all_text_contents()
    assert len(titles) == 9
    assert "ELAP, K = 20: 0.800 ± 0.010" in titles
    lines = chart.locator(".line > path").evaluate_all(
        "all => all.map(getComputedStyle).map(s => [s.stroke, s.strokeDasharray])"
    )
    assert lines[0][0] == lines[1][0] != lines[2][0]  # a twin shares the colour
    assert [dash != "none" for _, dash in lines] == [True, False, False]


def test_colours_follow_dark_and_light_while_the_page_is_open(page):
    light = painted(page, 0)
    color = "getComputedStyle(document.querySelector('#legend svg')).fill"
    before = page.evaluate(color)
    assert light > 1000
    page.emulate_media(color_scheme="dark")
    until(page, lambda: page.evaluate(color) != before)
    until(page, lambda: painted(page, 0) > 1000)
    page.emulate_media(color_scheme="light")
    until(page, lambda: (page.evaluate(color), painted(page, 0)) == (before, light))


def test_pictures_follow_the_width_of_the_page(page):
    """There are as many columns as there is room, and points in each."""
    for width, columns in ((1280, 4), (700, 2), (390, 1), (1280, 4)):
        page.set_viewport_size({"width": width, "height": 900})
        lefts = "all => all.map(box => box.getBoundingClientRect().left)"
        places = partial(page.locator(".plot").evaluate_all, lefts)
        until(page, lambda n=columns, at=places: len(set(at())) == min(n, 3))
        until(page, lambda: all(count > 500 for count in paint(page)))
        assert page.evaluate("document.documentElement.scrollWidth") <= width


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
    # Words on the selection may need a line more; a swipe would scroll 200 pixels.
    assert abs(page.evaluate("scrollY") - before) < 60


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


def test_a_browser_that_cannot_unpack_says_so_and_shows_the_tables(
    open_page, address, tmp_path
):
    script = tmp_path / "old.js"
    script.write_text("delete window.DecompressionStream;")
    page = open_page(address, script=script)
    page.locator("#wait", has_text="this browser cannot unpack them").wait_for()
    assert page.locator(".plot:visible").count() == 0
    page.get_by_role("button", name="Silhouette").click()
    assert page.locator("#scores-table tbody b").first.inner_text() == "eigenmaps"


def test_fifteen_classes_look_different_and_keep_their_names(
    open_page, comparison, tmp_path
):
    names = [f"<b>{k}</b> & $x^{k}$" for k in range(15)]
    found = replace(comparison, labels=np.arange(N) % 15, class_names=names)
    found.save(tmp_path / "report.html")
    page = drawn(open_page((tmp_path / "report.html").as_uri()))
    shown = page.locator("#legend button span:not(.count)").all_inner_texts()
    assert shown == names
    looks = page.locator("#legend svg").evaluate_all(
        "all => all.map(s => getComputedStyle(s).fill + s.firstChild.getAttribute('d'))"
    )
    assert len(set(looks)) == 15
    assert painted(page, 0) > 1000
    page.mouse.move(*spot(page, 2, 7))
    page.locator("#tip").wait_for()
    assert names[7] in page.locator("#tip").inner_text()


@pytest.mark.parametrize(
    ("step", "zone", "form"),
    [("D", None, "%Y-%m-%d"), ("min", "Asia/Tokyo", "%Y-%m-%d %H:%M:%S")],
)
def test_dates_are_coloured_by_a_scale_and_read_as_dates(
    open_page, comparison, tmp_path, step, zone, form
):
    """A date is no text, whose colours would mean nothing."""
    days = pd.Series(pd.date_range("2020-01-01", periods=N, freq=step, tz=zone))
    days[3] = pd.NaT
    frame = comparison.frame.assign(local=days)
    replace(comparison, frame=frame).save(tmp_path / "report.html")
    page = drawn(open_page((tmp_path / "report.html").as_uri()))
    page.get_by_label("Colour by").select_option("local")
    page.locator(".scale").wait_for()
    known = days.dropna().dt.strftime(form)
    low, high = (known.iloc[int(share * (N - 1))] for share in (0.02, 0.98))
    assert page.locator(".scale span").all_inner_texts()[:2] == [
        f"≤ {low}",
        f"≥ {high}",
    ]
    page.mouse.move(*spot(page, 2, 7))
    page.locator("#tip").wait_for()
    assert days[7].strftime(form) in page.locator("#tip").inner_text()
    page.get_by_label("Colour by").select_option("kind")
    page.get_by_role("button", name="pine").focus()
    page.keyboard.press("Shift+Enter")
    page.locator("#traits b").first.wait_for()
    assert "local later (mean 2020-" in page.locator("#traits").inner_text()
    rows = saved_rows(page)
    assert rows["local"].iloc[0] == days[comparison.labels == 2].iloc[0].strftime(form)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_names_and_contrast_are_as_axe_wants_them(
    open_page, address, violations, scheme, width
):
    options = {"color_scheme": scheme, "bypass_csp": True}
    page = drawn(open_page(address, width=width, **options))
    assert violations(page) == []


def test_a_report_without_classes_is_as_high_as_its_page_in_a_notebook(
    open_page, comparison, tmp_path
):
    found = replace(comparison, labels=None, class_names=[], target="")
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!doctype html>{found._repr_html_()}", "utf-8")
    page = open_page(cell.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("#wait").wait_for(state="hidden")
    inner = frame.locator("html")

    def fits():
        needed = inner.evaluate("root => root.scrollHeight - root.clientHeight")
        return needed <= 0

    until(page, fits)
    assert page.locator("iframe").bounding_box()["height"] > 1000
    assert frame.locator("#colour option").all_inner_texts() == [
        "nothing",
        UNSAFE,
        "height",
    ]
    pixels = imread(io.BytesIO(frame.locator(".plot").first.screenshot()))[..., :3]
    assert (np.ptp(pixels, axis=2) > 0.25).sum() > 1000
