"""Results files: whole tasks only, one writer, nothing lost."""

import errno
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from patchfold.studies.reproduction.records import (
    Record,
    RecordFile,
    ResultsLockedError,
    read_records,
    write_records,
)


def record(**changes):
    first = Record(
        paper="elap",
        table="1",
        dataset="parity5",
        method="ELAP",
        metric="silhouette",
        value=0.1234567890123456,
        published=None,
        protocol="published",
        variant="equations",
        n_neighbors=2,
        seconds=0.5,
        status='failed: ValueError: a "quoted", reason',
        note="first\u2028second",
        task_size=2,
    )
    return replace(first, **changes)


def task(dataset):
    return [record(dataset=dataset), record(dataset=dataset, table="2", value=None)]


def test_records_come_back_as_they_were(tmp_path):
    path = tmp_path / "results.csv"
    with RecordFile(path) as file:
        file.append(task("parity5"))
        file.append(task("mux6"))
    assert read_records(path) == task("parity5") + task("mux6")


@pytest.mark.parametrize("kept_bytes", [1, 40, -1])
def test_a_task_cut_off_in_writing_is_dropped_and_the_others_kept(tmp_path, kept_bytes):
    path = tmp_path / "results.csv"
    with RecordFile(path) as file:
        file.append(task("parity5"))
        size = path.stat().st_size
        file.append(task("mux6"))
    cut = size + kept_bytes if kept_bytes > 0 else path.stat().st_size - 1
    os.truncate(path, cut)
    assert read_records(path) == task("parity5")
    with RecordFile(path) as file:
        assert file.records == task("parity5")
        file.append(task("iris"))
    assert read_records(path) == task("parity5") + task("iris")


def test_a_second_writer_is_refused_in_words(tmp_path):
    path = tmp_path / "results.csv"
    with (
        RecordFile(path),
        pytest.raises(ResultsLockedError, match="another run is writing to"),
        RecordFile(path),
    ):
        pass
    with RecordFile(path):
        pass


def test_a_lock_dies_with_its_process(tmp_path):
    path = tmp_path / "results.csv"
    code = (
        "import os, sys, pathlib\n"
        "from patchfold.studies.reproduction.records import RecordFile\n"
        f"RecordFile(pathlib.Path({str(path)!r})).__enter__()\n"
        "os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    with RecordFile(path) as file:
        assert file.records == []


def test_a_failed_rewrite_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "results.csv"
    write_records(path, task("parity5"))

    def full_disk(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_records(path, task("mux6"))
    assert read_records(path) == task("parity5")
    assert [p.name for p in tmp_path.iterdir()] == ["results.csv"]
