"""One data set, many neighbourhood sizes: fits that share what does not change.

Every paper tunes K. A sweep searches neighbours once, at the largest K, and grows the
patches of each K from those of the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import Condition
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

from ._blocks import map_ahead
from ._homes import is_tensor
from ._types import EdgeValues, Neighborhoods, Pairs
from .neighbors import choose_search, find_neighbors, resolve_n_neighbors
from .patches import Patches, RunningPatches

Model = TypeVar("Model", bound=Any)


@dataclass(frozen=True)
class SharedStages:
    """What a fit need not do itself: it was done for a whole sweep, or by others.

    Attributes
    ----------
    neighbors : Neighborhoods
        Of all samples, for the largest K.
    patches : PatchesInTurn or None
        Those of the sizes one after another.
    search : object
        What the neighbours were searched with.
    compare : callable or None
        From `PatchesOnDemand` and `Pairs` to `EdgeValues`; patches are then not kept.
    """

    neighbors: Neighborhoods
    patches: PatchesInTurn | None = None
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
    if estimator.radius is not None:
        raise ValueError(
            f"radius={estimator.radius!r} chooses the neighbours: there are no sizes "
            "to go through: set radius=None."
        )
    if estimator._is_precomputed() or is_tensor(X):
        for size in sorted(sizes):
            yield clone(estimator).set_params(n_neighbors=size).fit(X, y)
        return
    samples = check_array(X, dtype=np.float64, ensure_min_samples=2)
    n = samples.shape[0]
    counts = sorted({min(resolve_n_neighbors(size, n), n - 1) for size in sizes})
    n_jobs = estimator.n_jobs
    search = choose_search(
        estimator.neighbors_algorithm, samples, counts[-1], n_jobs=n_jobs
    )
    found = find_neighbors(samples, counts[-1], algorithm=search, n_jobs=n_jobs)
    patches = PatchesInTurn(
        RunningPatches(samples, found.indices, include_center=estimator.include_center),
        counts,
    )
    shared = SharedStages(found, patches, search)

    def check(count: int) -> tuple[Model, tuple[Any, ...]]:
        model = clone(estimator).set_params(n_neighbors=count)
        return model, model._check_input(X, y)

    def fit(checked: tuple[Model, tuple[Any, ...]]) -> Model:
        model, arguments = checked
        try:
            return model._fit_checked(*arguments, shared)
        finally:
            patches.pass_on(model.n_neighbors_)

    # scikit-learn's checks change the filters of warnings, which threads share: here.
    yield from map_ahead(fit, map(check, counts), n_jobs)


class PatchesInTurn:
    """Running patches that several fits ask for at once: the smaller K goes first.

    Parameters
    ----------
    patches : RunningPatches
        What they ask for.
    counts : list of int
        The K of all fits, ascending. Fits begin in this order.
    """

    def __init__(self, patches: RunningPatches, counts: list[int]) -> None:
        self._patches = patches
        self._ahead = set(counts)
        self._changed = Condition()

    def fit(self, n_neighbors: int, **settings: Any) -> Patches:
        """Return what `RunningPatches.fit` does, once no smaller K can still ask."""
        with self._changed:
            self._changed.wait_for(lambda: n_neighbors == min(self._ahead))
            try:
                return self._patches.fit(n_neighbors, **settings)
            finally:
                self.pass_on(n_neighbors)

    def pass_on(self, n_neighbors: int) -> None:
        """Say that the fit of this K has its patches, or will not ask for any."""
        with self._changed:
            self._ahead.discard(n_neighbors)
            self._changed.notify_all()
