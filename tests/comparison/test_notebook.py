"""A notebook, run by nbclient: what cells show, and how large that is."""

import sys

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CELLS = (
    "import patchfold as pf\n"
    "from sklearn.datasets import load_wine\n"
    "wine = load_wine(as_frame=True)\n"
    "found = pf.compare(wine.frame, 'target', methods=['posterior', 'pca'])\n"
    "found",
    "print(found)",
    "model = pf.PatchPosterior().fit(wine.data, wine.target)\nmodel",
    "model.explain(wine.data.iloc[[0]])",
    "model.explain_class(1)",
    "pf.select_n_neighbors(pf.isomap_kl(), wine.data, candidates=[10, 20])",
    "pf.CauchyMap(verbose=True).fit(wine.data)\nprint('end')",
)


@pytest.fixture(scope="module")
def cells():
    """Return the cells with their outputs."""
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    kernel = {"name": "python3", "display_name": "Python", "language": "python"}
    book.metadata["kernelspec"] = kernel
    client = nbclient.NotebookClient(book, timeout=300, kernel_name="python3")
    client.create_kernel_manager()
    spec = client.km.kernel_spec
    spec.argv = [sys.executable, *spec.argv[1:]]
    client.execute()
    return book.cells


@pytest.fixture(scope="module")
def shown(cells):
    """Return what each cell shows last, by the type of it."""
    outputs = []
    for cell in cells:
        last = cell.outputs[-1]
        outputs.append(dict(last.get("data", {"text/plain": last.get("text", "")})))
    return outputs


def test_a_comparison_is_a_frame_that_is_small(shown):
    page = shown[0]["text/html"]
    assert page.startswith("<iframe data-patchfold srcdoc=")
    assert len(page) < 200_000
    assert "held-out rows correctly" in shown[1]["text/plain"]


def test_estimators_and_explanations_are_readable(shown):
    assert "PatchPosterior" in shown[2]["text/html"]
    words = shown[3]["text/plain"]
    assert words.startswith("0: p = 1.000\n")
    assert "proline" in words
    assert "<table" in shown[4]["text/html"]
    assert "color_intensity" in shown[4]["text/html"]
    lines = shown[5]["text/plain"].splitlines()
    assert lines[0].startswith("trustworthiness by n_neighbors")
    assert sum(line.endswith("best") for line in lines) == 1


def test_progress_is_drawn_without_warnings(cells):
    said = "".join(
        output.get("text", "") + output.get("data", {}).get("text/plain", "")
        for cell in (cells[0], cells[-1])
        for output in cell.outputs
    )
    assert said.count("compare: methods (1 of 1), ") == 1
    assert said.count("CauchyMap: coordinates (3 of 3), ") == 1
    assert "Warning" not in said
    assert "[#" not in said, "the bar is taken away"
    assert len(said) < 500
