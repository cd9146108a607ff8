"""What torch does in the place of SciPy, stage by stage, against the same in NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.comparing import edges_of
from scipy.sparse.csgraph import connected_components, dijkstra

import patchfold as pf
from patchfold.backends.backend import NUMPY, Backend
from patchfold.backends.tensors import devices, jacobi, spectral
from patchfold.backends.tensors.devices import device_blocks
from patchfold.backends.tensors.graph import find_pieces
from patchfold.backends.tensors.paths import path_lengths
from patchfold.backends.tensors.search import GROUP, nearest_columns, search_all
from patchfold.backends.threads import map_blocks
from patchfold.estimators.links import (
    PatchSettings,
    patch_parameters,
    require_room,
)
from patchfold.exceptions import MemoryBudgetError
from patchfold.graph.connectivity import closest_pairs
from patchfold.graph.weights import (
    laplacian,
    pairs_from_directed,
    scale_both_sides,
)
from patchfold.neighbors.choice import find_neighbors, find_query_neighbors
from patchfold.neighbors.exact import search_all as search_arrays
from patchfold.records import EdgeList
from patchfold.solvers.reconstruction import barycentric_weights, entropic_weights
from patchfold.solvers.spectral import smallest_eigenpairs

EXTRA = 'needs the torch extra: pip install "patchfold[torch]"'
torch = pytest.importorskip("torch", reason=EXTRA)
pytest.importorskip("array_api_compat", reason=EXTRA)

NO_CUDA = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a CUDA device: kernels run there only"
)


def tensors(value):
    return Backend(torch.device("cpu")).bring(value)


def grid():
    """Return points with very many equal distances."""
    return np.random.default_rng(0).integers(0, 3, size=(2500, 3)).astype(float)


SAMPLES = {
    "normal": lambda: np.random.default_rng(1).normal(size=(2000, 7)),
    "far from the origin": lambda: (
        1e6 + np.random.default_rng(2).normal(size=(1500, 4))
    ),
    "ties": grid,
}


class TestSearch:
    @pytest.mark.parametrize("name", SAMPLES)
    @pytest.mark.parametrize("n_neighbors", [1, 12, 900])
    def test_neighbours_and_ties_are_those_of_numpy(self, name, n_neighbors):
        X = SAMPLES[name]()
        own = np.arange(X.shape[0])
        expected = search_arrays(X, X, n_neighbors, own=own)
        T = torch.from_numpy(X)
        indices, distances = search_all(T, T, n_neighbors, own=torch.arange(X.shape[0]))
        np.testing.assert_array_equal(indices, expected.indices)
        np.testing.assert_allclose(distances, expected.distances, rtol=1e-12)

    def test_a_query_may_be_a_sample(self):
        X = SAMPLES["normal"]()
        expected = find_query_neighbors(X, X, 5)
        T = torch.from_numpy(X)
        found = find_query_neighbors(T, T, 5)
        np.testing.assert_array_equal(found.indices, expected.indices)
        assert (found.distances[:, 0] == 0).all()

    def test_the_smallest_columns_are_found_by_groups(self):
        values = torch.from_numpy(
            np.random.default_rng(0).normal(size=(40, 90 * GROUP))
        )
        found = nearest_columns(values, 6).sort(1).values
        assert torch.equal(found, values.topk(6, 1, largest=False)[1].sort(1).values)

    def test_many_tensors_on_the_cpu_are_searched_in_cells(self):
        X = np.random.default_rng(0).normal(size=(3000, 3))
        here = find_neighbors(X, 5, algorithm="approximate")
        there = find_neighbors(torch.from_numpy(X), 5, algorithm="approximate")
        np.testing.assert_array_equal(there.indices, here.indices)

    @NO_CUDA
    @pytest.mark.parametrize("m", [3, 20, 50])
    def test_tiles_find_what_all_pairs_do(self, m):
        from patchfold.backends.tensors.tiles import search_tiles

        X = torch.randn(20_000, m, dtype=torch.float64).cuda()
        own = torch.arange(X.shape[0], device=X.device)
        expected, _ = search_all(X, X, 15, own=own)
        found, _ = search_tiles(X, X, 15, own=own)
        same = (found[:, :, None] == expected[:, None, :]).any(2)
        assert same.double().mean() > 0.999


def random_graph(n, n_edges, seed=0):
    rng = np.random.default_rng(seed)
    row, column = rng.integers(0, n, size=(2, n_edges))
    other = row != column
    return pairs_from_directed(n, row[other], column[other])


class TestGraph:
    @pytest.mark.parametrize("n_edges", [30, 200, 3000])
    def test_edges_and_matrices_are_those_of_numpy(self, n_edges):
        pairs = random_graph(60, n_edges)
        found = pairs_from_directed(60, *tensors((pairs.row, pairs.column)))
        np.testing.assert_array_equal(found.source, pairs.source)
        np.testing.assert_array_equal(found.target, pairs.target)
        np.testing.assert_array_equal(found.edge, pairs.edge)
        length = np.arange(pairs.source.size) / 7.0  # the first is a zero
        expected = EdgeList(pairs, length).graph
        matrix = EdgeList(found, torch.from_numpy(length)).graph
        there = NUMPY.bring(matrix)
        np.testing.assert_array_equal(there.indptr, expected.indptr)
        np.testing.assert_array_equal(there.indices, expected.indices)
        np.testing.assert_array_equal(there.data, expected.data)

    @pytest.mark.parametrize("n_edges", [0, 40, 120, 5000])
    def test_pieces_have_the_names_scipy_gives_them(self, n_edges):
        pairs = random_graph(100, n_edges, seed=n_edges)
        ones = np.ones(pairs.source.size)
        graph = sp.coo_array((ones, (pairs.source, pairs.target)), shape=(100, 100))
        count, labels = connected_components(graph, directed=False)
        found = find_pieces(100, *tensors((pairs.source, pairs.target)))
        assert found[0] == count
        np.testing.assert_array_equal(found[1], labels)

    def test_a_long_chain_is_one_piece(self):
        line = torch.arange(4999)
        shuffled = torch.randperm(5000, generator=torch.Generator().manual_seed(0))
        assert find_pieces(5000, shuffled[line], shuffled[line + 1])[0] == 1

    @pytest.mark.parametrize("n_groups", [2, 7, 90])
    def test_groups_are_joined_by_the_same_pairs(self, n_groups):
        rng = np.random.default_rng(n_groups)
        labels = rng.permutation(np.arange(600) % n_groups) - (n_groups == 7)
        X = rng.integers(0, 9, size=(600, 3)) + 20.0 * labels[:, None]  # with ties
        expected = closest_pairs(X, labels)
        found = closest_pairs(torch.from_numpy(X), labels)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])

    def test_shortest_paths_are_those_of_dijkstra(self):
        X = np.random.default_rng(0).normal(size=(300, 2))
        pairs = edges_of(find_neighbors(X, 6).indices)
        length = np.random.default_rng(1).uniform(size=pairs.source.size)
        length[:20] = 0.0
        graph = EdgeList(pairs, length).graph
        there = tensors(graph)
        np.testing.assert_allclose(path_lengths(there, None), dijkstra(graph))
        some = torch.tensor([5, 0, 77])
        np.testing.assert_allclose(
            path_lengths(there, some), dijkstra(graph, indices=[5, 0, 77])
        )


def weighted_graph(n=900, seed=0):
    """Return the weights of a neighbour graph."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    pairs = edges_of(find_neighbors(X, 8).indices)
    weights = np.random.default_rng(1).uniform(0.2, 1, size=pairs.source.size)
    return EdgeList(pairs, weights).graph


