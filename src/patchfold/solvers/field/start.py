"""Samples, or a matrix of their dissimilarities -> coordinates to start from.

The start is principal components of samples that are pulled in where they lie far out,
so that outliers do not spoil it. It follows the samples when these are turned or
mirrored, and a rule fixes its signs. It is rounded to a grid much coarser than double
precision: turned samples then start from the same bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from ...backends.backend import on_any_device
from ...patches.sparse_space import find_sparse_space

SIZE = 0.01
"""Standard deviation of the first coordinate of a start."""

FAR = 3.0
"""Samples farther from the centre than this many median distances are pulled in."""

DENSE = 2048
"""Up to this many rows of a matrix all its eigenvectors are found."""

ROUGH = 1e-4
"""Tolerance of principal axes that only a start is made of."""

FEW = 100
"""Sparse samples with no more rows or features are seen in the space they span."""

TURN = np.pi * (3 - 5**0.5)
"""Golden angle: pieces that are put round a middle by it do not cover each other."""

FINEST = 2.0**-24
"""Coordinates of a start are multiples of this."""


class Principal(NamedTuple):
    """Principal axes of pulled-in samples.

    Attributes
    ----------
    center : array (m,)
        Centre that far samples do not move.
    axes : array (m, k)
        Axes, the one of most variance first.
    scores : array (n, k)
        Coordinates along the axes, from the centre, of samples as they are.
    shape : array (n, 2)
        What a start looks like: two scores, pulled in; 0 where there is one only.
    """

    center: np.ndarray
    axes: np.ndarray
    scores: np.ndarray
    shape: np.ndarray


def principal_axes(X: np.ndarray, n_axes: int) -> Principal:
    """Find principal axes that a few far samples do not determine.

    Parameters
    ----------
    X : array (n, m)
        Samples.
    n_axes : int
        Axes wanted; there are at most min(n, m).

    Returns
    -------
    Principal
        Signs of the first two axes follow `orientation`.
    """
    size = float(abs(X).max()) or 1.0
    if 1e-100 < size < 1e100:
        return Principal(*find_axes(X, n_axes, FAR))
    center, axes, *scores = find_axes(X / size, n_axes, FAR)  # squares are numbers
    return Principal(size * center, axes, *(size * part for part in scores))


@on_any_device
def find_axes(X: np.ndarray, n_axes: int, far: float) -> tuple[np.ndarray, ...]:
    """Return what `Principal` has, in this order.

    Samples farther than `far` median distances from the centre are pulled in.
    """
    center = X.mean(axis=0)
    for _ in range(30):  # each round takes most of what outliers have moved it
        away = X - center
        r = np.sqrt(np.einsum("ij,ij->i", away, away))
        median = float(np.median(r))
        limit = far * median if median > 0 else np.inf
        pull = np.where(r > limit, limit / np.maximum(r, 1e-300), 1.0)
        moved = pull @ away / X.shape[0]
        if np.linalg.norm(moved) <= 1e-6 * median:
            break
        center = center + moved
    pulled = pull < 1
    kept = away[pulled]
    away[pulled] *= pull[pulled, None]
    axes = _leading_axes(away, min(n_axes, *X.shape))
    away[pulled] = kept
    scores = away @ axes
    signs = np.ones(axes.shape[1])
    signs[:2] = orientation(scores[:, :2] * pull[:, None])
    scores *= signs
    shape = np.zeros((X.shape[0], 2))
    shape[:, : min(2, scores.shape[1])] = scores[:, :2] * pull[:, None]
    return center, np.ascontiguousarray(axes * signs), scores, shape


def sparse_axes(X: sp.csr_array, n_axes: int) -> Principal:
    """Do as `principal_axes` for sparse samples: their centre is never taken off.

    Parameters
    ----------
    X : csr_array (n, m)
        Samples.
    n_axes : int
        Axes wanted; there are at most min(n, m).
    """
    n, m = X.shape
    if min(n, m) <= max(n_axes + 1, FEW):
        space = find_sparse_space(X)
        found = principal_axes(space.samples, n_axes)
        center = space.in_features(found.center[:, None])[:, 0]
        return found._replace(center=center, axes=space.in_features(found.axes))
    size = float(np.abs(X.data).max(initial=0)) or 1.0
    X = X / size
    norms = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    center = np.asarray(X.mean(axis=0)).ravel()
    for _ in range(30):
        r = np.sqrt(np.maximum(norms - 2 * (X @ center) + center @ center, 0))
        median = float(np.median(r))
        limit = FAR * median if median > 0 else np.inf
        pull = np.where(r > limit, limit / np.maximum(r, 1e-300), 1.0)
        moved = (X.T @ pull - pull.sum() * center) / n
        if np.linalg.norm(moved) <= 1e-6 * median:
            break
        center = center + moved
    axes = _leading_sparse_axes(X, center, pull, n_axes)
    scores = X @ axes - center @ axes
    signs = np.ones(n_axes)
    signs[:2] = orientation(scores[:, :2] * pull[:, None])
    scores *= size * signs
    shape = scores[:, :2] * pull[:, None]
    return Principal(size * center, np.ascontiguousarray(axes * signs), scores, shape)


def _leading_sparse_axes(
    X: sp.csr_array, center: np.ndarray, pull: np.ndarray, k: int
) -> np.ndarray:
    """Return the k leading right singular vectors (m, k) of centred, pulled samples."""
    n, m = X.shape

    def along(v: np.ndarray) -> np.ndarray:
        return pull * (X @ v - center @ v)

    def back(u: np.ndarray) -> np.ndarray:
        pulled = pull * u
        return X.T @ pulled - pulled.sum() * center

    # Of a start only the look matters; axes to search along are found to the end.
    tol = ROUGH if k <= 2 else 0
    if m <= n:
        product = LinearOperator((m, m), lambda v: back(along(v)), dtype=float)
        return eigsh(product, k=k, v0=np.cos(np.arange(m)), tol=tol)[1][:, ::-1]
    product = LinearOperator((n, n), lambda u: along(back(u)), dtype=float)
    left = eigsh(product, k=k, v0=np.cos(np.arange(n)), tol=tol)[1][:, ::-1]
    axes = np.column_stack([back(u) for u in left.T])
    return axes / np.maximum(np.linalg.norm(axes, axis=0), 1e-300)


def _leading_axes(C: np.ndarray, k: int) -> np.ndarray:
    """Return the k leading right singular vectors (m, k) of centred samples."""
    n, m = C.shape
    if m <= min(n, DENSE):
        return eigh(C.T @ C, subset_by_index=[m - k, m - 1])[1][:, ::-1]
    if n <= DENSE:
        _, left = eigh(C @ C.T, subset_by_index=[n - k, n - 1])
        axes = C.T @ left[:, ::-1]
        return axes / np.maximum(np.linalg.norm(axes, axis=0), 1e-300)
    product = LinearOperator((m, m), matvec=lambda v: C.T @ (C @ v), dtype=float)
    _, axes = eigsh(product, k=k, v0=np.ones(m))
    return axes[:, ::-1]


def orientation(scores: np.ndarray) -> np.ndarray:
    """Return a sign for each column: that of its third moment.

    Where the third moment is 0 to rounding, the entry of largest size decides.
    """
    size = np.abs(scores).max(axis=0)
    unit = scores / np.where(size > 0, size, 1)
    third, bulk = (unit**3).sum(axis=0), (np.abs(unit) ** 3).sum(axis=0)
    largest = np.take_along_axis(unit, np.abs(unit).argmax(axis=0)[None], axis=0)[0]
    signs = np.sign(np.where(np.abs(third) > 1e-8 * bulk, third, largest))
    return np.where(signs == 0, 1.0, signs)


def matrix_scores(D: np.ndarray) -> np.ndarray:
    """Return principal scores (n, 2) of a dense matrix of dissimilarities.

    This is classical scaling with far samples pulled in, as in `principal_axes`.
    """
    n = D.shape[0]
    B = (D / (D.max() or 1.0)) ** 2
    B = -0.5 * (B - B.mean(axis=0) - B.mean(axis=1)[:, None] + B.mean())
    r = np.sqrt(np.maximum(np.diagonal(B), 0))
    median = np.median(r)
    pull = np.where(r > FAR * median, FAR * median / np.where(r > 0, r, 1), 1.0)
    if median > 0:
        B = pull[:, None] * B * pull
        B -= B.mean(axis=0) + B.mean(axis=1)[:, None] - B.mean()
    if n <= DENSE:
        values, vectors = eigh(B, subset_by_index=[n - 2, n - 1])
    else:
        values, vectors = eigsh(B, k=2, which="LA", v0=np.cos(np.arange(n)))
    scores = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0))
    return scores * orientation(scores)


def graph_scores(weights: Any) -> np.ndarray:
    """Return scores (n, 2) of a graph alone: eigenvectors of its random walk.

    Those of a graph in pieces would be constant on each, and its samples never part:
    such pieces have scores of their own.
    """
    n = weights.shape[0]
    count, label = connected_components(weights, directed=False)
    if count > 1:
        return _side_by_side(weights, label)
    root = 1 / np.sqrt(np.maximum(np.asarray(weights.sum(axis=1)).ravel(), 1e-300))
    scale = sp.diags_array(root)
    walk = (scale @ weights @ scale + sp.eye_array(n)).tocsr()  # no negative values
    if n <= DENSE:
        k = min(3, n)
        vectors = eigh(walk.toarray(), subset_by_index=[n - k, n - 1])[1][:, ::-1]
    else:
        vectors = eigsh(walk, k=3, which="LA", v0=1 / root)[1][:, ::-1]
    scores = vectors[:, 1:3] * root[:, None]
    return scores * orientation(scores)


def _side_by_side(weights: Any, label: np.ndarray) -> np.ndarray:
    """Put the scores of pieces round a middle, the largest first, each in its room."""
    n, sizes = weights.shape[0], np.bincount(label)
    members = np.split(np.argsort(label, kind="stable"), np.cumsum(sizes)[:-1])
    scores, before = np.zeros((n, 2)), 0
    for place, piece in enumerate(np.argsort(-sizes, kind="stable")):
        rows, share = members[piece], sizes[piece] / n
        own = graph_scores(weights[rows][:, rows])
        own *= share**0.5 / 3 / own.std()
        scores[rows, : own.shape[1]] = own
        away, angle = (before / n + share / 2) ** 0.5, TURN * place
        scores[rows] += away * np.array([np.cos(angle), np.sin(angle)])
        before += sizes[piece]
    return scores


@on_any_device
def make_start(scores: np.ndarray, n_components: int) -> np.ndarray:
    """Return start coordinates (n, 2), float32, of the shape of scores (n, k).

    Coordinates that scores do not tell apart get a small fixed pattern, as samples at
    one place could never part. With one component the second coordinate is 0.
    """
    n = scores.shape[0]
    start = np.zeros((n, 2))
    given = scores[:, :n_components]
    start[:, : given.shape[1]] = given - given.mean(axis=0)
    spread = start.std(axis=0)
    if spread[0] > 0:
        start *= SIZE / spread[0]
    else:
        start[:] = 0
    flat = start.std(axis=0) <= 1e-6 * SIZE
    pattern = np.random.RandomState(0).uniform(-1, 1, (n, 2)) * SIZE / 10
    start += np.where(flat, pattern, 0)
    if n_components == 1:
        start[:, 1] = 0
    return (np.round(start / FINEST) * FINEST).astype(np.float32)
