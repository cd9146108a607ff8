"""Same input, same bits; the order of rows and the number of threads do not matter."""

import numpy as np
import pytest

import patchfold as pf

MODELS = {
    "isomap_kl": pf.isomap_kl,
    "elap": lambda **p: pf.elap(kernel_width="auto", **p),
    "pelle": pf.pelle,
    "klap": pf.klap,
    "cauchy": pf.cauchy,
    "cauchy on a graph": pf.CauchyEmbedding,
    "cauchy map": pf.CauchyMap,
    "arpack": lambda **p: pf.PatchEigenmaps(eigen_solver="arpack", **p),
    "low rank": lambda **p: pf.PatchIsomap(n_neighbors=8, **p),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::patchfold.exceptions.DisconnectedGraphWarning")
def test_any_number_of_threads_gives_the_same_bits(name, wine, cut_blocks):
    cut_blocks(2**15)  # many blocks
    X, y = wine
    alone = MODELS[name](n_jobs=1).fit(X[:150], y[:150])
    for n_jobs in (None, 2, 5):
        model = MODELS[name](n_jobs=n_jobs).fit(X[:150], y[:150])
        np.testing.assert_array_equal(model.embedding_, alone.embedding_)
        np.testing.assert_array_equal(
            model.transform(X[150:]), alone.transform(X[150:])
        )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::patchfold.exceptions.DisconnectedGraphWarning")
def test_permuting_the_rows_permutes_the_embedding(name, wine):
    X, y = wine
    order = np.random.default_rng(0).permutation(len(X))
    straight = MODELS[name]().fit_transform(X, y)[order]
    permuted = MODELS[name]().fit_transform(X[order], y[order])
    signs = np.sign((straight * permuted).sum(axis=0))
    np.testing.assert_allclose(permuted * signs, straight, rtol=1e-5, atol=1e-6)


def test_an_embedding_does_not_depend_on_the_names_of_classes(wine):
    X, y = wine
    named = np.array(["zinfandel", "barolo", "merlot"])[y]
    by_number = pf.klap().fit_transform(X, y)
    np.testing.assert_array_equal(pf.klap().fit_transform(X, named), by_number)


def test_single_precision_is_computed_with_in_double(wine):
    X, _ = wine
    single = X.astype(np.float32)
    model = pf.PatchIsomap(n_neighbors=8).fit(single[:150])
    double = pf.PatchIsomap(n_neighbors=8).fit(single[:150].astype(float))
    assert model.embedding_.dtype == np.float32
    np.testing.assert_array_equal(
        model.embedding_, double.embedding_.astype(np.float32)
    )
    placed = double.transform(single[150:].astype(float))
    np.testing.assert_array_equal(
        model.transform(single[150:]), placed.astype(np.float32)
    )


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.DisconnectedGraphWarning")
@pytest.mark.filterwarnings("ignore::patchfold.exceptions.VanishingWeightsWarning")
def test_eigenvalues_that_are_all_zero_give_the_same_bits():
    """SciPy's eigensolver runs out of directions here, and draws others."""
    X = np.random.default_rng(1).normal(size=(1500, 1))
    model = pf.PatchEigenmaps(dissimilarity="euclidean", n_neighbors=12)
    first, again = model.fit_transform(X), model.fit_transform(X)
    np.testing.assert_array_equal(first, again)
