"""The demo: a table of eight methods, a picture, nothing left behind on failure."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.metrics import silhouette_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import patchfold as pf
from patchfold.studies import demo

PNG = b"\x89PNG\r\n\x1a\n"


def rows(text):
    """Return the table's rows as {name: numbers}."""
    table = text.split("-" * 10)[-1].split("\n\n")[0].splitlines()[1:]
    return {line[:24].strip(): [float(x) for x in line[24:].split()] for line in table}


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Run the whole demo once; return its folder and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error")
        lines: list[str] = []
        patch.setattr(
            "builtins.print",
            lambda *a, sep=" ", **k: lines.append(sep.join(map(str, a))),
        )
        status = demo.main(["--out", str(folder / "wine.png")])
    return status, folder, "\n".join(lines)


def test_writes_one_picture_and_nothing_else(printed):
    status, folder, _ = printed
    assert status == 0
    assert [path.name for path in folder.iterdir()] == ["wine.png"]
    content = (folder / "wine.png").read_bytes()
    assert content.startswith(PNG)
    assert 50_000 < len(content) < 300_000


def test_prints_a_row_for_each_of_eight_methods(printed):
    table = rows(printed[2])
    assert list(table) == [
        "ISOMAP-KL",
        "ELAP [a]",
        "PELLE",
        "KLAP [b]",
        "Cauchy [c]",
        "Isomap",
        "Laplacian eigenmaps",
        "LLE",
    ]
    numbers = np.array(list(table.values()))
    assert numbers.shape == (8, 3)
    assert (np.abs(numbers[:, 0]) <= 1).all()
    assert (numbers[:, 1] > 0.7).all()
    assert (numbers[:, 2] > 0).all()


def test_lines_fit_a_terminal_and_no_warning_was_given(printed):
    *lines, _, where = printed[2].splitlines()
    assert where.startswith("Picture: ")
    assert max(map(len, lines)) <= 80
    assert "warning" not in printed[2].lower()


def test_permuted_labels_look_perfect_and_predict_nothing(printed):
    control = printed[2].split("a control:")[1].split()
    silhouette, held_out = float(control[1].rstrip(",")), float(control[3])
    assert silhouette > 0.9
    assert held_out < 0.45


def test_scores_are_those_of_a_plain_pipeline():
    X, y = load_wine(return_X_y=True)
    method = pf.isomap_kl(n_neighbors=20)
    result = demo.measure(method, X, y)
    pipeline = make_pipeline(StandardScaler(), method, KNeighborsClassifier(7))
    assert result.held_out == cross_val_score(pipeline, X, y).mean()
    embedding = method.fit_transform(StandardScaler().fit_transform(X))
    assert np.array_equal(result.embedding, embedding)
    assert result.silhouette == silhouette_score(embedding, y)
    assert result.remarks == ()


def test_warnings_are_kept_as_remarks():
    X, y = load_wine(return_X_y=True)
    remarks = demo.measure(pf.elap(n_neighbors=20), X, y).remarks
    assert any(r.startswith("VanishingWeightsWarning: kernel_width=1") for r in remarks)


@pytest.fixture
def quick(monkeypatch):
    """Replace the measuring by made-up numbers with one remark each."""
    embedding = np.random.default_rng(0).normal(size=(178, 2))
    result = demo.Result(embedding, 0.5, 0.9, 0.1, ("SomeWarning: mind this",))
    monkeypatch.setattr(demo, "measure", lambda *_: result)


@pytest.mark.usefixtures("quick")
def test_a_warning_is_one_plain_line_under_the_table(tmp_path, capsys):
    assert demo.main(["--out", str(tmp_path / "a.png")]) == 0
    output = capsys.readouterr()
    assert "warning, ELAP: SomeWarning: mind this" in output.out.splitlines()
    assert output.err == ""


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
