"""Training samples -> the object that links new samples to them.

It is made in a fit, and again when a model is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..backends.backend import (
    BYTES_IN_TABLE,
    BYTES_PER_EDGE,
    BYTES_PER_SAMPLE,
    Array,
    Backend,
    backend_for,
    on_any_device,
    require_memory,
)
from ..backends.threads import map_blocks
from ..dissimilarity.store import (
    MeasuredSamples,
    PatchesOnDemand,
    PatchStore,
)
from ..dissimilarity.table import (
    MOST,
    HeldPatches,
    describe_patches,
    get_dissimilarity,
)
from ..graph.precomputed import MatrixLinks
from ..neighbors.cell_search import near_each_other
from ..neighbors.choice import NeighborSearch
from ..neighbors.radius import expected_count
from ..neighbors.sparse_metric import row_keys
from ..patches.fitting import is_wide
from ..records import Links, Neighborhoods
from ..validation import as_sparse_as

LINKED = 512
"""New samples that are linked at a time: few enough that their patches, made and read
once, are not sent to memory in between."""

QUERY_LINKS = 10
"""Links of a new sample under a label rule: see `PatchEmbedding.transform`."""


@dataclass(frozen=True)
class PatchSettings:
    """The parameters of an estimator that patches and their comparison depend on."""

    dissimilarity: Any
    adaptive_patches: bool
    include_center: bool
    covariance: str
    n_directions: float | None
    shrinkage: float | str
    ridge: float
    label_rule: str | None

    @property
    def may_span(self) -> bool:
        """Whether patches of wide samples may be seen in the space that these span."""
        row = get_dissimilarity(self.dissimilarity)
        return self.covariance == "full" and row.isometric


patch_parameters = attrgetter(*PatchSettings.__dataclass_fields__)
"""Estimator -> its parameters that `PatchSettings` are made of."""


@dataclass(frozen=True)
class SampleLinks:
    """Links new samples by their patches to those of the training samples.

    Attributes
    ----------
    X : array or tensor (n, m)
        Training samples.
    settings : PatchSettings
        How patches are made and compared.
    search : NeighborSearch
        How neighbours are found.
    store : PatchStore
        What is kept of the patches of training samples.
    patch_sizes : int array (n,) or None
        Neighbours in every patch; None where samples are compared.
    has_twins : bool
        Whether some training samples are identical.
    """

    X: Array
    settings: PatchSettings
    search: NeighborSearch
    store: PatchStore
    patch_sizes: Array | None
    has_twins: bool

    @property
    def backend(self) -> Backend:
        """Where the training samples live."""
        return backend_for(self.X)

    def stored(self) -> dict[str, Any]:
        """Return what a model file needs to make the links again, by name."""
        return {
            "_train_X": self.X,
            "_has_twins": self.has_twins,
            "_cells_for": self.search.cells_for,
            "_on_demand": isinstance(self.store, PatchesOnDemand),
        }

    def accept(self, X: Any) -> Any:
        """Return new samples, sparse where the training samples are."""
        return as_sparse_as(X, self.X)

    def near(self, X: Array, n_jobs: int | None) -> Neighborhoods:
        """Find the training samples near new ones; never none."""
        return self.search.of_queries(X, self.X, n_jobs)

    def known(self, near: Neighborhoods) -> Array:
        """Say (q,) which new samples are training samples: at distance 0."""
        return near.nearest[1] == 0

    def settle(self, near: Neighborhoods, embedding: Array) -> Array:
        """Place training samples at the mean of those they are identical to."""
        first = near.nearest[0]
        if not self.has_twins:
            return embedding[first]
        return _mean_of_twins(self.X, embedding, first)

    def link(self, X: Array, near: Neighborhoods, n_jobs: int | None) -> Links:
        """Compare the patches of new samples with those of their neighbours."""
        alone = self.backend.device is not None or near.pointer is not None
        alone |= not isinstance(self.store, HeldPatches)
        # Without the centre a patch may be identical points: one warning for all.
        if X.shape[0] <= LINKED or alone or not self.settings.include_center:
            return self._link_some(X, near, n_jobs)
        order = near_each_other(self.search.cells, near.nearest[0])

        def link(block: slice) -> Links:
            rows = order[block]
            return self._link_some(X[rows], near.rows(rows), n_jobs)

        parts = map_blocks(link, X.shape[0], 0, n_jobs, step=LINKED)
        back = np.argsort(order)
        indices = np.concatenate([part.indices for part in parts])[back]
        return Links(indices, np.concatenate([part.lengths for part in parts])[back])

    def _link_some(self, X: Array, near: Neighborhoods, n_jobs: int | None) -> Links:
        if isinstance(self.store, MeasuredSamples):
            if self.settings.label_rule is not None:
                near = near.first(QUERY_LINKS)
            return near.links(near.distances)
        inside = near
        if self.settings.adaptive_patches and self.patch_sizes is not None:
            inside = near.keep(self.patch_sizes[near.nearest[0]])
        patches = self.store.fitter.of_queries(X, inside, n_jobs)
        row = get_dissimilarity(self.settings.dissimilarity)
        described = describe_patches(row, patches, n_jobs=n_jobs)
        if self.settings.label_rule is not None:
            near = near.first(QUERY_LINKS)
        values = self.store.link(described, *near.relation, n_jobs)
        return near.links(values.label_free)


class Solution:
    """What places new samples by their links; each estimator has its own."""

    def place(
        self, links: Links, X: Array, embedding: Array, n_jobs: int | None
    ) -> Array:
        """Return the coordinates (q, d) of linked samples X (q, m).

        `embedding` (n, d) has those of the training samples. A row with fewer links
        than others ends with links of infinite length, which are none.
        """
        raise NotImplementedError

    def stored(self) -> dict[str, Any]:
        """Return what a model file needs besides the public attributes, by name."""
        return {}


@dataclass(frozen=True)
class Fitted:
    """What a fit leaves besides its public attributes.

    Attributes
    ----------
    links : SampleLinks, MatrixLinks or None
        What links new samples to training samples; None if they need no links.
    solution : Solution
        What places them by these links.
    """

    links: SampleLinks | MatrixLinks | None
    solution: Any


def require_room(
    X: Array,
    settings: PatchSettings,
    n_neighbors: int | None,
    radius: float | None,
    *,
    counts: np.ndarray | None = None,
    held: bool = True,
) -> None:
    """Refuse a graph that the machine cannot hold.

    Within a radius, sizes are estimated until they are known: `counts`. Patches that
    are not `held` need no room.
    """
    (n, m), row = X.shape, get_dissimilarity(settings.dissimilarity)
    size = largest = n_neighbors or n - 1
    if counts is not None:
        size, largest = int(counts.mean()), int(counts.max())
    elif radius is not None:  # of a sparse X the search itself looks at memory
        size = largest = 1 if sp.issparse(X) else max(1, expected_count(X, radius))
    points = largest + 1  # all patches take the room of the largest
    each: float = BYTES_PER_EDGE * size
    if n_neighbors is not None and backend_for(X).device is None:
        each = BYTES_IN_TABLE * size + BYTES_PER_SAMPLE + 12 * m
    if held and row.needs_gaussians and is_wide(n, m) and settings.may_span:
        stored = X.nnz / n if sp.issparse(X) else m
        each += 8 * (2 * points * n + 3 * stored)  # as many coordinates as samples
    elif held and row.needs_gaussians:
        each += 8 * (4 * m * m if points > m else 3 * points * m)
    if held and row.needs_points:
        each += 8 * 2 * points * m
    parameter = "n_neighbors" if radius is None else "radius"
    require_memory(
        n * each,
        f"the graph of {n} samples with {size} neighbours and {m} features",
        f"Lower {parameter}, or reduce the features first.",
        like=X,
    )


def can_wait(
    X: Array, settings: PatchSettings, n_neighbors: int | None, radius: float | None
) -> bool:
    """Say whether patches may be made on demand, where they cannot be held.

    Not where most pairs are compared, which is done in another way, nor where a search
    decides about the size of patches.
    """
    n, m = X.shape
    if radius is not None or settings.adaptive_patches or is_wide(n, m):
        return False
    return n_neighbors is not None and MOST * n_neighbors <= n


@on_any_device
def _mean_of_twins(
    X: np.ndarray, embedding: np.ndarray, first: np.ndarray
) -> np.ndarray:
    """Return the mean place of all training samples that equal the given ones."""
    rows = row_keys(X)[:, None] if sp.issparse(X) else X
    _, group, count = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    group = group.ravel()
    sums = [np.bincount(group, column) for column in embedding.T]
    mean = np.column_stack(sums) / count[:, None]
    several = (count > 1)[group[first], None]
    return np.where(several, mean[group[first]], embedding[first])
