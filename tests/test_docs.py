"""The documentation: every page is reachable, alike where it should be, and true."""

import fnmatch
import importlib.util
import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

import patchfold as pf

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BUILT = {"api", "auto_gallery"}
PAGES = {
    str(page.relative_to(DOCS).with_suffix("")): page.read_text("utf-8")
    for page in sorted(DOCS.rglob("*.md"))
    if not BUILT & set(page.relative_to(DOCS).parts)
}
METHODS = [name for name in PAGES if re.fullmatch(r"methods/(?!index).*", name)]
GALLERY = sorted((DOCS / "gallery").glob("plot_*.py"))
HEADINGS = [
    "Idea",
    "Formula",
    "Picture",
    "Cost",
    "When it fails",
    "How ours differs",
    "Reference",
]


def entries(page):
    """Return what the tables of contents of a page list, from the folder of docs."""
    folder = Path(page).parent
    for block in re.findall(r"```\{toctree\}\n(.*?)```", PAGES[page], re.DOTALL):
        for line in block.splitlines():
            if line and not line.startswith(":"):
                yield str(folder / line)


def test_every_page_is_in_a_table_of_contents_and_every_entry_is_a_page():
    listed = {entry for page in PAGES for entry in entries(page)}
    for page in PAGES.keys() - {"index"}:
        assert any(fnmatch.fnmatch(page, entry) for entry in listed), page
    for entry in listed:
        if "*" not in entry and entry != "auto_gallery/index":
            assert entry in PAGES, entry


@pytest.mark.parametrize("page", METHODS)
def test_method_pages_have_the_same_headings(page):
    assert re.findall(r"^## (.*)$", PAGES[page], re.MULTILINE) == HEADINGS
    assert re.match(r"# .+\n\nUse it ", PAGES[page]), "when to use it comes first"


@pytest.mark.parametrize("page", [*METHODS, "methods/index"])
def test_fractions_have_braces(page):
    r"""Docutils reads \frac12 x as 12 over x."""
    assert not re.search(r"\\[td]?frac(?!\{[^}]*\}\{|\{\\)", PAGES[page])


def test_every_method_has_a_page():
    assert len(METHODS) == 8
    listed = set(entries("methods/index"))
    assert listed == set(METHODS)


@pytest.mark.parametrize("page", [*PAGES, "../README", "../CONTRIBUTING"])
def test_links_to_files_lead_somewhere(page):
    path = (DOCS / page).with_suffix(".md")
    text = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", text):
        if "auto_gallery" not in target:
            assert (path.parent / target).exists(), f"{page} links to {target}"


@pytest.mark.parametrize(
    ("folder", "program"), [("methods", "make_pictures"), ("cards", "make_cards")]
)
def test_pictures_are_drawn_by_the_script_shown_on_a_page_and_small(folder, program):
    drawn = pictures(program).PICTURES
    there = {path.stem for path in (DOCS / "images" / folder).glob("*.png")}
    shown = set(re.findall(rf"images/{folder}/(\w+)\.png", "".join(PAGES.values())))
    assert there == shown == set(drawn)
    for path in [*(DOCS / "images" / folder).iterdir(), DOCS / "images/first.png"]:
        assert path.stat().st_size < 100_000, path


@pytest.mark.parametrize("name", ["cauchy", "pipeline"])
def test_a_picture_can_be_drawn_again(name):
    figure = pictures().PICTURES[name]()
    assert isinstance(figure, Figure)
    assert len([ax for ax in figure.axes if ax.get_title(loc="left")]) == 3


def pictures(program="make_pictures"):
    """Import a program of docs."""
    spec = importlib.util.spec_from_file_location("pics", DOCS / f"{program}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_gallery_programs_run_and_draw(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    plt.close("all")
    runpy.run_path(str(path))
    assert plt.get_fignums()
    assert re.match(r'"""\n(.+)\n=+\n\n', path.read_text("utf-8")), "no title"
    plt.close("all")


def test_the_reference_lists_every_public_name():
    listed = set(re.findall(r"^   ([\w.]+)$", PAGES["api"], re.MULTILINE))
    public = {name for name in pf.__all__ if callable(getattr(pf, name))}
    public |= {"tables.describe", "tables.read_table"}  # the rest is for the commands
    for module in ("cluster", "datasets", "metrics", "plotting"):
        for name in getattr(pf, module).__all__:
            if callable(getattr(getattr(pf, module), name)):
                public.add(f"{module}.{name}")
    left_out = {
        "datasets.CatalogueRow",
        "datasets.Cities",
        "datasets.DatasetChangedError",
        "datasets.DatasetShapeWarning",
        "datasets.DatasetUnavailableError",
        "plotting.check_matplotlib",
    }
    public |= {f"posterior.plotting.plot_{what}" for what in ("columns", "explanation")}
    assert public - left_out == listed
