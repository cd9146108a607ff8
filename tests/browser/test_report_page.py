"""The report in a browser: points, hover, legend, lasso, sorting, nothing unsafe."""

import numpy as np
import pandas as pd
import pytest

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
def address(tmp_path_factory):
    rng = np.random.default_rng(0)
    results = [
        result("ELAP", "patch", rng, 0.8, twin="eigenmaps"),
        result("eigenmaps", "twin", rng, 0.9),
        result("PELLE", "patch", rng, 0.7, remarks=(UNSAFE,)),
        Result("tsne", "t-SNE", kind="other", failure=UNSAFE),
    ]
    comparison = Comparison(
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
    path = tmp_path_factory.mktemp("report") / "report.html"
    comparison.save(path)
    return path.as_uri()


def painted(page, panel):
    """Count the pixels of a panel that have a point on them."""
    return page.evaluate(
        """panel => {
            const c = document.querySelectorAll(".plot")[panel].firstChild;
            const data = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
            return data.filter((value, at) => at % 4 === 3 && value > 100).length;
        }""",
        panel,
    )


def spot(page, panel, sample):
    """Return where a sample is on the screen."""
    page.locator(".plot").nth(panel).scroll_into_view_if_needed()
    return page.evaluate(
        """([panel, sample]) => {
            const box = document.querySelectorAll(".plot")[panel];
            const rect = box.getBoundingClientRect(), size = box.clientWidth;
            const data = JSON.parse(document.getElementById("data").textContent);
            const at = (v) => 12 + (v / 9999) * (size - 24);
            const { x, y } = data.panels[panel];
            return [rect.left + 1 + at(x[sample]), rect.top + 1 + at(y[sample])];
        }""",
        [panel, sample],
    )


def test_points_are_drawn_and_names_do_nothing(open_page, address):
    page = open_page(address)
    assert page.locator(".plot").count() == 3
    assert all(painted(page, panel) > 500 for panel in range(3))
    assert page.locator("h1").inner_text() == UNSAFE
    assert page.locator("img").count() == 0
    assert UNSAFE in page.locator("#warnings + ul").inner_text()
    assert f"failed: {UNSAFE}" in page.locator("#scores-table").inner_text()


def test_hover_shows_the_sample_and_rings_it_in_every_panel(open_page, address):
    page = open_page(address)
    ringed = """() => [...document.querySelectorAll(".plot canvas:last-of-type")].map(
        c => c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some(v => v))
    """
    assert page.evaluate(ringed) == [False] * 3
    page.mouse.move(*spot(page, 1, 45))
    tip = page.locator("#tip")
    assert tip.is_visible()
    words = tip.inner_text()
    assert words.startswith("tree ")
    assert "height" in words
    assert UNSAFE in words
    assert page.evaluate(ringed) == [True] * 3
    page.mouse.move(5, 5)
    assert not tip.is_visible()


def test_the_legend_hides_a_class_in_every_panel(open_page, address):
    page = open_page(address)
    before = [painted(page, panel) for panel in range(3)]
    oak = page.get_by_role("button", name="oak")
    oak.click()
    assert oak.get_attribute("aria-pressed") == "false"
    hidden = [painted(page, panel) for panel in range(3)]
    assert all(less < 0.8 * more for less, more in zip(hidden, before, strict=True))
    oak.click()
    assert [painted(page, panel) for panel in range(3)] == before
    page.get_by_role("button", name="pine").click(modifiers=["Shift"])
    pressed = page.locator("#legend button").evaluate_all(
        "all => all.map(b => b.getAttribute('aria-pressed'))"
    )
    assert pressed == ["false", "false", "true"]


def test_a_lasso_in_one_panel_selects_in_all(open_page, address):
    page = open_page(address)
    before = [painted(page, panel) for panel in range(3)]
    box = page.locator(".plot").first.bounding_box()
    corners = [(0.55, 0.02), (0.98, 0.02), (0.98, 0.98), (0.55, 0.98)]
    places = [
        (box["x"] + u * box["width"], box["y"] + v * box["height"]) for u, v in corners
    ]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=3)
    page.mouse.up()
    words = page.locator("#selected").inner_text()
    chosen = int(words.split()[0])
    assert 30 <= chosen <= 60
    assert f"of {N} selected: {UNSAFE} " in words
    faint = [painted(page, panel) for panel in range(3)]
    assert all(less < 0.7 * more for less, more in zip(faint, before, strict=True))
    page.keyboard.press("Escape")
    assert page.locator("#selected").inner_text() == ""
    assert [painted(page, panel) for panel in range(3)] == before


def test_the_table_sorts_both_ways_and_the_empty_cells_stay_last(open_page, address):
    page = open_page(address)
    first = "rows => rows.map(row => row.querySelector('b').textContent)"
    order = lambda: page.locator("#scores-table tbody tr").evaluate_all(first)  # noqa: E731
    button = page.get_by_role("button", name="Held-out accuracy")
    button.click()
    assert order() == ["eigenmaps", "ELAP", "PELLE", "t-SNE"]
    button.click()
    assert order() == ["PELLE", "ELAP", "eigenmaps", "t-SNE"]
    page.get_by_role("button", name="Method").click()
    assert order() == sorted(order(), key=str.lower)


def test_the_curves_have_a_point_for_every_size(open_page, address):
    page = open_page(address)
    dots = page.locator("#curves path[tabindex]")
    assert dots.count() == 9
    label = "ELAP, K = 20: 0.800 ± 0.010"
    dot = page.locator(f"#curves path[aria-label='{label}']")
    dot.scroll_into_view_if_needed()
    dot.hover()
    assert page.locator("#tip").inner_text() == label
    lines = page.locator("#curves path:not([tabindex])")
    drawn = lines.evaluate_all(
        "all => all.map(p => [p.parentNode.getAttribute('stroke'),"
        " p.getAttribute('stroke-dasharray')])"
    )
    assert drawn[0][0] == drawn[1][0] != drawn[2][0]  # a twin shares the colour
    assert [dash for _, dash in drawn] == ["none", "6 4", "none"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_needs_no_sideways_scrolling(open_page, address, scheme):
    page = open_page(address, width=390, color_scheme=scheme, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert painted(page, 0) > 200
    page.touchscreen.tap(*spot(page, 0, 3))
    assert page.locator("#tip").inner_text().startswith("tree ")
