"""The one `fit` and the one `transform` that every estimator shares.

An estimator adds `_solve`, which turns measured edges into coordinates and a solution,
and the solution's `place` puts new samples, linked to training samples, among them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from ..backends.backend import NUMPY, Array, Backend, array_namespace, backend_for
from ..backends.progress import begin_stage, report, without_progress
from ..graph.connectivity import closed_components, join_components
from ..graph.labels import encode_labels, get_label_rule, refuse_precomputed
from ..graph.precomputed import check_dissimilarities
from ..graph.weights import Components, find_pieces
from ..neighbors.choice import resolve_n_neighbors
from ..records import EdgeList, Pairs
from ..validation import (
    check_magnitude,
    check_metric,
    check_neighborhoods,
    check_parameters,
    check_samples,
    is_precomputed,
    without_zeros,
)
from .frames import check_table
from .links import Fitted
from .parameters import COMMON_RULES
from .selection import choose_n_neighbors
from .source import STAGES, CheckedInput, Source, open_source
from .stored.embedding import StoredEmbedding


class EmbeddingMixin(TransformerMixin):
    """`fit_transform` that returns the coordinates that `fit` has found."""

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Embed the samples of X and return their coordinates.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        embedding : array (n_samples, n_components)
            `embedding_`.
        """
        return self.fit(X, y).embedding_

    def _check_source(self, X: Any, *, reset: bool) -> Any:
        """Check samples or dissimilarities, of a fit (`reset`) or of new samples."""
        is_matrix = is_precomputed(self)
        may_have_words = "encoder_" in vars(self)  # a data frame in `fit` had some
        if reset:
            self.__dict__.pop("encoder_", None)
            may_have_words = not (is_matrix or isinstance(X, np.ndarray))
        check = check_table if may_have_words else check_samples
        X = check(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            copy=reset,  # the model must not change when its user's array does
            ensure_min_samples=2 if reset else 1,
        )
        if is_matrix:
            check_dissimilarities(NUMPY.bring(X), square=reset)
            return X
        check_magnitude(X, spread=reset)
        return without_zeros(X) if sp.issparse(X) else X


