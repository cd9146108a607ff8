"""Embeddings in files: which fitted attributes are written, and those made again."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...graph.labels import get_label_rule
from ...neighbors.choice import pays_for_cells, resolve_n_neighbors
from ...neighbors.radius import expected_count
from ...validation import check_magnitude
from ..parameters import check_neighborhoods
from ..stages import PatchStage
from .model import StoredModel
from .rules import (
    Count,
    FittedError,
    FittedRule,
    Flag,
    Matrix,
    MayLack,
    Number,
    Numbers,
    OrNone,
    Sizes,
    Words,
)

FEWEST_EDGES = 1000
"""A label rule that removes edges leaves at least one of this many, in a file."""

SEARCH_RULES: dict[str, FittedRule] = {
    "n_probes_": MayLack(OrNone(Count(1, "samples"))),
    "neighbors_recall_": MayLack(OrNone(Number(0))),
}
"""What is told of an approximate search."""

_DEFAULTS = {"_has_twins": True, "_cells_for": None, "_on_demand": False}
"""What holds for a fit of an older version that does not say."""


class StoredEmbedding(StoredModel, PatchStage):
    """The part of `PatchEmbedding` that deals with model files."""

    n_components: int
    n_neighbors: Any
    n_features_in_: int
    graph_: Any
    _can_take_all_pairs: ClassVar[bool]

    _fitted_rules: ClassVar[dict[str, FittedRule]] = {
        "_train_X": MayLack(Numbers(("samples", "features"))),
        "embedding_": Numbers(("samples", "components")),
        "n_features_in_": Count(1),
        "feature_names_in_": MayLack(Words(("features",))),
        "n_neighbors_": OrNone(Count(1, "samples")),
        **SEARCH_RULES,
        "n_connected_components_": Count(1, "samples"),
        "_has_twins": MayLack(Flag()),
        "_cells_for": MayLack(OrNone(Count(1, "samples"))),
        "_on_demand": MayLack(Flag()),
        "graph_": Matrix(symmetric=True, low=0.0),
        "_n_features_out": Count("components", "components"),
    }
    _made_again: ClassVar[frozenset[str]] = frozenset(
        {"patch_sizes_", "_described", "_largest", "_search", "_span", "_variance"}
    )

    def _packed(self, state: dict[str, Any]) -> dict[str, Any]:
        if self._is_precomputed():  # no new sample is placed by the matrix
            state = {name: state[name] for name in state if name != "_train_X"}
        return super()._packed(state)

    def _make_again(self, sizes: Sizes) -> None:
        n = sizes["samples"]
        self._default_search()
        if self.n_components >= n:
            raise FittedError(f"n_components={self.n_components} of {n} samples")
        check_neighborhoods(self, all_pairs=self._can_take_all_pairs)
        self._check_stored_count(n)
        if self._is_precomputed():
            features, self._train_X = n, np.empty((n, 0))
        else:
            if "_train_X" not in vars(self):
                raise FittedError("_train_X is missing")
            features = self._train_X.shape[1]
            for name, value in _DEFAULTS.items():
                vars(self).setdefault(name, value)
            check_magnitude(self._train_X)
            self._check_stored_work()
            self._make_patches_again()
        if self.n_features_in_ != features:
            raise FittedError(f"n_features_in_ must be {features}")

    def _default_search(self) -> None:
        """Older files do not say how an approximate search went."""
        for name in SEARCH_RULES:
            vars(self).setdefault(name, None)

    def _check_stored_count(self, n: int) -> None:
        """Refuse another number of neighbours than the parameter stands for."""
        wanted = self.n_neighbors
        if wanted is not None and wanted != "auto":
            wanted = min(resolve_n_neighbors(wanted, n), n - 1)
        elif wanted == "auto" and self.n_neighbors_ is not None:
            wanted = min(self.n_neighbors_, n - 1)
        if self.n_neighbors_ != wanted:
            raise FittedError(f"n_neighbors_={self.n_neighbors_} must be {wanted}")

    def _check_stored_work(self) -> None:
        """Refuse neighbourhoods that the graph of the file is too small for.

        Every neighbour of a sample is an entry of the graph. So the work of loading is
        bounded by the size of the file.
        """
        n, edges = self.graph_.shape[0], self.graph_.nnz
        if get_label_rule(self.label_rule).removes_edges:
            edges *= FEWEST_EDGES
        neighbors = (self.n_neighbors_ or 0) * n
        if self.radius is not None:  # an estimate, of a sample and its neighbours
            neighbors = (expected_count(self._train_X, self.radius) - 1) * n // 8
        cells = self._cells_for
        if cells is not None and (
            self.n_neighbors_ is None
            or cells < self.n_neighbors_
            or not pays_for_cells(cells, n)
        ):
            raise FittedError(f"_cells_for={cells} does not fit {n} samples")
        if neighbors > edges:
            raise FittedError(
                f"graph_ has {self.graph_.nnz} entries, too few for the neighbours of "
                f"{n} samples"
            )
