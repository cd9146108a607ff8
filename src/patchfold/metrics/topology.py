"""How well an embedding keeps neighbours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from ..backends.structure import check_structure
from ..neighbors.choice import find_neighbors
from ..validation import LARGEST

TIE_TOLERANCE = 1e-12
"""Similarities, or distances, closer than this relative to their size are equal."""

BLOCK_SIZE = 2**22
"""How many distances are compared at a time."""


def local_topology_violations(
    similarity: Any, embedding: Any, *, n_pairs: int = 25
) -> int:
    """Count how often the most similar pairs are embedded in the wrong order.

    Among the `n_pairs` most similar pairs of samples, every two pairs with
    w_ij > w_pq but ||r_i - r_j|| > ||r_p - r_q|| are a conflict with eq. 5 of the
    Cauchy graph embedding paper [1]_. Equal similarities conflict with nothing.

    Each conflict counts 4 times: the paper takes the 50 largest entries of a symmetric
    matrix and all their 2,500 combinations, which is 25 pairs, each in two orders.

    Parameters
    ----------
    similarity : array or sparse array (n, n)
        Symmetric similarities w; the diagonal is ignored.
    embedding : array-like (n, d)
        Embedded samples r.
    n_pairs : int, default=25
        How many of the most similar pairs are compared; ties go to the lower indices.

    Returns
    -------
    int
        Number of conflicts, a multiple of 4.

    References
    ----------
    .. [1] D. Luo, C. Ding, F. Nie, H. Huang, "Cauchy graph embedding", ICML, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold.metrics import local_topology_violations
    >>> W = np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0]])
    >>> local_topology_violations(W, [[0.0], [1.0], [3.0]])
    0
    >>> local_topology_violations(W, [[0.0], [3.0], [1.0]])
    12
    """
    if sp.issparse(similarity):
        check_structure(similarity, "similarity")
    else:
        similarity = check_points(similarity, "similarity")
    upper = sp.coo_array(sp.triu(sp.coo_array(similarity), k=1))
    points = check_points(embedding, "embedding")
    if points.shape[0] != upper.shape[0] or upper.shape[0] != upper.shape[1]:
        raise ValueError(
            f"embedding must have one row for each of the {upper.shape[0]} samples of "
            f"similarity. Got shape {points.shape} instead."
        )
    most = np.lexsort((upper.col, upper.row, -upper.data))[:n_pairs]
    w = upper.data[most]
    r = np.linalg.norm(points[upper.row[most]] - points[upper.col[most]], axis=1)
    more_similar = w[:, None] - w > TIE_TOLERANCE * np.abs(w).max(initial=0)
    farther = r[:, None] - r > TIE_TOLERANCE * r.max(initial=0)
    return 4 * int((more_similar & farther).sum())


def trustworthiness(X: Any, embedding: Any, *, n_neighbors: int = 5) -> float:
    """Return how well neighbours in the embedding are neighbours in the input space.

    It is 1 if the `n_neighbors` nearest samples in the embedding are also the nearest
    in `X`. A false neighbour costs its rank in `X` beyond `n_neighbors` [1]_. This is
    `sklearn.manifold.trustworthiness`, but ties go to the lower index in both spaces,
    so that a copy of `X` scores 1 with duplicates too. Time grows with n², memory does
    not.

    Parameters
    ----------
    X : array-like (n, m)
        Samples.
    embedding : array-like (n, d)
        Embedded samples, in the same order.
    n_neighbors : int, default=5
        Size of a neighbourhood, less than n / 2.

    Returns
    -------
    float
        Between 0 and 1; higher is better.

    See Also
    --------
    continuity : The same with the two spaces exchanged.

    References
    ----------
    .. [1] J. Venna, S. Kaski, "Neighborhood preservation in nonlinear projection
       methods: an experimental study", ICANN, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold.metrics import continuity, trustworthiness
    >>> X = load_iris().data
    >>> trustworthiness(X, X)
    1.0
    >>> round(trustworthiness(X, X[:, :1]), 2), round(continuity(X, X[:, :1]), 2)
    (0.81, 0.93)
    """
    X, embedding = _check_pair(X, embedding, n_neighbors)
    return float(_without_strangers(X, embedding, n_neighbors).mean())


def sample_trustworthiness(
    X: Any, embedding: Any, *, n_neighbors: int = 5
) -> np.ndarray:
    """Return the trustworthiness of every sample; their mean is `trustworthiness`.

    Parameters
    ----------
    X, embedding, n_neighbors
        As in `trustworthiness`.

    Returns
    -------
    array (n,)
        1 where no neighbour is false; below 0 where most are far away in `X`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> round(float(sample_trustworthiness(X, X[:, :1]).mean()), 2)
    0.81
    """
    X, embedding = _check_pair(X, embedding, n_neighbors)
    return _without_strangers(X, embedding, n_neighbors)


def continuity(X: Any, embedding: Any, *, n_neighbors: int = 5) -> float:
    """Return how well neighbours in the input space stay neighbours in the embedding.

    It is 1 if the `n_neighbors` nearest samples in `X` are also the nearest in the
    embedding. It is the trustworthiness of `X` as a picture of the embedding.

    Parameters
    ----------
    X : array-like (n, m)
        Samples.
    embedding : array-like (n, d)
        Embedded samples, in the same order.
    n_neighbors : int, default=5
        Size of a neighbourhood, less than n / 2.

    Returns
    -------
    float
        Between 0 and 1; higher is better.

    See Also
    --------
    trustworthiness : The same with the two spaces exchanged; has an example.
    """
    X, embedding = _check_pair(X, embedding, n_neighbors)
    return float(_without_strangers(embedding, X, n_neighbors).mean())


def _check_pair(
    X: Any, embedding: Any, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    X, embedding = check_rows(X, embedding)
    if not 0 < n_neighbors < len(X) / 2:
        raise ValueError(
            f"n_neighbors must be at least 1 and less than half of the {len(X)} "
            f"samples. Got {n_neighbors!r} instead."
        )
    return X, embedding


def _without_strangers(space: np.ndarray, picture: np.ndarray, k: int) -> np.ndarray:
    """Return 1 less the excess ranks, in space, of each one's neighbours in picture."""
    n = len(space)
    near = find_neighbors(picture, k).indices
    excess = np.maximum(_ranks(space, near) - k, 0)
    return 1 - 2 * excess.sum(axis=1) / (k * (2 * n - 3 * k - 1))


