"""Fixtures of the dataset tests: no network, no settings of the user's, real files."""

from pathlib import Path
from urllib.error import URLError

import pytest
import sklearn.datasets


@pytest.fixture(autouse=True)
def quiet_surroundings(monkeypatch, tmp_path):
    """Hide the user's folders, and answer every download with a dead network."""

    def no_network(*args, **kwargs):
        raise URLError("no network in tests")

    monkeypatch.delenv("PATCHFOLD_DATA", raising=False)
    monkeypatch.setenv("PATCHFOLD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", no_network)


@pytest.fixture(scope="session")
def papers_folder(pytestconfig) -> Path:
    """Return the folder with the papers' data, which is not part of the package."""
    folder = pytestconfig.rootpath.parent / "shared" / "data"
    if not (folder / "index.csv").is_file():
        pytest.skip("the papers' data folder (../shared/data) is not here")
    return folder


@pytest.fixture
def folder(tmp_path) -> Path:
    """Return an empty folder to put small CSV files into."""
    path = tmp_path / "data"
    path.mkdir()
    return path
