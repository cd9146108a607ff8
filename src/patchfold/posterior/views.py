"""Columns -> views: the metrics in which classes are compared.

* `zscore`: every column centred and divided by its standard deviation.
* `rank`: every column by the normal quantiles of its ranks; outliers come near.
* `whitened`: z-scores times S_W^(-1/2), S_W the covariance within classes, shrunk.
* `relevance`: z-scores times one weight per column, from Relief.

A column that never varies is 0 in every view: it cannot tell rows apart. The first two
views are made without labels, and from the present cells of a column; a gap stays NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtri

from ..backends.threads import map_blocks
from .search import ClassSearch

VIEWS = ("zscore", "rank", "whitened", "relevance")

WITHIN_SHRINKAGE = 0.1
"""How far the covariance within classes is shrunk towards a sphere."""

KNOTS = 5_000
"""A rank view of more than twice as many values keeps this many at even ranks, and this
many at even images, for the tails; between them it is linear."""

FAR = 1e60
"""Most standard deviations that a row is seen from the mean, so that sums of squares
stay numbers; `FARTHEST` is the same before units are taken out."""

FARTHEST = 1e300

RELIEF_NEIGHBORS = 10
RELIEF_ROUNDS = 2


class View(Protocol):
    """The contract of a view: a map of rows."""

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return the rows of X as this view sees them."""
        ...


@dataclass(frozen=True)
class AffineView:
    """An affine map of the columns, Z + Z·V·diag(g)·Vᵀ with Z = (x - center)·scale.

    The second term is there only where columns are mixed; V has orthonormal columns,
    no more than there are samples, so m x m matrices are never formed.

    Attributes
    ----------
    center, scale : arrays (m,)
        What is subtracted from a column, and what it is then multiplied with.
    basis : array (m, r) or None
        V.
    gains : array (r,) or None
        g.
    """

    center: np.ndarray
    scale: np.ndarray
    basis: np.ndarray | None = None
    gains: np.ndarray | None = None

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return the rows of X as this view sees them."""
        with np.errstate(over="ignore"):
            gap = np.clip(X - self.center, -FARTHEST, FARTHEST)
            Z = np.clip(gap * self.scale, -FAR, FAR)
        if self.basis is None:
            return Z
        return Z + ((Z @ self.basis) * self.gains) @ self.basis.T


@dataclass(frozen=True)
class RankView:
    """A monotone map of every column, linear between the values it was fitted to.

    Attributes
    ----------
    values : list of arrays
        Distinct values of every column, ascending.
    images : list of arrays
        Where they go. Beyond the first and the last, everything goes where they do.
    """

    values: list[np.ndarray]
    images: list[np.ndarray]

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return the rows of X as this view sees them."""
        Z = np.empty_like(X)
        for f, (value, image) in enumerate(zip(self.values, self.images, strict=True)):
            Z[:, f] = np.interp(X[:, f], value, image)
        return np.where(np.isnan(X), np.nan, Z)


