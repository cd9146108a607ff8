"""Confusion of classes -> anchors: where a row that surely is of a class would lie.

The embedding of a row is the mean of the anchors, weighed by its posterior. Classes
that are confused sit side by side, so that a row between two of them lies between
their anchors and not in the middle of everything. The arrangement hangs on who is
confused with whom; where that does not tell classes apart, on the means of their
columns, and on their names only where those are equal too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

ROUNDS = 200
"""Most rounds of 2-opt, and of repulsion on the sphere."""


def place_anchors(posterior: np.ndarray, n_components: int) -> np.ndarray:
    """Arrange the classes in space.

    Up to two dimensions: on a line, or a circle, in the order that puts confused
    classes side by side. With as many dimensions as classes less one: a regular
    simplex, where all are equally near. Between the two: spread over a sphere, confused
    classes nearer.

    Parameters
    ----------
    posterior : array (n, C)
        Leave-one-out posteriors of the training rows.
    n_components : int
        Dimensions d, at most C - 1.

    Returns
    -------
    array (C, d)
        On the unit sphere; on a line evenly from -1 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> place_anchors(np.eye(2), 1).ravel().tolist()
    [-1.0, 1.0]
    """
    confusion = posterior.T @ posterior
    n_classes = confusion.shape[0]
    order = _by_weight(confusion)
    if n_components == 1:
        path = _shortest(confusion, order, closed=False)
        anchors = np.empty((n_classes, 1))
        anchors[path, 0] = np.linspace(-1, 1, n_classes)
        return anchors
    if n_components == 2:
        ring = _shortest(confusion, order, closed=True)
        angle = np.pi / 2 + 2 * np.pi * np.arange(n_classes) / n_classes
        anchors = np.empty((n_classes, 2))
        anchors[ring] = np.column_stack([np.cos(angle), np.sin(angle)])
        return anchors
    if n_components == n_classes - 1:
        anchors = np.empty((n_classes, n_components))
        anchors[order] = _simplex(n_classes)
        return anchors
    return _sphere(confusion, order, n_components)


def order_classes(X: Any, codes: np.ndarray) -> np.ndarray:
    """Order classes by the means of their columns, whatever the classes are called.

    Parameters
    ----------
    X : array or csr_array (n, m)
        Rows.
    codes : int array (n,)
        Their classes, 0, 1, ..., C - 1.

    Returns
    -------
    int array (C,)

    Examples
    --------
    >>> order_classes(np.array([[4.0], [2.0], [3.0]]), np.array([0, 1, 1])).tolist()
    [1, 0]
    """
    counts = np.bincount(codes)
    if sp.issparse(X):
        # Where all are 0, classes are equal.
        X = X[:, np.unique(np.append(X.indices, 0))]
        largest = abs(X).max(axis=0).toarray().ravel()
        share = sp.csr_array(X.multiply(1 / np.where(largest > 0, largest, 1.0)))
    else:
        X = np.where(np.isnan(X), 0.0, X)  # only to have an order
        largest = np.abs(X).max(axis=0)
        share = np.divide(X, largest, out=np.zeros_like(X), where=largest > 0)
    means = (np.eye(counts.size)[codes].T @ share) / counts[:, None]
    return np.lexsort(np.round(means, 9).T[::-1])


def _by_weight(confusion: np.ndarray) -> np.ndarray:
    """Order classes by how much of the posterior is theirs, the largest first."""
    return np.argsort(-np.round(confusion.sum(axis=1), 6), kind="stable")


def _shortest(confusion: np.ndarray, order: np.ndarray, *, closed: bool) -> np.ndarray:
    """Order the classes so that neighbours are confused much: greedy, then 2-opt."""
    n = order.size
    similarity = np.round(confusion, 9)
    tour, rest = [order[0]], list(order[1:])
    while rest:
        best = max(rest, key=lambda c: similarity[tour[-1], c])
        tour.append(best)
        rest.remove(best)
    for _ in range(ROUNDS):
        swap = _best_reversal(similarity, tour, closed)
        if swap is None:
            break
        i, j = swap
        tour[i : j + 1] = tour[i : j + 1][::-1]
    rank = np.argsort(order)
    if closed:  # begin with the heaviest class, and go towards its heavier neighbour
        tour = tour[tour.index(order[0]) :] + tour[: tour.index(order[0])]
        if n > 2 and rank[tour[1]] > rank[tour[-1]]:
            tour = [tour[0], *tour[:0:-1]]
    elif rank[tour[0]] > rank[tour[-1]]:
        tour = tour[::-1]
    return np.array(tour)


def _best_reversal(
    similarity: np.ndarray, tour: list[int], closed: bool
) -> tuple[int, int] | None:
    """Find the part whose reversal gains most similarity of neighbours, if any does."""
    n, best, found = len(tour), 1e-12, None
    for i in range(n - 1):
        for j in range(i + 1, n):
            before = tour[i - 1] if i > 0 or closed else None
            after = tour[(j + 1) % n] if j < n - 1 or closed else None
            if before == tour[j]:
                continue
            gain = 0.0
            if before is not None:
                gain += similarity[before, tour[j]] - similarity[before, tour[i]]
            if after is not None:
                gain += similarity[tour[i], after] - similarity[tour[j], after]
            if gain > best:
                best, found = gain, (i, j)
    return found


def _simplex(n_classes: int) -> np.ndarray:
    """Return the corners of a regular simplex on the unit sphere, in C - 1 dimensions.

    Corner k has nothing in the dimensions after the k-th.
    """
    gram = np.eye(n_classes) * (1 + 1 / (n_classes - 1)) - 1 / (n_classes - 1)
    corners = np.zeros((n_classes, n_classes - 1))
    corners[:-1] = np.linalg.cholesky(gram[:-1, :-1])
    corners[-1] = -corners[:-1].sum(axis=0)
    return corners


def _sphere(confusion: np.ndarray, order: np.ndarray, d: int) -> np.ndarray:
    """Spread anchors over a sphere by repulsion, from the classes' main directions.

    The start is the simplex seen along the d directions in which confusion differs
    most; each anchor then moves away from the others, less from those it is confused
    with.
    """
    weight = np.sqrt(np.outer(np.diag(confusion), np.diag(confusion))) + 1e-12
    likeness = np.clip(confusion / weight, 0, 1)[np.ix_(order, order)]
    centring = np.eye(order.size) - 1 / order.size
    _, vectors = np.linalg.eigh(centring @ likeness @ centring)
    start = vectors[:, ::-1][:, :d]
    largest = np.abs(start).argmax(axis=0)
    start = start * np.sign(start[largest, np.arange(d)])
    points = _normalize(start + 1e-3 * _simplex(order.size)[:, :d])
    push = (2 - likeness) * (1 - np.eye(order.size))
    for step in range(ROUNDS):
        gap = points[:, None, :] - points[None, :, :]
        squared = (gap**2).sum(axis=2) + np.eye(order.size) + 1e-6
        force = (push / squared**1.5)[:, :, None] * gap
        force = force.sum(axis=1)
        force /= np.linalg.norm(force, axis=1).max()
        points = _normalize(points + 0.3 * (1 - step / ROUNDS) * force)
    anchors = np.empty_like(points)
    anchors[order] = points
    return anchors


def _normalize(points: np.ndarray) -> np.ndarray:
    return points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-300)
