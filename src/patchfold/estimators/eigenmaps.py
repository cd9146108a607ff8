"""PatchEigenmaps: edge weights, a graph Laplacian, its bottom eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..backends.backend import Array, array_namespace
from ..graph.weights import (
    edge_weights,
    edges_of,
    laplacian,
    resolve_width,
    scale_both_sides,
    weigh,
)
from ..records import EdgeList, Links
from ..solvers.nystrom import nystrom
from ..solvers.random_walk import walk_coordinates
from ..solvers.spectral import smallest_eigenpairs
from ..validation import Float, Integer
from .base import PatchEmbedding
from .foreign import names_others
from .links import Solution
from .stored.rules import FittedRule, Number, Numbers

MANY_EDGES = 10_000_000
"""Weights of more edges are not kept while eigenvectors are computed, but made again:
they would be a good part of the memory."""


@dataclass(frozen=True)
class Eigenvectors(Solution):
    """Places new samples among eigenvectors, by Nyström's formula.

    Attributes
    ----------
    eigenvalues : array (d,)
        Of the coordinates.
    width : float
        t of the weight exp(-d²/t).
    zero : float
        The squared length whose weight is 1.
    normalized : bool
        Whether the eigenvectors are those of a random walk.
    strongest_edge : float
        Largest weight of an edge.
    """

    eigenvalues: Array
    width: float
    zero: float
    normalized: bool
    strongest_edge: float

    def place(
        self, links: Links, X: Array, embedding: Array, n_jobs: int | None
    ) -> Array:
        """Return the coordinates of linked samples."""
        return nystrom(
            (self.zero - links.lengths**2) / self.width,
            links.indices,
            embedding,
            self.eigenvalues,
            normalized=self.normalized,
            strongest_edge=self.strongest_edge,
        )


class PatchEigenmaps(PatchEmbedding):
    """Laplacian eigenmaps over a graph that compares neighbourhoods, not points.

    Edges weigh exp(-d²/t), with d the dissimilarity of two patches. With
    `dissimilarity="kl"` and the unnormalised Laplacian this is ELAP [1]_, with
    "curvature", labels and the random-walk Laplacian KLAP [2]_, with "euclidean"
    Laplacian eigenmaps [3]_, equal to scikit-learn's on the same weights.

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
    dissimilarity : str or callable, default="kl"
        Dissimilarity of an edge. "euclidean" compares the samples; "kl",
        "bhattacharyya", "hellinger", "cauchy_schwarz", "wasserstein" and "fisher_rao"
        compare the Gaussians of patches, "kde" their kernel density estimates,
        "curvature" and "principal_angles" their directions; "precomputed" is read from
        X. A callable takes two equally long batches of `patchfold.Patches` and returns
        one number >= 0 per pair.
    kernel_width : float or "auto", default="auto"
        t of the weight exp(-d²/t); "auto" is the median of d² over the edges.
    laplacian : {"random_walk", "unnormalized"}, default="random_walk"
        The eigenproblem: L y = λ D y, or L y = λ y.
    diffusion_time : int or None, default=None
        Steps of a random walk over the graph. With a number this is a diffusion map
        [4]_: coordinates are (1-λ)^steps times the eigenvectors, scaled so that with
        all of them distances are diffusion distances: how far apart two walks are, one
        from each sample, after this many steps. Needs `laplacian="random_walk"`.
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
        "dense" for exact eigenvectors; "auto" is dense for small samples. "arpack" may
        miss some of several equal eigenvalues, as a symmetric grid has them.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    verbose : bool or callable, default=False
        Whether `fit` reports its stages, the part that is done, and times. A callable
        gets a record at each step: `stage`, `number`, `n_stages`, `done`, `seconds`.
    random_state : int, RandomState or None, default=None
        Seeds the start of an iterative solver. None is a fixed start, not a random one.

    Attributes
    ----------
    embedding_ : array (n_samples, n_components)
        Coordinates of the training samples.
    graph_ : sparse array (n_samples, n_samples)
        Dissimilarity of every edge, zeros stored.
    affinity_ : sparse array (n_samples, n_samples)
        Edge weights.
    eigenvalues_ : array (n_components,)
        Eigenvalues of the Laplacian after the trivial one, ascending.
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
    elap, klap : The papers' settings.
    sklearn.manifold.SpectralEmbedding : The same for points instead of patches.

    References
    ----------
    .. [1] A. L. M. Levada, M. F. C. Haddad, "Entropic Laplacian eigenmaps for
       unsupervised metric learning", SIBGRAPI, 2021.
    .. [2] A. L. M. Levada, "K-graph Laplacians for supervised metric learning".
    .. [3] M. Belkin, P. Niyogi, "Laplacian eigenmaps for dimensionality reduction and
       data representation", Neural Computation 15, 2003.
    .. [4] R. R. Coifman, S. Lafon, "Diffusion maps", Applied and Computational Harmonic
       Analysis 21, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> import patchfold as pf
    >>> X = scale(load_wine().data)
    >>> model = pf.PatchEigenmaps(n_neighbors=20).fit(X[:150])
    >>> model.transform(X[150:]).shape
    (28, 2)
    """

    _parameter_rules: ClassVar[dict[str, Any]] = {
        **PatchEmbedding._parameter_rules,
        "kernel_width": (Float(0, open_low=True), "auto"),
        "laplacian": ("random_walk", "unnormalized"),
        "diffusion_time": (Integer(1), None),
    }

    _fitted_rules: ClassVar[dict[str, FittedRule]] = {
        **PatchEmbedding._fitted_rules,
        "kernel_width_": Number(0, open_low=True),
        "eigenvalues_": Numbers(("components",)),
    }
    _draws_pieces: ClassVar[bool] = True
    _made_again: ClassVar[frozenset[str]] = PatchEmbedding._made_again | {
        "affinity_",
    }

    @names_others
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
        laplacian: str = "random_walk",
        diffusion_time: int | None = None,
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
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.dissimilarity = dissimilarity
        self.kernel_width = kernel_width
        self.laplacian = laplacian
        self.diffusion_time = diffusion_time
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

    def _solve(self, edges: EdgeList, X: Any) -> tuple[Array, Eigenvectors]:
        if self.diffusion_time is not None and self.laplacian != "random_walk":
            raise ValueError(
                f"diffusion_time={self.diffusion_time} counts steps of a random walk, "
                f"and laplacian={self.laplacian!r} has none; set "
                "laplacian='random_walk', or diffusion_time=None."
            )
        self.kernel_width_ = resolve_width(self.kernel_width, edges.length)
        weights, zero = edge_weights(edges, self.kernel_width_)
        self.affinity_: Any = edges.to_csr(weights)
        many, strongest = weights.shape[0] > MANY_EDGES, float(weights.max())
        del weights
        matrix, degrees = laplacian(self.affinity_, fill=True)
        if many:
            self.affinity_ = None
        walk = self.laplacian == "random_walk"
        xp = array_namespace(degrees)
        roots = xp.sqrt(degrees) if walk else xp.ones_like(degrees)
        if walk:
            matrix = scale_both_sides(matrix, 1 / roots, overwrite=True)
        self.eigenvalues_, vectors = smallest_eigenpairs(
            matrix,
            self.n_components,
            roots,
            solver=self.eigen_solver,
            n_jobs=self.n_jobs,
            seed=self._seed(),
        )
        del matrix
        if many:
            weights = weigh(edges.length, self.kernel_width_, zero)
            self.affinity_ = edges.to_csr(weights)
        if walk:
            vectors = walk_coordinates(
                vectors, self.eigenvalues_, self.affinity_, degrees
            )
        if self.diffusion_time is not None:
            shrunk = (1 - self.eigenvalues_) ** self.diffusion_time
            vectors = vectors * shrunk * float(degrees.sum()) ** 0.5
        width = self.kernel_width_
        return vectors, Eigenvectors(self.eigenvalues_, width, zero, walk, strongest)

    def _solve_again(self, stored: dict[str, Any]) -> Eigenvectors:
        edges = edges_of(self.graph_)
        weights, zero = edge_weights(edges, self.kernel_width_)
        self.affinity_ = edges.to_csr(weights)
        walk, strongest = self.laplacian == "random_walk", float(weights.max())
        width = self.kernel_width_
        return Eigenvectors(self.eigenvalues_, width, zero, walk, strongest)
