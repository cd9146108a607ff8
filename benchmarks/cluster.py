"""Rows placed out of core by 1 and by 2 workers on this machine; `docs/cluster.md`.

    python benchmarks/cluster.py --rows 10_000_000 --folder somewhere/with/4/GB

makes a Parquet file of 20 features, fits ELAP to 10,000 rows of the same kind, and
places the file's rows with two workers, then a fifth of them with one and with two:
the growth. Rows per second are given by the clock and by the processor, because a
machine is seldom idle.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import time
from pathlib import Path

import numpy as np

import patchfold as pf
from patchfold.cluster import connect
from patchfold.cluster.files import place_file
from patchfold.tables.embedding import embed_table
from patchfold.tables.models.saving import save_model

FEATURES = 20
TRAINED = 10_000
CHUNK = 250_000


def make_samples(n: int, seed: int) -> np.ndarray:
    """Return noisy samples of a bent five-dimensional surface."""
    mixing = np.random.default_rng(0).normal(size=(5, FEATURES))
    rng = np.random.default_rng(seed)
    bent = np.tanh(rng.normal(size=(n, 5)) @ mixing)
    return bent + 0.01 * rng.normal(size=bent.shape)


def write_rows(path: Path, n: int, seed: int) -> None:
    """Write a Parquet file chunk by chunk."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{k}" for k in range(FEATURES)]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema, compression="none") as writer:
        for start in range(0, n, CHUNK):
            X = make_samples(min(CHUNK, n - start), seed + start)
            writer.write_table(pa.table(list(X.T), schema=schema))


def usage() -> tuple[float, float]:
    """Return processor seconds and peak memory in MiB of the process it runs in."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    # Not ru_maxrss: a worker has that of the process that started it.
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return used.ru_utime + used.ru_stime, int(peak.split()[1]) / 1024


def place(path: Path, model: Path, out: Path, n_workers: int) -> dict[str, float]:
    """Place a file and say what it took."""
    shutil.rmtree(out, ignore_errors=True)
    with connect("local", n_workers=n_workers) as client:
        before = client.run(usage)
        start = time.perf_counter()
        done = place_file(path, model, out, client)
        seconds = time.perf_counter() - start
        after = client.run(usage)
    processor = sum(after[key][0] - before[key][0] for key in after)
    peaks = [after[key][1] for key in after]
    return {
        "workers": n_workers,
        "rows": done.n_rows,
        "parts": done.n_parts,
        "seconds": seconds,
        "processor": processor,
        "peak": max(peaks),
        "idle": max(before[key][1] for key in before),
    }


def show(result: dict[str, float]) -> None:
    """Print a row of the table."""
    rows, seconds = result["rows"], result["seconds"]
    print(
        f"| {result['workers']} | {rows:,} | {result['parts']} | {seconds:.0f} | "
        f"{rows / seconds:,.0f} | {result['processor']:.0f} | "
        f"{rows / result['processor']:,.0f} | {result['peak']:.0f} | "
        f"{result['idle']:.0f} |",
        flush=True,
    )


def main() -> None:
    """Measure, and print the table of the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=Path("build/cluster"))
    parser.add_argument("--toy", action="store_true", help="smallest sizes")
    args = parser.parse_args()
    trained = 200 if args.toy else TRAINED
    if args.toy:
        args.rows = 2000
    folder = args.folder
    folder.mkdir(parents=True, exist_ok=True)
    model, big, part = (folder / n for n in ("m.skops", "big.parquet", "part.parquet"))
    write_rows(folder / "train.parquet", trained, 1)
    params = {"n_neighbors": 15, "kernel_width": "auto"}
    done = embed_table(str(folder / "train.parquet"), "elap", params)
    save_model(done.pipeline, model, **done.about)
    write_rows(big, args.rows, 2)
    write_rows(part, args.rows // 5, 2)
    print(f"patchfold {pf.__version__}, {os.cpu_count()} cores, {os.getloadavg()} busy")
    print(f"table of {big.stat().st_size / 2**20:,.0f} MiB")
    print(
        "| workers | rows | parts | s | rows/s | processor s | rows/processor s | "
        "peak MiB of a worker | MiB before |"
    )
    print("| --- " * 9 + "|")
    runs = ((big, 2), (part, 2), (part, 1))
    for path, n_workers in runs[-1:] if args.toy else runs:
        show(place(path, model, folder / "out.parquet", n_workers))


if __name__ == "__main__":
    main()