class PatchEmbedding(
    StoredEmbedding,
    ClassNamePrefixFeaturesOutMixin,
    EmbeddingMixin,
    BaseEstimator,
):
    """Neighbours, patches, dissimilarity; subclasses add the embedding."""

    label_rule: str | None
    eigen_solver: str
    random_state: Any
    verbose: Any
    embedding_: Array

    _parameter_rules: ClassVar[dict[str, Any]] = COMMON_RULES
    # What a subclass may set:
    _can_take_all_pairs: ClassVar[bool] = False  # n_neighbors=None, radius=None
    _links_new_samples: ClassVar[bool] = True  # else it has its own `transform`
    _joins_closed_groups: ClassVar[bool] = False  # those with no neighbour outside
    _draws_pieces: ClassVar[bool] = False  # a sparse graph in pieces is no error
    _reads_relation: ClassVar[bool] = False  # `edges.pairs.row` and `column`
    _reads_edges: ClassVar[bool] = True  # more than `edges.graph`

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the samples of X.

        Parameters
        ----------
        X : array-like, tensor or data frame (n_samples, n_features)
            Samples. A data frame with columns that are no numbers is encoded by
            `TableEncoder`, kept as `encoder_`; numbers are taken as they are. With
            `dissimilarity="precomputed"`, a symmetric matrix (n_samples, n_samples)
            of dissimilarities, dense or sparse. Of a torch
            tensor, what is fitted is tensors on its device.
        y : array-like (n_samples,), default=None
            Class labels, used only by a `label_rule`; -1 marks an unlabelled sample.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        backend = backend_for(X)
        working = backend.working_on(X, "Lower n_neighbors, or fit fewer samples.")
        with report(type(self).__name__, self.verbose), working:
            data = self._check_input(X, y)
            return self._fit_source(open_source(self, data), backend)

    def _fit_source(self, source: Source, backend: Backend) -> Self:
        """Run the stages of a fit, and keep what they give."""
        graph = source.neighbor_graph(self._join)
        self.n_connected_components_ = graph.n_components
        # The relation may be as large as the edges. It is freed where no name refers to
        # it any more; so are `graph.near` and `graph` below.
        if graph.edges is None and not self._reads_relation:
            graph = graph._replace(pairs=replace(graph.pairs, row=None, column=None))
        links: Any = source.link(graph.near)  # makes the patches, too
        graph = graph._replace(near=None)
        edges = source.measure(graph, links)
        del graph
        begin_stage("coordinates", STAGES)
        if backend.device is not None:
            edges = backend.bring(edges)
        if not self._reads_edges:
            edges = edges.as_graph()
        embedding, solution = self._solve(edges, source.X)
        self.embedding_, self.graph_ = backend.give_back(embedding), edges.graph
        self.n_neighbors_ = source.n_neighbors
        self.patch_sizes_ = links.patch_sizes
        cells = None if links.search is None else links.search.cells
        self.n_probes_ = None if cells is None else cells.n_probes
        self.neighbors_recall_ = None if cells is None else cells.recall
        self._fitted = Fitted(links if self._links_new_samples else None, solution)
        self._n_features_out = self.n_components
        return self

    def _check_input(self, X: Any, y: Any) -> CheckedInput:
        """Check the parameters, the samples and the labels of a fit, and settle K."""
        check_parameters(self)
        check_neighborhoods(self, all_pairs=self._can_take_all_pairs)
        check_metric(self)
        X = self._check_source(X, reset=True)
        n = X.shape[0]
        if self.n_components >= n:
            raise ValueError(
                f"n_components={self.n_components} must be less than the number of "
                f"samples, n_samples={n}. Lower it, or pass more samples."
            )
        classes, wanted = None, self.n_neighbors
        if self.label_rule is not None:
            if is_precomputed(self):
                refuse_precomputed(self.label_rule)
            classes = encode_labels(y, n, type(self).__name__)
        if wanted is None:
            return CheckedInput(X, classes, None)
        if wanted == "auto":
            with without_progress():
                wanted = choose_n_neighbors(self, X, y)
        if sp.issparse(X) and is_precomputed(self):  # only new samples need it
            wanted = min(wanted, n - 1)
        return CheckedInput(X, classes, resolve_n_neighbors(wanted, n))

    def _join(self, pairs: Pairs, source: Source) -> tuple[Pairs, int]:
        """Add edges until the graph is as connected as the embedding needs it."""
        count, labels = find_pieces(pairs.n_samples, pairs.source, pairs.target)
        if self._joins_closed_groups:
            parts = closed_components(pairs)
        elif count == 1:
            return pairs, count
        else:
            parts = Components(count, labels)
        if parts.count == 1:
            return pairs, count
        rule = self.label_rule
        removes = rule is not None and get_label_rule(rule).removes_edges
        joined = join_components(
            pairs,
            parts,
            source.X,
            n_neighbors=source.n_neighbors,
            radius=self.radius,
            label_rule=rule if removes else None,
            precomputed=is_precomputed(self),
            draws_pieces=self._draws_pieces,
            search=source.metric_search,
            n_jobs=self.n_jobs,
        )
        return joined, count

    def transform(self, X: Any) -> Array:
        """Place new samples in the embedding. No label of a new sample is ever used.

        The patch of a new sample is itself with its nearest training samples; its
        dissimilarity to their patches links it to the embedding. A sample identical
        to a training sample gets that sample's coordinates (the mean of them, if
        several are identical), so `transform(X_train)` is `embedding_`. Where only
        dissimilarities are known, a dissimilarity of 0 means identical.

        With `radius` those training samples are the ones within it, for its patch the
        nearest of them, no more than the largest patch in training has. A sample that
        has none is placed by its nearest one alone, and a warning names it.

        Under a label rule a new sample keeps all of its patch but only its 10 nearest
        links, and weighs them by the label-free value. In training, labels tell a
        near edge from a far one, which is why KLAP can use three quarters of all
        samples as neighbours; a new sample has no label, only distances, and
        linked to that many samples it would land in the middle of the embedding.

        Parameters
        ----------
        X : array-like or tensor (n_queries, n_features)
            New samples; with `dissimilarity="precomputed"`, their dissimilarities to
            the training samples, (n_queries, n_samples), dense or sparse.

        Returns
        -------
        embedding : array or tensor (n_queries, n_components)
            Coordinates, in the library and on the device that X came from.
        """
        check_is_fitted(self)
        links: Any = self._fitted.links
        solution = self._fitted.solution
        theirs, ours = backend_for(X), links.backend
        embedding = self.embedding_
        if isinstance(embedding, np.ndarray):
            embedding = embedding.astype(np.float64, copy=False)
        X = links.accept(ours.bring(self._check_source(X, reset=False)))
        quiet = np.errstate(over="ignore", invalid="ignore")  # checked below
        with ours.working_on(X, "Place fewer samples at a time."), quiet:
            near = links.near(X, self.n_jobs)
            known = links.known(near)
            xp = array_namespace(known)
            shape = (X.shape[0], embedding.shape[1])
            placed = xp.empty(shape, dtype=xp.float64, device=known.device)
            if known.any():
                known_places = ours.give_back(embedding)  # in double precision
                placed[known] = links.settle(near.rows(known), known_places)
            if not known.all():
                new = X[~known]
                linked = links.link(new, near.rows(~known), self.n_jobs)
                linked = backend_for(embedding).bring(linked)
                found = solution.place(linked, new, embedding, self.n_jobs)
                placed[~known] = ours.give_back(found)
        check_placed(placed)
        return theirs.give_back(placed)

    def _solve(self, edges: EdgeList, X: Any) -> tuple[Array, Any]:
        """Return the coordinates of the samples X, and what places new ones."""
        raise NotImplementedError

    def _seed(self) -> np.random.RandomState:
        """Return the source of solver start vectors; fixed unless the user seeds it."""
        return check_random_state(0 if self.random_state is None else self.random_state)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self)
        tags.input_tags.sparse = True
        tags.target_tags.required = self.label_rule is not None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def check_placed(placed: Array) -> None:
    """Raise ValueError for coordinates that are no finite numbers."""
    lost = int((placed - placed != 0).any(axis=1).sum())
    if lost:
        raise ValueError(
            f"{lost} of {placed.shape[0]} samples are too far from the training "
            "samples to be placed. Check their units."
        )
