"""Tasks -> records: run them in parallel, skip what is done, keep what was measured.

A task is one method on one set under one protocol. It never fails the run: a set that
cannot be had gives records that say "no data", and a method that fails on a set gives
records that say why.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from ...backends.processes import run_pieces
from ...backends.version import __version__
from ...datasets import DatasetUnavailableError, load
from ...validation import check_magnitude
from .honest import LeftOutError
from .methods import RELEASED
from .papers import PAPERS, Published, kind_of, published_numbers
from .protocols import N_SPLITS, PROTOCOLS, is_honest, score
from .records import Record, RecordFile, TaskKey

RESULTS = "results.csv"

LACKING = ("no data", "not installed")
"""How the status of a task begins that is run again."""


def list_tasks(
    paper: str,
    *,
    tables: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
    protocols: tuple[str, ...] = (),
    variants: tuple[str, ...] = ("equations",),
    methods: tuple[str, ...] = (),
    n_splits: int = N_SPLITS,
) -> list[TaskKey]:
    """List the runs that a paper's tables need.

    Parameters
    ----------
    paper : str
        A name of `PAPERS`.
    tables, datasets : tuple of str
        Which of its tables and sets; empty for all.
    protocols, variants : tuple of str
        How to run them; by default as the paper did. The released variant exists for
        the papers' own methods only, and cannot place new samples, so it is not run
        under an honest protocol. A study is run under its own protocols only.
    methods : tuple of str
        Which of its methods; empty for all.
    n_splits : int
        Splits of the honest protocol.

    Returns
    -------
    list of TaskKey

    Examples
    --------
    >>> tasks = list_tasks("pelle", datasets=("lupus",))
    >>> len(tasks), tasks[-1].method
    (7, 'PELLE')
    """
    chosen = PAPERS[paper]
    listed = chosen.datasets(tables)
    _check_listed("dataset", datasets, listed)
    wanted = [
        protocol
        for protocol in protocols or (chosen.protocol,)
        if kind_of(protocol) in chosen.kinds
    ]
    if not wanted:
        names = [
            name
            for name, meant in PROTOCOLS.items()
            if any(kind_of(protocol) in chosen.kinds for protocol in meant)
        ]
        raise ValueError(
            f"paper {paper!r} is run under protocols of its own, and "
            f"{protocols[0]!r} is not one. Ask for {', '.join(names)}."
        )
    run = {
        protocol: [
            method
            for method in chosen.methods
            if any(table.takes(method, protocol) for table in chosen.tables)
        ]
        for protocol in wanted
    }
    _check_listed("method", methods, list(dict.fromkeys(chain(*run.values()))))
    keys = []
    for dataset in datasets or listed:
        for protocol in wanted:
            splits = n_splits if is_honest(protocol) else 1
            for method in run[protocol]:
                if methods and method not in methods:
                    continue
                for variant in variants:
                    script = variant == "released"
                    if script and (method not in RELEASED or is_honest(protocol)):
                        continue
                    keys += [
                        TaskKey(paper, dataset, method, protocol, variant, split)
                        for split in range(splits)
                    ]
    return keys


def _check_listed(what: str, asked: tuple[str, ...], listed: Iterable[str]) -> None:
    unknown = sorted(set(asked) - set(listed))
    if unknown:
        raise ValueError(
            f"{what} {unknown[0]!r} is in none of the tables asked for. They use: "
            f"{', '.join(listed)}."
        )


def run_tasks(
    tasks: Iterable[TaskKey],
    folder: Path,
    *,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Record]:
    """Run the tasks that a folder's results do not hold yet, or lacked something for.

    Parameters
    ----------
    tasks : iterable of TaskKey
        What to run.
    folder : Path
        Where `results.csv` is, or will be.
    n_jobs : int or None
        Processes, as in joblib.
    progress : callable or None
        Called with the number of finished tasks and of all tasks.

    Returns
    -------
    list of Record
        All records of the folder, old and new.
    """
    folder.mkdir(parents=True, exist_ok=True)
    published = published_numbers()
    with RecordFile(folder / RESULTS) as file:
        wanted = list(tasks)
        # The data, or the other library, may have come since.
        absent = {r.key for r in file.records if r.status.startswith(LACKING)}
        file.drop(absent & set(wanted))
        done = {record.key for record in file.records}
        missing = [task for task in wanted if task not in done]
        finished = len(wanted) - len(missing)
        if progress is not None:
            progress(finished, len(wanted))
        for _, records in run_pieces(
            lambda task: run_task(task, published), missing, n_jobs=n_jobs
        ):
            file.append(records)
            finished += 1
            if progress is not None:
                progress(finished, len(wanted))
        return list(file.records)


def run_task(task: TaskKey, published: Published) -> list[Record]:
    """Run one task and return its records, whatever happens."""
    start = time.perf_counter()
    paper = PAPERS[task.paper]
    tables = paper.tables_for(task.dataset, task.method, task.protocol)
    blank = [
        Record(
            paper=task.paper,
            table=table.number,
            dataset=task.dataset,
            method=task.method,
            metric=metric,
            value=None,
            published=published.value(paper, table, task.dataset, task.method, metric),
            protocol=task.protocol,
            variant=task.variant,
            n_neighbors=None,
            seconds=None,
            status="ok",
            split=task.split,
            version=__version__,
        )
        for table in tables
        for metric in table.metrics
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            scores = _scores(task, published)
            status = "ok"
        except DatasetUnavailableError:
            scores, status = {}, "no data"
        except LeftOutError as reason:
            scores, status = {}, f"left out: {reason}"
        except ImportError as error:
            scores, status = {}, f"not installed: {error}"
        except Exception as error:
            first = str(error).splitlines()[0] if str(error) else ""
            scores, status = {}, f"failed: {type(error).__name__}: {first}"
    notes = sorted({f"{w.category.__name__}: {w.message}"[:200] for w in caught})
    seconds = round(time.perf_counter() - start, 3)
    records = []
    for record in blank:
        value, size = scores.get((record.table, record.metric), (None, None))
        records.append(
            replace(
                record,
                value=value,
                n_neighbors=size,
                seconds=seconds,
                status=status,
                note=" | ".join(notes[:3]).replace("\n", " "),
                task_size=len(blank),
            )
        )
    return records


def _scores(
    task: TaskKey, published: Published
) -> dict[tuple[str, str], tuple[float | None, int | None]]:
    paper = PAPERS[task.paper]
    tables = paper.tables_for(task.dataset, task.method, task.protocol)
    dataset = load(task.dataset, download=False)
    labelled = dataset.target >= 0
    X, y = dataset.data[labelled], dataset.target[labelled]
    if len(np.unique(y)) < 2:
        raise ValueError(
            f"{task.dataset} has {len(np.unique(y))} class in {len(y)} labelled rows, "
            "and every score needs two"
        )
    check_magnitude(np.nan_to_num(X))
    X = np.where(np.isnan(X) & dataset.categorical, -1.0, X)
    sizes, width = paper.n_neighbors, 1.0
    for table in tables:
        k = published.setting(paper, table, task.dataset, "K")
        t = published.setting(paper, table, task.dataset, "t")
        if k:
            sizes = (float(k.rstrip("n")) if k.endswith("n") else int(k),)
        if t:
            width = float(t)
    found = score(
        paper,
        tables,
        task.method,
        task.protocol,
        task.variant,
        X,
        y,
        split=task.split,
        sizes=sizes,
        kernel_width=width,
    )
    return {
        (s.table, s.metric): (None if np.isnan(s.value) else s.value, s.n_neighbors)
        for s in found
    }
