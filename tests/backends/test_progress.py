"""Progress of a fit: stages and times, in lines, on bars and by calls."""

import re
import sys
from itertools import pairwise

import numpy as np
import pexpect
import pytest
from helpers.estimators import ESTIMATORS

import patchfold as pf
from patchfold.backends import displays, progress
from patchfold.backends.progress import Progress, in_notebook

DRAW = np.random.default_rng(0)
X, y = DRAW.normal(size=(90, 3)), np.arange(90) % 3


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.PatchfoldWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_fit_tells_its_stages_in_order(name):
    told = []
    model = ESTIMATORS[name](n_neighbors=8, verbose=told.append).fit(X, y)
    assert {step.estimator for step in told} == {type(model).__name__}
    ended = [step for step in told if step.done == 1]
    assert [step.number for step in ended] == [*range(1, ended[0].n_stages + 1)]
    assert all(step.seconds >= 0 for step in told)
    for before, after in pairwise(told):
        assert (before.number, before.done) <= (after.number, after.done)
    quiet = ESTIMATORS[name](n_neighbors=8).fit(X, y)
    np.testing.assert_array_equal(model.embedding_, quiet.embedding_)


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.PatchfoldWarning")
def test_lines_say_what_was_encoded_and_how_long_stages_took(capsys):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=np.array(list("xyz"))[y])
    pf.CauchyMap(verbose=True).fit(frame)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "CauchyMap: 3 numbers, 1 category encoded as 6 numbers"
    for number, stage in enumerate(("neighbours", "edges", "coordinates"), start=1):
        expected = rf"CauchyMap: {stage} \({number} of 3\), \d+\.\d\d s"
        assert re.fullmatch(expected, lines[number])
    pf.CauchyMap().fit(frame)
    assert capsys.readouterr().out == ""


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.PatchfoldWarning")
@pytest.mark.parametrize(
    ("name", "where"), [("CauchyMap", "at the mean"), ("PatchPosterior", "left out")]
)
def test_the_line_says_what_becomes_of_gaps(name, where, capsys):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=np.array(list("xyz"))[y])
    frame.loc[3, ["a", "kind"]] = None
    getattr(pf, name)(verbose=True).fit(frame, y)
    line = capsys.readouterr().out.splitlines()[0]
    assert line.endswith(f"encoded as 6 numbers; gaps in 2 of them are {where}")


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.PatchfoldWarning")
def test_fits_inside_a_fit_tell_nothing():
    told = []
    pf.PatchIsomap(n_neighbors="auto", verbose=told.append).fit(X)
    assert len([step for step in told if step.done == 1]) == 4


def test_an_error_ends_the_report():
    told = []
    with pytest.raises(ValueError, match="NaN"):
        pf.CauchyMap(verbose=told.append).fit(np.full((20, 2), np.nan))
    pf.CauchyMap(verbose=told.append).fit(X)
    assert told[-1].stage == "coordinates"


def test_another_verbose_is_refused():
    with pytest.raises(ValueError, match="'verbose' parameter of CauchyMap must be"):
        pf.CauchyMap(verbose="loud").fit(X)


@pytest.mark.parametrize("hidden", ["", "rich"])
def test_a_bar_is_drawn_on_a_terminal(hidden):
    pytest.importorskip("tqdm" if hidden else "rich")
    hide = f"displays.find_spec = lambda name: None if name == {hidden!r} else 1"
    code = (
        "import numpy as np, patchfold as pf; from patchfold.backends import displays; "
        f"{hide}; X = np.random.default_rng(0).normal(size=(300, 3)); "
        "pf.CauchyMap(verbose=True).fit(X)"
    )
    shown = pexpect.run(f'{sys.executable} -c "{code}"', timeout=120).decode()
    assert re.search(r"CauchyMap: coordinates \(3 of 3\), \d+\.\d\d s\r\n", shown)
    assert re.search(r"CauchyMap: coordinates .*\d\d ?%", shown)


def test_a_notebook_has_a_bar_in_the_output_of_its_cell(monkeypatch):
    pytest.importorskip("IPython")
    drawn = []

    class Output:
        def update(self, data, *, raw):
            drawn.append(data["text/plain"])

    monkeypatch.setattr("IPython.display.display", lambda data, **how: Output())
    monkeypatch.setattr(displays, "in_notebook", lambda: True)
    monkeypatch.setattr(displays, "_PAUSE", -1.0)
    bar = displays.open_display("Model")
    bar.show(Progress("Model", "edges", 1, 2, 1.0, 1.0))
    bar.show(Progress("Model", "weights", 2, 2, 0.5, 1.0))
    line, shown = drawn[-1].splitlines()
    assert line == "Model: edges (1 of 2), 1.00 s"
    assert re.fullmatch(r"\[#{22}\.{8}\] Model: weights \(2 of 2\), 50 %", shown)
    bar.close()
    assert drawn[-1] == line


class Recorded:
    """A display that keeps what it is shown."""

    def __init__(self):
        self.steps, self.is_closed = [], False

    def show(self, step):
        self.steps.append(step)

    def close(self):
        self.is_closed = True


def test_compare_shows_a_bar_in_a_notebook(monkeypatch):
    pytest.importorskip("plotly")
    assert not in_notebook()
    display = Recorded()
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    monkeypatch.setattr(progress, "open_display", lambda name: display)
    # Spectral embedding places no new samples: its held-out pieces are no work.
    methods = ["pca", "sklearn.manifold.SpectralEmbedding"]
    pf.compare("iris", methods=methods, sweep=False)
    parts = [step.done for step in display.steps]
    assert parts == sorted(parts)
    assert parts[-1] == 1
    assert parts.count(1) == 1
    assert display.is_closed
    counts = []
    before = len(display.steps)
    pf.compare(
        "iris", methods=["pca"], sweep=False, progress=lambda *part: counts.append(part)
    )
    assert counts
    assert len(display.steps) == before


def test_steps_read_as_lines():
    step = Progress("Model", "edges", 2, 3, 0.5, 1.0)
    assert str(step) == "Model: edges (2 of 3), 50 %"
