"""CauchyMap in files: which fitted attributes are written, and those made again."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...backends.backend import NUMPY
from ...neighbors.choice import resolve_n_neighbors
from ...solvers.field.descent import Recipe
from ...solvers.field.placing import Map
from ...solvers.field.source import MatrixSource
from ...validation import check_magnitude
from ..parameters import PRECOMPUTED, check_metric, is_precomputed
from .model import StoredModel
from .rules import (
    Count,
    FittedError,
    FittedRule,
    Labels,
    Matrix,
    MayLack,
    Number,
    Numbers,
    OrNone,
    Sizes,
    Whole,
    Words,
)
from .sparse_rules import Samples
from .table_encoder import Encoder, check_columns

FAR = 1e12
"""No coordinate of a map is larger: squares of them must fit in single precision."""


class StoredMap(StoredModel):
    """The part of `CauchyMap` that deals with model files."""

    n_neighbors: Any
    n_components: int
    separation: float
    metric: Any
    dissimilarity: Any
    embedding_: Any
    graph_: Any
    n_neighbors_: int
    n_features_in_: int
    _train_X: np.ndarray
    _codes: Any
    _source: Any
    _keys: Any
    _labels: Any
    _order: np.ndarray
    _Z: float
    _reach: float | None

    _fitted_rules: ClassVar[dict[str, FittedRule]] = {
        "_train_X": MayLack(Samples()),
        "classes_": MayLack(Labels(("classes",))),
        "_codes": OrNone(Whole(("samples",), low=-1, below="classes")),
        "embedding_": Numbers(("samples", "components"), low=-FAR, high=FAR),
        "_order": Whole(("samples",), below="samples"),
        "_Z": Number(0, open_low=True),
        "_reach": OrNone(Number(0, open_low=True)),
        "n_features_in_": Count(1),
        "encoder_": Encoder(),
        "feature_names_in_": MayLack(Words(("columns",))),
        "n_neighbors_": Count(1, "samples"),
        "n_iter_": Count(),
        "objective_": Numbers(("checks",)),
        "graph_": Matrix(symmetric=True, low=0.0),
        "_n_features_out": Count("components", "components"),
    }
    _made_again: ClassVar[frozenset[str]] = frozenset(
        {"_source", "_keys", "_labels", "_map"}
    )

    def _training_samples(self) -> Any:
        if is_precomputed(self):
            return self._train_X
        return NUMPY.bring(self._train_X)[np.argsort(NUMPY.bring(self._order))]

    def _packed(self, state: dict[str, Any]) -> dict[str, Any]:
        state = {**state, "init": "pca"}  # where a fit began does not matter any more
        if is_precomputed(self):  # no new sample is placed by the matrix
            state.pop("_train_X", None)
        elif "_order" in state:
            state["_train_X"] = self._training_samples()
        return super()._packed(state)

    def _make_again(self, sizes: Sizes) -> None:
        n, order = sizes["samples"], self._order
        if np.bincount(order, minlength=n).max(initial=0) > 1:
            raise FittedError("_order names a sample twice")
        check_metric(self)
        wanted = min(resolve_n_neighbors(self.n_neighbors, n), n - 1)
        if self.n_neighbors_ != wanted:
            raise FittedError(f"n_neighbors_={self.n_neighbors_} must be {wanted}")
        features = n
        if is_precomputed(self):
            near = self.metric == PRECOMPUTED
            self._source = MatrixSource(np.argsort(order), self.n_neighbors_, near)
            self._train_X = np.empty((n, 0))
            self._labels = self._keys = None
        else:
            if "_train_X" not in vars(self):
                raise FittedError("_train_X is missing")
            features = self._train_X.shape[1]
            check_magnitude(self._train_X)
            if self.n_neighbors_ * n > self.graph_.nnz:  # bounds the work of loading
                raise FittedError("graph_ has too few entries for the neighbours")
            if (self._codes is None) != ("classes_" not in vars(self)):
                raise FittedError("_codes and classes_ must both be there, or none")
            self._open_samples(order)  # of a device it may differ from NumPy's
        check_columns(self, features, sizes)
        Y = np.zeros((n, 2), np.float32)
        Y[:, : self.n_components] = self.embedding_[order]
        self._map = self._make_map(Y)

    def _make_map(self, Y: Any) -> Map:
        """Return the finished map of coordinates (n, 2), in our order."""
        recipe = Recipe(self.separation)
        reach = np.inf if self._reach is None else self._reach
        flat = self.n_components == 1
        return Map(Y, self._Z, recipe.alpha, recipe.total, flat, reach)

    def _open_samples(self, order: Any) -> Any:
        raise NotImplementedError
