"""Class labels: how they are read, and what they do to an edge."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from helpers import reference
from helpers.estimators import over_graph_embeddings
from sklearn.exceptions import DataConversionWarning

import patchfold as pf
from patchfold.graph.labels import apply_label_rule, encode_labels
from patchfold.records import EdgeValues

JOINED = "ignore::patchfold.exceptions.PatchfoldWarning"

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.random.default_rng(1).integers(0, 3, size=40)


def encode(y):
    return encode_labels(y, len(y), "PatchEigenmaps").tolist()


def mixed(*labels):
    """Return labels of several types as they are, which `np.array` would unify."""
    return np.array(labels, dtype=object)


# --- Reading labels -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "codes"),
    [
        ([3, 7, 3, 5], [0, 2, 0, 1]),
        ((3, 7, 3, 5), [0, 2, 0, 1]),
        (np.array([3, -1, 7, -1], dtype=np.int8), [0, -1, 1, -1]),
        (np.array([0, 255, 0], dtype=np.uint8), [0, 1, 0]),
        ([-2, -1, 0], [0, -1, 1]),
        ([2.0, -1.0, 4.0], [0, -1, 1]),
        ([True, False, True], [1, 0, 1]),
        (np.array([True, False]), [1, 0]),
        (["b", "a", "b"], [1, 0, 1]),
        (np.array(["b", "a", "b"]), [1, 0, 1]),
        (np.array([b"b", b"a", b"b"]), [1, 0, 1]),
        (["b", -1, "a"], [1, -1, 0]),
        (("b", -1, "a"), [1, -1, 0]),
        (mixed("b", -1, "a", -1), [1, -1, 0, -1]),
        (mixed("b", -1.0, "a"), [1, -1, 0]),
        (mixed(1, -1.0, 0), [1, -1, 0]),
        (mixed(1, np.int64(-1), 0), [1, -1, 0]),
        (mixed(1, -1, 0), [1, -1, 0]),
        (mixed(10, -1, 9), [1, -1, 0]),
        (mixed(True, -1, False), [1, -1, 0]),
        (pd.Series(["b", "a", "b"]), [1, 0, 1]),
        (pd.Series(["b", "a", "b"], dtype="category"), [1, 0, 1]),
        (pd.Series([3, -1, 7], index=[7, 8, 9]), [0, -1, 1]),
        (pd.Series([3, -1, 7], dtype="Int64"), [0, -1, 1]),
        ([5, 5, 5], [0, 0, 0]),
        (mixed(("b", 1), -1, ("a", 1)), [1, -1, 0]),
        (mixed(("b",), "b", ("a", 1)), [1, 2, 0]),
    ],
)
def test_labels_become_codes_and_minus_one_stays(y, codes):
    assert encode(y) == codes


@pytest.mark.parametrize(
    "y", [[-1, -1, -1], [-1.0, -1.0, -1.0], mixed(-1, -1, -1), np.full(3, -1)]
)
def test_all_samples_may_be_unlabelled(y):
    assert encode(y) == [-1, -1, -1]


def test_labels_are_required_by_a_label_rule():
    with pytest.raises(
        ValueError,
        match=re.escape(
            "This PatchEigenmaps estimator requires y to be passed, but the target y "
            "is None: its label_rule needs class labels. Pass y (-1 marks an "
            "unlabelled sample) or set label_rule=None."
        ),
    ):
        encode_labels(None, 3, "PatchEigenmaps")


@pytest.mark.parametrize("y", [[0, 1], [0, 1, 0, 1], []])
def test_one_label_per_sample_is_needed(y):
    with pytest.raises(
        ValueError,
        match=rf"^y has {len(y)} labels, but X has 3 samples; pass one label per "
        r"sample\.$",
    ):
        encode_labels(np.array(y, dtype=int), 3, "PatchEigenmaps")


@pytest.mark.parametrize(
    ("y", "count"),
    [
        (mixed("a", None, "b"), 1),
        (mixed("a", None, np.nan), 2),
        (mixed(None, -1, None), 2),
        (["a", None, "b"], 1),
        ([1, None, 2], 1),
        ([0.0, np.nan, 1.0], 1),
        (pd.Series(["a", None, "b"]), 1),
        (pd.Series(["a", None, "b"], dtype="string"), 1),
        (pd.Series(["a", None, "b"], dtype="category"), 1),
        (pd.Series([1, None, 2], dtype="Int64"), 1),
    ],
)
def test_a_missing_label_is_not_an_unlabelled_sample(y, count):
    with pytest.raises(
        ValueError,
        match=rf"^y has {count} missing labels \(None or NaN\); mark unlabelled "
        r"samples with -1\.$",
    ):
        encode(y)


@pytest.mark.parametrize("y", [[0.5, 1.7, 2.2], [0.5, -1.0, 1.7]])
def test_numbers_that_are_no_classes_are_refused(y):
    with pytest.raises(ValueError, match=r"^Unknown label .* 0\.5, .*numpy\.digitize"):
        encode(y)


def test_a_column_of_labels_is_taken_with_a_warning():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        codes = encode_labels(np.array([[4], [-1], [2]]), 3, "PatchEigenmaps")
    assert codes.tolist() == [1, -1, 0]


def test_two_columns_of_labels_are_refused():
    with pytest.raises(
        ValueError, match="y should be a 1d array, got an array of shape"
    ):
        encode_labels(np.zeros((3, 2), dtype=int), 3, "PatchEigenmaps")


def test_the_labels_of_the_user_are_not_changed():
    y = np.array([3, -1, 7])
    encode(y)
    assert y.tolist() == [3, -1, 7]


# --- The rule -------------------------------------------------------------------------


def test_the_rule_takes_within_between_or_neither():
    values = EdgeValues(
        np.array([0.5, 0.6, 0.7, 0.8, 0.9]), np.full(5, 0.1), np.full(5, 2.0)
    )
    source, target = np.array([0, 0, -1, 1, -1]), np.array([0, 1, 0, -1, -1])
    lengths = apply_label_rule("klap", values, source, target)
    assert lengths.tolist() == [0.1, 2.0, 0.7, 0.8, 0.9]
    assert apply_label_rule(None, values).tolist() == [0.5, 0.6, 0.7, 0.8, 0.9]


def gap(left, right):
    return np.abs(left.mean - right.mean).sum(axis=1)


@pytest.mark.parametrize("dissimilarity", ["euclidean", "kl", gap, partial(gap)])
@over_graph_embeddings
def test_a_label_rule_without_curvature_is_refused(estimator, dissimilarity):
    model = estimator(n_neighbors=8, dissimilarity=dissimilarity, label_rule="klap")
    with pytest.raises(
        ValueError,
        match=r"^label_rule='klap' is defined on curvatures; set "
        r"dissimilarity='curvature', or label_rule=None\.$",
    ):
        model.fit(X, Y)


@over_graph_embeddings
def test_an_estimator_with_a_label_rule_needs_labels(estimator):
    model = estimator(n_neighbors=8, dissimilarity="curvature", label_rule="klap")
    with pytest.raises(
        ValueError,
        match=rf"^This {estimator.__name__} estimator requires y to be passed, but the "
        "target y is None",
    ):
        model.fit(X)


@over_graph_embeddings
def test_labels_are_not_looked_at_without_a_rule(estimator):
    model = estimator(n_neighbors=8, dissimilarity="curvature")
    plain = model.fit(X).embedding_
    for y in (Y, ["anything"]):
        np.testing.assert_array_equal(model.fit(X, y).embedding_, plain)


@pytest.mark.parametrize("rule", ["klap", "entropic", "within"])
@over_graph_embeddings
def test_no_labels_at_all_are_the_rule_without_labels(estimator, rule):
    curved = {"n_neighbors": 8, "dissimilarity": "curvature"}
    plain = estimator(**curved).fit(X)
    blank = estimator(**curved, label_rule=rule).fit(X, np.full(40, -1))
    np.testing.assert_array_equal(blank.graph_.data, plain.graph_.data)
    np.testing.assert_array_equal(blank.graph_.indices, plain.graph_.indices)
    np.testing.assert_array_equal(blank.embedding_, plain.embedding_)


@pytest.mark.parametrize("k", [6, 15])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
def test_partly_labelled_edges_follow_the_equations_of_the_paper(k, share):
    y = np.where(np.random.default_rng(2).random(40) < share, -1, Y)
    model = pf.PatchEigenmaps(
        n_neighbors=k, dissimilarity="curvature", label_rule="klap"
    ).fit(X, y)
    free = pf.PatchEigenmaps(n_neighbors=k, dissimilarity="curvature").fit(X).graph_
    expected = reference.curvature_lengths(X, k, y)
    assert model.graph_.nnz == 2 * len(expected)
    seen = set()
    for (i, j), length in expected.items():
        found = model.graph_[i, j]
        np.testing.assert_allclose(found, length, rtol=1e-8, atol=1e-12)
        if -1 in (y[i], y[j]):
            seen.add("unlabelled")
            assert found == free[i, j]
        else:
            seen.add("within" if y[i] == y[j] else "between")
            assert found < free[i, j] if y[i] == y[j] else found > free[i, j]
    assert seen == {"within", "between"} | ({"unlabelled"} if share else set())


def test_the_names_of_classes_do_not_matter():
    names = {
        "letters": np.array(["x", "a", "m"])[Y],
        "numbers": np.array([7, 100, -5])[Y],
        "objects": np.array(["x", 3, False], dtype=object)[Y],
    }
    expected = pf.klap(n_neighbors=8).fit(X, Y)
    for y in names.values():
        model = pf.klap(n_neighbors=8).fit(X, y)
        np.testing.assert_array_equal(model.embedding_, expected.embedding_)


def test_labels_change_the_graph():
    plain = pf.klap(n_neighbors=8).fit(X, Y).graph_
    other = pf.klap(n_neighbors=8).fit(X, np.roll(Y, 1)).graph_
    assert plain.nnz == other.nnz
    assert (plain != other).nnz > 0


# --- Supervised ELAP ------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.4])
@over_graph_embeddings
def test_entropic_lengths_follow_the_proposal_of_the_paper(estimator, share):
    y = np.where(np.random.default_rng(2).random(40) < share, -1, Y)
    model = estimator(n_neighbors=6, dissimilarity="kl", label_rule="entropic")
    graph = model.fit(X, y).graph_
    kl = reference.kl_lengths(X, 6, 0.1, 1e-6)
    expected = reference.supervised_elap_lengths(X, kl, y)
    assert graph.nnz == 2 * len(expected)
    for (i, j), length in expected.items():
        np.testing.assert_allclose(graph[i, j], length, rtol=1e-8, atol=1e-12)


def test_plain_lle_follows_the_lengths_that_labels_gave_it():
    model = pf.PatchLLE(
        n_neighbors=6, dissimilarity="euclidean", label_rule="entropic", reg=0.1
    ).fit(X, Y)
    lengths = reference.supervised_elap_lengths(X, reference.euclidean_lengths(X, 6), Y)
    for i, near in enumerate(reference.neighbors(X, 6)):
        own = [lengths[min(i, j), max(i, j)] for j in near.tolist()]
        np.testing.assert_allclose(
            model.weights_[[i], near], reference.entropic_weights(own, 0.1), atol=1e-9
        )


# --- Supervised PELLE -----------------------------------------------------------------


@pytest.mark.filterwarnings(JOINED)
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_within_keeps_no_neighbour_of_another_class(share):
    y = np.where(np.random.default_rng(2).random(40) < share, -1, Y)
    kept = reference.supervised_pelle_neighbors(X, 4, y)
    expected = {(min(i, j), max(i, j)) for i in range(40) for j in kept[i]}
    model = pf.PatchIsomap(n_neighbors=4, label_rule="within").fit(X, y)
    ends = zip(*model.graph_.nonzero(), strict=True)
    found = {(int(i), int(j)) for i, j in ends if i < j}
    assert expected <= found
    pieces = model.n_connected_components_
    assert len(found - expected) == pieces * (pieces - 1) / 2
    assert pieces >= (3 if share == 0 else 1)


@pytest.mark.filterwarnings(JOINED)
def test_within_weighs_only_neighbours_of_the_own_class():
    y = np.repeat([0, 1], 20)
    Z = X + 1.2 * y[:, None]
    model = pf.PatchLLE(n_neighbors=6, label_rule="within", reg=1e-3).fit(Z, y)
    kept = reference.supervised_pelle_neighbors(Z, 6, y)
    assert model.n_connected_components_ == 2
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1.0)
    across = [
        i for i in range(40) if (model.weights_[[i]].indices // 20 != i // 20).any()
    ]
    assert len(across) == 2  # the closest pair joins the classes
    lengths = {(i, j): model.graph_[i, j] for i, near in enumerate(kept) for j in near}
    for i in set(range(40)) - set(across):
        own = [lengths[i, j] for j in kept[i]]
        np.testing.assert_allclose(
            model.weights_[[i], kept[i]], reference.entropic_weights(own), atol=1e-9
        )


def test_within_says_that_classes_were_joined():
    with pytest.warns(
        pf.exceptions.DisconnectedGraphWarning,
        match=re.escape(
            "The neighbour graph has 3 connected components (of 15, 13, 12 samples) "
            "with label_rule='within', which removes edges. They were joined by their "
            "closest pairs, and what lies between them is not to be trusted."
        ),
    ):
        pf.PatchIsomap(n_neighbors=20, label_rule="within").fit(X, Y)


@pytest.mark.filterwarnings(JOINED)
@over_graph_embeddings
def test_a_class_of_one_sample_is_not_lost(estimator):
    y = Y.copy()
    y[7] = 99
    model = estimator(n_neighbors=6, label_rule="within").fit(X, y)
    assert np.isfinite(model.embedding_).all()
    assert model.graph_[[7]].nnz > 0


@pytest.mark.filterwarnings(JOINED)
@pytest.mark.parametrize("rule", ["klap", "entropic", "within"])
@over_graph_embeddings
def test_new_samples_are_placed_without_labels(estimator, rule):
    model = estimator(n_neighbors=8, dissimilarity="curvature", label_rule=rule)
    model.fit(X, Y)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    assert np.isfinite(model.transform(X + 0.1)).all()
