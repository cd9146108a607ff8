"""Fuzz the readers of CSV, ARFF and Parquet with atheris, which is not a dependency.

    python benchmarks/fuzz_readers.py CORPUS [ENDING] -max_total_time=600 -timeout=20
    python benchmarks/fuzz_readers.py --toy  # reads the tables of the suite, no more

With an ending, such as .arff, only the reader of such files is tried. A table must be
read, or refused by one ValueError of one line. Files of CORPUS are named as tables are;
`tests/helpers/corpus` has some to start from, and keeps what was found.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
import traceback
from contextlib import nullcontext
from functools import partial
from pathlib import Path

try:
    import atheris
except ImportError:
    atheris = None

with atheris.instrument_imports(["patchfold"]) if atheris else nullcontext():
    from patchfold.tables import choose_columns, read_table

ROOT = Path(__file__).resolve().parents[1]
ENDINGS = (".csv", ".arff", ".parquet", ".csv.gz", ".tsv")
"""Kinds of files; the place in this list is the first byte of an input."""

FOLDER = Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))


def check(data: bytes, only: str = "") -> None:
    """Read a table: the first byte says of which kind, the others are the file."""
    if not data:
        return
    ending = only or ENDINGS[data[0] % len(ENDINGS)]
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


def seed(tables: Path, inputs: Path, only: str = "") -> None:
    """Write tables as inputs: the ending becomes the first byte."""
    for table in sorted(tables.iterdir()):
        for number, ending in enumerate(ENDINGS):
            if table.name.endswith(ending) and only in ("", ending):
                (inputs / table.name).write_bytes(bytes([number]) + table.read_bytes())


def replay(tables: Path) -> None:
    """Read every table once, without changes and without atheris."""
    inputs = FOLDER / "inputs"
    inputs.mkdir()
    try:
        seed(tables, inputs)
        for path in inputs.iterdir():
            check(path.read_bytes())
        print(f"{len(list(inputs.iterdir()))} tables read or refused")
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)


def main() -> None:
    """Fuzz, with the options of libFuzzer."""
    if "--toy" in sys.argv:
        replay(ROOT / "tests" / "helpers" / "corpus")
        return
    if atheris is None:
        sys.exit("needs atheris: pip install atheris")
    tables, *options = sys.argv[1:]
    only = options.pop(0) if options and options[0] in ENDINGS else ""
    inputs = FOLDER / "inputs"
    inputs.mkdir()
    seed(Path(tables), inputs, only)
    try:
        # What is new is kept in the first folder: one of yours, if you name one.
        words = [sys.argv[0], *options, str(inputs)]
        atheris.Setup(words, partial(check, only=only))
        atheris.Fuzz()
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)


if __name__ == "__main__":
    main()
