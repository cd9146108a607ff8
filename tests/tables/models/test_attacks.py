"""Model files made to do harm: one clear error, or finite coordinates.

Every file is loaded in a process of its own, with limits on time and memory.
"""

import io
import json
import re
import struct
import subprocess
import sys
import zipfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

import patchfold as pf
from patchfold.tables.models.saving import ModelFileError, save_model
from patchfold.tables.models.schema import objects_in

HERE = Path(__file__).parent
X = np.random.default_rng(0).normal(size=(40, 3))
QUERIES = [[0.1, 0.2, 0.3], [1.0, -1.0, 0.0]]


class ModelFile:
    """A saved model whose parts can be changed."""

    def __init__(self, data):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            self.parts = {name: archive.read(name) for name in archive.namelist()}
        self.schema = json.loads(self.parts.pop("schema.json"))
        self.note = json.loads(self.parts.pop("patchfold.json"))
        self.extra = []

    @property
    def attributes(self):
        return self.schema["content"]["content"]

    @property
    def fitted(self):
        """The dict node of fitted attributes, in files of format 2."""
        return self.attributes["_fitted"]

    def put(self, name, node):
        """Add or replace a fitted attribute."""
        if name not in self.fitted["content"]:
            kinds = self.fitted["key_types"]["content"]
            kinds.append(kinds[0])
        self.fitted["content"][name] = node

    def put_attribute(self, name, node):
        """Add or replace an attribute, in files of format 1."""
        if name not in self.attributes:
            kinds = self.schema["content"]["key_types"]["content"]
            kinds.append(kinds[0])
        self.attributes[name] = node

    def array(self, name):
        return np.load(io.BytesIO(self.parts[self.fitted["content"][name]["file"]]))

    def add_part(self, file, array):
        """Add a part that holds an array, and return its node."""
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=True)
        self.parts[file] = buffer.getvalue()
        return array_node(file)

    def put_array(self, name, array, file="999.npy"):
        self.put(name, self.add_part(file, array))

    def encoder(self, kind):
        """Return the attributes of the smallest encoder of a kind."""
        found = [node for node in objects_in(self.schema) if node["__class__"] == kind]
        return min(found, key=lambda node: len(str(node)))["content"]["content"]

    def write(self, path):
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in [*self.parts.items(), *self.extra]:
                archive.writestr(name, content)
            archive.writestr("schema.json", json.dumps(self.schema))
            archive.writestr("patchfold.json", json.dumps(self.note))


def value(content):
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(content),
        "is_json": True,
    }


def array_node(file, kind="ndarray"):
    return {
        "__class__": kind,
        "__module__": "numpy",
        "__loader__": "NdArrayNode",
        "type": "numpy",
        "file": file,
    }


def listed(nodes, number=None, kind="list"):
    node = {
        "__class__": kind,
        "__module__": "builtins",
        "__loader__": f"{kind.title()}Node",
        "content": nodes,
    }
    return node if number is None else node | {"__id__": number}


