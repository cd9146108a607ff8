"""What every protocol does alike: prepare the columns, run the classifiers."""

from __future__ import annotations

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ...metrics.panels import (
    EIGHT,
    FOUR,
    panel_max,
    panel_mean,
    score_classifiers,
    silhouette,
)


def fill_and_scale() -> Pipeline:
    """Return what is done to the columns before any method: fill, then z-score."""
    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())


def panel_scores(
    train: np.ndarray,
    y_train: np.ndarray,
    test: np.ndarray,
    y_test: np.ndarray,
    metrics: set[str],
) -> dict[str, float]:
    """Run the classifiers that the metrics need.

    Parameters
    ----------
    train, y_train, test, y_test : arrays
        Embedded samples and their classes.
    metrics : set of str
        "mean_accuracy_4" needs `FOUR`, as does "accuracy:KNN" and the like; those with
        an 8 in their name, and classifiers not among the four, need `EIGHT`.

    Returns
    -------
    dict of str to float
        Nothing if no metric needs a classifier.
    """
    named = {m.removeprefix("accuracy:") for m in metrics if m.startswith("accuracy:")}
    eight = any("8" in metric for metric in metrics) or not named <= set(FOUR)
    if not (eight or named or "mean_accuracy_4" in metrics):
        return {}
    scores = score_classifiers(EIGHT if eight else FOUR, train, y_train, test, y_test)
    values = {f"accuracy:{name}": value for name, value in scores.items()}
    values["mean_accuracy_4"] = panel_mean(scores, FOUR)
    if eight:
        values["mean_accuracy_8"] = panel_mean(scores, EIGHT)
        values["max_accuracy_8"] = panel_max(scores, EIGHT)
    return values


def score_split(
    embedding: np.ndarray, y: np.ndarray, metrics: set[str]
) -> dict[str, float]:
    """Score an embedding of all samples on the papers' one split, and its silhouette.

    Parameters
    ----------
    embedding : array (n, d)
        All samples.
    y : array (n,)
        Their classes.
    metrics : set of str
        As in `panel_scores`.

    Returns
    -------
    dict of str to float
    """
    train, test, y_train, y_test = train_test_split(
        embedding, y, test_size=0.5, random_state=42
    )
    values = panel_scores(train, y_train, test, y_test, metrics)
    values["silhouette"] = silhouette(embedding, y)
    return values
