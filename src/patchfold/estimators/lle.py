"""PatchLLE: reconstruction weights of every sample, then the coordinates they fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..backends.backend import Array, array_namespace, backend_for
from ..graph.labels import get_label_rule
from ..records import EdgeList, Links
from ..solvers.landmarks import draw_landmarks, landmark_embedding
from ..solvers.reconstruction import (
    barycentric_weights,
    entropic_weights,
    reconstruction_embedding,
    relation_matrix,
    weighted_means,
)
from ..validation import Float, Integer, is_precomputed
from .base import PatchEmbedding
from .foreign import names_others
from .links import Solution
from .stored.rules import FittedRule, Matrix, MayLack, Numbers, OrNone, Whole

EVERY_SAMPLE = 10_000
"""Up to this many samples `n_landmarks="auto"` takes none."""

LANDMARKS = 2000
"""How many it takes beyond that; ten for each component if that is more."""


@dataclass(frozen=True)
class Reconstruction(Solution):
    """Places new samples at the weighted mean of their neighbours.

    Attributes
    ----------
    reg : float
        Regularisation of the weights.
    samples : array (n, m) or None
        Training samples, where weights come from them; None where from lengths.
    """

    reg: float
    samples: Array | None

    def weigh(
        self, X: Any, row: Array, column: Array, length: Array, n_jobs: int | None
    ) -> Array:
        """Weigh the neighbours `column` of every sample `row`."""
        if self.samples is None:
            return entropic_weights(row, length, X.shape[0], self.reg)
        return barycentric_weights(
            X, self.samples, row, column, self.reg, n_jobs=n_jobs
        )

    def place(
        self, links: Links, X: Array, embedding: Array, n_jobs: int | None
    ) -> Array:
        """Return the coordinates of linked samples."""
        xp = array_namespace(links.lengths)
        linked = xp.isfinite(links.lengths)
        row, column = xp.nonzero(linked)[0], links.indices[linked]
        weights = self.weigh(X, row, column, links.lengths[linked], n_jobs)
        return weighted_means(weights, row, column, X.shape[0], embedding)


class PatchLLE(PatchEmbedding):
    """Locally linear embedding whose weights come from neighbourhood dissimilarities.

    With d_i the dissimilarities of sample i to its neighbours, its weights solve
    (d_i d_iᵀ + αI) w = 1. With `dissimilarity="kl"` this is PELLE [1]_. "euclidean"
    keeps the classic Gram matrix of differences, unless labels change lengths: it is
    LLE [2]_ and equals scikit-learn's.

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
        Distance of samples, as in scikit-learn: it finds the neighbours. Weights come
        from differences of samples, or from patches, in the space of the features; a
        warning says so for patches. With "precomputed", X is a matrix (n_samples,
        n_samples) of distances, dense or, as `KNeighborsTransformer` returns it,
        sparse, and weights come from the distances.
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
    reg : float, default=1e-3
        The ridge α; with "euclidean" it multiplies the trace of the Gram matrix, as in
        scikit-learn.
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
    n_landmarks : int, None or "auto", default="auto"
        Number of landmarks, samples drawn at random. Every other sample lies at the
        barycentre of the landmarks around it [3]_; of such embeddings the one is taken
        that the weights reconstruct best. Time and memory then grow with the samples.
        None uses no landmarks. "auto" does so up to 10,000 samples and for a
        precomputed dissimilarity, and takes 2,000 landmarks beyond.
    eigen_solver : {"auto", "dense", "arpack"}, default="auto"
        "dense" for exact eigenvectors; "auto" is dense for small samples.
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
    weights_ : sparse array (n_samples, n_samples)
        Reconstruction weights; every row sums to 1.
    eigenvalues_ : array (n_components,)
        Eigenvalues of (I-W)ᵀ(I-W) after the trivial one, ascending; with landmarks, the
        sums of squared reconstruction errors of the coordinates, which are larger.
    reconstruction_error_ : float
        Sum, over the samples, of the squared distance between the coordinates and their
        reconstruction from the neighbours: the sum of `eigenvalues_`.
    landmarks_ : int array (n_landmarks,) or None
        Which samples they are, ascending; None if the embedding is not interpolated.
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
    pelle : The paper's settings.
    sklearn.manifold.LocallyLinearEmbedding : The same for points instead of patches.

    References
    ----------
    .. [1] A. L. M. Levada, "Parametric entropic locally linear embedding for small
       sample size classification".
    .. [2] S. T. Roweis, L. K. Saul, "Nonlinear dimensionality reduction by locally
       linear embedding", Science 290, 2000.
    .. [3] M. Vladymyrov, M. Á. Carreira-Perpiñán, "Locally linear landmarks for
       large-scale manifold learning", ECML PKDD 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> import patchfold as pf
    >>> pf.PatchLLE(n_neighbors=20).fit_transform(scale(load_wine().data)).shape
    (178, 2)
    """

    _joins_closed_groups: ClassVar[bool] = True
    _parameter_rules: ClassVar[dict[str, Any]] = {
        **PatchEmbedding._parameter_rules,
        "reg": Float(0, open_low=True),
        "n_landmarks": (Integer(2), "auto", None),
    }

    _fitted_rules: ClassVar[dict[str, FittedRule]] = {
        **PatchEmbedding._fitted_rules,
        "weights_": Matrix(),
        "eigenvalues_": Numbers(("components",)),
        "landmarks_": MayLack(
            OrNone(Whole(("landmarks",), below="samples", ascending=True))
        ),
    }

    _later_parameters: ClassVar[dict[str, Any]] = {
        **PatchEmbedding._later_parameters,
        "n_landmarks": None,
    }

    _reads_relation: ClassVar[bool] = True

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
        reg: float = 1e-3,
        label_rule: str | None = None,
        include_center: bool = True,
        adaptive_patches: bool = False,
        covariance: str = "full",
        n_directions: float | None = None,
        shrinkage: float | str = 0.1,
        ridge: float = 1e-6,
        neighbors_algorithm: Any = "auto",
        n_landmarks: int | str | None = "auto",
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
        self.reg = reg
        self.label_rule = label_rule
        self.include_center = include_center
        self.adaptive_patches = adaptive_patches
        self.covariance = covariance
        self.n_directions = n_directions
        self.shrinkage = shrinkage
        self.ridge = ridge
        self.neighbors_algorithm = neighbors_algorithm
        self.n_landmarks = n_landmarks
        self.eigen_solver = eigen_solver
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @property
    def reconstruction_error_(self) -> float:
        """How far the coordinates are from what their neighbours make of them."""
        return float(self.eigenvalues_.sum())

    def _solution(self, X: Any) -> Reconstruction:
        points = self.dissimilarity == "euclidean" and not is_precomputed(self)
        if points and get_label_rule(self.label_rule).lengths is None:
            return Reconstruction(self.reg, X)
        return Reconstruction(self.reg, None)

    def _solve_again(self, stored: dict[str, Any]) -> Reconstruction:
        return self._solution(stored.get("_train_X"))

    def _solve(self, edges: EdgeList, X: Any) -> tuple[Array, Reconstruction]:
        pairs, solution, seed = edges.pairs, self._solution(X), self._seed()
        lengths = edges.length[pairs.edge]
        weights = solution.weigh(X, pairs.row, pairs.column, lengths, self.n_jobs)
        shape = (pairs.n_samples, pairs.n_samples)
        self.weights_ = relation_matrix(weights, pairs.row, pairs.column, shape)
        chosen = self._choose_landmarks(pairs.n_samples, seed)
        self.landmarks_ = backend_for(edges.length).bring(chosen)
        settings: dict[str, Any] = {"solver": self.eigen_solver, "seed": seed}
        if self.landmarks_ is None:
            pair = reconstruction_embedding(
                self.weights_, self.n_components, **settings
            )
        else:
            pair = landmark_embedding(
                self.weights_,
                X,
                self.landmarks_,
                self.n_components,
                n_jobs=self.n_jobs,
                **settings,
            )
        self.eigenvalues_, vectors = pair
        return vectors, solution

    def _choose_landmarks(
        self, n: int, seed: np.random.RandomState
    ) -> np.ndarray | None:
        """Draw the landmarks; None if every sample is one."""
        count, precomputed = self.n_landmarks, is_precomputed(self)
        if count == "auto":
            few = max(LANDMARKS, 10 * self.n_components)
            count = None if precomputed or n <= EVERY_SAMPLE else few
        if precomputed and count is not None and int(count) < n:
            raise ValueError(
                f"n_landmarks={count} needs samples to interpolate between, and "
                "dissimilarity='precomputed' has none. Set n_landmarks=None."
            )
        return draw_landmarks(count, n, self.n_components, seed)
