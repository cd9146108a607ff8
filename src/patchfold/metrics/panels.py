"""How well classes fit an embedding: silhouette, 1-NN, and the papers' two panels.

The papers train on half of the samples. Their PCA columns (ELAP table 2, PELLE table 1)
say how they were halved: by `train_test_split(test_size=0.5, random_state=42)`, without
strata: the mean error over 43 entries is .017, and .046 with strata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..neighbors.choice import find_neighbors
from ._classifiers import make_classifier, panel_accuracy
from .topology import check_points, continuity, trustworthiness

FOUR = ("KNN", "DT", "QDA", "RFC")
"""The panel of ELAP and PELLE, who print its mean."""

EIGHT = ("KNN", "SVM", "NB", "DT", "QDA", "MPL", "GPC", "RFC")
"""The panel of ISOMAP-KL, and of KLAP, who prints its maximum."""


def score_classifiers(
    names: Iterable[str],
    train: Any,
    y_train: Any,
    test: Any,
    y_test: Any,
    *,
    random_state: int | None = 0,
) -> dict[str, float]:
    """Fit classifiers on training samples and score them on test samples.

    No input of valid numbers makes the panel fail:

    * With one class in `y_train`, or if all rows of `train` are equal, every
      classifier answers the most frequent class.
    * KNN takes all training samples where there are fewer than 7.
    * QDA is fitted on standardised coordinates, which changes nothing about it but
      makes its test for singular classes independent of the scale of the embedding.
      If a class is singular (a single sample, collinear or identical samples), all
      classes get the covariance (1 - r)Σ + rI with r = .001.
    * GPC is left out, as NaN, beyond 1,000 training samples.
    * MPL may stop before convergence, without a warning.

    Linear algebra runs on one thread: the matrices are small, and many threads that
    wait for each other made it up to 50 times slower on a busy machine.

    Parameters
    ----------
    names : iterable of str
        Classifiers, as in `make_classifier`; `FOUR` and `EIGHT` are the papers' panels.
    train, test : array-like (n_train, d), (n_test, d)
        Coordinates.
    y_train, y_test : array-like (n_train,), (n_test,)
        Classes.
    random_state : int or None, default=0
        Seed of DT, MPL and RFC.

    Returns
    -------
    dict of str to float
        Share of the test samples classified correctly, in the order of `names`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import train_test_split
    >>> from patchfold.metrics.panels import FOUR, panel_mean, score_classifiers
    >>> X, y = load_iris(return_X_y=True)
    >>> train, test, y_train, y_test = train_test_split(
    ...     X, y, test_size=0.5, random_state=42)
    >>> scores = score_classifiers(FOUR, train, y_train, test, y_test)
    >>> list(scores), round(panel_mean(scores), 2)
    (['KNN', 'DT', 'QDA', 'RFC'], 0.97)
    """
    from threadpoolctl import threadpool_limits

    train, y_train = _check_samples(train, y_train, "train", "y_train")
    test, y_test = _check_samples(test, y_test, "test", "y_test")
    classifiers = {
        name: make_classifier(name, random_state=random_state) for name in names
    }
    with threadpool_limits(limits=1):
        return {
            name: panel_accuracy(name, classifier, train, y_train, test, y_test)
            for name, classifier in classifiers.items()
        }


def panel_mean(scores: Mapping[str, float], names: Iterable[str] = FOUR) -> float:
    """Average the accuracies of a panel; those left out (NaN) do not count.

    Parameters
    ----------
    scores : mapping of str to float
        As `score_classifiers` returns them.
    names : iterable of str, default=FOUR
        Which of them.

    Returns
    -------
    float
        NaN if all were left out.

    Examples
    --------
    >>> panel_mean({"KNN": 0.5, "GPC": float("nan"), "NB": 1.0}, ["KNN", "GPC", "NB"])
    0.75
    """
    counted = [scores[name] for name in names if not np.isnan(scores[name])]
    return float(np.mean(counted)) if counted else np.nan


def panel_max(scores: Mapping[str, float], names: Iterable[str] = EIGHT) -> float:
    """Take the best accuracy of a panel; those left out (NaN) do not count.

    Choosing a classifier by its test accuracy is what KLAP did, not a recommendation.

    Parameters
    ----------
    scores : mapping of str to float
        As `score_classifiers` returns them.
    names : iterable of str, default=EIGHT
        Which of them.

    Returns
    -------
    float
        NaN if all were left out.

    Examples
    --------
    >>> panel_max({"KNN": 0.5, "GPC": float("nan")}, ["KNN", "GPC"])
    0.5
    """
    counted = [scores[name] for name in names if not np.isnan(scores[name])]
    return float(max(counted, default=np.nan))


def silhouette(embedding: Any, y: Any) -> float:
    """Return the mean silhouette of the true classes.

    Parameters
    ----------
    embedding : array-like (n, d)
        Coordinates.
    y : array-like (n,)
        Classes.

    Returns
    -------
    float
        Between -1 and 1; NaN where it is not defined: if there is only one class, or
        every sample is a class of its own.

    Examples
    --------
    >>> round(silhouette([[0], [1], [8], [9]], ["a", "a", "b", "b"]), 3)
    0.875
    >>> silhouette([[0], [1]], ["a", "a"])
    nan
    """
    from sklearn.metrics import silhouette_score

    embedding, y = _check_samples(embedding, y, "embedding", "y")
    if not 2 <= len(np.unique(y)) < len(y):
        return np.nan
    return float(silhouette_score(embedding, y))


def one_nn_accuracy(embedding: Any, y: Any) -> float:
    """Classify every sample by its nearest other sample (leave-one-out 1-NN).

    Equally near samples: the one with the lower index decides.

    Parameters
    ----------
    embedding : array-like (n, d)
        Coordinates of at least two samples.
    y : array-like (n,)
        Classes.

    Returns
    -------
    float
        Share of the samples whose nearest neighbour is of their class.

    Examples
    --------
    >>> one_nn_accuracy([[0], [1], [3], [9]], ["a", "a", "b", "b"])
    0.75
    """
    embedding, y = _check_samples(embedding, y, "embedding", "y")
    if len(y) < 2:
        raise ValueError(
            "embedding must have two samples or more, as each is classified by its "
            f"nearest other one. Got {len(y)} instead."
        )
    nearest = find_neighbors(embedding, 1).indices[:, 0]
    return float(np.mean(y[nearest] == y))


def evaluate(
    embedding: Any,
    y: Any,
    *,
    X: Any = None,
    test_size: float = 0.5,
    random_state: int | None = 42,
) -> dict[str, float]:
    """Score an embedding by the true classes, as the papers do.

    The accuracies are those of one split into halves. The embedding has seen all
    samples, and with a label rule all labels: the papers' tables were made this way. It
    is no estimate of the accuracy on new samples. For that, fit the embedding to
    training samples only, and score where its `transform` places the others.

    Parameters
    ----------
    embedding : array-like (n, d)
        Coordinates.
    y : array-like (n,)
        Classes; -1 is a class like any other.
    X : array-like (n, m), default=None
        The samples before embedding, to say how well neighbours were kept.
    test_size : float, default=0.5
        Share of the samples that is classified.
    random_state : int or None, default=42
        Seed of the split, which is not stratified; the classifiers have seed 0.

    Returns
    -------
    dict of str to float
        Names as in the papers' tables: "silhouette", "mean_accuracy_4" (mean of
        `FOUR`), "max_accuracy_8" (maximum of `EIGHT`), "accuracy_1nn" (leave-one-out),
        "accuracy:KNN" and so on for each of the eight classifiers; with `X` also
        "trustworthiness" and "continuity" of 5 neighbours. NaN marks what is not
        defined (see `silhouette`) or was left out (see `score_classifiers`).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.preprocessing import scale
    >>> import patchfold as pf
    >>> X, y = load_wine(return_X_y=True)
    >>> scores = pf.metrics.evaluate(PCA(2).fit_transform(scale(X)), y)
    >>> round(scores["silhouette"], 3), round(scores["accuracy:KNN"], 3)
    (0.526, 0.966)
    """
    from sklearn.model_selection import train_test_split

    embedding, y = _check_samples(embedding, y, "embedding", "y")
    train, test, y_train, y_test = train_test_split(
        embedding, y, test_size=test_size, random_state=random_state
    )
    accuracies = score_classifiers(EIGHT, train, y_train, test, y_test)
    scores = {
        "silhouette": silhouette(embedding, y),
        "mean_accuracy_4": panel_mean(accuracies),
        "max_accuracy_8": panel_max(accuracies),
        "accuracy_1nn": one_nn_accuracy(embedding, y),
    }
    scores |= {f"accuracy:{name}": value for name, value in accuracies.items()}
    if X is not None:
        scores["trustworthiness"] = trustworthiness(X, embedding)
        scores["continuity"] = continuity(X, embedding)
    return scores


def _check_samples(
    points: Any, y: Any, name: str, y_name: str
) -> tuple[np.ndarray, np.ndarray]:
    points, y = check_points(points, name), np.asarray(y)
    if y.shape != points.shape[:1]:
        raise ValueError(
            f"{y_name} must have one class for each of the {len(points)} rows of "
            f"{name}. Got shape {y.shape} instead."
        )
    return points, y