def of_object(name, **attributes):
    module, _, last = name.rpartition(".")
    word = {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"}
    content = {
        "__class__": "dict",
        "__module__": "builtins",
        "__loader__": "DictNode",
        "key_types": listed([word] * len(attributes)),
        "content": attributes,
    }
    return {
        "__class__": last,
        "__module__": module,
        "__loader__": "ObjectNode",
        "content": content,
    }


ATTACKS = {}


def attack(wanted, base="elap"):
    """Name a change of a file, and how loading it must end."""

    def register(change):
        ATTACKS[change.__name__] = (base, change, wanted)
        return change

    return register


CELLS = "patchfold.neighbors.cell_search.Cells"


@attack("refused.*_cells_for", base="old elap")
def negative_probes_in_cells(file):
    cells = of_object(CELLS, n_probes=value(-1), scale=value(1.0))
    file.put_attribute("_search", cells)


@attack("refused.*_cells_for", base="old elap")
def endless_sizes_in_cells(file):
    whole = of_object(
        "patchfold.backends.native.search.WholeNumbers", sizes=value(-(2**31))
    )
    file.put_attribute(
        "_search", of_object(CELLS, groups=of_object("a.b", whole=whole))
    )


@attack("finite", base="old elap")
def short_descriptions(file):
    node = file.attributes["_described"]["content"][0]
    buffer = io.BytesIO()
    np.save(buffer, np.zeros((2, 3)))
    file.parts[node["file"]] = buffer.getvalue()


@attack("refused.*_search.*not an attribute")
def cells_in_a_new_file(file):
    file.put("_search", of_object("patchfold.estimators.isomap.PatchIsomap"))


@attack("refused.*_described.*not an attribute")
def descriptions_in_a_new_file(file):
    file.put("_described", value([]))


@attack("refused.*does not know: patchfold.neighbors.cell_search.Cells")
def cells_of_a_new_file(file):
    file.put("_search", of_object(CELLS, n_probes=value(-1)))


@attack("refused.*(embedding_|no estimator|does not|is not)")
def lists_that_refer_to_each_other(file):
    node = listed([], number=1)
    for number in range(2, 42):
        again = {key: node[key] for key in ("__class__", "__module__", "__loader__")}
        node = listed([node, again | {"__id__": number - 1}], number=number)
    file.put("embedding_", node)


@attack("refused.*(embedding_|nests)")
def lists_within_lists(file):
    node = value(1)
    for _ in range(200):
        node = listed([node])
    file.put("embedding_", node)


@attack("refused.*embedding_ must be an array of float64")
def short_embedding(file):
    file.put_array("embedding_", file.array("embedding_")[:-1])


@attack("refused.*embedding_ has numbers that are not finite")
def infinite_embedding(file):
    file.put_array("embedding_", file.array("embedding_") + np.inf)


@attack("error|finite")
def embedding_at_the_end_of_numbers(file):
    file.put_array("embedding_", np.full((40, 2), 1.7e308) * [1, -1])


@attack("refused.*holds object", base="elap")
def objects_in_an_array(file):
    file.put_array("embedding_", np.full((40, 2), None))


@attack("refused.*holds >f8", base="elap")
def another_byte_order(file):
    file.put_array("embedding_", file.array("embedding_").astype(">f8"))


@attack("refused.*embedding_ must be an array of float64")
def embedding_in_single_precision(file):
    file.put_array("embedding_", file.array("embedding_").astype("f4"))


@attack("refused.*embedding_ must be an array of float64")
def embedding_without_axes(file):
    file.put_array("embedding_", np.array(1.0))


def header(shape, rest=b""):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    text = text.ljust(118 - 1).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + rest


@attack("refused.*0 bytes for an array")
def array_that_promises_more(file):
    file.parts["999.npy"] = header("(1000000000, 100)")
    file.put("embedding_", array_node("999.npy"))


@attack("refused.*999.npy")
def array_of_negative_size(file):
    file.parts["999.npy"] = header("(-1, -2)", bytes(16))
    file.put("embedding_", array_node("999.npy"))


@attack("refused.*must be one number")
def array_for_a_number(file):
    name = file.fitted["content"]["embedding_"]["file"]
    file.put("kernel_width_", array_node(name, "float64"))


@attack("refused.*the part .* is missing")
def part_that_is_not_there(file):
    file.put("embedding_", array_node("/etc/passwd"))


@attack("refused.*is there twice")
def part_that_is_there_twice(file):
    file.extra = [("schema.json", b"{}")]


@attack("refused.*not allowed")
def part_that_leads_elsewhere(file):
    file.parts["../../x.npy"] = b""


@attack("refused.*sigma_ must be a number", base="cauchy")
def width_whose_square_is_infinite(file):
    file.put("sigma_", value(1e300))


@attack("refused.*n_jobs")
def many_threads(file):
    file.attributes["n_jobs"] = value(10**9)


@attack("refused.*n_neighbors_")
def more_neighbors_than_samples(file):
    file.attributes["n_neighbors"] = value(10**12)
    file.put("n_neighbors_", value(10**12))


@attack("refused.*graph_ has .* too few")
def more_neighbors_than_edges(file):
    file.attributes["n_neighbors"] = value(39)
    file.put("n_neighbors_", value(39))


@attack("refused.*n_neighbors.*must be")
def neighbors_of_no_number(file):
    file.attributes["n_neighbors"] = value(float("nan"))


def chain_of(file, samples):
    """Put samples that a chain of edges connects in place of those of a file."""
    n = samples.shape[0]
    arrays = {
        "counts": np.append(np.ones(n - 1, np.int32), np.int32(0)),
        "columns": np.arange(1, n, dtype=np.int32),
        "values": np.ones(n - 1),
    }
    packed = file.fitted["content"]["graph_"]["content"]
    for number, (name, array) in enumerate(arrays.items()):
        packed[name] = file.add_part(f"99{number}.npy", array)
    file.put_array("_train_X", samples, "996.npy")
    file.put_array("embedding_", np.zeros((n, 2)), "997.npy")


@attack("refused.*more than 78 neighbours", base="radius")
def radius_of_everything(file):
    chain_of(file, X)
    file.attributes["radius"] = value(1e300)


@attack("refused.*more than 31998 neighbours", base="radius")
def radius_of_a_crowd_between_lone_samples(file):
    place = np.arange(16_000)  # every fifth is alone, also those asked how many
    lone = np.where(place % 5 == 0, 100.0 * place + 100, 0)
    chain_of(file, np.column_stack([lone, place / 1e9, place % 2]))


@attack("refused.*_mds", base="landmarks")
def landmarks_that_are_none(file):
    file.put("landmarks_", value(None))


@attack("refused.*landmarks_ has integers", base="landmarks")
def landmarks_beyond_the_samples(file):
    file.put_array("landmarks_", np.arange(35, 44))


@attack("refused.*graph_.columns has integers")
def edges_to_no_sample(file):
    node = file.fitted["content"]["graph_"]["content"]["columns"]
    content = bytearray(file.parts[node["file"]])
    content[-4:] = struct.pack("<i", 10**6)
    file.parts[node["file"]] = bytes(content)


def old_graph(file, **changed):
    """Write the graph of a file of format 1 with other parts."""
    name = file.attributes["graph_"]["file"]
    with zipfile.ZipFile(io.BytesIO(file.parts[name])) as archive:
        arrays = {
            part.removesuffix(".npy"): np.load(io.BytesIO(archive.read(part)))
            for part in archive.namelist()
        }
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **(arrays | changed))
    file.parts[name] = buffer.getvalue()


