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
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import patchfold as pf
from patchfold.backends.native.loops import is_compiled
from patchfold.dissimilarity.table import (
    compare_pairs,
    describe_patches,
    get_dissimilarity,
)
from patchfold.graph.paths import geodesics
from patchfold.graph.weights import laplacian, scale_both_sides
from patchfold.neighbors.choice import find_neighbors
from patchfold.patches.fitting import fit_patches, mean_variance
from patchfold.solvers.spectral import smallest_eigenpairs
from patchfold.studies.bench.tasks import N_NEIGHBORS, noisy_roll

COMPILED = "patchfold.backends.native._loops"
WITHOUT = f"import runpy, sys; sys.modules[{COMPILED!r}] = None; \
runpy.run_path({__file__!r}, run_name='__main__')"
"""Runs this script as where the loops were not compiled."""

SAMPLES, SOURCES, REPEATS = 8000, 400, 5
TOY = 300, 20, 1
"""The same three in a run that only shows that it works."""


def seconds(work: Callable[[], Any], repeats: int) -> float:
    """Return the processor seconds of the fastest of several runs."""
    took = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return min(took)


def stages(n: int, sources: int) -> dict[str, Callable[[], Any]]:
    """Return what is timed, each ready to run."""
    X = noisy_roll(n)
    near = find_neighbors(X, N_NEIGHBORS).indices
    patches = fit_patches(X, X, near, variance=mean_variance(X))
    kl = get_dissimilarity("kl")
    described = describe_patches(kl, patches)
    model = pf.PatchEigenmaps(n_neighbors=N_NEIGHBORS).fit(X)
    edges = model.graph_.tocoo()
    pairs = edges.row[edges.row < edges.col], edges.col[edges.row < edges.col]
    matrix, degrees = laplacian(model.affinity_)
    roots = np.sqrt(degrees)
    matrix = scale_both_sides(matrix, 1 / roots)
    return {
        "neighbours, exact": lambda: find_neighbors(X, N_NEIGHBORS, n_jobs=1),
        "inverses of the patches, packed": lambda: describe_patches(kl, patches),
        f"KL of {pairs[0].size:,} edges": lambda: compare_pairs(
            kl, described, described, *pairs
        ),
        "eigenvectors, filtered": lambda: smallest_eigenpairs(
            matrix, 2, roots, seed=np.random.RandomState(0)
        ),
        f"shortest paths, {sources} sources": lambda: geodesics(
            model.graph_, np.arange(sources), n_jobs=1
        ),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--toy", action="store_true", help="smallest sizes")
    parser.add_argument("--arrays", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    n, sources, repeats = TOY if options.toy else (SAMPLES, SOURCES, REPEATS)
    times = {name: seconds(work, repeats) for name, work in stages(n, sources).items()}
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
