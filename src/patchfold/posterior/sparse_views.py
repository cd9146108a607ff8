"""Views of sparse rows: what a view says of a row, in the space that the rows span.

A view maps columns one by one, so all zeros of a column have one image. Less that
image, a row is sparse again: row z(x) is z(0) plus a sparse row, and the first part is
the same for all. Distances and angles between rows are those of the sparse parts. n of
them span at most n dimensions, and coordinates there say all that the scores need but
the number of columns, which they are told. Nothing is approximated.

All columns here are columns that some row has an entry in; the others say nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri

from ..patches.sparse_space import SparseSpan, find_sparse_space
from .search import ClassSearch
from .views import (
    FARTHEST,
    RELIEF_NEIGHBORS,
    RELIEF_ROUNDS,
    AffineView,
    RankView,
    thin_out,
    weights_of_margins,
    whitening,
)

REMEDY = (
    "Reduce the features first, for example by TruncatedSVD of scikit-learn, or fit to "
    "fewer samples."
)


@dataclass(frozen=True)
class SparseView:
    """A view of sparse rows, in coordinates of the space that training rows span.

    Attributes
    ----------
    columns : AffineView or RankView
        How each column is mapped.
    space : SparseSpan
        The space of the mapped training rows.
    samples : array (n, d)
        Their coordinates.
    turn : AffineView or None
        What is done to coordinates after that.
    """

    columns: AffineView | RankView
    space: SparseSpan
    samples: np.ndarray
    turn: AffineView | None = None

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return self.samples.shape[1]

    def apply(self, X: sp.csr_array) -> np.ndarray:
        """Return the coordinates (q, d) of rows of X."""
        return self._turned(self.space.locate(map_entries(self.columns, X)))

    def _turned(self, found: np.ndarray) -> np.ndarray:
        found = _padded(found, self.width)
        return found if self.turn is None else self.turn.apply(found)


def _padded(found: np.ndarray, width: int) -> np.ndarray:
    """Fill coordinates up with zeros."""
    return np.pad(found, ((0, 0), (0, max(0, width - found.shape[1]))))


def map_entries(view: AffineView | RankView, X: sp.csr_array) -> sp.csr_array:
    """Return the images of rows less the image of a row of zeros: sparse again."""
    if isinstance(view, AffineView):
        ours = AffineView(view.center[X.indices], view.scale[X.indices])
        data = ours.apply(X.data) - ours.apply(np.zeros_like(X.data))
        parts = data, X.indices, X.indptr
        mapped = sp.csr_array(parts, shape=X.shape, copy=True)  # X stays as it is
    else:
        turned = sp.csc_array(X)
        data, ends = np.empty_like(turned.data), turned.indptr
        for f in np.flatnonzero(np.diff(ends)):
            known, cells = (view.values[f], view.images[f]), slice(ends[f], ends[f + 1])
            data[cells] = np.interp(turned.data[cells], *known) - np.interp(0.0, *known)
        parts = data, turned.indices, ends
        mapped = sp.csr_array(sp.csc_array(parts, shape=X.shape))
    mapped.eliminate_zeros()
    return mapped


def fit_sparse_views(
    names: tuple[str, ...],
    X: sp.csr_array,
    codes: np.ndarray,
    *,
    n_features: int,
    width: int,
    n_jobs: int | None = None,
) -> dict[str, SparseView]:
    """Fit views to sparse labelled rows.

    Parameters
    ----------
    names : tuple of str
        Some of `VIEWS`.
    X : csr_array (n, m)
        Labelled rows, without stored zeros.
    codes : int array (n,)
        Their classes, 0, 1, ...
    n_features : int
        Number of columns with those that are 0 in all rows.
    width : int
        Fewest coordinates; more than the rows need are 0.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    dict of str to SparseView
        In the order of `names`.

    Examples
    --------
    >>> X, codes = sp.csr_array(np.eye(3, 9)), np.array([0, 1, 1])
    >>> seen = fit_sparse_views(("zscore",), X, codes, n_features=9, width=1)["zscore"]
    >>> gap = seen.samples[0] - seen.samples[1]
    >>> round(float(gap @ gap), 6)  # two columns, by deviations of √2/3
    9.0
    """
    plain = _zscore(X)
    fitted: dict[str, SparseView] = {}
    for name in names:
        if name == "rank":
            fitted[name] = _in_space(_rank(X), X, width)
        elif name == "relevance":
            weights = sparse_relief(X, codes, n_features, n_jobs=n_jobs)
            view = AffineView(plain.center, plain.scale * weights)
            fitted[name] = _in_space(view, X, width)
        else:
            fitted[name] = _in_space(plain, X, width)
        if name == "whitened":
            seen, varying = fitted[name], int((plain.scale > 0).sum())
            base, basis, gains = whitening(seen.samples, codes, varying)
            nothing, scale = np.zeros(seen.width), np.full(seen.width, base)
            turn = AffineView(nothing, scale, basis, gains)
            samples = turn.apply(seen.samples)
            fitted[name] = SparseView(plain, seen.space, samples, turn)
    return fitted


def _in_space(view: AffineView | RankView, X: sp.csr_array, width: int) -> SparseView:
    space = find_sparse_space(map_entries(view, X), REMEDY, always=True)
    return SparseView(view, space, _padded(space.samples, width))


def _zscore(X: sp.csr_array) -> AffineView:
    """Do as `views._zscore`; entries that are not stored are 0."""
    (n, m), column = X.shape, X.indices
    largest = abs(X).max(axis=0).toarray().ravel()
    power = np.frexp(largest)[1]
    scaled = np.ldexp(X.data, -power[column])
    counts = np.bincount(column, minlength=m)
    # A column without zeros is measured from one of its cells, the others from 0.
    first = np.zeros(m)
    first[column[::-1]] = scaled[::-1]
    first[counts < n] = 0.0
    offsets = scaled - first[column]
    mean = np.bincount(column, offsets, m) / n
    squared = np.bincount(column, (offsets - mean[column]) ** 2, m)
    deviation = np.sqrt((squared + (n - counts) * mean**2) / n)
    scale = np.zeros(m)
    np.divide(1.0, deviation, out=scale, where=deviation > 0)
    center = np.ldexp(first + mean, power)
    with np.errstate(over="ignore"):
        return AffineView(center, np.minimum(np.ldexp(scale, -power), FARTHEST))


def _rank(X: sp.csr_array) -> RankView:
    """Do as `views._rank`; entries that are not stored are 0."""
    turned = sp.csc_array(X)
    cells = np.split(turned.data, turned.indptr[1:-1])
    pairs = [_rank_cells(cell, X.shape[0]) for cell in cells]
    return RankView([value for value, _ in pairs], [image for _, image in pairs])


def _rank_cells(stored: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the values that a column is known by, and their images."""
    distinct, counts = count_values(stored, n)
    if distinct.size == 1:
        return distinct, np.zeros(1)
    quantile = ndtri((np.cumsum(counts) - counts / 2) / n)
    centred = quantile - counts @ quantile / n
    return thin_out(distinct, centred / np.sqrt(counts @ centred**2 / n))