@attack("refused", base="old elap")
def old_graph_with_wrong_pointers(file):
    old_graph(file, indptr=np.arange(15, dtype=np.int32)[::-1].copy())


@attack("refused", base="old elap")
def old_graph_with_far_columns(file):
    old_graph(file, indices=np.full(10**3, 10**8, dtype=np.int32))


@attack("refused", base="old elap")
def old_graph_that_grows(file):
    old_graph(file, data=np.zeros(10**8, dtype=np.int8))


@attack("finite", base="old embed_one_hot")
def one_hot_columns_beyond_the_table(file):
    def walk(node):
        if isinstance(node, dict):
            if node.get("__class__") == "OneHotEncoder":
                fitted = node["content"]["content"]
                if "_n_features_outs" in fitted:
                    fitted["_n_features_outs"] = listed([value(-10_000)])
            for part in node.values():
                walk(part)
        elif isinstance(node, list):
            for part in node:
                walk(part)

    walk(file.schema)


@attack("refused.*decompress to more", base="old posterior")
def one_row_for_thousands_of_samples(file):
    rows = file.attributes["_rows"]["content"]["content"]
    rows["_unique"] = file.add_part("990.npy", np.zeros((1, 50_000)))
    rows["_group"] = file.add_part("991.npy", np.zeros(6000, np.int8))


def sparse_parts(file, count):
    """Add matrices that grow to 60 MB each, and return the node of the first."""
    old_graph(file, data=np.zeros(6 * 10**7, dtype=np.int8))
    node = file.attributes["graph_"]
    for number in range(count):
        file.parts[f"9{number}.npz"] = file.parts[node["file"]]
    return node | {"file": "90.npz"}


