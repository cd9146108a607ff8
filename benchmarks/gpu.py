"""A device beside NumPy: where they differ, and how long the stages of a fit take.

Run on a machine with a CUDA device, with the `torch` extra installed:

    python benchmarks/gpu.py --device cuda --out gpu

Prints, and writes to `gpu/gpu.md`: the largest differences from NumPy, whether two runs
give the same bits, the table of `patchfold bench --device cuda`, the seconds of every
stage that the progress bar names and of a first fit in a process, and TorchDR's time on
the same data where it is installed. These are the figures of `docs/gpu.md`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

try:
    import torch
except ImportError:
    sys.exit('needs torch: pip install "patchfold[torch]"')

import patchfold as pf
from patchfold.backends.progress import watch_blocks
from patchfold.dissimilarity.table import DISSIMILARITIES
from patchfold.studies.bench.device import ROWS, DeviceRow, make_data
from patchfold.studies.bench.tasks import noisy_roll

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
    DeviceRow("PatchLLE, 2,000 landmarks", pf.PatchLLE, 1_000_000, 20, 0, 11_000),
    DeviceRow("cauchy", pf.CauchyEmbedding, 100_000, 20, 0, 3000),
    DeviceRow("posterior", pf.PatchPosterior, 20_000, 20, 0, 1, supervised=True),
)
"""Fits without a target, for the seconds of their stages."""

TORCHDR = 40_000
"""Samples for TorchDR: without faiss it fails at 100,000."""


FIRST_FIT = """
import sys, time, warnings, torch
import patchfold as pf
warnings.simplefilter("ignore")
device, n, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
make = {"elap": lambda: pf.elap(n_neighbors=15, kernel_width="auto"),
        "CauchyMap": pf.CauchyMap}[name]
X = torch.randn(n, 20, device=device)
model, start = make(), time.perf_counter()
float(model.fit(X).embedding_[0, 0])
print(time.perf_counter() - start)
"""
"""A program that prints the seconds of the first fit in its process."""


def largest_angle(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest principal angle between two column spaces."""
    a, b = (np.linalg.qr(x - x.mean(axis=0))[0] for x in (a, b))
    sines = np.linalg.svd(b - a @ (a.T @ b), compute_uv=False)
    return float(np.arcsin(np.clip(sines.max(), 0, 1)))


def agreement(device: torch.device, n: int, *, few: bool = False) -> Iterator[str]:
    """Compare a device with NumPy: dissimilarities, embeddings, bits."""
    X = noisy_roll(n, n_features=8)
    most = 2 if few else None
    y = (X[:, 0] > 0).astype(int)
    T = torch.asarray(X, device=device)
    for name in [*DISSIMILARITIES][:most]:
        here = pf.PatchEigenmaps(dissimilarity=name).fit(X)
        there = pf.PatchEigenmaps(dissimilarity=name).fit(T)
        data = there.graph_.values().cpu().numpy()
        gap = abs(here.graph_.data - data).max() / abs(here.graph_.data).max()
        angle = largest_angle(here.embedding_, there.embedding_.cpu().numpy())
        yield f"{name}: edges differ by {gap:.1e}, angle {angle:.1e}"
    single = T.float()
    recipes = (pf.elap, pf.klap, pf.isomap_kl, pf.pelle, pf.cauchy)
    for make in recipes[:most]:
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
    """Seconds of every stage; the device is waited for where one ends."""

    def __init__(self, device: torch.device) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
        self._stage, self._start = "before", time.perf_counter()

    def begin(self, stage: str, *_: int) -> None:
        """End the stage that runs, and begin another."""
        self._wait()
        now = time.perf_counter()
        self.seconds[self._stage] += now - self._start
        self._stage, self._start = stage, now


def profile(device: torch.device, row: DeviceRow, n: int) -> str:
    """Return the seconds of every stage of one row."""
    samples, y = make_data(row, n)
    X = torch.asarray(samples, device=device)
    clock = Clock(device)
    with watch_blocks(lambda *_: None, clock.begin):
        row.make().fit(X, y)
    clock.begin("end")
    parts = ", ".join(f"{k} {v:.3f}" for k, v in clock.seconds.items())
    total = sum(clock.seconds.values())
    return f"{row.what}, {n:,} x {row.m}: {total:.3f} s: {parts}"


def bench(device: str, out: Path, *, quick: bool) -> str:
    """Return the table of `patchfold bench --device`."""
    words = [sys.executable, "-m", "patchfold", "bench", "--device", device]
    words += ["--out", str(out), *(["--quick"] if quick else [])]
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout


def first_fits(
    device: torch.device, n: int, names: Sequence[str] = ("elap", "CauchyMap")
) -> str:
    """Time the first fit of a process: without kernels on disk, then with them."""
    lines = []
    for name in names:
        seconds = []
        with tempfile.TemporaryDirectory() as kernels:
            words = [sys.executable, "-c", FIRST_FIT, str(device), str(n), name]
            settings = {**os.environ, "TRITON_CACHE_DIR": kernels}
            for _ in range(2):
                said = subprocess.check_output(words, env=settings, text=True)
                seconds.append(float(said))
        lines.append(
            f"{name}, {n:,} x 20, first fit of a process: {seconds[0]:.1f} s where it "
            f"compiles kernels, {seconds[1]:.1f} s where they are on disk."
        )
    return "\n".join(lines)


def beside_torchdr(device: torch.device, n: int) -> str:
    """Time UMAP of TorchDR and ELAP on the same samples, the better of two runs."""
    try:
        import torchdr
    except ImportError as error:
        return f"TorchDR is not installed ({error})."
    X = torch.asarray(noisy_roll(n), device=device).float()

    def umap() -> Any:
        settings = {"n_neighbors": 15, "device": str(device), "backend": None}
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


def small_memory(device: torch.device) -> Iterator[str]:
    """Say what happens where a fit has no room."""
    X = torch.asarray(noisy_roll(150_000), device=device)
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
    taken = torch.empty(int(free - 6 * 2**30), dtype=torch.uint8, device=device)
    X = torch.asarray(noisy_roll(300_000, n_features=50), device=device)
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
    parser.add_argument("--toy", action="store_true", help="smallest sizes, on the CPU")
    options = parser.parse_args()
    device = torch.device("cpu" if options.toy else options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit("needs a CUDA device, and torch finds none")
    warnings.simplefilter("ignore")
    options.out.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []

    def tell(line: str) -> None:
        print(line, flush=True)
        lines.append(line)
        (options.out / "gpu.md").write_text("\n\n".join(lines) + "\n")

    if options.toy:
        for line in agreement(device, 100, few=True):
            tell(line)
        tell(profile(device, ROWS[0], 200))
        tell(first_fits(device, 200, ["elap"]))
        return
    for line in agreement(device, 2000):
        tell(line)
    for row in (*ROWS, *UNJUDGED):
        n = min(row.n, 3000) if options.quick else row.n
        profile(device, row, min(n, 3000))  # compiles
        tell(profile(device, row, n))
    tell(first_fits(device, 3000 if options.quick else 100_000))
    tell(bench(options.device, options.out, quick=options.quick))
    tell(beside_torchdr(device, 2000 if options.quick else TORCHDR))
    if device.type == "cuda":
        for line in small_memory(device):
            tell(line)


if __name__ == "__main__":
    main()
