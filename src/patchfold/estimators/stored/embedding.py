"""Embeddings in files: which fitted attributes are written, and those made again."""

from __future__ import annotations

from typing import Any, ClassVar

from ...dissimilarity.table import get_dissimilarity
from ...graph.labels import get_label_rule
from ...graph.precomputed import MatrixLinks
from ...neighbors.choice import pays_for_cells, reopen_search, resolve_n_neighbors
from ...validation import (
    PRECOMPUTED,
    check_magnitude,
    check_metric,
    check_neighborhoods,
    is_precomputed,
)
from ..links import (
    Fitted,
    PatchSettings,
    SampleLinks,
    Solution,
    patch_parameters,
    require_room,
)
from ..parameters import metric_of
from ..source import SampleSource
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
from .sparse_rules import Samples
from .table_encoder import Encoder, check_columns

FEWEST_EDGES = 1000
"""A label rule that removes edges leaves at least one of this many, in a file."""

SEARCH_RULES: dict[str, FittedRule] = {
    "n_probes_": MayLack(OrNone(Count(1, "samples"))),
    "neighbors_recall_": MayLack(OrNone(Number(0))),
}
"""Rules of the attributes of an approximate search."""

_DEFAULTS = {"_has_twins": True, "_cells_for": None, "_on_demand": False}
"""Attributes of a fit by an older version that did not store them."""


class StoredEmbedding(StoredModel):
    """The part of `PatchEmbedding` that deals with model files."""

    n_components: int
    n_neighbors: Any
    radius: float | None
    metric: Any
    label_rule: str | None
    neighbors_algorithm: Any
    n_jobs: int | None
    n_neighbors_: int | None
    n_features_in_: int
    graph_: Any
    patch_sizes_: Any
    _fitted: Fitted
    _can_take_all_pairs: ClassVar[bool]

    _fitted_rules: ClassVar[dict[str, FittedRule]] = {
        "_train_X": MayLack(Samples()),
        "embedding_": Numbers(("samples", "components")),
        "n_features_in_": Count(1),
        "encoder_": Encoder(),
        "feature_names_in_": MayLack(Words(("columns",))),
        "n_neighbors_": OrNone(Count(1, "samples")),
        **SEARCH_RULES,
        "n_connected_components_": Count(1, "samples"),
        "_has_twins": MayLack(Flag()),
        "_cells_for": MayLack(OrNone(Count(1, "samples"))),
        "_on_demand": MayLack(Flag()),
        "graph_": Matrix(symmetric=True, low=0.0),
        "_n_features_out": Count("components", "components"),
    }
    _made_again: ClassVar[frozenset[str]] = frozenset({"patch_sizes_"})

    def _training_samples(self) -> Any:
        return getattr(self._fitted.links, "X", None)

    def _packed(self, state: dict[str, Any]) -> dict[str, Any]:
        state = dict(state)
        if is_precomputed(self):  # in files of format 1; no new sample needs it
            state.pop("_train_X", None)
        fitted = state.pop("_fitted", None)
        if fitted is not None:
            state.update(fitted.solution.stored())
            if isinstance(fitted.links, SampleLinks):
                state.update(fitted.links.stored())
        return super()._packed(state)

    def _make_again(self, sizes: Sizes) -> None:
        n = sizes["samples"]
        self._default_search()
        if self.n_components >= n:
            raise FittedError(f"n_components={self.n_components} of {n} samples")
        check_neighborhoods(self, all_pairs=self._can_take_all_pairs)
        check_metric(self)
        self._check_stored_count(n)
        state = vars(self)
        hidden = {name for name in self._fitted_rules if name[0] == "_"} & state.keys()
        stored = _DEFAULTS | {name: state.pop(name) for name in hidden}
        self._n_features_out = stored["_n_features_out"]
        links: SampleLinks | MatrixLinks
        if is_precomputed(self):
            features, self.patch_sizes_ = n, None
            nearest_only = self.metric == PRECOMPUTED
            links = MatrixLinks(self.n_neighbors_, self.radius, nearest_only)
        elif "_train_X" not in stored:
            raise FittedError("_train_X is missing")
        else:
            features = stored["_train_X"].shape[1]
            check_magnitude(stored["_train_X"])
            links = self._link_again(stored, self._stored_work(stored["_cells_for"]))
            self.patch_sizes_ = links.patch_sizes
        check_columns(self, features, sizes)
        self._fitted = Fitted(links, self._solve_again(stored))

    def _link_again(self, stored: dict[str, Any], most: int) -> SampleLinks:
        """Search the neighbours of the loaded samples and describe their patches.

        Within a radius, they may have `most` neighbours together.
        """
        settings = PatchSettings(*patch_parameters(self))
        X, n_jobs = stored["_train_X"], self.n_jobs
        count, radius, held = self.n_neighbors_, self.radius, not stored["_on_demand"]
        algorithm, cells_for = self.neighbors_algorithm, stored["_cells_for"]
        require_room(X, settings, count, radius, held=held)
        metric = metric_of(self, X)
        search = reopen_search(
            algorithm, X, count, radius, cells_for, most, n_jobs, metric
        )
        near, twins = None, stored["_has_twins"]
        if get_dissimilarity(settings.dissimilarity).needs_gaussians:
            near, twins = search.of_training(X, n_jobs), None
        elif not isinstance(algorithm, str):
            search.of_training(X, n_jobs)  # a transformer is fitted by its search
        source = SampleSource(X, None, settings, search, count, n_jobs, held=held)
        return source.link(near, twins)

    def _solve_again(self, stored: dict[str, Any]) -> Solution:
        """Make the solution, which places new samples, from the stored attributes."""
        raise NotImplementedError

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

    def _stored_work(self, cells: int | None) -> int:
        """Return how many neighbours the samples of a file may have together.

        Every neighbour of a sample is an entry of the graph. So the work of loading is
        bounded by the size of the file.
        """
        n, most = self.graph_.shape[0], self.graph_.nnz
        if get_label_rule(self.label_rule).removes_edges:
            most *= FEWEST_EDGES
        if cells is not None and (
            self.n_neighbors_ is None
            or cells < self.n_neighbors_
            or not pays_for_cells(cells, n)
        ):
            raise FittedError(f"_cells_for={cells} does not fit {n} samples")
        if (self.n_neighbors_ or 0) * n > most:
            raise FittedError(
                f"graph_ has {self.graph_.nnz} entries, too few for the neighbours of "
                f"{n} samples"
            )
        return most
