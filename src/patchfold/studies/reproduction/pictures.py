"""The study of pictures: what a map of all samples keeps, and what labels do to a map.

* `pictures`: all samples are drawn together, without labels, each method with its
  defaults. Labels only score the picture: unlike in the papers' protocol there is no K
  to choose, so that nothing is chosen by them.
* `labelled`: a map is fitted on the training half with its labels, and the test half is
  placed by `transform` without labels.
"""

from __future__ import annotations

import time
from functools import cache

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from ...metrics import (
    continuity,
    distance_rank_correlation,
    neighborhood_hits,
    triplet_accuracy,
    trustworthiness,
)
from ...metrics.panels import one_nn_accuracy, silhouette
from .honest import honest_split
from .methods import with_defaults
from .scoring import fill_and_scale, panel_scores, score_split

NEIGHBORS = 15
"""Neighbours of trustworthiness, continuity and hits."""

VOTERS = 7

COMPILED = ("UMAP", "PACMAP", "TRIMAP")
"""Methods that are compiled when they first run."""

MANY_SAMPLES = 4096
"""From here on UMAP searches neighbours by other functions, which compile too."""


def score_picture(method: str, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Draw all samples without labels, and score the picture.

    Parameters
    ----------
    method : str
        A name of `OWN` or `BASELINES`.
    X, y : arrays
        Raw samples, missing cells NaN, and class codes.

    Returns
    -------
    dict of str to float
        The metrics of the study's table 1. Classifiers are trained on the papers' one
        half; 1-NN is leave-one-out; seconds are processor time of the fit, in all
        threads, without compilation.
    """
    X = fill_and_scale().fit_transform(X)
    if method in COMPILED:
        _compile(method, len(X) >= MANY_SAMPLES)
    model = with_defaults(method)
    start = time.process_time()
    picture = model.fit_transform(X)
    seconds = time.process_time() - start
    k = min(NEIGHBORS, (len(X) - 1) // 2)
    values = score_split(picture, y, {"mean_accuracy_4"})
    return values | {
        "trustworthiness": trustworthiness(X, picture, n_neighbors=k),
        "continuity": continuity(X, picture, n_neighbors=k),
        "hits_15": neighborhood_hits(X, picture, n_neighbors=k),
        "triplets": triplet_accuracy(X, picture),
        "spearman": distance_rank_correlation(X, picture),
        "accuracy_1nn": one_nn_accuracy(picture, y),
        "seconds": seconds,
    }


@cache
def _compile(method: str, many: bool) -> None:
    """Fit a method once, so that the next fit is not one of its compiler."""
    size = MANY_SAMPLES + 1 if many else 100
    X = np.random.default_rng(0).normal(size=(size, 5))
    with_defaults(method).fit_transform(X)


def score_labelled(
    method: str, X: np.ndarray, y: np.ndarray, split: int
) -> dict[str, float]:
    """Fit a map on one half with labels, place the other half, and score both.

    Parameters
    ----------
    method : str
        A name of `OWN` or `BASELINES` that places new samples.
    X, y : arrays
        Raw samples, missing cells NaN, and class codes.
    split : int
        Which split.

    Returns
    -------
    dict of str to float
        The metrics of the study's table 2: accuracies and silhouette are of the test
        half. Those that begin with "training" are of the training picture:
        leave-one-out 7-NN accuracy, that less the accuracy of 7-NN on the test half,
        and the silhouette. Hits are of the training picture too.
    """
    train, test = honest_split(y, split)
    prepare = fill_and_scale().fit(X[train])
    samples = prepare.transform(X[train])
    model = with_defaults(method).fit(samples, y[train])
    picture, placed = model.embedding_, model.transform(prepare.transform(X[test]))
    values = panel_scores(picture, y[train], placed, y[test], {"mean_accuracy_4"})
    voter = KNeighborsClassifier(min(VOTERS, train.size - 1)).fit(picture, y[train])
    accuracy = float(voter.score(None, y[train]))  # None leaves each sample out
    k = min(NEIGHBORS, train.size - 1)
    return values | {
        "silhouette": silhouette(placed, y[test]),
        "hits_15": neighborhood_hits(samples, picture, n_neighbors=k),
        "training_accuracy": accuracy,
        "training_gap": accuracy - values["accuracy:KNN"],
        "training_silhouette": silhouette(picture, y[train]),
    }
