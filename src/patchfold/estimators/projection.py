"""PatchProjection: edge weights, then the linear map that keeps neighbours together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, check_is_fitted

from ..backends.backend import NUMPY, Array, backend_for
from ..dissimilarity.table import DISSIMILARITIES
from ..graph.weights import edge_weights, edges_of, resolve_width
from ..neighbors.metric import METRICS
from ..records import EdgeList
from ..solvers.projection import Projection, locality_projection
from ..validation import PRECOMPUTED, Float, Having
from .base import PatchEmbedding, check_placed
from .links import Fitted, Solution
from .stored.embedding import SEARCH_RULES
from .stored.rules import (
    Count,
    FittedRule,
    Matrix,
    MayLack,
    Number,
    Numbers,
    OrNone,
    Sizes,
    Whole,
    Words,
)
from .stored.table_encoder import Encoder, check_columns

_OWN_RULES = {
    name: rule
    for name, rule in PatchEmbedding._parameter_rules.items()
    if name not in ("eigen_solver", "random_state")
}


@dataclass(frozen=True)
class LinearMap(Solution):
    """Places new samples by a matrix product: they need no links."""

    found: Projection

    def stored(self) -> dict[str, Any]:
        """Return the way back."""
        return {"_inverse": self.found.inverse}


class PatchProjection(PatchEmbedding):
    """Locality-preserving projection over a graph that compares neighbourhoods.

    The linear version of `PatchEigenmaps`: coordinates are (x - mean) A, with the A
    that makes them vary least along the edges, XᵀLX a = λ XᵀDX a [1]_. A new sample is
    placed by the same matrix product, without neighbours: exactly and fast. The
    loadings of every feature can be read. But a linear map cannot unroll.

    Parameters
    ----------
    n_components : int, default=2
        Coordinates of the embedding.
    n_neighbors : int, float, "auto" or None, default=15
        Neighbours of a sample, itself not counted; a float is a fraction of the
        samples. "auto" fits several sizes from 4 to 40 and takes the one with the most
        trustworthy embedding.
    radius : float or None, default=None
        Neighbours are all samples within this distance (inf: all samples). Set
        `n_neighbors=None` with it. A sample without neighbours is joined to the others
        by closest pairs, with a warning; its patch has its nearest sample.
    metric : str or callable, default="minkowski"
        Distance of samples, as in scikit-learn: it finds the neighbours and, with
        `dissimilarity="euclidean"`, is the length of an edge. Patches need a space of
        vectors: with another dissimilarity it finds the neighbours only, and a warning
        says so.
    p : float, default=2
        Power of the metric "minkowski": 2 is Euclidean, 1 "manhattan".
    metric_params : dict or None, default=None
        Further parameters of the metric.
    dissimilarity : str or callable, default="kl"
        Dissimilarity of an edge. "euclidean" compares the samples; "kl",
        "bhattacharyya", "hellinger", "cauchy_schwarz", "wasserstein" and "fisher_rao"
        compare the Gaussians of patches, "kde" their kernel density estimates,
        "curvature" and "principal_angles" their directions; "precomputed" is read from
        X. A callable takes two equally long batches of `patchfold.Patches` and returns
        one number >= 0 per pair.
    kernel_width : float or "auto", default="auto"
        t of the weight exp(-d²/t); "auto" is the median of d² over the edges.
    reg : float, default=1e-3
        Ridge on XᵀDX, in units of its mean eigenvalue. Directions in which the samples
        do not vary are left out in any case. With more features than samples and no
        ridge, the training samples lie where `PatchEigenmaps` puts them.
    label_rule : {"klap", "entropic", "within"} or None, default=None
        How class labels change an edge. "klap" takes the smallest curvature within a
        class and the sum of the largest between classes; "entropic" the smaller of
        Euclidean length and dissimilarity, or their sum; "within" removes the edges
        between classes. An edge with an unlabelled end does not change.
    include_center : bool, default=True
        Whether a sample is a point of its own patch.
    adaptive_patches : bool, default=False
        Whether patches are smaller where the samples curve. If tangent spaces turn more
        around a sample than around half of the samples, its patch keeps fewer of its
        nearest points, in inverse proportion, but at least a third.
    covariance : {"full", "diagonal", "robust"}, default="full"
        Model of a patch: "diagonal" keeps variances only; "robust" takes the spatial
        median for the mean and pulls in the farther half of the points.
    n_directions : int, float or None, default=None
        Principal directions that a patch keeps. A float keeps as few as explain this
        part of its variance. In a Gaussian, the other directions all get the mean of
        their variances; in a curvature they do not count. None keeps all
        ("principal_angles": 0.9).
    shrinkage : float, "oas" or "ledoit_wolf", default=0.1
        Part γ of a patch covariance that is replaced by its mean variance. "oas" and
        "ledoit_wolf" choose it for each patch, by the rules of scikit-learn.
    ridge : float, default=1e-6
        Floor ρ of every patch covariance, in units of the mean feature variance.
    neighbors_algorithm : str or KNN transformer, default="auto"
        Neighbour search: "exact", "approximate" (finds 98 % of the neighbours or more,
        and .9 in the worst 1 % of rows), or "auto", exact up to 30,000 samples. Or an
        object like scikit-learn's `KNeighborsTransformer`.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    verbose : bool or callable, default=False
        Whether `fit` reports its stages, the part that is done, and times. A callable
        gets a record at each step: `stage`, `number`, `n_stages`, `done`, `seconds`.

    Attributes
    ----------
    projection_ : array (n_features_in_, n_components)
        The matrix A.
    mean_ : array (n_features_in_,)
        Mean of the training samples, weighted by their degrees.
    embedding_ : array (n_samples, n_components)
        Coordinates of the training samples.
    graph_ : sparse array (n_samples, n_samples)
        Dissimilarity of every edge, zeros stored.
    affinity_ : sparse array (n_samples, n_samples)
        Edge weights.
    eigenvalues_ : array (n_components,)
        λ of each coordinate, ascending.
    kernel_width_ : float
        The t that was used.
    n_neighbors_ : int or None
        Neighbours used, where a number of them was asked for.
    patch_sizes_ : int array (n_samples,) or None
        Neighbours in every patch; None where samples are compared, not patches.
    n_probes_ : int or None
        Cells of samples that an approximate search looks into for a row; None after
        another search.
    neighbors_recall_ : float or None
        Share of the true neighbours that an approximate search found, measured on 2,048
        rows; None after another search.
    n_connected_components_ : int
        Components of the neighbour graph before they were joined.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : array (n_features_in_,)
        Their names, where X had string names.

    See Also
    --------
    PatchEigenmaps : The same, but the map need not be linear.

    References
    ----------
    .. [1] X. He, P. Niyogi, "Locality preserving projections", NIPS, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> import patchfold as pf
    >>> X = scale(load_wine().data)
    >>> model = pf.PatchProjection(n_neighbors=20).fit(X[:150])
    >>> model.transform(X[150:]).shape, model.projection_.shape
    ((28, 2), (13, 2))
    >>> model.inverse_transform(model.transform(X[150:])).shape
    (28, 13)
    """

    _parameter_rules: ClassVar[dict[str, Any]] = {
        **_OWN_RULES,
        "dissimilarity": (
            *DISSIMILARITIES,
            Having(("__call__",), "a callable on patches"),
        ),
        "metric": (
            *(name for name in METRICS if name != PRECOMPUTED),
            Having(("__call__",), "a callable on two samples"),
        ),
        "kernel_width": (Float(0, open_low=True), "auto"),
        "reg": Float(0),
    }

    _fitted_rules: ClassVar[dict[str, FittedRule]] = {
        "embedding_": Numbers(("samples", "components")),
        "projection_": Numbers(("features", "components")),
        "mean_": Numbers(("features",)),
        "_inverse": Numbers(("components", "features")),
        "eigenvalues_": Numbers(("components",)),
        "kernel_width_": Number(0, open_low=True),
        "n_features_in_": Count(1),
        "encoder_": Encoder(),
        "feature_names_in_": MayLack(Words(("columns",))),
        "n_neighbors_": OrNone(Count(1, "samples")),
        **SEARCH_RULES,
        "n_connected_components_": Count(1, "samples"),
        "patch_sizes_": OrNone(Whole(("samples",), below="samples")),
        "graph_": Matrix(symmetric=True, low=0.0),
        "_n_features_out": Count("components", "components"),
    }
    _made_again: ClassVar[frozenset[str]] = frozenset({"affinity_"})
    _links_new_samples: ClassVar[bool] = False

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | float | str | None = 15,
        radius: float | None = None,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        dissimilarity: Any = "kl",
        kernel_width: float | str = "auto",
        reg: float = 1e-3,
        label_rule: str | None = None,
        include_center: bool = True,
        adaptive_patches: bool = False,
        covariance: str = "full",
        n_directions: float | None = None,
        shrinkage: float | str = 0.1,
        ridge: float = 1e-6,
        neighbors_algorithm: Any = "auto",
        n_jobs: int | None = None,
        verbose: Any = False,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.dissimilarity = dissimilarity
        self.kernel_width = kernel_width
        self.reg = reg
        self.label_rule = label_rule
        self.include_center = include_center
        self.adaptive_patches = adaptive_patches
        self.covariance = covariance
        self.n_directions = n_directions
        self.shrinkage = shrinkage
        self.ridge = ridge
        self.neighbors_algorithm = neighbors_algorithm
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _make_again(self, sizes: Sizes) -> None:
        check_columns(self, sizes["features"], sizes)
        self._default_search()
        edges = edges_of(self.graph_)
        weights, _ = edge_weights(edges, self.kernel_width_)
        self.affinity_ = edges.to_csr(weights)
        found = Projection(
            mean=self.mean_,
            matrix=self.projection_,
            eigenvalues=self.eigenvalues_,
            inverse=self.__dict__.pop("_inverse"),
        )
        self._fitted = Fitted(None, LinearMap(found))

    def _solve(self, edges: EdgeList, X: Array) -> tuple[Array, LinearMap]:
        self.kernel_width_ = resolve_width(self.kernel_width, edges.length)
        weights, _ = edge_weights(edges, self.kernel_width_)
        self.affinity_ = edges.to_csr(weights)
        found = locality_projection(X, self.affinity_, self.n_components, self.reg)
        self.mean_, self.projection_ = found.mean, found.matrix
        self.eigenvalues_ = found.eigenvalues
        return self._project(X), LinearMap(found)

    def _project(self, X: Array) -> Array:
        X = backend_for(self.mean_).bring(X)
        if sp.issparse(X):
            return X @ self.projection_ - self.mean_ @ self.projection_
        return (X - self.mean_) @ self.projection_

    def transform(self, X: Any) -> Array:
        """Project samples: (X - mean_) @ projection_. No label is ever used.

        Parameters
        ----------
        X : array-like (n_queries, n_features)
            Samples.

        Returns
        -------
        embedding : array (n_queries, n_components)
            Coordinates.
        """
        check_is_fitted(self)
        backend = backend_for(X)
        placed = self._project(self._check_source(X, reset=False))
        check_placed(placed)
        return backend.give_back(placed)

    def inverse_transform(self, X: Any) -> Array:
        """Return the samples that coordinates stand for, by least squares.

        Of all linear maps back, it is the one with the least squared error over the
        training samples, weighted by their degrees. `transform` of the result gives the
        coordinates again.

        Parameters
        ----------
        X : array-like (n_queries, n_components)
            Coordinates.

        Returns
        -------
        samples : array (n_queries, n_features) or data frame
            In the units of the training samples. A frame if `fit` was given one that
            it encoded.
        """
        check_is_fitted(self)
        backend = backend_for(X)
        coordinates = check_array(NUMPY.bring(X), dtype=np.float64)
        if coordinates.shape[1] != self.n_components:
            raise ValueError(
                f"X has {coordinates.shape[1]} columns, but coordinates have "
                f"n_components={self.n_components}."
            )
        found: Projection = self._fitted.solution.found
        mean, inverse = NUMPY.bring((found.mean, found.inverse))
        samples = coordinates @ inverse + mean
        if "encoder_" in vars(self):
            return self.encoder_.inverse_transform(samples)
        return backend.give_back(samples)
