"""Data frames of pandas and polars: names are kept, and frames come out if asked."""

import warnings

import numpy as np
import pandas as pd
import pytest
from helpers.bad_input import X, y
from helpers.estimators import ESTIMATORS

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
