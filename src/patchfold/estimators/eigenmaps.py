"""PatchEigenmaps: edge weights, a graph Laplacian, its bottom eigenvectors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .._types import EdgeList, Links
from .._validation import Float, OneOf
from ..graph import edge_weights, laplacian, median_square
from ..solvers.spectral import nystrom, smallest_eigenpairs
from ._base import PatchEmbedding


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
    n_neighbors : int or float, default=15
        Neighbours of a sample, itself not counted; a float is a fraction of the
        samples.
    dissimilarity : {"euclidean", "kl", "curvature", "precomputed"} or callable
        Dissimilarity of an edge. A callable takes two batches of `patchfold.Patches`
        of the same length and returns one number >= 0 per pair. Default: "kl".
    kernel_width : float or "auto", default="auto"
        t of the weight exp(-d²/t); "auto" is the median of d² over the edges.
    laplacian : {"random_walk", "unnormalized"}, default="random_walk"
        The eigenproblem: L y = λ D y, or L y = λ y.
    label_rule : {"klap"} or None, default=None
        How class labels change an edge: "klap" takes the smallest curvature within a
        class and the sum of the largest between classes.
    include_center : bool, default=True
        Whether a sample is a point of its own patch.
    shrinkage : float, default=0.1
        Part γ of a patch covariance that is replaced by its mean variance.
    ridge : float, default=1e-6
        Floor ρ of every patch covariance, in units of the mean feature variance.
    neighbors_algorithm : {"auto", "exact"} or KNN transformer, default="auto"
        Neighbour search, or an object like scikit-learn's `KNeighborsTransformer`.
    eigen_solver : {"auto", "dense", "arpack"}, default="auto"
        "dense" for exact eigenvectors; "auto" is dense for small samples.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
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
    n_neighbors_ : int
        Neighbours used.
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
        "kernel_width": (Float(0, open_low=True), OneOf("auto")),
        "laplacian": OneOf("random_walk", "unnormalized"),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | float = 15,
        dissimilarity: Any = "kl",
        kernel_width: float | str = "auto",
        laplacian: str = "random_walk",
        label_rule: str | None = None,
        include_center: bool = True,
        shrinkage: float = 0.1,
        ridge: float = 1e-6,
        neighbors_algorithm: Any = "auto",
        eigen_solver: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.dissimilarity = dissimilarity
        self.kernel_width = kernel_width
        self.laplacian = laplacian
        self.label_rule = label_rule
        self.include_center = include_center
        self.shrinkage = shrinkage
        self.ridge = ridge
        self.neighbors_algorithm = neighbors_algorithm
        self.eigen_solver = eigen_solver
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _embed(self, edges: EdgeList) -> np.ndarray:
        if self.kernel_width == "auto":
            self.kernel_width_ = median_square(edges.length)
        else:
            self.kernel_width_ = float(self.kernel_width)
        weights, self._zero = edge_weights(edges, self.kernel_width_)
        self.affinity_ = edges.to_csr(weights)
        matrix, degrees = laplacian(self.affinity_)
        roots = np.ones_like(degrees)
        if self.laplacian == "random_walk":
            roots = np.sqrt(degrees)
            inverse = sp.diags_array(1 / roots)
            matrix = (inverse @ matrix @ inverse).tocsr()
        self.eigenvalues_, vectors = smallest_eigenpairs(
            matrix,
            self.n_components,
            roots,
            solver=self.eigen_solver,
            seed=self._seed(),
        )
        return vectors / roots[:, None]

    def _place(self, links: Links, X: np.ndarray) -> np.ndarray:
        return nystrom(
            (self._zero - links.lengths**2) / self.kernel_width_,
            links.indices,
            self.embedding_,
            self.eigenvalues_,
            normalized=self.laplacian == "random_walk",
        )
