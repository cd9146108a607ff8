"""Data frames of pandas and polars: names are kept, and frames come out if asked."""

import warnings

import numpy as np
import pandas as pd
import pytest
from helpers.bad_input import X, y
from helpers.estimators import ESTIMATORS

import patchfold as pf

EUCLIDEAN = pf.PatchIsomap(dissimilarity="euclidean")
NAMES = ["a", "b", "c", "d"]


def make_frame(package, data=X):
    if package == "pandas":
        return pd.DataFrame(data, columns=NAMES)
    reason = "polars is not installed"
    return pytest.importorskip("polars", reason=reason).DataFrame(data, schema=NAMES)


def fit(name, samples, labels, **output):
    model = ESTIMATORS[name](n_neighbors=8)
    if output:
        model.set_output(**output)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model, model.fit_transform(samples, labels)


@pytest.fixture(params=["pandas", "polars"])
def package(request):
    return request.param


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_frame_gives_the_bits_of_its_array_and_keeps_its_names(name, package):
    frame = make_frame(package)
    labels = type(frame["a"])(y)  # a series of the same package
    model, placed = fit(name, frame, labels)
    assert list(model.feature_names_in_) == NAMES
    assert isinstance(placed, np.ndarray)
    other, expected = fit(name, X, y)
    assert placed.tobytes() == expected.tobytes()
    new = X + 0.01
    placed = model.transform(make_frame(package, new))
    assert placed.tobytes() == other.transform(new).tobytes()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_series_is_no_table(name, package):
    series, (model, _) = make_frame(package)["a"], fit(name, X, y)
    with pytest.raises(ValueError, match=r"Expected .*2.?[dD]"):
        model.transform(series)
    with pytest.raises(ValueError, match=r"Expected .*2.?[dD]"):
        model.fit(series, y)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_frame_comes_out_where_one_is_asked_for(name, package):
    model, placed = fit(name, X, y, transform=package)
    kind = type(make_frame(package))
    again = model.transform(X)
    for frame in (placed, again):
        assert isinstance(frame, kind)
        assert list(frame.columns) == list(model.get_feature_names_out())
    np.testing.assert_array_equal(again.to_numpy(), model.transform(X).to_numpy())
    np.testing.assert_array_equal(placed.to_numpy(), model.embedding_)


@pytest.mark.parametrize("change", ["other names", "another order"])
def test_new_samples_under_other_names_are_refused(package, change):
    model, _ = fit("PatchIsomap", make_frame(package), y)
    frame = make_frame(package)
    if change == "another order":
        new = frame[["b", "a", "c", "d"]]
    else:
        new = type(frame)(dict(zip(["z", *NAMES[1:]], X.T, strict=True)))
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(new)


def make_mixed(package, gaps=True):
    frame = make_frame("pandas", X.copy())  # some versions of pandas share memory
    frame["kind"] = np.array(["long", "short", "round"])[np.arange(len(X)) % 3]
    frame["day"] = pd.date_range("2026-01-01", periods=len(X))
    if gaps:
        frame.loc[3, "a"], frame.loc[4, "kind"] = np.nan, None
    if package == "pandas":
        return frame
    if package == "arrow":
        return pytest.importorskip("pyarrow").Table.from_pandas(frame)
    return pytest.importorskip("polars").from_pandas(frame)


@pytest.mark.parametrize("package", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_mixed_columns_are_encoded(name, package):
    frame = make_mixed(package)
    model, placed = fit(name, frame, y)
    numbers = pf.TableEncoder().fit_transform(frame)
    if name == "PatchPosterior":  # it takes gaps itself
        numbers[3, 0], numbers[4, 4:7] = np.nan, np.nan
    other, expected = fit(name, numbers, y)
    assert placed.tobytes() == expected.tobytes()
    assert model.n_features_in_ == 6
    assert list(model.feature_names_in_) == [*NAMES, "kind", "day"]
    new = make_mixed(package, gaps=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.transform(new)
        wanted = other.transform(model.encoder_.transform(new))
    assert found.tobytes() == wanted.tobytes()
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(make_mixed("pandas").rename(columns={"kind": "sort"}))


def test_a_fit_to_numbers_forgets_the_encoder():
    model, _ = fit("CauchyMap", make_mixed("pandas"), None)
    assert hasattr(model, "encoder_")
    model.fit(make_frame("pandas"))
    assert not hasattr(model, "encoder_")
    assert model.n_features_in_ == 4


def test_a_map_starts_from_a_map_of_the_same_columns():
    frame = make_mixed("pandas")
    first = pf.CauchyMap().fit(frame.head(40))
    grown = pf.CauchyMap(init=first).fit(frame)
    assert grown.n_iter_ > 0
    assert grown.embedding_.shape == (len(X), 2)


def test_sizes_of_neighbourhoods_are_chosen_on_mixed_columns():
    frame = make_mixed("pandas")
    models = list(pf.fit_sweep(EUCLIDEAN, frame, n_neighbors=[8, 12]))
    assert [model.n_neighbors_ for model in models] == [8, 12]
    assert models[0].transform(frame).shape == (len(X), 2)
    found = pf.select_n_neighbors(EUCLIDEAN, frame, candidates=[8, 12])
    assert found.scores.shape == (2, 1)


def test_a_projection_leads_back_to_a_frame():
    frame = make_mixed("pandas")
    model = pf.PatchProjection(dissimilarity="euclidean").fit(frame)
    back = model.inverse_transform(model.transform(frame))
    assert list(back) == list(frame)
    assert set(back["kind"]) <= {"long", "short", "round"}


@pytest.mark.parametrize("cells", [[1, "a"], [b"a", b"b"]], ids=["mixture", "bytes"])
def test_a_column_that_cannot_be_encoded_is_named(cells):
    frame = pd.DataFrame({"size": [1.0, 2.0] * 5, "odd": cells * 5})
    with pytest.raises(TypeError, match=r"'odd' holds .*convert it, or leave it out"):
        pf.PatchIsomap(n_neighbors=3).fit(frame)
