"""A device beside NumPy: where they differ, and how long the stages of a fit take.

Run on a machine with a CUDA device, with the `torch` extra installed:

    python benchmarks/gpu.py --device cuda --out gpu

Prints, and writes to `gpu/gpu.md`: the largest differences from NumPy, whether two runs
give the same bits, the table of `patchfold bench --device cuda`, the seconds of every
stage, and TorchDR's time on the same data where it is installed. These are the figures
of `docs/gpu.md`.
"""

from __future__ import annotations

import argparse
import contextlib
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import patchfold as pf
from patchfold.backends.backend import NUMPY, Backend, find_backend
from patchfold.dissimilarity.table import DISSIMILARITIES
from patchfold.studies.bench.device import (
    ROWS,
    DeviceRow,
    describe_device,
    make_data,
    time_row,
)
from patchfold.studies.bench.report import format_table
from patchfold.studies.bench.tasks import noisy_roll

STAGES = {
    "patchfold.estimators.stages": ("find_neighbors", "fit_neighborhoods"),
    "patchfold.estimators.base": (
        "pairs_from_directed",
        "join_components",
        "weak_components",
        "describe_patches",
        "compare_pairs",
    ),
    "patchfold.estimators.eigenmaps": ("edge_weights", "smallest_eigenpairs"),
    "patchfold.estimators.isomap": ("geodesics", "classical_mds"),
    "patchfold.records": ("mirror_edges",),
}


UNJUDGED = (
    DeviceRow(
        "isomap_kl, 100 landmarks",
        lambda: pf.isomap_kl(n_neighbors=15, n_landmarks=100),
        1_000_000,
        20,
        0,
        3000,
    ),
    DeviceRow("isomap_kl, all", lambda: pf.isomap_kl(n_neighbors=15), 10_000, 20, 0, 1),
    DeviceRow("cauchy", pf.CauchyEmbedding, 100_000, 20, 0, 3000),
    DeviceRow("posterior", pf.PatchPosterior, 20_000, 20, 0, 1, supervised=True),
)
"""Fits without a target, for the seconds of their stages."""

TORCHDR = 40_000
"""Samples for TorchDR: without faiss it fails at 100,000."""


