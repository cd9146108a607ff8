"""The papers' figures: what they show, how they are kept, how they are drawn."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from patchfold.cli import app
from patchfold.datasets import DatasetUnavailableError, load
from patchfold.metrics.panels import silhouette
from patchfold.studies.reproduction import figure_panels, figures
from patchfold.studies.reproduction.figure_panels import (
    Shown,
    count_inversions,
    show_classes,
    show_curves,
)
from patchfold.studies.reproduction.figure_plots import as_png, caption, draw_figure
from patchfold.studies.reproduction.figure_records import (
    FigureRecord,
    Panel,
    figure_path,
    read_figure,
    write_figure,
)
from patchfold.studies.reproduction.figures import (
    FIGURES,
    figures_of,
    make_figure,
    run_figures,
)
from patchfold.studies.reproduction.papers import PAPERS, Published, published_numbers

NOTHING = Published({}, {})


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("PATCHFOLD_DATA", raising=False)
    monkeypatch.setenv("PATCHFOLD_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def cities():
    return make_figure("cauchy-cities", NOTHING)


@pytest.fixture(scope="module")
def parity():
    key = ("ELAP", "T2", "parity5", "ELAP", "mean_accuracy_4")
    return make_figure("elap-parity5", Published({key: 1.0}, {}))


def small_panels(*shown, published=NOTHING):
    """Embed mux6, a set that a rule defines, as KLAP's figures are made."""
    return list(show_classes("klap", "1", "silhouette", "mux6", shown, published))


def texts(picture):
    found = [text.get_text() for ax in picture.axes for text in ax.texts]
    found += [
        ax.get_title(loc=side) for ax in picture.axes for side in ("left", "right")
    ]
    return found


# What the figures show


def test_parity5_is_told_apart_by_the_script_and_not_by_the_equations(parity):
    lap, equations, released = parity.panels
    assert [p.title for p in parity.panels] == [
        "LAP",
        "ELAP (equations)",
        "ELAP (released)",
    ]
    assert released.facts["mean_accuracy_4"] == released.facts["accuracy_1nn"] == 1
    assert equations.facts["mean_accuracy_4"] < 0.7
    assert "VanishingWeightsWarning" in equations.note
    assert (lap.settings, released.settings) == ("K=20", "K=2")
    assert lap.printed == {}
    assert released.printed == equations.printed == {"mean_accuracy_4": 1.0}


def test_the_paths_through_the_cities(cities):
    laplacian, cauchy = cities.panels
    assert laplacian.facts["kilometres"] == pytest.approx(24_530, rel=0.01)
    assert cauchy.facts["kilometres"] == pytest.approx(24_205, rel=0.01)
    ends = {laplacian.names[laplacian.order[0]], laplacian.names[laplacian.order[-1]]}
    assert ends == {"Olympia", "Augusta"}


def test_the_c_shape_is_unrolled_and_the_curled_s_is_not():
    panels = make_figure("cauchy-shapes", NOTHING).panels
    found = {(p.method, p.settings): p.facts["inversions"] for p in panels}
    assert found["LAP", "C"] == 58
    assert found["CAUCHY", "C, c=1"] == found["CAUCHY", "C, c=2"] == 0
    assert found["CAUCHY", "S of 270°, c=1"] > 100
    assert found["CAUCHY", "S of 200°, c=2"] == 0 < found["LAP", "S of 200°"]


def test_a_control_is_embedded_scored_and_drawn_by_permuted_labels():
    plain, control = small_panels(
        Shown("KLAP", "released", 0.75),
        Shown("KLAP", "released", 0.75, permuted=True),
        published=Published({("KLAP", "T1", "mux6", "KLAP", "silhouette"): 0.5}, {}),
    )
    y = load("mux6").target
    assert np.array_equal(plain.labels, y)
    assert (control.labels != y).any()
    assert np.array_equal(np.bincount(control.labels), np.bincount(y))
    assert control.facts["silhouette"] == silhouette(control.points, control.labels)
    assert control.settings == "K=0.75n, permuted labels"
    assert (plain.printed, control.printed) == ({"silhouette": 0.5}, {})


