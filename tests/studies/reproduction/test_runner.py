"""`patchfold reproduce`: tiny sets from end to end, interrupted, resumed, compared."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from typer.testing import CliRunner

from patchfold.cli import app
from patchfold.datasets import DatasetUnavailableError
from patchfold.studies.reproduction.honest import (
    LeftOutError,
    _fit_sweeps,
    honest_split,
)
from patchfold.studies.reproduction.methods import OWN
from patchfold.studies.reproduction.papers import PAPERS, Published
from patchfold.studies.reproduction.protocols import score
from patchfold.studies.reproduction.records import TaskKey, read_records
from patchfold.studies.reproduction.runner import list_tasks, run_task, run_tasks
from patchfold.studies.reproduction.study import as_paper_records
from patchfold.studies.reproduction.tables import build_tables

NOTHING = Published({}, {})

small_data = pytest.mark.filterwarnings(
    "ignore::patchfold.exceptions.PatchfoldWarning",
    "ignore:The number of connected components:UserWarning",
    "ignore:Changing the sparsity structure:scipy.sparse.SparseEfficiencyWarning",
)


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("PATCHFOLD_DATA", raising=False)


def tiny_tasks():
    both = ("equations", "released")
    tasks = list_tasks("klap", datasets=("mux6",), variants=both)
    return [task for task in tasks if task.method in ("PCA", "LDA", "KLAP")]


def timeless(records):
    key = lambda r: (r.dataset, r.method, r.variant, r.protocol, r.split, r.table)  # noqa: E731
    return sorted((replace(r, seconds=None) for r in records), key=key)


def test_a_run_is_kept_and_not_repeated(tmp_path):
    tasks = tiny_tasks()
    first = run_tasks(tasks[:2], tmp_path)
    assert len(first) == 4
    calls = []
    both = run_tasks(tasks, tmp_path, progress=lambda *counts: calls.append(counts))
    assert calls[0] == (2, len(tasks))
    assert calls[-1] == (len(tasks), len(tasks))
    assert both[:4] == first
    assert len({(r.key, r.table) for r in both}) == len(both) == 2 * len(tasks)


def test_processes_give_the_same_records(tmp_path):
    alone = run_tasks(tiny_tasks(), tmp_path / "one")
    together = run_tasks(tiny_tasks(), tmp_path / "two", n_jobs=2)
    assert timeless(together) == timeless(alone)


def test_a_set_that_cannot_be_had_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATCHFOLD_CACHE", str(tmp_path))
    task = TaskKey("elap", "haberman", "PCA", "published", "equations", 0)
    records = run_task(task, NOTHING)
    assert {r.status for r in records} == {"no data"}
    assert {r.table for r in records} == {"1", "2"}


def test_a_set_that_had_no_data_is_tried_again(monkeypatch, tmp_path):
    tasks = [TaskKey("klap", "mux6", "PCA", "published", "equations", 0)]

    def absent(*_, **__):
        raise DatasetUnavailableError("mux6 is not at hand")

    with monkeypatch.context() as patch:
        patch.setattr("patchfold.studies.reproduction.runner.load", absent)
        records = run_tasks(tasks, tmp_path)
    assert {r.status for r in records} == {"no data"}
    again = run_tasks(tasks, tmp_path)
    assert {r.status for r in again} == {"ok"}
    assert len(again) == len(records)
    assert read_records(tmp_path / "results.csv") == again


def test_a_library_that_is_missing_is_named_and_its_runs_are_tried_again(
    monkeypatch, tmp_path
):
    tasks = [TaskKey("pictures", "mux6", "PCA", "pictures", "equations", 0)]

    def absent(*_, **__):
        raise ImportError('this baseline needs pca; run pip install "patchfold[peers]"')

    with monkeypatch.context() as patch:
        patch.setattr("patchfold.studies.reproduction.runner.score", absent)
        records = run_tasks(tasks, tmp_path)
    (status,) = {r.status for r in records}
    assert status.startswith("not installed: this baseline needs pca")
    assert {r.status for r in run_tasks(tasks, tmp_path)} == {"ok"}


def test_a_method_that_fails_says_why(monkeypatch):
    def fail(*_, **__):
        raise np.linalg.LinAlgError("matrix is singular\nsecond line")

    monkeypatch.setattr("patchfold.studies.reproduction.runner.score", fail)
    task = TaskKey("elap", "parity5", "ELAP", "published", "equations", 0)
    statuses = {r.status for r in run_task(task, NOTHING)}
    assert statuses == {"failed: LinAlgError: matrix is singular"}


def blobs():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    return rng.normal(size=(80, 4)) + 3 * y[:, None], y


def run(method, protocol, paper="klap", **settings):
    chosen = PAPERS[paper]
    X, y = blobs()
    scores = score(
        chosen, chosen.tables, method, protocol, "equations", X, y, **settings
    )
    return {s.metric: s.value for s in scores}


@small_data
def test_permuted_labels_leak_as_published_and_not_when_honest():
    published = run("KLAP", "permuted published", sizes=(0.75,))
    assert published["max_accuracy_8"] > 0.9
    honest = [run("KLAP", "permuted honest", split=s)["max_accuracy_8"] for s in (0, 1)]
    assert np.mean(honest) < 0.75


@small_data
def test_honest_labels_are_learnt():
    assert run("KLAP", "honest")["max_accuracy_8"] > 0.9
    assert run("ISOMAP", "honest")["max_accuracy_8"] > 0.9


def test_a_method_that_cannot_place_samples_is_left_out():
    with pytest.raises(LeftOutError, match="TSNE cannot place new samples"):
        run("TSNE", "honest")


def test_honest_splits_are_stratified_where_they_can_be():
    y = np.repeat([0, 1, 2], [50, 30, 20])
    train, test = honest_split(y, 3)
    assert np.bincount(y[train]).tolist() == [25, 15, 10]
    assert sorted([*train, *test]) == list(range(100))
    honest_split(np.array([0, 0, 0, 1]), 0)


def test_a_missing_cell_is_filled_from_the_training_half_only():
    X, y = blobs()
    train, test = honest_split(y, 0)
    gaps = X.copy()
    gaps[train[0], 0] = np.nan
    far = gaps.copy()
    far[test, 0] += 1e6  # must not move the mean that fills the gap
    chosen = PAPERS["elap"]
    scores = [
        score(chosen, chosen.tables, "PCA", "honest", "equations", data, y)
        for data in (gaps, far)
    ]
    assert np.isfinite([s.value for s in scores[0]]).all()
    assert scores[0] != scores[1]


def test_only_the_training_half_is_corrupted(monkeypatch):
    halves = []

    def keep(train, y_train, test, y_test, metrics):
        halves.append((train, test))
        return {"mean_accuracy_4": 0.0}

    monkeypatch.setattr("patchfold.studies.reproduction.honest.panel_scores", keep)
    for protocol in ("honest", "honest noise 2", "honest outliers 0.1"):
        run("RAW", protocol, paper="pelle")
    (clean, test), (noisy, same), (spoilt, same_too) = halves
    assert np.array_equal(test, same)
    assert np.array_equal(test, same_too)
    assert np.std(noisy - clean) == pytest.approx(2, rel=0.2)
    assert (spoilt != clean).any(axis=1).sum() == 4


@small_data
def test_the_honest_search_tries_every_size_also_on_few_samples():
    X, y = blobs()
    rows = np.r_[:6, 40:46]
    own = OWN["ELAP"]
    candidates = [clone(own.estimator).set_params(n_neighbors=k) for k in (5, 20, 40)]
    fits = dict()
    for which, model in _fit_sweeps(candidates, X[rows], y[rows], n_sizes=3):
        fits |= {c: model for c in which}
    for c, candidate in enumerate(candidates):
        alone = clone(candidate).fit(X[rows])
        assert_allclose(fits[c].embedding_, alone.embedding_, atol=1e-8)


class TestHonestStudy:
    def test_has_every_set_and_its_own_protocol(self):
        tasks = list_tasks("honest")
        assert {task.protocol for task in tasks} == {"honest"}
        papers = (name for name in PAPERS if name != "honest")
        sets = set().union(*(PAPERS[name].datasets() for name in papers))
        assert {task.dataset for task in tasks} == sets
        one = [t for t in tasks if t.dataset == "iris" and t.method == "LDA"]
        assert len(one) == 10

    def test_has_maps_with_and_without_labels(self):
        names = {task.method for task in list_tasks("honest", datasets=("iris",))}
        assert {"CAUCHYMAP", "CAUCHYMAP-LABELS", "OPENTSNE", "PACMAP"} < names
        plain, labelled = (
            run(name, "honest", "honest") for name in ("CAUCHYMAP", "CAUCHYMAP-LABELS")
        )
        assert min(plain["accuracy:KNN"], labelled["accuracy:KNN"]) > 0.9
        assert plain["silhouette"] < labelled["silhouette"]

    def test_is_never_run_as_published(self):
        tasks = list_tasks(
            "honest", protocols=("permuted published", "permuted honest")
        )
        assert {task.protocol for task in tasks} == {"permuted honest"}
        with pytest.raises(ValueError, match="'published' is not one"):
            list_tasks("honest", protocols=("published",))

    def test_methods_can_be_picked(self):
        tasks = list_tasks("honest", datasets=("iris",), methods=("LDA",), n_splits=2)
        assert [(task.method, task.split) for task in tasks] == [("LDA", 0), ("LDA", 1)]
        with pytest.raises(ValueError, match="method 'LDB' is in none of"):
            list_tasks("honest", methods=("LDB",))


def test_tables_hold_every_row_and_the_mean_difference(tmp_path):
    records = [
        replace(r, published=None if r.value is None else r.value + 0.1)
        for r in run_tasks(tiny_tasks(), tmp_path)
    ]
    tables = {(t.table, t.variant): t for t in build_tables(records)}
    assert set(tables) == {
        (n, v) for n in ("1", "2") for v in ("equations", "released")
    }
    table = tables["2", "released"]
    assert table.methods == ("PCA", "LDA", "KLAP")
    assert table.mean_absolute_error("KLAP") == (pytest.approx(0.1), 1)


class TestCommand:
    def invoke(self, *arguments):
        return CliRunner().invoke(app, ["reproduce", *arguments])

    def test_writes_results_and_reports(self, tmp_path):
        words = ("--paper=elap", "--datasets=parity5", "--methods=PCA,ELAP")
        done = self.invoke(*words, f"--out={tmp_path}")
        assert done.exit_code == 0, done.output
        names = {path.name for path in tmp_path.iterdir()}
        assert names >= {"results.csv", "report.md", "report.html"}
        text = (tmp_path / "report.md").read_text()
        assert "parity5" in text
        assert "table 2: mean accuracy of four classifiers (as published" in text

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--paper=elab"], "--paper must be one of elap, pelle"),
            (["--paper=elap", "--table=9"], "--table must be one of 1, 2. Got '9'"),
            (["--paper=elap", "--protocol=fair"], "--protocol must be one of"),
            (["--paper=elap", "--datasets=irys"], "dataset 'irys' is in none of"),
        ],
    )
    def test_bad_input_ends_in_one_line_and_status_2(self, arguments, words, tmp_path):
        done = self.invoke(*arguments, f"--out={tmp_path}")
        assert done.exit_code == 2
        assert words in done.output
        assert len(done.output.strip().splitlines()) == 1

    def test_datasets_are_listed(self):
        done = CliRunner().invoke(app, ["datasets"])
        assert done.exit_code == 0
        assert "parity5" in done.output
        assert "ELAP-T1" in done.output


def test_nothing_is_left_in_the_folder_but_results(tmp_path):
    run_tasks(tiny_tasks()[:1], tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["results.csv", "results.lock"]
    assert Path(tmp_path, "results.csv").read_text().count("\n") == 3


@small_data
@pytest.mark.parametrize("method", ["KLAP", "ISOMAP", "PCA"])
def test_an_honest_run_is_read_back_as_it_was_written(method, tmp_path):
    tasks = list_tasks("klap", datasets=("mux6",), protocols=("honest",), n_splits=2)
    records = run_tasks([t for t in tasks if t.method == method], tmp_path)
    assert read_records(tmp_path / "results.csv") == records
    assert {r.status for r in records} == {"ok"}
    sizes = {r.n_neighbors is None for r in records}
    assert sizes == {method == "PCA"}


def test_the_honest_study_fills_the_papers_tables():
    table = PAPERS["pelle"].tables[0]
    key = ("PELLE", "T1", "corral", "LLE", "mean_accuracy_4")
    task = TaskKey("honest", "corral", "LLE", "honest", "equations", 0)
    found = list(as_paper_records(run_task(task, NOTHING), Published({key: 0.5}, {})))
    assert [(r.paper, r.table, r.metric) for r in found] == [
        ("pelle", table.number, "mean_accuracy_4")
    ]
    assert found[0].value is not None
    assert found[0].published == 0.5


def test_the_honest_study_fills_no_table_of_the_other_study():
    task = TaskKey("honest", "mux6", "PCA", "honest", "equations", 0)
    found = list(as_paper_records(run_task(task, NOTHING), NOTHING))
    assert found
    assert "pictures" not in {record.paper for record in found}
