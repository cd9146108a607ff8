"""CauchyMap on tensors: every stage as in NumPy, the same bits, new samples."""

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import reference_map as reference

import patchfold as pf
from patchfold.backends.backend import NUMPY, Backend
from patchfold.exceptions import FarSampleWarning, MapConvergenceWarning
from patchfold.metrics import trustworthiness
from patchfold.neighbors.choice import find_neighbors
from patchfold.records import Links
from patchfold.solvers.field import attraction, order, placing, source, start
from patchfold.solvers.field.descent import Recipe, descend

EXTRA = 'needs the torch extra: pip install "patchfold[torch]"'
torch = pytest.importorskip("torch", reason=EXTRA)
pytest.importorskip("array_api_compat", reason=EXTRA)

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.fixture(params=DEVICES)
def send(request, monkeypatch):
    """Return a function that makes a tensor; maps of it are drawn where it is."""
    devices = "patchfold.backends.tensors.devices.draws_maps"
    monkeypatch.setattr(devices, lambda device: True)
    return Backend(torch.device(request.param)).bring


def array(value):
    return NUMPY.bring(value)


def curved(n, m=5, seed=0):
    rng = np.random.default_rng(seed)
    which, t = rng.integers(0, 6, n), rng.normal(size=(n, 2))
    bent = np.einsum("nk,nkm->nm", t, rng.normal(size=(6, 2, m))[which])
    return 4 * rng.normal(size=(6, m))[which] + bent + 0.1 * rng.normal(size=(n, m))


@pytest.fixture(scope="module")
def X():
    return curved(1200)


@pytest.fixture(scope="module")
def parts(X):
    """Return neighbours, attraction and start in NumPy."""
    near = find_neighbors(X, 15)
    pairs = attraction.near_pairs(near.indices, near.distances)
    middle = attraction.middle_of_samples(X, attraction.Draws(len(X)), None)
    begin = start.make_start(start.principal_axes(X, 2).shape, 2)
    return near, pairs, middle, begin


class TestStages:
    def test_keys_and_orders(self, send, X):
        keys = array(order.row_keys(send(X)))
        assert (keys.view(np.uint64) == order.row_keys(X)).all()
        for find in (order.hash_order, order.curve_order):
            assert (array(find(send(X[:, :2]))) == find(X[:, :2])).all()

    @pytest.mark.parametrize("n_axes", [2, 4])
    def test_axes(self, send, X, n_axes):
        far = np.vstack([X, 100 * X[:3]])
        here = start.principal_axes(far, n_axes)
        there = start.principal_axes(send(far), n_axes)
        for ours, theirs in zip(here, there, strict=True):
            signs = np.sign((ours * array(theirs)).sum(axis=0)) if ours.ndim > 1 else 1
            np.testing.assert_allclose(signs * array(theirs), ours, atol=1e-9)
        np.testing.assert_allclose(array(there.shape), here.shape, atol=1e-9)

    def test_attraction(self, send, X, parts):
        near, pairs, middle, _ = parts
        found = attraction.near_pairs(send(near.indices), send(near.distances))
        np.testing.assert_allclose(array(found).toarray(), pairs.toarray(), atol=1e-12)
        drawn = attraction.middle_of_samples(send(X), attraction.Draws(len(X)), None)
        np.testing.assert_allclose(array(drawn).toarray(), middle.toarray())
        from patchfold.backends.tensors.field.attraction import join_pairs

        pattern, *weights = (array(part) for part in join_pairs(found, drawn))
        for values, expected in zip(weights, (pairs, middle), strict=True):
            on_both = sp.csr_array((values, pattern.indices, pattern.indptr))
            np.testing.assert_allclose(on_both.toarray(), expected.toarray(), rtol=1e-6)

    def test_weights_where_distances_are_equal_or_zero(self, send):
        lengths = np.array([[1.0, 1, 1, 1], [0, 0, 0, 0], [0, 0, 1, 2], [1, 2, 3, 9]])
        indices = np.array([[1, 2, 3, 4], [0, 2, 3, 4], [0, 1, 3, 4], [0, 1, 2, 4]])
        indices, lengths = (
            np.vstack([indices, [[0, 1, 2, 3]]]),
            lengths[[0, 1, 2, 3, 3]],
        )
        found = attraction.near_pairs(send(indices), send(lengths))
        expected = attraction.near_pairs(indices, lengths).toarray()
        np.testing.assert_allclose(array(found).toarray(), expected, atol=1e-9)

    def test_graph_and_reach(self, send, X, parts):
        shuffled = np.random.default_rng(0).permutation(len(X))
        links = Links(parts[0].indices, parts[0].distances)
        here = source.Setting(shuffled, None, links, None)
        sent = Links(send(links.indices), send(links.lengths))
        there = source.Setting(send(shuffled), None, sent, None)
        ours, theirs = source.graph_of(here), array(source.graph_of(there))
        np.testing.assert_allclose(theirs.toarray(), ours.toarray(), rtol=1e-12)
        assert theirs.nnz == ours.nnz
        reach = placing.reach_of(links.lengths)
        assert placing.reach_of(sent.lengths) == pytest.approx(reach, rel=1e-12)

    @pytest.mark.parametrize("far", [0, 5])
    @pytest.mark.parametrize("alpha", [1.0, 0.5])
    def test_repulsion(self, send, X, parts, alpha, far):
        from patchfold.backends.tensors.field.steps import Steps

        Y = np.random.default_rng(1).normal(scale=8, size=(len(X), 2))
        Y[:far] *= 500
        Y = Y.astype(np.float32)
        expected, Z = reference.repulsion(Y.astype(float), alpha)
        weights = attraction.unite(*send((parts[1], parts[2])))
        steps = Steps(weights, send(Y), Recipe(1 / alpha - 1))
        steps.choose_grid()
        assert steps.push() == pytest.approx(Z, rel=5e-3)
        error = np.linalg.norm(array(steps._r) - expected) / np.linalg.norm(expected)
        assert error < 0.1


