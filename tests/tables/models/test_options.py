"""Pipelines of `embed`, saved and loaded: every option places samples as before."""

import itertools
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from typer.testing import CliRunner

import patchfold as pf
from patchfold.cli import app
from patchfold.estimators.methods import METHODS, OTHERS
from patchfold.tables import (
    choose_columns,
    make_encoder,
    match_columns,
    read_table,
)
from patchfold.tables.embedding import embed_table
from patchfold.tables.models.saving import ModelFileError, about_model
from patchfold.tables.placing import place_table

OLD_FILES = Path(__file__).with_name("model_files_1.zip")
FORMER_ENCODERS = Path(__file__).with_name("model_files_2.zip")
"""Pipelines of `embed` when it encoded columns by parts of scikit-learn."""

TABLES = {
    "numbers": ["size", "width"],
    "categories": ["hue", "shape"],
    "mixed": ["size", "hue", "width", "shape"],
}
pytestmark = pytest.mark.filterwarnings("ignore::patchfold.exceptions.PatchfoldWarning")


@pytest.fixture(scope="module")
def frame():
    """Return a table with numbers and categories, of which some cells are missing."""
    draw = np.random.default_rng(0)
    n = 40
    table = pd.DataFrame(
        {
            "name": [f"s{row}" for row in range(n)],
            "size": draw.normal(size=n),
            "hue": draw.choice(["red", "green", "blue"], n),
            "width": draw.normal(size=n) * 100,
            "shape": draw.choice(["round", "flat"], n),
            "kind": draw.choice(["a", "b", "c"], n),
            "note": "none",
        }
    )
    table["hue"], table["shape"] = (
        table["hue"].astype(object),
        table["shape"].astype(object),
    )
    return table


def write(frame, path, columns, *, missing=False):
    """Write some columns as a table, with the classes."""
    table = frame[[*columns, "kind"]].copy()
    if missing:
        for place, name in enumerate(columns):
            table.loc[place, name] = None
    table.to_csv(path, index=False)
    return str(path)


def check_again(done, source, path):
    """Save a pipeline, load it, and compare coordinates of new samples."""
    pf.save_model(done.pipeline, path, **done.about)
    again = place_table(source, path)
    features, _ = match_columns(read_table(source), done.pipeline["columns"])
    expected = done.pipeline.transform(features)
    assert np.isfinite(expected).all()
    np.testing.assert_array_equal(again.frame[done.coordinates], expected)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in OTHERS])
@pytest.mark.parametrize("impute", [None, "median"])
def test_every_method(frame, tmp_path, method, impute):
    table = TABLES["mixed"]
    source = write(frame, tmp_path / "t.csv", table, missing=impute is not None)
    done = embed_table(source, method, {}, target="kind", impute=impute)
    check_again(done, source, tmp_path / "m.skops")


@pytest.mark.parametrize(
    ("columns", "categories", "scale", "impute"),
    [
        *itertools.product(
            TABLES, ["one-hot", "ordinal"], [True, False], [None, "median"]
        )
    ],
)
def test_every_encoding(frame, tmp_path, columns, categories, scale, impute):
    source = write(
        frame, tmp_path / "t.csv", TABLES[columns], missing=impute is not None
    )
    options = {"categories": categories, "scale": scale, "impute": impute}
    params = {"dissimilarity": "euclidean"}  # categories alone give few points
    done = embed_table(source, "isomap-kl", params, target="kind", **options)
    check_again(done, source, tmp_path / "m.skops")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".csv.gz"])
def test_every_option_of_the_command(frame, tmp_path, ending):
    source, model = tmp_path / f"t{ending}", tmp_path / "m.skops"
    table = frame.copy()
    table.loc[3, "size"], table.loc[5, "hue"] = None, None
    if ending == ".parquet":
        table.to_parquet(source)
    else:
        table.to_csv(source, index=False)
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    words = ["embed", str(source), f"--out={first}", f"--model={model}", "--quiet"]
    words += ["--target=kind", "--id=name", "--drop=note", "--impute=median"]
    words += ["--neighbors=6", "--components=3", f"--plot={tmp_path / 'p.png'}"]
    done = CliRunner().invoke(
        app, [*words, "--param=kernel_width=auto", "--method=elap"]
    )
    assert done.exit_code == 0, done.output
    words = ["embed", str(source), f"--out={second}", f"--from={model}", "--quiet"]
    done = CliRunner().invoke(app, [*words, "--id=name", "--target=kind"])
    assert done.exit_code == 0, done.output
    pd.testing.assert_frame_equal(pd.read_csv(first), pd.read_csv(second), rtol=1e-9)


