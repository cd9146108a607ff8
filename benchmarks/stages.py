"""Processor seconds of each stage of a fit, by the loops in C and by arrays.

    OPENBLAS_NUM_THREADS=1 python benchmarks/stages.py

prints the table of docs/performance.md, "Loops in C": a swiss roll with 17 features of
noise, K = 15, one thread, best of several runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import patchfold as pf
from patchfold.backends.native import loops as native
from patchfold.dissimilarity.lengths import compare_pairs
from patchfold.dissimilarity.table import describe_patches, get_dissimilarity
from patchfold.graph.paths import geodesics
from patchfold.graph.weights import laplacian, scale_both_sides
from patchfold.neighbors.choice import find_neighbors
from patchfold.patches.fitting import fit_patches, mean_variance
from patchfold.solvers.spectral import smallest_eigenpairs
from patchfold.studies.bench.tasks import N_NEIGHBORS, noisy_roll

SAMPLES = 8000
SOURCES = 400
REPEATS = 5


def seconds(work: Callable[[], Any]) -> float:
    """Return the processor seconds of the fastest of several runs."""
    took = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return min(took)


def stages() -> dict[str, Callable[[], Any]]:
    """Return what is timed, each ready to run."""
    X = noisy_roll(SAMPLES)
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
        f"shortest paths, {SOURCES} sources": lambda: geodesics(
            model.graph_, np.arange(SOURCES), n_jobs=1
        ),
    }


def main() -> None:
    """Print the table."""
    loops = native._loops
    print(f"| {SAMPLES:,} x 20, K = {N_NEIGHBORS} | arrays | loops |")
    print("| --- | ---: | ---: |")
    for name, work in stages().items():
        native._loops = None
        arrays = seconds(work)
        native._loops = loops
        print(f"| {name} | {arrays:.2f} | {seconds(work):.2f} |")


if __name__ == "__main__":
    main()
