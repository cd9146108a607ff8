"""How much of the samples' structure a picture keeps: neighbours, order, distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import spearmanr

from ..neighbors.choice import find_neighbors
from .topology import TIE_TOLERANCE, check_rows

BLOCK_SIZE = 2**22
"""How many coordinate differences are held at a time."""


def neighborhood_hits(X: Any, embedding: Any, *, n_neighbors: int = 15) -> float:
    """Return the share of neighbours in the input space that stay neighbours.

    The mean, over samples, of the share of the `n_neighbors` nearest samples in `X`
    that are also among the `n_neighbors` nearest in the embedding. Unlike
    trustworthiness and continuity it counts a lost neighbour the same however far away
    it went. Ties go to the lower index in both spaces.

    Parameters
    ----------
    X : array-like (n, m)
        Samples.
    embedding : array-like (n, d)
        Embedded samples, in the same order.
    n_neighbors : int, default=15
        Size of a neighbourhood, less than n.

    Returns
    -------
    float
        Between 0 and 1; higher is better. A random embedding has about
        `n_neighbors` / (n - 1).

    See Also
    --------
    trustworthiness, continuity : Weigh lost neighbours by their ranks.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold.metrics import neighborhood_hits
    >>> X = load_iris().data
    >>> neighborhood_hits(X, X), round(neighborhood_hits(X, X[:, :1]), 2)
    (1.0, 0.44)
    """
    X, embedding = _check_rows(X, embedding, least=2)
    if not 0 < n_neighbors < len(X):
        raise ValueError(
            f"n_neighbors must be at least 1 and less than the {len(X)} samples. Got "
            f"{n_neighbors!r} instead."
        )
    before = find_neighbors(X, n_neighbors).indices
    after = find_neighbors(embedding, n_neighbors).indices
    rows = len(X) * np.arange(len(X))[:, None]
    return float(np.isin(rows + before, rows + after).mean())


def triplet_accuracy(
    X: Any, embedding: Any, *, n_triplets: int = 20, random_state: int = 0
) -> float:
    """Return the share of random triplets whose order of distances is kept.

    A triplet is a sample and two others: it is kept if the one that is nearer in `X` is
    nearer in the embedding [1]_. This scores large distances, as random samples are
    rarely near. A triplet of equal distances in `X` has no order and does not count;
    one of equal distances in the embedding alone counts half.

    Parameters
    ----------
    X : array-like (n, m)
        Samples, at least three.
    embedding : array-like (n, d)
        Embedded samples, in the same order.
    n_triplets : int, default=20
        Triplets drawn for each sample.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    float
        Between 0 and 1; higher is better, and a random embedding has about .5. NaN if
        no triplet has an order.

    References
    ----------
    .. [1] Y. Wang, H. Huang, C. Rudin, Y. Shaposhnik, "Understanding how dimension
       reduction tools work", JMLR 22, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold.metrics import triplet_accuracy
    >>> X = load_iris().data
    >>> triplet_accuracy(X, X), round(triplet_accuracy(X, X[:, :1]), 2)
    (1.0, 0.78)
    """
    X, embedding = _check_rows(X, embedding, least=3)
    _check_count("n_triplets", n_triplets)
    first, second = _draw_others(len(X), n_triplets, random_state)
    center = np.repeat(np.arange(len(X)), n_triplets)
    before = _order(X, center, first, second)
    after = _order(embedding, center, first, second)
    ordered = before != 0
    if not ordered.any():
        return np.nan
    return float((1 + before * after)[ordered].mean() / 2)


def distance_rank_correlation(
    X: Any, embedding: Any, *, n_pairs: int = 200_000, random_state: int = 0
) -> float:
    """Return Spearman's correlation of distances in the two spaces.

    Over all pairs of samples or, if there are more than `n_pairs`, over that many drawn
    at random.

    Parameters
    ----------
    X : array-like (n, m)
        Samples, at least three.
    embedding : array-like (n, d)
        Embedded samples, in the same order.
    n_pairs : int, default=200_000
        Pairs at most.
    random_state : int, default=0
        Seed of the draw.

    Returns
    -------
    float
        Between -1 and 1; higher is better. NaN if all distances of a space are equal.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold.metrics import distance_rank_correlation
    >>> X = load_iris().data
    >>> round(distance_rank_correlation(X, 2 * X), 3)
    1.0
    >>> round(distance_rank_correlation(X, X[:, :1]), 2)
    0.75
    """
    X, embedding = _check_rows(X, embedding, least=3)
    _check_count("n_pairs", n_pairs)
    n = len(X)
    if n * (n - 1) // 2 <= n_pairs:
        first, second = np.triu_indices(n, 1)
    else:
        rng = np.random.default_rng(random_state)
        first = rng.integers(n, size=n_pairs)
        second = (first + rng.integers(1, n, size=n_pairs)) % n
    before, after = _gaps(X, first, second), _gaps(embedding, first, second)
    if np.ptp(before) == 0 or np.ptp(after) == 0:
        return np.nan
    return float(spearmanr(before, after).statistic)


def _draw_others(n: int, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw, `count` times for each sample, two others that differ."""
    rng = np.random.default_rng(seed)
    center = np.repeat(np.arange(n), count)
    step = rng.integers(1, n, size=center.size)
    other = rng.integers(1, n - 1, size=center.size)
    other += other >= step
    return (center + step) % n, (center + other) % n


def _order(
    points: np.ndarray, center: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Return -1 where the first sample is nearer, 1 where the second is, 0 for ties."""
    near, far = _gaps(points, center, first), _gaps(points, center, second)
    tie = np.abs(near - far) <= TIE_TOLERANCE * np.maximum(near, far)
    return np.where(tie, 0, np.sign(near - far))


def _gaps(points: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the distances of pairs of rows."""
    gaps = np.empty(first.size)
    step = max(1, BLOCK_SIZE // points.shape[1])
    for start in range(0, first.size, step):
        some = slice(start, start + step)
        gaps[some] = np.linalg.norm(points[first[some]] - points[second[some]], axis=1)
    return gaps


def _check_rows(X: Any, embedding: Any, least: int) -> tuple[np.ndarray, np.ndarray]:
    X, embedding = check_rows(X, embedding)
    if len(X) < least:
        raise ValueError(f"X must have {least} samples or more. Got {len(X)} instead.")
    return X, embedding


def _check_count(name: str, count: int) -> None:
    if count < 1:
        raise ValueError(f"{name} must be at least 1. Got {count!r} instead.")
