"""Killed at random moments: the old files or the new, and records as if nothing was.

PATCHFOLD_KILL_TRIALS=50 makes fifty trials of each; with `-s` they are counted.
"""

import collections
import csv
import os
import random
import shutil
from dataclasses import replace

import numpy as np
import pytest
from helpers.faults import finish, kill_somewhere

import patchfold as pf
from patchfold.studies.reproduction.records import COLUMNS, read_records

TRIALS = int(os.environ.get("PATCHFOLD_KILL_TRIALS", "3"))


def is_litter(path):
    return path.name.startswith(".")


def test_embed_leaves_the_old_files_or_the_new(tmp_path):
    draw, count = random.Random(20261115), collections.Counter()
    old, new, here = (tmp_path / name for name in ("old", "new", "here"))

    def words(folder, neighbors):
        outputs = {"out": "e.csv", "model": "m.skops", "plot": "e.png"}
        options = [f"--{word}={folder / name}" for word, name in outputs.items()]
        return ["embed", "wine", f"--neighbors={neighbors}", "--quiet", *options]

    for folder, neighbors in ((old, 10), (new, 20)):
        folder.mkdir()
        seconds = finish(words(folder, neighbors))
    models = [pf.load_model(folder / "m.skops")["embedding"] for folder in (old, new)]
    for _ in range(TRIALS):
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(old, here)
        count[kill_somewhere(words(here, 20), here, seconds, draw)] += 1
        for name in ("e.csv", "e.png"):
            content = (here / name).read_bytes()
            versions = [(folder / name).read_bytes() for folder in (old, new)]
            assert content in versions
            count[f"{name}: {('old', 'new')[versions.index(content)]}"] += 1
        found = pf.load_model(here / "m.skops")["embedding"].embedding_
        equal = [np.array_equal(found, model.embedding_) for model in models]
        assert any(equal)
        count[f"m.skops: {('old', 'new')[equal.index(True)]}"] += 1
        count["left beside"] += sum(map(is_litter, here.iterdir()))
    finish(words(here, 20))
    assert (here / "e.csv").read_bytes() == (new / "e.csv").read_bytes()
    print("\nembed:", dict(sorted(count.items())))


def timeless(records):
    key = lambda r: (r.dataset, r.method, r.variant, r.table, r.metric)  # noqa: E731
    return sorted((replace(r, seconds=None) for r in records), key=key)


def test_reproduce_goes_on_to_the_records_of_an_uninterrupted_run(tmp_path):
    draw, count = random.Random(20261115), collections.Counter()
    whole, here = tmp_path / "whole", tmp_path / "here"

    def words(folder):
        options = ["--paper=klap", "--datasets=mux6", "--methods=PCA,LDA,KLAP"]
        return ["reproduce", *options, "--quiet", f"--out={folder}"]

    seconds = finish(words(whole))
    expected = timeless(read_records(whole / "results.csv"))
    assert len(expected) == 6
    pages = {
        name: (whole / name).stat().st_size for name in ("report.md", "report.html")
    }
    for trial in range(TRIALS):
        if trial % 5 == 0:  # then from the start again
            shutil.rmtree(here, ignore_errors=True)
            here.mkdir()
        count[kill_somewhere(words(here), here, seconds, draw)] += 1
        check_results(here / "results.csv", expected, count)
        for name, size in pages.items():
            if (here / name).exists():
                assert (here / name).stat().st_size > 0.9 * size
                count[f"{name} whole"] += 1
        count["left beside"] += sum(map(is_litter, here.iterdir()))
        if trial % 5 == 4 or trial == TRIALS - 1:
            finish(words(here))
            assert timeless(read_records(here / "results.csv")) == expected
            count["resumed to the same records"] += 1
    print("\nreproduce:", dict(sorted(count.items())))


def check_results(path, expected, count):
    if not path.exists():
        count["results.csv: none yet"] += 1
        return
    text = path.read_text("utf-8")
    lines = list(csv.reader(text.splitlines()))
    whole = text.endswith("\n") and all(len(line) == len(COLUMNS) for line in lines)
    count[f"results.csv: {'whole' if whole else 'cut off'}"] += 1
    found = timeless(read_records(path))
    assert all(record in expected for record in found)
    assert len(found) % 2 == 0  # a task has two records


@pytest.mark.parametrize("command", ["embed", "reproduce"])
def test_what_a_killed_process_left_beside_is_in_nobodys_way(tmp_path, command):
    names = ("e.csv", "results.csv", "report.md")
    litter = [tmp_path / f".{name}.0123456789abcdef" for name in names]
    for path in litter:
        path.write_bytes(b"half of so")
    if command == "embed":
        finish(["embed", "iris", "--quiet", f"--out={tmp_path / 'e.csv'}"])
        assert (tmp_path / "e.csv").exists()
    else:
        options = ["--paper=klap", "--datasets=mux6", "--methods=PCA", "--quiet"]
        finish(["reproduce", *options, f"--out={tmp_path}"])
        assert len(read_records(tmp_path / "results.csv")) == 2
        assert not litter[1].exists()  # the lock tells that nobody is writing it
