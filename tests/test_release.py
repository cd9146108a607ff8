"""What a release needs to agree on: the checkout does, and what does not is named."""

import json
import os
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

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
    text = (ROOT / "CHANGELOG.md").read_text("utf-8").replace("[Unreleased]", "[0.0.0]")
    (tmp_path / "CHANGELOG.md").write_text(text, "utf-8")
    change("CHANGELOG.md", "\n## [", "\n## [7.8.9] - 2026-11-18\n\n- x\n\n## [")
    about = "\nversion: 7.8.9\ndate-released: 2026-11-18\ntype: software"
    change("CITATION.cff", "\ntype: software", about)
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
        ("CHANGELOG.md", "\n## [", "\n## [Unreleased]\n\n## [", "'Unreleased' is not"),
        ("CITATION.cff", "2026-11-18", "2026-11-17", "no line 'date-released: 2026-11"),
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


@pytest.mark.parametrize("clang", ["C:/LLVM/bin/clang-cl.exe", None])
def test_windows_compiles_by_clang_and_else_leaves_the_loops_out(clang, monkeypatch):
    setuptools = pytest.importorskip("setuptools")
    monkeypatch.setattr(setuptools, "setup", lambda **settings: None)
    made = runpy.run_path(str(ROOT / "setup.py"))
    command = made["BuildLoops"](setuptools.Distribution())
    command.compiler = SimpleNamespace(compiler_type="msvc", initialize=lambda: None)
    command.extensions = [setuptools.Extension("loops", ["loops.c"])]
    built = []
    usual = made["BuildLoops"].__base__
    monkeypatch.setattr(usual, "build_extensions", lambda self: built.append(self))
    monkeypatch.setattr(shutil, "which", {"clang-cl": clang}.get)
    command.build_extensions()
    if clang is None:
        assert command.extensions == built == []
    else:
        assert command.compiler.cc == clang
        (extension,) = command.extensions
        flags = [f"/clang:{flag}" for flag in made["FLAGS"]]
        assert extension.extra_compile_args == flags
        assert built == [command]


WORKFLOWS = {
    "ci": {"lint", "test", "coverage", "free-threaded", "platforms", "versions"}
    | {"targets", "docs"},
    "docs": {"publish"},
    "nightly": {"development"},
    "release": {"check", "wheels", "publish"},
    "wheels": {"wheels", "source"},
}
"""The jobs of each workflow."""


def jobs_of(workflow):
    yaml = pytest.importorskip("yaml")
    text = (ROOT / ".github/workflows" / f"{workflow}.yml").read_text("utf-8")
    return yaml.safe_load(text)["jobs"]


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_workflow_has_its_jobs_with_limits_and_runs_what_is_there(workflow):
    jobs = jobs_of(workflow)
    assert jobs.keys() == WORKFLOWS[workflow]
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    for job in jobs.values():
        assert "needs" not in job or job["needs"] in jobs
        if "uses" in job:
            assert (ROOT / job["uses"]).is_file()
        else:
            assert job["timeout-minutes"] <= 120
        for step in job.get("steps", ()):
            assert ("uses" in step) != ("run" in step)
            words = step.get("run", "").split()
            if words[:1] == ["make"]:
                assert words[1] in targets
            for word in words:
                if word.startswith((".ci/", "benchmarks/", "tests/")):
                    path = ROOT / word
                    assert path.exists()
                    assert path.suffix == ".py" or os.access(path, os.X_OK)


def test_an_action_is_one_commit_with_its_version_beside():
    pinned = r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        for found in re.findall(r"\buses: (?!\./).*", path.read_text("utf-8")):
            assert re.fullmatch(pinned, found), f"{path.name}: {found}"


def test_every_workflow_is_listed():
    there = {path.stem for path in (ROOT / ".github/workflows").glob("*.yml")}
    assert there == WORKFLOWS.keys()


@pytest.fixture
def site(tmp_path):
    """Return a checkout with an origin, what publishes a page, and what runs git."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    origin, checkout = tmp_path / "origin", tmp_path / "here"
    settings = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    settings["TMPDIR"] = str(tmp_path)

    def run(*words, cwd=checkout):
        return subprocess.run(
            words, cwd=cwd, check=True, capture_output=True, text=True, env=settings
        )

    def publish(name, page):
        (checkout / "build/docs/index.html").write_text(page)
        run(".ci/publish_docs", name)

    run("git", "init", "-q", "--bare", str(origin), cwd=tmp_path)
    run("git", "clone", "-q", str(origin), str(checkout), cwd=tmp_path)
    author = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    run("git", *author, "commit", "-q", "--allow-empty", "-m", "first")
    for folder in (".ci", "build/docs"):
        (checkout / folder).mkdir(parents=True)
    shutil.copy(ROOT / ".ci/publish_docs", checkout / ".ci")
    return checkout, publish, run


def test_the_site_of_a_tag_stands_beside_that_of_main(site, tmp_path):
    _, publish, run = site
    origin, out = tmp_path / "origin", tmp_path / "out"
    publish("main", "of main")
    publish("v7.8.9", "of the tag")
    publish("main", "of main, later")
    run("git", "clone", "-q", "-b", "gh-pages", str(origin), str(out), cwd=tmp_path)
    assert json.loads((out / "versions.json").read_text()) == ["7.8.9", "dev", "stable"]
    pages = {path.parent.name: path.read_text() for path in out.glob("*/index.html")}
    tagged = dict.fromkeys(("7.8.9", "stable"), "of the tag")
    assert pages == {"dev": "of main, later", **tagged}
    assert "url=stable/" in (out / "index.html").read_text()


def test_a_site_is_published_though_another_run_was_faster(site, tmp_path):
    checkout, publish, run = site
    origin, other = tmp_path / "origin", tmp_path / "other"
    publish("main", "of main")
    run("git", "clone", "-q", "-b", "gh-pages", str(origin), str(other), cwd=tmp_path)
    hook = checkout / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        f"#!/bin/sh\n[ -e {other}/faster ] && exit\n"
        "unset $(git rev-parse --local-env-vars)\n"
        f"cd {other} && touch faster && git add -A && git -c user.name=a"
        " -c user.email=a@localhost commit -q -m faster && git push -q\n"
    )
    hook.chmod(0o755)
    for _ in range(2):  # the second time nothing is new
        publish("v7.8.9", "of the tag")
    shown = run("git", "ls-tree", "--name-only", "gh-pages", cwd=origin).stdout
    assert {"faster", "7.8.9", "dev", "stable"} <= set(shown.split())
