"""Approximate neighbours: how many are found, and that all else is as in the exact."""

import pickle
from contextlib import nullcontext

import numpy as np
import pytest
import skops.io
from scipy.spatial.distance import cdist
from sklearn.datasets import make_swiss_roll
from sklearn.neighbors import KNeighborsTransformer

import patchfold as pf
from patchfold.dissimilarity.store import PatchesOnDemand
from patchfold.dissimilarity.table import describe_patches, get_dissimilarity
from patchfold.exceptions import DegeneratePatchWarning, SingularPatchError
from patchfold.neighbors import cell_building, cell_search, choice, kmeans
from patchfold.neighbors.cell_building import build_cells
from patchfold.neighbors.cell_search import Cells
from patchfold.neighbors.choice import (
    choose_search,
    find_neighbors,
    find_query_neighbors,
)
from patchfold.patches.fitting import PatchFitter, fit_patches

K = 10


def roll(n=3000):
    rng = np.random.default_rng(0)
    rolled = make_swiss_roll(n, random_state=0)[0] / 7
    return np.hstack([rolled, rng.normal(size=(n, 5))])


def noise(n=3000):
    return np.random.default_rng(1).normal(size=(n, 12))


def blobs():
    """Return clusters so tight that single precision cannot see into them."""
    rng = np.random.default_rng(2)
    return 1e6 * rng.normal(size=(10, 4))[
        rng.integers(0, 10, 3000)
    ] + 1e-3 * rng.normal(size=(3000, 4))


def far_from_the_origin():
    return 1e7 + noise()[:, :4]


def line():
    return np.random.default_rng(3).random((3000, 1)) ** 3


def wide():
    rng = np.random.default_rng(4)
    return rng.normal(size=(2000, 4)) @ rng.normal(size=(4, 60))


DATA = [roll, noise, blobs, far_from_the_origin, line, wide]
over_data = pytest.mark.parametrize("make", DATA)


def share_found(found, exact):
    pairs = zip(found.indices.tolist(), exact.indices.tolist(), strict=True)
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in pairs])


@over_data
def test_at_least_97_in_100_neighbours_are_found(make):
    X = make()
    found = find_neighbors(X, K, algorithm="approximate")
    exact = find_neighbors(X, K, algorithm="exact")
    assert share_found(found, exact) >= 0.97
    assert (found.indices != np.arange(len(X))[:, None]).all()


@over_data
def test_new_samples_find_theirs_in_the_same_cells(make):
    X = make()
    queries, X = X[:200], X[200:]
    search = build_cells(X, K)
    found = find_query_neighbors(queries, X, K, search=search)
    assert share_found(found, find_query_neighbors(queries, X, K)) >= 0.96


@over_data
def test_distances_are_exact_and_ascending_and_no_neighbour_is_listed_twice(make):
    X = make()
    found = find_neighbors(X, K, algorithm="approximate")
    gaps = np.linalg.norm(X[found.indices] - X[:, None, :], axis=2)
    np.testing.assert_allclose(found.distances, gaps, rtol=1e-12)
    assert (np.diff(found.distances, axis=1) >= -1e-11 * found.distances[:, 1:]).all()
    assert all(len(set(row)) == K for row in found.indices.tolist())


class TestManyCells:
    """As of many samples: a query does not measure its distance to every cell."""

    @pytest.fixture(autouse=True)
    def of_few(self, monkeypatch):
        monkeypatch.setattr(cell_building, "SMALLEST", 4)
        monkeypatch.setattr(kmeans, "FEW_CENTERS", 16)

    def test_neighbours_are_found(self):
        X = make_swiss_roll(4000, random_state=0)[0]
        cells = build_cells(X, K)
        assert cells.near.shape[1] < cells.groups.middles.shape[0] / 2
        found = find_neighbors(X, K, algorithm="approximate")
        exact = find_neighbors(X, K, algorithm="exact")
        assert share_found(found, exact) >= 0.97

    @pytest.mark.parametrize("seed", [1010, 1017, 1025, 1033])
    def test_lists_of_near_cells_hide_few(self, seed):
        X = np.random.default_rng(seed).normal(size=(8000, 3))
        cells = build_cells(X, 2)
        assert cells.near is not None
        found = find_neighbors(X, 2, algorithm=cells)
        assert share_found(found, find_neighbors(X, 2, algorithm="exact")) >= 0.97

    def test_those_of_new_samples_too(self):
        queries, X = np.split(make_swiss_roll(4000, random_state=0)[0], [200])
        found = find_query_neighbors(queries, X, K, search=build_cells(X, K))
        assert share_found(found, find_query_neighbors(queries, X, K)) >= 0.96

    def test_duplicates_leave_no_cell_empty(self):
        X = np.concatenate([np.repeat(noise(3), 1000, axis=0), noise(1000)])
        cells = build_cells(X, K)
        assert (np.diff(cells.groups.starts) > 0).all()
        found = find_neighbors(X, K, algorithm="approximate")
        assert (found.distances[:3000] == 0).all()
        exact = find_neighbors(X, K, algorithm="exact")
        assert share_as_near(found, exact) >= 0.97


