"""What holds for any samples: random shapes, scales, duplicates and labels."""

import pickle
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from helpers.estimators import ESTIMATORS, SUPERVISED
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from scipy.stats import ortho_group

import patchfold as pf
from patchfold.exceptions import VanishingWeightsWarning

over_estimators = pytest.mark.parametrize("name", ESTIMATORS)
few = settings(max_examples=12)

UNITED = tuple(
    name for name in ESTIMATORS if name not in ("PatchPosterior", "CauchyMap")
)
"""Those that take all features in one unit, and know no axes: with labels, which are
passed here, CauchyMap asks PatchPosterior."""


@dataclass(frozen=True)
class Set:
    """Samples with labels, and new samples of the same kind."""

    X: np.ndarray
    y: np.ndarray
    new: np.ndarray


@st.composite
def sets(draw, *, duplicates=False):
    """Draw clouds around two to four centres, of any scale and offset."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m = draw(st.integers(16, 48)), draw(st.integers(2, 6))
    centres = rng.normal(size=(draw(st.integers(2, 4)), m)) * draw(st.floats(0, 5))
    unit = 10.0 ** draw(st.integers(-6, 6))
    y = np.arange(n + 10) % len(centres)
    X = centres[y] + rng.normal(size=(n + 10, m))
    X = unit * (X + draw(st.floats(-100, 100)))
    if duplicates:
        count = draw(st.integers(1, n - 1))
        X[rng.integers(0, n, count)] = X[rng.integers(0, n, count)]
    return Set(X[:n], y[:n], X[n:])


def fit(name, X, y, **settings):
    """Fit quietly: small random sets often fall apart, and warnings say so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ESTIMATORS[name](n_neighbors=6, **settings).fit(X, y)


def fit_whole(name, X, y, **settings):
    """Fit a set that the weights of its edges hold together.

    In pieces whose eigenvalues are all 0 to rounding, any axes are right.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ESTIMATORS[name](n_neighbors=6, **settings).fit(X, y)
    assume(not any(w.category is VanishingWeightsWarning for w in caught))
    return model


def assert_same_shape(one, other, *, tolerance=1e-5):
    """Compare two embeddings up to signs and rotations: by their distances."""
    one, other = pdist(one), pdist(other)
    np.testing.assert_allclose(one, other, atol=tolerance * one.max())


@over_estimators
@few
@given(drawn=sets(duplicates=True))
def test_coordinates_are_numbers(name, drawn):
    model = fit(name, drawn.X, drawn.y)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.transform(drawn.new)).all()


@pytest.mark.parametrize("name", UNITED)
@few
@given(drawn=sets(), seed=st.integers(0, 100))
def test_moving_and_turning_the_samples_changes_nothing(name, drawn, seed):
    m = drawn.X.shape[1]
    turn = ortho_group.rvs(m, random_state=seed)
    away = drawn.X.std() * np.arange(m)
    plain = fit_whole(name, drawn.X, drawn.y)
    moved = fit(name, drawn.X @ turn + away, drawn.y)
    assert_same_shape(plain.embedding_, moved.embedding_)


@few
@given(drawn=sets(), power=st.lists(st.integers(-20, 20), min_size=6, max_size=6))
def test_units_of_columns_do_not_matter_to_patch_posterior(drawn, power):
    unit = 2.0 ** np.array(power[: drawn.X.shape[1]])
    one = fit("PatchPosterior", drawn.X, drawn.y)
    other = fit("PatchPosterior", drawn.X * unit, drawn.y)
    np.testing.assert_allclose(one.embedding_, other.embedding_, atol=1e-7)


@over_estimators
@few
@given(drawn=sets(), seed=st.integers(0, 100))
def test_the_order_of_the_samples_does_not_matter(name, drawn, seed):
    order = np.random.default_rng(seed).permutation(len(drawn.y))
    # Ranks are whole numbers: neighbours tie among them, and the lower index is taken.
    settings = {"views": ("zscore",)} if name == "PatchPosterior" else {}
    plain = fit_whole(name, drawn.X, drawn.y, **settings)
    shuffled = fit(name, drawn.X[order], drawn.y[order], **settings)
    assert_same_shape(plain.embedding_[order], shuffled.embedding_)


@pytest.mark.parametrize("name", SUPERVISED)
@few
@given(drawn=sets(), names=st.permutations(["left", "right", "above", "below"]))
def test_the_names_of_classes_do_not_matter(name, drawn, names):
    plain = fit_whole(name, drawn.X, drawn.y)
    renamed = fit(name, drawn.X, np.array(names)[drawn.y])
    assert_same_shape(plain.embedding_, renamed.embedding_)


@over_estimators
@few
@given(one=sets(duplicates=True), other=sets(duplicates=True))
def test_a_second_fit_forgets_the_first(name, one, other):
    model = fit(name, one.X, one.y)
    fresh = fit(name, other.X, other.y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(other.X, other.y)
    np.testing.assert_array_equal(model.embedding_, fresh.embedding_)
    np.testing.assert_array_equal(
        model.transform(other.new), fresh.transform(other.new)
    )


@over_estimators
@few
@given(drawn=sets(duplicates=True), cut=st.integers(1, 9))
def test_batches_are_placed_as_in_one_piece(name, drawn, cut):
    model = fit(name, drawn.X, drawn.y)
    whole = model.transform(drawn.new)
    parts = [model.transform(drawn.new[:cut]), model.transform(drawn.new[cut:])]
    tolerance = 1e-9 * np.abs(model.embedding_).max()
    np.testing.assert_allclose(np.concatenate(parts), whole, atol=tolerance)


@over_estimators
@settings(max_examples=4)
@given(drawn=sets(duplicates=True))
def test_saved_models_place_samples_with_the_same_bits(name, drawn, tmp_path_factory):
    model = fit(name, drawn.X, drawn.y)
    path = tmp_path_factory.mktemp("models") / "m.skops"
    pf.save_model(model, path)
    expected = model.transform(drawn.new)
    for copy in (pickle.loads(pickle.dumps(model)), pf.load_model(path)):
        np.testing.assert_array_equal(copy.transform(drawn.new), expected)