def old_files():
    with zipfile.ZipFile(OLD_FILES) as archive:
        return archive.namelist()


@pytest.mark.parametrize("name", old_files())
def test_files_of_format_1_place_samples_as_they_did(name, tmp_path):
    with zipfile.ZipFile(OLD_FILES) as archive:
        path = Path(archive.extract(name, tmp_path))
    model, about = pf.load_model(path), about_model(path)
    assert about["format"] == 1
    queries = about["queries"]
    if isinstance(queries, dict):
        queries = pd.DataFrame(queries).replace({None: np.nan})
    placed = model.transform(
        np.array(queries) if isinstance(queries, list) else queries
    )
    np.testing.assert_allclose(placed, about["placed"], rtol=1e-9, atol=1e-9)
    pf.save_model(model, path)  # and is written as a file of today
    again = pf.load_model(path)
    assert about_model(path)["format"] == 2
    np.testing.assert_array_equal(
        again.transform(np.array(queries) if isinstance(queries, list) else queries),
        placed,
    )


def former_files():
    files = zipfile.ZipFile(FORMER_ENCODERS).namelist()
    old = [name for name in old_files() if name.startswith("embed")]
    return [
        *((FORMER_ENCODERS, name) for name in files),
        *((OLD_FILES, n) for n in old),
    ]


@pytest.mark.parametrize(("files", "name"), former_files())
def test_files_with_the_former_encoder_place_rows_as_they_did(files, name, tmp_path):
    with zipfile.ZipFile(files) as archive:
        path = Path(archive.extract(name, tmp_path))
    about, table = about_model(path), tmp_path / "new.csv"
    queries = about["queries"]
    if isinstance(queries, dict):
        queries = pd.DataFrame(queries).to_csv(index=False)
    table.write_text(queries)
    placed = place_table(str(table), path)
    np.testing.assert_allclose(
        placed.frame[placed.coordinates], about["placed"], rtol=1e-9, atol=1e-9
    )
    assert isinstance(placed.pipeline["columns"], pf.TableEncoder)
    if "table" not in about:
        return
    kept = {key: about[key] for key in about if key not in ("format", "version")}
    pf.save_model(placed.pipeline, path, **kept)  # and is written as one of today
    again = place_table(str(table), path)
    np.testing.assert_array_equal(
        again.frame[again.coordinates], placed.frame[placed.coordinates]
    )
    missing = "2 missing cells were filled with the training table's median or mode"
    assert missing in placed.remarks[-1]
    assert ("mauve" in placed.remarks[-1]) == ("one_hot" in name)


def samples(n, m=30):
    return np.random.default_rng(0).normal(size=(n, m))


@pytest.mark.parametrize(
    "model",
    [
        pf.isomap_kl(),
        pf.elap(),
        pf.pelle(),
        pf.cauchy(n_neighbors=15),
        pf.PatchProjection(),
        pf.PatchPosterior(n_landmarks=50),
    ],
)
def test_a_file_takes_at_most_three_times_the_bytes_of_the_samples(model, tmp_path):
    X, path = samples(600), tmp_path / "m.skops"
    pf.save_model(model.fit(X, X[:, 0] > 0), path)
    schema = 20_000  # names of attributes, whatever the samples
    assert path.stat().st_size < 3 * X.nbytes + schema


def test_models_of_a_sweep_keep_their_search(tmp_path):
    X, path = samples(2000, 3), tmp_path / "m.skops"
    queries = samples(50, 3) + 0.01
    estimator = pf.elap(neighbors_algorithm="approximate", kernel_width="auto")
    for model in pf.fit_sweep(estimator, X, n_neighbors=[5, 30]):
        pf.save_model(model, path)
        again = pf.load_model(path)
        assert again.n_probes_ == model.n_probes_
        np.testing.assert_array_equal(
            again.transform(queries), model.transform(queries)
        )


def test_a_search_of_the_users_own_is_fitted_again(tmp_path):
    X, path = samples(100, 3), tmp_path / "m.skops"
    search = KNeighborsTransformer(n_neighbors=20)
    model = pf.isomap_kl(n_neighbors=10, neighbors_algorithm=search).fit(X)
    pf.save_model(model, path)
    name = "sklearn.neighbors._graph.KNeighborsTransformer"
    with pytest.raises(ModelFileError, match=f"does not know: {name}"):
        pf.load_model(path)
    again = pf.load_model(path, trusted=[name])
    np.testing.assert_array_equal(
        again.transform(X[:5] + 1), model.transform(X[:5] + 1)
    )


