"""CauchyMap on a CUDA device: seconds of its stages, quality, bits.

Run on a machine with a CUDA device, with the `torch` extra installed:

    python benchmarks/cauchy_map_gpu.py --out cauchy_map_gpu.md

Prints, and writes to the file, for each set: seconds of the first fit of the process,
which compiles kernels; seconds of the next ones; seconds of every stage of another one,
in which the device is waited for after each stage; steps; trustworthiness and hits of
15 neighbours on a sample of the rows; whether two fits have the same bits; seconds of
`transform`. Then the kernels that take most of the time. These are the figures of
`docs/gpu.md`.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

try:
    import torch
except ImportError:
    sys.exit('needs torch: pip install "patchfold[torch]"')

import patchfold as pf
from patchfold.backends.backend import TWINS
from patchfold.backends.tensors import devices
from patchfold.backends.tensors.search import search_all
from patchfold.metrics import trustworthiness

SETS = ((100_000, 20, None), (1_000_000, 20, 5.0), (60_000, 784, 0.7))
"""Samples, features, and the seconds that a fit may take."""

TOY = ((1500, 5, None),)

SAMPLE = 2000
"""Rows that quality is measured on."""


def curved_clusters(n: int, m: int, device: torch.device) -> torch.Tensor:
    """Return samples of 40 curved clusters of several sizes, with noise."""
    rng = np.random.default_rng(0)
    which = rng.choice(40, n, p=np.linspace(1, 4, 40) / 100)
    inner = min(m, 8)
    t = torch.asarray(rng.normal(size=(n, 3)), device=device)
    which = torch.asarray(which, device=device)
    mixing = torch.asarray(rng.normal(size=(40, 3, inner)), device=device)
    places = torch.asarray(3 * rng.normal(size=(40, inner)), device=device)
    bent = torch.einsum("nk,nkm->nm", t, mixing[which])
    points = places[which] + bent + 0.5 * torch.sin(2 * bent)
    outer = torch.asarray(rng.normal(size=(inner, m)) / inner**0.5, device=device)
    noise = torch.asarray(rng.normal(size=(n, m)), device=device)
    return (points @ outer + 0.3 * noise).float()


def wait(device: torch.device) -> None:
    """Wait for a device."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


@contextmanager
def timed_stages(device: torch.device) -> Iterator[dict[str, float]]:
    """Collect the seconds of every stage that tensors have their own code for."""
    seconds: dict[str, float] = defaultdict(float)
    kept: list[tuple[Any, str, Any]] = []
    running: list[str] = []

    def timed(name: str, stage: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if running:  # a part of another stage
                return stage(*args, **kwargs)
            running.append(name)
            wait(device)
            start = time.perf_counter()
            found = stage(*args, **kwargs)
            wait(device)
            seconds[running.pop()] += time.perf_counter() - start
            return found

        return call

    for name, module_name in TWINS.items():
        module = import_module(f"patchfold.backends.tensors.{module_name}")
        kept.append((module, name, getattr(module, name)))
        setattr(module, name, timed(name, getattr(module, name)))
    try:
        yield seconds
    finally:
        for module, name, stage in kept:
            setattr(module, name, stage)


def timed_fit(X: torch.Tensor) -> tuple[pf.CauchyMap, float]:
    """Return a fitted map, and the seconds it took."""
    wait(X.device)
    start = time.perf_counter()
    model = pf.CauchyMap().fit(X)
    wait(X.device)
    return model, time.perf_counter() - start


def quality(model: pf.CauchyMap, X: torch.Tensor) -> str:
    """Return trustworthiness and hits on a sample of the rows."""
    rows = np.random.default_rng(1).choice(len(X), min(SAMPLE, len(X)), replace=False)
    some = torch.asarray(rows, device=X.device)
    parts = X.double(), model.embedding_.double()
    near = [search_all(Z[some], Z, 15, own=some)[0].cpu().numpy() for Z in parts]
    hits = np.mean([np.isin(a, b).mean() for a, b in zip(*near, strict=True)])
    here = (part[some].cpu().numpy() for part in parts)
    return f"trustworthiness {trustworthiness(*here):.4f}, hits {hits:.3f}"


def report(device: torch.device, n: int, m: int, target: float | None) -> str:
    """Return the lines of one set."""
    X = curved_clusters(n, m, device)
    _, first = timed_fit(X)
    runs = [timed_fit(X) for _ in range(3)]
    model, best = runs[0][0], min(seconds for _, seconds in runs)
    same = torch.equal(model.embedding_, runs[1][0].embedding_)
    with timed_stages(device) as stages:
        _, total = timed_fit(X)
    rest = total - sum(stages.values())
    new = X[:: max(1, n // 20_000)] + 0.01
    model.transform(new)
    wait(device)
    start = time.perf_counter()
    model.transform(new)
    wait(device)
    placing = time.perf_counter() - start
    span = float(np.ptp(model._fitted.map.Y.cpu().numpy(), 0).max())
    limit = "" if target is None else f" (target {target})"
    longest = sorted(stages.items(), key=lambda pair: -pair[1])
    return "\n".join(
        [
            f"{n:,} x {m}: {best:.3f} s{limit}, first {first:.2f} s, "
            f"{model.n_iter_} steps, same bits: {same}, {quality(model, X)}",
            f"  transform of {len(new):,}: {placing:.3f} s; span of the map {span:.0f}",
            "  " + ", ".join(f"{name} {s:.3f}" for name, s in longest if s >= 5e-4),
            f"  the rest {rest:.3f}",
        ]
    )


def kernels(device: torch.device, n: int, m: int) -> str:
    """Return the kernels that take most of the time of a fit."""
    from torch.profiler import ProfilerActivity, profile

    X = curved_clusters(n, m, device)
    pf.CauchyMap(max_iter=200).fit(X)
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as found:
        pf.CauchyMap(max_iter=200).fit(X)
        wait(device)
    table = found.key_averages().table(
        sort_by="self_cuda_time_total", row_limit=22, max_name_column_width=60
    )
    kept = [line[:62] + line[-60:] for line in table.splitlines()]
    return f"Kernels of 200 steps, {n:,} x {m}\n" + "\n".join(kept)


def main() -> None:
    """Run everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("cauchy_map_gpu.md"))
    parser.add_argument("--toy", action="store_true", help="few samples, on the CPU")
    options = parser.parse_args()
    if not options.toy and not torch.cuda.is_available():
        sys.exit("needs a CUDA device, and torch finds none")
    device = torch.device("cpu" if options.toy else "cuda")
    warnings.simplefilter("ignore")
    lines: list[str] = []

    def tell(line: str) -> None:
        print(line, flush=True)
        lines.append(line)
        options.out.write_text("\n\n".join(lines) + "\n", encoding="utf-8")

    if options.toy:
        devices.draws_maps = lambda _: True
    for n, m, target in TOY if options.toy else SETS:
        tell(report(device, n, m, target))
    if not options.toy:
        for n, m, _ in SETS[1:]:
            tell(kernels(device, n, m))


if __name__ == "__main__":
    main()
