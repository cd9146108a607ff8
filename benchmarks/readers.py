"""Score readers by tables as people write them, and time them on large ones.

    python benchmarks/readers.py          # needs duckdb and polars for all readers
    python benchmarks/readers.py --files  # lists what each reader makes of each file
    python benchmarks/readers.py --digits 16  # longer numbers in the large table
    python benchmarks/readers.py --toy

prints the tables of docs/readers.md. A file of `tests/tables/corpus` is right where the
names, kinds and cells of all columns are; it is wrong in silence where they are not and
the reader raised nothing. Readers run with the settings that let them find out most by
themselves; what the user must say of a file, no reader is told but ours.

The second table has the time of a table of 1,000,000 x 20 and of one of 3 x 99,999, in
seconds of this machine: the best of three runs, readers taking turns. The peak is the
memory that a process of its own takes for the large table, in bytes of its data frame.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from helpers.wild_tables import differs, wild_tables  # noqa: E402

LIMIT = 60
"""Seconds that a reader may take for a large table."""


def by_pandas(path: Path) -> pd.DataFrame:
    """Read as most people do."""
    return pd.read_csv(path)


def by_pandas_sniffing(path: Path) -> pd.DataFrame:
    """Let pandas find the separator; it then parses in Python."""
    return pd.read_csv(path, sep=None, engine="python")


def by_pandas_pyarrow(path: Path) -> pd.DataFrame:
    """Let pandas call PyArrow."""
    return pd.read_csv(path, engine="pyarrow")


def by_pyarrow(path: Path) -> pd.DataFrame:
    """Read by PyArrow itself."""
    import pyarrow.csv

    return pyarrow.csv.read_csv(path).to_pandas(date_as_object=False)


def by_polars(path: Path) -> pd.DataFrame:
    """Read by Polars, which takes the types from all rows where the file is small."""
    import polars

    rows = None if path.stat().st_size < 2**20 else 100
    table = polars.read_csv(path, try_parse_dates=True, infer_schema_length=rows)
    return table.to_pandas(date_as_object=False)


def by_duckdb(path: Path) -> pd.DataFrame:
    """Read by DuckDB, which finds out the dialect and the types."""
    import duckdb

    return duckdb.read_csv(str(path)).df()


def by_patchfold(path: Path, **options: str) -> pd.DataFrame:
    """Read by ours."""
    from patchfold.tables import read_table

    return read_table(path, **options)


READERS: dict[str, Callable[..., pd.DataFrame]] = {
    "pandas": by_pandas,
    "pandas, sep=None": by_pandas_sniffing,
    "pandas, engine pyarrow": by_pandas_pyarrow,
    "pyarrow.csv": by_pyarrow,
    "polars": by_polars,
    "duckdb": by_duckdb,
    "patchfold": by_patchfold,
}
BINARY = {
    ".parquet": pd.read_parquet,
    ".feather": pd.read_feather,
    ".xlsx": pd.read_excel,
}
"""What reads other files than text, for all readers but ours."""


def installed() -> list[str]:
    """Return the readers that are here."""
    return [
        name
        for name in READERS
        if name not in ("polars", "duckdb") or importlib.util.find_spec(name)
    ]


def judge(reader: str, table: Any) -> str:
    """Say what a reader makes of a file: "right", "refused" or how it is wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if reader == "patchfold":
                frame = by_patchfold(table.path, **table.options)
            else:
                read = BINARY.get(table.path.suffix, READERS[reader])
                frame = read(table.path)
    except Exception as error:  # any error is a refusal
        return f"refused: {str(error).splitlines()[0][:80] if str(error) else error!r}"
    return differs(frame, table.columns) or "right"


def score(names: list[str], show: bool, step: int) -> None:
    """Print what each reader makes of the corpus, or of every step-th file."""
    tables = dict(list(wild_tables().items())[::step])
    print(f"| reader | right of {len(tables)} | refused | wrong in silence |")
    print("| --- | --- | --- | --- |")
    for name in names:
        found = {file: judge(name, table) for file, table in tables.items()}
        right = sum(said == "right" for said in found.values())
        refused = sum(said.startswith("refused") for said in found.values())
        wrong = len(tables) - right - refused
        print(f"| {name} | {right} | {refused} | {wrong} |", flush=True)
        if show:
            for file, said in found.items():
                if said != "right":
                    print(f"    {file}: {said}")


