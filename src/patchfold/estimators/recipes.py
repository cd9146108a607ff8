"""The five papers as configured estimators: each one call, no computation.

Every recipe returns an estimator set as its paper says and takes any parameter of that
estimator as an override. Patches get the constant of the papers' scripts, a ridge of
1e-3, but all of them alike; the scripts add it only where a covariance looks singular.
"""

from __future__ import annotations

from typing import Any

from . import CauchyEmbedding, PatchEigenmaps, PatchIsomap, PatchLLE

PAPER_PATCHES = {"shrinkage": 0.0, "ridge": 1e-3}


def isomap_kl(**params: Any) -> PatchIsomap:
    """Return ISOMAP-KL: shortest paths over symmetrised KL divergences, then MDS.

    The paper's tables were made with `include_center=False`, though its equations
    include the centre.

    Parameters
    ----------
    **params
        Any parameter of `PatchIsomap`.

    Returns
    -------
    PatchIsomap

    Examples
    --------
    >>> import patchfold as pf
    >>> pf.isomap_kl(n_neighbors=20)
    PatchIsomap(n_neighbors=20, ridge=0.001, shrinkage=0.0)
    """
    return PatchIsomap(**{"dissimilarity": "kl", **PAPER_PATCHES, **params})


def elap(**params: Any) -> PatchEigenmaps:
    """Return ELAP: exp(-d²/t) on KL divergences d, t = 1, unnormalised Laplacian.

    Divergences have no unit, and t = 1 makes most weights vanish on many data sets (a
    warning then says so). Set `kernel_width="auto"` then.

    Parameters
    ----------
    **params
        Any parameter of `PatchEigenmaps`.

    Returns
    -------
    PatchEigenmaps

    Examples
    --------
    >>> import patchfold as pf
    >>> pf.elap(n_neighbors=10).laplacian
    'unnormalized'
    """
    paper = {"dissimilarity": "kl", "kernel_width": 1.0, "laplacian": "unnormalized"}
    return PatchEigenmaps(**{**paper, **PAPER_PATCHES, **params})


def pelle(**params: Any) -> PatchLLE:
    """Return PELLE: reconstruction weights from KL divergences, α = 0.001.

    Parameters
    ----------
    **params
        Any parameter of `PatchLLE`.

    Returns
    -------
    PatchLLE

    Examples
    --------
    >>> import patchfold as pf
    >>> pf.pelle().reg
    0.001
    """
    return PatchLLE(**{"dissimilarity": "kl", "reg": 1e-3, **PAPER_PATCHES, **params})


def klap(**params: Any) -> PatchEigenmaps:
    """Return KLAP: curvature of edges under labels, K = .75n, t = 1, random walk.

    Supervised: `fit` needs `y`. New samples are placed without labels.

    Parameters
    ----------
    **params
        Any parameter of `PatchEigenmaps`.

    Returns
    -------
    PatchEigenmaps

    Examples
    --------
    >>> import patchfold as pf
    >>> pf.klap().label_rule
    'klap'
    """
    paper = {
        "n_neighbors": 0.75,
        "dissimilarity": "curvature",
        "label_rule": "klap",
        "kernel_width": 1.0,
        "laplacian": "random_walk",
    }
    return PatchEigenmaps(**{**paper, **params})


def cauchy(**params: Any) -> CauchyEmbedding:
    """Return Cauchy graph embedding on all pairs, as in its paper.

    Time and memory grow with the square of the samples; `CauchyEmbedding()` works on a
    neighbour graph instead, which is linear and usually better.

    Parameters
    ----------
    **params
        Any parameter of `CauchyEmbedding`.

    Returns
    -------
    CauchyEmbedding

    Examples
    --------
    >>> import patchfold as pf
    >>> pf.cauchy(decay="gaussian")
    CauchyEmbedding(decay='gaussian', n_neighbors=None)
    """
    return CauchyEmbedding(**{"n_neighbors": None, **params})
