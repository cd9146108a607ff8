"""The report of `reproduce` in a browser: wide, on a phone, light and dark."""

import pytest

from patchfold.studies.reproduction.documents import (
    Answer,
    Command,
    Grid,
    Heading,
    Image,
    Items,
    Link,
    Paragraph,
)
from patchfold.studies.reproduction.page import as_html

UNSAFE = "<img src=x onerror=alert(1)>"
METHODS = [f"a method of the table, number {k}" for k in range(12)]
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8ffff3f0005fe02fe0def46b80000000049454e44ae426082"
)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    lines = [["dataset", *METHODS], [UNSAFE, *["0.913 (K=12) [0.906]"] * 11, ""]]
    blocks = [
        Heading("A paper, run again", 1),
        Answer("Does it come out again?", f"Yes {UNSAFE}.", "Nearly."),
        Heading("Why the numbers differ"),
        Items(("One reason.", UNSAFE)),
        Link("The method's page", "methods/elap"),
        Image("Ranks", PIXEL),
        Heading("Every number"),
        Heading("Table 1", 3, folded=True),
        Paragraph("Ours [as printed]."),
        Grid(lines),
        Heading("Table 2", 3, folded=True),
        Grid(lines),
        Command(f"patchfold reproduce '{UNSAFE}'", {"Python": "3"}),
    ]
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(as_html(blocks), "utf-8")
    return path.as_uri()


def test_the_command_that_repeats_it_is_not_folded(open_page, address):
    page = open_page(address)
    page.get_by_role("heading", name="To repeat it").wait_for(state="visible")


def test_on_a_phone_each_line_is_a_card_that_names_its_cells(open_page, address):
    page = open_page(address, width=390)
    page.get_by_role("heading", name="Table 1").click()
    table = page.get_by_role("table").first
    table.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert table.bounding_box()["width"] <= 390
    cells = table.get_by_role("cell")
    assert cells.count() == 11  # the empty one is not shown
    first, second = (cells.nth(k).bounding_box() for k in (0, 1))
    assert first["y"] + first["height"] <= second["y"] + 1
    name = cells.first.evaluate("cell => getComputedStyle(cell, '::before').content")
    assert name == f'"{METHODS[0]}"'


def test_a_wide_table_scrolls_within_the_page_and_keeps_the_names_of_sets(
    open_page, address
):
    page = open_page(address, width=1280)
    assert page.get_by_role("table").count() == 0  # folded
    page.get_by_role("heading", name="Table 2").click()
    head = page.get_by_role("rowheader").first
    head.wait_for()
    before = head.bounding_box()["x"]
    page.locator("details[open] .wide").evaluate("part => { part.scrollLeft = 300; }")
    assert head.bounding_box()["x"] == pytest.approx(before, abs=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert page.locator("img").count() == 1
    assert page.locator("img").evaluate("image => image.naturalWidth") == 1
    assert UNSAFE in page.locator(".verdict").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_names_and_contrast_are_as_axe_wants_them(
    open_page, address, violations, scheme, width
):
    options = {"color_scheme": scheme, "bypass_csp": True}
    assert violations(open_page(address, width=width, **options)) == []
