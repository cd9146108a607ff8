"""Other stores of training patches than the descriptions of all (`HeldPatches`).

A description takes many times the memory of its sample: two matrices of m x m numbers
for a divergence of Gaussians. Of many samples they are made a few at a time. Where all
of them together are too many for a machine, those of a few samples are made from their
neighbours each time anew. Where a metric compares samples there are no patches.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..backends.backend import Array
from ..backends.threads import fill_blocks, map_blocks
from ..exceptions import DegeneratePatchWarning, SingularPatchError
from ..neighbors.metric_search import MetricSearch
from ..patches.fitting import PatchFitter, warn_of_degenerate
from ..records import EdgeValues, Neighborhoods, Pairs, Patches, pointer_of
from .table import (
    HeldPatches,
    check_lengths,
    compare_pairs,
    describe_patches,
    get_dissimilarity,
    pairs_of_rows,
)

ON_DEMAND = 2**26
"""Bytes of the descriptions of samples that are compared with theirs at a time, where
they are made on demand; those of their neighbours come on top."""

TOGETHER = 256
"""Patches that are described at a time where all are: their points stay in cache."""


@dataclass(frozen=True)
class CentersOnly:
    """Stands in for `PatchFitter` where samples are compared, not patches."""

    X: Array
    includes_centers = True

    def fit(self, centers: Array, near: Any, **settings: Any) -> Patches:
        """Return patches that are their centres alone."""
        return Patches(center=centers)

    def of_queries(self, X: Array, near: Neighborhoods, n_jobs: int | None) -> Patches:
        """Return patches that are their centres alone."""
        return Patches(center=X)


@dataclass(frozen=True)
class PatchesOnDemand:
    """Makes the patches of training samples when they are needed.

    Attributes
    ----------
    dissimilarity : str or callable
        What compares the patches.
    fitter : PatchFitter or CentersOnly
        What fits them.
    near : Neighborhoods or None
        Neighbours in the patch of every training sample, without distances.
    """

    dissimilarity: Any
    fitter: PatchFitter | CentersOnly
    near: Neighborhoods | None

    def describe(self, rows: np.ndarray) -> Any:
        """Return the descriptions of the patches of some samples (r,)."""
        near = None if self.near is None else self.near.rows(rows)
        # One warning was given for all of them.
        quiet = {"warn_identical": False, "n_jobs": None}
        patches = self.fitter.fit(self.fitter.X[rows], near, **quiet)
        return describe_patches(get_dissimilarity(self.dissimilarity), patches)

    def describe_all(self, order: np.ndarray, n_jobs: int | None) -> Any:
        """Return the descriptions of all patches, made a few at a time.

        Parameters
        ----------
        order : int array (n,)
            All samples, in the order they are taken in: those near each other read
            the same neighbours.
        n_jobs : int or None
            Number of threads.

        Returns
        -------
        tuple of arrays
            In the order of the samples.
        """
        return fill_blocks(
            lambda block: self.describe(order[block]),
            order.size,
            0,
            n_jobs,
            step=TOGETHER,
            order=order,
        )

    @property
    def bytes_each(self) -> int:
        """What the description of one patch takes."""
        return sum(part.nbytes for part in self.describe(np.arange(1)))

    def compare(
        self, pairs: Pairs, order: np.ndarray, n_jobs: int | None
    ) -> EdgeValues:
        """Compare the patches at both ends of every edge, those of some samples a time.

        Parameters
        ----------
        pairs : Pairs
            The edges.
        order : int array (n,)
            All samples; those near each other follow, as they share neighbours.
        n_jobs : int or None
            Number of threads.
        """
        starts = pointer_of(np.bincount(pairs.source, minlength=order.size))
        values = np.empty((3, pairs.source.size))

        def write(block: slice) -> int:
            edges = pairs_of_rows(starts, order[block])
            if not edges.size:
                return 1
            found = self.compare_ends(pairs.source[edges], pairs.target[edges])
            parts = found.label_free, found.within, found.between
            known = [part for part in parts if part is not None]
            for whole, part in zip(values, known, strict=False):
                whole[edges] = part
            return len(known)

        step = max(1, ON_DEMAND // self.bytes_each)
        n_parts = map_blocks(write, order.size, 0, n_jobs, step=step)
        return EdgeValues(*values[: max(n_parts)])

    def compare_ends(self, source: np.ndarray, target: np.ndarray) -> EdgeValues:
        """Compare the patches of sample `source[e]` and of sample `target[e]`."""
        present, place = np.unique(
            np.concatenate([source, target]), return_inverse=True
        )
        described = self.describe(present)
        i, j = place[: source.size], place[source.size :]
        return self._compare(described, described, i, j, names=(source, target))

    def link(
        self, described: Any, row: np.ndarray, column: np.ndarray, n_jobs: int | None
    ) -> EdgeValues:
        """Compare new patches with those of training samples; as in `HeldPatches`."""
        present, place = np.unique(column, return_inverse=True)
        known, names = self.describe(present), (row, column)
        return self._compare(described, known, row, place, names=names)

    def _compare(self, *ends: Any, names: tuple[np.ndarray, np.ndarray]) -> EdgeValues:
        # Never most pairs, however few samples there are here: their number must not
        # change a bit of the result.
        row_of_table = get_dissimilarity(self.dissimilarity)
        return compare_pairs(row_of_table, *ends, most=False, names=names)


@dataclass(frozen=True)
class MeasuredSamples:
    """Samples that a metric compares; there are no patches.

    Attributes
    ----------
    search : MetricSearch
        It has the samples and the metric.
    fitter : CentersOnly
        Stands in for what fits patches.
    """

    search: MetricSearch
    fitter: CentersOnly

    def compare(self, pairs: Pairs, n_jobs: int | None) -> EdgeValues:
        """Measure the distance of both ends of every edge."""
        lengths = self.search.between(pairs.source, pairs.target, n_jobs)
        check_lengths(lengths, pairs.source, pairs.target)
        return EdgeValues(lengths)


PatchStore = HeldPatches | PatchesOnDemand | MeasuredSamples


def defer_patches(
    dissimilarity: Any, fitter: PatchFitter | CentersOnly, near: Neighborhoods | None
) -> PatchesOnDemand:
    """Return a maker of patches on demand; warn of those without a shape."""
    if isinstance(fitter, PatchFitter):
        assert near is not None
        n_points, farthest = fitter.largest, near.distances[:, -1]
        if (farthest <= 0).any():
            warn_of_degenerate(farthest, n_points + int(fitter.includes_centers))
    if near is not None:
        near = replace(near, distances=None)
    return PatchesOnDemand(dissimilarity, fitter, near)


def describe_by_cells(
    dissimilarity: Any,
    fitter: PatchFitter | CentersOnly,
    near: Neighborhoods | None,
    order: np.ndarray,
    n_jobs: int | None,
) -> Any:
    """Describe the patches of all training samples a few at a time, cell by cell.

    All patches at once would take as much memory as what is kept of them, and
    neighbours be read from all over it.

    Parameters
    ----------
    dissimilarity : str or callable
        What will compare the patches.
    fitter : PatchFitter or CentersOnly
        What fits them.
    near : Neighborhoods or None
        Neighbours in the patch of every training sample.
    order : int array (n,)
        All samples cell by cell.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    description or None
        None where only all at once can be described.
    """
    by_name = isinstance(dissimilarity, str) and isinstance(fitter, PatchFitter)
    even = near is not None and near.pointer is None
    if not (by_name and even and fitter.includes_centers):
        return None
    deferred = defer_patches(dissimilarity, fitter, near)
    try:
        return deferred.describe_all(order, n_jobs)
    except SingularPatchError:  # to be counted among all of them
        # Threads share the filters of warnings: they are changed here alone.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegeneratePatchWarning)  # given already
            patches = fitter.fit(fitter.X, near, n_jobs=n_jobs)
        row = get_dissimilarity(dissimilarity)
        return describe_patches(row, patches, n_jobs=n_jobs)
