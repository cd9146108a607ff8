"""Fuzz the readers of CSV, ARFF and Parquet with atheris, which is not a dependency.

    python benchmarks/fuzz_readers.py CORPUS -max_total_time=600 -timeout=20

A table must be read, or refused by one ValueError of one line. Files of CORPUS are
named as tables are; `tests/corpus` has some to start from, and keeps what was found.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["patchfold"]):
    from patchfold.tabular import choose_columns, read_table

ENDINGS = (".csv", ".arff", ".parquet", ".csv.gz", ".tsv")
FOLDER = Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))


def check(data: bytes) -> None:
    """Read a table: the first byte says of which kind, the others are the file."""
    if not data:
        return
    ending = ENDINGS[data[0] % len(ENDINGS)]
    path = FOLDER / f"t{ending}"
    content = data[1:]
    # Half of the compressed files are whole, or hardly one would be.
    packed = ending == ".csv.gz" and data[0] >= 128
    path.write_bytes(gzip.compress(content) if packed else content)
    try:
        frame = read_table(path)
        if frame.empty or not frame.columns.is_unique:
            raise AssertionError("a table without samples, or with a name twice")
        choose_columns(frame, impute="median")
    except ValueError as error:
        check_refusal(error)


def check_refusal(error: ValueError) -> None:
    """Refuse a long message, and one that hides a mistake in our lines."""
    if len(str(error).splitlines()) > 1 or len(str(error)) > 20_000:
        raise AssertionError("not one line") from error
    cause = error.__cause__
    if cause is None or isinstance(cause, ValueError):
        return
    innermost = traceback.extract_tb(cause.__traceback__)[-1]
    if "patchfold" in innermost.filename:
        raise cause


def seed(tables: Path, inputs: Path) -> None:
    """Write tables as inputs: the ending becomes the first byte."""
    for table in sorted(tables.iterdir()):
        for number, ending in enumerate(ENDINGS):
            if table.name.endswith(ending):
                (inputs / table.name).write_bytes(bytes([number]) + table.read_bytes())


def main() -> None:
    """Fuzz, with the options of libFuzzer."""
    tables, *options = sys.argv[1:]
    inputs = FOLDER / "inputs"
    inputs.mkdir()
    seed(Path(tables), inputs)
    try:
        atheris.Setup([sys.argv[0], str(inputs), *options], check)
        atheris.Fuzz()
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)


if __name__ == "__main__":
    main()