@attack("refused", base="old elap")
def one_matrix_many_times(file):
    node = sparse_parts(file, 1)
    file.put_attribute("eigenvalues_", listed([node] * 3000))


@attack("refused.*is no sparse matrix", base="old elap")
def many_matrices_that_grow(file):
    node, count = sparse_parts(file, 60), 60
    nodes = [node | {"file": f"9{number}.npz"} for number in range(count)]
    file.put_attribute("eigenvalues_", listed(nodes))


@attack("error: .*too far from the training samples", base="posterior")
def weights_of_scores_that_make_infinity(file):
    weights = file.fitted["content"]["_solution"]["content"]["stack"]["content"]
    weights["weights"] = file.add_part("990.npy", np.full(9, 1.7e308))


@attack("refused.*unknown_value", base="ordinal")
def number_for_unknown_words_that_is_none(file):
    file.encoder("OrdinalEncoder")["unknown_value"] = value(float("nan"))


@attack("refused.*unknown_value", base="ordinal")
def number_for_unknown_words_that_is_too_large(file):
    file.encoder("OrdinalEncoder")["unknown_value"] = value(10**400)


@attack("refused.*StandardScaler: it makes infinity", base="ordinal")
def scale_that_makes_infinity(file):
    small = file.add_part("990.npy", np.full(1, 1e-300))
    file.encoder("StandardScaler")["scale_"] = small


@attack("refused.*Pipeline: it makes infinity", base="ordinal")
def scales_that_make_infinity_together(file):
    steps = file.encoder("Pipeline")["steps"]["content"]
    file.encoder("StandardScaler")["scale_"] = file.add_part("9.npy", np.full(1, 1e-90))
    steps += [steps[-1]] * 3


@attack("refused.*feature_names_in_", base="ordinal")
def names_that_are_numbers(file):
    file.encoder("ColumnTransformer")["feature_names_in_"] = value("[1, 2]")


@attack("refused.*ColumnTransformer cannot be made again", base="ordinal")
def names_that_are_nested(file):
    file.encoder("ColumnTransformer")["feature_names_in_"] = value("[" * 10**5)


@attack("refused.*transformers_", base="ordinal")
def columns_that_are_no_list(file):
    parts = file.encoder("ColumnTransformer")["transformers_"]["content"]
    parts[0]["content"][2] = value("7")


@attack("finite", base="ordinal")
def many_processes_for_encoders(file):
    file.encoder("ColumnTransformer")["n_jobs"] = value(10**6)


@attack("refused.*kernel_width")
def parameter_beyond_all_floats(file):
    file.attributes["kernel_width"] = value(10**400)


@attack("refused.*random_state", base="seeded")
def numbers_beyond_a_random_state(file):
    state = file.attributes["random_state"]["content"]["content"]
    state["state"]["content"]["pos"] = value(10**6)


@attack("refused.*does not know: sklearn.linear_model._logistic.LogisticRegression")
def estimator_that_only_skops_trusts(file):
    name = "sklearn.linear_model._logistic.LogisticRegression"
    file.schema |= of_object(name, coef_=value(1))


@attack("refused.*no estimator")
def something_else(file):
    file.schema |= listed([value(1)])


def encoder_of(file):
    """Return the dict node of the fitted attributes of the TableEncoder in a file."""
    return file.encoder("TableEncoder")["_fitted"]["content"]


def put_numbers(file, row, column, number, name="_numbers"):
    node = encoder_of(file)[name]
    array = np.load(io.BytesIO(file.parts[node["file"]]))
    array[row, column] = number
    encoder_of(file)[name] = file.add_part("995.npy", array)


@attack(r"refused.*_later\[1\] fills gaps with what cannot be", base="mixed")
def table_gap_filled_with_no_level(file):
    put_numbers(file, 1, 1, 7.0, "_later")


@attack(r"refused.*_later\[0\] fills gaps with what cannot be", base="mixed map")
def table_gap_filled_with_what_is_too_large(file):
    put_numbers(file, 0, 1, 1e200, "_later")


