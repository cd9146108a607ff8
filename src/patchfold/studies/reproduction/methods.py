"""Which estimator a method's name in a table stands for, under each variant.

"equations" is the library. "released" is what the authors' scripts do, where that
differs; see `released`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from ...estimators import CauchyEmbedding, CauchyMap, PatchPosterior
from ...estimators.methods import BASELINES, FRACTIONS, SIZES
from ...estimators.recipes import cauchy, elap, isomap_kl, klap, pelle
from ...estimators.sweep import fit_sweep
from .released import elap_released, klap_released, pelle_released

VARIANTS = ("equations", "released")

HONEST_WIDTHS = ("auto", 1.0)
"""Kernel widths that the honest protocol searches on the training half."""


@dataclass(frozen=True)
class OwnMethod:
    """A method of the papers, or ours.

    Attributes
    ----------
    estimator : estimator
        The recipe, as its paper's tables need it.
    grid : dict
        Parameters to search in the honest protocol, beside `n_neighbors`.
    sizes : tuple
        Values of `n_neighbors` to search in the honest protocol; empty for a method
        that has nothing to search.
    supervised : bool
        Whether `fit` reads the labels.
    """

    estimator: Any
    sizes: tuple[int | float, ...] = SIZES
    grid: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    supervised: bool = False


OWN = {
    "ELAP": OwnMethod(elap(), grid={"kernel_width": HONEST_WIDTHS}),
    "ELAP-POINTS": OwnMethod(
        elap(dissimilarity="euclidean"), grid={"kernel_width": HONEST_WIDTHS}
    ),
    "PELLE": OwnMethod(pelle()),
    "KLAP": OwnMethod(
        klap(),
        sizes=FRACTIONS,
        grid={"kernel_width": HONEST_WIDTHS},
        supervised=True,
    ),
    # KLAP's rule on lengths instead of curvatures: the length itself within a class,
    # twice as long between classes.
    "KLAP-POINTS": OwnMethod(
        klap(dissimilarity="euclidean", label_rule="entropic"),
        sizes=FRACTIONS,
        grid={"kernel_width": HONEST_WIDTHS},
        supervised=True,
    ),
    "ISOMAP-KL": OwnMethod(isomap_kl(include_center=False)),
    "POSTERIOR": OwnMethod(PatchPosterior(), sizes=(), supervised=True),
    # Its point twin: patches that know how wide they are, and no shape.
    "POSTERIOR-POINTS": OwnMethod(
        PatchPosterior(shrinkage=1.0), sizes=(), supervised=True
    ),
    "POSTERIOR-BLEND": OwnMethod(
        PatchPosterior(label_blend=0.5), sizes=(), supervised=True
    ),
    "CAUCHYMAP": OwnMethod(CauchyMap(label_weight=0), sizes=()),
    # Its picture at the other end of its one knob: tighter clusters.
    "CAUCHYMAP-APART": OwnMethod(CauchyMap(separation=1.0, label_weight=0), sizes=()),
    "CAUCHYMAP-LABELS": OwnMethod(CauchyMap(), sizes=(), supervised=True),
    "CAUCHY": OwnMethod(CauchyEmbedding(), grid={"kernel_width": HONEST_WIDTHS}),
    "GAUSSIAN": OwnMethod(
        CauchyEmbedding(decay="gaussian"), grid={"kernel_width": HONEST_WIDTHS}
    ),
    "EXPONENTIAL": OwnMethod(
        CauchyEmbedding(decay="exponential"), grid={"kernel_width": HONEST_WIDTHS}
    ),
}

RELEASED = ("ELAP", "PELLE", "KLAP")
"""Methods whose script does something else than its equations."""


def with_defaults(method: str) -> Any:
    """Return a method as it is without any choice, unfitted.

    Examples
    --------
    >>> with_defaults("CAUCHYMAP")
    CauchyMap(label_weight=0)
    """
    if method in BASELINES:
        return BASELINES[method].make(2)
    return clone(OWN[method].estimator)


def embeddings(
    method: str,
    variant: str,
    X: np.ndarray,
    y: np.ndarray,
    *,
    n_neighbors: tuple[int | float, ...],
    baseline_neighbors: int | None = None,
    kernel_width: float = 1.0,
) -> Iterator[tuple[int | None, np.ndarray]]:
    """Embed all samples, once for each K the paper searched.

    Parameters
    ----------
    method, variant : str
        A name of `OWN` or `BASELINES`, and one of `VARIANTS`.
    X, y : arrays
        All samples and all labels; only a supervised method reads the labels.
    n_neighbors : tuple
        Sizes to go through.
    baseline_neighbors : int or None
        The one size of the neighbour graphs among the baselines.
    kernel_width : float
        t of KLAP, which its tables give per dataset.

    Yields
    ------
    n_neighbors : int or None
        The size, None for a baseline.
    embedding : array (n, 2)
    """
    if method in BASELINES:
        row = BASELINES[method]
        size = baseline_neighbors if row.tunes_neighbors else None
        model = row.make(2, n_neighbors=size)
        yield None, model.fit_transform(X, y if row.supervised else None)
    elif variant == "released":
        yield from _released(method, X, y, n_neighbors, kernel_width)
    else:
        own = OWN[method]
        model = own.estimator
        if method == "KLAP":
            model = klap(kernel_width=kernel_width)
        labels = y if own.supervised else None
        for fitted in fit_sweep(model, X, labels, n_neighbors=_fitting(X, n_neighbors)):
            yield fitted.n_neighbors_, fitted.embedding_


def _fitting(X: np.ndarray, sizes: tuple[int | float, ...]) -> list[int | float]:
    """Keep the sizes that a set of this many samples allows, or the largest."""
    most = X.shape[0] - 1
    kept = [size for size in sizes if isinstance(size, float) or size <= most]
    return kept or [most]


def _released(
    method: str,
    X: np.ndarray,
    y: np.ndarray,
    n_neighbors: tuple[int | float, ...],
    kernel_width: float,
) -> Iterator[tuple[int | None, np.ndarray]]:
    for size in _fitting(X, n_neighbors):
        if method == "KLAP":
            count = int(size * X.shape[0]) if isinstance(size, float) else size
            yield count, klap_released(X, y, n_neighbors=size, t=kernel_width)
        else:
            script = elap_released if method == "ELAP" else pelle_released
            yield int(size), script(X, n_neighbors=int(size))


def cauchy_from(method: str, n_components: int, kernel_width: float) -> CauchyEmbedding:
    """Return the dense embedding of the Cauchy paper's table 1 for one method."""
    decay = {"LAP": "laplacian"}.get(method, method.lower())
    return cauchy(n_components=n_components, decay=decay, kernel_width=kernel_width)
