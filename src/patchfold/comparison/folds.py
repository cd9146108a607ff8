"""Folds of a table, and how held-out samples are scored by their neighbours."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

N_VOTERS = 7
"""Nearest training samples that predict a held-out sample."""


@dataclass(frozen=True)
class Split:
    """A training part and the rest as numbers, encoded by the training part alone.

    Attributes
    ----------
    train, test : arrays
        Samples.
    y_train, y_test : arrays or None
        Their targets.
    """

    train: np.ndarray
    test: np.ndarray
    y_train: Any
    y_test: Any


def make_splits(
    encoder: Any,
    features: Any,
    y: np.ndarray | None,
    n_splits: int,
    *,
    stratified: bool = True,
) -> list[Split]:
    """Cut the samples into parts, each to be held out once.

    Parameters
    ----------
    encoder : transformer
        Cloned and fitted on each training part.
    features : pandas.DataFrame
        All samples.
    y : array (n,) or None
        Classes, or numbers.
    n_splits : int
        Number of parts, two or more.
    stratified : bool, default=True
        Whether every part has its share of each class.

    Returns
    -------
    list of Split
    """
    kind = StratifiedKFold if stratified else KFold
    folds = kind(n_splits, shuffle=True, random_state=0)
    splits = []
    with warnings.catch_warnings():
        # A class with fewer samples than there are parts is missing from some of them.
        warnings.simplefilter("ignore", UserWarning)
        pairs = list(folds.split(np.zeros(len(features)), y))
    for train, test in pairs:
        coder = clone(encoder)
        inside = coder.fit_transform(features.iloc[train])
        outside = coder.transform(features.iloc[test])
        known = None if y is None else y[train]
        asked = None if y is None else y[test]
        splits.append(Split(inside, outside, known, asked))
    return splits


def predict(
    train: np.ndarray, y_train: np.ndarray, test: np.ndarray, task: str
) -> np.ndarray:
    """Predict held-out samples by their 7 nearest training samples.

    Parameters
    ----------
    train, test : array (n, d), (q, d)
        Coordinates.
    y_train : array (n,)
        Classes, or numbers.
    task : {"classes", "numbers"}
        Which of them.

    Returns
    -------
    array (q,)
    """
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    kind = KNeighborsClassifier if task == "classes" else KNeighborsRegressor
    return kind(min(N_VOTERS, len(train))).fit(train, y_train).predict(test)


def score_rows(y: np.ndarray, predicted: np.ndarray, task: str) -> np.ndarray:
    """Return the score of each held-out sample.

    Their mean is the accuracy of classes, or R² of numbers.
    """
    if task == "classes":
        return (y == predicted).astype(float)
    spread = float(np.mean((y - y.mean()) ** 2))
    return 1 - (y - predicted) ** 2 / (spread or np.nan)


def score_classes(
    y: np.ndarray, predicted: np.ndarray, n_classes: int
) -> tuple[float, float, tuple[float, ...]]:
    """Return balanced accuracy, macro F1, and the recall of each class.

    Parameters
    ----------
    y, predicted : arrays of int
        Classes of all held-out samples, every fold together, and what was predicted.
    n_classes : int
        Number of classes.

    Examples
    --------
    >>> import numpy as np
    >>> score_classes(np.array([0, 0, 1]), np.array([0, 0, 0]), 2)
    (0.5, 0.4, (1.0, 0.0))
    """
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (y, predicted), 1)
    right, truly, said = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    recalls = np.divide(right, truly, out=np.full(n_classes, np.nan), where=truly > 0)
    f1 = 2 * right / np.maximum(truly + said, 1)
    occurs = truly > 0
    return (
        float(recalls[occurs].mean()),
        float(f1[occurs].mean()),
        tuple(float(value) for value in recalls),
    )


def find_mistaken(
    y: np.ndarray, predicted: np.ndarray, n_classes: int
) -> tuple[tuple[int, int], ...]:
    """Return for each class which other one is most often said instead, and how often.

    Parameters
    ----------
    y, predicted : arrays of int
        Classes of all held-out samples, every fold together, and what was predicted.
    n_classes : int
        Number of classes.

    Returns
    -------
    tuple of (int, int)
        A class and a count; the count is 0 if no sample of the class is mistaken.

    Examples
    --------
    >>> import numpy as np
    >>> find_mistaken(np.array([0, 0, 1]), np.array([0, 0, 0]), 2)
    ((1, 0), (0, 1))
    """
    counts = np.zeros((n_classes, n_classes), dtype=int)
    np.add.at(counts, (y, predicted), 1)
    np.fill_diagonal(counts, -1)
    most = counts.argmax(axis=1)
    return tuple(
        (int(k), max(0, int(row[k]))) for k, row in zip(most, counts, strict=True)
    )
