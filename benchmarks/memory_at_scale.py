"""Peak memory and time of one fit to samples in a file, up to ten million.

    python benchmarks/memory_at_scale.py 1000000
    python benchmarks/memory_at_scale.py 10000000 --method isomap
    python benchmarks/memory_at_scale.py --toy

Ten normal clusters in 20 features, single precision, written to build/ in blocks and
read where they lie. Peak memory is that of the process, with the pages of the file that
it has read. Hits are the 15 true neighbours of 500 samples that are among the 15
nearest in the embedding.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from pathlib import Path

import numpy as np

import patchfold as pf
from patchfold.neighbors.exact import search_all

METHODS = {
    "map": pf.CauchyMap,
    "isomap": lambda: pf.PatchIsomap(dissimilarity="euclidean", n_landmarks=100),
    "elap": pf.elap,
}
BLOCK, N_FEATURES, N_CLUSTERS, ASKED = 250_000, 20, 10, 500


def write_samples(path, n):
    """Write n samples to a file of NumPy, a block at a time."""
    rng = np.random.default_rng(0)
    middles = 4 * rng.normal(size=(N_CLUSTERS, N_FEATURES))
    shape = n, N_FEATURES
    X = np.lib.format.open_memmap(path, "w+", np.float32, shape)
    for start in range(0, n, BLOCK):
        some = X[start : start + BLOCK]
        some[:] = middles[rng.integers(N_CLUSTERS, size=len(some))]
        some += rng.standard_normal(some.shape, dtype=np.float32)
    X.flush()


def hits(X, Y):
    """Return the share of true neighbours that are near in the embedding."""
    rows = np.linspace(0, len(X) - 1, ASKED).astype(int)
    near = [
        search_all(
            np.asarray(table[rows], float), np.asarray(table, float), 15, own=rows
        )
        for table in (X, Y)
    ]
    pairs = zip(*(found.indices for found in near), strict=True)
    return np.mean([np.isin(ours, theirs).mean() for ours, theirs in pairs])


def main():
    """Fit once and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--method", choices=METHODS, default="map")
    parser.add_argument("--toy", action="store_true")
    chosen = parser.parse_args()
    n = 2000 if chosen.toy else chosen.n
    path = Path("build") / f"clusters_{n}.npy"
    path.parent.mkdir(exist_ok=True)
    write_samples(path, n)
    X = np.load(path, mmap_mode="r")
    warnings.simplefilter("ignore")  # ten clusters are ten pieces of a graph
    wall, cpu = time.perf_counter(), time.process_time()
    Y = METHODS[chosen.method]().fit(X).embedding_
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print("| method | n | s | processor s | peak, GiB | hits |")
    print("| --- | --- | --- | --- | --- | --- |")
    took = f"{wall:.0f} | {cpu:.0f} | {peak:.2f}"
    print(f"| {chosen.method} | {n:,} | {took} | {hits(X, Y):.2f} |")
    path.unlink()


if __name__ == "__main__":
    main()