def on_table(**parts):
    """Return transformers of columns, before an estimator."""
    listed = [(name, *part) for name, part in parts.items()]
    return make_pipeline(ColumnTransformer(listed), euclidean())


def euclidean():
    return pf.PatchIsomap(n_neighbors=10, dissimilarity="euclidean")


NUMBERS, WORDS = ["size", "width"], ["hue", "shape"]
GAPS = np.where(np.arange(120).reshape(40, 3) % 17 == 3, np.nan, samples(40, 3))
CODES = np.random.default_rng(0).integers(0, 5, (40, 2))
NO_LEVEL = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
READ_BACK = {
    "columns by name": on_table(
        numbers=(StandardScaler(), NUMBERS),
        one_hot=(OneHotEncoder(sparse_output=False), ["hue"]),
        ordinal=(OrdinalEncoder(), ["shape"]),
    ),
    "columns by place": on_table(few=(StandardScaler(), [1, 3])),
    "columns by a selector": on_table(
        numbers=(StandardScaler(), make_column_selector(dtype_include="number"))
    ),
    "columns as they are": on_table(
        numbers=("passthrough", NUMBERS), words=(OneHotEncoder(), WORDS)
    ),
    "a level for unknown words": on_table(words=(NO_LEVEL, WORDS)),
    "no shift": (
        make_pipeline(StandardScaler(with_mean=False), euclidean()),
        samples(40, 3),
    ),
    "two scales": (
        make_pipeline(StandardScaler(), StandardScaler(), euclidean()),
        samples(40, 3),
    ),
    "a filling": (make_pipeline(SimpleImputer(), euclidean()), GAPS),
    "a constant": (
        make_pipeline(SimpleImputer(strategy="constant", fill_value=3), euclidean()),
        GAPS,
    ),
    "single precision": (
        make_pipeline(SimpleImputer(), StandardScaler(), euclidean()),
        GAPS.astype(np.float32),
    ),
    "truth values": (
        make_pipeline(OneHotEncoder(sparse_output=False, dtype=bool), euclidean()),
        CODES > 2,
    ),
    "small integers": (
        make_pipeline(OrdinalEncoder(dtype=np.int8), euclidean()),
        CODES,
    ),
    "a mixed table": make_pipeline(pf.TableEncoder(), pf.CauchyMap()),
    "a mixed table, gaps marked": make_pipeline(
        pf.TableEncoder(add_indicator=True, ordered={"hue": ["red", "green", "blue"]}),
        euclidean(),
    ),
    "a mixed table by Gower's distance": make_pipeline(
        pf.TableEncoder(distance="gower"), pf.CauchyMap(dissimilarity="precomputed")
    ),
    "a map that encodes": pf.CauchyMap(),
    "a graph that encodes": euclidean(),
    "a projection that encodes": pf.PatchProjection(dissimilarity="euclidean"),
    "an encoder": pf.TableEncoder(),
    "a matrix": (
        make_pipeline(OneHotEncoder(), StandardScaler(with_mean=False)),
        CODES,
    ),
}
REFUSED = {
    "remainder must be 'drop'": (
        make_pipeline(
            ColumnTransformer([("a", StandardScaler(), [0])], remainder="passthrough"),
            euclidean(),
        ),
        samples(40, 3),
    ),
    "list of names or places": on_table(numbers=(StandardScaler(), slice(3, 4))),
    "drop must be None": on_table(words=(OneHotEncoder(drop="first"), WORDS)),
    "min_frequency must be None": on_table(
        words=(OneHotEncoder(min_frequency=15), WORDS)
    ),
    "unknown_value must be an integer": on_table(
        words=(clone(NO_LEVEL).set_params(unknown_value=np.nan), WORDS)
    ),
    "add_indicator must be False": (
        make_pipeline(SimpleImputer(add_indicator=True), euclidean()),
        GAPS,
    ),
    "a step must be a name and an estimator": (
        Pipeline([("none", "passthrough"), ("embedding", euclidean())]),
        samples(40, 3),
    ),
    "func must be None": (
        make_pipeline(FunctionTransformer(np.abs), euclidean()),
        samples(40, 3),
    ),
    "no attribute '<lambda>'": (
        pf.PatchIsomap(dissimilarity=lambda a, b: (a.mean - b.mean)[:, 0] ** 2),
        samples(40, 3),
    ),
}


def with_table(case, frame):
    """Return a model and what it is fitted to."""
    if isinstance(case, tuple):
        return case
    encodes = not isinstance(case, Pipeline) or isinstance(case[0], pf.TableEncoder)
    if not encodes:
        return case, frame
    mixed = frame.drop(columns="name")
    mixed.loc[3, "size"], mixed.loc[4, "hue"] = np.nan, None
    return case, mixed