class TestSteps:
    @pytest.mark.parametrize("separation", [0.0, 1.0])
    @pytest.mark.parametrize("flat", [False, True])
    def test_first_steps(self, send, parts, separation, flat):
        recipe = Recipe(separation, max_iter=8, flat=flat)
        pairs, begin = (parts[1], parts[2]), parts[3].copy()
        begin[:, 1] *= not flat
        here, there = (
            descend(attraction.unite(*given), places, recipe)
            for given, places in ((pairs, begin), send((pairs, begin)))
        )
        size = np.abs(here.Y).max()
        np.testing.assert_allclose(array(there.Y), here.Y, atol=0.02 * size)
        assert pytest.approx(here.Z, rel=1e-3) == there.Z
        assert there.n_iter == 8
        assert not there.converged

    def test_the_objective(self, send, X, parts):
        recipe = Recipe(0.5, max_iter=1, first=150)
        pairs = parts[1], parts[2]
        places = np.random.default_rng(0).normal(scale=5, size=(len(X), 2))
        places = places.astype(np.float32)
        here = descend(attraction.unite(*pairs), places, recipe)
        there = descend(attraction.unite(*send(pairs)), send(places), recipe)
        np.testing.assert_allclose(there.objective, here.objective, atol=1e-3)

    def test_samples_at_one_place_are_pulled_apart(self, send, parts):
        recipe = Recipe(max_iter=1)
        begin = 1e-6 * parts[3]
        pairs = attraction.unite(*send(parts[1:3]))
        there = descend(pairs, send(begin), recipe)
        assert array(there.Y).std() == pytest.approx(0.01, rel=0.01)


class TestMap:
    def test_quality_bits_and_order(self, send, X):
        here, there = pf.CauchyMap().fit(X), pf.CauchyMap().fit(send(X))
        assert torch.is_tensor(there.embedding_)
        assert torch.is_tensor(there.graph_)
        assert there.objective_[-1] == pytest.approx(here.objective_[-1], abs=0.02)
        found = trustworthiness(X, array(there.embedding_))
        assert found == pytest.approx(trustworthiness(X, here.embedding_), abs=0.003)
        shuffled = np.random.default_rng(0).permutation(len(X))
        again = pf.CauchyMap().fit(send(X[shuffled]))
        assert (array(again.embedding_) == array(there.embedding_)[shuffled]).all()

    @pytest.fixture
    def short(self, send, X):
        """Return a map of few steps."""
        with pytest.warns(MapConvergenceWarning):
            return pf.CauchyMap(max_iter=60).fit(send(X))

    def test_new_samples(self, send, X, short):
        new = curved(1300)[1200:]
        placed = array(short.transform(send(new)))
        alone = [array(short.transform(send(row[None])))[0] for row in new[:5]]
        np.testing.assert_allclose(alone, placed[:5], atol=1e-5)
        there = array(short.transform(send(X[:50])))
        np.testing.assert_array_equal(there, array(short.embedding_)[:50])
        assert isinstance(short.transform(new), np.ndarray)
        host = NUMPY.copy_model(short)
        np.testing.assert_allclose(host.transform(new), placed, atol=0.02)
        with pytest.warns(FarSampleWarning, match="new sample 1 is far"):
            rim = short.transform(send(np.vstack([new[:1], 1e3 * new[1:2]])))
        sizes = np.linalg.norm(array(short.embedding_), axis=1)
        assert np.linalg.norm(array(rim)[1]) > sizes.max()

    def test_a_stored_map_is_read_in_numpy(self, send, X, short, tmp_path):
        pf.save_model(short, tmp_path / "map.skops")
        loaded = pf.load_model(tmp_path / "map.skops")
        new = curved(1300)[1200:]
        np.testing.assert_array_equal(loaded.embedding_, array(short.embedding_))
        placed = array(short.transform(send(new)))
        np.testing.assert_allclose(loaded.transform(new), placed, atol=0.02)

    def test_given_starts_and_reduced_samples(self, send, X):
        settings = {"max_iter": 5, "init": X[:, :2].copy(), "reduce": 3}
        with pytest.warns(MapConvergenceWarning):
            here = pf.CauchyMap(**settings).fit(X)
        with pytest.warns(MapConvergenceWarning):
            there = pf.CauchyMap(**settings).fit(send(X).float())
        assert there.embedding_.dtype == torch.float32
        size = np.abs(here.embedding_).max()
        found = array(there.embedding_)
        np.testing.assert_allclose(found, here.embedding_, atol=0.03 * size)
        new = X[:20] + 0.01
        apart = array(there.transform(send(new))) - here.transform(new)
        assert np.abs(apart).max() < 0.05 * size

    @pytest.mark.filterwarnings("ignore:the map has not converged")
    @pytest.mark.parametrize("case", ["labels", "patches", "few", "map"])
    def test_the_rest_is_drawn_in_numpy(self, send, X, case):
        n = 900 if case == "few" else 1100
        model, y = pf.CauchyMap(max_iter=3), None
        if case == "labels":
            y = (X[:n, 0] > 0).astype(int)
        if case == "patches":
            model.set_params(dissimilarity="kl")
        if case == "map":
            model.set_params(init=pf.CauchyMap().fit(X[:n]))
        here = model.fit(X[:n], y).embedding_
        there = model.fit(send(X[:n]), y).embedding_
        assert torch.is_tensor(there)
        np.testing.assert_array_equal(array(there), here)
