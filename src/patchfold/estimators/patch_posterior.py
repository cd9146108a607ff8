"""PatchPosterior: class patches, leave-one-out posteriors, anchors."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..backends.backend import NUMPY, Backend, backend_for
from ..backends.progress import report
from ..graph.labels import UNLABELLED
from ..posterior.classes import check_weights, encode_classes
from ..posterior.model import PosteriorModel, blend_labels
from ..posterior.rows import index_rows
from ..posterior.scores import SCORES, Settings
from ..posterior.views import VIEWS
from ..validation import (
    Float,
    Integer,
    Several,
    as_sparse_as,
    check_parameters,
    without_zeros,
)
from .base import check_placed
from .explaining import ExplainsRows
from .frames import check_table, dense_if_narrow, refuse_sparse_gaps
from .parameters import COMMON_RULES
from .stored.posterior import FittedPosterior, StoredPosterior

CHECKS = {"ensure_all_finite": "allow-nan", "copy": True, "accept_sparse": "csr"}
"""How samples are checked: NaN is a gap, and left out of what scores its row."""


class PatchPosterior(
    StoredPosterior,
    ExplainsRows,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Supervised embedding: a sample lies where its class probabilities put it.

    Several scores say how well a sample fits each class; one of them is the patch of
    the class's rows nearest to the sample. A logistic model, the stack, turns the
    scores into class probabilities, the posterior. Each class has an anchor in the
    picture, and the sample lies at the mean of the anchors, weighted by its
    probabilities. It is a transformer and a classifier in one, as linear discriminant
    analysis is in scikit-learn. Columns may have any units.

    **The training picture can be believed.** A training row is left out of every patch,
    mean, covariance, count and regression that scores it, exactly, in closed form. With
    the default views its own label reaches its coordinates only through a few numbers
    that all rows share: the weights of the stack, the order of the anchors, the scale
    of the typicality axis and the sizes of classes. With permuted labels the silhouette
    of the training picture is -.04 to .02 (iris, wine, breast cancer). With only a few
    dozen rows, a single permutation may look better by chance. The views "whitened" and
    "relevance" are fitted to all rows with their labels. On wide data their training
    picture looks too good.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions. One: anchors on a line; two: on a circle, classes that are confused
        side by side; more: on a sphere, a regular simplex from classes - 1 on. There
        are at most as many as classes; the last is then an axis of typicality, low
        for samples that fit no class well. So two classes have a posterior axis and
        one of typicality.
    views : tuple of str, default=("rank", "zscore")
        How columns are seen: "rank" (normal quantiles of ranks), "zscore", "whitened"
        (by the covariance within classes), "relevance" (z-scores weighed by Relief).
    scores : tuple of str, default=("patch", "pooled", "kernel", "marginal")
        Scores of a class, in every view: "patch" (Gaussian of the nearest rows of a
        class), "class" (Gaussian and mean of all its rows), "pooled" (distance to its
        mean by the covariance all classes share), "kernel" (kernel ridge regression on
        class membership), "marginal" (how common the value of each column is in the
        class; the same in all views).
    n_neighbors : int, default=15
        Rows of a patch. A class with fewer rows gives all it has.
    shrinkage : float, default=0.3
        γ of the covariance of a patch or a class, (1 - γ)Σ + γ (tr Σ / m) I.
    ridge : float, default=1e-3
        Floor of its variances, in units of the mean variance of the view.
    label_blend : float, default=0.0
        τ: training rows lie at (1 - τ)·posterior + τ·own label. A classifier trained on
        the coordinates of training rows does better with τ = .5, as it then sees where
        classes belong, not where single rows lie. But the training picture is then no
        evidence: at τ = .5 it has a silhouette of .81 to 1 with *permuted* labels
        (iris, wine, breast cancer). A warning says so. `transform` of other samples,
        `predict` and `posterior_` do not change.
    n_landmarks : int, default=500
        Largest number of kernel functions of the kernel score. With more samples than
        this, its cost is linear in the number of samples.
    neighbors_algorithm : {"auto", "exact", "approximate"} or KNN transformer, \
default="auto"
        How neighbours within a class are found. "auto" is exact; of more than 5,000
        rows of a class, 5,000 spread evenly give the patches, so that cost is linear.
        A transformer, such as an approximate search, is cloned for every class.
    n_jobs : int, default=None
        Number of threads; does not change the result.
    verbose : bool or callable, default=False
        Whether `fit` reports its stages, the part that is done, and times. A callable
        gets a record at each step: `stage`, `number`, `n_stages`, `done`, `seconds`.

    Attributes
    ----------
    embedding_ : array (n_samples, n_components)
        Coordinates of the training samples.
    posterior_ : array (n_samples, n_classes)
        Their posteriors, leave-one-out where they are labelled. A class that has no
        row besides the sample has probability 0.
    classes_ : array (n_classes,)
        Class labels, sorted.
    anchors_ : array (n_classes, n_components)
        Where a sample lies whose class is certain.
    score_names_ : tuple of str
        View and kind of every score.
    score_weights_ : array (n_scores,)
        Its weight in the stack, at least 0. Scores are first brought to one unit.
    relevance_ : array (n_features,)
        Weight of every column by Relief.
    n_features_in_ : int
        Columns seen in `fit`.

    Notes
    -----
    When a training row is scored, some parts still depend on its values, though not on
    its label: in the views "rank" and "zscore" the scaling of columns, the cuts of the
    marginal score, the landmarks and the width of the kernel.

    `predict` and `predict_proba` treat every sample as new, also training samples;
    `transform` knows training samples and returns their coordinates.

    Defaults were chosen on half of the sets at hand: see `docs/posterior_design.md`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import patchfold as pf
    >>> X, y = load_wine(return_X_y=True)
    >>> model = pf.PatchPosterior().fit(X[::2], y[::2])
    >>> model.embedding_.shape, round(model.score(X[1::2], y[1::2]), 2)
    ((89, 2), 0.98)
    >>> told = model.explain(X[1])
    >>> str(told.classes[told.posterior.argmax()])
    '0'
    """

    embedding_: np.ndarray
    posterior_: np.ndarray
    classes_: np.ndarray
    anchors_: np.ndarray
    score_names_: tuple[str, ...]
    score_weights_: np.ndarray

    _parameter_rules: ClassVar[dict[str, Any]] = {
        "n_components": Integer(1),
        "views": Several(tuple(VIEWS)),
        "scores": Several(tuple(SCORES)),
        "n_neighbors": Integer(1),
        "shrinkage": Float(0, 1),
        "ridge": Float(0, open_low=True),
        "label_blend": Float(0, 1),
        "n_landmarks": Integer(1),
        "neighbors_algorithm": COMMON_RULES["neighbors_algorithm"],
        "n_jobs": COMMON_RULES["n_jobs"],
        "verbose": COMMON_RULES["verbose"],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        views: tuple[str, ...] = ("rank", "zscore"),
        scores: tuple[str, ...] = ("patch", "pooled", "kernel", "marginal"),
        n_neighbors: int = 15,
        shrinkage: float = 0.3,
        ridge: float = 1e-3,
        label_blend: float = 0.0,
        n_landmarks: int = 500,
        neighbors_algorithm: Any = "auto",
        n_jobs: int | None = None,
        verbose: Any = False,
    ) -> None:
        self.n_components = n_components
        self.views = views
        self.scores = scores
        self.n_neighbors = n_neighbors
        self.shrinkage = shrinkage
        self.ridge = ridge
        self.label_blend = label_blend
        self.n_landmarks = n_landmarks
        self.neighbors_algorithm = neighbors_algorithm
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the scores and the stack, and place the samples of X.

        Parameters
        ----------
        X : array-like, sparse array, tensor or data frame (n_samples, n_features)
            Samples, in any units: columns are scaled inside. NaN is a gap: its column
            is left out of the scores of its row. A data frame with columns that are no
            numbers is encoded by `TableEncoder`, kept as `encoder_`. Sparse samples
            with more than twice as many features as samples are never made dense, and
            take no NaN.
        y : array-like (n_samples,)
            Class labels, numbers or strings; -1 marks an unlabelled sample, unless
            there is only one label besides it: then both are classes.
        sample_weight : array-like (n_samples,), default=None
            Weight of a sample in the loss of the stack and in all scores but those of
            patches, which describe the shape of the nearest rows. A weight of 0 is the
            same as no label.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with report(type(self).__name__, self.verbose):
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        check_parameters(self)
        backend = backend_for(X)
        X = dense_if_narrow(check_table(self, NUMPY.bring(X), reset=True, **CHECKS))
        codes, self.classes_ = encode_classes(y, X.shape[0], type(self).__name__)
        if self.n_components > self.classes_.size:
            raise ValueError(
                f"n_components={self.n_components} exceeds the {self.classes_.size} "
                "axes there are: one less than classes for the posterior, and one of "
                "typicality. Lower n_components."
            )
        labelled = codes != UNLABELLED
        weights, labelled = check_weights(sample_weight, codes, labelled)
        model = PosteriorModel(
            self._settings(backend),
            X[labelled],
            codes[labelled],
            self.n_components,
            row_weights=weights,
        )
        self._fitted = FittedPosterior(np.flatnonzero(labelled), model, index_rows(X))
        self.anchors_ = model.anchors
        self.score_names_ = model.scores.names
        self.score_weights_ = model.stack.weights
        self.posterior_ = np.empty((X.shape[0], self.classes_.size))
        self.embedding_ = np.empty((X.shape[0], self.n_components))
        posterior, best = model.weigh_left_out()
        blended = blend_labels(posterior, codes[labelled], self.label_blend)
        self.posterior_[labelled] = posterior
        self.embedding_[labelled] = model.place(blended, best)
        if not labelled.all():
            posterior, best = model.weigh(X[~labelled], backend)
            self.posterior_[~labelled] = posterior
            self.embedding_[~labelled] = model.place(posterior, best)
        for name in ("embedding_", "posterior_", "anchors_", "score_weights_"):
            setattr(self, name, backend.give_back(getattr(self, name)))
        self._n_features_out = self.n_components
        return self

    def fit_transform(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Embed the samples of X and return their coordinates.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        embedding : array (n_samples, n_components)
            `embedding_`.
        """
        return self.fit(X, y, sample_weight).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """Place samples in the embedding. No label of a new sample is ever used.

        Parameters
        ----------
        X : array-like or sparse array (n_queries, n_features)
            Samples. One identical to a training sample gets that sample's coordinates
            (the mean of them, if several are identical).

        Returns
        -------
        embedding : array (n_queries, n_components)
            Coordinates.
        """
        backend, X = backend_for(X), self._check_queries(X)
        model, rows = self._fitted.model, self._fitted.rows
        group = rows.find(X)
        known = group >= 0
        placed = np.empty((X.shape[0], self.n_components))
        if known.any():
            embedding = NUMPY.bring(self.embedding_)
            placed[known] = rows.mean(embedding)[group[known]]
        if not known.all():
            placed[~known] = model.place(*model.weigh(X[~known], backend))
        check_placed(placed)
        return backend.give_back(placed)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the posterior of samples, each taken as new.

        Parameters
        ----------
        X : array-like or sparse array (n_queries, n_features)
            Samples.

        Returns
        -------
        posterior : array (n_queries, n_classes)
            In the order of `classes_`.
        """
        backend, X = backend_for(X), self._check_queries(X)
        posterior, _ = self._fitted.model.weigh(X, backend)
        check_placed(posterior)
        return backend.give_back(posterior)

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest class of samples.

        Parameters
        ----------
        X : array-like or sparse array (n_queries, n_features)
            Samples.

        Returns
        -------
        y : array (n_queries,)
            Labels, as in `classes_`.
        """
        posterior = NUMPY.bring(self.predict_proba(X))
        found = self.classes_[np.argmax(posterior, axis=1)]
        return backend_for(X).bring(found)

    @property
    def relevance_(self) -> np.ndarray:
        """Weight of every column by Relief, (n_features,): see `relief_weights`.

        Computed when it is asked for. Without the "relevance" view it plays no part.
        """
        check_is_fitted(self)
        return self._fitted.model.scores.relevance()

    def _check_queries(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = check_table(self, NUMPY.bring(X), reset=False, **CHECKS)
        X = as_sparse_as(X, self._fitted.model.scores.rows[0])
        refuse_sparse_gaps(X)
        return without_zeros(X) if sp.issparse(X) else X

    def _settings(self, backend: Backend) -> Settings:
        return Settings(
            views=tuple(self.views),
            scores=tuple(self.scores),
            n_neighbors=self.n_neighbors,
            shrinkage=self.shrinkage,
            ridge=self.ridge,
            n_landmarks=self.n_landmarks,
            algorithm=self.neighbors_algorithm,
            n_jobs=self.n_jobs,
            backend=backend,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
