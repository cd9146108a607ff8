"""Tasks -> seconds and peak memory, in a process of their own.

Run as a program, it is that process: `python -m patchfold.studies.bench.measure SPEC`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, dataclass
from typing import Any

from .stages import time_stages
from .tasks import TASKS, neighbor_recall

KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**36)}
"""What has glibc keep freed memory for the next run of a task, ours or a peer's. Else
every run asks the system for it again, and a virtual machine its host, at up to 2 s a
GB: the best of several runs would be that of the host."""


@dataclass(frozen=True)
class Measurement:
    """What a task took.

    Attributes
    ----------
    task : str
        Its name.
    n : int
        Samples.
    seconds : float
        The best of its runs, by the clock.
    cpu_seconds : float
        The best of its runs, of processor time in all threads: what to look at where
        other programs share the machine.
    peak_bytes : int
        Most memory of its process so far, data and libraries included; 0 where the
        system does not say. What started the process does not count.
    """

    task: str
    n: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def measure(
    tasks: list[tuple[str, int]], *, repeats: int = 1, n_jobs: int = -1
) -> list[Measurement]:
    """Time tasks in one fresh process, in turns.

    Parameters
    ----------
    tasks : list of (name, number of samples)
        What to run.
    repeats : int
        How often the list is run through; the best time of each counts.
    n_jobs : int
        Threads for those that take them.

    Returns
    -------
    list of Measurement

    Raises
    ------
    RuntimeError
        If the process fails: what it said last.
    """
    found = _in_a_process({"tasks": tasks, "repeats": repeats, "n_jobs": n_jobs})
    return [Measurement(**one) for one in found]


def measure_recall(n: int, *, n_jobs: int = -1) -> float:
    """Return the share of true neighbours that a fit of n samples finds.

    In a process of its own as well, so that this one stays small.
    """
    return float(_in_a_process({"recall": n, "n_jobs": n_jobs}))


def measure_stages(n: int, sources: int) -> list[tuple[str, float, float]]:
    """Return name, seconds and the machine's floor of every stage, in a process."""
    found = _in_a_process({"stages": (n, sources)})
    return [(name, seconds, floor) for name, seconds, floor in found]


def _in_a_process(spec: dict[str, Any]) -> Any:
    run = subprocess.run(
        [sys.executable, "-m", "patchfold.studies.bench.measure", json.dumps(spec)],
        capture_output=True,
        env=os.environ | KEEP_MEMORY,
        text=True,
    )
    if run.returncode:
        said = run.stderr.strip().splitlines() or [f"exit status {run.returncode}"]
        raise RuntimeError(said[-1])
    return json.loads(run.stdout.splitlines()[-1])


def _run(spec: dict[str, Any]) -> Any:
    """Do what the process was started for, and return it as JSON has it."""
    if "recall" in spec:
        return neighbor_recall(spec["recall"], spec["n_jobs"])
    if "stages" in spec:
        return time_stages(*spec["stages"])
    return [asdict(one) for one in _time(spec)]


def _time(spec: dict[str, Any]) -> list[Measurement]:
    calls = [TASKS[name](n, spec["n_jobs"]) for name, n in spec["tasks"]]
    best: list[tuple[float, float, int]] = [(float("inf"), float("inf"), 0)] * len(
        calls
    )
    for _ in range(spec["repeats"]):
        for i, call in enumerate(calls):
            clock, cpu = time.perf_counter(), _cpu_time()
            call()
            clock, cpu = time.perf_counter() - clock, _cpu_time() - cpu
            best[i] = min(best[i][0], clock), min(best[i][1], cpu), _peak_memory()
    return [
        Measurement(name, n, *took)
        for (name, n), took in zip(spec["tasks"], best, strict=True)
    ]


def _cpu_time() -> float:
    """Return the processor time of this process and of those it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _peak_memory() -> int:
    try:
        import resource

        # Linux counts in ru_maxrss what the parent had when it forked.
        with open("/proc/self/status", encoding="ascii") as file:
            return 1024 * int(file.read().split("VmHWM:")[1].split()[0])
    except ImportError:
        return 0
    except (OSError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(_run(json.loads(sys.argv[1]))))