@attack("refused.*_later has infinity", base="mixed")
def table_gap_filled_with_infinity(file):
    put_numbers(file, 0, 1, np.inf, "_later")


@attack("refused.*feature_names_in_ is no JSON", base="mixed")
def table_names_that_are_no_list(file):
    encoder_of(file)["feature_names_in_"] = value("[" * 10**5)


@attack("refused.*TableEncoder: _numbers.*makes infinity", base="mixed")
def table_scale_that_makes_infinity(file):
    put_numbers(file, 0, 1, 1e-200)


@attack("refused.*_numbers.*scale that cannot be", base="mixed map")
def table_scale_of_zero(file):
    put_numbers(file, 0, 1, 0.0)


@attack("refused.*_numbers has numbers that are not finite", base="mixed")
def table_mean_that_is_no_number(file):
    put_numbers(file, 0, 0, np.nan)


@attack("refused.*_levels.*twice", base="mixed map")
def table_level_twice(file):
    encoder_of(file)["_levels"] = value('[[], ["x", "x", "y", "z"]]')


@attack("refused.*_shares does not fit", base="mixed")
def table_with_more_levels(file):
    encoder_of(file)["_levels"] = value('[[], ["x", "y", "z", "w", "v"]]')


@attack("refused.*_levels.*0 levels", base="mixed")
def table_category_without_levels(file):
    encoder_of(file)["_levels"] = value("[[], []]")


@attack("refused.*_levels.*text and numbers", base="mixed")
def table_levels_of_lists(file):
    encoder_of(file)["_levels"] = value('[[], [["x"], ["y"], ["z"], ["w"]]]')


@attack("refused.*_levels is no JSON", base="mixed")
def table_levels_that_are_nested(file):
    encoder_of(file)["_levels"] = value("[" * 10**5)


@attack("refused.*_kind_names.*no kind", base="mixed")
def table_kind_that_is_unknown(file):
    encoder_of(file)["_kind_names"] = value('["number", "word"]')


@attack("refused.*encoder_ makes 2 numbers", base="mixed map")
def table_with_another_width(file):
    node = encoder_of(file)
    node["_kind_names"], node["_levels"] = (
        value('["number", "number"]'),
        value("[[],[]]"),
    )
    node["_shares"] = file.add_part("996.npy", np.empty(0))


@attack("refused.*encoder_ must be a TableEncoder", base="mixed map")
def encoder_that_is_a_list(file):
    file.put("encoder_", value([1]))


@attack("refused.*n_features_in_ must be", base="mixed map")
def table_with_other_columns(file):
    file.put("n_features_in_", value(3))


@attack("refused.*_rows has values that no row can have", base="gower")
def rows_with_codes_beyond_the_levels(file):
    node = encoder_of(file)["_rows"]
    rows = np.load(io.BytesIO(file.parts[node["file"]]))
    encoder_of(file)["_rows"] = file.add_part("997.npy", rows + np.array([0, 9]))


@attack("refused.*_rows are those of", base="gower")
def rows_without_gower(file):
    file.encoder("TableEncoder")["distance"] = value("euclidean")


@attack("refused.*'ordered' parameter", base="mixed")
def orders_of_numbers(file):
    file.encoder("TableEncoder")["ordered"] = value([1, 2])


def mixed(**settings):
    """Return an encoder of a table with gaps, the table, and new samples for it."""
    words = np.array(list("xyzw") * 10, dtype=object)
    words[7] = None
    table = pd.DataFrame({"a": X[:, 0], "b": words})
    table.loc[5, "a"] = np.nan
    queries = {"a": [0.1, 1e6, None], "b": ["x", None, "y"]}
    return pf.TableEncoder(**settings), table, queries


def save_mixed(path):
    """Return files of a pipeline, of a map that encodes, and of Gower's distance."""
    encoder, table, queries = mixed()
    gower = make_pipeline(
        mixed(distance="gower")[0], pf.CauchyMap(dissimilarity="precomputed")
    )
    models = {
        "mixed": make_pipeline(encoder, pf.CauchyMap()),
        "mixed map": pf.CauchyMap(),
        "gower": gower,
    }
    return {name: saved(models[name].fit(table), path, queries) for name in models}


