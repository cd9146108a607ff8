"""CauchyEmbedding: a similarity graph, a decay of distance, and projected ascent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..backends.backend import Array, array_namespace
from ..graph.weights import edge_weights, edges_of, laplacian
from ..records import EdgeList, Links
from ..solvers.gradient import Objective, ascend, find_multiplier, place_by_fixed_point
from ..solvers.objectives import DECAYS
from ..solvers.spectral import fix_signs, smallest_eigenpairs
from ..validation import LARGEST, Float, Integer
from .base import PatchEmbedding
from .links import Solution
from .stored.rules import Count, FittedRule, Number, Numbers

GRAPH_SCALE, DENSE_SCALE = 0.3, 1.0
"""Widths of the decay, relative to the spread of an embedding: see `decay_scale`."""


@dataclass(frozen=True)
class FixedPoint(Solution):
    """Places new samples where the slope of the objective vanishes.

    Attributes
    ----------
    multiplier : array (d, d)
        Lagrange's, of the constraint that coordinates are orthonormal.
    decay : str
        Name of the decay Γ.
    sigma : float
        Its width σ.
    width : float
        t of the weight exp(-d²/t).
    zero : float
        The squared length whose weight is 1.
    strongest_edge : float
        Largest weight of an edge.
    """

    multiplier: Array
    decay: str
    sigma: float
    width: float
    zero: float
    strongest_edge: float

    def place(
        self, links: Links, X: Array, embedding: Array, n_jobs: int | None
    ) -> Array:
        """Return the coordinates of linked samples."""
        return place_by_fixed_point(
            (self.zero - links.lengths**2) / self.width,
            links.indices,
            embedding,
            self.multiplier,
            DECAYS[self.decay],
            self.sigma,
            strongest_edge=self.strongest_edge,
        )

    def stored(self) -> dict[str, Any]:
        """Return the multiplier."""
        return {"_multiplier": self.multiplier}


class CauchyEmbedding(PatchEmbedding):
    """Graph embedding that keeps short distances.

    Laplacian eigenmaps minimise Σ w_ij d_ij², which long distances dominate. This
    maximises Σ w_ij Γ(d_ij) [1]_. The decay Γ is steep near 0 and flat far away, so
    that similar samples stay close. Coordinates are orthonormal and have mean zero. The
    ascent starts from the Laplacian embedding.

    Parameters
    ----------
    n_components : int, default=2
        Coordinates of the embedding.
    decay : {"cauchy", "gaussian", "exponential", "linear", "laplacian"}
        Γ(d): σ²/(d²+σ²), exp(-d²/σ²), exp(-d/σ), -d or -d². Default: "cauchy". The
        exponential and linear decays have a cusp at 0, where the ascent can stall.
    decay_scale : float or "auto", default="auto"
        c of σ = c·√(2d/(n-1)), d coordinates and n samples: that root is the RMS
        distance of any feasible embedding. At 30 and more it is the Laplacian
        embedding; below .1 it is slow and noisy. "auto" is .3 on a neighbour graph and
        1 on all pairs.
    n_neighbors : int, float, "auto" or None, default=10
        Neighbours of a sample, itself not counted; a float is a fraction of the
        samples. "auto" fits several sizes from 4 to 40 and takes the one with the most
        trustworthy embedding. None compares all pairs, as the paper does: memory and
        time then grow with the square of the samples.
    radius : float or None, default=None
        Neighbours are all samples within this distance (inf: all samples). Set
        `n_neighbors=None` with it. A sample without neighbours is joined to the others
        by closest pairs, with a warning; its patch has its nearest sample. A new sample
        without neighbours is placed by its nearest training sample, with a warning.
    metric : str or callable, default="minkowski"
        Distance of samples, as in scikit-learn: it finds the neighbours and, with
        `dissimilarity="euclidean"`, is the length of an edge. Patches need a space of
        vectors: with another dissimilarity it finds the neighbours only, and a warning
        says so. With "precomputed", X is a matrix (n_samples, n_samples) of distances,
        dense or, as `KNeighborsTransformer` returns it, sparse.
    p : float, default=2
        Power of the metric "minkowski": 2 is Euclidean, 1 "manhattan".
    metric_params : dict or None, default=None
        Further parameters of the metric.
    dissimilarity : str or callable, default="euclidean"
        Dissimilarity of an edge. "euclidean" compares the samples; "kl",
        "bhattacharyya", "hellinger", "cauchy_schwarz", "wasserstein" and "fisher_rao"
        compare the Gaussians of patches, "kde" their kernel density estimates,
        "curvature" and "principal_angles" their directions; "precomputed" is read from
        X. A callable takes two equally long batches of `patchfold.Patches` and returns
        one number >= 0 per pair. Patches need an `n_neighbors`.
    kernel_width : float or "auto", default="auto"
        t of the similarity exp(-d²/t); "auto" is the squared mean of d over the edges.
    min_distance : float, default=0.0
        If positive, points closer than this part of the RMS distance push each other
        away: for pictures with less overlap, at a price in accuracy.
    max_iter : int, default=100
        Steps of the ascent at most.
    tol : float, default=1e-5
        The ascent stops when a step closes less than this part of the gap between the
        objective and Γ(0)·Σw.
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
        nearest points, in inverse proportion, but at least a third. The patch of a new
        sample has the size of that of its nearest training sample.
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
    eigen_solver : {"auto", "dense", "arpack"}, default="auto"
        Solver of the Laplacian start; "auto" is dense for small samples. "arpack" may
        miss some of several equal eigenvalues, as a symmetric grid has them.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    verbose : bool or callable, default=False
        Whether `fit` reports its stages, the part that is done, and times. A callable
        gets a record at each step: `stage`, `number`, `n_stages`, `done`, `seconds`.
    random_state : int, RandomState or None, default=None
        Seeds the start of an iterative eigensolver. None is a fixed start, not a random
        one.

    Attributes
    ----------
    embedding_ : array (n_samples, n_components)
        Coordinates of the training samples.
    graph_ : sparse array (n_samples, n_samples)
        Dissimilarity of every edge, zeros stored.
    affinity_ : sparse array (n_samples, n_samples)
        Edge weights.
    objective_ : array (n_iter_ + 1,)
        The objective at the start and after each step; it never falls.
    n_iter_ : int
        Steps taken.
    kernel_width_, sigma_ : float
        The t and the σ that were used.
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
    cauchy : The paper's settings.
    patchfold.metrics.local_topology_violations : What the method means to avoid.

    References
    ----------
    .. [1] D. Luo, C. Ding, F. Nie, H. Huang, "Cauchy graph embedding", ICML, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import patchfold as pf
    >>> model = pf.CauchyEmbedding(n_neighbors=40).fit(load_iris().data)
    >>> model.embedding_.shape
    (150, 2)
    """

    _parameter_rules: ClassVar[dict[str, Any]] = {
        **PatchEmbedding._parameter_rules,
        "decay": (*DECAYS,),
        "decay_scale": (Float(0, open_low=True), "auto"),
        "kernel_width": (Float(0, open_low=True), "auto"),
        "min_distance": Float(0),
        "max_iter": Integer(0),
        "tol": Float(0),
    }
    _fitted_rules: ClassVar[dict[str, FittedRule]] = {
        **PatchEmbedding._fitted_rules,
        "kernel_width_": Number(0, open_low=True),
        "sigma_": Number(0, open_low=True, high=LARGEST),  # it is squared
        "objective_": Numbers(("steps",)),
        "n_iter_": Count(),
        "_multiplier": Numbers(("components", "components")),
    }
    _made_again: ClassVar[frozenset[str]] = PatchEmbedding._made_again | {
        "affinity_",
    }
    _can_take_all_pairs: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int = 2,
        *,
        decay: str = "cauchy",
        decay_scale: float | str = "auto",
        n_neighbors: int | float | str | None = 10,
        radius: float | None = None,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        dissimilarity: Any = "euclidean",
        kernel_width: float | str = "auto",
        min_distance: float = 0.0,
        max_iter: int = 100,
        tol: float = 1e-5,
        label_rule: str | None = None,
        include_center: bool = True,
        adaptive_patches: bool = False,
        covariance: str = "full",
        n_directions: float | None = None,
        shrinkage: float | str = 0.1,
        ridge: float = 1e-6,
        neighbors_algorithm: Any = "auto",
        eigen_solver: str = "auto",
        n_jobs: int | None = None,
        verbose: Any = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.decay = decay
        self.decay_scale = decay_scale
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.dissimilarity = dissimilarity
        self.kernel_width = kernel_width
        self.min_distance = min_distance
        self.max_iter = max_iter
        self.tol = tol
        self.label_rule = label_rule
        self.include_center = include_center
        self.adaptive_patches = adaptive_patches
        self.covariance = covariance
        self.n_directions = n_directions
        self.shrinkage = shrinkage
        self.ridge = ridge
        self.neighbors_algorithm = neighbors_algorithm
        self.eigen_solver = eigen_solver
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _solve(self, edges: EdgeList, X: Any) -> tuple[Array, FixedPoint]:
        n = edges.pairs.n_samples
        if self.kernel_width == "auto":
            self.kernel_width_ = float(edges.length.mean()) ** 2 or 1.0
        else:
            self.kernel_width_ = float(self.kernel_width)
        weights, zero = edge_weights(edges, self.kernel_width_)
        self.affinity_ = edges.to_csr(weights)
        matrix, degrees = laplacian(self.affinity_, fill=True)
        _, start = smallest_eigenpairs(
            matrix,
            self.n_components,
            array_namespace(degrees).ones_like(degrees),
            solver=self.eigen_solver,
            n_jobs=self.n_jobs,
            seed=self._seed(),
        )
        spread = float(np.sqrt(2 * self.n_components / (n - 1)))
        scale = self.decay_scale
        if scale == "auto":
            complete = edges.pairs.source.shape[0] == n * (n - 1) // 2
            scale = DENSE_SCALE if complete else GRAPH_SCALE
        self.sigma_ = float(scale) * spread
        objective = Objective(
            edges.pairs,
            weights,
            DECAYS[self.decay],
            self.sigma_,
            self.min_distance * spread,
        )
        R, self.objective_ = ascend(
            objective, start, max_iter=self.max_iter, tol=self.tol
        )
        self.n_iter_ = self.objective_.shape[0] - 1
        R = fix_signs(R)
        # New samples are placed without the penalty.
        multiplier = find_multiplier(replace(objective, min_distance=0.0), R)
        return R, self._solution(multiplier, zero, float(weights.max()))

    def _solution(
        self, multiplier: Array, zero: float, strongest_edge: float
    ) -> FixedPoint:
        sigma, width = self.sigma_, self.kernel_width_
        return FixedPoint(multiplier, self.decay, sigma, width, zero, strongest_edge)

    def _solve_again(self, stored: dict[str, Any]) -> FixedPoint:
        edges = edges_of(self.graph_)
        weights, zero = edge_weights(edges, self.kernel_width_)
        self.affinity_ = edges.to_csr(weights)
        return self._solution(stored["_multiplier"], zero, float(weights.max()))