@pytest.mark.parametrize("name", READ_BACK)
def test_what_is_saved_is_read_back_without_trust(frame, tmp_path, name):
    model, X = with_table(READ_BACK[name], frame)
    path = tmp_path / "m.skops"
    pf.save_model(model.fit(X), path)
    again = pf.load_model(path)
    assert abs(again.transform(X) - model.transform(X)).max() == 0
    assert list(again.get_feature_names_out()) == list(model.get_feature_names_out())


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_read_back_is_not_saved(frame, tmp_path, why):
    model, X = with_table(REFUSED[why], frame)
    model.fit(X)
    with pytest.raises(ValueError, match=f"no model file can hold this .*{why}"):
        pf.save_model(model, tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())


def test_other_estimators_load_if_they_are_named(tmp_path):
    X, path = samples(60, 5), tmp_path / "m.skops"
    model = make_pipeline(StandardScaler(), PCA(3), pf.isomap_kl()).fit(X)
    pf.save_model(model, path)
    name = "sklearn.decomposition._pca.PCA"
    with pytest.raises(ModelFileError, match=f"does not know: {name}. If you know"):
        pf.load_model(path)
    again = pf.load_model(path, trusted=[name])
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_only_fitted_models_are_saved(tmp_path):
    path = tmp_path / "m.skops"
    with pytest.raises(ValueError, match="this PatchIsomap is not fitted"):
        pf.save_model(pf.isomap_kl(), path)
    model = pf.isomap_kl().fit(samples(50, 3))
    model.remark = "mine"
    with pytest.raises(ValueError, match="no model file holds: remark"):
        pf.save_model(model, path)
    assert not path.exists()


def test_names_of_features_are_kept(frame, tmp_path):
    path, X = tmp_path / "m.skops", frame[["size", "width"]]
    pf.save_model(pf.isomap_kl().fit(X), path)
    assert pf.load_model(path).feature_names_in_.tolist() == ["size", "width"]


def test_columns_are_no_parts_of_a_file_each(tmp_path):
    path, X = tmp_path / "m.skops", pd.DataFrame(samples(9, 2000)).add_prefix("ä ")
    columns = choose_columns(X)
    model = make_pipeline(make_encoder(columns), euclidean()).fit(columns.features)
    pf.save_model(model, path)
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("schema.json").file_size < 100 * X.shape[1]
    again = pf.load_model(path)
    assert again[0].feature_names_in_.tolist() == X.columns.tolist()
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("coordinates", None),
        ("coordinates", "ab"),
        ("coordinates", ["a", "a"]),
        ("coordinates", ["a"]),
        ("coordinates", [1, 2]),
        ("coordinates", ["name", "kind"]),
        ("method", "\x1b[2J"),
        ("title", None),
        ("method", 7),
    ],
)
def test_a_note_that_does_not_fit_its_pipeline_is_refused(frame, tmp_path, key, value):
    source = write(frame, tmp_path / "t.csv", TABLES["numbers"])
    done = embed_table(source, "isomap-kl", {})
    path = tmp_path / "m.skops"
    pf.save_model(done.pipeline, path, **(done.about | {key: value}))
    words = ["embed", source, f"--from={path}", f"--out={tmp_path / 'e.csv'}"]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 2
    assert "but is none" in ended.output


def test_an_encoder_of_durations_is_none_of_embed(frame, tmp_path):
    source = write(frame, tmp_path / "t.csv", TABLES["numbers"])
    done = embed_table(source, "isomap-kl", {})
    days = pd.to_timedelta(frame["size"], "D")
    columns = frame[["size", "width", "kind"]].assign(size=days)
    encoder = pf.TableEncoder().fit(columns)
    pipeline = Pipeline([("columns", encoder), done.pipeline.steps[1]])
    pf.save_model(pipeline, tmp_path / "m.skops", **done.about)
    with pytest.raises(ModelFileError, match="but is none"):
        place_table(source, tmp_path / "m.skops")


@pytest.mark.parametrize("kind", [float, int, np.float32])
@pytest.mark.parametrize("encoder", [OneHotEncoder, OrdinalEncoder])
def test_encoders_of_numbers_are_read_back(encoder, kind, tmp_path):
    X = np.random.default_rng(0).integers(0, 5, (60, 2)).astype(kind)
    model = make_pipeline(encoder(), StandardScaler(with_mean=False)).fit(X)
    pf.save_model(model, tmp_path / "m.skops")
    placed = pf.load_model(tmp_path / "m.skops").transform(X)
    difference = placed - model.transform(X)
    assert abs(difference).max() == 0
