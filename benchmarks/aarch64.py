"""Run the numeric part of the suite on aarch64 under qemu, and compare with here.

    apt-get install qemu-user-static mmdebstrap && pip install ziglang
    python benchmarks/aarch64.py [--folder build/aarch64] [--tests PATH ...]

takes Python 3.11 from Debian's arm64 packages, wheels for aarch64 of what patchfold
needs, and the loops in C as `targets.py` compiles them. It runs the tests, then fits
what `versions.py` fits on both processors. It prints how far apart the coordinates are,
as a part of the largest, up to the signs of axes. A failed test, or more than
AGREEMENT, is exit status 1. With `--toy` this processor is compared with itself.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from targets import build
from versions import AGREEMENT, ROOT, apart, embed_all, lower_bounds

QEMU = "qemu-aarch64-static"
SUITE = "bookworm"
PYTHON = "3.11"
TARGET = "aarch64-linux-gnu.2.28"
PLATFORMS = (
    "manylinux_2_28_aarch64",
    "manylinux_2_27_aarch64",
    "manylinux2014_aarch64",
)
TESTS = (
    "tests/backends/native",
    "tests/dissimilarity",
    "tests/graph",
    "tests/neighbors",
    "tests/patches",
    "tests/posterior",
    "tests/solvers",
    "tests/estimators/test_cauchy_map.py",
    "tests/estimators/test_equations.py",
    "tests/estimators/test_new_samples.py",
    "tests/estimators/test_patch_posterior.py",
    "tests/estimators/test_scikit_learn_twins.py",
)
"""Tests that compute. Tests that start other programs cannot run this way."""

LEFT_OUT = "not subprocess"

TOOLS = ("pytest", "hypothesis", "pandas", "matplotlib", "skops", "array-api-strict")
"""Packages that the tests import."""


def prepare(folder: Path) -> None:
    """Make the folder: Debian's Python, the wheels, the package with its loops."""
    if not (folder / "debian").exists():
        packages = "--include=python3,libgomp1,libstdc++6"
        command = ["mmdebstrap", "--quiet", "--arch=arm64", "--variant=extract"]
        made = folder / "debian.part"
        subprocess.run([*command, packages, SUITE, str(made)], check=True)
        made.rename(folder / "debian")
    if not (folder / "libraries").exists():
        wheels = folder / "wheels"
        pip = [sys.executable, "-m", "pip", "download", "-q", "-d", str(wheels)]
        pip += ["--only-binary=:all:", f"--python-version={PYTHON}"]
        pip += [f"--platform={name}" for name in PLATFORMS]
        names = [bound.split("=")[0] for bound in lower_bounds()]
        subprocess.run([*pip, *names, *TOOLS], check=True)
        for wheel in wheels.glob("*.whl"):
            with zipfile.ZipFile(wheel) as file:
                file.extractall(folder / "libraries.part")
        (folder / "libraries.part").rename(folder / "libraries")
    ignore = shutil.ignore_patterns("*.so", "__pycache__")
    for name in ("src", "tests", "benchmarks"):
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    for name in ("pyproject.toml", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, folder)
    wrong = build([sys.executable, "-m", "ziglang"], TARGET, folder / TARGET)
    if wrong:
        sys.exit(wrong)
    native = folder / "src/patchfold/backends/native"
    shutil.copy(folder / TARGET / "_loops.so", native / "_loops.abi3.so")


def emulate(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with some words on an emulated aarch64."""
    places = os.pathsep.join(map(str, (folder / "src", folder / "libraries")))
    python = folder / "debian" / "usr" / "bin" / f"python{PYTHON}"
    command = [QEMU, "-L", str(folder / "debian"), "-E", f"PYTHONPATH={places}"]
    return subprocess.run(
        [*command, str(python), *words], cwd=folder, stdout=subprocess.PIPE, text=True
    )


def main() -> None:
    """Run the tests, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("build/aarch64"))
    parser.add_argument("--tests", nargs="*", default=TESTS)
    parser.add_argument("--toy", action="store_true", help="this processor twice")
    options = parser.parse_args()
    status = 0
    if options.toy:
        here = there = embed_all(few=True)
    else:
        for name in (QEMU, "mmdebstrap"):
            if shutil.which(name) is None:
                sys.exit(f"needs {name}: apt-get install qemu-user-static mmdebstrap")
        folder = options.folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        prepare(folder)
        if options.tests:
            words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", LEFT_OUT]
            done = emulate(folder, *words, *options.tests)
            print(done.stdout)
            status = done.returncode
        done = emulate(folder, "benchmarks/versions.py", "--worker")
        here, there = embed_all(), json.loads(done.stdout)
    print("| | largest difference |\n| --- | --- |")
    found = {name: apart(here[name], there[name]) for name in here}
    for name, difference in found.items():
        print(f"| {name} | {difference:.0e} |")
    if status or not max(found.values()) <= AGREEMENT:
        sys.exit(f"tests ended with {status}; at most {AGREEMENT:g} may differ.")


if __name__ == "__main__":
    main()
