"""Work that cannot fit is refused before it starts, with the number and the remedy."""

import numpy as np
import pytest

import patchfold as pf
from patchfold.backends import backend
from patchfold.backends.backend import physical_memory
from patchfold.dissimilarity import store
from patchfold.estimators.links import PatchSettings, patch_parameters, require_room
from patchfold.exceptions import MemoryBudgetError
from patchfold.neighbors.choice import resolve_n_neighbors


@pytest.fixture
def small_machine(set_memory):
    set_memory(2**20)


X = np.random.default_rng(0).normal(size=(300, 4))


@pytest.mark.usefixtures("small_machine")
def test_a_graph_too_large_is_refused():
    words = (
        r"the graph of 300 samples with 225 neighbours and 4 features would need about "
        r"0\.0 GiB, and this machine has 0\.0\. Lower n_neighbors"
    )
    with pytest.raises(MemoryBudgetError, match=words):
        pf.PatchEigenmaps(n_neighbors=0.75).fit(X)


@pytest.mark.usefixtures("small_machine")
def test_geodesics_too_many_are_refused():
    with pytest.raises(MemoryError, match="geodesics between all pairs of 300 samples"):
        pf.PatchIsomap(n_neighbors=5, dissimilarity="euclidean").fit(X)


@pytest.mark.parametrize(
    ("model", "n", "enough"),
    [(pf.klap(), 20_000, 20), (pf.elap(), 10_000_000, 22)],
)
def test_large_fits_are_refused_only_without_room(set_memory, model, n, enough):
    samples = np.broadcast_to(0.0, (n, 20))
    settings = PatchSettings(*patch_parameters(model))
    wanted = settings, resolve_n_neighbors(model.n_neighbors, n), None
    set_memory(enough * 2**30)
    require_room(samples, *wanted, held=False)
    set_memory(8 * 2**30)
    with pytest.raises(MemoryBudgetError, match="Lower n_neighbors"):
        require_room(samples, *wanted, held=False)


@pytest.mark.parametrize("name", backend.LIMITS)
def test_a_container_has_no_more_than_its_limit(tmp_path, monkeypatch, name):
    monkeypatch.setattr(backend, "GROUPS", tmp_path)
    machine, file = physical_memory(), tmp_path / name
    file.parent.mkdir(exist_ok=True)
    for words, memory_of_it in (("max\n", machine), ("1048576\n", 2**20)):
        file.write_text(words)
        assert physical_memory() == memory_of_it


def test_what_fits_is_not_refused():
    assert physical_memory() > 2**28
    pf.PatchIsomap(n_neighbors=20).fit(X)


@pytest.mark.parametrize("options", [{}, {"label_rule": "klap", "n_jobs": 2}])
def test_patches_without_room_are_made_on_demand(options, set_memory, monkeypatch):
    dissimilarity = "curvature" if options else "kl"
    settings = {"n_neighbors": 8, "dissimilarity": dissimilarity, **options}
    y, new = np.arange(300) % 3, X[:20] + 0.01
    held = pf.PatchEigenmaps(**settings).fit(X, y)
    set_memory(300 * 1200)
    monkeypatch.setattr(store, "ON_DEMAND", 2**13)
    model = pf.PatchEigenmaps(**settings).fit(X, y)
    assert isinstance(model._fitted.links.store, store.PatchesOnDemand)
    assert (model.graph_ != held.graph_).nnz == 0
    np.testing.assert_array_equal(model.embedding_, held.embedding_)
    np.testing.assert_array_equal(model.transform(new), held.transform(new))