def write_large(path: Path, n_rows: int, digits: int = 4) -> None:
    """Write a table of 20 columns: numbers, words and dates."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {
        f"x{i}": np.round(rng.normal(size=n_rows), digits) for i in range(12)
    }
    columns |= {f"k{i}": rng.integers(0, 1000, n_rows) for i in range(4)}
    words = ["red", "green", "blue", "a longer word"]
    columns |= {f"c{i}": rng.choice(words, n_rows) for i in range(3)}
    days = pd.to_timedelta(rng.integers(0, 1000, n_rows), unit="D")
    columns["day"] = pd.Timestamp("2020-01-01") + days
    pd.DataFrame(columns).to_csv(path, index=False)


def write_wide(path: Path, n_columns: int) -> None:
    """Write a table of three rows."""
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(n_columns)]
    pd.DataFrame(rng.normal(size=(3, n_columns)).round(4), columns=names).to_csv(
        path, index=False
    )


CHILD = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import readers
from pathlib import Path
def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
read, path = readers.READERS[sys.argv[2]], Path(sys.argv[3])
read(Path(sys.argv[4]))  # what it imports is not counted
before, start = peak(), time.perf_counter()
frame = read(path)
seconds = time.perf_counter() - start
size = int(frame.memory_usage(deep=True).sum())
print(json.dumps([seconds, (peak() - before) * 1024 / size]))
"""
"""A reader in a process of its own: seconds, and memory in bytes of the frame."""


def measure(reader: str, path: Path, small: Path) -> tuple[float, float]:
    """Return the seconds of a reader, and its peak of memory over the frame."""
    words = [str(ROOT / "benchmarks"), reader, str(path), str(small)]
    try:
        done = subprocess.run(
            [sys.executable, "-c", CHILD, *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT,
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return float("nan"), float("nan")
    seconds, peak = json.loads(done.stdout)
    return seconds, peak


def race(
    names: list[str], digits: int, n_rows: int, n_columns: int, repeats: int
) -> None:
    """Print what each reader takes for a large and for a wide table."""
    with tempfile.TemporaryDirectory() as folder:
        large, wide, small = (Path(folder) / f"{n}.csv" for n in ("l", "w", "s"))
        write_large(large, n_rows, digits)
        write_wide(wide, n_columns)
        write_large(small, 10)
        best = {name: [float("inf")] * 3 for name in names}
        for _ in range(repeats):
            for name in names:
                seconds, peak = measure(name, large, small)
                across = best[name][2]
                if across == across:  # one that took too long is not tried again
                    across = measure(name, wide, small)[0]
                found = zip((seconds, peak, across), best[name], strict=True)
                best[name] = [float(np.minimum(*pair)) for pair in found]
        head = f"{n_rows:,} x 20, s | of pandas, engine pyarrow | peak, frames"
        print(f"\n| reader | {head} | 3 x {n_columns:,}, s |")
        print("| --- | --- | --- | --- | --- |")
        base = best["pandas, engine pyarrow"][0]
        for name, (seconds, peak, across) in best.items():
            cells = f"{seconds:.2f} | {seconds / base:.2f} | {peak:.1f} | {across:.2f}"
            print(f"| {name} | {cells} |", flush=True)


def main() -> None:
    """Score, then time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", action="store_true", help="list what goes wrong")
    parser.add_argument("--readers", nargs="*", choices=list(READERS))
    parser.add_argument("--digits", type=int, default=4, help="behind a point")
    parser.add_argument("--toy", action="store_true", help="few and small tables")
    options = parser.parse_args()
    names = options.readers or installed()
    if options.toy:
        names = ["pandas, engine pyarrow", "patchfold"]
    score(names, options.files, step=10 if options.toy else 1)
    if not options.files:
        sizes = (1000, 100, 1) if options.toy else (1_000_000, 99_999, 3)
        race(names, options.digits, *sizes)


if __name__ == "__main__":
    main()