def share_as_near(found, exact):
    """Return the share of neighbours no farther than the last true one."""
    return np.mean(found.distances <= exact.distances[:, -1:] * (1 + 1e-9))


def test_with_all_cells_probed_the_search_is_exact(monkeypatch):
    monkeypatch.setattr(cell_building, "RECALL", 1.0)
    X = noise(1000)
    found = find_neighbors(X, K, algorithm="approximate")
    exact = find_neighbors(X, K, algorithm="exact")
    assert share_found(found, exact) > 0.999


def test_a_sample_among_duplicates_finds_duplicates():
    X = np.repeat(noise(100), 30, axis=0)
    found = find_neighbors(X, K, algorithm="approximate")
    assert (found.distances == 0).all()
    assert (found.indices // 30 == np.arange(3000)[:, None] // 30).all()


def test_samples_that_are_all_equal_have_neighbours():
    found = find_neighbors(np.full((2000, 3), 0.1), K, algorithm="approximate")
    assert (found.distances == 0).all()


@pytest.mark.parametrize("unit", [1e-150, 1e140])
def test_the_unit_of_the_data_does_not_matter(unit):
    X = noise(1000)
    found = find_neighbors(X * unit, K, algorithm="approximate")
    assert share_found(found, find_neighbors(X, K, algorithm="exact")) >= 0.97


def test_threads_and_repetition_change_no_bit(monkeypatch):
    monkeypatch.setattr(cell_search, "CHUNK", 500)
    X = roll()
    first = find_neighbors(X, K, algorithm="approximate", n_jobs=1)
    second = find_neighbors(X, K, algorithm="approximate", n_jobs=2)
    np.testing.assert_array_equal(first.indices, second.indices)
    np.testing.assert_array_equal(first.distances, second.distances)


def test_auto_is_exact_for_few_samples_and_for_many_neighbours(monkeypatch):
    X = noise(2000)
    assert choose_search("auto", X, K) is None
    monkeypatch.setattr(choice, "EXACT_LIMIT", 1000)
    assert isinstance(choose_search("auto", X, K), Cells)
    assert choose_search("auto", X, 500) is None
    assert choose_search("approximate", X, 500) is None
    assert choose_search("exact", X, K) is None


# --- Row by row -----------------------------------------------------------------------


def clumps(rng):
    X = rng.normal(size=(3000, 5))
    X[:600] = np.repeat(X[:10], 60, axis=0) + 1e-9 * rng.normal(size=(600, 5))
    return X


def only_clumps(rng):
    middles = np.repeat(rng.normal(size=(50, 4)), 60, axis=0)
    return middles + 1e-9 * rng.normal(size=middles.shape)


def scales(rng):
    which = rng.integers(0, 8, 3000)
    middles = 3 * rng.normal(size=(8, 6))
    return middles[which] + 10.0 ** (which - 7)[:, None] * rng.normal(size=(3000, 6))


def outliers(rng):
    X = rng.normal(size=(3000, 5))
    X[:30] *= 10.0 ** np.linspace(1, 9, 30)[:, None]
    return X


def heavy_tails(rng):
    return rng.standard_cauchy((3000, 5))


def halo(rng):
    X = rng.normal(size=(3000, 6))
    X[1500:] *= 0.01
    X[:60] *= 5
    return X


def integers(rng):
    return rng.integers(0, 8, (3000, 4)).astype(float)


def bits(rng):
    return rng.integers(0, 2, (3000, 14)).astype(float)


def repeated(rng):
    return np.repeat(rng.normal(size=(1000, 8)), 3, axis=0)


ROWS = [
    clumps,
    only_clumps,
    scales,
    outliers,
    heavy_tails,
    halo,
    integers,
    bits,
    repeated,
]
over_rows = pytest.mark.parametrize("make", ROWS)


def worst_share(found, exact):
    """Return the share found by the worst 1 % of rows; ties with the K-th are hits."""
    hits = found.distances <= exact.distances[:, -1:] * (1 + 1e-9)
    return np.sort(hits.mean(axis=1))[: -(-len(hits) // 100)].mean()


@over_rows
@pytest.mark.parametrize("k", [1, 3, K])
def test_the_worst_rows_find_nine_of_ten_neighbours(make, k):
    X = make(np.random.default_rng(0))
    cells = build_cells(X, k)
    assert cells is not None
    found = find_neighbors(X, k, algorithm=cells)
    assert worst_share(found, find_neighbors(X, k, algorithm="exact")) >= 0.9
    assert cells.recall >= 0.97


@over_rows
def test_so_do_new_samples(make):
    X = np.random.default_rng(1).permutation(make(np.random.default_rng(0)))
    queries, X = X[:300], X[300:]
    away = X.std(axis=0) * np.random.default_rng(2).normal(size=queries.shape)
    cells = build_cells(X, K)
    for times in (0, 0.1, 0.3, 1, 30):
        asked = queries + times * away
        found = find_query_neighbors(asked, X, K, search=cells)
        assert worst_share(found, find_query_neighbors(asked, X, K)) >= 0.9


@pytest.mark.parametrize("height", [0.1, 0.5, 2, 10])
def test_so_do_new_samples_off_the_plane(height):
    rng = np.random.default_rng(0)
    turned = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    X = np.c_[rng.normal(size=(4000, 3)), 0.05 * rng.normal(size=(4000, 9))] @ turned
    queries = X[:400] + height * turned[rng.integers(3, 12, 400)]
    found = find_query_neighbors(queries, X, K, search=build_cells(X, K))
    assert worst_share(found, find_query_neighbors(queries, X, K)) >= 0.9


def test_recall_is_told_of_rows_from_every_region(monkeypatch):
    monkeypatch.setattr(cell_building, "N_SAMPLED", 256)
    X = noise(3000)
    easy = np.random.default_rng(0).permutation(3000)[-256:]  # the rows of one draw
    X[easy] = 100 + 0.01 * X[easy]
    cells = build_cells(X, K)
    found = find_neighbors(X, K, algorithm=cells)
    true = share_as_near(found, find_neighbors(X, K, algorithm="exact"))
    assert true >= 0.98
    assert cells.recall == pytest.approx(true, abs=0.01)


def test_rows_finer_than_single_precision_are_found_exactly():
    X = clumps(np.random.default_rng(0))
    found = find_neighbors(X, K, algorithm="approximate")
    exact = find_neighbors(X, K, algorithm="exact")
    np.testing.assert_array_equal(found.indices[:600], exact.indices[:600])


@pytest.mark.parametrize("make", [clumps, outliers, bits])
def test_a_row_finds_the_same_whichever_rows_are_searched_with_it(make):
    X = make(np.random.default_rng(0))
    cells, some = build_cells(X, K), np.arange(0, 3000, 7)
    alone = find_query_neighbors(X[some], X, K, search=cells, own=some)
    together = find_neighbors(X, K, algorithm=cells, n_jobs=2)
    np.testing.assert_array_equal(alone.indices, together.indices[some])
    np.testing.assert_array_equal(alone.distances, together.distances[some])


@pytest.fixture(scope="module")
def model():
    settings = {"kernel_width": "auto", "neighbors_algorithm": "approximate"}
    return pf.elap(n_neighbors=K, **settings).fit(roll(1200))


def test_training_samples_keep_their_places(model):
    placed = model.transform(roll(1200))
    np.testing.assert_allclose(placed, model.embedding_, atol=1e-12)


def test_a_model_tells_how_its_neighbours_were_searched(model):
    assert 1 <= model.n_probes_ <= 1200
    assert 0.97 <= model.neighbors_recall_ <= 1
    X = roll(200)
    for settings in (
        {"n_neighbors": K},
        {"n_neighbors": None, "radius": 5.0},
        {"n_neighbors": K, "neighbors_algorithm": KNeighborsTransformer()},
    ):
        exact = pf.PatchIsomap(**settings).fit(X)
        assert exact.n_probes_ is None
        assert exact.neighbors_recall_ is None
    known = pf.PatchIsomap(n_neighbors=K, dissimilarity="precomputed")
    assert known.fit(cdist(X, X)).n_probes_ is None


def test_a_model_with_cells_survives_pickle_and_skops(model):
    queries = roll(1200)[:50] + 0.01
    expected = model.transform(queries)
    pickled = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(pickled.transform(queries), expected)
    data = skops.io.dumps(model)
    types = skops.io.get_untrusted_types(data=data)
    assert all(name.startswith(("patchfold.", "scipy.sparse.")) for name in types)
    loaded = skops.io.loads(data, trusted=types)
    np.testing.assert_array_equal(loaded.transform(queries), expected)


def test_a_sweep_searches_its_cells_once(model):
    X = roll(1200)
    settings = {"kernel_width": "auto", "neighbors_algorithm": "approximate"}
    (swept,) = pf.fit_sweep(pf.elap(**settings), X, n_neighbors=[K])
    assert (swept.graph_.indices == model.graph_.indices).all()
    np.testing.assert_allclose(swept.graph_.data, model.graph_.data, rtol=1e-9)


def recall_of(found, true):
    return (found[:, :, None] == true[:, None]).any(axis=2).mean()


@pytest.mark.parametrize("far", [5, 20, 1e3, 1e8, 1e100])
def test_queries_far_out_are_compared_with_all_samples(far):
    # Cells were measured on samples; out there they would hold the wrong ones.
    Z = np.random.default_rng(0).normal(size=(4000, 3))
    queries = Z[:100] + far * np.array([1, 0.3, -0.5])
    search = choose_search("approximate", Z, 8)
    found = find_query_neighbors(queries, Z, 8, search=search).indices
    true = find_query_neighbors(queries, Z, 8).indices
    assert recall_of(found, true) > 0.97


@pytest.mark.parametrize("outlier", [1e3, 1e10, 1e20, 1e100])
def test_an_outlier_does_not_cost_the_others_their_neighbours(outlier):
    Z = np.random.default_rng(1).normal(size=(3000, 3))
    Z[5] = outlier
    found = find_neighbors(Z, 8, algorithm="approximate").indices
    true = find_neighbors(Z, 8, algorithm="exact").indices
    assert recall_of(found, true) > 0.97


# --- Patches, cell by cell ------------------------------------------------------------


@pytest.mark.parametrize("n_neighbors", [5, 20])
@pytest.mark.parametrize("name", ["kl", "wasserstein", "curvature", "kde"])
def test_patches_described_a_few_at_a_time_are_those_of_all_at_once(name, n_neighbors):
    X, dissimilarity = roll(1000), get_dissimilarity(name)
    near = find_neighbors(X, n_neighbors)
    settings = {"keep_points": dissimilarity.needs_points}
    whole = describe_patches(dissimilarity, fit_patches(X, X, near.indices, **settings))
    order = np.random.default_rng(0).permutation(1000)
    fitter = PatchFitter(X, n_neighbors, settings)
    patches = PatchesOnDemand(name, fitter, near)
    for n_jobs in (None, 2):
        parts = patches.describe_all(order, n_jobs=n_jobs)
        for part, expected in zip(parts, whole, strict=True):
            np.testing.assert_array_equal(part, expected)


def test_singular_patches_are_counted_among_all():
    model = pf.elap(
        n_neighbors=4, ridge=0, shrinkage=0, neighbors_algorithm="approximate"
    )
    with pytest.raises(SingularPatchError, match="3000 of 3000 patch covariances"):
        model.fit(noise())


@pytest.mark.parametrize("ridge", [1e-6, 0])
def test_identical_points_are_told_of_once(ridge):
    X = np.repeat(noise(240), 5, axis=0)
    settings = {"ridge": ridge, "shrinkage": 0, "neighbors_algorithm": "approximate"}
    singular = pytest.raises(SingularPatchError) if ridge == 0 else nullcontext()
    with pytest.warns() as told, singular:
        pf.elap(n_neighbors=4, **settings).fit(X)
    words = [str(w.message) for w in told if w.category is DegeneratePatchWarning]
    assert len(words) == 1
    assert words[0].startswith("1200 of 1200 patches")
