"""CauchyMap in files: which fitted attributes are written, and those made again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...backends.backend import NUMPY
from ...neighbors.choice import resolve_n_neighbors
from ...solvers.field import placing
from ...solvers.field.descent import Recipe
from ...solvers.field.source import MatrixSource, SampleSource
from ...validation import PRECOMPUTED, check_magnitude, check_metric, is_precomputed
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


@dataclass(frozen=True)
class FittedMap:
    """What a fit of `CauchyMap` leaves besides its public attributes.

    All but the codes is in our order of the samples.

    Attributes
    ----------
    source : SampleSource or MatrixSource
        What links new samples to training samples.
    X : array, sparse array, tensor or None
        Training samples (n, m); None of a matrix.
    keys : int array (n,) or None
        Their hashes, by which identical new samples are known; None of a matrix.
    labels : Labels or None
        What puts class probabilities beside new samples; None where there are none.
    codes : int array (n,) or None
        Classes of the training samples, in the order of the input.
    order : int array (n,)
        Row of the input that our i-th sample is.
    map : Map
        Where they are.
    """

    source: SampleSource | MatrixSource
    X: Any
    keys: Any
    labels: Any
    codes: np.ndarray | None
    order: Any
    map: placing.Map

    def place(self, X: Any, n_jobs: int | None) -> Any:
        """Return coordinates (q, 2) of new samples."""
        if self.X is None:
            links = self.source.link(X, n_jobs)
            known, placed = placing.settle_links(self.map.Y, links)
            links = links.rows(~known)
        else:
            known, placed = placing.recognise(self.keys, self.map.Y, self.X, X)
            if not known.all():
                new = X[~known]
                new = new if self.labels is None else self.labels.join(new)
                links = self.source.link(new, n_jobs)
        if not known.all():
            placed[~known] = placing.place(self.map, links, n_jobs)
            far = NUMPY.bring(placing.is_far(self.map, links))
            placing.warn_of_far(np.flatnonzero(NUMPY.bring(~known))[far])
        return placed


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
    _fitted: FittedMap

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
    _made_again: ClassVar[frozenset[str]] = frozenset()

    def _training_samples(self) -> Any:
        kept = self._fitted
        if kept.X is None:
            return None
        return NUMPY.bring(kept.X)[np.argsort(NUMPY.bring(kept.order))]

    def _packed(self, state: dict[str, Any]) -> dict[str, Any]:
        state = {**state, "init": "pca"}  # where a fit began does not matter any more
        kept = state.pop("_fitted", None)
        if kept is not None:
            reach = kept.map.reach
            state["_codes"], state["_order"] = kept.codes, kept.order
            state["_Z"], state["_reach"] = (
                kept.map.Z,
                None if reach == np.inf else reach,
            )
            if kept.X is not None:
                state["_train_X"] = self._training_samples()
        return super()._packed(state)

    def _make_again(self, sizes: Sizes) -> None:
        n, stored = sizes["samples"], vars(self)
        X, codes = stored.pop("_train_X", None), stored.pop("_codes")
        order, Z = stored.pop("_order"), stored.pop("_Z")
        reach = stored.pop("_reach")
        if np.bincount(order, minlength=n).max(initial=0) > 1:
            raise FittedError("_order names a sample twice")
        check_metric(self)
        wanted = min(resolve_n_neighbors(self.n_neighbors, n), n - 1)
        if self.n_neighbors_ != wanted:
            raise FittedError(f"n_neighbors_={self.n_neighbors_} must be {wanted}")
        features = n
        if is_precomputed(self):
            near = self.metric == PRECOMPUTED
            source = MatrixSource(np.argsort(order), self.n_neighbors_, near)
            opened: tuple[Any, Any, Any, Any] = source, None, None, None
        else:
            if X is None:
                raise FittedError("_train_X is missing")
            features = X.shape[1]
            check_magnitude(X)
            if self.n_neighbors_ * n > self.graph_.nnz:  # bounds the work of loading
                raise FittedError("graph_ has too few entries for the neighbours")
            if (codes is None) != ("classes_" not in stored):
                raise FittedError("_codes and classes_ must both be there, or none")
            opened, _ = self._open(X, codes, order)
        check_columns(self, features, sizes)
        Y = np.zeros((n, 2), np.float32)
        Y[:, : self.n_components] = self.embedding_[order]
        # Of a device our order may differ from NumPy's: the stored one counts.
        self._fitted = FittedMap(*opened, codes, order, self._make_map(Y, Z, reach))

    def _make_map(self, Y: Any, Z: float, reach: float | None) -> placing.Map:
        """Return the finished map of coordinates (n, 2), in our order."""
        recipe, flat = Recipe(self.separation), self.n_components == 1
        reach = np.inf if reach is None else reach
        return placing.Map(Y, Z, recipe.alpha, recipe.total, flat, reach)

    def _open(self, X: Any, codes: Any, order: Any = None) -> Any:
        raise NotImplementedError
