"""All of scikit-learn's checks, on every estimator and every recipe.

Expected failures: none. The checks embed tiny, duplicated or separated samples on
purpose, so our warnings about such data are not errors here.
"""

import pytest
from helpers.estimators import PATCH_EMBEDDINGS, RECIPES
from sklearn.utils.estimator_checks import parametrize_with_checks

import patchfold as pf

VARIANTS = [
    pf.PatchIsomap(dissimilarity="euclidean"),
    pf.PatchEigenmaps(dissimilarity="curvature"),
    pf.PatchLLE(dissimilarity="euclidean"),
    pf.PatchEigenmaps(n_neighbors=None, radius=50.0, adaptive_patches=True),
    pf.TableEncoder(),
    pf.TableEncoder(add_indicator=True),
]


@pytest.mark.filterwarnings("ignore::patchfold.exceptions.PatchfoldWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        *(make() for make in [*PATCH_EMBEDDINGS, pf.CauchyMap]),
        *VARIANTS,
        *(make() for make in RECIPES),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
