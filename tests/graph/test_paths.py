"""Shortest paths, and landmarks instead of all of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import reference
from helpers.loops import needs_loops
from scipy.sparse.csgraph import dijkstra

import patchfold as pf
from patchfold.backends.native import graph as native
from patchfold.backends.native.graph import paths_of_groups, shortest_paths
from patchfold.backends.native.loops import loops, parts_of
from patchfold.graph import paths as module
from patchfold.graph.paths import geodesics


def graph_of(ends, lengths, n):
    """Return the symmetric matrix of edges (i, j), the last of equal ones kept."""
    table = dict(zip(map(tuple, np.sort(ends, axis=1).tolist()), lengths, strict=True))
    i, j = np.array([(i, j) for i, j in table if i != j]).T
    value = np.array([table[pair] for pair in zip(i.tolist(), j.tolist(), strict=True)])
    both = np.concatenate([i, j]), np.concatenate([j, i])
    return sp.coo_array((np.concatenate([value, value]), both), shape=(n, n)).tocsr()


def chain(n):
    return np.column_stack([np.arange(n - 1), np.arange(1, n)])


def graphs():
    rng = np.random.default_rng(0)
    n = 240
    loose = rng.integers(0, n, (4 * n, 2))
    crowd = rng.integers(0, n // 2, (6 * n, 2))
    ends = {
        "random": np.concatenate([loose, chain(n)]),
        "a chain": chain(n),
        "a crowd with a tail": np.concatenate([crowd, chain(n)]),
        "a star": np.column_stack([np.zeros(n - 1, dtype=int), np.arange(1, n)]),
    }
    for name, pairs in ends.items():
        yield name, graph_of(pairs, rng.uniform(0.1, 1, len(pairs)), n)
    lengths = np.where(rng.uniform(size=len(ends["random"])) < 0.3, 0.0, 1.0)
    yield "zeros and ties", graph_of(ends["random"], lengths, n)


GRAPHS = dict(graphs())


@pytest.mark.parametrize("name", GRAPHS)
def test_paths_are_those_of_scipy(name):
    graph = GRAPHS[name]
    short = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    theirs = dijkstra(sp.csr_array((graph.data, *short)))  # 1.13 takes no others
    np.testing.assert_allclose(geodesics(graph), theirs, rtol=1e-12)


def uneven(lengths):
    """Return a long chain with shortcuts, and lengths of all sizes."""
    n = 3000
    rng = np.random.default_rng(1)
    ends = np.concatenate([chain(n), rng.integers(0, n, (60, 2))])
    return graph_of(ends, lengths(rng, len(ends)), n)


UNEVEN = {
    "even": lambda rng, size: rng.uniform(0.5, 1, size),
    "all sizes": lambda rng, size: 10.0 ** rng.uniform(-300, 300, size),
    "tiny": lambda rng, size: rng.uniform(0, 1e-310, size),
    "zeros": lambda rng, size: np.zeros(size),
    "some infinite": lambda rng, size: np.where(
        rng.uniform(size=size) < 0.01, np.inf, rng.uniform(0, 1, size)
    ),
}


FAR = [[1e6, 3e6, 5e6], [2e9, 1e9, 3e9, 1e3, 9e9], 10.0 ** np.arange(0, 300, 4)]


@needs_loops
@pytest.mark.parametrize("lengths", FAR)
@pytest.mark.parametrize("width", [1.0, 1e-300])
def test_many_far_samples_wait_for_the_next_round(lengths, width):
    """Samples beyond all buckets wait in the last, and some of them more than once."""
    n = len(lengths) + 1
    star = graph_of(np.array([(0, k) for k in range(1, n)]), lengths, n)
    rows, found = np.arange(n, dtype=np.int32), np.empty((n, n))
    loops().paths_of_groups(*parts_of(star), rows, rows, found, width)
    np.testing.assert_array_equal(found, shortest_paths(star, rows))


def test_few_samples_far_from_many_wait_too():
    n, many = 3004, 16
    lengths = np.full(n - 1, 1e-3)
    lengths[-3:] = 1, 2, 3  # beyond all buckets, which are as wide as the median asks
    star = graph_of(np.array([(0, k) for k in range(1, n)]), lengths, n)
    rows, found = np.arange(many), np.empty((many, n))
    paths_of_groups(star, rows, rows, found)
    np.testing.assert_array_equal(found, shortest_paths(star, rows))


@pytest.mark.parametrize("name", [*GRAPHS, *UNEVEN])
def test_groups_of_sources_find_what_each_finds_alone(name):
    graph = GRAPHS[name] if name in GRAPHS else uneven(UNEVEN[name])
    n = graph.shape[0]
    sources = np.array([5, n - 1, 77, 5, *range(100, 130)])  # far apart, near, twice
    rows = np.arange(sources.size)[::-1]
    found = np.empty((sources.size, n))
    with np.errstate(over="ignore"):
        paths_of_groups(graph, sources, rows, found)
    expected = shortest_paths(graph, sources)
    np.testing.assert_array_equal(found[rows], expected)


def detours(n, long_edges):
    """Return edges from one sample to all, each worth less than the way round.

    With more long edges than short ones, all short ones fall in one bucket.
    """
    hub = np.column_stack([np.zeros(n - 1, int), np.arange(1, n)])
    ends, lengths = [hub, chain(n)[1:]], [2.0 * (n - hub[:, 1]), np.full(n - 2, 0.5)]
    for gap in range(2, 2 + long_edges):
        ends.append(np.column_stack([np.arange(1, n - gap), np.arange(1 + gap, n)]))
        lengths.append(np.full(n - gap - 1, 1e9))
    return graph_of(np.concatenate(ends), np.concatenate(lengths), n)


@needs_loops
def test_groups_that_would_take_too_long_are_searched_source_by_source(monkeypatch):
    searched = []

    def count(graph, sources):
        searched.append(sources.size)
        return shortest_paths(graph, sources)

    monkeypatch.setattr(native, "shortest_paths", count)
    tied, rows = detours(1000, 3), np.arange(64)
    for graph, wanted in ((tied, [64]), (uneven(UNEVEN["even"]), [])):
        searched.clear()
        found = np.empty((64, graph.shape[0]))
        paths_of_groups(graph, rows, rows, found)
        assert searched == wanted
        np.testing.assert_array_equal(found, shortest_paths(graph, rows))


@needs_loops
def test_one_long_edge_does_not_make_paths_slow(monkeypatch):
    monkeypatch.setattr(native, "shortest_paths", None)  # is not needed
    graph = detours(1000, 0)
    graph.data[graph.data == 2] = 1e300  # one edge
    rows, found = np.arange(64), np.empty((64, 1000))
    paths_of_groups(graph, rows, rows, found)
    np.testing.assert_array_equal(found, shortest_paths(graph, rows))


def test_paths_from_all_samples_are_those_from_each():
    graph = uneven(UNEVEN["even"])
    sources = np.array([0, 7, 2999])  # so few are searched for one at a time
    np.testing.assert_array_equal(geodesics(graph)[sources], geodesics(graph, sources))


def test_what_no_path_reaches_is_infinitely_far():
    graph = sp.csr_array(np.kron(np.eye(2), [[0.0, 2.0], [2.0, 0.0]]))
    np.testing.assert_array_equal(geodesics(graph), dijkstra(graph))


def test_an_order_for_the_memory_changes_nothing(monkeypatch):
    graph, before = GRAPHS["random"], GRAPHS["random"].copy()
    sources = np.array([200, 3, 17])
    plain = geodesics(graph, sources)
    monkeypatch.setattr(module, "MANY", 0)
    np.testing.assert_array_equal(geodesics(graph, sources), plain)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(graph, part), getattr(before, part))


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_blocks_and_threads_do_not_change_a_bit(n_jobs, cut_blocks):
    graph = GRAPHS["random"]
    whole = geodesics(graph)
    cut_blocks(20_000)
    np.testing.assert_array_equal(geodesics(graph, n_jobs=n_jobs), whole)


@pytest.fixture(scope="module")
def sheet():
    """Return points of a flat sheet, turned into 5 dimensions."""
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0][:2]
    return rng.uniform(size=(500, 2)) * [3, 1] @ turn


class TestLandmarks:
    def model(self, **params):
        return pf.PatchIsomap(n_neighbors=12, dissimilarity="euclidean", **params)

    def test_embedding_equals_the_literal_triangulation(self, sheet):
        model = self.model(n_landmarks=40).fit(sheet)
        E = dijkstra(model.graph_)[model.landmarks_]
        np.testing.assert_allclose(model.geodesics_, E, rtol=1e-12)
        expected = reference.landmark_mds(E, model.landmarks_, 2)
        signs = np.sign((expected * model.embedding_).sum(axis=0))
        np.testing.assert_allclose(model.embedding_, expected * signs, atol=1e-9)

    def test_every_sample_a_landmark_is_plain_isomap(self, sheet):
        plain = self.model(n_landmarks=None).fit(sheet)
        assert plain.landmarks_ is None
        for count in ("auto", 501):
            model = self.model(n_landmarks=count).fit(sheet)
            np.testing.assert_array_equal(model.embedding_, plain.embedding_)
        most = self.model(n_landmarks=499).fit(sheet)
        gap = np.abs(most.embedding_) - np.abs(plain.embedding_)
        assert np.abs(gap).max() < 0.01

    def test_many_samples_get_landmarks_by_themselves(self, sheet, monkeypatch):
        monkeypatch.setattr("patchfold.estimators.isomap.ALL_PAIRS", 400)
        model = self.model().fit(sheet)
        assert model.geodesics_.shape == (100, 500)
        assert (np.diff(model.landmarks_) > 0).all()
        twelve = self.model(n_components=12).fit(sheet)
        assert twelve.landmarks_.size == 120

    def test_the_choice_is_fixed_unless_seeded(self, sheet):
        fixed = [self.model(n_landmarks=30).fit(sheet).landmarks_ for _ in range(2)]
        np.testing.assert_array_equal(*fixed)
        seeded = self.model(n_landmarks=30, random_state=1).fit(sheet).landmarks_
        assert set(seeded) != set(fixed[0])

    def test_new_samples_lie_where_training_would_put_them(self, sheet):
        model = self.model(n_landmarks=40).fit(sheet[:450])
        plain = self.model(n_landmarks=None).fit(sheet)
        placed = model.transform(sheet[450:])
        wanted = plain.embedding_[450:] - plain.embedding_[:450].mean(axis=0)
        signs = np.sign((wanted * placed).sum(axis=0))
        assert (
            np.abs(
                placed - placed.mean(axis=0) - signs * (wanted - wanted.mean(axis=0))
            ).max()
            < 0.1
        )
        np.testing.assert_array_equal(model.transform(sheet[:450]), model.embedding_)

    def test_fewer_landmarks_than_components_need(self, sheet):
        with pytest.raises(
            ValueError, match=r"n_landmarks=3 must be more than n_components=3.*Raise"
        ):
            self.model(n_components=3, n_landmarks=3).fit(sheet)
