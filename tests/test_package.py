"""How the package lies: folders, imports in one direction, tests beside them."""

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.estimators import ESTIMATORS, PATCH_EMBEDDINGS, RECIPES
from sklearn.base import BaseEstimator

import patchfold
from patchfold.estimators import recipes

SOURCE = Path(patchfold.__file__).parent
TESTS = Path(__file__).parent


def module_name(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {module_name(path): path for path in SOURCE.rglob("*.py")}
ROOT = ""


def imported_modules(name):
    """Names, relative to the package, of the sibling modules that a module imports."""
    path = MODULES[name]
    own = path.relative_to(SOURCE).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = own[: len(own) - node.level + 1]
            stem = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            for alias in node.names:
                inner = f"{stem}.{alias.name}".strip(".")
                yield inner if inner in MODULES else stem


@pytest.fixture(scope="module")
def imports():
    """Return for every module the names of the sibling modules that it imports."""
    return {name: set(imported_modules(name)) - {ROOT} for name in MODULES}


def test_modules_do_not_import_in_circles(imports):
    settled, passed = set(), []

    def visit(name):
        assert name not in passed, " -> ".join([*passed[passed.index(name) :], name])
        if name not in settled:
            passed.append(name)
            for imported in imports[name]:
                visit(imported)
            settled.add(passed.pop())

    for name in set(MODULES) - {ROOT}:
        visit(name)


def listed_folders():
    """Return the names in the table of CONTRIBUTING.md, from the top to the bottom."""
    page = (TESTS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.split("| folder |")[1].split("\n\n")[0]
    first_cells = re.findall(r"^\|([^|]*)\|", table, flags=re.MULTILINE)
    return re.findall(r"`(\w+)(?:/|\.py)`", "".join(first_cells))


FOLDERS = listed_folders()
ENTRIES = {
    path.name.removesuffix(".py")
    for path in SOURCE.iterdir()
    if path.name not in ("__init__.py", "__main__.py", "__pycache__", "py.typed")
}


def test_the_table_lists_every_folder_once():
    assert sorted(FOLDERS) == sorted(ENTRIES)


def test_folders_import_only_from_folders_above_them_in_the_table(imports):
    place = {name: place for place, name in enumerate(FOLDERS)}
    against = [
        f"{name} imports {other}"
        for name, imported in imports.items()
        for other in imported
        if (folder := name.split(".")[0]) in place
        and place[other.split(".")[0]] > place[folder]
    ]
    assert not against


def test_the_root_of_the_package_has_few_entries():
    assert len(ENTRIES) <= 20


def test_every_folder_has_tests_of_its_own():
    folders = {
        path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()
    }
    tested = {path.parent.name for path in TESTS.glob("*/test_*.py")}
    assert folders <= tested


def test_the_lists_of_estimators_have_all_of_them():
    values = [getattr(patchfold, name) for name in patchfold.__all__]
    classes = {v for v in values if inspect.isclass(v) and issubclass(v, BaseEstimator)}
    classes.remove(patchfold.TableEncoder)
    assert classes == {*ESTIMATORS.values()} - {patchfold.klap}
    assert classes == {*PATCH_EMBEDDINGS, patchfold.PatchPosterior, patchfold.CauchyMap}
    functions = {v for v in values if inspect.isfunction(v)}
    assert {f for f in functions if f.__module__ == recipes.__name__} == {*RECIPES}


def test_only_their_commands_import_the_studies(imports):
    users = {
        name
        for name, imported in imports.items()
        if any(other.split(".")[0] == "studies" for other in imported)
    }
    outside = {name for name in users if name.split(".")[0] != "studies"}
    assert outside == {"cli.bench", "cli.reproduce"}


def test_the_library_works_without_the_studies(tmp_path):
    shutil.copytree(
        SOURCE, tmp_path / "patchfold", ignore=shutil.ignore_patterns("studies")
    )
    table = tmp_path / "table.csv"
    rows = (f"{i % 7},{i * i % 11},{i % 3}" for i in range(40))
    table.write_text("\n".join(["a,b,c", *rows]) + "\n", encoding="utf-8")
    settings = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(*words):
        command = [sys.executable, "-m", "patchfold", *map(str, words)]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, env=settings
        ).stdout

    listed = run("--help")
    assert "embed" in listed
    assert "reproduce" not in listed
    out = tmp_path / "out.csv"
    run("embed", table, "--method", "elap", "--out", out)
    assert len(out.read_text(encoding="utf-8").splitlines()) == 41


def loaded_by(statement):
    code = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in run.stdout.split()}


def test_import_loads_nothing_that_scikit_learn_does_not():
    extra = loaded_by("import patchfold") - loaded_by("import sklearn.manifold")
    assert {name for name in extra if not name.startswith("_")} <= (
        sys.stdlib_module_names | {"patchfold"}
    )


def test_everything_public_is_there_and_documented():
    for name in patchfold.__all__:
        assert getattr(patchfold, name).__doc__


def test_long_files_have_been_cut():
    for path in SOURCE.rglob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path
