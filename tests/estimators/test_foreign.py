"""Parameters of other libraries: an error names ours, and a page lists them."""

import inspect
from pathlib import Path

import pytest
from sklearn.base import clone
from sklearn.manifold import Isomap, LocallyLinearEmbedding, SpectralEmbedding

import patchfold as pf
from patchfold.estimators.foreign import FOREIGN

PAGE = Path(__file__).parents[2] / "docs" / "coming_from.md"
THEIRS = {
    "PatchIsomap": Isomap,
    "PatchLLE": LocallyLinearEmbedding,
    "PatchEigenmaps": SpectralEmbedding,
}


@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner in FOREIGN for name in FOREIGN[owner]]
)
def test_a_name_of_theirs_says_what_to_do(owner, name):
    advice = FOREIGN[owner][name]
    with pytest.raises(TypeError) as caught:
        getattr(pf, owner)(**{name: 1})
    assert str(caught.value) == f"{owner} has no parameter {name!r}: {advice}"


def test_all_names_of_theirs_are_in_one_message():
    known = FOREIGN["CauchyMap"]
    with pytest.raises(TypeError) as caught:
        pf.CauchyMap(min_dist=0.1, n_jobs=1, random_state=0)
    assert str(caught.value) == (
        f"CauchyMap has no parameter 'min_dist': {known['min_dist']} "
        f"It has no parameter 'random_state': {known['random_state']}"
    )


@pytest.mark.parametrize("owner", THEIRS)
def test_every_parameter_of_scikit_learn_is_ours_or_explained(owner):
    ours = getattr(pf, owner)().get_params().keys()
    theirs = THEIRS[owner]().get_params().keys()
    assert theirs <= ours | FOREIGN[owner].keys()


def test_every_name_of_theirs_is_on_the_page():
    page = PAGE.read_text("utf-8")
    names = {name for owner in FOREIGN for name in FOREIGN[owner]}
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


@pytest.mark.parametrize(
    ("module", "name"),
    [("umap", "UMAP"), ("openTSNE", "TSNE"), ("sklearn.manifold", "TSNE")],
)
def test_every_parameter_of_other_maps_is_ours_or_explained(module, name):
    theirs = inspect.signature(getattr(pytest.importorskip(module), name)).parameters
    assert (
        theirs.keys()
        <= pf.CauchyMap().get_params().keys() | FOREIGN["CauchyMap"].keys()
    )


def test_the_signature_stays_that_of_the_class():
    model = pf.CauchyMap(7, separation=0.5)
    assert clone(model).get_params() == model.get_params()
    assert "separation" in inspect.signature(pf.CauchyMap).parameters