def test_one_axis_is_drawn_on_a_line():
    (panel,) = small_panels(Shown("LDA"))
    assert panel.points.shape == (len(panel.labels), 2)
    assert not panel.points[:, 1].any()


def test_vehicle_agrees_with_print(papers_folder, monkeypatch):
    monkeypatch.setenv("PATCHFOLD_DATA", str(papers_folder))
    shown = (Shown("ISOMAP"), Shown("KLAP", "released", 0.75))
    place = ("klap", "1", "silhouette", "vehicle")
    panels = list(show_classes(*place, shown, published_numbers()))
    assert len(panels) == 2
    for panel in panels:
        printed = panel.printed["silhouette"]
        assert panel.facts["silhouette"] == pytest.approx(printed, abs=0.01)


@pytest.mark.parametrize("order", [[0], [2, 0, 1], [3, 2, 1, 0], [4, 0, 3, 1, 5, 2]])
def test_inversions_are_pairs_in_the_wrong_order(order):
    pairs = list(itertools.combinations(order, 2))
    falls = sum(first > second for first, second in pairs)
    assert count_inversions(np.array(order)) == min(falls, len(pairs) - falls)


def test_a_method_that_fails_says_why_and_leaves_the_others(monkeypatch):
    real = figure_panels.embeddings

    def embeddings(method, *arguments, **settings):
        if method == "LDA":
            raise np.linalg.LinAlgError("matrix is singular\nsecond line")
        return real(method, *arguments, **settings)

    monkeypatch.setattr(figure_panels, "embeddings", embeddings)
    failed, fine = small_panels(Shown("LDA"), Shown("SPCA"))
    assert failed.status == "failed: LinAlgError: matrix is singular"
    assert fine.status == "ok"
    record = FigureRecord("klap-vehicle", "ok", (failed, fine))
    assert "LDA: failed: LinAlgError: matrix is singular" in caption(record).found
    assert failed.status in texts(draw_figure(record))


def test_every_paper_has_its_figures():
    assert {figure.paper for figure in FIGURES.values()} == set(PAPERS) - {
        "honest",
        "pictures",
    }
    assert figures_of("pelle") == ["pelle-corral"]
    assert figures_of("isomap-kl") == ["isomap-kl-mfeat-fourier", "isomap-kl-texture"]


# How they are kept


def test_a_figure_is_read_back_as_it_was_written(parity, cities, tmp_path):
    for record in (parity, cities):
        write_figure(record, tmp_path)
        found = read_figure(tmp_path, record.name)
        assert (found.name, found.status, found.version) == (
            record.name,
            record.status,
            record.version,
        )
        for panel, kept in zip(record.panels, found.panels, strict=True):
            np.testing.assert_allclose(kept.points, panel.points, rtol=1e-5)
            assert np.array_equal(kept.labels, panel.labels)
            assert np.array_equal(kept.order, panel.order)
            arrays = {"points": None, "labels": None, "order": None}
            assert vars(replace(kept, **arrays)) == vars(replace(panel, **arrays))


def test_a_figure_is_made_once(tmp_path, monkeypatch):
    counts = []
    names = ["cauchy-cities"]
    run_figures(names, tmp_path, progress=lambda *done: counts.append(done))
    assert counts == [(0, 1), (1, 1)]
    monkeypatch.setattr(figures, "make_figure", None)
    (kept,) = run_figures(names, tmp_path)
    assert kept.status == "ok"
    assert len(kept.panels) == 2


def test_a_figure_without_data_says_so_and_is_tried_again(tmp_path, cities):
    (record,) = run_figures(["klap-vehicle"], tmp_path)
    assert record.status == "no data"
    assert read_figure(tmp_path, "klap-vehicle").status == "no data"
    assert caption(record).found == ("Ours: no data.",)

    with pytest.MonkeyPatch.context() as patch:
        there = FigureRecord("klap-vehicle", "ok", cities.panels)
        patch.setattr(figures, "make_figure", lambda *_: there)
        run_figures(["klap-vehicle"], tmp_path)
    assert read_figure(tmp_path, "klap-vehicle").status == "ok"