def count_values(stored: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of a column of n cells, ascending, and their counts.

    Examples
    --------
    >>> values, counts = count_values(np.array([2.0, -1.0, 2.0]), 5)
    >>> values.tolist(), counts.tolist()
    ([-1.0, 0.0, 2.0], [1, 2, 2])
    """
    distinct, counts = np.unique(stored, return_counts=True)
    if stored.size == n:
        return distinct, counts
    place = int(np.searchsorted(distinct, 0.0))
    counts = np.insert(counts, place, n - stored.size)
    return np.insert(distinct, place, 0.0), counts


def sparse_relief(
    X: sp.csr_array, codes: np.ndarray, n_features: int, *, n_jobs: int | None = None
) -> np.ndarray:
    """Weigh the columns of sparse rows: parameters as in `views.relief_weights`.

    `n_features` counts the columns that are 0 in all rows too; their weight is 0.
    """
    S = map_entries(_zscore(X), X)
    share = np.bincount(codes) / codes.size
    weights = np.ones(X.shape[1])
    for _ in range(RELIEF_ROUNDS):
        weighed = sp.csr_array(S * weights)
        weighed.eliminate_zeros()
        Z = find_sparse_space(weighed, REMEDY, always=True).samples
        search = ClassSearch(Z, codes, n_jobs=n_jobs)
        margin = np.zeros(X.shape[1])
        for c in range(share.size):
            weight = np.where(codes == c, -1.0, share[c] / (1 - share[codes] + 1e-300))
            for rows, near in search.training_neighbors(c, RELIEF_NEIGHBORS):
                for ours in near.T:
                    margin += weight[rows] @ abs(S[rows] - S[ours]) / near.shape[1]
        found = weights_of_margins(margin, n_features)
        if found is None:
            return np.ones(X.shape[1])
        weights = found
    return weights
