"""The seam between stages and the place where arrays live."""

import inspect
from dataclasses import dataclass
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA

from patchfold.backends import backend as seam
from patchfold.backends.backend import (
    NUMPY,
    Backend,
    backend_for,
    find_backend,
    on_any_device,
)
from patchfold.backends.tensors import devices
from patchfold.exceptions import MemoryBudgetError
from patchfold.validation import check_samples

EXTRA = 'needs the torch extra: pip install "patchfold[torch]"'


@dataclass(frozen=True)
class Record:
    values: object
    word: str = "a word"


@on_any_device
def running_sums(record, start):
    """Add up what a record has; for NumPy alone."""
    assert isinstance(record.values, np.ndarray)
    return Record(np.cumsum(record.values, out=np.empty(record.values.shape)) + start)


def test_a_stage_takes_arrays_as_they_are():
    values = np.arange(3.0)
    assert running_sums(Record(values), start=1).values.tolist() == [1, 2, 4]
    assert NUMPY.bring({"a": [values]})["a"][0] is values
    assert NUMPY.give_back(values) is values
    assert backend_for([[1.0], [2.0]]) == NUMPY == find_backend("")
    with NUMPY.working_on([[1.0]], "no remedy"):
        pass


STAGES = {
    "backends.native.graph": ("mirror_edges", "unite_relations"),
    "graph.connectivity": ("measure_candidates",),
    "graph.paths": ("geodesics",),
    "graph.weights": ("find_pieces", "laplacian", "median", "scale_both_sides"),
    "neighbors.choice": ("choose_search", "nearest_others", "nearest_samples"),
    "solvers.field.attraction": ("middle_of_samples", "unite", "weighted_pairs"),
    "solvers.field.descent": ("take_steps",),
    "solvers.field.order": ("curve_order", "hash_order", "in_input_order", "row_keys"),
    "solvers.field.placing": ("quantile_of_last", "recognise", "settle_all"),
    "solvers.field.source": ("graph_of", "project"),
    "solvers.field.start": ("find_axes",),
    "solvers.gradient": ("edge_pattern", "nearest_rotation", "pull_along"),
    "solvers.landmarks": ("products_of_columns",),
    "solvers.reconstruction": (
        "barycentric_weights",
        "entropic_weights",
        "relation_matrix",
        "weighted_means",
        "weighted_sums",
    ),
    "solvers.spectral": ("bottom_eigenpairs",),
    "validation": ("check_samples",),
}


def test_the_table_names_stages_and_twins_with_their_parameters():
    """A stage that is renamed without its twin would be done in NumPy in silence."""
    assert sorted(seam.TWINS) == sorted(sum(STAGES.values(), ()))
    for module, names in STAGES.items():
        for name in names:
            stage = getattr(import_module(f"patchfold.{module}"), name)
            assert hasattr(stage, "__wrapped__"), f"{name} is not on_any_device"
            path = f"patchfold.backends.tensors.{seam.TWINS[name]}"
            twin = getattr(import_module(path), name)
            expected, found = (inspect.signature(f).parameters for f in (stage, twin))
            assert [*map(str, found)] == [*map(str, expected)], name
            for key in expected:
                assert found[key].kind == expected[key].kind, (name, key)
                assert found[key].default == expected[key].default, (name, key)


class TestTensors:
    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch", reason=EXTRA)

    def test_there_and_back(self, torch):
        matrix = sp.random_array((20, 30), density=0.1, rng=0, format="csr")
        given = {
            "record": Record(np.arange(3.0)),
            "words": ["a", None, np.array(["b"])],
            "matrix": matrix,
        }
        there = Backend(torch.device("cpu"), torch.float32).bring(given)
        assert there["record"].values.dtype == torch.float64
        assert there["words"] == ["a", None, np.array(["b"])]
        back = NUMPY.bring(there)
        np.testing.assert_array_equal(back["record"].values, given["record"].values)
        np.testing.assert_array_equal(back["matrix"].toarray(), matrix.toarray())

    def test_results_are_given_back_in_the_precision_of_the_samples(self, torch):
        X = torch.ones((3, 2), dtype=torch.float32)
        backend = backend_for(X)
        assert not backend.is_numpy
        assert backend.give_back(np.ones(3)).dtype == torch.float32
        assert backend.bring(np.ones(3)).dtype == torch.float64
        assert backend.give_back(np.ones(3, dtype=int)).dtype == torch.int64
        whole = backend_for(torch.ones(3, dtype=torch.int64))
        assert whole.give_back(np.ones(3)).dtype == torch.float64

    def test_a_number_that_the_precision_cannot_hold_is_an_error(self, torch):
        backend = backend_for(torch.ones(3, dtype=torch.float16))
        with pytest.raises(ValueError, match="up to 1e\\+09 do not fit"):
            backend.give_back(np.array([1e9]))

    def test_a_stage_without_a_twin_is_done_in_numpy(self, torch):
        found = running_sums(Record(torch.ones(3)), start=1)
        assert found.values.dtype == torch.float32
        assert found.values.tolist() == [2, 3, 4]

    def test_a_list_of_tensors_is_samples_of_the_caller(self, torch):
        rows = [torch.ones(2), torch.zeros(2)]
        found = check_samples(PCA(), rows, reset=True)
        assert isinstance(found, np.ndarray)

    def test_the_twin_is_called_unless_it_cannot_do_it(self, torch, monkeypatch):
        monkeypatch.setitem(seam.TWINS, "row_sums", "graph")

        @on_any_device
        def row_sums(matrix):
            return "in NumPy"

        tensor = torch.eye(3).to_sparse_csr()
        assert row_sums(tensor).tolist() == [1, 1, 1]
        graph = import_module("patchfold.backends.tensors.graph")
        monkeypatch.setattr(graph, "row_sums", lambda matrix: NotImplemented)
        assert row_sums(tensor) == "in NumPy"
        assert row_sums(np.eye(3)) == "in NumPy"

    def test_a_model_is_fitted_on_a_device_and_comes_back(self, torch):
        X = np.random.default_rng(0).normal(size=(20, 3))

        class Model(PCA):
            def fit(self, X, y=None):
                assert torch.is_tensor(X)
                super().fit(X.numpy())
                self.mean_ = torch.asarray(self.mean_)
                return self

        backend = find_backend("cpu")
        model = backend.fit(Model(1), X, None)
        assert isinstance(model.mean_, np.ndarray)
        assert torch.is_tensor(backend.copy_model(model).mean_)
        assert isinstance(model.mean_, np.ndarray)

    def test_a_full_device_is_a_memory_error_in_words(self, torch):
        def fail():
            with devices.plain_memory_errors("work on 7 samples", "Take fewer."):
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")

        with pytest.raises(MemoryBudgetError, match=r"work on 7 samples.*Take fewer\."):
            fail()

    def test_a_device_that_is_not_there(self):
        with pytest.raises(ValueError, match="device='moon' cannot be used here"):
            find_backend("moon")
