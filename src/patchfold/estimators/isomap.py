"""PatchIsomap: edge lengths, shortest paths, classical MDS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..backends.backend import Array, backend_for, require_memory
from ..graph.paths import geodesics
from ..records import EdgeList, Links
from ..solvers.landmarks import draw_landmarks
from ..solvers.mds import (
    MDSFit,
    classical_mds,
    place_by_geodesics,
    reconstruction_error,
    triangulate,
)
from ..validation import Integer
from .base import PatchEmbedding
from .foreign import names_others
from .links import Solution
from .stored.rules import (
    FittedError,
    FittedRule,
    MayLack,
    Numbers,
    OrNone,
    Record,
    Sizes,
    Whole,
    check_finite,
)

ALL_PAIRS = 10_000
"""Up to this many samples `n_landmarks="auto"` takes all of them as landmarks."""

LANDMARKS = 100
"""How many it takes beyond that; ten for each component if that is more."""


@dataclass(frozen=True)
class PathLengths(Solution):
    """Places new samples by the lengths of shortest paths.

    Attributes
    ----------
    mds : MDSFit
        Classical MDS of all samples, or of the landmarks.
    geodesics : array (n, n) or (l, n)
        Lengths of paths from all samples, or from the landmarks.
    has_landmarks : bool
        Which of the two.
    """

    mds: MDSFit
    geodesics: Array
    has_landmarks: bool

    def place(
        self, links: Links, X: Array, embedding: Array, n_jobs: int | None
    ) -> Array:
        """Return the coordinates of linked samples."""
        # By samples in memory: of all pairs rows, of landmarks columns.
        lengths = self.geodesics.T if self.has_landmarks else self.geodesics
        return place_by_geodesics(
            self.mds, lengths, links.indices, links.lengths, n_jobs=n_jobs
        )

    def stored(self) -> dict[str, Any]:
        """Return the solution of MDS."""
        return {"_mds": self.mds}


class PatchIsomap(PatchEmbedding):
    """Isomap over a graph whose edges measure how much two neighbourhoods differ.

    With `dissimilarity="kl"` this is ISOMAP-KL [1]_; with "euclidean" it is Isomap [2]_
    and equals scikit-learn's.

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
        Distance of samples, as in scikit-learn: it finds the neighbours, and is the
        length of an edge if `dissimilarity="euclidean"`. Other dissimilarities compare
        patches as before; a warning says so. "precomputed" is read from X.
    p, metric_params : float, dict or None, default=2, None
        Power of the metric "minkowski"; further parameters of a metric.
    dissimilarity : str or callable, default="kl"
        Length of an edge. "euclidean" compares the samples; "kl",
        "bhattacharyya", "hellinger", "cauchy_schwarz", "wasserstein" and "fisher_rao"
        compare the Gaussians of patches, "kde" their kernel density estimates,
        "curvature" and "principal_angles" their directions; "precomputed" is read from
        X. A callable takes two equally long batches of `patchfold.Patches` and returns
        one number >= 0 per pair.
    n_landmarks : int, None or "auto", default="auto"
        Geodesics are measured to this many samples, drawn at random, which are
        embedded; the others are placed by their distances to these [3]_. Time and
        memory then grow with samples times landmarks, not with the square of the
        samples. None takes every sample; "auto" does so up to 10,000 samples and takes
        100 beyond.
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
        "dense" for exact eigenvectors; "auto" is dense for small samples.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    verbose : bool or callable, default=False
        Whether `fit` reports its stages, the part that is done, and times. A callable
        gets a record at each step: `stage`, `number`, `n_stages`, `done`, `seconds`.
    random_state : int, RandomState or None, default=None
        Seeds the choice of landmarks and the start of an iterative solver. None is a
        fixed choice, not a random one.

    Attributes
    ----------
    embedding_ : array (n_samples, n_components)
        Coordinates of the training samples.
    graph_ : sparse array (n_samples, n_samples)
        Dissimilarity of every edge, zeros stored.
    eigenvalues_ : array (n_components,)
        Eigenvalues of the centred kernel, descending.
    geodesics_ : array (n_landmarks, n_samples)
        Shortest-path lengths from the landmarks; without `n_landmarks`, from every
        sample.
    dist_matrix_ : array (n_samples, n_samples)
        `geodesics_` by scikit-learn's name, where every sample is a landmark.
    landmarks_ : int array (n_landmarks,) or None
        Which samples they are, ascending; None if every sample is one.
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
    isomap_kl : The paper's settings.
    sklearn.manifold.Isomap : The same for points instead of patches.

    References
    ----------
    .. [1] A. Cervati Neto, A. L. M. Levada, "ISOMAP-KL: a parametric approach for
       unsupervised metric learning", SIBGRAPI, 2020.
    .. [2] J. B. Tenenbaum, V. de Silva, J. C. Langford, "A global geometric framework
       for nonlinear dimensionality reduction", Science 290, 2000.
    .. [3] V. de Silva, J. B. Tenenbaum, "Sparse multidimensional scaling using landmark
       points", Stanford University, 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> import patchfold as pf
    >>> X = scale(load_wine().data)
    >>> pf.PatchIsomap(n_neighbors=40).fit_transform(X).shape
    (178, 2)
    """

    _parameter_rules: ClassVar[dict[str, Any]] = {
        **PatchEmbedding._parameter_rules,
        "n_landmarks": (Integer(2), "auto", None),
    }

    _reads_edges: ClassVar[bool] = False

    _fitted_rules: ClassVar[dict[str, FittedRule]] = {
        **PatchEmbedding._fitted_rules,
        "landmarks_": OrNone(
            Whole(("landmarks",), below="samples", ascending=True),
        ),
        "_mds": Record(
            MDSFit,
            {
                "embedding": Numbers(("sources", "components")),
                "eigenvalues": Numbers(("components",)),
                "column_means": Numbers(("sources",)),
            },
        ),
        "eigenvalues_": Numbers(("components",)),
        "geodesics_": MayLack(Numbers(("sources", "samples"), low=0.0)),
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
        n_landmarks: int | str | None = "auto",
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
        self.n_landmarks = n_landmarks
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

    def _solve(self, edges: EdgeList, X: Any) -> tuple[Array, PathLengths]:
        seed = self._seed()
        graph, n_jobs = edges.graph, self.n_jobs
        chosen = self._choose_landmarks(graph.shape[0], seed)
        self.landmarks_ = backend_for(graph).bring(chosen)
        self._require_memory(graph)
        self.geodesics_ = geodesics(graph, self.landmarks_, n_jobs=n_jobs)
        between = self.geodesics_
        if self.landmarks_ is not None:
            between = between[:, self.landmarks_]
        mds = classical_mds(
            between,
            self.n_components,
            solver=self.eigen_solver,
            n_jobs=n_jobs,
            seed=seed,
        )
        self.eigenvalues_ = mds.eigenvalues
        solution = self._solution(mds)
        if self.landmarks_ is None:
            return mds.embedding, solution
        return triangulate(mds, self.geodesics_.T, n_jobs=n_jobs), solution

    @property
    def dist_matrix_(self) -> Array:
        """`geodesics_` by the name and in the precision that scikit-learn has."""
        if self.landmarks_ is not None:
            raise AttributeError(
                "dist_matrix_ has the geodesics between all samples, and there are "
                f"{self.landmarks_.shape[0]} landmarks: read geodesics_, or set "
                "n_landmarks=None."
            )
        single = self.embedding_.dtype == np.float32
        return self.geodesics_.astype(np.float32) if single else self.geodesics_

    def reconstruction_error(self) -> float:
        """Return how much of the geodesics the embedding does not show.

        The norm of the difference of the two centred kernels, divided by the number of
        samples; with `n_landmarks`, of landmarks.

        Returns
        -------
        error : float
            At least 0, in squared units of the edges.
        """
        check_is_fitted(self)
        between = self.geodesics_
        if self.landmarks_ is not None:
            between = between[:, self.landmarks_]
        return float(reconstruction_error(between, self.eigenvalues_))

    def _solution(self, mds: MDSFit) -> PathLengths:
        return PathLengths(mds, self.geodesics_, self.landmarks_ is not None)

    def _packed(self, state: dict[str, Any]) -> dict[str, Any]:
        # Of more samples than that, all pairs are written: it was asked for, and to
        # load them takes no more memory than the file.
        found = state.get("geodesics_")
        if found is not None and (
            state.get("landmarks_") is not None or found.shape[1] <= ALL_PAIRS
        ):
            state = {name: state[name] for name in state if name != "geodesics_"}
        return super()._packed(state)

    def _make_again(self, sizes: Sizes) -> None:
        if sizes["sources"] != sizes.get("landmarks", sizes["samples"]):
            raise FittedError(f"_mds has {sizes['sources']} samples")
        super()._make_again(sizes)

    def _solve_again(self, stored: dict[str, Any]) -> PathLengths:
        if "geodesics_" not in vars(self):
            self._find_geodesics_again()
        return self._solution(stored["_mds"])

    def _find_geodesics_again(self) -> None:
        n = self.graph_.shape[0]
        if self.landmarks_ is None and n > ALL_PAIRS:
            raise FittedError("geodesics_ is missing")
        self._require_memory(self.graph_)
        self.geodesics_ = geodesics(self.graph_, self.landmarks_, n_jobs=self.n_jobs)
        check_finite("the length of a path in graph_", self.geodesics_)

    def _choose_landmarks(
        self, n: int, seed: np.random.RandomState
    ) -> np.ndarray | None:
        count = self.n_landmarks
        if count == "auto":
            few = max(LANDMARKS, 10 * self.n_components)
            count = few if n > ALL_PAIRS else None
        return draw_landmarks(count, n, self.n_components, seed)

    def _require_memory(self, graph: Any) -> None:
        n = graph.shape[0]
        if self.landmarks_ is None:
            size, what = 1.5 * 8 * n * n, f"between all pairs of {n} samples"
            remedy = "Set n_landmarks='auto', or to a smaller number."
        else:
            count = self.landmarks_.shape[0]
            size, what = 2 * 8 * n * count, f"from {count} landmarks to {n} samples"
            remedy = "Lower n_landmarks."
        require_memory(size, f"the geodesics {what}", remedy, like=graph)