def saved(model, path, queries=QUERIES):
    save_model(model, path, queries=queries)
    return path.read_bytes()


def ordinal():
    """Return a pipeline of encoders and an estimator, and new samples for it."""
    table = pd.DataFrame({"a": X[:, 0], "b": np.array(list("xyzw") * 10, dtype=object)})
    numbers = ("numbers", make_pipeline(StandardScaler()), ["a"])
    words = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    encoder = ColumnTransformer([numbers, ("words", words, ["b"])])
    model = make_pipeline(encoder, pf.PatchIsomap(dissimilarity="euclidean"))
    return model.fit(table), {"a": [0.1, 0.2], "b": ["x", "unknown"]}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Write all files, load each in its process, and return how that ended."""
    folder = tmp_path_factory.mktemp("attacks")
    path = folder / "m"
    seed = np.random.RandomState(0)
    bases = {
        "elap": saved(pf.elap(n_neighbors=5, kernel_width="auto").fit(X), path),
        "cauchy": saved(pf.CauchyEmbedding(max_iter=5).fit(X), path),
        "radius": saved(pf.PatchEigenmaps(n_neighbors=None, radius=2.5).fit(X), path),
        "landmarks": saved(pf.PatchIsomap(n_landmarks=9).fit(X), path),
        "ordinal": saved(ordinal()[0], path, ordinal()[1]),
        "seeded": saved(pf.PatchIsomap(random_state=seed).fit(X), path),
        "posterior": saved(pf.PatchPosterior().fit(X, np.arange(40) % 3), path),
        **save_mixed(path),
    }
    with zipfile.ZipFile(HERE / "model_files_1.zip") as archive:
        for name in ("elap", "embed_one_hot", "posterior"):
            bases[f"old {name}"] = archive.read(f"{name}.skops")
    for name, (base, change, _) in ATTACKS.items():
        file = ModelFile(bases[base])
        change(file)
        with (
            pytest.warns(UserWarning, match="Duplicate name")
            if file.extra
            else nullcontext()
        ):
            file.write(folder / f"{name}.skops")
    done = subprocess.run(
        [sys.executable, HERE / "model_attacks.py", folder],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ATTACKS)
def test_a_file_made_to_do_harm_ends_well(outcomes, name):
    outcome = outcomes[name]
    assert re.match(ATTACKS[name][2], outcome), outcome
    # No hang; a busy machine takes several times what an idle one does.
    assert float(re.search(r"\[([\d.]+) s\]$", outcome)[1]) < 60


def test_a_file_that_is_left_as_it_is_loads(tmp_path):
    path = tmp_path / "m.skops"
    ModelFile(saved(pf.elap(n_neighbors=5, kernel_width="auto").fit(X), path)).write(
        path
    )
    assert np.isfinite(pf.load_model(path).transform(QUERIES)).all()


def test_memory_that_runs_out_is_one_clear_error(tmp_path, monkeypatch):
    class Greedy:
        def unpack(self, name, value, sizes):
            raise MemoryError

    path = tmp_path / "m.skops"
    saved(pf.PatchIsomap().fit(X), path)
    monkeypatch.setitem(pf.PatchIsomap._fitted_rules, "graph_", Greedy())
    with pytest.raises(ModelFileError, match=r"PatchIsomap: .*MemoryError\.$"):
        pf.load_model(path)


def test_sparse_matrices_of_old_files_are_checked_before_they_are_used():
    from patchfold.estimators.stored.rules import Matrix

    matrix = sp.csr_array(([1.0], [0], [0, 1]), shape=(1, 1))
    matrix.indices[0] = 7
    with pytest.raises(ValueError, match="indices holds 7"):
        Matrix().pack(matrix)
    empty = sp.csr_array((2, 2))
    empty.indptr[1] = 1000  # SciPy looks at the ends alone where there is no entry
    with pytest.raises(ValueError, match="indptr does not ascend"):
        Matrix().pack(empty)