def drawing(like):
    """Return what draws one vector after another."""
    rng = np.random.default_rng(2)
    return lambda: torch.from_numpy(rng.uniform(-1, 1, like.shape[0]))


@pytest.fixture(params=["plain", "by a polynomial"])
def polynomial(request, monkeypatch):
    """Search by products with the matrix alone, or go on in a polynomial of it."""
    made, make = [], spectral._polynomial
    if request.param == "by a polynomial":
        monkeypatch.setattr(spectral, "PLAIN", 1)
        monkeypatch.setattr(spectral, "LOOKS", 0)
    monkeypatch.setattr(
        spectral, "_polynomial", lambda *args: made.append(args) or make(*args)
    )
    yield
    assert len(made) == (request.param == "by a polynomial")


class TestEigenpairs:
    @pytest.mark.parametrize("n_components", [1, 2, 3, 5, 8, 15])
    @pytest.mark.usefixtures("polynomial")
    def test_equal_eigenvalues_are_all_found(self, n_components):
        """A torus has four of most; Lanczos from one vector finds one."""
        ring = sp.diags_array([1.0, 1, 1, 1], offsets=[1, -1, 25, -25], shape=(26, 26))
        torus = sp.csr_array(sp.kronsum(ring, ring, format="csr"))
        matrix, degrees = laplacian(tensors(torus))
        null = torch.ones_like(degrees) / 26
        values, _ = spectral.lanczos(
            matrix, n_components, null, drawing(degrees), 1e-10 * matrix.size
        )
        expected = np.linalg.eigvalsh(laplacian(torus)[0].toarray())
        np.testing.assert_allclose(values, expected[1 : n_components + 1], rtol=1e-7)

    @pytest.mark.parametrize("n_components", [1, 3, 12])
    @pytest.mark.usefixtures("polynomial")
    def test_bottom_eigenpairs_without_the_null_vector(self, n_components):
        weights = weighted_graph()
        dense = laplacian(weights)[0].toarray()
        matrix, degrees = laplacian(tensors(weights))
        null = torch.ones_like(degrees) / degrees.shape[0] ** 0.5
        values, vectors = spectral.lanczos(
            matrix, n_components, null, drawing(degrees), 1e-10 * matrix.size
        )
        expected = np.linalg.eigvalsh(dense)[1 : n_components + 1]
        np.testing.assert_allclose(values, expected, rtol=1e-7)
        np.testing.assert_allclose(
            dense @ vectors.numpy(), vectors.numpy() * values.numpy(), atol=1e-8
        )
        assert abs(null @ vectors).max() < 1e-8

    @pytest.mark.parametrize("graph", ["star", "five of each"])
    def test_fewer_different_eigenvalues_than_vectors(self, graph):
        """What is left of an image then is rounding, and no direction."""
        if graph == "star":
            edges = sp.csr_array(([1.0] * 700, ([0] * 700, range(1, 701))), (701, 701))
            weights = sp.csr_array(edges + edges.T)
        else:
            weights = sp.csr_array(sp.kron(weighted_graph(130), np.ones((5, 5))))
        matrix, degrees = laplacian(tensors(weights))
        null = torch.ones_like(degrees) / degrees.shape[0] ** 0.5
        values, _ = spectral.lanczos(
            matrix, 22, null, drawing(degrees), 1e-10 * matrix.size
        )
        expected = np.linalg.eigvalsh(laplacian(weights)[0].toarray())
        np.testing.assert_allclose(values, expected[1:23], rtol=1e-6, atol=1e-8)

    def test_a_scaled_laplacian_is_that_of_scipy(self):
        weights = weighted_graph(700)
        matrix, degrees = laplacian(tensors(weights))
        scaled = scale_both_sides(matrix, 1 / degrees.sqrt())
        vector = torch.arange(700.0, dtype=torch.float64)
        expected = scaled.to_numpy() @ vector.numpy()
        np.testing.assert_allclose(scaled.product(vector), expected, atol=1e-10)
        row_sums = abs(scaled.to_numpy()).sum(axis=1)
        assert scaled.size == pytest.approx(row_sums.max())

    def test_what_does_not_converge_is_solved_in_numpy(self, monkeypatch):
        weights = weighted_graph()
        for bound in ("PLAIN", "LOOKS", "FILTERED"):
            monkeypatch.setattr(spectral, bound, 1)
        monkeypatch.setattr(spectral, "TOLERANCE", 1e-300)
        seed = np.random.RandomState(0)
        matrix, degrees = laplacian(tensors(weights))
        null = torch.ones_like(degrees)
        refused = spectral.bottom_eigenpairs(
            matrix, 2, null, "auto", None, None, np.random.RandomState(0)
        )
        assert refused is NotImplemented
        values, vectors = smallest_eigenpairs(matrix, 2, null, seed=seed)
        expected = np.linalg.eigvalsh(laplacian(weights)[0].toarray())[1:3]
        np.testing.assert_allclose(values, expected, rtol=1e-7)
        assert torch.is_tensor(vectors)


