"""CauchyMap: near pairs attract, all pairs repel; the picture to begin with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.base import ClassNamePrefixFeaturesOutMixin as PrefixedNames
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..backends.backend import NUMPY, Backend, backend_for
from ..backends.progress import begin_stage, report
from ..neighbors.choice import resolve_n_neighbors
from ..solvers.field import placing
from ..solvers.field.attraction import near_pairs, unite
from ..solvers.field.descent import Recipe, descend
from ..solvers.field.order import in_input_order, row_keys
from ..solvers.field.source import Setting, graph_of, open_matrix, open_samples
from ..validation import (
    PRECOMPUTED,
    Float,
    Fraction,
    Having,
    Integer,
    as_sparse_as,
    check_parameters,
    is_precomputed,
)
from .base import EmbeddingMixin, check_placed
from .foreign import names_others
from .frames import dense_if_narrow
from .map_input import check_map_parameters, settings_of_map
from .map_labels import add_labels, read_labels
from .map_start import begin, read_init, warn_of_the_limit, where_drawn
from .parameters import COMMON_RULES, METRIC_RULES
from .stored.cauchy_map import FittedMap, StoredMap

STAGES = ("neighbours", "edges", "coordinates")
"""What a fit does, in this order; progress is reported by these names."""


class CauchyMap(StoredMap, PrefixedNames, EmbeddingMixin, BaseEstimator):
    """A picture of samples in which neighbours stay together.

    It keeps neighbourhoods well. Distances between far groups mean little, as in t-SNE
    and UMAP. The same samples give the same picture, bit for bit, for any `n_jobs` and
    any order of the rows. Turned or mirrored samples give it too, up to rounding.

    It combines known ideas: the objective of t-SNE [1]_ with the kernel of Cauchy graph
    embedding [2]_; the repulsion of all pairs through a field on a grid, by FFT, as in
    FIt-SNE [3]_; and a few mid-near pairs, as in PaCMAP [4]_, which keep the large
    structure.

    Parameters
    ----------
    n_neighbors : int or float, default=15
        Neighbours of a sample, itself not counted; a float is a fraction of the
        samples.
    n_components : {1, 2}, default=2
        Coordinates of the map.
    metric : str or callable, default="minkowski"
        Distance of samples, as in scikit-learn: it finds the neighbours and, with
        `dissimilarity="euclidean"`, weighs them. "precomputed" is read from X.
    p, metric_params : float, dict or None, default=2, None
        Power of the metric "minkowski"; further parameters of a metric.
    dissimilarity : str or callable, default="euclidean"
        Dissimilarity of neighbours, by which they are weighed. "euclidean" compares the
        samples; "kl", "bhattacharyya", "hellinger", "cauchy_schwarz", "wasserstein" and
        "fisher_rao" compare the Gaussians of patches, "kde" their kernel density
        estimates, "curvature" and "principal_angles" their directions; "precomputed" is
        read from X. A callable takes two equally long batches of `patchfold.Patches`
        and returns one number >= 0 per pair. Patches did not improve the map on any
        group of sets that was tried.
    separation : float, default=0.0
        From 0, which looks like t-SNE, to 1, which looks like UMAP: clusters are
        tighter and farther apart, and fewer neighbours stay neighbours.
    label_weight : float, default=4.0
        Weight of the labels, if `fit` gets any; 0 is the map without labels.
    init : {"pca"}, array (n_samples, n_components) or CauchyMap, default="pca"
        Where the samples start. "pca": at principal components, far samples pulled
        inwards. An array: at these coordinates, of which only the shape matters.
        A fitted map: at their places in it, without the early steps, so that the
        picture of a table that has grown looks like the last one.
    max_iter : int, default=1000
        Steps at most; a warning says when they did not suffice.
    tol : float, default=0.02
        The steps end when 50 of them lower the objective by less.
    reduce : int, "auto" or None, default="auto"
        Principal axes along which neighbours are searched. "auto" is 50 for more than
        10,000 samples with more than 100 features, if points are compared, and else all
        features, as None.
    shrinkage : float, "oas" or "ledoit_wolf", default=0.1
        Part of a patch covariance that is replaced by its mean variance, or the rule
        that chooses it for each patch. Only where patches are compared.
    ridge : float, default=1e-6
        Floor of patch covariances, in units of the mean feature variance.
    neighbors_algorithm : str or KNN transformer, default="auto"
        Neighbour search: "exact", "approximate" (finds about 98 % of the neighbours),
        or "auto", exact up to 30,000 samples. Or an object like scikit-learn's
        `KNeighborsTransformer`.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    verbose : bool or callable, default=False
        Whether `fit` reports its stages, the part that is done, and times. A callable
        gets a record at each step: `stage`, `number`, `n_stages`, `done`, `seconds`.

    Attributes
    ----------
    embedding_ : array (n_samples, n_components)
        Coordinates of the training samples.
    graph_ : sparse array (n_samples, n_samples)
        Dissimilarity of every pair of neighbours, zeros stored.
    n_iter_ : int
        Steps taken.
    objective_ : array
        The objective after step 150, when the early phase has ended, then every 50
        steps.
    n_neighbors_ : int
        Neighbours used.
    classes_ : array (n_classes,)
        Class labels, sorted; only where labels were used.
    n_features_in_, feature_names_in_ : int, array (n_features_in_,)
        Features seen in `fit`, and their names where X had string names.
    encoder_ : TableEncoder
        What turned X into numbers; only of a data frame with mixed columns.

    See Also
    --------
    TableEncoder : Options for mixed tables, and Gower's distance.
    CauchyEmbedding : The same kernel under a constraint, without repulsion.
    PatchPosterior : Supervised, for telling classes apart.

    Notes
    -----
    With labels, the square roots of a sample's class probabilities are added to it as
    further columns. `PatchPosterior` gives these probabilities; a training sample is
    left out of its own. So labels change how far apart samples are, not where they go,
    and shuffled labels give back the map without labels. A new sample needs no label.
    Columns count in the units they have: scale them first.

    References
    ----------
    .. [1] L. van der Maaten, G. Hinton, "Visualizing data using t-SNE", JMLR 9, 2008.
    .. [2] D. Luo, C. Ding, F. Nie, H. Huang, "Cauchy graph embedding", ICML, 2011.
    .. [3] G. Linderman, M. Rachh, J. Hoskins, S. Steinerberger, Y. Kluger, "Fast
       interpolation-based t-SNE for improved visualization of single-cell RNA-seq
       data", Nature Methods 16, 2019.
    .. [4] Y. Wang, H. Huang, C. Rudin, Y. Shaposhnik, "Understanding how dimension
       reduction tools work", JMLR 22, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import patchfold as pf
    >>> X = load_digits().data
    >>> model = pf.CauchyMap().fit(X[::2])
    >>> model.embedding_.shape, model.transform(X[1::2]).shape
    ((899, 2), (898, 2))
    """

    embedding_: Any
    graph_: Any
    objective_: np.ndarray
    n_iter_: int
    n_neighbors_: int
    classes_: np.ndarray

    _parameter_rules: ClassVar[dict[str, Any]] = {
        "n_neighbors": (Integer(1), Fraction()),
        "n_components": Integer(1),
        **METRIC_RULES,
        "dissimilarity": COMMON_RULES["dissimilarity"],
        "separation": Float(0, 1),
        "label_weight": Float(0),
        "init": (
            "pca",
            Having(("__array__",), "an array"),
            Having(("fit", "transform"), "a fitted CauchyMap"),
        ),
        "max_iter": Integer(1),
        "tol": Float(0),
        "reduce": (Integer(2), "auto", None),
        "shrinkage": COMMON_RULES["shrinkage"],
        "ridge": COMMON_RULES["ridge"],
        "neighbors_algorithm": COMMON_RULES["neighbors_algorithm"],
        "n_jobs": COMMON_RULES["n_jobs"],
        "verbose": COMMON_RULES["verbose"],
    }

    @names_others
    def __init__(
        self,
        n_neighbors: int | float = 15,
        *,
        n_components: int = 2,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        dissimilarity: Any = "euclidean",
        separation: float = 0.0,
        label_weight: float = 4.0,
        init: Any = "pca",
        max_iter: int = 1000,
        tol: float = 0.02,
        reduce: int | str | None = "auto",
        shrinkage: float | str = 0.1,
        ridge: float = 1e-6,
        neighbors_algorithm: Any = "auto",
        n_jobs: int | None = None,
        verbose: Any = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.dissimilarity = dissimilarity
        self.separation = separation
        self.label_weight = label_weight
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.reduce = reduce
        self.shrinkage = shrinkage
        self.ridge = ridge
        self.neighbors_algorithm = neighbors_algorithm
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the map of the samples of X.

        Parameters
        ----------
        X : array-like, tensor or data frame (n_samples, n_features)
            Samples. A data frame with columns that are no numbers is encoded by
            `TableEncoder`, kept as `encoder_`; numbers are taken as they are. With
            `dissimilarity="precomputed"`, a symmetric matrix (n_samples, n_samples) of
            dissimilarities, dense or sparse. A tensor on a CUDA device is computed
            there. Few samples, labels, patches and matrices are computed in NumPy, and
            so are other tensors. The embedding is like X.
        y : array-like (n_samples,), default=None
            Class labels; -1 marks an unlabelled sample. Labels of a single class, and
            none, give the map without labels.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with report(type(self).__name__, self.verbose):
            return self._fit(X, y)

    def _fit(self, X: Any, y: Any) -> Self:
        check_parameters(self)
        check_map_parameters(self, y)
        here = where_drawn(self, X, y)
        with here.working_on(X, "Lower n_neighbors, or fit fewer samples."):
            found = self._draw(here, X, y)
        self.embedding_ = backend_for(X).give_back(found)
        self._n_features_out = self.n_components
        return self

    def _draw(self, here: Backend, given: Any, y: Any) -> Any:
        """Draw the map of the samples, `given` as they were; return coordinates."""
        X = self._check_source(here.bring(given), reset=True)
        n = X.shape[0]
        self.n_neighbors_ = resolve_n_neighbors(self.n_neighbors, n)
        begin_stage("neighbours", STAGES)
        places, first = read_init(self.init, given, n, self.n_components)
        codes = self._read_labels(y, n)
        opened, setting = self._open(X if codes is None else dense_if_narrow(X), codes)
        del X  # `opened` has them, in our order
        begin_stage("edges", STAGES)
        links = setting.links
        weighed = links.indices, links.lengths, self.separation, self.n_jobs
        attraction = unite(near_pairs(*weighed), setting.middle)
        setting = replace(setting, middle=None)  # not needed again, and large
        begin_stage("coordinates", STAGES)
        start = begin(places, first, setting, self.n_components)
        limits = self.max_iter, self.tol, first, self.n_components == 1
        recipe = Recipe(self.separation, *limits)
        found = descend(attraction, start, recipe, self.n_jobs)
        del attraction  # as large as the graph
        self.graph_ = graph_of(setting)
        self.n_iter_, self.objective_ = found.n_iter, found.objective
        if not found.converged:
            warn_of_the_limit(self.max_iter)
        chart = self._make_map(found.Y, found.Z, placing.reach_of(links.lengths))
        self._fitted = FittedMap(*opened, codes, setting.order, chart)
        return in_input_order(found.Y[:, : self.n_components], setting.order)

    def transform(self, X: Any) -> Any:
        """Place new samples in the map, each on its own.

        A sample identical to a training sample gets that sample's coordinates (the mean
        of them, if several are identical); with `dissimilarity="precomputed"`, a
        dissimilarity of 0 means identical. A sample much farther from all training
        samples than these are from each other is put at the rim, and a warning names
        it.

        Parameters
        ----------
        X : array-like or tensor (n_queries, n_features)
            New samples; with `dissimilarity="precomputed"`, their dissimilarities to
            the training samples, (n_queries, n_samples), dense or sparse.

        Returns
        -------
        embedding : array or tensor (n_queries, n_components)
            Coordinates.
        """
        check_is_fitted(self)
        kept, backend = self._fitted, backend_for(X)
        here = backend_for(kept.map.Y)
        X = NUMPY.bring(X) if here.is_numpy else X
        X = here.bring(self._check_source(X, reset=False))
        X = X if kept.X is None else as_sparse_as(X, kept.X)
        with here.working_on(X, "Place fewer samples at a time."):
            placed = kept.place(X, self.n_jobs)
        check_placed(placed)
        return backend.give_back(placed[:, : self.n_components])

    def _read_labels(self, y: Any, n_samples: int) -> np.ndarray | None:
        """Return class codes (n,), -1 without a label; None where none counts."""
        self.__dict__.pop("classes_", None)
        has_labels = y is not None and self.label_weight > 0
        labels = read_labels(y, n_samples) if has_labels else None
        if labels is None:
            return None
        codes, self.classes_ = labels
        return codes

    def _open(
        self, X: Any, codes: np.ndarray | None, order: Any = None
    ) -> tuple[tuple[Any, Any, Any, Any], Setting]:
        """Find the neighbours; return the first parts of `FittedMap` and these.

        `order` is that of a stored model; None finds one.
        """
        if is_precomputed(self):
            wanted = self.n_neighbors_, self.metric == PRECOMPUTED
            matrix, setting = open_matrix(X, *wanted)
            return (matrix, None, None, None), setting
        settings, keys, joined, labels = settings_of_map(self, X), row_keys(X), X, None
        if codes is not None:
            weighed = self.label_weight, self.n_neighbors_, self.n_jobs
            joined, labels = add_labels(X, codes, *weighed)
        source, setting = open_samples(joined, settings, self.n_jobs, order=order)
        is_all = joined is X and source.axes is None  # then they are held once
        ours = source.samples if is_all else X[setting.order]
        return (source, ours, keys[setting.order], labels), setting

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self)
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
