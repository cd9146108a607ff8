"""One data set, many neighbourhood sizes: fits that share what does not change.

Every paper tunes K. A sweep searches neighbours once, at the largest K, and fits
several sizes at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

from ..backends.homes import is_tensor
from ..backends.threads import map_ahead
from ..neighbors.choice import choose_search, find_neighbors, resolve_n_neighbors
from ..records import EdgeValues, Neighborhoods, Pairs
from ..validation import check_magnitude

Model = TypeVar("Model", bound=Any)


@dataclass(frozen=True)
class SharedStages:
    """What a fit need not do itself: it was done for a whole sweep, or by others.

    Attributes
    ----------
    neighbors : Neighborhoods
        Of all samples, for the largest K.
    search : object
        What the neighbours were searched with.
    compare : callable or None
        From `PatchesOnDemand` and `Pairs` to `EdgeValues`; patches are then not kept.
    """

    neighbors: Neighborhoods
    search: Any = None
    compare: Callable[[Any, Pairs], EdgeValues] | None = None


def fit_sweep(
    estimator: Model,
    X: Any,
    y: Any = None,
    *,
    n_neighbors: Iterable[int | float],
) -> Iterator[Model]:
    """Fit an estimator for each of several neighbourhood sizes.

    Its `n_jobs` is how many sizes are fitted at a time.

    Parameters
    ----------
    estimator : embedding estimator
        One that has `n_neighbors`. Not fitted itself; its clones are.
    X, y
        As in `fit`.
    n_neighbors : iterable of int or float
        Sizes; those that come to the same number of neighbours are fitted once, and
        those beyond the number of other samples are lowered to it.

    Yields
    ------
    fitted estimator
        One for each size, in ascending order of `n_neighbors_`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import patchfold as pf
    >>> X = load_wine().data
    >>> [m.n_neighbors_ for m in pf.fit_sweep(pf.isomap_kl(), X, n_neighbors=[30, 20])]
    [20, 30]
    """
    sizes = list(n_neighbors)
    if not sizes:
        raise ValueError("n_neighbors is empty: name at least one size to fit.")
    if not hasattr(estimator, "_is_precomputed"):
        raise TypeError(
            "estimator must be an embedding of patchfold with n_neighbors. Got "
            f"{type(estimator).__name__} instead."
        )
    if getattr(estimator, "radius", None) is not None:
        raise ValueError(
            f"radius={estimator.radius!r} chooses the neighbours: there are no sizes "
            "to go through: set radius=None."
        )
    shares_stages = hasattr(estimator, "_fit_checked")
    if estimator._is_precomputed() or is_tensor(X) or not shares_stages:
        for size in sorted(sizes):
            yield clone(estimator).set_params(n_neighbors=size).fit(X, y)
        return
    samples = check_array(X, dtype=np.float64, ensure_min_samples=2)
    check_magnitude(samples)
    n = samples.shape[0]
    counts = sorted({min(resolve_n_neighbors(size, n), n - 1) for size in sizes})
    n_jobs = estimator.n_jobs
    search = choose_search(
        estimator.neighbors_algorithm, samples, counts[-1], n_jobs=n_jobs
    )
    found = find_neighbors(samples, counts[-1], algorithm=search, n_jobs=n_jobs)
    shared = SharedStages(found, search)

    def check(count: int) -> tuple[Model, tuple[Any, ...]]:
        model = clone(estimator).set_params(n_neighbors=count)
        return model, model._check_input(X, y)

    def fit(checked: tuple[Model, tuple[Any, ...]]) -> Model:
        model, arguments = checked
        return model._fit_checked(*arguments, shared)

    # scikit-learn's checks change the filters of warnings, which threads share: here.
    yield from map_ahead(fit, map(check, counts), n_jobs)