class TestJacobi:
    @pytest.mark.parametrize("m", [1, 2, 7, 33])
    def test_eigenvectors_of_a_batch(self, m):
        rng = np.random.default_rng(m)
        points = rng.normal(size=(6, 40, m)) * 10.0 ** -np.arange(m).clip(max=5)
        matrices = torch.from_numpy(np.swapaxes(points, 1, 2) @ points)
        values, vectors = jacobi.eigh(matrices)
        expected = np.linalg.eigvalsh(matrices)
        np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)
        rebuilt = (vectors * values[:, None, :]) @ vectors.mT
        np.testing.assert_allclose(rebuilt, matrices, atol=1e-11)
        eye = torch.eye(m, dtype=torch.float64).expand(6, m, m)
        np.testing.assert_allclose(vectors.mT @ vectors, eye, atol=1e-13)

    @pytest.mark.parametrize("shape", [(1, 3), (2, 2), (8, 40), (33, 50)])
    def test_singular_vectors_of_centred_rows(self, shape):
        rows = np.random.default_rng(0).normal(size=(5, *shape))
        rows -= rows.mean(axis=1, keepdims=True)  # one singular value is 0
        values, vectors = jacobi.svd_of_rows(torch.from_numpy(rows))
        _, expected, axes = np.linalg.svd(rows, full_matrices=False)
        np.testing.assert_allclose(values, expected, atol=1e-12)
        cosines = abs((vectors.numpy() * axes).sum(axis=2))[:, :-1]
        np.testing.assert_allclose(cosines, 1, atol=1e-12)

    def test_equal_and_zero_matrices(self):
        eye = torch.eye(5, dtype=torch.float64)
        values, vectors = jacobi.eigh(torch.stack([eye, 0 * eye]))
        np.testing.assert_array_equal(values, [[1.0] * 5, [0.0] * 5])
        assert torch.isfinite(vectors).all()
        values, vectors = jacobi.svd_of_rows(torch.zeros(1, 3, 4))
        assert not values.any()
        assert not vectors.any()


