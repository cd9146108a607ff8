"""The first stages of every estimator: who is near whom, patches, links to them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..backends.arrays import Array
from ..backends.homes import is_tensor
from ..backends.memory import require_graph_memory
from ..backends.threads import map_blocks
from ..dissimilarity.lengths import compare_pairs
from ..dissimilarity.on_demand import PatchesOnDemand
from ..dissimilarity.patch_sizes import sizes_by_curvature, tangent_turning
from ..dissimilarity.table import Dissimilarity, describe_patches, get_dissimilarity
from ..exceptions import DegeneratePatchWarning, SingularPatchError
from ..neighbors.cell_building import build_cells
from ..neighbors.cell_search import Cells, near_each_other
from ..neighbors.choice import choose_search, find_neighbors, find_query_neighbors
from ..neighbors.radius import (
    add_nearest,
    expected_count,
    refuse_loneliness,
    search_within,
    warn_of_lonely_queries,
)
from ..patches.fitting import Patches, mean_variance, warn_if_degenerate
from ..patches.ragged import fit_neighborhoods
from ..patches.space import Span, find_span, is_wide
from ..records import Links, Neighborhoods, RaggedNeighborhoods
from .sweep import SharedStages

LINKED = 512
"""New samples that are linked at a time: few enough that their patches, made and read
once, are not sent to memory in between."""

QUERY_LINKS = 10
"""Links of a new sample under a label rule: see `PatchEmbedding.transform`."""


class PatchStage:
    """Neighbours by number or by radius, and patches of them; what `fit` begins with.

    Subclasses have the parameters, and set `_train_X`, `_variance` and `n_neighbors_`.
    """

    n_neighbors_: int | None
    radius: float | None
    dissimilarity: Any
    include_center: bool
    adaptive_patches: bool
    covariance: str
    n_directions: float | None
    shrinkage: float | str
    ridge: float
    neighbors_algorithm: Any
    n_jobs: int | None
    _train_X: np.ndarray
    _variance: float
    _span: Span | None
    _largest: int
    patch_sizes_: Any
    label_rule: str | None
    _described: Any
    _on_demand: bool
    _cells_for: int | None
    n_probes_: int | None
    neighbors_recall_: float | None

    def _is_precomputed(self) -> bool:
        return isinstance(self.dissimilarity, str) and (
            self.dissimilarity == "precomputed"
        )

    def _belongs_here(self, X: Array) -> bool:
        """Say whether tensors are measured in NumPy, as options ask that torch lacks.

        Then neighbours, patches and edges are found here, and the edges brought back.
        """
        wide = is_wide(*X.shape) and self.covariance == "full"
        rare = self.adaptive_patches or self.dissimilarity == "precomputed"
        return self.n_neighbors_ is None or rare or wide

    def _check_room(
        self,
        X: np.ndarray,
        dissimilarity: Dissimilarity,
        counts: np.ndarray | None = None,
        *,
        deferred: bool = False,
    ) -> None:
        """Refuse a graph that the machine cannot hold.

        Within a radius, sizes are estimated until they are known: `counts`. Patches
        that are `deferred` are not held.
        """
        size, largest = self.n_neighbors_, None
        if counts is not None:
            size, largest = int(counts.mean()), int(counts.max())
        elif self.radius is not None:
            size = max(1, expected_count(X, self.radius))
        require_graph_memory(
            X,
            size,
            dissimilarity.needs_gaussians and not deferred,
            dissimilarity.needs_points and not deferred,
            parameter="n_neighbors" if self.radius is None else "radius",
            wide=self._spans_little(X, dissimilarity),
            largest=largest,
        )

    def _find_neighbors(
        self, X: np.ndarray, shared: SharedStages | None
    ) -> Neighborhoods | RaggedNeighborhoods | None:
        """Find who is near whom; None if everybody is (`n_neighbors=None`)."""
        self._search, self._has_twins, self._cells_for = None, True, None
        self.n_probes_, self.neighbors_recall_ = None, None
        near: Neighborhoods | RaggedNeighborhoods
        if self.radius is not None:
            own = np.arange(X.shape[0])
            near = search_within(X, X, self.radius, own=own, n_jobs=self.n_jobs)
            if not near.counts.any():
                found = add_nearest(near, X, X, own=own, n_jobs=self.n_jobs)
                refuse_loneliness(found.distances.min(), self.radius)
        elif self.n_neighbors_ is None:
            return None
        elif shared is not None:
            self._search = shared.search
            near = shared.neighbors.first(self.n_neighbors_)
            self._note_cells(shared.neighbors.indices.shape[1])
        else:
            self._search = choose_search(
                self.neighbors_algorithm, X, self.n_neighbors_, n_jobs=self.n_jobs
            )
            near = find_neighbors(
                X, self.n_neighbors_, algorithm=self._search, n_jobs=self.n_jobs
            )
            self._note_cells(self.n_neighbors_)
        self._has_twins = bool((near.nearest[1] == 0).any())
        return near

    def _note_cells(self, n_neighbors: int) -> None:
        """Note for how many neighbours cells were built, and how well they do."""
        if isinstance(self._search, Cells):
            self._cells_for = n_neighbors  # a file has no cells: they are built again
            self.n_probes_ = self._search.n_probes
            self.neighbors_recall_ = self._search.recall

    def _make_patches_again(self) -> None:
        """Search the neighbours of the loaded samples and describe their patches."""
        X, dissimilarity = self._train_X, get_dissimilarity(self.dissimilarity)
        self._variance, self.patch_sizes_ = mean_variance(X), None
        self._search, near = self._search_again(X, dissimilarity.needs_gaussians)
        self._check_room(X, dissimilarity, deferred=self._on_demand)
        if near is not None and dissimilarity.needs_gaussians:
            self._has_twins = bool((near.nearest[1] == 0).any())
            near = self._choose_patches(dissimilarity, X, near)
        if self._on_demand:
            self._described = self._defer_patches(dissimilarity, near)
        else:
            order = self._order_by_cell()
            self._described = self._describe_training(dissimilarity, near, order)

    def _search_again(self, X: np.ndarray, needed: bool) -> tuple[Any, Any]:
        """Return what new samples are searched with, and the neighbours if needed."""
        size, jobs = self.n_neighbors_, {"n_jobs": self.n_jobs}
        if self.radius is not None:
            if not needed:
                return None, None
            return None, search_within(
                X, X, self.radius, own=np.arange(X.shape[0]), **jobs
            )
        if size is None:
            return None, None
        search = None
        if not isinstance(self.neighbors_algorithm, str):
            needed = True  # a transformer is fitted by its search
            search = choose_search(self.neighbors_algorithm, X, size)
        elif self._cells_for is not None:
            search = build_cells(X, self._cells_for, **jobs)
        return search, find_neighbors(
            X, size, algorithm=search, **jobs
        ) if needed else None

    def _find_query_neighbors(
        self, X: np.ndarray
    ) -> Neighborhoods | RaggedNeighborhoods:
        """Find the training samples near new ones; never none."""
        if self.radius is not None:
            near = search_within(X, self._train_X, self.radius, n_jobs=self.n_jobs)
            near = add_nearest(near, X, self._train_X, n_jobs=self.n_jobs)
            warn_of_lonely_queries(near.nearest[1], self.radius)
            return near
        return find_query_neighbors(
            X,
            self._train_X,
            self.n_neighbors_ or self._train_X.shape[0],
            search=self._search,
            n_jobs=self.n_jobs,
        )

    def _choose_patches(
        self,
        dissimilarity: Dissimilarity,
        X: np.ndarray,
        near: Neighborhoods | RaggedNeighborhoods,
    ) -> Neighborhoods | RaggedNeighborhoods:
        """Choose the neighbours that make the patch of every training sample."""
        if isinstance(near, RaggedNeighborhoods):
            own = np.arange(X.shape[0])
            near = add_nearest(near, X, X, own=own, n_jobs=self.n_jobs)
            self._check_room(X, dissimilarity, near.counts)
        self.patch_sizes_ = near.counts
        if self.adaptive_patches:
            curvature = tangent_turning(
                X,
                near,
                include_center=self.include_center,
                n_directions=self.n_directions,
                n_jobs=self.n_jobs,
            )
            self.patch_sizes_ = sizes_by_curvature(curvature, near.counts)
            near = near.keep(self.patch_sizes_)
        return near

    def _spans_little(self, X: np.ndarray, dissimilarity: Dissimilarity) -> bool:
        """Say whether patches may be seen in the space that the samples span."""
        return (
            dissimilarity.isometric and self.covariance == "full" and is_wide(*X.shape)
        )

    def _fit_patches(
        self,
        dissimilarity: Dissimilarity,
        centers: np.ndarray,
        near: Neighborhoods | RaggedNeighborhoods | None,
    ) -> Patches:
        """Fit the patches of training or new samples, from training neighbours."""
        if not dissimilarity.needs_gaussians:
            return Patches(center=centers)
        if near is None:
            raise ValueError(
                "n_neighbors=None compares all pairs of samples, but patches need "
                f"neighbours: set n_neighbors, or dissimilarity='euclidean' instead of "
                f"{self.dissimilarity!r}."
            )
        settings = self._patch_settings(dissimilarity)
        X = self._train_X
        if centers is X:
            self._settle_patches(dissimilarity, near)
        if self._span is not None:
            settings["n_features"] = X.shape[1]
            own = centers is X
            X = self._span.samples
            centers = X if own else self._span.locate(centers)
        return fit_neighborhoods(
            centers,
            X,
            near.first(self._largest),  # a patch is no larger than all in training
            include_center=self.include_center,
            largest=self._largest,
            **settings,
        )

    def _patch_settings(self, dissimilarity: Dissimilarity) -> dict[str, Any]:
        """Return how the patches of training and of new samples are fitted."""
        regularized = dissimilarity.regularized
        return {
            "shrinkage": self.shrinkage if regularized else 0.0,
            "ridge": self.ridge if regularized else 0.0,
            "variance": self._variance,
            "covariance": self.covariance,
            "n_directions": self.n_directions or dissimilarity.n_directions,
            "keep_points": dissimilarity.needs_points,
            "n_jobs": self.n_jobs,
        }

    def _settle_patches(
        self,
        dissimilarity: Dissimilarity,
        near: Neighborhoods | RaggedNeighborhoods,
    ) -> None:
        """Note the largest patch in training, and the space patches are seen in."""
        X = self._train_X
        self._largest = int(near.counts.max())
        # Not with identical samples: rounding would part them.
        wide = self._spans_little(X, dissimilarity) and not self._has_twins
        self._span = find_span(X) if wide else None

    def _describe_training(
        self,
        dissimilarity: Dissimilarity,
        near: Any,
        order: np.ndarray | None,
    ) -> Any:
        """Describe the patches of all training samples.

        Of many samples a few at a time, cell by cell: all patches at once would take
        as much memory as what is kept of them, and neighbours be read from all over it.
        """
        by_name = isinstance(self.dissimilarity, str) and dissimilarity.needs_gaussians
        even = isinstance(near, Neighborhoods) and self.include_center
        if order is not None and by_name and even:
            try:
                deferred = self._defer_patches(dissimilarity, near)
                return deferred.describe_all(order, n_jobs=self.n_jobs)
            except SingularPatchError:  # to be counted among all of them
                with warnings.catch_warnings():  # given already
                    warnings.simplefilter("ignore", DegeneratePatchWarning)
                    patches = self._fit_patches(dissimilarity, self._train_X, near)
        else:
            patches = self._fit_patches(dissimilarity, self._train_X, near)
        return describe_patches(dissimilarity, patches, n_jobs=self.n_jobs)

    def _order_by_cell(self) -> np.ndarray | None:
        """Return the training samples cell by cell; None if there are no cells."""
        if not isinstance(self._search, Cells):
            return None
        return near_each_other(self._search, np.arange(self._train_X.shape[0]))

    def _defer_patches(
        self, dissimilarity: Dissimilarity, near: Any
    ) -> PatchesOnDemand:
        """Make ready what fits the patches of training samples when they are wanted."""
        samples, settings = self._train_X, {}
        if dissimilarity.needs_gaussians:
            self._settle_patches(dissimilarity, near)
            n_points = self._largest + int(self.include_center)
            warn_if_degenerate(near.distances[:, -1], n_points)
            settings = {
                **self._patch_settings(dissimilarity),
                "n_jobs": None,
                "include_center": self.include_center,
                "warn_identical": False,
            }
            if self._span is not None:
                settings["n_features"] = samples.shape[1]
                samples = self._span.samples
        return PatchesOnDemand(samples, near, self.dissimilarity, settings)

    def _link(self, X: Array, near: Neighborhoods | RaggedNeighborhoods) -> Links:
        """Link new samples to training samples: how much their patches differ."""
        whole = is_tensor(X) or isinstance(near, RaggedNeighborhoods)
        whole |= isinstance(self._described, PatchesOnDemand)
        # Without the centre a patch may be identical points: one warning for all.
        if X.shape[0] <= LINKED or whole or not self.include_center:
            return self._link_some(X, near)
        order = near_each_other(self._search, near.nearest[0])

        def link(block: slice) -> Links:
            rows = order[block]
            return self._link_some(X[rows], near.rows(rows))

        parts = map_blocks(link, X.shape[0], 0, self.n_jobs, step=LINKED)
        back = np.argsort(order)
        indices = np.concatenate([part.indices for part in parts])[back]
        return Links(indices, np.concatenate([part.lengths for part in parts])[back])

    def _link_some(self, X: Array, near: Neighborhoods | RaggedNeighborhoods) -> Links:
        dissimilarity = get_dissimilarity(self.dissimilarity)
        inside = near
        if self.adaptive_patches and dissimilarity.needs_gaussians:
            inside = near.keep(self.patch_sizes_[near.nearest[0]])
        patches = self._fit_patches(dissimilarity, X, inside)
        described = describe_patches(dissimilarity, patches, n_jobs=self.n_jobs)
        if self.label_rule is not None:
            near = near.first(QUERY_LINKS)
        row, column = near.relation
        known = self._described
        if isinstance(known, PatchesOnDemand):
            values = known.link(described, row, column)
        else:
            values = compare_pairs(
                dissimilarity, described, known, row, column, n_jobs=self.n_jobs
            )
        return near.links(values.label_free)
