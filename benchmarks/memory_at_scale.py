"""Peak memory, time and quality of one fit to samples in a file, up to ten million.

    python benchmarks/memory_at_scale.py 1000000
    python benchmarks/memory_at_scale.py 10000000 --method isomap --file /tmp/roll.npy
    python benchmarks/memory_at_scale.py --toy

A noisy roll in 20 features, single precision, written to `--file` in blocks (and kept,
if it was there), and read where it lies. Peak memory is that of the process, with the
pages of the file that it has read; set MALLOC_MMAP_THRESHOLD_=262144, so that arrays
are given back to the system. Trustworthiness and hits are of 500 samples: their 15
nearest in the embedding are ranked among all samples. Hits are those that are among the
15 true neighbours.
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
    "isomap": lambda n_jobs: pf.isomap_kl(n_landmarks=100, n_jobs=n_jobs),
    "elap": lambda n_jobs: pf.elap(kernel_width="auto", n_jobs=n_jobs),
    "eigenmaps": lambda n_jobs: pf.PatchEigenmaps(
        dissimilarity="euclidean", n_jobs=n_jobs
    ),
}
BLOCK, COMPARED, N_FEATURES, N_NEAR, ASKED = 250_000, 50_000, 20, 15, 500


def write_samples(path, n):
    """Write n samples to a file of NumPy, a block at a time."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n, N_FEATURES))
    for start in range(0, n, BLOCK):
        some = X[start : start + BLOCK]
        t = 1.5 * np.pi * (1 + 2 * rng.random(len(some)))
        some[:, 0], some[:, 2] = t * np.cos(t), t * np.sin(t)
        some[:, 1] = 21 * rng.random(len(some))
        noise = len(some), N_FEATURES - 3
        some[:, 3:] = rng.standard_normal(noise, dtype=np.float32)
    X.flush()


def scores(X, Y):
    """Return trustworthiness of some samples, and the share of true neighbours."""
    n, k = len(X), N_NEAR
    rows = np.linspace(0, n - 1, min(ASKED, n)).astype(int)
    near = search_all(np.asarray(Y[rows], float), np.asarray(Y, float), k, own=rows)
    ours = np.asarray(X[rows], float)
    listed = np.asarray(X[near.indices.ravel()], float).reshape(*near.indices.shape, -1)
    limit = ((listed - ours[:, None]) ** 2).sum(axis=2) * (1 - 1e-9)
    rank = np.zeros(limit.shape, dtype=int)  # the sample itself counts as the first
    for start in range(0, n, COMPARED):
        some = np.asarray(X[start : start + COMPARED], float)
        squared = (ours**2).sum(axis=1)[:, None] - 2 * ours @ some.T
        squared += (some**2).sum(axis=1)
        for place in range(k):
            rank[:, place] += (squared < limit[:, place, None]).sum(axis=1)
    excess = np.maximum(rank - k, 0).sum(axis=1).mean()
    return 1 - 2 * excess / (k * (2 * n - 3 * k - 1)), (rank <= k).mean()


def main():
    """Fit once and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--method", choices=METHODS, default="map")
    parser.add_argument("--file", type=Path, default=None)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--toy", action="store_true")
    chosen = parser.parse_args()
    n = 2000 if chosen.toy else chosen.n
    path = chosen.file or Path("build") / f"roll_{n}.npy"
    is_new = not path.exists()
    if is_new:
        path.parent.mkdir(exist_ok=True)
        write_samples(path, n)
    X = np.load(path, mmap_mode="r")
    warnings.simplefilter("ignore")
    wall, cpu = time.perf_counter(), time.process_time()
    model = METHODS[chosen.method](n_jobs=chosen.jobs).fit(X)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    recall, Y = getattr(model, "neighbors_recall_", None), model.embedding_
    del model
    trust, hits = scores(X, Y)
    print("| method | n | s | processor s | peak, GiB | trust | hits | recall |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    took = f"{wall:.0f} | {cpu:.0f} | {peak:.2f}"
    found = "" if recall is None else f"{recall:.3f}"
    shown = f"{took} | {trust:.4f} | {hits:.3f} | {found}"
    print(f"| {chosen.method} | {len(X):,} | {shown} |", flush=True)
    if is_new:
        path.unlink()


if __name__ == "__main__":
    main()
