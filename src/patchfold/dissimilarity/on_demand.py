"""Samples and neighbours -> descriptions of patches, made when they are asked for.

What is kept of a patch takes many times the memory of its sample: two matrices of m x m
numbers for a divergence of Gaussians. Where all of them together are too many for a
machine, those of a few samples are made from their neighbours each time anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backends.threads import fill_blocks
from ..patches.fitting import Patches
from ..patches.ragged import fit_neighborhoods
from ..records import EdgeValues, Neighborhoods
from .lengths import arrays_of, check_lengths, compare_listed
from .table import describe_patches, get_dissimilarity

TOGETHER = 256
"""Patches that are described at a time where all are: their points stay in cache."""


@dataclass(frozen=True)
class PatchesOnDemand:
    """What makes the patches of training samples.

    Attributes
    ----------
    samples : array (n, m)
        Training samples, in the coordinates patches are seen in.
    near : Neighborhoods
        Their neighbours.
    dissimilarity : str or callable
        What will compare the patches.
    settings : dict
        How they are fitted: keywords of `fit_neighborhoods`.
    """

    samples: np.ndarray
    near: Neighborhoods
    dissimilarity: Any
    settings: dict[str, Any]

    def describe(self, rows: np.ndarray) -> Any:
        """Return the descriptions of the patches of some samples (r,)."""
        dissimilarity = get_dissimilarity(self.dissimilarity)
        patches = Patches(center=self.samples[rows])
        if dissimilarity.needs_gaussians:
            patches = fit_neighborhoods(
                patches.center, self.samples, self.near.rows(rows), **self.settings
            )
        return describe_patches(dissimilarity, patches)

    def describe_all(self, order: np.ndarray, *, n_jobs: int | None = None) -> Any:
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
        return sum(part.nbytes for part in arrays_of(self.describe(np.arange(1))))

    def compare(self, source: np.ndarray, target: np.ndarray) -> EdgeValues:
        """Compare the patches of sample `source[e]` and of sample `target[e]`."""
        present, place = np.unique(
            np.concatenate([source, target]), return_inverse=True
        )
        described = self.describe(present)
        i, j = place[: source.size], place[source.size :]
        values = self._compare(described, described, i, j)
        check_lengths(values.label_free, source, target)
        return values

    def link(self, described: Any, row: np.ndarray, column: np.ndarray) -> EdgeValues:
        """Compare new patches with those of training samples.

        Parameters
        ----------
        described : description
            Of the patches of new samples.
        row, column : int arrays (R,)
            A new sample, and the training sample it is compared with.

        Returns
        -------
        EdgeValues
        """
        present, place = np.unique(column, return_inverse=True)
        values = self._compare(described, self.describe(present), row, place)
        check_lengths(values.label_free, row, column)
        return values

    def _compare(self, left: Any, right: Any, i: Any, j: Any) -> EdgeValues:
        # Never all pairs at once, however few samples there are here: their number must
        # not change a bit of the result.
        return compare_listed(get_dissimilarity(self.dissimilarity), left, right, i, j)
