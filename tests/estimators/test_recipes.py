"""A recipe is its estimator with the paper's parameters spelled out."""

import pytest

import patchfold as pf

SPELLED_OUT = {
    pf.isomap_kl: pf.PatchIsomap(dissimilarity="kl", shrinkage=0.0, ridge=1e-3),
    pf.elap: pf.PatchEigenmaps(
        dissimilarity="kl",
        kernel_width=1.0,
        laplacian="unnormalized",
        shrinkage=0.0,
        ridge=1e-3,
    ),
    pf.pelle: pf.PatchLLE(dissimilarity="kl", reg=1e-3, shrinkage=0.0, ridge=1e-3),
    pf.klap: pf.PatchEigenmaps(
        n_neighbors=0.75,
        dissimilarity="curvature",
        label_rule="klap",
        kernel_width=1.0,
        laplacian="random_walk",
    ),
    pf.cauchy: pf.CauchyEmbedding(n_neighbors=None),
}


@pytest.mark.parametrize("recipe", SPELLED_OUT)
def test_a_recipe_is_its_estimator(recipe):
    assert type(recipe()) is type(SPELLED_OUT[recipe])
    assert recipe().get_params() == SPELLED_OUT[recipe].get_params()


@pytest.mark.parametrize("recipe", SPELLED_OUT)
def test_any_parameter_can_be_overridden(recipe):
    for name, value in {"n_components": 3, "n_neighbors": 7, "ridge": 0.5}.items():
        assert recipe(**{name: value}).get_params()[name] == value


@pytest.mark.parametrize("recipe", SPELLED_OUT)
def test_a_misspelt_parameter_is_an_error(recipe):
    with pytest.raises(TypeError, match="n_neighbours"):
        recipe(n_neighbours=5)
