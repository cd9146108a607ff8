"""The one `fit` and the one `transform` that every estimator shares.

An estimator adds two methods: `_embed` turns measured edges into coordinates, and
`_place` puts new samples, linked to training samples, among them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._distances import squared_distances
from .._memory import require_graph_memory
from .._types import EdgeList, Links, Pairs
from .._validation import check_parameters
from ..connectivity import Components, join_components, weak_components
from ..dissimilarity import Dissimilarity, compare_pairs, get_dissimilarity
from ..graph import complete_graph, undirected_union
from ..labels import (
    apply_label_rule,
    encode_labels,
    get_label_rule,
    refuse_precomputed,
    remove_edges_between,
)
from ..neighbors import (
    choose_search,
    find_neighbors,
    find_query_neighbors,
    resolve_n_neighbors,
)
from ..patches import Patches, fit_patches, mean_variance
from ..precomputed import (
    check_dissimilarities,
    edges_along,
    edges_from_matrix,
    links_from_matrix,
)
from ..selection import choose_n_neighbors
from ..sweep import SharedStages
from ._parameters import COMMON_RULES

QUERY_LINKS = 10
"""Links of a new sample under a label rule: see `PatchEmbedding.transform`."""


class PatchEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Neighbours, patches, dissimilarity; subclasses add the embedding."""

    n_components: int
    n_neighbors: Any
    dissimilarity: Any
    label_rule: str | None
    include_center: bool
    covariance: str
    n_directions: float | None
    shrinkage: float | str
    ridge: float
    neighbors_algorithm: Any
    eigen_solver: str
    n_jobs: int | None
    random_state: Any
    embedding_: np.ndarray

    _parameter_rules: ClassVar[dict[str, Any]] = COMMON_RULES

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the samples of X.

        Parameters
        ----------
        X : array-like (n_samples, n_features)
            Samples; with `dissimilarity="precomputed"`, a symmetric matrix
            (n_samples, n_samples) of dissimilarities, dense or sparse.
        y : array-like (n_samples,), default=None
            Class labels, used only by a `label_rule`; -1 marks an unlabelled sample.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y)

    def _fit(self, X: Any, y: Any, shared: SharedStages | None = None) -> Self:
        """Fit, with the neighbours and patches of a sweep if one shares them."""
        check_parameters(self)
        X = self._check_samples(X, reset=True)
        n = X.shape[0]
        if self.n_components >= n:
            raise ValueError(
                f"n_components={self.n_components} must be less than the number of "
                f"samples, n_samples={n}."
            )
        classes = None
        if self.label_rule is not None:
            if self._is_precomputed():
                refuse_precomputed(self.label_rule)
            classes = encode_labels(y, n, type(self).__name__)
        self.n_neighbors_ = None
        if self.n_neighbors is not None:
            wanted = self.n_neighbors
            if wanted == "auto":
                wanted = choose_n_neighbors(self, X, y)
            if not isinstance(X, np.ndarray):  # a graph: only new samples need a number
                wanted = min(wanted, n - 1)
            self.n_neighbors_ = resolve_n_neighbors(wanted, n)
        self._train_X = X
        if self._is_precomputed():
            edges = self._read_edges(X)
        else:
            edges = self._measure_edges(X, classes, shared)
        self.graph_ = edges.to_csr()
        self.embedding_ = self._embed(edges)
        self._n_features_out = self.n_components
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
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

    def transform(self, X: Any) -> np.ndarray:
        """Place new samples in the embedding. No label of a new sample is ever used.

        The patch of a new sample is itself with its nearest training samples; its
        dissimilarity to their patches links it to the embedding. A sample identical
        to a training sample gets that sample's coordinates (the mean of them, if
        several are identical), so `transform(X_train)` is `embedding_`. Where only
        dissimilarities are known, a dissimilarity of 0 means identical.

        Under a label rule a new sample keeps all of its patch but only its 10 nearest
        links, and weighs them by the label-free value. In training, labels tell a
        near edge from a far one, which is why KLAP can use three quarters of all
        samples as neighbours; a new sample has no label, and linked to so many it
        would land in the middle of everything. Whom it is near is all it knows.

        Parameters
        ----------
        X : array-like (n_queries, n_features)
            New samples; with `dissimilarity="precomputed"`, their dissimilarities to
            the training samples, (n_queries, n_samples), dense or sparse.

        Returns
        -------
        embedding : array (n_queries, n_components)
            Coordinates.
        """
        check_is_fitted(self)
        X = self._check_samples(X, reset=False)
        if self._is_precomputed():
            near = links_from_matrix(X, self.n_neighbors_)
            indices, same = near.indices, near.lengths == 0
        else:
            found = find_query_neighbors(
                X,
                self._train_X,
                self.n_neighbors_ or self._train_X.shape[0],
                search=self._search,
                n_jobs=self.n_jobs,
            )
            indices, same = found.indices, found.distances == 0
        placed = np.empty((X.shape[0], self.embedding_.shape[1]))
        known = same.any(axis=1)
        if known.any():
            placed[known] = self._settle(indices[known], same[known])
        if not known.all():
            new = X[~known]
            if self._is_precomputed():
                links = Links(indices[~known], near.lengths[~known])
            else:
                links = self._link(new, indices[~known])
            placed[~known] = self._place(links, new)
        return placed

    def _settle(self, indices: np.ndarray, same: np.ndarray) -> np.ndarray:
        """Place queries at the mean of the training samples they are identical to."""
        if self._is_precomputed():
            shares = same / same.sum(axis=1, keepdims=True)
            return np.einsum("qk,qkd->qd", shares, self.embedding_[indices])
        first = indices[:, 0]
        if not self._has_twins:
            return self.embedding_[first]
        _, group, count = np.unique(
            self._train_X, axis=0, return_inverse=True, return_counts=True
        )
        sums = [np.bincount(group, column) for column in self.embedding_.T]
        mean = np.column_stack(sums) / count[:, None]
        several = (count > 1)[group[first], None]
        return np.where(several, mean[group[first]], self.embedding_[first])

    def _embed(self, edges: EdgeList) -> np.ndarray:
        raise NotImplementedError

    def _place(self, links: Links, X: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _components(self, pairs: Pairs) -> Components:
        """Find the parts of the graph that the embedding needs to be one."""
        return weak_components(pairs)

    def _is_precomputed(self) -> bool:
        return isinstance(self.dissimilarity, str) and (
            self.dissimilarity == "precomputed"
        )

    def _seed(self) -> np.random.RandomState:
        """Return the source of solver start vectors; fixed unless the user seeds it."""
        return check_random_state(0 if self.random_state is None else self.random_state)

    def _check_samples(self, X: Any, *, reset: bool) -> Any:
        precomputed = self._is_precomputed()
        X = validate_data(
            self,
            X,
            reset=reset,
            dtype=np.float64,
            accept_sparse="csr" if precomputed else False,
            copy=reset,  # the model must not change when its user's array does
            ensure_min_samples=2 if reset else 1,
        )
        if precomputed:
            check_dissimilarities(X, square=reset)
        return X

    def _read_edges(self, D: Any) -> EdgeList:
        """Take the graph and its lengths from a matrix of dissimilarities."""
        edges = edges_from_matrix(D, self.n_neighbors_)
        joined = self._connect(edges.pairs, D)
        return edges if joined is edges.pairs else edges_along(D, joined)

    def _measure_edges(
        self,
        X: np.ndarray,
        classes: np.ndarray | None,
        shared: SharedStages | None,
    ) -> EdgeList:
        """Run neighbours -> patches -> dissimilarity."""
        dissimilarity = get_dissimilarity(self.dissimilarity)
        needs = dissimilarity.needs_gaussians, dissimilarity.needs_points
        require_graph_memory(X, self.n_neighbors_, *needs)
        indices = self._find_neighbors(X, shared)
        if indices is None:
            pairs = complete_graph(X.shape[0])
        else:
            pairs = undirected_union(indices)
        rule = get_label_rule(self.label_rule)
        if classes is not None and rule.removes_edges:
            pairs = remove_edges_between(pairs, classes, X, n_jobs=self.n_jobs)
        pairs = self._connect(pairs, X)
        self._variance = mean_variance(X)
        self._described = dissimilarity.describe(
            self._fit_patches(dissimilarity, X, indices, shared)
        )
        i, j = pairs.source, pairs.target
        values = compare_pairs(
            dissimilarity, self._described, self._described, i, j, n_jobs=self.n_jobs
        )
        if rule.needs_euclidean:
            squared = squared_distances(X, X, i, j, n_jobs=self.n_jobs)
            values = replace(values, euclidean=np.sqrt(squared))
        ends = (None, None) if classes is None else (classes[i], classes[j])
        return EdgeList(pairs, apply_label_rule(self.label_rule, values, *ends))

    def _find_neighbors(
        self, X: np.ndarray, shared: SharedStages | None
    ) -> np.ndarray | None:
        """Find who is near whom; None if everybody is (`n_neighbors=None`)."""
        self._search, self._has_twins = None, True
        if self.n_neighbors_ is None:
            return None
        if shared is not None:
            self._search, found = shared.search, shared.neighbors
            self._has_twins = bool((found.distances[:, 0] == 0).any())
            return found.indices[:, : self.n_neighbors_]
        self._search = choose_search(
            self.neighbors_algorithm, X, self.n_neighbors_, n_jobs=self.n_jobs
        )
        found = find_neighbors(
            X, self.n_neighbors_, algorithm=self._search, n_jobs=self.n_jobs
        )
        self._has_twins = bool((found.distances[:, 0] == 0).any())
        return found.indices

    def _connect(self, pairs: Pairs, X: Any) -> Pairs:
        self.n_connected_components_ = weak_components(pairs).count
        removed = get_label_rule(self.label_rule).removes_edges
        return join_components(
            pairs,
            self._components(pairs),
            X,
            n_neighbors=self.n_neighbors_,
            label_rule=self.label_rule if removed else None,
            precomputed=self._is_precomputed(),
            n_jobs=self.n_jobs,
        )

    def _fit_patches(
        self,
        dissimilarity: Dissimilarity,
        centers: np.ndarray,
        indices: Any,
        shared: SharedStages | None = None,
    ) -> Patches:
        """Fit the patches of training or new samples, from training neighbours."""
        if not dissimilarity.needs_gaussians:
            return Patches(center=centers)
        if indices is None:
            raise ValueError(
                "n_neighbors=None compares all pairs of samples, but patches need "
                f"neighbours: set n_neighbors, or dissimilarity='euclidean' instead of "
                f"{self.dissimilarity!r}."
            )
        regularized = dissimilarity.regularized
        settings: dict[str, Any] = {
            "shrinkage": self.shrinkage if regularized else 0.0,
            "ridge": self.ridge if regularized else 0.0,
            "variance": self._variance,
            "covariance": self.covariance,
            "n_directions": self.n_directions or dissimilarity.n_directions,
            "keep_points": dissimilarity.needs_points,
            "n_jobs": self.n_jobs,
        }
        if shared is not None:
            return shared.patches.fit(indices.shape[1], **settings)
        return fit_patches(
            centers,
            self._train_X,
            indices,
            include_center=self.include_center,
            **settings,
        )

    def _link(self, X: np.ndarray, neighbors: np.ndarray) -> Links:
        """Link new samples to training samples: how much their patches differ."""
        dissimilarity = get_dissimilarity(self.dissimilarity)
        described = dissimilarity.describe(
            self._fit_patches(dissimilarity, X, neighbors)
        )
        if self.label_rule is not None:
            neighbors = neighbors[:, :QUERY_LINKS]
        values = compare_pairs(
            dissimilarity,
            described,
            self._described,
            np.repeat(np.arange(X.shape[0]), neighbors.shape[1]),
            neighbors.ravel(),
            n_jobs=self.n_jobs,
        )
        lengths = np.asarray(values.label_free).reshape(neighbors.shape)
        return Links(neighbors, lengths)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = self._is_precomputed()
        tags.target_tags.required = self.label_rule is not None
        return tags
