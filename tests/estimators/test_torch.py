"""Estimators on torch tensors, on every device there is: what NumPy gives, there."""

import json

import numpy as np
import pytest
from helpers.comparing import assert_equal_up_to_sign
from scipy.linalg import subspace_angles
from sklearn.neighbors import KNeighborsTransformer

import patchfold as pf
from patchfold.backends.backend import NUMPY
from patchfold.dissimilarity.table import DISSIMILARITIES
from patchfold.exceptions import DisconnectedGraphWarning

EXTRA = 'needs the torch extra: pip install "patchfold[torch]"'
torch = pytest.importorskip("torch", reason=EXTRA)
pytest.importorskip("array_api_compat", reason=EXTRA)


DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.fixture(params=DEVICES)
def send(request):
    """Return a function that makes a tensor of an array, on one of the devices."""
    return lambda X: torch.from_numpy(np.array(X)).to(request.param)


def array(tensor):
    return NUMPY.bring(tensor)


def squared_gap_of_means(left, right):
    gap = left.mean - right.mean
    return (gap * gap).sum(-1)


OPTIONS = {
    "random walk": pf.PatchEigenmaps(),
    "unnormalized": pf.PatchEigenmaps(laplacian="unnormalized"),
    "diffusion": pf.PatchEigenmaps(diffusion_time=2),
    "isomap": pf.PatchIsomap(),
    "landmarks": pf.PatchIsomap(n_landmarks=40),
    "lle": pf.PatchLLE(),
    "euclidean lle": pf.PatchLLE(dissimilarity="euclidean"),
    "projection": pf.PatchProjection(),
    "cauchy": pf.CauchyEmbedding(),
    "all pairs": pf.CauchyEmbedding(n_neighbors=None),
    "klap": pf.klap(),
    "entropic": pf.PatchIsomap(label_rule="entropic"),
    "radius": pf.PatchIsomap(n_neighbors=None, radius=6.0),
    "adaptive": pf.PatchIsomap(adaptive_patches=True),
    "auto": pf.PatchEigenmaps(n_neighbors="auto"),
    "diagonal": pf.PatchEigenmaps(covariance="diagonal"),
    "robust": pf.PatchEigenmaps(covariance="robust"),
    "few directions": pf.PatchEigenmaps(n_directions=2),
    "oas": pf.PatchEigenmaps(shrinkage="oas"),
    "small patches": pf.PatchEigenmaps(n_neighbors=8),
    "callable": pf.PatchEigenmaps(dissimilarity=squared_gap_of_means),
    "transformer": pf.PatchEigenmaps(
        neighbors_algorithm=KNeighborsTransformer(n_neighbors=25)
    ),
    "posterior": pf.PatchPosterior(),
    "cauchy map": pf.CauchyMap(),
}


def fitted_pair(send, model, X, y=None):
    """Return two fits of one model: to an array and to a tensor."""
    from sklearn.base import clone

    return clone(model).fit(X, y), clone(model).fit(send(X), y)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_tensor_gives_what_an_array_gives(send, name, wine):
    X, y = wine
    here, there = fitted_pair(send, OPTIONS[name], X[:150], y[:150])
    assert torch.is_tensor(there.embedding_)
    assert there.embedding_.dtype == torch.float64
    np.testing.assert_allclose(array(there.embedding_), here.embedding_, atol=1e-8)
    expected, queries = here.transform(X[120:]), send(X[120:])
    placed = there.transform(queries)
    assert torch.is_tensor(placed)
    assert placed.device == queries.device == there.embedding_.device
    np.testing.assert_allclose(array(placed), expected, atol=1e-8)


@pytest.mark.parametrize("name", DISSIMILARITIES)
@pytest.mark.parametrize("n_neighbors", [8, 20])
def test_every_dissimilarity_agrees_to_eight_digits(send, name, n_neighbors, wine):
    X, _ = wine
    model = pf.PatchIsomap(dissimilarity=name, n_neighbors=n_neighbors)
    here, there = fitted_pair(send, model, X)
    graph = array(there.graph_)
    np.testing.assert_array_equal(graph.indices, here.graph_.indices)
    np.testing.assert_array_equal(graph.indptr, here.graph_.indptr)
    # Hellinger's is the root of a difference: equal patches are at a root of rounding.
    power = 2 if name == "hellinger" else 1
    lengths = [
        (data / here.graph_.data.max()) ** power
        for data in (graph.data, here.graph_.data)
    ]
    np.testing.assert_allclose(*lengths, atol=1e-8)


@pytest.mark.parametrize("name", ["random walk", "isomap", "lle", "projection"])
def test_queries_come_back_to_the_library_they_came_from(send, name, wine):
    X, _ = wine
    here, there = fitted_pair(send, OPTIONS[name], X[:150])
    expected = here.transform(X[150:])
    from_array = there.transform(X[150:])
    from_tensor = here.transform(send(X[150:]))
    assert isinstance(from_array, np.ndarray)
    assert torch.is_tensor(from_tensor)
    np.testing.assert_allclose(from_array, expected, atol=1e-8)
    np.testing.assert_array_equal(array(from_tensor), expected)


