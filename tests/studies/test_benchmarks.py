"""The scripts in `benchmarks`: each runs at toy size; studies resume and compare."""

import re
from pathlib import Path

import numpy as np
import pytest
from helpers.faults import run_script

from patchfold.studies.reproduction.methods import OWN
from patchfold.studies.reproduction.papers import PAPERS

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

SCRIPTS = {
    "aarch64.py": r"\| PatchPosterior iris \| 0e\+00 \|",
    "cauchy_map_gpu.py": r"1,500 x 5: .* same bits: True, trustworthiness 0\.99",
    "cluster.py": r"\| 1 \| 400 \| 1 \|",
    "fuzz_calls.py": r"'finite': \d.* 0 failures",
    "fuzz_models.py": r"\d\d  refused\n +\d\d  loaded, finite",
    "fuzz_readers.py": r"48 tables read or refused",
    "gpu.py": r"elap: .* same bits: True(.|\n)*elap, K=15, 200 x 20: ",
    "grown_tables.py": r"\| 20% \| 0\.0[0-5]\d \(",
    "honest_summary.py": r"outliers: 2 sets, 3 splits(.|\n)*\| POSTERIOR \| 0\.",
    "mixed_tables.py": r"2 sets(.|\n)*\| TableEncoder \| 0\.\d+ \| 0\.",
    "lle_at_scale.py": r"\| noisy roll \| euclidean \| landmarks \| \d",
    "map_targets.py": r"\| \+0\.008 \| [+-]0\.\d+ on \d+ sets: ",
    "memory_at_scale.py": r"\| map \| 2,000 \| \d+ \| \d+ \| 0\.\d+ \| 0\.\d",
    "map_choices.py": r"\| default \| 1 \| 0\.9\d\d \|",
    "map_mnist.py": r"\| separation 1 \| \d+\.\d \| \d+\.\d \| 0\.9",
    "neighbor_choice.py": r"1 cases of 1 sets(.|\n)*\| trustworthiness \| [+-]",
    "options.py": r"2 sets, 1 splits: iris, wine",
    "posterior_ablation.py": r"3 cases of 1 sets(.|\n)*\| default \| 0\.",
    "posterior_gaps.py": r"\| iris \| 30 % \| 0?\.\d+ \| 0?\.",
    "posterior_permuted.py": r"\| iris \| -?0\.",
    "readers.py": r"\| patchfold \| \d+ \| \d+ \| \d+ \|(.|\n)*\| patchfold \| 0\.\d",
    "recall.py": r"\| normal, 1,500 x .*\|(.|\n)*\| bits, 10,000 x 20, K = 50 \| exact",
    "record.py": r"38 of 38 arrays are equal bit for bit",
    "robustness.py": r"1 sets: iris(.|\n)*\| ISOMAP-KL \| 0\.\d+ \| 0\.\d+ \| 0\.",
    "sanitize.py": r"the sanitized loops load",
    "sparse_text.py": r"300 x 2,000, 30 entries a row(.|\n)*\| CauchyMap \| \d",
    "stages.py": r"\| eigenvectors, filtered \| \d\.\d\d \| \d\.\d\d \|",
    "targets.py": r"x86_64-linux-gnu.*: compiled",
    "versions.py": r"\| PatchPosterior iris \| 0e\+00 \|",
}
"""What a toy run of each script prints."""


@pytest.fixture(scope="module")
def toy_run(tmp_path_factory):
    """Return a function that runs a script once and returns its folder and output."""
    kept = {}

    def run(name):
        if name not in kept:
            folder = tmp_path_factory.mktemp(name)
            kept[name] = folder, *run_script(BENCHMARKS / name, folder, "--toy")
        folder, status, told = kept[name]
        if status and told.splitlines()[-1].startswith("needs "):
            pytest.skip(told.splitlines()[-1])
        assert status == 0, told
        return folder, told

    return run


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs_at_toy_size(name, toy_run):
    _, told = toy_run(name)
    assert re.search(SCRIPTS[name], told), told


def test_the_page_of_the_map_says_what_its_targets_came_to(toy_run):
    _, told = toy_run("map_targets.py")
    page = (BENCHMARKS.parent / "docs" / "methods" / "cauchy_map.md").read_text("utf-8")
    rows = [line for line in told.splitlines() if line.startswith("|")]
    assert len(rows) > 10
    assert "\n".join(rows) in page


def test_every_script_is_run_and_listed():
    texts = {path.name: path.read_text("utf-8") for path in BENCHMARKS.glob("*.py")}
    scripts = {name for name, text in texts.items() if "__main__" in text}
    assert scripts == set(SCRIPTS)
    listed = (BENCHMARKS / "README.md").read_text("utf-8")
    assert scripts == set(re.findall(r"^\| `(\w+\.py)` \|", listed, re.MULTILINE))


@pytest.fixture
def studies(monkeypatch):
    """Make the scripts importable, as they are for each other."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


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


def test_robustness_says_what_patches_gain_and_draws_it(toy_run):
    folder, told = toy_run("robustness.py")
    rows = {line.split(" | ")[0].strip("| "): line for line in told.splitlines()}
    ours, theirs, gains = (
        [float(cell.split()[0]) for cell in rows[name].strip("| ").split(" | ")[1:]]
        for name in ("ISOMAP-KL", "ISOMAP", "*gain*")
    )
    assert gains == pytest.approx(np.subtract(ours, theirs), abs=2e-3)
    assert (folder / "docs/images/robustness_twins.png").stat().st_size > 1000


def test_a_study_runs_only_the_cases_that_its_file_does_not_hold(studies, tmp_path):
    from cases import read, run_missing

    path, scored = tmp_path / "kept" / "study.csv", []

    def score(name, split):
        scored.append((name, split))
        return [(name, split, 0.5)]

    fields, cases = ("set", "split", "accuracy"), [("iris", 0), ("wine", 0)]
    run_missing(path, fields, cases, score)
    run_missing(path, fields, cases, score)
    assert scored == cases
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    run_missing(path, fields, cases, score)
    assert scored == [*cases, ("wine", 0)]
    assert [row["set"] for row in read(path)] == ["iris", "wine"]


def test_options_scores_held_out_rows_and_their_difference(toy_run):
    _, told = toy_run("options.py")
    rows = {line.split(" | ")[0].strip("| "): line for line in told.splitlines()}
    default = float(rows["default"].split(" | ")[1].rstrip(" |"))
    assert 0.7 < default <= 1
    mean, difference = rows["radius"].split(" | ")[1].split(" (")
    assert float(mean) - default == pytest.approx(
        float(difference.split()[0]), abs=2e-3
    )
    # KLAP's rule is compared with curvature without labels, which is then run as well.
    assert '"curvature"' in rows
