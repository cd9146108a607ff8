"""One data set, many neighbourhood sizes: fits that share what does not change.

Every paper tunes K. A sweep searches neighbours once, at the largest K, and fits
several sizes at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_array

from ..backends.backend import backend_for
from ..backends.threads import map_ahead
from ..neighbors.choice import open_search, resolve_n_neighbors
from ..validation import check_magnitude, is_precomputed, without_zeros
from .frames import as_numbers
from .parameters import metric_of
from .source import CheckedInput, open_source

Model = TypeVar("Model", bound=Any)


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
        One that has `n_neighbors`. It is not fitted itself, but its clones are.
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
    if not hasattr(estimator, "dissimilarity"):
        raise TypeError(
            "estimator must be an embedding of patchfold with n_neighbors. Got "
            f"{type(estimator).__name__} instead."
        )
    if getattr(estimator, "radius", None) is not None:
        raise ValueError(
            f"radius={estimator.radius!r} chooses the neighbours: there are no sizes "
            "to go through: set radius=None."
        )
    shares_stages = hasattr(estimator, "_fit_source")
    backend = backend_for(X)
    if is_precomputed(estimator) or not backend.is_numpy or not shares_stages:
        for size in sorted(sizes):
            yield clone(estimator).set_params(n_neighbors=size).fit(X, y)
        return
    samples = check_array(
        as_numbers(X), accept_sparse="csr", dtype=np.float64, ensure_min_samples=2
    )
    check_magnitude(samples)
    if sp.issparse(samples):
        samples = without_zeros(samples)
    n = samples.shape[0]
    counts = sorted({min(resolve_n_neighbors(size, n), n - 1) for size in sizes})
    n_jobs = estimator.n_jobs
    algorithm = estimator.neighbors_algorithm
    metric = metric_of(estimator, samples)
    search: Any = open_search(algorithm, samples, counts[-1], None, n_jobs, metric)
    found = search.of_training(samples, n_jobs)

    def check(count: int) -> tuple[Model, CheckedInput]:
        model = clone(estimator).set_params(n_neighbors=count)
        return model, model._check_input(X, y)

    def fit(checked: tuple[Model, CheckedInput]) -> Model:
        model, data = checked
        own = search.resized(model.n_neighbors)
        source = open_source(model, data, search=own, found=found)
        return model._fit_source(source, backend)

    # scikit-learn's checks change the filters of warnings, which threads share: here.
    yield from map_ahead(fit, map(check, counts), n_jobs)
