"""Run tests with the loops in C built by sanitizers: of addresses, and of behaviour.

    python benchmarks/sanitize.py [ARGUMENTS OF PYTEST]
    python benchmarks/sanitize.py --toy  # compiles and loads the loops, no more

`make sanitize` does that. Without arguments the whole suite runs but for what is left
out below, and then the fuzzers of public calls and of model files. What a sanitizer
finds ends the run. The package is copied to build/sanitized and compiled there by
cc, which must be GCC with its sanitizers; nothing else is touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILT = Path("build/sanitized").resolve()

FLAGS = [
    *("-shared", "-fPIC", "-g", "-fno-omit-frame-pointer", "-fno-math-errno"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Wno-psabi"),
]

LEFT_OUT = {
    "browser": "a browser does not start beside ASan",
    "studies/test_bench.py": "measures times and memory, which are others here",
    "studies/test_benchmarks.py": "as above, and runs this script",
    "backends/test_memory.py": "limits memory, and ASan reserves terabytes",
    "cli/test_kills.py": "as above",
    "tables/test_hostile_tables.py::test_a_bomb_is_refused_within_bounded_memory": (
        "as above"
    ),
    "backends/test_many_fits.py": "measures how long an import takes",
    "estimators/test_torch.py": "torch does not load everywhere beside ASan",
    "backends/tensors": "as above",
    "test_docs.py": "builds the site, and calls none of the loops that others do not",
}
"""Files, folders and single tests that are not run, and why."""

OPTIONS = {
    # Python's own leaks are none of ours, and a test asks for more than there is.
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:abort_on_error=1",
    "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
    "PYTHONMALLOC": "malloc",  # Python's own pools would hide what lies beyond
}


def build(*, optimize: bool) -> None:
    """Copy the package, and compile its loops with the sanitizers."""
    shutil.rmtree(BUILT, ignore_errors=True)
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "src" / "patchfold", BUILT / "patchfold", ignore=ignored)
    native = BUILT / "patchfold" / "backends" / "native"
    sources = sorted(str(path) for path in native.glob("*.c"))
    include = f"-I{sysconfig.get_path('include')}"
    target = str(native / "_loops.abi3.so")
    level = "-O2" if optimize else "-O0"
    words = ["cc", *FLAGS, level, include, *sources, "-o", target]
    subprocess.run(words, check=True)


def library(name: str) -> str:
    """Return the path of one of the compiler's libraries."""
    words = ["cc", f"-print-file-name={name}"]
    return subprocess.run(
        words, capture_output=True, text=True, check=True
    ).stdout.strip()


def can_sanitize() -> bool:
    """Say whether there is a compiler with the libraries of both sanitizers."""
    names = ("libasan.so", "libubsan.so")
    return bool(shutil.which("cc")) and all(library(name) != name for name in names)


def main() -> int:
    """Build, and run pytest and the fuzzer; returns the status of the first to fail."""
    is_toy = sys.argv[1:] == ["--toy"]
    if is_toy and not can_sanitize():
        sys.exit("needs GCC with its sanitizers")
    build(optimize=not is_toy)
    loaded = " ".join(library(name) for name in ("libasan.so", "libubsan.so"))
    environment = {
        **os.environ,
        **OPTIONS,
        "PYTHONPATH": str(BUILT),
        "LD_PRELOAD": loaded,
    }
    check = (
        "from patchfold.backends.native.loops import is_compiled; assert is_compiled()"
    )
    tests = ["tests"]
    for name in LEFT_OUT:
        tests.append(f"--{'deselect' if '::' in name else 'ignore'}=tests/{name}")
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    runs = [[sys.executable, "-c", check]]
    if not is_toy:
        runs.append([*pytest, *(sys.argv[1:] or tests)])
    if not sys.argv[1:]:
        runs.append([sys.executable, "benchmarks/fuzz_calls.py", "500"])
        runs.append([sys.executable, "benchmarks/fuzz_models.py", "--cases", "500"])
    for words in runs:
        status = subprocess.run(
            words, cwd=ROOT, env=environment, check=False
        ).returncode
        if status:
            return abs(status)
    if is_toy:
        print("the sanitized loops load")
    return 0


if __name__ == "__main__":
    sys.exit(main())