class TestMemory:
    def test_work_that_does_not_fit_on_a_device_is_refused(self, monkeypatch):
        monkeypatch.setattr(devices, "free_memory", lambda device: 2**30)
        X = torch.empty((1_000_000, 50), device="meta")
        settings = PatchSettings(*patch_parameters(pf.elap()))
        with pytest.raises(
            MemoryBudgetError, match=r"GiB, and the device meta has 1.0"
        ):
            require_room(X, settings, 15, None)
        require_room(X[:1000], settings, 15, None)

    def test_blocks_on_a_device_are_large_and_in_one_thread(self):
        with device_blocks(2**30):
            blocks = map_blocks(lambda block: block.stop, 100, 2**25, n_jobs=2)
        assert blocks == [32, 64, 96, 100]


def test_the_table_of_a_device(tmp_path, monkeypatch):
    pytest.importorskip("typer", reason="needs the cli extra of patchfold")
    from typer.testing import CliRunner

    from patchfold.cli import app
    from patchfold.studies.bench import device, report

    small = device.DeviceRow("elap", device._elap, 400, 5, 100, 300, recall=0.97)
    monkeypatch.setattr(report, "ROWS", (small,))
    told = CliRunner().invoke(
        app, ["bench", "--quick", "--device", "cpu", "--out", str(tmp_path)]
    )
    assert told.exit_code == 0, told.output
    assert "met; recall 1.0000" in told.output
    assert "torch" in (tmp_path / "device.md").read_text()


class TestReconstruction:
    @pytest.fixture
    def relation(self):
        """Return sorted rows of 0 to 6 neighbours each, and a length for each."""
        rng = np.random.default_rng(3)
        row = np.repeat(np.arange(400), rng.integers(0, 7, 400))
        return row, rng.integers(0, 400, row.size), rng.exponential(size=row.size)

    @pytest.fixture(params=["one block", "many blocks"], autouse=True)
    def blocks(self, request, monkeypatch):
        if request.param == "many blocks":
            few = "patchfold.backends.tensors.reconstruction.block_bytes"
            monkeypatch.setattr(few, lambda device: 2**16)

    def test_weights_of_lengths_are_those_of_numpy(self, relation):
        row, _, length = relation
        expected = entropic_weights(row, length, 400, 1e-3)
        found = entropic_weights(*tensors((row, length)), 400, 1e-3)
        np.testing.assert_allclose(found, expected, rtol=1e-12)

    def test_weights_of_samples_are_those_of_numpy(self, relation):
        row, column, _ = relation
        X = np.random.default_rng(4).normal(size=(400, 3))
        X[:50] = X[0]
        queries = X + 0.1
        queries[60:90] = X[0]
        column[np.isin(row, np.arange(60, 90))] = 0  # all differences are 0
        expected = barycentric_weights(queries, X, row, column, 1e-3)
        found = barycentric_weights(*tensors((queries, X, row, column)), 1e-3)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)

    def test_landmarks_give_the_embedding_of_numpy(self):
        X = np.random.default_rng(5).uniform(size=(3000, 3)) * [4, 2, 0.1]
        X[100:108] = X[100]
        model = pf.PatchLLE(n_neighbors=12, n_landmarks=300)
        here = model.fit(X)
        placed = here.transform(X[:50] + 0.01)
        there = pf.PatchLLE(n_neighbors=12, n_landmarks=300).fit(torch.from_numpy(X))
        np.testing.assert_array_equal(there.landmarks_, here.landmarks_)
        np.testing.assert_allclose(there.eigenvalues_, here.eigenvalues_, rtol=1e-6)
        np.testing.assert_allclose(there.embedding_, here.embedding_, atol=1e-7)
        again = there.transform(torch.from_numpy(X[:50] + 0.01))
        np.testing.assert_allclose(again, placed, atol=1e-7)
