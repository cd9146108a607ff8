"""Check what a release needs to agree on; print every item that does not.

    python .ci/check_release.py [--tag v0.2.0]

Without a tag, the checkout is checked as it is on main: a development version is fine,
and the changelog may say "Unreleased". Needs nothing but Python. The items that no
script can check are in docs/releasing.md.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = r"\d+\.\d+\.\d+"


def read(root: Path, name: str) -> str:
    """Return the text of a file; "" if there is none."""
    path = root / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def find_version(root: Path) -> str:
    """Return the version of the package."""
    text = read(root, "src/patchfold/backends/version.py")
    found = re.search(r'^__version__ = "(.*)"$', text, re.MULTILINE)
    return found[1] if found else ""


def find_problems(root: Path, tag: str | None) -> Iterator[str]:
    """Give every item that is not in order."""
    version = find_version(root)
    changelog = read(root, "CHANGELOG.md")
    if not re.fullmatch(rf"{VERSION}(\.dev\d+)?", version):
        yield f"version.py: {version!r} is no version such as 0.2.0 or 0.2.0.dev0."
    if tag is None:
        if not re.search(rf"^## \[(Unreleased|{VERSION})\]", changelog, re.MULTILINE):
            yield "CHANGELOG.md: there is no section of a version."
    else:
        yield from _find_problems_of_tag(root, tag, version, changelog)
    yield from _find_problems_of_files(root)


def _find_problems_of_tag(
    root: Path, tag: str, version: str, changelog: str
) -> Iterator[str]:
    if tag != f"v{version}":
        yield f"version.py: the tag is {tag}, and the version {version}."
    heading = rf"^## \[{re.escape(version)}\] - (\d{{4}}-\d{{2}}-\d{{2}})$"
    section = re.search(rf"{heading}\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    citation = read(root, "CITATION.cff")
    if section is None:
        yield f"CHANGELOG.md: there is no heading '## [{version}] - YYYY-MM-DD'."
    else:
        if not re.search(r"^- ", section[2], re.MULTILINE):
            yield f"CHANGELOG.md: the section of {version} is empty."
        if f"\ndate-released: {section[1]}\n" not in citation:
            yield f"CITATION.cff: there is no line 'date-released: {section[1]}'."
    if re.search(r"^## \[Unreleased\]", changelog, re.MULTILINE):
        yield f"CHANGELOG.md: 'Unreleased' is not yet a part of {version}."
    if not re.search(rf'^version: "?{re.escape(version)}"?$', citation, re.MULTILINE):
        yield f"CITATION.cff: there is no line 'version: {version}'."
    recipe = read(root, "packaging/conda/meta.yaml")
    if f'{{% set version = "{version}" %}}' not in recipe:
        yield f"packaging/conda/meta.yaml: the version is not {version}."


def _find_problems_of_files(root: Path) -> Iterator[str]:
    project = tomllib.loads(read(root, "pyproject.toml"))["project"]
    named = {
        text.rpartition(" ")[2]
        for text in project["classifiers"]
        if re.search(r":: 3\.\d+$", text)
    }
    matrix = re.search(
        r"python-version: \[(.*)\]", read(root, ".github/workflows/ci.yml")
    )
    tested = set(re.findall(r"3\.\d+", matrix[1])) if matrix else set()
    if named != tested:
        yield f"pyproject.toml names Python {sorted(named)}, CI tests {sorted(tested)}."
    recipe = read(root, "packaging/conda/meta.yaml")
    for requirement in project["dependencies"]:
        if f"- {requirement.replace('>=', ' >=')}\n" not in recipe:
            yield f"packaging/conda/meta.yaml: {requirement} is missing."
    for name in ("LICENSE", "SECURITY.md", "CONTRIBUTING.md", "docs/releasing.md"):
        if not read(root, name):
            yield f"{name} is missing."


def main() -> None:
    """Print all problems; exit status 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tag", help="the tag of the release, such as v0.2.0")
    options = parser.parse_args()
    problems = list(find_problems(ROOT, options.tag))
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{find_version(ROOT)}: all items agree.")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