def _ranks(X: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Return the rank of each listed sample among the neighbours of its row, from 1."""
    n, k = samples.shape
    rank = np.empty((n, k), dtype=int)
    index = np.arange(n)
    step = max(1, BLOCK_SIZE // (n * k))
    for rows in (index[start : start + step] for start in range(0, n, step)):
        squared = cdist(X[rows], X, "sqeuclidean")
        for column, listed in enumerate(samples[rows].T):
            rank[rows, column] = _rank_in_rows(squared, rows, listed)
    return rank


def _rank_in_rows(
    squared: np.ndarray, rows: np.ndarray, listed: np.ndarray
) -> np.ndarray:
    """Return the rank of one listed sample in each row of squared distances."""
    index, place = np.arange(squared.shape[1]), np.arange(len(rows))
    own = squared[place, listed]
    margin = TIE_TOLERANCE * own
    farther = own[:, None] - squared
    nearer = np.count_nonzero(farther > margin[:, None], axis=1)
    near = np.count_nonzero(farther >= -margin[:, None], axis=1)
    # The row's own sample is nearer, and the listed one ties with itself.
    rank = nearer + (farther[place, rows] <= margin)
    tied = np.flatnonzero(near - nearer > 1)
    tie = np.abs(farther[tied]) <= margin[tied, None]
    tie[np.arange(len(tied)), rows[tied]] = False
    rank[tied] += np.count_nonzero(tie & (index < listed[tied, None]), axis=1)
    return rank


def check_rows(X: Any, embedding: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return samples and their picture as matrices with equally many rows."""
    X, embedding = check_points(X, "X"), check_points(embedding, "embedding")
    if len(embedding) != len(X):
        raise ValueError(
            f"embedding must have one row for each of the {len(X)} rows of X. Got "
            f"{len(embedding)} rows instead."
        )
    return X, embedding


def check_points(points: Any, name: str) -> np.ndarray:
    """Return coordinates as a matrix of finite numbers, or say what is wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            points = np.asarray(points, dtype=float)
    except (TypeError, ValueError, np.exceptions.ComplexWarning) as error:
        raise ValueError(f"{name} must be a table of real numbers: {error}.") from error
    if points.ndim != 2 or points.size == 0:
        raise ValueError(
            f"{name} must have one row per sample and one column or more. Got shape "
            f"{points.shape} instead."
        )
    if not np.isfinite(points).all():
        bad = int((~np.isfinite(points).all(axis=1)).sum())
        raise ValueError(
            f"{name} has {bad} rows with numbers that are not finite: leave those "
            "samples out, or fill in what is missing."
        )
    largest = float(np.abs(points).max())
    if largest > LARGEST:
        raise ValueError(
            f"{name} has a value of size {largest:.3g}, and squares of more than "
            f"{LARGEST:g} overflow: scale it."
        )
    return points
