"""Sparse samples -> coordinates in a space of few dimensions, at the same distances.

n samples span at most n dimensions, however many features they have. The products of
sparse samples give coordinates there by Cholesky's factorisation, with pivots: they are
L Lᵀ, and row i of L has the lengths and angles of sample i. So samples are never made
dense in their features, and patches, which need coordinates, are p x n numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NoReturn, overload

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from ..backends.backend import require_memory
from .fitting import is_wide

SMALLEST = 1e-12
"""Squared lengths below this part of the largest are rounding: no dimension."""


@dataclass(frozen=True)
class SparseSpan:
    """Coordinates of sparse samples in the space that they span.

    Attributes
    ----------
    pivots : csr_array (r, m)
        Samples that span the space.
    lower : array (r, r)
        Their coordinates, a lower triangle.
    samples : array (n, r + 1)
        Coordinates of all samples. The last, across the space, is 0.
    """

    pivots: sp.csr_array
    lower: np.ndarray
    samples: np.ndarray

    def locate(self, queries: sp.csr_array) -> np.ndarray:
        """Return the coordinates (q, r + 1) of new samples (q, m).

        The last is the distance from the space: of one query it is true, but two
        queries may be apart although it is equal.
        """
        products = (queries @ self.pivots.T).toarray()
        along = products  # of no columns, where all samples are 0
        if self.lower.size:
            along = solve_triangular(self.lower, products.T, lower=True).T
        lengths = np.asarray(queries.multiply(queries).sum(axis=1)).ravel()
        across = lengths - np.einsum("ij,ij->i", along, along)
        return np.column_stack([along, np.sqrt(np.maximum(across, 0))])

    def in_features(self, matrix: np.ndarray) -> np.ndarray:
        """Return a linear map of coordinates (r, d) as one of features (m, d)."""
        turned = solve_triangular(self.lower, matrix[:-1], lower=True, trans="T")
        return self.pivots.T @ turned


@dataclass(frozen=True)
class DenseRows:
    """Sparse samples with few features, made dense.

    Attributes
    ----------
    samples : array (n, m)
        Training samples.
    """

    samples: np.ndarray

    def locate(self, queries: Any) -> np.ndarray:
        """Return new samples, made dense."""
        return queries.toarray()

    def in_features(self, matrix: np.ndarray) -> np.ndarray:
        """Return a linear map of coordinates as one of features: they are these."""
        return matrix


REMEDY = (
    "Set dissimilarity='euclidean', which needs none, or reduce the features first, "
    "for example by TruncatedSVD of scikit-learn."
)


@overload
def find_sparse_space(
    X: sp.csr_array, remedy: str = ..., *, always: Literal[True]
) -> SparseSpan: ...


@overload
def find_sparse_space(
    X: sp.csr_array, remedy: str = ..., *, always: bool = ...
) -> SparseSpan | DenseRows: ...


def find_sparse_space(
    X: sp.csr_array, remedy: str = REMEDY, *, always: bool = False
) -> SparseSpan | DenseRows:
    """Return dense coordinates of sparse samples: min(n, m) or fewer for each.

    Parameters
    ----------
    X : csr_array (n, m)
        Samples.
    remedy : str
        What to do where memory does not suffice.
    always : bool
        Whether few features are taken for many too, and are not made dense.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> X = sp.csr_array(np.eye(2, 9) * 3)
    >>> span = find_sparse_space(X)
    >>> round(float(np.linalg.norm(span.samples[0] - span.samples[1])), 6)
    4.242641
    >>> span.locate(sp.csr_array(np.eye(3, 9) * 4))[2].tolist()
    [0.0, 0.0, 4.0]
    """
    n, m = X.shape
    require_memory(
        8.0 * 3 * n * min(n, m),
        f"{min(n, m)} coordinates for each of {n} sparse samples",
        remedy,
    )
    if not (always or is_wide(n, m)):
        return DenseRows(X.toarray())
    products = (X @ X.T).toarray()
    factor, order, rank, _ = dpstrf(
        products, lower=1, tol=SMALLEST * products.diagonal().max()
    )
    order = order - 1
    samples = np.zeros((n, rank + 1))
    lower = np.tril(factor)[:, :rank]
    samples[order, :-1] = lower
    return SparseSpan(X[order[:rank]], lower[:rank], samples)


def refuse_features(parameter: str) -> NoReturn:
    """Raise ValueError: a parameter needs all features of wide sparse samples."""
    raise ValueError(
        f"{parameter} looks at single features, of which a sparse X has too many: set "
        "dissimilarity='kl' and covariance='full', or reduce the features first, for "
        "example by TruncatedSVD of scikit-learn."
    )
