"""The studies that are run by hand: they resume, and compare what they say they do."""

import sys
from pathlib import Path

import numpy as np
import pytest

import patchfold as pf
from patchfold.studies.reproduction.methods import OWN
from patchfold.studies.reproduction.papers import PAPERS

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def studies(monkeypatch):
    """Make the scripts importable, as they are for each other."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def arguments(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["study", *map(str, words)])


@pytest.mark.parametrize("method", ["ELAP", "KLAP"])
def test_a_twin_differs_in_the_dissimilarity_alone(method):
    own, twin = OWN[method], OWN[f"{method}-POINTS"]
    assert (own.sizes, own.grid, own.supervised) == (
        twin.sizes,
        twin.grid,
        twin.supervised,
    )
    ours, theirs = own.estimator.get_params(), twin.estimator.get_params()
    differ = {name for name, value in ours.items() if theirs[name] != value}
    assert differ - {"label_rule"} == {"dissimilarity"}
    assert theirs["dissimilarity"] == "euclidean"
    assert f"{method}-POINTS" in PAPERS["honest"].unranked


def test_the_twin_of_klap_keeps_a_class_near_and_others_twice_as_far(wine):
    X, y = wine
    model = OWN["KLAP-POINTS"].estimator.set_params(n_neighbors=20).fit(X, y)
    graph = model.graph_.tocoo()
    length = np.linalg.norm(X[graph.row] - X[graph.col], axis=1)
    times = np.where(y[graph.row] == y[graph.col], 1, 2)
    np.testing.assert_allclose(graph.data, times * length)


def test_robustness_scores_the_held_out_half(studies):
    import robustness

    [(*case, accuracy)] = robustness.score_case("iris", 0, "honest noise 1", "ISOMAP")
    assert case == ["iris", 0, "honest noise 1", "ISOMAP"]
    assert 0.6 < accuracy < 0.99


def test_robustness_resumes_and_draws(studies, monkeypatch, tmp_path, capsys):
    import robustness

    monkeypatch.setattr(robustness, "TWINS", {"ISOMAP-KL": "ISOMAP"})
    levels = {"noise": ("honest noise 1",), "outliers": ("honest outliers 0.1",)}
    monkeypatch.setattr(robustness, "PROTOCOLS", levels)
    right = {"ISOMAP-KL": 0.8, "ISOMAP": 0.75}
    monkeypatch.setattr(
        robustness, "score_case", lambda *case: [(*case, right[case[-1]])]
    )
    out, image = tmp_path / "r.csv", tmp_path / "r.png"
    words = ["--sets", "iris", "wine", "--splits", 1, "--out", out, "--image", image]
    arguments(monkeypatch, *words)
    robustness.main()
    printed = capsys.readouterr().out
    assert printed.startswith("2 sets: iris, wine")
    gain = next(line for line in printed.splitlines() if "gain" in line)
    assert gain.count("+0.050 ± 0.000") == 3
    assert image.stat().st_size > 1000
    assert len(out.read_text().splitlines()) == 1 + 2 * 3 * 2

    def refuse(*case):
        raise AssertionError("a case that is there was run again")

    monkeypatch.setattr(robustness, "score_case", refuse)
    robustness.main()
    assert capsys.readouterr().out == printed
    # One case less, and only that one is run.
    out.write_text("\n".join(out.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(AssertionError, match="run again"):
        robustness.main()


def test_options_scores_held_out_rows_and_their_difference(
    studies, monkeypatch, tmp_path, capsys
):
    import options

    sets = {True: ["wine"], False: ["iris"]}
    monkeypatch.setattr(options, "choose_sets", lambda *, held_out: sets[held_out])
    monkeypatch.setattr(options, "KINDS", {"isomap": pf.PatchIsomap})
    out = tmp_path / "o.csv"
    words = ["--splits", 1, "--every", 1, "--groups", "sizes", "labels", "--out", out]
    arguments(monkeypatch, *words)
    options.main()
    printed = capsys.readouterr().out
    rows = {line.split(" | ")[0].strip("| "): line for line in printed.splitlines()}
    default = float(rows["default"].split(" | ")[1].rstrip(" |"))
    assert 0.7 < default <= 1
    radius = rows["radius"].split(" | ")[1]
    mean, difference = radius.split(" (")
    assert float(mean) - default == pytest.approx(
        float(difference.split()[0]), abs=2e-3
    )
    # KLAP's rule is compared with curvature without labels, which is then run as well.
    assert '"curvature"' in rows
