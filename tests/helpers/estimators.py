"""The estimators that tests run over: one list of all, and the parts of it in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import patchfold as pf

GRAPH_EMBEDDINGS = [
    pf.PatchIsomap,
    pf.PatchEigenmaps,
    pf.PatchLLE,
    pf.CauchyEmbedding,
]
"""Classes that embed a graph of dissimilarities, which may be precomputed."""

PATCH_EMBEDDINGS = [*GRAPH_EMBEDDINGS, pf.PatchProjection]
"""Classes with one graph of patches: by number or by radius, with any label rule."""

ESTIMATORS: dict[str, Callable[..., Any]] = {
    "PatchIsomap": pf.PatchIsomap,
    "PatchEigenmaps": pf.PatchEigenmaps,
    "klap": pf.klap,
    "PatchLLE": pf.PatchLLE,
    "CauchyEmbedding": pf.CauchyEmbedding,
    "PatchProjection": pf.PatchProjection,
    "PatchPosterior": pf.PatchPosterior,
    "CauchyMap": pf.CauchyMap,
}
"""Every class by its name, and PatchEigenmaps with labels; the columns of
docs/bad_input.md."""

SUPERVISED = ("klap", "PatchPosterior", "CauchyMap")
"""Those of `ESTIMATORS` that read `y`; the others ignore it."""

RECIPES = [pf.isomap_kl, pf.elap, pf.pelle, pf.klap, pf.cauchy]

over_graph_embeddings = pytest.mark.parametrize("estimator", GRAPH_EMBEDDINGS)
over_patch_embeddings = pytest.mark.parametrize("estimator", PATCH_EMBEDDINGS)
