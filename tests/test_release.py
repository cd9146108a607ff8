"""What a release needs to agree on: the checkout does, and what does not is named."""

import runpy
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHECK = runpy.run_path(str(ROOT / ".ci" / "check_release.py"))
FILES = (
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE",
    "SECURITY.md",
    "pyproject.toml",
    ".github/workflows/ci.yml",
    "docs/releasing.md",
    "packaging/conda/meta.yaml",
    "src/patchfold/backends/version.py",
)


def find_problems(root, tag=None):
    return list(CHECK["find_problems"](root, tag))


@pytest.fixture
def released(tmp_path):
    """Return a copy of the files in question, as they are at the tag v7.8.9."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    now = CHECK["find_version"](ROOT)

    def change(name, old, new):
        path = tmp_path / name
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), "utf-8")

    version = "src/patchfold/backends/version.py"
    change(version, f'"{now}"', '"7.8.9"')
    change("packaging/conda/meta.yaml", f'"{now}"', '"7.8.9"')
    change("CHANGELOG.md", "\n## [", "\n## [7.8.9] - 2026-11-18\n\n- x\n\n## [")
    change("CITATION.cff", "\ntype: software", "\nversion: 7.8.9\ntype: software")
    return tmp_path, change


def test_the_checkout_is_in_order():
    assert find_problems(ROOT) == []


def test_a_release_is_in_order_with_its_own_tag_only(released):
    root, _ = released
    assert find_problems(root, "v7.8.9") == []
    (problem,) = find_problems(root, "v7.9.0")
    assert problem == "version.py: the tag is v7.9.0, and the version 7.8.9."


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("CHANGELOG.md", "[7.8.9] - 2026-11-18", "[7.8.9]", "there is no heading"),
        ("CHANGELOG.md", "\n- x\n", "\n", "the section of 7.8.9 is empty"),
        (
            "CITATION.cff",
            "version: 7.8.9",
            "version: 7.8.8",
            "no line 'version: 7.8",
        ),
        ("packaging/conda/meta.yaml", '"7.8.9"', '"7.8.8"', "the version is not 7.8.9"),
        ("packaging/conda/meta.yaml", "scipy >=", "scipy ==", "scipy>=1.13 is missing"),
        (".github/workflows/ci.yml", '"3.12", ', "", "names Python"),
        ("LICENSE", "", None, "LICENSE is missing"),
    ],
)
def test_what_does_not_agree_is_named(released, name, old, new, problem):
    root, change = released
    if new is None:
        (root / name).unlink()
    else:
        change(name, old, new)
    (found,) = find_problems(root, "v7.8.9")
    assert problem in found