@pytest.mark.parametrize("make", [pf.elap, pf.isomap_kl, pf.pelle, pf.klap, pf.cauchy])
def test_single_precision_is_kept_and_close(send, make, wine):
    X, y = wine
    params = {"kernel_width": "auto"} if make is pf.elap else {}
    here = make(n_neighbors=30, **params).fit(X, y)
    there = make(n_neighbors=30, **params).fit(send(X).float(), y)
    assert there.embedding_.dtype == torch.float32
    assert there.transform(send(X[:9] + 0.1).float()).dtype == torch.float32
    known = there.transform(send(X[:9]).float())
    np.testing.assert_array_equal(array(known), array(there.embedding_[:9]))
    angles = subspace_angles(here.embedding_, array(there.embedding_.double()))
    assert angles.max() < 1e-2


def test_same_tensor_same_bits(send):
    X = send(np.random.default_rng(0).normal(size=(900, 6)))
    one, two = (pf.elap(n_neighbors=12, kernel_width="auto").fit(X) for _ in range(2))
    assert torch.equal(one.embedding_, two.embedding_)
    assert torch.equal(one.transform(X + 0.1), two.transform(X + 0.1))


def test_training_samples_and_their_duplicates_get_their_places(send, wine):
    X = send(np.concatenate([wine[0], wine[0][:3]]))
    model = pf.PatchEigenmaps(dissimilarity="euclidean", n_neighbors=20).fit(X)
    places = model.embedding_
    twins = (places[:3] + places[-3:]) / 2
    expected = torch.cat([twins, places[3:-3], twins])
    torch.testing.assert_close(model.transform(X), expected)


def test_many_samples_are_iterated_where_they_are(send):
    X = np.random.default_rng(3).normal(size=(1500, 5))
    here, there = fitted_pair(send, pf.PatchEigenmaps(dissimilarity="euclidean"), X)
    np.testing.assert_allclose(array(there.eigenvalues_), here.eigenvalues_, rtol=1e-8)
    assert_equal_up_to_sign(array(there.embedding_), here.embedding_, atol=1e-6)


def test_a_graph_in_pieces_is_joined_with_the_same_warning(send):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 3)), 50 + rng.normal(size=(40, 3))])
    with pytest.warns(DisconnectedGraphWarning, match="2 connected components"):
        here = pf.PatchIsomap(n_neighbors=6).fit(X)
    with pytest.warns(DisconnectedGraphWarning, match="2 connected components"):
        there = pf.PatchIsomap(n_neighbors=6).fit(send(X))
    np.testing.assert_allclose(array(there.embedding_), here.embedding_, atol=1e-8)


def test_wide_samples(send, wine):
    X = np.random.default_rng(1).normal(size=(30, 90))
    here, there = fitted_pair(send, pf.PatchIsomap(n_neighbors=6), X)
    np.testing.assert_allclose(array(there.embedding_), here.embedding_, atol=1e-8)
    placed = there.transform(send(X[:5] + 0.1))
    np.testing.assert_allclose(array(placed), here.transform(X[:5] + 0.1), atol=1e-8)


def test_dissimilarities_in_a_tensor(send, wine):
    from sklearn.metrics import pairwise_distances

    D = pairwise_distances(wine[0])
    here, there = fitted_pair(send, pf.PatchIsomap(dissimilarity="precomputed"), D)
    np.testing.assert_allclose(array(there.embedding_), here.embedding_, atol=1e-8)
    placed = there.transform(send(D[:7] + 0.1))
    np.testing.assert_allclose(array(placed), here.transform(D[:7] + 0.1), atol=1e-8)


def test_sizes_are_chosen_from_tensors(send, wine):
    X, y = wine
    here = pf.select_n_neighbors(pf.isomap_kl(), X, y, [10, 20], cv=3)
    there = pf.select_n_neighbors(pf.isomap_kl(), send(X), send(y), [10, 20], cv=3)
    np.testing.assert_array_equal(there.scores, here.scores)


def test_a_sweep_gives_a_fit_for_every_size(send, wine):
    X = send(wine[0])
    swept = pf.fit_sweep(pf.PatchEigenmaps(), X, n_neighbors=[20, 10])
    alone = pf.PatchEigenmaps(n_neighbors=20).fit(X)
    models = list(swept)
    assert [model.n_neighbors_ for model in models] == [10, 20]
    assert torch.equal(models[1].embedding_, alone.embedding_)


def test_gradients_and_integers_are_no_obstacle(send, iris):
    X = send(iris[0]).requires_grad_()
    assert not pf.PatchIsomap(n_neighbors=40).fit_transform(X).requires_grad
    counts = torch.arange(60).reshape(20, 3) ** 2 % 17
    placed = pf.PatchEigenmaps(n_neighbors=10).fit_transform(counts)
    assert placed.dtype == torch.float64


def test_a_fit_does_not_change_with_its_tensor(send, wine):
    X = send(wine[0].copy())
    model = pf.PatchEigenmaps().fit(X)
    queries = X[:5] + 0.1
    before = model.transform(queries)
    X += 1
    assert torch.equal(model.transform(queries), before)


