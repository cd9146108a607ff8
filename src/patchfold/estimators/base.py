"""The one `fit` and the one `transform` that every estimator shares.

An estimator adds two methods: `_embed` turns measured edges into coordinates, and
`_place` puts new samples, linked to training samples, among them.
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

from ..backends.arrays import Array, array_namespace
from ..backends.distances import squared_distances
from ..backends.homes import HERE, Home, home_of, hosted, is_tensor, move
from ..backends.structure import check_structure
from ..backends.threads import begin_stage, untold_stages
from ..backends.working import working_on
from ..dissimilarity.lengths import compare_pairs
from ..dissimilarity.table import get_dissimilarity
from ..graph.connectivity import Components, join_components, weak_components
from ..graph.labels import (
    apply_label_rule,
    encode_labels,
    get_label_rule,
    refuse_precomputed,
    remove_edges_between,
)
from ..graph.precomputed import (
    check_dissimilarities,
    edges_along,
    edges_from_matrix,
    links_from_matrix,
)
from ..graph.weights import complete_graph, pairs_from_directed
from ..neighbors.choice import resolve_n_neighbors
from ..patches.fitting import mean_variance
from ..records import EdgeList, Links, Pairs
from ..validation import check_magnitude, check_parameters, check_samples
from .parameters import COMMON_RULES, check_neighborhoods
from .selection import choose_n_neighbors
from .stored.embedding import StoredEmbedding
from .sweep import SharedStages

STAGES = ("neighbours", "patches", "edges", "coordinates")
"""What a fit does, in this order: who watches it is told when each begins."""


class PatchEmbedding(
    StoredEmbedding,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Neighbours, patches, dissimilarity; subclasses add the embedding."""

    n_components: int
    n_neighbors: Any
    label_rule: str | None
    eigen_solver: str
    random_state: Any
    embedding_: Array

    _parameter_rules: ClassVar[dict[str, Any]] = COMMON_RULES
    _can_take_all_pairs: ClassVar[bool] = False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the samples of X.

        Parameters
        ----------
        X : array-like or tensor (n_samples, n_features)
            Samples; with `dissimilarity="precomputed"`, a symmetric matrix
            (n_samples, n_samples) of dissimilarities, dense or sparse. Of a torch
            tensor, what is fitted is tensors on its device.
        y : array-like (n_samples,), default=None
            Class labels, used only by a `label_rule`; -1 marks an unlabelled sample.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with working_on(X, "Lower n_neighbors, or fit fewer samples."):
            return self._fit_checked(*self._check_input(X, y))

    def _check_input(self, X: Any, y: Any) -> tuple[Any, Array | None, Home]:
        """Check parameters, samples and labels, and settle K."""
        home = home_of(X)
        check_parameters(self)
        check_neighborhoods(self, all_pairs=self._can_take_all_pairs)
        X = self._check_samples(X, reset=True)
        n = X.shape[0]
        if self.n_components >= n:
            raise ValueError(
                f"n_components={self.n_components} must be less than the number of "
                f"samples, n_samples={n}. Lower it, or pass more samples."
            )
        classes = None
        if self.label_rule is not None:
            if self._is_precomputed():
                refuse_precomputed(self.label_rule)
            classes = encode_labels(y, n, type(self).__name__)
        self.n_neighbors_, self.patch_sizes_ = None, None
        if self.n_neighbors is not None:
            wanted = self.n_neighbors
            if wanted == "auto":
                with untold_stages():
                    wanted = choose_n_neighbors(self, X, y)
            if sp.issparse(X):  # a graph: only new samples need a number
                wanted = min(wanted, n - 1)
            self.n_neighbors_ = resolve_n_neighbors(wanted, n)
        return X, classes, home

    def _fit_checked(
        self,
        X: Any,
        classes: Array | None,
        home: Home,
        shared: SharedStages | None = None,
    ) -> Self:
        """Fit where the samples are, with the stages of a sweep if one shares them."""
        if is_tensor(X) and self._belongs_here(X):
            X = move(X, HERE)
        self._train_X = X
        if self._is_precomputed():
            self.n_probes_, self.neighbors_recall_ = None, None
            edges = self._read_edges(X)
        else:
            edges = self._measure_edges(X, move(classes, home_of(X)), shared)
        begin_stage("coordinates", STAGES)
        edges = move(edges, Home(home.device))
        self.graph_ = edges.to_csr()
        self.embedding_ = move(self._embed(edges), home)
        self._n_features_out = self.n_components
        return self

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
        samples as neighbours; a new sample has no label, and linked to so many it
        would land in the middle of everything. Whom it is near is all it knows.

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
        home = home_of(X)
        X = move(self._check_samples(X, reset=False), home_of(self._train_X))
        quiet = np.errstate(over="ignore", invalid="ignore")  # checked below
        with working_on(self._train_X, "Place fewer samples at a time."), quiet:
            if self._is_precomputed():
                placed = self._transform_precomputed(X)
            else:
                placed = self._transform_samples(X)
        check_placed(placed)
        return move(placed, home)

    def _transform_precomputed(self, D: Any) -> Array:
        links = links_from_matrix(D, self.n_neighbors_, self.radius)
        same = links.lengths == 0
        known = same.any(axis=1)
        shares = same[known] / same[known].sum(axis=1, keepdims=True)
        embedding = move(self.embedding_, HERE)
        placed = np.empty((D.shape[0], embedding.shape[1]))
        there = embedding[links.indices[known]]
        placed[known] = np.einsum("qk,qkd->qd", shares, there)
        if not known.all():
            links = Links(links.indices[~known], links.lengths[~known])
            links = move(links, Home(home_of(self.embedding_).device))
            placed[~known] = move(self._place(links, D[~known]), HERE)
        return placed

    def _transform_samples(self, X: Array) -> Array:
        xp = array_namespace(X)
        near = self._find_query_neighbors(X)
        first, distance = near.nearest
        known = distance == 0
        shape = (X.shape[0], self.embedding_.shape[1])
        placed = xp.empty(shape, dtype=X.dtype, device=X.device)
        here, there = home_of(X), Home(home_of(self.embedding_).device)
        if known.any():
            embedding = move(self.embedding_, here)
            placed[known] = self._settle(first[known], embedding)
        if not known.all():
            links = self._link(X[~known], near.rows(~known))
            placed[~known] = move(self._place(move(links, there), X[~known]), here)
        return placed

    def _settle(self, first: Array, embedding: Array) -> Array:
        """Place queries at the mean of the training samples they are identical to."""
        if not self._has_twins:
            return embedding[first]
        return _mean_of_twins(self._train_X, embedding, first)

    def _embed(self, edges: EdgeList) -> Array:
        raise NotImplementedError

    def _place(self, links: Links, X: Array) -> Array:
        raise NotImplementedError

    def _components(self, pairs: Pairs, weak: Components) -> Components:
        """Find the parts of the graph that the embedding needs to be one."""
        return weak

    def _seed(self) -> np.random.RandomState:
        """Return the source of solver start vectors; fixed unless the user seeds it."""
        return check_random_state(0 if self.random_state is None else self.random_state)

    def _check_samples(self, X: Any, *, reset: bool) -> Any:
        precomputed = self._is_precomputed()
        if precomputed and sp.issparse(X):
            check_structure(X)
        X = check_samples(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if precomputed else False,
            copy=reset,  # the model must not change when its user's array does
            ensure_min_samples=2 if reset else 1,
        )
        if precomputed:
            check_dissimilarities(move(X, HERE), square=reset)
        else:
            check_magnitude(X, spread=reset)
        return X

    def _read_edges(self, D: Any) -> EdgeList:
        """Take the graph and its lengths from a matrix of dissimilarities."""
        edges = edges_from_matrix(D, self.n_neighbors_, self.radius)
        joined = self._connect(edges.pairs, D)
        return edges if joined is edges.pairs else edges_along(D, joined)

    def _measure_edges(
        self,
        X: Array,
        classes: Array | None,
        shared: SharedStages | None,
    ) -> EdgeList:
        """Run neighbours -> patches -> dissimilarity."""
        dissimilarity = get_dissimilarity(self.dissimilarity)
        compare = None if shared is None else shared.compare
        self._on_demand = compare is not None
        self._check_room(X, dissimilarity, deferred=compare is not None)
        begin_stage("neighbours", STAGES)
        near = self._find_neighbors(X, shared)
        if near is None:
            pairs = complete_graph(X.shape[0])
        else:
            pairs = pairs_from_directed(X.shape[0], *near.relation)
        rule = get_label_rule(self.label_rule)
        if classes is not None and rule.removes_edges:
            pairs = remove_edges_between(pairs, classes, X, n_jobs=self.n_jobs)
        pairs = self._connect(pairs, X)
        begin_stage("patches", STAGES)
        self._variance = mean_variance(X)
        if near is not None and dissimilarity.needs_gaussians:
            near = self._choose_patches(dissimilarity, X, near)
        i, j = pairs.source, pairs.target
        if compare is not None:
            self._described = self._defer_patches(dissimilarity, near)
            begin_stage("edges", STAGES)
            values = compare(self._described, pairs)
        else:
            order = self._order_by_cell()
            described = self._describe_training(dissimilarity, near, order)
            self._described = described
            begin_stage("edges", STAGES)
            values = compare_pairs(
                dissimilarity,
                described,
                described,
                i,
                j,
                order=order,
                n_jobs=self.n_jobs,
            )
        if rule.needs_euclidean:
            squared = hosted(squared_distances)(X, X, i, j, n_jobs=self.n_jobs)
            values = replace(values, euclidean=squared**0.5)
        ends = (None, None) if classes is None else (classes[i], classes[j])
        return EdgeList(pairs, apply_label_rule(self.label_rule, values, *ends))

    def _connect(self, pairs: Pairs, X: Any) -> Pairs:
        weak = weak_components(pairs)
        self.n_connected_components_ = weak.count
        removed = get_label_rule(self.label_rule).removes_edges
        return join_components(
            pairs,
            self._components(pairs, weak),
            X,
            n_neighbors=self.n_neighbors_,
            radius=self.radius,
            label_rule=self.label_rule if removed else None,
            precomputed=self._is_precomputed(),
            n_jobs=self.n_jobs,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = self._is_precomputed()
        tags.target_tags.required = self.label_rule is not None
        return tags


def check_placed(placed: Array) -> None:
    """Raise ValueError for coordinates that are no finite numbers."""
    lost = int((placed - placed != 0).any(axis=1).sum())
    if lost:
        raise ValueError(
            f"{lost} of {placed.shape[0]} samples are too far from the training "
            "samples to be placed. Check their units."
        )


@hosted
def _mean_of_twins(
    X: np.ndarray, embedding: np.ndarray, first: np.ndarray
) -> np.ndarray:
    """Return the mean place of all training samples that equal the given ones."""
    _, group, count = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    sums = [np.bincount(group, column) for column in embedding.T]
    mean = np.column_stack(sums) / count[:, None]
    several = (count > 1)[group[first], None]
    return np.where(several, mean[group[first]], embedding[first])
