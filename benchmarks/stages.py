"""Processor seconds of each stage of a fit, by the loops in C and by arrays.

    OPENBLAS_NUM_THREADS=1 python benchmarks/stages.py

prints the table of docs/performance_history.md, "Loops in C": a swiss roll with 17
features of noise, K = 15, one thread, best of several runs. Arrays are timed in a
second process that cannot import the loops, as where nothing was compiled.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from patchfold.backends.native.loops import is_compiled
from patchfold.studies.bench.stages import best_time, make_stages
from patchfold.studies.bench.tasks import N_NEIGHBORS

COMPILED = "patchfold.backends.native._loops"
WITHOUT = f"import runpy, sys; sys.modules[{COMPILED!r}] = None; \
runpy.run_path({__file__!r}, run_name='__main__')"
"""Runs this script as where the loops were not compiled."""

SAMPLES, SOURCES, REPEATS = 8000, 400, 5
TOY = 300, 20, 1
"""The same three in a run that only shows that it works."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--toy", action="store_true", help="smallest sizes")
    parser.add_argument("--arrays", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    n, sources, repeats = TOY if options.toy else (SAMPLES, SOURCES, REPEATS)
    times = {s.name: best_time(s.work, repeats) for s in make_stages(n, sources)}
    if options.arrays:
        json.dump([is_compiled(), list(times.values())], sys.stdout)
        return
    if not is_compiled():
        sys.exit("needs the loops in C: pip install -e . where there is a compiler")
    words = [sys.executable, "-c", WITHOUT, *sys.argv[1:], "--arrays"]
    told = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
    loaded, arrays = json.loads(told)
    if loaded:
        sys.exit(f"the loops were loaded: is {COMPILED} their name?")
    print(f"| {n:,} x 20, K = {N_NEIGHBORS} | arrays | loops |")
    print("| --- | ---: | ---: |")
    for (name, loops), slow in zip(times.items(), arrays, strict=True):
        print(f"| {name} | {slow:.2f} | {loops:.2f} |")


if __name__ == "__main__":
    main()
