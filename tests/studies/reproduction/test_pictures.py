"""The study of pictures: tasks, scores, report; maps with shuffled labels."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.preprocessing import scale
from typer.testing import CliRunner

from patchfold import metrics
from patchfold.cli import app
from patchfold.datasets import catalogue
from patchfold.studies.reproduction import design, pictures
from patchfold.studies.reproduction.documents import Grid, Heading, as_markdown
from patchfold.studies.reproduction.honest import honest_split
from patchfold.studies.reproduction.papers import PAPERS, Published
from patchfold.studies.reproduction.pictures import score_labelled, score_picture
from patchfold.studies.reproduction.rankings import rank_tables
from patchfold.studies.reproduction.records import Record, read_records
from patchfold.studies.reproduction.report import build_report
from patchfold.studies.reproduction.runner import list_tasks
from patchfold.studies.reproduction.scoring import fill_and_scale
from patchfold.studies.reproduction.tables import build_tables

STUDY = PAPERS["pictures"]
NOTHING = Published({}, {})
ONE, TWO = STUDY.tables


# Tasks


def test_each_table_has_its_protocol_and_its_methods():
    alone = list_tasks("pictures", datasets=("iris",))
    assert {task.protocol for task in alone} == {"pictures"}
    assert {task.method for task in alone} == set(ONE.methods)
    both = ("labelled", "permuted labelled")
    labelled = list_tasks("pictures", datasets=("iris",), protocols=both, n_splits=2)
    assert {task.protocol for task in labelled} == set(both)
    assert {task.method for task in labelled} == set(TWO.methods)
    assert {task.split for task in labelled} == {0, 1}


def test_all_sets_are_in_it():
    assert set(STUDY.datasets()) == set(PAPERS["honest"].datasets())


def test_sets_that_served_for_design_are_sets():
    known = {row.name for row in catalogue()}
    assert set(design.CAUCHY_MAP) < set(design.WITH_LABELS) < known
    assert len(set(design.CAUCHY_MAP)) == 11


@pytest.mark.parametrize(
    ("paper", "protocol", "words"),
    [
        ("pictures", "honest", "'honest' is not one. Ask for pictures, labelled"),
        ("elap", "pictures", "'pictures' is not one. Ask for published, honest"),
    ],
)
def test_a_protocol_of_another_study_is_refused(paper, protocol, words):
    with pytest.raises(ValueError, match=words):
        list_tasks(paper, protocols=(protocol,))


# Scores of a picture


def test_a_picture_is_scored_by_every_metric(iris):
    X, y = iris
    values = score_picture("PCA", X, y)
    assert set(values) >= set(ONE.metrics)
    X = scale(X)
    picture = PCA(2, random_state=0).fit_transform(X)
    expected = {
        "trustworthiness": metrics.trustworthiness(X, picture, n_neighbors=15),
        "continuity": metrics.continuity(X, picture, n_neighbors=15),
        "hits_15": metrics.neighborhood_hits(X, picture),
        "triplets": metrics.triplet_accuracy(X, picture),
        "spearman": metrics.distance_rank_correlation(X, picture),
    }
    expected |= {
        name: value
        for name, value in metrics.evaluate(picture, y).items()
        if name in ONE.metrics
    }
    assert {name: values[name] for name in expected} == pytest.approx(expected)


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


def test_labels_only_score_a_picture(iris):
    X, y = iris
    other = np.random.default_rng(0).permutation(y)
    first, second = (score_picture("CAUCHYMAP", X, labels) for labels in (y, other))
    for name in ("trustworthiness", "hits_15", "triplets", "spearman"):
        assert first[name] == second[name]
    assert first["accuracy_1nn"] > 0.9 > 0.6 > second["accuracy_1nn"]


def test_a_small_set_has_smaller_neighbourhoods(iris):
    X, y = iris
    few = np.r_[:5, 50:55, 100:105]
    assert 0.5 < score_picture("PCA", X[few], y[few])["hits_15"] <= 1


def test_a_method_is_compiled_before_the_clock_starts(iris, monkeypatch):
    sizes = []

    class Map:
        def fit_transform(self, X):
            sizes.append(len(X))
            return X[:, :2]

    pictures._compile.cache_clear()
    monkeypatch.setattr(pictures, "with_defaults", lambda method: Map())
    monkeypatch.setattr(pictures, "MANY_SAMPLES", 140)
    for _ in range(2):
        score_picture("TRIMAP", *iris)
    score_picture("TRIMAP", iris[0][20:], iris[1][20:])
    pictures._compile.cache_clear()
    assert sizes == [141, 150, 150, 100, 130]


# Scores with labels


def test_training_numbers_are_of_the_training_picture(iris):
    X, y = iris
    values = score_labelled("POSTERIOR", X, y, split=3)
    assert set(values) >= set(TWO.metrics)
    train, _ = honest_split(y, 3)
    samples = fill_and_scale().fit_transform(X[train])
    model = pictures.with_defaults("POSTERIOR").fit(samples, y[train])
    distances = cdist(model.embedding_, model.embedding_)
    np.fill_diagonal(distances, np.inf)
    votes = y[train][np.argsort(distances, axis=1)[:, :7]]
    counts = np.stack([(votes == c).sum(axis=1) for c in range(3)], axis=1)
    assert values["training_accuracy"] == np.mean(counts.argmax(axis=1) == y[train])
    gap = values["training_accuracy"] - values["accuracy:KNN"]
    assert values["training_gap"] == pytest.approx(gap)
    hits = metrics.neighborhood_hits(samples, model.embedding_)
    assert values["hits_15"] == pytest.approx(hits)


def small_sets(wine):
    digits = load_digits(return_X_y=True)
    return {
        "wine": wine,
        "iris": load_iris(return_X_y=True),
        "digits": tuple(part[:200] for part in digits),
    }


@pytest.mark.parametrize("name", ["wine", "iris", "digits"])
def test_shuffled_labels_give_back_the_map_without_labels(wine, name):
    X, y = small_sets(wine)[name]
    for split in (0, 1):
        shuffled = np.random.default_rng(split).permutation(y)
        plain, labelled = (
            score_labelled(method, X, shuffled, split)
            for method in ("CAUCHYMAP", "CAUCHYMAP-LABELS")
        )
        shift = labelled["training_silhouette"] - plain["training_silhouette"]
        assert abs(shift) <= 0.03
        assert labelled["hits_15"] >= 0.85 * plain["hits_15"]
        assert labelled["training_accuracy"] < np.bincount(y).max() / len(y) + 0.2


@pytest.mark.parametrize("name", ["wine", "iris", "digits"])
def test_labels_part_classes_and_keep_neighbourhoods(wine, name):
    X, y = small_sets(wine)[name]
    runs = [
        [score_labelled(method, X, y, split) for split in (0, 1)]
        for method in ("CAUCHYMAP", "CAUCHYMAP-LABELS")
    ]
    plain, labelled = (
        {metric: np.mean([run[metric] for run in both]) for metric in TWO.metrics}
        for both in runs
    )
    assert labelled["silhouette"] > plain["silhouette"]
    assert labelled["hits_15"] >= 0.85 * plain["hits_15"]
    assert labelled["mean_accuracy_4"] > plain["mean_accuracy_4"] - 0.02
    assert labelled["training_gap"] < 0.05


# The report

SETS = ("aids", "bolts", "corral", "iris", "mux6", "zoo")
VALUES = {"PCA": 0.5, "UMAP": 0.6, "CAUCHYMAP": 0.7}


def record(dataset, method, metric, value, table="1", protocol="pictures"):
    return Record(
        paper="pictures",
        table=table,
        dataset=dataset,
        method=method,
        metric=metric,
        value=value,
        published=None,
        protocol=protocol,
        variant="equations",
        n_neighbors=None,
        seconds=1.0,
        status="ok",
    )


def picture_records():
    return [
        record(dataset, method, metric, value + shift)
        for dataset, shift in [*((name, 0.0) for name in SETS), ("wine", 0.1)]
        for method, value in VALUES.items()
        for metric in ("hits_15", "seconds")
    ]


def test_sets_that_served_for_design_are_told_apart_and_come_last():
    tables = build_tables(picture_records())
    parts = [(t.sets, t.metric, tuple(t.rows)) for t in tables]
    assert parts == [
        ("sets not used for design", "hits_15", SETS),
        ("sets not used for design", "seconds", SETS),
        ("sets used for design", "hits_15", ("wine",)),
        ("sets used for design", "seconds", ("wine",)),
    ]
    hits, seconds, *few = rank_tables(tables)
    assert hits.ours.ranks == {"CAUCHYMAP": 1, "UMAP": 2, "PCA": 3}
    assert seconds.ours.ranks == {"CAUCHYMAP": 3, "UMAP": 2, "PCA": 1}
    assert hits.reference == "CAUCHYMAP"
    assert [ranking.ours for ranking in few] == [None, None]


def test_the_summary_has_means_of_complete_sets_the_others_first():
    missing = record("iris", "PCA", "hits_15", None)
    found = [
        r
        for r in picture_records()
        if (r.dataset, r.method, r.metric) != ("iris", "PCA", "hits_15")
    ]
    blocks = build_report([*found, missing], [], NOTHING)
    assert blocks[0] == Heading("Pictures: CauchyMap beside its peers", 1)
    grids = [block.lines for block in blocks if isinstance(block, Grid)]
    assert grids[0] == [
        ["method", "share of 15 neighbours kept", "processor seconds"],
        ["PCA", "0.500", "0.500"],
        ["UMAP", "0.600", "0.600"],
        ["CauchyMap", "0.700", "0.700"],
    ]
    assert grids[1][1:] == [
        ["PCA", "0.600", "0.600"],
        ["UMAP", "0.700", "0.700"],
        ["CauchyMap", "0.800", "0.800"],
    ]
    text = as_markdown(blocks)
    assert "Means over the 5 sets on which" in text
    assert "Settings of ours were chosen on these: wine." in text
    assert "share of 15 neighbours kept (pictures, sets not used for design)" in text


def labelled_records(**changes):
    """Return numbers of maps with labels that meet every target, but for changes."""
    values = {
        "SUMAP": {"mean_accuracy_4": 0.7, "hits_15": 0.4, "training_gap": 0.2},
        "POSTERIOR": {"mean_accuracy_4": 0.75, "hits_15": 0.3, "training_gap": 0.01},
        "CAUCHYMAP": {"mean_accuracy_4": 0.7, "hits_15": 0.6, "training_gap": 0.0},
        "CAUCHYMAP-LABELS": {
            "mean_accuracy_4": 0.745,
            "hits_15": 0.54,
            "training_gap": 0.005,
        }
        | changes,
    }
    silhouettes = {"SUMAP": 0.8, "POSTERIOR": 0.0, "CAUCHYMAP": -0.05}
    silhouettes["CAUCHYMAP-LABELS"] = -0.04
    return [
        replace(
            record(dataset, method, metric, value, table="2", protocol="labelled"),
            split=split,
        )
        for dataset in ("aids", "iris")
        for method, row in values.items()
        for metric, value in row.items()
        for split in (0, 1)
    ] + [
        record(dataset, method, "training_silhouette", value, "2", "permuted labelled")
        for dataset in ("aids", "iris")
        for method, value in silhouettes.items()
    ]


def targets(**changes):
    blocks = build_report(labelled_records(**changes), [], NOTHING)
    (lines,) = (
        block.lines
        for block in blocks
        if isinstance(block, Grid) and block.lines[0][-1] == "met"
    )
    return [tuple(line[2:]) for line in lines[1:]]


def test_targets_of_a_map_with_labels_stand_beside_what_it_did():
    assert targets() == [
        ("-0.0050", "yes"),
        ("+0.0450", "yes"),
        ("+0.9000", "yes"),
        ("+0.0050", "yes"),
        ("+0.0100", "yes"),
    ]
    assert [met for _, met in targets(mean_accuracy_4=0.71, hits_15=0.5)] == [
        "no",
        "no",
        "no",
        "yes",
        "yes",
    ]


def test_the_summary_says_over_how_many_splits_its_means_are():
    text = as_markdown(build_report(labelled_records(), [], NOTHING))
    assert "every number. Splits of each set: 2.\n" in text
    assert "Splits of each set: 2, with shuffled labels 1. With" in text
    fewer = [
        r
        for r in labelled_records()
        if (r.dataset, r.method, r.split) != ("iris", "SUMAP", 1)
    ]
    text = as_markdown(build_report(fewer, [], NOTHING))
    assert "Means over the 1 sets on which" in text


# From end to end


def test_the_command_writes_records_and_a_report(tmp_path, monkeypatch):
    monkeypatch.delenv("PATCHFOLD_DATA", raising=False)
    base = ["reproduce", "--paper=pictures", f"--out={tmp_path}", "--datasets=mux6"]
    done = CliRunner().invoke(app, [*base, "--methods=PCA,CAUCHYMAP"])
    assert done.exit_code == 0, done.output
    labelled = ["--protocol=labelled", "--splits=1", "--methods=CAUCHYMAP-LABELS"]
    done = CliRunner().invoke(app, [*base, *labelled])
    assert done.exit_code == 0, done.output
    records = read_records(tmp_path / "results.csv")
    assert {r.status for r in records} == {"ok"}
    count = {r.key: r.task_size for r in records}
    assert sorted(count.values()) == [len(TWO.metrics)] * 2 + [len(ONE.metrics)] * 2
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# Pictures: CauchyMap beside its peers")
    assert "## With labels, sets not used for design" in text
