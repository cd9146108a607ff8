"""Commands in processes of their own that can be killed, starved or held up."""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import runpy
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

FORKSERVER = multiprocessing.get_context("forkserver")
"""Forks from a process that has imported what it needs: a trial takes no start-up."""

FORKSERVER.set_forkserver_preload(
    [
        "helpers.faults",
        "pandas",
        "matplotlib.figure",
        "patchfold.cli",
        "patchfold.tables.placing",
        "patchfold.studies.reproduction.report",
        "patchfold.studies.reproduction.runner",
        "patchfold.plotting",
        "patchfold.tables.models.saving",
        "skops.io",
    ]
)


def run_command(words: list[str]) -> None:
    """Run `patchfold` in a forked process."""
    from patchfold.cli import app

    os.environ.pop("PATCHFOLD_DATA", None)
    warnings.simplefilter("ignore")
    app(words, standalone_mode=False)


def start(words: list[str]) -> multiprocessing.Process:
    """Start a command."""
    process = FORKSERVER.Process(target=run_command, args=(words,))
    process.start()
    return process


def run_script(script: Path, folder: Path, *words: str) -> tuple[int, str]:
    """Run a script in a folder, without the papers' data; return status and output."""
    out = folder / "output.txt"
    process = FORKSERVER.Process(target=_run_script, args=(script, folder, out, words))
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode, out.read_text("utf-8")


def _run_script(script: Path, folder: Path, out: Path, words: tuple[str, ...]) -> None:
    with out.open("wb") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    os.environ.pop("PATCHFOLD_DATA", None)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # for processes that it starts
    os.chdir(folder)
    sys.argv = [str(script), *words]
    sys.path.insert(0, str(script.parent))
    runpy.run_path(str(script), run_name="__main__")


def finish(words: list[str]) -> float:
    """Run a command to its end, and return how long it took."""
    before = time.perf_counter()
    process = start(words)
    process.join()
    assert process.exitcode == 0
    return time.perf_counter() - before


def starve(out: Path, target: str, *args: object, **limits: int) -> tuple[int, str]:
    """Call a function of this module with limits on resources.

    Parameters
    ----------
    out : Path
        Where what it says is caught.
    target : str
        Name of the function.
    *args
        Its arguments.
    **limits
        Bytes: FSIZE of a file, AS of memory beyond what the process has.

    Returns
    -------
    status : int
        Exit status; negative if a signal ended it.
    said : str
    """
    process = FORKSERVER.Process(target=_starved, args=(out, target, args, limits))
    process.start()
    process.join()
    return process.exitcode, out.read_text("utf-8")


def _starved(
    out: Path, target: str, args: tuple[object, ...], limits: dict[str, int]
) -> None:
    with open(out, "w", encoding="utf-8") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    if "AS" in limits:
        status = Path("/proc/self/status").read_text()
        limits["AS"] += int(status.split("VmSize:")[1].split()[0]) * 1024
    for name, value in limits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
    if "FSIZE" not in limits:
        globals()[target](*args)
        return
    try:
        globals()[target](*args)
        status = 0
    except SystemExit as ended:
        status = ended.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # a measured process would write its own file now, too large a one


def command(words: list[str]) -> None:
    """Run `patchfold` as from a shell: it ends in an exit status."""
    from patchfold.cli import app

    os.environ.pop("PATCHFOLD_DATA", None)
    app(words)


def fit_random(name: str, n_samples: int, n_neighbors: float) -> None:
    """Fit an estimator on noise, and print the error of one that lacks memory."""
    import numpy as np

    import patchfold as pf

    X = np.random.default_rng(0).normal(size=(n_samples, 5))
    try:
        getattr(pf, name)(n_neighbors=n_neighbors).fit(X)
    except MemoryError as error:
        print(type(error).__name__, error, flush=True)


def factorize_random(n_samples: int) -> None:
    """Factorise a graph without separators, and print the error of one that fails."""
    import numpy as np
    import scipy.sparse as sp

    from patchfold.solvers.factors import factorize

    row = np.repeat(np.arange(n_samples), 10)
    column = np.random.default_rng(0).integers(0, n_samples, row.size)
    graph = sp.coo_array((np.ones(row.size), (row, column)), shape=(n_samples,) * 2)
    matrix = sp.diags_array(np.full(n_samples, 50.0)) - graph - graph.T
    try:
        factorize(matrix.tocsc(), pivot=0.0)
    except MemoryError as error:
        print(type(error).__name__, error, flush=True)


def largest_pool() -> int:
    """Return the threads of the largest pool that a worker's libraries have."""
    import numpy  # noqa: F401
    from threadpoolctl import threadpool_info

    return max((pool["num_threads"] for pool in threadpool_info()), default=1)


def kill_somewhere(
    words: list[str], folder: Path, seconds: float, draw: random.Random
) -> str:
    """Start a command and kill it with SIGKILL.

    Half of the times at any moment of `seconds`, half of them within two milliseconds
    of a change in the folder, where something is being written.

    Returns
    -------
    str
        "killed", or "ended" if it was faster.
    """
    at_a_write = draw.random() < 0.5
    changes = draw.choice((1, 1, 2, 3))
    delay = draw.uniform(0, 0.002) if at_a_write else draw.uniform(0, seconds)
    process = start(words)
    if at_a_write:
        _wait_for_changes(process, folder, changes)
    time.sleep(delay)
    process.kill()
    process.join()
    return "killed" if process.exitcode == -signal.SIGKILL else "ended"


def _wait_for_changes(
    process: multiprocessing.Process, folder: Path, changes: int
) -> None:
    seen = _look(folder)
    while changes and process.is_alive():
        now = _look(folder)
        changes -= now != seen
        seen = now


def _look(folder: Path) -> list[tuple[str, int]]:
    """Return names and sizes; a name may go while one looks."""
    found = []
    for entry in os.scandir(folder):
        try:
            found.append((entry.name, entry.stat().st_size))
        except FileNotFoundError:
            found.append((entry.name, -1))
    return sorted(found)


def fit_bits(name: str, n_jobs: int | None = None) -> bytes:
    """Fit an estimator or recipe on wine, and return the bits of what it made."""
    from sklearn.datasets import load_wine
    from sklearn.preprocessing import scale

    import patchfold as pf

    X, y = load_wine(return_X_y=True)
    X = scale(X)
    # 30 of 89 neighbours keep every graph in one piece: no warning in any thread.
    model = getattr(pf, name)(n_neighbors=30, n_jobs=n_jobs).fit(X[::2], y[::2])
    return model.embedding_.tobytes() + model.transform(X[1::2]).tobytes()


def hear_interrupts():
    """Hear Ctrl-C, which children of a test run in the background would ignore."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def limited(code, **limits):
    """Run Python with limits on its resources; return status and what it said."""

    def set_limits():
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        preexec_fn=set_limits,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
