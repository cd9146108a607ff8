"""PatchIsomap: edge lengths, shortest paths, classical MDS."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._memory import require_memory
from .._types import EdgeList, Links
from ..graph import geodesics
from ..solvers.mds import classical_mds, place_by_geodesics
from ._base import PatchEmbedding


class PatchIsomap(PatchEmbedding):
    """Isomap over a graph whose edges measure how much two neighbourhoods differ.

    With `dissimilarity="kl"` this is ISOMAP-KL [1]_; with "euclidean" it is Isomap [2]_
    and equals scikit-learn's.

    Parameters
    ----------
    n_components : int, default=2
        Coordinates of the embedding.
    n_neighbors : int or float, default=15
        Neighbours of a sample, itself not counted; a float is a fraction of the
        samples.
    dissimilarity : {"euclidean", "kl", "curvature", "precomputed"} or callable
        Length of an edge. A callable takes two batches of `patchfold.Patches` of the
        same length and returns one number >= 0 per pair. Default: "kl".
    label_rule : {"klap"} or None, default=None
        How class labels change an edge.
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
    eigenvalues_ : array (n_components,)
        Eigenvalues of the centred kernel, descending.
    geodesics_ : array (n_samples, n_samples)
        Shortest-path lengths.
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
    isomap_kl : The paper's settings.
    sklearn.manifold.Isomap : The same for points instead of patches.

    References
    ----------
    .. [1] A. Cervati Neto, A. L. M. Levada, "ISOMAP-KL: a parametric approach for
       unsupervised metric learning", SIBGRAPI, 2020.
    .. [2] J. B. Tenenbaum, V. de Silva, J. C. Langford, "A global geometric framework
       for nonlinear dimensionality reduction", Science 290, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> import patchfold as pf
    >>> X = scale(load_wine().data)
    >>> pf.PatchIsomap(n_neighbors=40).fit_transform(X).shape
    (178, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | float = 15,
        dissimilarity: Any = "kl",
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
        self.label_rule = label_rule
        self.include_center = include_center
        self.shrinkage = shrinkage
        self.ridge = ridge
        self.neighbors_algorithm = neighbors_algorithm
        self.eigen_solver = eigen_solver
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _embed(self, edges: EdgeList) -> np.ndarray:
        n = edges.pairs.n_samples
        require_memory(
            3 * 8 * n * n,
            f"the geodesics between all pairs of {n} samples",
            "Fit on a sample of them and place the others with transform.",
        )
        self.geodesics_ = geodesics(self.graph_, n_jobs=self.n_jobs)
        self._mds = classical_mds(
            self.geodesics_,
            self.n_components,
            solver=self.eigen_solver,
            seed=self._seed(),
        )
        self.eigenvalues_ = self._mds.eigenvalues
        return self._mds.embedding

    def _place(self, links: Links, X: np.ndarray) -> np.ndarray:
        return place_by_geodesics(
            self._mds, self.geodesics_, links.indices, links.lengths, n_jobs=self.n_jobs
        )