def largest_angle(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest principal angle between two column spaces."""
    a, b = (np.linalg.qr(x - x.mean(axis=0))[0] for x in (a, b))
    sines = np.linalg.svd(b - a @ (a.T @ b), compute_uv=False)
    return float(np.arcsin(np.clip(sines.max(), 0, 1)))


def agreement(backend: Backend) -> Iterator[str]:
    """Compare a device with NumPy: dissimilarities, embeddings, bits."""
    X = noisy_roll(2000, n_features=8)
    y = (X[:, 0] > 0).astype(int)
    T = backend.give_back(X)
    for name in DISSIMILARITIES:
        here = pf.PatchEigenmaps(dissimilarity=name).fit(X)
        there = pf.PatchEigenmaps(dissimilarity=name).fit(T)
        data = NUMPY.bring(there.graph_).data
        gap = abs(here.graph_.data - data).max() / abs(here.graph_.data).max()
        angle = largest_angle(here.embedding_, there.embedding_.cpu().numpy())
        yield f"{name}: edges differ by {gap:.1e}, angle {angle:.1e}"
    single = T.float()
    for make in (pf.elap, pf.klap, pf.isomap_kl, pf.pelle, pf.cauchy):
        params: dict[str, Any] = {"n_neighbors": 15}
        if make is pf.elap:
            params["kernel_width"] = "auto"
        here = make(**params).fit(X, y)
        there, again = (make(**params).fit(T, y) for _ in range(2))
        rough = make(**params).fit(single, y)
        gap = largest_angle(here.embedding_, there.embedding_.cpu().numpy())
        loss = largest_angle(here.embedding_, rough.embedding_.cpu().double().numpy())
        same = torch.equal(there.embedding_, again.embedding_)
        placed = there.transform(T[:100] + 0.01).cpu().numpy()
        apart = abs(placed - here.transform(X[:100] + 0.01)).max()
        yield (
            f"{make.__name__}: angle {gap:.1e}, from single precision {loss:.1e}, "
            f"transform {apart / abs(placed).max():.1e}, same bits: {same}"
        )


class Clock:
    """Seconds of every stage, the device waited for before and after each."""

    def __init__(self, device: Any) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None

    def watch(self, function: Any) -> Any:
        """Return the function, timed."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            self._wait()
            start = time.perf_counter()
            result = function(*args, **kwargs)
            self._wait()
            self.seconds[function.__name__] += time.perf_counter() - start
            return result

        return timed


@contextlib.contextmanager
def watched(clock: Clock) -> Iterator[None]:
    """Replace the stages by watched ones for a while."""
    import importlib

    kept = []
    for module_name, names in STAGES.items():
        module = importlib.import_module(module_name)
        for name in names:
            kept.append((module, name, getattr(module, name)))
            setattr(module, name, clock.watch(kept[-1][2]))
    try:
        yield
    finally:
        for module, name, function in kept:
            setattr(module, name, function)


def profile(backend: Backend, row: Any, n: int) -> str:
    """Return the seconds of every stage of one row."""
    samples, y = make_data(row, n)
    X = backend.give_back(samples)
    clock = Clock(backend.device)
    with watched(clock):
        start = time.perf_counter()
        float(row.make().fit(X, y).embedding_[0, 0])
        total = time.perf_counter() - start
    parts = ", ".join(f"{k} {v:.3f}" for k, v in clock.seconds.items())
    return f"{row.what}, {n:,} x {row.m}: {total:.3f} s: {parts}"


def beside_torchdr(backend: Backend, n: int) -> str:
    """Time UMAP of TorchDR and ELAP on the same samples, the better of two runs."""
    try:
        import torchdr
    except ImportError as error:
        return f"TorchDR is not installed ({error})."
    X = backend.give_back(noisy_roll(n)).float()

    def umap() -> Any:
        settings = {"n_neighbors": 15, "device": str(backend.device), "backend": None}
        return torchdr.UMAP(n_components=2, **settings).fit_transform(X).detach()

    def elap() -> Any:
        return pf.elap(n_neighbors=15, kernel_width="auto").fit_transform(X)

    best = {}
    for call in (umap, elap):
        times = []
        for _ in range(2):
            start = time.perf_counter()
            float(call()[0, 0])
            times.append(time.perf_counter() - start)
        best[call.__name__] = min(times)
    ratio = best["elap"] / best["umap"]
    return (
        f"TorchDR {torchdr.__version__} UMAP, {n:,} x 20: {best['umap']:.2f} s; "
        f"elap: {best['elap']:.2f} s, {ratio:.2f} of it (target .5)."
    )


def small_memory(backend: Backend) -> Iterator[str]:
    """Say what happens where a fit has no room."""
    X = backend.give_back(noisy_roll(150_000))
    for make in (
        lambda: pf.PatchIsomap(n_landmarks=None),
        lambda: pf.elap(n_neighbors=0.5),
    ):
        try:
            make().fit(X)
            yield f"{X.shape[0]:,} samples fitted."
        except MemoryError as error:
            yield f"MemoryError: {error}"
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info()
    taken = torch.empty(int(free - 6 * 2**30), dtype=torch.uint8, device=backend.device)
    X = backend.give_back(noisy_roll(300_000, n_features=50))
    try:
        start = time.perf_counter()
        pf.elap(n_neighbors=15, kernel_width="auto").fit(X)
        yield f"300,000 x 50 in 6 GiB: {time.perf_counter() - start:.2f} s."
    except MemoryError as error:
        yield f"MemoryError: {error}"
    del taken


def main() -> None:
    """Run everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=Path("gpu"))
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    backend = find_backend(options.device)
    options.out.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []

    def tell(line: str) -> None:
        print(line, flush=True)
        lines.append(line)
        (options.out / "gpu.md").write_text("\n\n".join(lines) + "\n")

    tell(describe_device(backend))
    for line in agreement(backend):
        tell(line)
    results = []
    for row in ROWS:
        n = row.quick if options.quick else row.n
        results.append(time_row(row, backend, n=n, repeats=options.repeats))
        print(results[-1], flush=True)
        tell(profile(backend, row, n))
    tell(format_table(results))
    for row in () if options.quick else UNJUDGED:
        profile(backend, row, 3000)  # compiles
        tell(profile(backend, row, row.n))
    tell(beside_torchdr(backend, 2000 if options.quick else TORCHDR))
    if backend.device.type == "cuda":
        for line in small_memory(backend):
            tell(line)


if __name__ == "__main__":
    main()