def test_a_write_that_fails_leaves_nothing(cities, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_figure(cities, tmp_path)
    assert list(figure_path(tmp_path, "").parent.iterdir()) == []
    assert read_figure(tmp_path, "cauchy-cities") is None


def test_a_set_is_not_downloaded_for_a_figure():
    with pytest.raises(DatasetUnavailableError):
        list(show_classes("klap", "1", "silhouette", "vehicle", (), NOTHING))


# How they are drawn


def test_a_picture_is_a_function_of_the_record(cities, tmp_path):
    write_figure(cities, tmp_path)
    first, again = (
        as_png(draw_figure(read_figure(tmp_path, "cauchy-cities"))) for _ in range(2)
    )
    assert first == again
    assert first.startswith(b"\x89PNG")


def test_a_picture_names_its_panels_and_what_was_measured(parity, cities):
    written = texts(draw_figure(parity))
    assert {"LAP", "ELAP (equations)", "ELAP (released)", "K=2"} <= set(written)
    facts = parity.panels[2].facts
    assert (
        f"silhouette {facts['silhouette']:.3f}   1-NN 1.000   accuracy 1.000 [1.000]"
        in written
    )
    length = cities.panels[1].facts["kilometres"]
    assert f"{length:,.0f} km from Augusta to Olympia" in texts(draw_figure(cities))


def test_a_caption_has_protocol_claim_and_the_numbers_best_first(parity):
    said = caption(parity)
    assert said.how.startswith("Published")
    assert said.claim == FIGURES["elap-parity5"].claim
    starts = [f"{p.title}, {p.settings}: silhouette" for p in parity.panels]
    places = [[t.startswith(s) for t in said.found].index(True) for s in starts]
    by_silhouette = [-p.facts["silhouette"] for p in parity.panels]
    assert np.argsort(places).tolist() == np.argsort(by_silhouette).tolist()


def test_curves_keep_their_order_in_the_caption():
    points = np.column_stack([np.arange(9.0), np.zeros(9)])
    panels = tuple(show_curves({"line": points}, NOTHING))
    assert caption(FigureRecord("cauchy-letters", "ok", panels)).found == (
        "LAP, line: 0 inversions",
        "CAUCHY (equations), line, c=1: 0 inversions",
        "CAUCHY (equations), line, c=2: 0 inversions",
    )


def test_classes_share_one_legend_in_their_own_order():
    points = np.random.default_rng(0).normal(size=(24, 2))
    names = [str(c) for c in range(1, 13)]
    panel = Panel("PCA", points=points, labels=np.arange(24) % 12, names=names)
    picture = draw_figure(FigureRecord("klap-vehicle", "ok", (panel, panel)))
    (legend,) = picture.legends
    assert [text.get_text() for text in legend.get_texts()] == names


# The command


def reproduce(*arguments):
    return CliRunner().invoke(app, ["reproduce", "--figures", *arguments])


def test_the_command_makes_figures_and_a_report(tmp_path):
    out = tmp_path / "results"
    done = reproduce("--paper=klap", f"--out={out}")
    assert done.exit_code == 0, done.output
    assert {path.name for path in out.iterdir()} == {
        "figures",
        "report.md",
        "report.html",
    }
    kept = {path.name for path in (out / "figures").iterdir()}
    assert kept == {"klap-mfeat-fourier.json", "klap-vehicle.json"}
    assert (out / "report.md").read_text(encoding="utf-8").count("no data") == 2


def test_a_paper_without_figures_says_so(tmp_path):
    done = reproduce("--paper=honest", f"--out={tmp_path}")
    assert done.exit_code == 2
    assert "--figures: honest has none" in done.output
