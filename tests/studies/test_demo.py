"""The demo: a table of four methods, a picture, nothing left behind on failure."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

import patchfold as pf
from patchfold.studies import demo

PNG = b"\x89PNG\r\n\x1a\n"

X, Y = (part[:400] for part in load_digits(return_X_y=True))


def few_methods():
    """Return the methods in quick versions: UMAP would compile itself."""
    return [
        demo.Method("t-SNE", TSNE(max_iter=250, random_state=0)),
        demo.Method("CauchyMap", pf.CauchyMap()),
        demo.Method("PatchPosterior", pf.PatchPosterior(), "labels", True),
    ]


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Run the demo once on 400 digits; return its folder and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error")
        lines: list[str] = []
        patch.setattr(
            "builtins.print",
            lambda *a, sep=" ", **k: lines.append(sep.join(map(str, a))),
        )
        patch.setattr(demo, "methods", few_methods)
        patch.setattr(demo, "load_digits", lambda **_: (X, Y))
        status = demo.main(["--out", str(folder / "digits.png")])
    return status, folder, "\n".join(lines)


def test_writes_one_picture_and_nothing_else(printed):
    status, folder, _ = printed
    assert status == 0
    assert [path.name for path in folder.iterdir()] == ["digits.png"]
    content = (folder / "digits.png").read_bytes()
    assert content.startswith(PNG)
    assert 30_000 < len(content) < 300_000


def test_prints_a_row_for_each_method(printed):
    table = printed[2].split("-" * 10)[-1].split("\n\n")[0].splitlines()[1:]
    rows = {line[:20].strip(): [float(x) for x in line[20:].split()] for line in table}
    assert list(rows) == ["t-SNE", "CauchyMap", "PatchPosterior"]
    assert [len(numbers) for numbers in rows.values()] == [2, 3, 2]
    kept, held_out, _ = rows["CauchyMap"]
    assert 0.5 < kept < 1
    assert 0.8 < held_out < 1
    assert 0.8 < rows["PatchPosterior"][0] < 1


def test_lines_fit_a_terminal_and_say_that_umap_is_missing(printed):
    *lines, _, where = printed[2].splitlines()
    assert where.startswith("Picture: ")
    assert max(map(len, lines)) <= 88
    assert 'UMAP is not installed: pip install "patchfold[demo]"' in printed[2]


def test_held_out_samples_were_not_in_the_fit():
    for method in few_methods()[1:]:
        result = demo.measure(method, X, Y)
        known, new, y_known, y_new = train_test_split(
            X, Y, test_size=0.5, stratify=Y, random_state=0
        )
        model = method.estimator.fit(known, y_known if method.has_labels else None)
        classifier = KNeighborsClassifier(7).fit(model.embedding_, y_known)
        assert result.held_out == classifier.score(model.transform(new), y_new)
        drawn = model.transform(new) if method.has_labels else model.fit_transform(X)
        assert np.array_equal(result.embedding, drawn)


@pytest.fixture
def quick(monkeypatch):
    """Replace the measuring by made-up numbers."""
    embedding = np.random.default_rng(0).normal(size=(Y.size, 2))
    result = demo.Result(embedding, Y, 0.5, 0.9, 0.1)
    monkeypatch.setattr(demo, "measure", lambda *_: result)
    monkeypatch.setattr(demo, "methods", few_methods)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", ["a.pdf", "a.svg", "A.PNG"])
def test_other_formats(tmp_path, name):
    assert demo.main(["--out", str(tmp_path / name)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("missing/a.png", "cannot write {}/missing/a.png: No such file or directory"),
        ("file/a.png", "cannot write {}/file/a.png: Not a directory"),
        ("folder.png", "cannot write {}/folder.png: it is a folder."),
        ("a.docx", "--out must end in .png, .pdf, .svg. Got {}/a.docx instead."),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_at_once(
    tmp_path, capsys, monkeypatch, out, message
):
    (tmp_path / "file").touch()
    (tmp_path / "folder.png").mkdir()
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(demo, "run", lambda: pytest.fail("work was done first"))
    assert demo.main(["--out", str(tmp_path / out)]) == 2
    output = capsys.readouterr()
    assert message.format(tmp_path) in output.err
    assert output.err.count("\n") == 1
    assert output.out == ""
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("quick")
def test_a_failing_write_leaves_the_old_picture_alone(tmp_path, capsys, monkeypatch):
    picture = tmp_path / "a.png"
    picture.write_bytes(b"old")

    def fill_the_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fill_the_disk)
    assert demo.main(["--out", str(picture)]) == 2
    assert "a.png: No space left on device." in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
    assert picture.read_bytes() == b"old"


def test_without_matplotlib_one_line_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert demo.main([]) == 2
    assert 'pip install "patchfold[plot]"' in capsys.readouterr().err