def fit_views(
    names: tuple[str, ...],
    X: np.ndarray,
    codes: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> dict[str, View]:
    """Fit views to labelled rows.

    Parameters
    ----------
    names : tuple of str
        Some of `VIEWS`.
    X : array (n, m)
        Labelled rows.
    codes : int array (n,)
        Their classes, 0, 1, ...
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    dict of str to View
        In the order of `names`.

    Examples
    --------
    >>> X = np.array([[0.0, 5.0], [2.0, 5.0]])
    >>> fit_views(("zscore",), X, np.array([0, 1]))["zscore"].apply(X).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    plain = _zscore(X)
    Z = plain.apply(X)
    fitted: dict[str, View] = {}
    for name in names:
        if name == "zscore":
            fitted[name] = plain
        elif name == "rank":
            fitted[name] = _rank(X, n_jobs)
        elif name == "whitened":
            fitted[name] = _whitened(plain, Z, codes)
        else:
            weights = relief_weights(Z, codes, n_jobs=n_jobs)
            fitted[name] = AffineView(plain.center, plain.scale * weights)
    return fitted


def _zscore(X: np.ndarray) -> AffineView:
    present = ~np.isnan(X)
    # In powers of two near the largest value, which rounds nothing, squares of the
    # largest and the smallest numbers there are remain numbers.
    power = np.frexp(np.abs(np.where(present, X, 0.0)).max(axis=0))[1]
    scaled = np.ldexp(X, -power)
    # From the first cell, so that a constant column varies by exactly nothing.
    first = np.where(
        present.any(axis=0), scaled[present.argmax(axis=0), np.arange(X.shape[1])], 0.0
    )
    offsets = np.where(present, scaled - first, 0.0)
    mean, deviation = _moments(offsets, present)
    scale = np.zeros_like(deviation)
    np.divide(1.0, deviation, out=scale, where=deviation > 0)
    center = np.ldexp(first + mean, power)
    with np.errstate(over="ignore"):
        return AffineView(center, np.minimum(np.ldexp(scale, -power), FARTHEST))


def _moments(offsets: np.ndarray, present: np.ndarray) -> tuple[Any, Any]:
    """Return mean and deviation of present cells, others being 0."""
    if present.all():
        return offsets.mean(axis=0), offsets.std(axis=0)
    counts = np.maximum(present.sum(axis=0), 1)
    mean = offsets.sum(axis=0) / counts
    squared = np.where(present, (offsets - mean) ** 2, 0.0)
    return mean, np.sqrt(squared.sum(axis=0) / counts)


def _rank(X: np.ndarray, n_jobs: int | None) -> RankView:
    """Send equal values to the quantile of their mean rank; then variance 1."""

    def fit(columns: slice) -> list[tuple[np.ndarray, np.ndarray]]:
        return [_rank_column(cells[~np.isnan(cells)]) for cells in X.T[columns]]

    found = map_blocks(fit, X.shape[1], 64 * X.shape[0], n_jobs)
    pairs = [pair for block in found for pair in block]
    return RankView([value for value, _ in pairs], [image for _, image in pairs])


def _rank_column(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values that a column is known by, and their images."""
    if not column.size:  # all are gaps, and stay so
        column = np.zeros(1)
    order = np.argsort(column, kind="stable")
    ascending = column[order]
    first = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
    ends = np.append(first[1:], column.size)
    found = ndtri(((first + ends + 1) / 2 - 0.5) / column.size)  # of the mean rank
    quantile = np.empty(column.size)
    quantile[order] = np.repeat(found, ends - first)
    deviation = quantile.std() if first.size > 1 else np.inf
    return thin_out(ascending[first], (found - quantile.mean()) / deviation)


def thin_out(distinct: np.ndarray, image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values, ascending, and their images; of very many some stand for all."""
    if distinct.size > 2 * KNOTS:
        by_rank = np.linspace(0, distinct.size - 1, KNOTS).round().astype(int)
        by_image = np.searchsorted(image, np.linspace(image[0], image[-1], KNOTS))
        kept = np.union1d(by_rank, np.minimum(by_image, distinct.size - 1))
        distinct, image = distinct[kept], image[kept]
    return distinct, image


def _whitened(plain: AffineView, Z: np.ndarray, codes: np.ndarray) -> AffineView:
    """Multiply with the inverse root of (1 - γ)S_W + γ (tr S_W / m) I."""
    base, basis, gains = whitening(Z, codes, int((plain.scale > 0).sum()))
    return AffineView(plain.center, plain.scale * base, basis, gains)


def whitening(
    Z: np.ndarray, codes: np.ndarray, varying: int
) -> tuple[float, np.ndarray | None, np.ndarray | None]:
    """Return factor, basis and gains of an `AffineView` that whitens rows.

    Parameters
    ----------
    Z : array (n, m)
        Rows.
    codes : int array (n,)
        Their classes.
    varying : int
        Number of columns that vary.
    """
    counts = np.bincount(codes)
    indicator = np.eye(counts.size)[codes]
    means = (indicator.T @ Z) / counts[:, None]
    residual = Z - means[codes]
    _, singular, Vt = np.linalg.svd(residual, full_matrices=False)
    variances = singular**2 / max(1, codes.size - counts.size)
    floor = WITHIN_SHRINKAGE * variances.sum() / max(1, varying)
    if floor <= 0:  # no row differs from the mean of its class
        return 1.0, None, None
    base = floor**-0.5
    roots = ((1 - WITHIN_SHRINKAGE) * variances + floor) ** -0.5
    return float(base), Vt.T, roots / base - 1


def relief_weights(
    Z: np.ndarray, codes: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """Weigh columns by how much more they differ to near rows of other classes.

    ReliefF with all rows: for each row, the mean absolute difference to its 10 nearest
    rows in every other class, weighed by the sizes of the classes, less that to its 10
    nearest in its own. The second round searches in the metric of the first. Columns
    that differ no more between classes than within get 0; the squares of the others
    have mean 1. All weights are 1 where no column stands out.

    Parameters
    ----------
    Z : array (n, m)
        z-scores.
    codes : int array (n,)
        Classes.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    array (m,)
    """
    share = np.bincount(codes) / codes.size
    weights = np.ones(Z.shape[1])
    for _ in range(RELIEF_ROUNDS):
        search = ClassSearch(Z * weights, codes, n_jobs=n_jobs)
        margin = np.zeros(Z.shape[1])
        for c in range(share.size):
            weight = np.where(codes == c, -1.0, share[c] / (1 - share[codes] + 1e-300))
            for rows, near in search.training_neighbors(c, RELIEF_NEIGHBORS):
                gap = np.abs(Z[rows][:, None, :] - Z[near]).mean(axis=1)
                margin += weight[rows] @ gap
        found = weights_of_margins(margin, Z.shape[1])
        if found is None:
            return np.ones(Z.shape[1])
        weights = found
    return weights


def weights_of_margins(margin: np.ndarray, n_features: int) -> np.ndarray | None:
    """Return weights whose squares have mean 1 over all columns; None if all are 0."""
    positive = np.maximum(margin, 0)
    if not positive.any():
        return None
    return np.sqrt(positive / (positive.sum() / n_features))
