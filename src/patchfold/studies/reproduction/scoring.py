"""What every protocol does alike: prepare the columns, run the classifiers."""

from __future__ import annotations

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ...metrics.panels import EIGHT, FOUR, panel_max, panel_mean, score_classifiers


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
