"""`patchfold bench`: what is timed is what it says, and its records are whole."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

from patchfold.backends.environment import describe_speed
from patchfold.cli import app
from patchfold.records import Neighborhoods
from patchfold.studies.bench import catalogue, device, report, rows
from patchfold.studies.bench.kinds import KINDS, make_kind
from patchfold.studies.bench.loops import elap_loop, klap_loop
from patchfold.studies.bench.measure import Measurement, measure, measure_recall
from patchfold.studies.bench.rows import (
    Growth,
    Limit,
    Result,
    Versus,
    compare,
    judge,
    time_limit,
)
from patchfold.studies.bench.stages import measure_peaks, time_stages
from patchfold.studies.bench.tasks import TASKS, gaussians, neighbor_recall, wide
from patchfold.studies.reproduction.released import elap_released, klap_released


def took(seconds, n=1, cpu=1.0, peak=2**30):
    return Measurement("a task", n, seconds, cpu, peak)


@pytest.fixture
def clock(monkeypatch):
    """Let measurements be told, not made."""

    def tell(*answers):
        told = iter(answers)
        monkeypatch.setattr(rows, "measure", lambda *args, **kwargs: next(told))

    return tell


def test_the_elap_loop_is_the_released_script():
    X, _ = gaussians(60, 3)
    ours, theirs = elap_loop(X, 12), elap_released(X, 12)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-6)


def test_the_klap_loop_is_the_released_script():
    X, y = gaussians(40, 3)
    ours, theirs = klap_loop(X, y, 30), klap_released(X, y, n_neighbors=30)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-6)


def test_every_row_names_tasks_that_exist():
    for row in (*catalogue.VERSUS, *catalogue.KIND_ROWS):
        assert {row.ours, row.peer} <= set(TASKS)
    assert {row.task for row in (*catalogue.GROWTH, *catalogue.LIMITS)} <= set(TASKS)


@pytest.mark.parametrize("quick", [False, True])
def test_every_row_that_is_run_says_how_long_it_lasts(quick):
    judged = *catalogue.VERSUS, *catalogue.LIMITS, *catalogue.GROWTH
    for row in (*judged, *catalogue.KIND_ROWS, *catalogue.STAGES, *device.ROWS):
        in_it = not quick or bool(row.quick)
        assert (row.lasts[quick] > 0) == in_it, row


@pytest.mark.parametrize(
    "name", ["PatchLLE", "elap, small", "klap", "sweep", "elap, transform", "Isomap"]
)
@pytest.mark.filterwarnings("ignore::patchfold.exceptions.PatchfoldWarning")
def test_a_task_computes_the_same_whenever_it_is_called(name):
    call = TASKS[name](60, 1)
    first = coordinates(call())
    assert first.size > 0
    np.testing.assert_array_equal(coordinates(call()), first)


def coordinates(result):
    """Return what a task has computed: coordinates, or those of one or several fits."""
    if isinstance(result, list):
        return np.stack([model.embedding_ for model in result])
    return np.array(getattr(result, "embedding_", result))


def test_the_exact_search_finds_every_neighbour(monkeypatch):
    assert neighbor_recall(300, n_rows=50) == 1.0
    monkeypatch.setattr("patchfold.studies.bench.tasks.find_neighbors", _the_next_ones)
    assert 0 < neighbor_recall(300, n_rows=50) < 0.2


def _the_next_ones(X, n_neighbors, n_jobs):
    n = X.shape[0]
    following = (np.arange(n)[:, None] + np.arange(1, n_neighbors + 1)) % n
    return Neighborhoods(following, np.ones(following.shape))


def test_data_stand_in_for_a_set_that_is_not_at_hand(monkeypatch):
    monkeypatch.delenv("PATCHFOLD_DATA", raising=False)
    assert wide(72).shape == (72, 7129)


def test_a_measurement_is_made_in_another_process():
    """A process that has 400 MB starts one that needs 100 or so."""
    before, other = measure([("nothing", 1), ("nothing", 2)], repeats=2)
    assert (before.task, before.n, other.n) == ("nothing", 1, 2)
    assert before.seconds > 0
    assert before.peak_bytes > 2**20
    ballast = np.ones(50_000_000)
    (after,) = measure([("nothing", 1)])
    assert ballast.sum() > 0
    assert abs(after.peak_bytes - before.peak_bytes) < 50_000_000


def test_the_recall_is_found_in_another_process():
    assert measure_recall(300, n_jobs=1) == 1.0


def test_a_failing_task_says_why():
    with pytest.raises(RuntimeError, match="KeyError: 'no such task'"):
        measure([("no such task", 1)])


class TestVerdicts:
    row = Versus("a", "ours", "theirs", 100, 0.5, 10, lasts=(9, 1))

    @pytest.mark.parametrize(
        ("seconds", "verdict"), [(1.0, "met"), (2.0, "met"), (2.1, "not met")]
    )
    def test_by_the_ratio(self, clock, seconds, verdict):
        clock([took(seconds, cpu=3.0), took(4.0, cpu=2.0)])
        result = compare(self.row)
        assert (result.verdict, result.n) == (verdict, 100)
        assert (result.ratio, result.cpu_ratio) == (seconds / 4, 1.5)

    def test_a_quick_run_is_smaller_or_says_that_it_left_the_row_out(self, clock):
        clock([took(1.0), took(4.0)])
        assert compare(self.row, quick=True).n == 10
        long = Versus("a", "ours", "theirs", 100, 0.5, None, lasts=(9, 0))
        assert compare(long, quick=True).verdict == "left out of a quick run"

    def test_a_peer_that_is_not_installed(self):
        row = Versus(
            "a", "ours", "theirs", 1, 0.5, 1, needs="no_such_package", lasts=(9, 9)
        )
        assert compare(row).verdict == "no_such_package is not installed"

    def test_a_run_that_fails(self, monkeypatch):
        def fail(*args, **kwargs):
            raise RuntimeError("MemoryError: too much")

        monkeypatch.setattr(rows, "measure", fail)
        assert compare(self.row).verdict == "failed: MemoryError: too much"

    @pytest.mark.parametrize(
        ("seconds", "found", "verdict"),
        [
            (1.0, 0.98, "met; recall 0.980"),
            (1.0, 0.96, "not met; recall 0.960"),
            (3.0, 0.98, "not met; recall 0.980"),
        ],
    )
    def test_a_search_must_be_fast_and_find(
        self, clock, monkeypatch, seconds, found, verdict
    ):
        clock([took(seconds), took(4.0)])
        monkeypatch.setattr(rows, "measure_recall", lambda n, n_jobs: found)
        row = Versus("a", "ours", "theirs", 100, 0.5, 10, recall=0.97, lasts=(9, 1))
        assert compare(row).verdict == verdict

    @pytest.mark.parametrize(("seconds", "verdict"), [(0.4, "met"), (0.6, "not met")])
    def test_by_the_clock(self, clock, seconds, verdict):
        clock([took(seconds)])
        result = time_limit(Limit("help", "a task", 0.5, lasts=(1, 1)))
        assert (result.ours_s, result.ratio, result.verdict) == (seconds, None, verdict)

    def test_growth_is_the_exponent_of_the_last_two_sizes(self):
        row = Growth("a", "a task", (), 1.15, (), lasts=(9, 1))
        points = [took(9.0, 1), took(1.0, 100), took(10.0, 1000)]
        result = judge(row, points)
        assert result.ratio == pytest.approx(1.0)
        assert result.verdict == "met; peak 1.0 GiB"
        slow = judge(row, [took(1.0, 100), took(20.0, 1000)])
        assert slow.verdict.startswith("not met")
        large = judge(row, [took(1.0, 100), took(9.0, 1000, peak=17 * 2**30)])
        assert large.verdict == "not met; peak 17.0 GiB"
        assert judge(row, points[:1], "failed at n=100").verdict == "failed at n=100"


@pytest.fixture
def short_table(monkeypatch):
    versus = Versus("one", "nothing", "nothing", 5, 100, 5, lasts=(9, 2))
    left_out = Versus("two", "nothing", "nothing", 5, 100, None, lasts=(60, 0))
    growth = Growth("three", "nothing", (2, 4), 100, (2, 4), lasts=(9, 4))
    monkeypatch.setattr(report, "VERSUS", (versus, left_out))
    monkeypatch.setattr(
        report, "LIMITS", (Limit("help", "nothing", 100, 1, lasts=(3, 3)),)
    )
    monkeypatch.setattr(report, "GROWTH", (growth,))
    monkeypatch.setattr(report, "KIND_ROWS", ())
    monkeypatch.setattr(report, "STAGES", ())


@pytest.mark.usefixtures("short_table")
def test_the_command_prints_the_table_and_writes_it(tmp_path, clock):
    clock([took(1.0), took(2.0)], [took(1.0)], [took(1.0, 2)], [took(2.0, 4)])
    out = tmp_path / "speed"
    run = CliRunner().invoke(app, ["bench", "--quick", "--out", str(out)])
    assert run.exit_code == 0, run.output
    assert "| one | 5 | nothing |" in run.output
    assert "left out of a quick run" in run.output
    assert sorted(path.name for path in out.iterdir()) == [
        "bench.csv",
        "bench.md",
        "growth.csv",
        "growth.png",
    ]
    speed = ", ".join(f"{name} {value}" for name, value in describe_speed().items())
    assert f"; {speed}.\n" in (out / "bench.md").read_text(encoding="utf-8")
    with open(out / "bench.csv", encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    assert [row["what"] for row in written] == ["one", "two", "help", "three"]
    assert float(written[0]["ours_s"]) == 1.0
    with open(out / "growth.csv", encoding="utf-8") as file:
        assert [row["n"] for row in csv.DictReader(file)] == ["2", "4"]


@pytest.mark.usefixtures("short_table")
def test_progress_is_told_in_seconds_expected_of_what_is_run(tmp_path, clock):
    clock([took(1.0), took(2.0)], [took(1.0)], [took(1.0)], [took(2.0, 2)])
    told = []
    report.run_bench(
        tmp_path, quick=True, progress=lambda *expected: told.append(expected)
    )
    assert told == [(0, 9, 2), (2, 9, 0), (2, 9, 3), (5, 9, 4), (9, 9, 0)]


@pytest.mark.usefixtures("short_table")
def test_only_rows_of_a_name_are_run(tmp_path):
    results = report.run_bench(tmp_path, quick=True, only="ONE")
    assert [row.what for row in results] == ["one"]
    assert results[0].ours_s > 0
    with pytest.raises(
        ValueError, match=r"^only='four' is in the name of no row\. They"
    ):
        report.run_bench(tmp_path, only="four")


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_of_data_has_the_shape_of_its_well_behaved_twin(name):
    made = make_kind(name, 60)
    twin = make_kind(name, 60, well_behaved=True)
    assert made.shape == twin.shape
    assert made.shape[0] == 60
    assert np.isfinite(made).all()
    assert not np.array_equal(made, twin) or name == "memory-mapped"


def test_memory_mapped_data_stay_in_their_file():
    made = make_kind("memory-mapped", 60)
    assert isinstance(made, np.memmap)
    assert made.sum() == make_kind("memory-mapped", 60, well_behaved=True).sum()


def test_stages_are_told_beside_their_floors(tmp_path, monkeypatch):
    found = [("paths", 3.0, 1.5), ("patches", 1.0, 0.1)]
    monkeypatch.setattr(rows, "measure_stages", lambda n, sources: found)
    results = report.run_bench(tmp_path, quick=True, only="stages")
    assert [row.what for row in results] == ["stage: paths", "stage: patches"]
    assert [row.cpu_ratio for row in results] == [2.0, 10.0]
    line = report.format_table(results).splitlines()[-2]
    assert (
        line
        == "| stage: paths | 3,000 | the machine's floor | 3.00 | 1.50 | | 2.000 | | |"
    )


def test_every_stage_has_a_floor_of_the_machine():
    found = time_stages(200, 200, repeats=1)
    assert len({name for name, *_ in found}) == len(found) == 7
    assert all(took > 0 and floor > 0 for _, took, floor in found)
    peaks = measure_peaks()
    assert peaks.single_flops > 1e8
    assert peaks.bytes > 1e8


def test_a_row_without_numbers_has_empty_cells():
    row = Result("a", "b", 1, None, None, None, None, 0.5, "left out")
    assert report.format_table([row]).splitlines()[-1] == (
        "| a | | b | | | | | 0.5 | left out |"
    )
