"""Compile the loops in C for every platform that has a wheel, by zig's clang.

    pip install ziglang
    python benchmarks/targets.py [--folder build/targets] [TARGET ...]

compiles and links each of TARGETS, with warnings as errors, and checks that the result
is a library of that platform. A target that fails is printed with the words of the
compiler, and is exit status 1. Headers are those of this Python. Windows has another
`pyconfig.h`: the part of it that the stable ABI needs is written here.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src/patchfold/backends/native").glob("*.c"))
FLAGS = ["-O3", "-fno-math-errno", "-DNDEBUG", "-Wall", "-Werror"]

TARGETS = {
    "x86_64-linux-gnu.2.28": b"\x7fELF\x02\x01",
    "aarch64-linux-gnu.2.28": b"\x7fELF\x02\x01",
    "x86_64-linux-musl": b"\x7fELF\x02\x01",
    "aarch64-linux-musl": b"\x7fELF\x02\x01",
    "x86_64-macos": b"\xcf\xfa\xed\xfe\x07\x00\x00\x01",
    "aarch64-macos": b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01",
    "x86_64-windows-gnu": b"MZ",
    "aarch64-windows-gnu": b"MZ",
}
"""Platforms, and the bytes with which their libraries begin."""

MACHINES = {"x86_64-linux": b"\x3e\x00", "aarch64-linux": b"\xb7\x00"}
"""Processor in an ELF header, at byte 18."""

WINDOWS_CONFIG = """
#define MS_WINDOWS
#define MS_WIN64
#define NT_THREADS
#define WITH_THREAD 1
#define HAVE_STDINT_H 1
#define HAVE_STDDEF_H 1
#define HAVE_WCHAR_H 1
#define HAVE_ERRNO_H 1
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_VOID_P 8
#define SIZEOF_WCHAR_T 2
#define ALIGNOF_SIZE_T 8
#define HAVE_DECLSPEC_DLL 1
#define Py_ENABLE_SHARED 1
typedef long long Py_ssize_t;
#define HAVE_PY_SSIZE_T 1
#define PY_SSIZE_T_MAX 9223372036854775807LL
"""
"""What the headers of Python ask of `pyconfig.h`, as Windows on 64 bits answers."""


def looks_like(target: str, content: bytes) -> bool:
    """Say whether a file begins as a library of a target does."""
    machine = MACHINES.get("-".join(target.split("-")[:2]), b"")
    return content.startswith(TARGETS[target]) and content[18:].startswith(machine)


def copy_headers(target: str, folder: Path) -> Path:
    """Copy Python's headers, with the `pyconfig.h` of the target."""
    headers = folder / "include"
    shutil.copytree(sysconfig.get_path("include"), headers, dirs_exist_ok=True)
    if "windows" in target:
        (headers / "pyconfig.h").write_text(WINDOWS_CONFIG)
    return headers


def python_library(zig: list[str], folder: Path, machine: str) -> Path:
    """Make what Windows links with: the names of Python's functions that are called."""
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
    names = sorted(set(re.findall(r"\b_?Py[A-Z]\w*_\w+|\bPy_\w+", text)))
    extra = ["_Py_Dealloc", "_Py_NoneStruct", "PyModule_Create2", "PyCMethod_New"]
    definition = folder / "python3.def"
    definition.write_text(
        "LIBRARY python3.dll\nEXPORTS\n"
        + "".join(
            f"    {name}{' DATA' if is_data(name) else ''}\n"
            for name in dict.fromkeys([*names, *extra])
        )
    )
    library = folder / "libpython3.a"
    kind = {"x86_64": "i386:x86-64", "aarch64": "arm64"}[machine]
    command = [*zig, "dlltool", "-m", kind, "-d", str(definition), "-l", str(library)]
    subprocess.run(command, check=True)
    return library


def is_data(name: str) -> bool:
    """Say whether a name of Python's is a variable, not a function."""
    return name == "_Py_NoneStruct" or name.startswith("PyExc_")


def build(zig: list[str], target: str, folder: Path) -> str:
    """Compile for one target; return what went wrong, or ""."""
    folder.mkdir(parents=True, exist_ok=True)
    headers = copy_headers(target, folder)
    command = [*zig, "cc", "-target", target, "-shared", *FLAGS, f"-I{headers}"]
    library = folder / "_loops.so"
    if "windows" in target:
        library = folder / "_loops.pyd"
        python = python_library(zig, folder, target.split("-")[0])
        command += [f"-L{python.parent}", "-lpython3"]
    elif "macos" in target:
        command += ["-fPIC", "-Wl,-undefined,dynamic_lookup"]
    else:
        command += ["-fPIC", "-lm", "-Wno-macro-redefined"]
    command += [*map(str, SOURCES), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    if not looks_like(target, library.read_bytes()):
        return f"{library} is no library of {target}."
    return ""


def main() -> None:
    """Compile for all targets, or for those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--folder", type=Path, default=Path("build/targets"))
    parser.add_argument("--toy", action="store_true", help="one target only")
    options = parser.parse_args()
    unknown = set(options.targets) - set(TARGETS)
    if unknown:
        sys.exit(f"unknown targets: {', '.join(sorted(unknown))}.")
    if find_spec("ziglang") is None:
        sys.exit("needs zig: pip install ziglang")
    if options.toy:
        options.targets = [*TARGETS][:1]
    zig = [sys.executable, "-m", "ziglang"]
    failed = 0
    for target in options.targets or TARGETS:
        wrong = build(zig, target, options.folder.resolve() / target)
        print(f"{target}: {wrong or 'compiled'}", flush=True)
        failed += bool(wrong)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