def test_posteriors_and_labels_of_tensors(send, wine):
    X, y = wine
    here, there = fitted_pair(send, pf.PatchPosterior(), X[::2], y[::2])
    queries = send(X[1::2])
    assert torch.is_tensor(there.posterior_)
    posterior = there.predict_proba(queries)
    expected = here.predict_proba(X[1::2])
    np.testing.assert_allclose(array(posterior), expected, atol=1e-8)
    np.testing.assert_array_equal(array(there.predict(queries)), here.predict(X[1::2]))
    named = pf.PatchPosterior().fit(queries, np.array(["a", "b", "c"])[y[1::2]])
    assert set(named.predict(queries)) <= {"a", "b", "c"}
    assert there.explain(queries[0]).posterior.shape == (3,)


def test_labels_may_be_a_tensor(send, wine):
    X, y = wine
    listed = pf.klap().fit(send(X), y).embedding_
    tensor = pf.klap().fit(send(X), send(y)).embedding_
    assert torch.equal(listed, tensor)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X[:, 0], "Expected 2D array, got 1D tensor"),
        (lambda X: X[:1], "minimum of 2 is required by PatchIsomap"),
        (lambda X: X[:, :0], "0 feature"),
        (lambda X: X * float("nan"), "contains NaN or infinity"),
        (lambda X: X.to(torch.complex128), "Complex data not supported"),
        (lambda X: X * 1e200, "scale the features"),
        (lambda X: X.to_sparse(), "takes no sparse tensor"),
    ],
)
def test_bad_tensors_are_refused_in_words(send, change, message, iris):
    with pytest.raises(ValueError, match=message):
        pf.PatchIsomap().fit(change(send(iris[0])))


def test_queries_must_have_the_features_of_the_fit(send, iris):
    X = send(iris[0])
    model = pf.PatchIsomap(n_neighbors=40).fit(X)
    with pytest.raises(ValueError, match="X has 3 features, but PatchIsomap is expect"):
        model.transform(X[:, :3])


def test_a_model_of_tensors_is_saved_as_arrays(send, tmp_path, wine):
    pytest.importorskip("skops", reason="needs the cli extra of patchfold")
    X = wine[0]
    model = pf.PatchEigenmaps().fit(send(X[:150]))
    pf.save_model(model, tmp_path / "m.skops")
    again = pf.load_model(tmp_path / "m.skops")
    assert isinstance(again.embedding_, np.ndarray)
    assert torch.is_tensor(model.embedding_)
    expected = array(model.transform(send(X[150:])))
    np.testing.assert_allclose(again.transform(X[150:]), expected, atol=1e-12)


def test_embed_takes_a_device(tmp_path):
    pytest.importorskip("skops", reason="needs the cli extra of patchfold")
    import pandas as pd
    from typer.testing import CliRunner

    from patchfold.cli import app

    def run(*arguments):
        return CliRunner().invoke(app, ["embed", "iris", "--json", *arguments])

    plain, there, again, back = (tmp_path / f"{name}.csv" for name in "abcd")
    model = str(tmp_path / "m.skops")
    assert run("--out", str(plain)).exit_code == 0
    told = run("--out", str(there), "--device", "cpu", "--model", model)
    assert told.exit_code == 0, told.output
    assert json.loads(told.output)["n_samples"] == 150
    assert run("--out", str(again), "--from", model, "--device", "cpu").exit_code == 0
    assert run("--out", str(back), "--from", model).exit_code == 0
    tables = [pd.read_csv(path).iloc[:, -2:] for path in (plain, there, again, back)]
    np.testing.assert_allclose(tables[1], tables[0], atol=1e-8)
    np.testing.assert_allclose(tables[2], tables[3], atol=1e-8)


def test_a_device_that_is_not_there_is_one_line(tmp_path):
    pytest.importorskip("typer", reason="needs the cli extra of patchfold")
    from typer.testing import CliRunner

    from patchfold.cli import app

    out = str(tmp_path / "a.csv")
    told = CliRunner().invoke(app, ["embed", "iris", "--out", out, "--device", "moon"])
    assert told.exit_code == 2
    assert "device='moon' cannot be used here" in told.output
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize("make", [pf.PatchLLE, pf.CauchyEmbedding, pf.PatchEigenmaps])
def test_short_floats_are_taken_and_returned(make):
    X = torch.randn(80, 3, generator=torch.Generator().manual_seed(0)).bfloat16()
    model = make(n_neighbors=10).fit(X)
    placed = model.transform(X[:3] + 0.5)
    assert placed.dtype == model.embedding_.dtype == torch.bfloat16
    assert torch.isfinite(placed).all()


def test_coordinates_that_short_floats_cannot_hold_are_refused():
    line = torch.linspace(-6e4, 6e4, 300)[:, None] * torch.ones(2)
    model = pf.PatchIsomap(1, n_neighbors=10, dissimilarity="euclidean")
    with pytest.raises(
        ValueError, match=r"do not fit in torch.float16: pass .*float32"
    ):
        model.fit(line.half())
